"""Workbooks with titles above the header; files written as the one that was read."""

from __future__ import annotations

import csv
import datetime
import io
import zipfile
from pathlib import Path

import pytest
import python_calamine
import xlsxwriter
from click.testing import CliRunner, Result

import shoal
from shoal.cli.main import main
from shoal.core.errors import UsageError


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def workbook(path: Path, rows: list[list[object]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell is not None:
                sheet.write(i, j, cell)
    book.close()
    return path


HEADER = ["age", "sex", "illness", "stay"]
DATA = [[30 + i % 4, "fm"[i % 2], ("flu", "hiv")[i % 2], i % 9] for i in range(40)]


@pytest.mark.parametrize(
    "above",
    [
        [],
        [["Patients of 2026"]],
        [["Patients of 2026"], []],
        [[], ["Export", "2026-01-05"], []],
        [["Patients"], ["not for publication"], [], []],
    ],
)
def test_titles_above_the_header_are_recognised(tmp_path, above) -> None:
    frame = shoal.open(workbook(tmp_path / "t.xlsx", [*above, HEADER, *DATA]))
    assert [field.name for field in frame.fields] == HEADER
    assert frame.profile()["age"].rows == 40
    noted = any(f"header in row {len(above) + 1}" in note for note in frame.fields[0].notes)
    assert noted == bool(above)


def test_a_first_row_with_empty_names_stays_the_header(tmp_path) -> None:
    frame = shoal.open(workbook(tmp_path / "t.xlsx", [["age", None, "illness", None], *DATA]))
    assert [field.name for field in frame.fields] == ["age", "column 2", "illness", "column 4"]


def test_the_header_row_can_be_said(tmp_path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a", "b", "c", "d"], HEADER, *DATA])
    assert [f.name for f in shoal.open(path).fields] == ["a", "b", "c", "d"]
    assert [f.name for f in shoal.open(path, header_row=2).fields] == HEADER
    looked = run("look", path, "--header-row", 2, "--json")
    assert looked.exit_code == 0, looked.output
    assert '"rows": 40' in looked.stdout
    with pytest.raises(UsageError, match="Row 99 of the sheet is empty"):
        shoal.open(path, header_row=99)


def test_a_workbook_has_numbers_dates_and_no_time_of_making(tmp_path) -> None:
    days = [f"2026-01-{1 + i % 9:02d}" for i in range(40)]
    lines = ["age,born,score,seen,illness"]
    lines += [f"{30 + i % 2},1980,{i % 5 + 0.5},{days[i]},{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    schema = shoal.Schema.of(quasi="age", sensitive="illness", keep=["born", "score", "seen"])
    release = shoal.publish(
        tmp_path / "t.csv",
        schema,
        "k-anonymity k=5",
        out=tmp_path / "r",
        format="xlsx",
        accept_keep=True,
    )
    rows = python_calamine.CalamineWorkbook.from_path(str(release.path)).get_sheet_by_index(0)
    _, first, *_ = rows.to_python()
    assert isinstance(first[1], float)
    assert isinstance(first[2], float)
    assert isinstance(first[3], datetime.date)
    with zipfile.ZipFile(release.path) as packed:
        stated = packed.read("docProps/core.xml").decode()
        assert f"{datetime.date.today().year}-" not in stated
        assert {entry.date_time[0] for entry in packed.infolist()} == {1980}
    assert shoal.verify(release.folder, rule="k-anonymity k=5").holds


def german(path: Path, encoding: str = "cp1252") -> Path:
    rows = [
        [30 + i % 3, "Köln" if i % 2 else "Bonn", f"{i % 7},{1 + i % 9}{'25' * (i % 2)}"]
        for i in range(60)
    ]
    text = "\r\n".join(";".join(map(str, row)) for row in [["alter", "ort", "wert"], *rows])
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_csv_is_written_as_it_was_read(tmp_path, encoding) -> None:
    table = german(tmp_path / "t.csv", encoding)
    schema = shoal.Schema.of(quasi=["alter", "ort"], sensitive="wert")
    release = shoal.publish(table, schema, "k-anonymity k=5", out=tmp_path / "r")
    raw = release.path.read_bytes()
    text = raw.decode(encoding)
    assert raw.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=";"))
    assert rows[0] == ["alter", "ort", "wert"]
    read = list(csv.reader(io.StringIO(table.read_bytes().decode(encoding)), delimiter=";"))
    assert sorted(row[2] for row in rows[1:]) == sorted(row[2] for row in read[1:])
    assert "Köln" in text
    assert release.manifest["csv"] == {"delimiter": ";", "decimal": ",", "encoding": encoding}
    assert shoal.verify(tmp_path / "r").holds
    values = shoal.open(tmp_path / "r").values(["wert"])["wert"].values
    assert max(values) < 7  # 1,025 is a little over one, and no thousand
    assert shoal.attack("homogeneity", [tmp_path / "r"]).people == 60


def test_csv_is_standard_where_that_is_said(tmp_path) -> None:
    table = german(tmp_path / "t.csv")
    given = ("--quasi", "alter", "--quasi", "ort", "--sensitive", "wert", "-m", "k-anonymity k=5")
    made = run("publish", table, *given, "--csv-style", "standard", "-o", tmp_path / "r")
    assert made.exit_code == 0, made.output
    rows = list(csv.reader((tmp_path / "r" / "table.csv").open(encoding="utf-8")))
    assert len(rows[0]) == 3
    assert all(float(row[2]) < 7 for row in rows[1:])
    assert run("verify", tmp_path / "r").exit_code == 0


@pytest.mark.parametrize("form", ["buckets", "centroids"])
def test_other_forms_keep_the_style_too(tmp_path, form) -> None:
    table = german(tmp_path / "t.csv")
    exact = (
        {"quasi": ["alter", "wert"]} if form == "buckets" else {"quasi": "alter", "keep": "wert"}
    )
    schema = shoal.Schema.of(sensitive="ort", **exact)
    rule = "distinct-diversity l=2" if form == "buckets" else "k-anonymity k=5"
    release = shoal.publish(
        table, schema, rule, out=tmp_path / "r", form=form, accept_keep=form != "buckets"
    )
    head, first, *_ = release.path.read_bytes().decode("cp1252").splitlines()
    assert ";" in head
    assert "," in first
    assert shoal.verify(tmp_path / "r").holds
