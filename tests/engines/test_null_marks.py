"""What means missing is recognised by evidence, shown, counted, and merges no two categories."""

from __future__ import annotations

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import shoal
from shoal.cli.main import main


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def field(values: list[str | None], **reading):
    frame = shoal.open(pa.table({"x": values}), **reading)
    found = frame.values(["x"])["x"]
    return frame.fields[0], sorted(found.values), found.nulls


def test_namibia_is_a_country() -> None:
    seen, values, nulls = field(["DE", "FR", "NA", "NA", "BW"])
    assert (values, nulls) == (["BW", "DE", "FR", "NA"], 0)
    assert seen.doubtful_marks == (("NA", 2),)
    assert any("may mean missing" in note for note in seen.notes)


def test_na_among_numbers_and_dates_is_missing() -> None:
    for values in (["1", "2", "NA"], ["2020-01-05", "2021-03-04", "NA"]):
        seen, _, nulls = field(values)
        assert seen.kind in ("number", "date")
        assert nulls == 1
        assert seen.null_marks == (("NA", 1),)


def test_the_publisher_says_what_means_missing() -> None:
    seen, values, nulls = field(["DE", "NA", "?"], nulls=["NA"])
    assert (values, nulls) == (["?", "DE"], 1)
    assert seen.null_marks == (("NA", 1),)
    assert seen.doubtful_marks == ()


def test_nulls_of_parquet_are_missing_and_texts_beside_them_are_not(tmp_path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": ["DE", None, "NA"]}), tmp_path / "t.parquet")
    found = shoal.open(tmp_path / "t.parquet").values(["x"])["x"]
    assert (sorted(found.values), found.nulls) == (["DE", "NA"], 1)


@pytest.mark.parametrize("marks", [["?", "N/A"], ["null", "NULL", "?"]])
def test_marks_that_are_merged_are_each_told(marks: list[str]) -> None:
    seen, values, nulls = field(["a", "b", *marks])
    assert (values, nulls) == (["a", "b"], len(marks))
    assert dict(seen.null_marks) == dict.fromkeys(marks, 1)
    assert all(any(repr(mark) in note for note in seen.notes) for mark in marks)


def test_look_shows_and_publish_counts_what_was_read_as_missing(tmp_path) -> None:
    table = tmp_path / "people.csv"
    rows = [
        f"{20 + i % 3},{'NA' if i % 4 else 'DE'},{'?' if i % 5 == 0 else 'flu'}" for i in range(40)
    ]
    table.write_text("\n".join(("age,country,illness", *rows)))
    looked = run("look", table)
    assert "30 values 'NA', which may mean missing" in looked.stdout
    assert "8 nulls written '?'" in looked.stdout
    made = run(
        "publish",
        table,
        "--quasi",
        "age",
        "--quasi",
        "country",
        "--sensitive",
        "illness",
        "-m",
        "k-anonymity k=5",
        "-o",
        tmp_path / "release",
    )
    text = made.stdout + made.stderr
    assert "Column country: 30 cells are written 'NA', read as a value." in text
    assert "Column illness: 8 cells written '?' are read as missing." in text
    published = (tmp_path / "release" / "table.csv").read_text()
    assert ",NA," in published
