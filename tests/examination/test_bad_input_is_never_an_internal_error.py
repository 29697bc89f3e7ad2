"""Whatever stands in a file or an argument, the answer is an error in our words."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

ROWS = 1_000


def zigzag(number: int) -> bytes:
    """A number as the footer of a Parquet file writes it."""
    number, digits = number << 1, bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


@pytest.mark.parametrize("claimed", [900, 999, 1_001, 8_000])
def test_a_parquet_file_that_claims_another_number_of_rows_is_refused(tmp_path, claimed):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": list(range(ROWS)), "ill": ["flu", "cold"] * 500}), path)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:].replace(zigzag(ROWS), zigzag(claimed))
    path.write_bytes(content[:start] + footer)
    with pytest.raises(shoal.InputError, match="claims another number of rows than it holds"):
        shoal.open(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "data_page_size": 200, "compression": "none"},
        {"row_group_size": 70, "compression": "zstd", "write_statistics": False},
        {"write_page_index": True, "write_page_checksum": True},
    ],
)
def test_the_rows_of_honest_parquet_files_are_counted_as_they_are(tmp_path, settings):
    path = tmp_path / "a.parquet"
    ages = [None if i % 7 == 0 else i for i in range(ROWS)]
    pq.write_table(pa.table({"age": ages, "ill": ["flu", "cold"] * 500}), path, **settings)
    assert shoal.open(path).profile()["age"].rows == ROWS


def test_a_parquet_file_of_another_writer_is_counted_too(tmp_path):
    path = tmp_path / "a.parquet"
    duckdb.sql(
        f"COPY (SELECT i AS age, 'x' || i % 9 AS town FROM range({ROWS}) AS t(i))"
        f" TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 200)"
    )
    assert shoal.open(path).profile()["town"].rows == ROWS


def test_lists_nested_a_thousand_deep_are_bad_input(tmp_path):
    kind, value = pa.int32(), 1
    for _ in range(1_000):
        kind, value = pa.list_(kind), [value]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": pa.array([value], kind)}), path)
    with pytest.raises(shoal.InputError, match="nest too deeply"):
        shoal.open(path)
