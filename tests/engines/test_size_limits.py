"""Files that claim or unpack to far more than they hold are refused before a reader runs."""

from __future__ import annotations

import gzip
import re
import resource
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

import shoal
from shoal.engines.readers import limits

PEOPLE = [("age", "town", "illness"), *((20 + i % 9, "north", "flu") for i in range(40))]


def write_workbook(path: Path, rows=PEOPLE) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate(rows):
            sheet.write_row(row, 0, cells)
    return path


def change_part(path: Path, part: str, change) -> Path:
    """The workbook with one of its files changed."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content[part] = change(content[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def with_cells(path: Path, cells: bytes) -> Path:
    return change_part(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace(b"</sheetData>", cells + b"</sheetData>"),
    )


def open_document(path: Path, rows: str) -> Path:
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:spreadsheet>"
            f'<table:table table:name="s">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


MANIFEST = "<manifest xmlns='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'/>"
TEXT = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'


def refused(path: Path) -> shoal.InputError:
    with pytest.raises(shoal.InputError) as caught:
        shoal.open(path).close()
    return caught.value


@pytest.mark.parametrize(
    "cells",
    [
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        b"<row><c s='1' r = 'XFD1048576' ><v>1</v></c></row>",
        b'<row r="2"><c r="xfd1048576"><v>1</v></c></row>',
        b'<row r="1048570"><c r="XFC1048570"/><c><v>1</v></c></row>',
        b'<x:row r="9"><x:c r="XFD1048576" t="inlineStr"><is><t>a</t></is></x:c></x:row>',
        b'<row r="1000000">'
        + b'<c r="A1"/>' * (1 << 17)
        + b'<c r="XFC1000000"/><c><v>1</v></c></row>',
    ],
)
def test_a_small_workbook_with_a_cell_in_the_last_corner_is_refused_by_its_cells(tmp_path, cells):
    error = refused(with_cells(write_workbook(tmp_path / "a.xlsx"), cells))
    assert "the limit is 50,000,000" in error.fact
    assert "Delete the empty rows and columns" in error.hint


def test_formatted_empty_cells_in_the_last_corner_are_no_cells(tmp_path):
    path = with_cells(
        write_workbook(tmp_path / "a.xlsx"),
        b'<row r="1048576"><c r="XFD1048576" s="1"/></row>',
    )
    with closing(shoal.open(path)) as frame:
        assert frame.profile()["age"].rows == 40


def test_cells_repeated_in_an_open_document_are_counted_as_often(tmp_path):
    many = ' table:number-columns-repeated="16384"'
    rows = (
        '<table:table-row table:number-rows-repeated="1048576">'
        + TEXT.format(many, "a")
        + "</table:table-row>"
    )
    assert "the limit is 50,000,000" in refused(open_document(tmp_path / "a.ods", rows)).fact


def test_empty_rows_repeated_to_the_end_of_an_open_document_are_no_cells(tmp_path):
    row = "<table:table-row>{}</table:table-row>"
    cells = ["age", "town"], *[[str(20 + i), "north"] for i in range(9)]
    rows = "".join(row.format("".join(TEXT.format("", cell) for cell in some)) for some in cells)
    rows += (
        '<table:table-row table:number-rows-repeated="1048566">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    )
    with closing(shoal.open(open_document(tmp_path / "a.ods", rows))) as frame:
        assert frame.profile()["age"].rows == 9


def test_a_binary_sheet_says_where_its_cells_stand(tmp_path):
    row = bytes([0, 4]) + (1_048_575).to_bytes(4, "little")
    cell = bytes([5, 16]) + (16_383).to_bytes(4, "little") + bytes(12)
    path = tmp_path / "a.xlsb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.bin", row + cell + bytes(8))
    assert "row 1,048,576 and column 16,384" in refused(path).fact


def test_a_long_shared_string_is_refused_by_its_length(tmp_path):
    path = change_part(
        write_workbook(tmp_path / "a.xlsx"),
        "xl/sharedStrings.xml",
        lambda xml: xml.replace(b"north", b"n" * (5 << 20)),
    )
    assert "131,072 characters" in refused(path).fact


def test_a_workbook_that_unpacks_to_hundreds_of_times_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SMALL_UNPACKED", 1 << 20)  # as for larger files
    path = with_cells(
        write_workbook(tmp_path / "a.xlsx"), b"".join(b'<row r="9"/>' for _ in range(1 << 19))
    )
    assert path.stat().st_size < 1 << 16
    assert f"{limits.RATIO_LIMIT} times its size" in refused(path).fact


def test_a_size_that_the_archive_understates_does_not_hide_the_rest(tmp_path):
    path = with_cells(
        write_workbook(tmp_path / "a.xlsx"), b'<row r="9"><c r="XFD1048576"><v>1</v></c></row>'
    )
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    content = path.read_bytes()
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (300).to_bytes(4, "little")))
    assert "the limit is 50,000,000" in refused(path).fact


@pytest.mark.parametrize("door", ["parquet", "arrow", "frame"])
def test_a_label_of_a_megabyte_is_refused_at_every_door(tmp_path, door):
    table = pa.table({"age": [30, 31], "town": ["n" * (1 << 20), "s"]})
    path = tmp_path / f"a.{door}"
    if door == "parquet":
        pq.write_table(table, path)
    elif door == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(shoal.InputError, match="column 'town' is longer than the limit of 131,072"):
        shoal.open(table if door == "frame" else path)


def test_a_value_that_is_published_is_shorter_than_a_note_that_is_dropped():
    towns = ["n" * 5_000, *["south"] * 39]
    table = pa.table({"age": [30] * 40, "town": towns, "ill": ["flu"] * 40})
    schema = shoal.Schema.of(quasi=["age", "town"], sensitive="ill")
    with pytest.raises(shoal.InputError, match="'town' has values longer than 4,096"):
        shoal.publish(table, schema, "k-anonymity k=2")
    dropped = schema.set(town="identifier")
    assert shoal.publish(table, dropped, "k-anonymity k=2").verdict.holds


def test_more_columns_than_the_limit_are_refused_by_their_number(tmp_path):
    path = tmp_path / "a.csv"
    names = [f"c{i}" for i in range(limits.COLUMN_LIMIT + 1)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert "20,001 columns, and the limit is 20,000" in refused(path).fact


def test_a_name_of_a_column_is_not_printed_where_it_is_too_long(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age," + "secret " * 1_000 + "\n1,2\n")
    error = refused(path)
    assert "column 2 is longer than the limit of 4,096" in error.fact
    assert "secret" not in str(error)


MEASURED = """
import resource, sys, shoal
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    shoal.open(sys.argv[1]).profile()
except shoal.InputError as error:
    print(error.fact)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def measure_opening(path: Path, most: int) -> tuple[str, int]:
    """What opening says, and the kilobytes that it took, in a process that may hold so much."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    *said, taken = done.stdout.splitlines()
    return "\n".join(said), int(taken)


@pytest.mark.long
def test_rows_of_long_cells_in_a_small_gzip_file_are_read_in_small_batches(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt", compresslevel=9) as file:
        file.write("age,note\n")
        for age in range(8_000):
            file.write(f"{age % 90},{'n' * 50_000}\n")
    assert path.stat().st_size < 2 << 20
    said, taken = measure_opening(path, 4 << 30)
    assert not said
    assert taken < 350_000  # the text alone is 400 MB, and the libraries take 165 MB


@pytest.mark.long
def test_a_shared_string_of_half_a_gigabyte_takes_little_memory(tmp_path):
    path = change_part(
        write_workbook(tmp_path / "a.xlsx"),
        "xl/sharedStrings.xml",
        lambda xml: re.sub(rb"north", b"n" * (500 << 20), xml),
    )
    said, taken = measure_opening(path, 4 << 30)
    assert "131,072 characters" in said
    assert taken < 60_000
