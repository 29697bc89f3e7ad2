"""The front door: what it accepts, and what it says when it does not."""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from shoal.core.errors import InputError, UsageError
from shoal.engines.open_table import open as open_table


def test_a_frame_is_returned_as_it_is() -> None:
    frame = open_table(pa.table({"a": [1]}))
    assert open_table(frame) is frame


def test_a_release_folder_opens_its_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "table.parquet")
    with pytest.raises(InputError, match="not a release"):
        open_table(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    assert open_table(tmp_path).values(["a"])["a"].counts.sum() == 2


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.xlsx", "t.xls"])
def test_a_file_that_is_not_what_it_says(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"secret,words\n1,2\n")
    with pytest.raises(InputError) as caught:
        open_table(tmp_path / name)
    assert "secret" not in str(caught.value)
    assert caught.value.hint


def test_missing_and_unknown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        open_table(tmp_path / "none.csv")
    (tmp_path / "t.doc").write_text("x")
    with pytest.raises(UsageError, match="unknown kind"):
        open_table(tmp_path / "t.doc")
    with pytest.raises(UsageError, match="not a table"):
        open_table(42)
    with pytest.raises(UsageError, match="database URL"):
        open_table("t.csv", query="SELECT 1")


def sheets(path: Path, rows: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name in ("one", "two"):
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def test_sheets_are_chosen(tmp_path: Path) -> None:
    path = sheets(tmp_path / "t.xlsx", [["a", "b"], [1, "007"]])
    assert [f.kind for f in open_table(path, sheet="two").fields] == ["number", "code"]
    for wrong in (None, "three"):
        with pytest.raises(UsageError) as caught:
            open_table(path, sheet=wrong)
        assert "'one', 'two'" in caught.value.hint


def test_empty_sheets_and_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty"):
        open_table(sheets(tmp_path / "a.xlsx", []), sheet="one")
    with pytest.raises(InputError, match="no rows"):
        open_table(sheets(tmp_path / "b.xlsx", [["a", "b"]]), sheet="one")
    with pytest.raises(InputError, match=r"1 row .* row 3 \(empty\)"):
        open_table(sheets(tmp_path / "c.xlsx", [["a", "b"], [1, 2], [], [3, 4]]), sheet="one")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "p.db"
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TABLE people (age INTEGER, photo BLOB)")
        opened.executemany("INSERT INTO people VALUES (?, ?)", [(1, b"x"), (2, None)])
    opened.close()
    return path


def test_sqlite(database: Path) -> None:
    url = f"sqlite:///{database}"
    frame = open_table(url, query="SELECT age FROM people")
    assert sorted(frame.values(["age"])["age"].values) == [1, 2]
    with pytest.raises(InputError, match="'photo' is a column of binary data"):
        open_table(url)
    with pytest.raises(UsageError) as caught:
        open_table(url + "?table=nobody")
    assert "people" in caught.value.hint
    with pytest.raises(InputError, match="SQLite"):
        open_table(url, query="SELECT nothing FROM nowhere")
    with pytest.raises(UsageError, match="Both"):
        open_table(url + "?table=people", query="SELECT 1")
    with pytest.raises(InputError, match="no file"):
        open_table("sqlite:///nowhere.db?table=a")
    database.write_bytes(b"not a database at all, but long enough to look at" * 50)
    with pytest.raises(InputError, match="SQLite"):
        open_table(url + "?table=people")


def test_postgresql_without_table_or_driver() -> None:
    with pytest.raises(UsageError, match="No table"):
        open_table("postgresql://me:secret@127.0.0.1:1/db")
    missing = importlib.util.find_spec("adbc_driver_postgresql") is None
    with pytest.raises(UsageError if missing else InputError) as caught:
        open_table("postgresql://me:secret@127.0.0.1:1/db?table=t")
    assert "secret" not in str(caught.value)


def test_names_are_checked_at_every_door() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "A"])
    for source in (twice, twice.to_reader(), pd.DataFrame([[1, 2]], columns=["a", "a"])):
        with pytest.raises(InputError, match="have the same name"):
            open_table(source)
    with pytest.raises(InputError, match="no columns"):
        open_table(pd.DataFrame())
    with pytest.raises(InputError, match="no rows"):
        open_table(pa.table({"a": pa.array([], pa.int64())}))


def test_pandas_mixtures_and_categories() -> None:
    frame = open_table(
        pd.DataFrame(
            {
                "mixed": [1, "two", None],
                "code": pd.Categorical([1, 2, 1]),
                3: [1.0, 2.0, float("nan")],
            }
        )
    )
    assert [(f.name, f.kind) for f in frame.fields] == [
        ("mixed", "category"),
        ("code", "number"),
        ("3", "number"),
    ]
    assert frame.values(["mixed"])["mixed"].nulls == 1
    with pytest.raises(InputError, match="'x'"):
        open_table(pd.DataFrame({"x": [[1], "a"]}))
