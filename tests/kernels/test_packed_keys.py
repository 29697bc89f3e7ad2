"""Packed keys are exact, however many combinations of values there could be."""

from __future__ import annotations

import random
from collections import Counter
from math import prod

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.schema import Field
from shoal.engines.duckdb import DuckFrame, connect, pack_codes, plan_packing, unpack_codes
from shoal.engines.protocol import Coding, Pieces
from shoal.kernels.grouping import number_combinations

SIZES = {
    "just below 2**53": [2**10] * 5 + [7],
    "just above 2**53": [2**10] * 5 + [9],
    "just below 2**62": [2**10] * 6 + [3],
    "just above 2**62": [2**10] * 6 + [5],
    "just below 2**63": [2**10] * 6 + [7],
    "2**63": [2**10] * 6 + [8],
    "just above 2**63": [2**10] * 6 + [9],
    "above 2**70": [2**10] * 7 + [3],
}
TYPES = (np.uint8, np.uint16, np.int32, np.int64)


def _rows(sizes: list[int]) -> list[tuple[int, ...]]:
    """Rows of codes, each with others that differ from it in the last column alone."""
    rng = random.Random(7)
    highest = tuple(size - 1 for size in sizes)
    some = [highest, *(tuple(rng.randrange(size) for size in sizes) for _ in range(30))]
    return [(*row[:-1], code) for row in some for code in range(sizes[-1])] + some


def _columns(rows: list[tuple[int, ...]], type_: type = np.int32) -> list[np.ndarray]:
    return [np.array(column).astype(type_) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("type_", TYPES)
def test_keys_of_codes_of_any_type_are_those_of_plain_python(sizes, type_):
    sizes = [min(size, 2**8) for size in sizes] if type_ is np.uint8 else sizes
    for columns in plan_packing(sizes):
        own = [sizes[i] for i in columns]
        rows = _rows(own)
        expected = []
        for row in rows:
            key = 0
            for code, size in zip(row, own, strict=True):
                key = key * size + code
            expected.append(key)
        keys = pack_codes(_columns(rows, type_), own, len(rows))
        assert keys.tolist() == expected
        unpacked = unpack_codes(keys, own)
        assert list(zip(*(codes.tolist() for codes in unpacked), strict=True)) == rows


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("type_", [np.uint16, np.int32, np.int64])
def test_combinations_are_those_of_plain_python(sizes, type_):
    rows = _rows(sizes)
    number, first = number_combinations(_columns(rows, type_), sizes)
    ranks = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    assert number.tolist() == [ranks[row] for row in rows]
    assert first.tolist() == [rows.index(row) for row in ranks]


def _frame(rows: list[tuple[int, ...]], sizes: list[int]) -> tuple[DuckFrame, list[Coding]]:
    names = [f"q{i}" for i in range(len(sizes))]
    connection = connect()
    table = pa.table([pa.array(column, pa.int32()) for column in zip(*rows, strict=True)], names)
    connection.register("people", table)
    fields = tuple(Field(name, "number") for name in names)
    by = [
        Coding(name, np.arange(size, dtype=np.float64), np.arange(size, dtype=np.int32), None, size)
        for name, size in zip(names, sizes, strict=True)
    ]
    return DuckFrame(connection, "SELECT * FROM people", fields), by


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("type_", [None, np.int32])
def test_a_tally_and_a_recoding_are_those_of_plain_python(sizes, type_):
    """A method may hand its codes back in a wider type than the tally had."""
    rows = _rows(sizes)
    frame, by = _frame(rows, sizes)
    counted = frame.tally(by)
    entries = list(zip(*(codes.tolist() for codes in counted.codes), strict=True))
    assert dict(zip(entries, counted.count.tolist(), strict=True)) == Counter(rows)
    codes = tuple(one if type_ is None else one.astype(type_) for one in counted.codes)
    pieces = Pieces(codes, np.arange(len(entries), dtype=np.int32), counted.count)
    names = [coding.column for coding in by]
    table = pa.Table.from_batches(frame.recode(by, pieces, names))
    published = [(one["class_"], *(one[name] for name in names)) for one in table.to_pylist()]
    class_of = {entry: i for i, entry in enumerate(entries)}
    assert Counter(published) == Counter((class_of[row], *row) for row in rows)


@pytest.mark.parametrize("columns", [20, 24])
def test_a_table_of_many_quasi_identifiers_is_published_whole(tmp_path, columns):
    rng = random.Random(3)
    names = [f"q{i:02}" for i in range(columns)]
    rows = 120
    table = {name: [str(rng.randrange(6)) for _ in range(rows)] for name in names}
    assert prod(len(set(values)) for values in table.values()) > 2**51
    table["ill"] = [rng.choice("abc") for _ in range(rows)]
    schema = shoal.Schema.of(quasi=names, sensitive="ill")
    release = shoal.publish(
        pa.table(table), schema=schema, rule="k-anonymity k=5", out=tmp_path / "release"
    )
    assert release.verdict.holds
    assert release.verdict.rows + release.private.get("held_back", 0) == rows
