"""Files out: what was written is what is read, and no spreadsheet runs it."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from shoal.core.errors import OutputError, UsageError
from shoal.engines.writers import FORMATS, defuse_formulas, open_writer

BATCH = pa.record_batch(
    {
        "zip, code": pa.array(["01234", None, 'say "hi"', ""]),
        "label": pa.array(["[20-29]", "*", "[20-29]", None]).dictionary_encode(),
        "n": pa.array([1.5, -5.0, None, 3.0]),
        "day": pa.array([datetime.date(2020, 2, 29), None, None, datetime.date(1890, 1, 1)]),
    }
)


def write(path: Path, *batches: pa.RecordBatch, defuse: bool = True) -> int:
    with open_writer(path, batches[0].schema, defuse=defuse) as out:
        for batch in batches:
            out.write(batch)
    return out.defused


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_counts_every_row(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert write(path, BATCH, BATCH) == 0
    if suffix == ".parquet":
        found = pa.parquet.read_table(path)
    elif suffix in (".feather", ".arrow"):
        found = pa.feather.read_table(path)
    else:
        raw = path.read_bytes() if suffix != ".csv.gz" else gzip.decompress(path.read_bytes())
        rows = (
            CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
            if suffix == ".xlsx"
            else list(csv.reader(io.StringIO(raw.decode(), newline="")))
        )
        assert len(rows) == 9
        assert rows[0] == ["zip, code", "label", "n", "day"]
        assert [row[0] for row in rows[1:5]] == ["01234", "", 'say "hi"', ""]
        return
    assert found.schema.field("label").type == BATCH.schema.field("label").type
    assert found.to_pylist() == BATCH.to_pylist() * 2


def test_csv_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", BATCH)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == (
        '"zip, code",label,n,day\n01234,[20-29],1.5,2020-02-29\n,*,-5,\n'
        '"say ""hi""",[20-29],,\n"",,3,1890-01-01\n'
    )


@given(st.lists(st.tuples(*[st.none() | st.text(st.characters(exclude_categories=["Cs"]))] * 2)))
def test_csv_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(2)]
    write(path, pa.record_batch(columns, ["a", "b"]), defuse=False)
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))[1:]
    assert found == [[cell or "" for cell in row] for row in rows]


def test_null_in_a_single_column_is_still_a_row(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", pa.record_batch({"a": pa.array(["x", None])}))
    assert (tmp_path / "a.csv").read_text() == 'a\nx\n""\n'


RISKY = ["=1+1", "+x", "-x", "@sum", "\tx", "\rx", "-5", "+1.5e3", "-,5", "plain", "a=b", None, "-"]
SAFE = [
    "'=1+1",
    "'+x",
    "'-x",
    "'@sum",
    "'\tx",
    "'\rx",
    "-5",
    "+1.5e3",
    "-,5",
    "plain",
    "a=b",
    None,
    "'-",
]


def test_formulas_are_defused_and_counted() -> None:
    for column in (pa.array(RISKY), pa.array(RISKY).dictionary_encode()):
        safe, count = defuse_formulas(column)
        assert safe.to_pylist() == SAFE
        assert safe.type == column.type
        assert count == 7
    repeated = pa.array(["=a", "=a", "b"]).dictionary_encode()
    assert defuse_formulas(repeated)[1] == 2
    assert defuse_formulas(pa.array(["=a", "=b\n=c"]))[0].to_pylist() == ["'=a", "'=b\n=c"]


@pytest.mark.parametrize(("suffix", "count"), [(".csv", 2), (".xlsx", 2), (".parquet", 0)])
def test_only_where_a_spreadsheet_reads(tmp_path: Path, suffix: str, count: int) -> None:
    batch = pa.record_batch({"a": pa.array(["=1+1", "@x"])})
    assert write(tmp_path / f"a{suffix}", batch) == count
    assert write(tmp_path / f"b{suffix}", batch, defuse=False) == 0


def test_excel_keeps_text_as_text(tmp_path: Path) -> None:
    batch = pa.record_batch(
        {"a": pa.array(["=1+1", "http://example.org", "007"]), "n": pa.array([2**60, 5, None])}
    )
    write(tmp_path / "a.xlsx", batch, defuse=False)
    rows = CalamineWorkbook.from_path(str(tmp_path / "a.xlsx")).get_sheet_by_index(0).to_python()
    assert rows[1:] == [["=1+1", str(2**60)], ["http://example.org", 5.0], ["007", ""]]


def test_excel_limits(tmp_path: Path) -> None:
    many = pa.record_batch({"a": pa.nulls(1_048_576, pa.int8())})
    with pytest.raises(OutputError, match="1,048,575 rows"):
        write(tmp_path / "a.xlsx", many)
    with pytest.raises(OutputError, match="characters in a cell"):
        write(tmp_path / "a.xlsx", pa.record_batch({"a": pa.array(["x" * 40_000])}))
    assert list(tmp_path.iterdir()) == []


def test_unknown_suffix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv\.gz .*\.xlsx"):
        write(tmp_path / "a.docx", BATCH)


@pytest.mark.parametrize("suffix", FORMATS)
def test_folder_that_does_not_exist(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(OutputError, match="No such file"):
        write(tmp_path / "none" / f"a{suffix}", BATCH)


@pytest.mark.parametrize("suffix", FORMATS)
def test_unfinished_file_is_removed(tmp_path: Path, suffix: str) -> None:
    def interrupted() -> None:
        with open_writer(tmp_path / f"a{suffix}", BATCH.schema) as out:
            out.write(BATCH)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the always-full device")
@pytest.mark.parametrize("suffix", FORMATS)
def test_full_disk(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.symlink_to("/dev/full")
    with pytest.raises(OutputError, match="No space left"):
        write(path, BATCH)
