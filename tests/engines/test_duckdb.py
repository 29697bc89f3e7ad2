"""The DuckDB engine against plain Python on small tables, and its promises on hard ones."""

from __future__ import annotations

import datetime
import hashlib
import stat
from collections import Counter
from collections.abc import Iterator
from math import log2
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Field
from shoal.engines.duckdb import (
    DuckFrame,
    connect,
    pack_codes,
    plan_packing,
    translate_errors,
    unpack_codes,
)
from shoal.engines.protocol import Coding, Frame, Pieces

Row = tuple[Any, ...]
KINDS = {"number": pa.float64(), "date": pa.date32(), "category": pa.string()}


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return connect()


def frame_of(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], fields: list[Field], *types: pa.DataType
) -> DuckFrame:
    kinds = types or tuple(KINDS.get(f.kind, pa.string()) for f in fields)
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    connection.register("people", pa.table(columns, [f"x{i}" for i in range(len(fields))]))
    picked = ", ".join(
        f'x{i} AS "{f.name.replace(chr(34), chr(34) * 2)}"' for i, f in enumerate(fields)
    )
    return DuckFrame(connection, f"SELECT {picked} FROM people", tuple(fields))


def codings(frame: DuckFrame) -> list[Coding]:
    found = frame.values([field.name for field in frame.fields])
    result = []
    for name, distinct in found.items():
        values = sorted(distinct.values)
        n = len(values)
        null = n if distinct.nulls else None
        codes = np.arange(n, dtype=np.int32)
        result.append(Coding(name, values, codes, null, n + (null is not None)))
    return result


def decoded(by: list[Coding], columns: tuple[np.ndarray, ...], entry: int) -> Row:
    def value(coding: Coding, code: int) -> Any:
        return None if code == coding.null_code else coding.values[code]

    return tuple(value(c, int(col[entry])) for c, col in zip(by, columns, strict=True))


FIELDS = [
    Field('a "quoted" name', "category"),
    Field("Größe, in cm", "number"),
    Field("born", "date"),
    Field("BORN", "category"),
]
VALUE = [
    st.sampled_from(["f", "m", "", "F", "é", None]),
    st.sampled_from([0.0, -0.0, 1.5, -3.0, None]),
    st.sampled_from([datetime.date(1970, 1, 1), datetime.date(1899, 12, 31), None]),
    st.sampled_from(["007", "7", " 7", None]),
]


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(*VALUE), max_size=40))
def test_tally_counts_as_python_does(rows: list[Row]) -> None:
    frame = frame_of(connect(), rows, FIELDS)
    by = codings(frame)
    counted = frame.tally(by)
    assert {
        decoded(by, counted.codes, i): n for i, n in enumerate(counted.count.tolist())
    } == Counter(rows)
    for name, distinct in frame.values([f.name for f in FIELDS]).items():
        at = [f.name for f in FIELDS].index(name)
        expected = Counter(row[at] for row in rows)
        assert distinct.nulls == expected.pop(None, 0)
        assert dict(zip(distinct.values, distinct.counts.tolist(), strict=True)) == expected


def test_is_a_frame_and_keeps_its_fields(connection: duckdb.DuckDBPyConnection) -> None:
    frame = frame_of(connection, [("f", 1.0, None, "x")], FIELDS)
    assert isinstance(frame, Frame)
    assert frame.fields == tuple(FIELDS)


def test_profile(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", 10.0), ("a", None), ("bcd", 7.0), (None, 7.0)]
    frame = frame_of(connection, rows, [Field("t", "text"), Field("n", "number")])
    profile = frame.profile()
    text, number = profile["t"], profile["n"]
    assert (text.rows, text.nulls, text.distinct, text.once) == (4, 1, 2, 1)
    assert (text.shortest, text.longest) == (1, 3)
    assert text.entropy == pytest.approx(-(0.5 * log2(0.5) + 2 * 0.25 * log2(0.25)))
    assert (number.nulls, number.distinct, number.once) == (1, 2, 1)


def test_profile_of_many_columns_and_of_no_rows(connection: duckdb.DuckDBPyConnection) -> None:
    fields = [Field(f"column {i}", "category") for i in range(70)]
    frame = frame_of(connection, [tuple("x" * (i + 1) for i in range(70))], fields)
    profile = frame.profile()
    assert [profile[f.name].longest for f in fields] == list(range(1, 71))
    empty = frame_of(connection, [], fields[:2])
    assert empty.profile()["column 1"].rows == 0
    assert empty.values(["column 0"])["column 0"].values == []
    assert len(empty.tally(codings(empty)).count) == 0


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(), pa.decimal128(9, 2)]
)
def test_every_number_type_joins(connection: duckdb.DuckDBPyConnection, kind: pa.DataType) -> None:
    rows = [(v,) for v in (3, 3, 100, 0, None)]
    frame = frame_of(connection, rows, [Field("n", "number")], kind)
    by = codings(frame)
    assert by[0].values == [0.0, 3.0, 100.0]
    counted = frame.tally(by)
    assert sorted(zip(counted.codes[0].tolist(), counted.count.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
        (2, 1),
        (3, 1),
    ]


def test_large_integers_that_floats_confuse_stay_together(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    frame = frame_of(connection, [(2**53,), (2**53 + 1,), (5,)], [Field("n", "number")], pa.int64())
    found = frame.values(["n"])["n"]
    assert sorted(found.values) == [5.0, 2.0**53]
    assert frame.tally(codings(frame)).count.sum() == 3


def test_nan_is_null_and_minus_zero_is_zero(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [(float("nan"),), (None,), (-0.0,), (0.0,)]
    frame = frame_of(connection, rows, [Field("n", "number")])
    found = frame.values(["n"])["n"]
    assert (found.values, found.counts.tolist(), found.nulls) == ([0.0], [2], 2)
    assert str(found.values[0]) == "0.0"
    assert sorted(frame.tally(codings(frame)).count.tolist()) == [2, 2]


@pytest.mark.parametrize(("value", "null_code"), [("secret", 1), (None, None)])
def test_value_without_code_is_named_by_column_and_count(
    connection: duckdb.DuckDBPyConnection, value: str | None, null_code: int | None
) -> None:
    frame = frame_of(connection, [("a",), (value,), (value,)], [Field("my col", "category")])
    coding = Coding("my col", ["a"], np.zeros(1, np.int32), null_code, 2)
    with pytest.raises(InputError, match=r"'my col' in 2 rows") as caught:
        frame.tally([coding])
    assert "secret" not in str(caught.value)


def test_two_values_with_one_code_are_counted_together(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    frame = frame_of(connection, [("a",), ("b",), ("c",)], [Field("x", "category")])
    counted = frame.tally([Coding("x", ["a", "b", "c"], np.array([0, 0, 1], np.int32), None, 2)])
    assert sorted(counted.count.tolist()) == [1, 2]


def test_coding_with_a_value_twice_and_unknown_column(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    frame = frame_of(connection, [("a",)], [Field("x", "category")])
    with pytest.raises(UsageError, match="lists a value twice"):
        frame.tally([Coding("x", ["a", "a"], np.zeros(2, np.int32), None, 1)])
    with pytest.raises(UsageError, match="no column 'y'"):
        frame.values(["y"])


def test_more_codes_than_one_key_holds(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [(str(i % 3), str(i % 2), "z") for i in range(12)]
    frame = frame_of(connection, rows, [Field(n, "category") for n in "abc"])
    by = [Coding(c.column, c.values, c.codes, c.null_code, 2**31) for c in codings(frame)]
    assert len(plan_packing([c.size for c in by])) == 2
    counted = frame.tally(by)
    assert sorted(counted.count.tolist()) == [2] * 6
    pieces = Pieces(counted.codes, np.arange(6, dtype=np.int32), counted.count)
    classes = pa.Table.from_batches(frame.recode(by, pieces, ["c"]))["class_"].to_pylist()
    assert Counter(classes) == dict.fromkeys(range(6), 2)


CODES = st.tuples(st.integers(0, 6), st.integers(0, 299), st.integers(0, 70_000))


@given(st.lists(CODES, min_size=1))
def test_unpack_undoes_pack(rows: list[Row]) -> None:
    sizes = [7, 300, 70_001]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    unpacked = unpack_codes(pack_codes(columns, sizes, len(rows)), sizes)
    assert [c.dtype for c in unpacked] == [np.uint8, np.uint16, np.int32]
    assert all((a == b).all() for a, b in zip(columns, unpacked, strict=True))


def recoded(
    connection: duckdb.DuckDBPyConnection, classes: list[list[tuple[int, int]]]
) -> list[tuple[int, str, int]]:
    """Recode three entries of four rows each; for each entry its (class, count) pieces."""
    rows = [(x, str(i)) for i, x in enumerate(["a", "b", None] * 4)]
    frame = frame_of(connection, rows, [Field("x", "category"), Field("id", "text")])
    by = codings(frame)[:1]
    entry = [e for e, parts in enumerate(classes) for _ in parts]
    pieces = Pieces(
        (np.array(entry, np.uint8),),
        np.array([c for parts in classes for c, _ in parts], np.int32),
        np.array([n for parts in classes for _, n in parts]),
    )
    table = pa.Table.from_batches(frame.recode(by, pieces, ["id", "x"]))
    assert table.schema.field("class_").type == pa.int32()
    return [(r["class_"], r["x"], int(r["id"])) for r in table.to_pylist()]


def test_recode_joins_by_value_and_leaves_held_back_rows_out(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    found = recoded(connection, [[(5, 4)], [(-1, 4)], [(2, 4)]])
    assert Counter((c, x) for c, x, _ in found) == {(5, "a"): 4, (2, None): 4}
    assert sorted(i for *_, i in found) == [0, 2, 3, 5, 6, 8, 9, 11]


def test_divided_entries_get_exact_counts_at_random(connection: duckdb.DuckDBPyConnection) -> None:
    first = Counter[int]()
    for _ in range(60):
        found = recoded(connection, [[(0, 1), (1, 3)], [(7, 4)], [(2, 2), (-1, 2)]])
        assert Counter((c, x) for c, x, _ in found) == {
            (0, "a"): 1,
            (1, "a"): 3,
            (7, "b"): 4,
            (2, None): 2,
        }
        first.update(i for c, _, i in found if c == 0)
    assert set(first) == {0, 3, 6, 9}  # misses one of the four with probability 1e-7


def test_recode_notices_a_table_that_changed(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InputError, match="11 rows were to be published, but 12"):
        recoded(connection, [[(0, 3)], [(1, 4)], [(2, 4)]])
    with pytest.raises(InputError, match="more rows than when it was counted"):
        recoded(connection, [[(0, 2), (1, 1)], [(1, 4)], [(2, 4)]])


def test_person_is_hashed_under_the_key(connection: duckdb.DuckDBPyConnection) -> None:
    frame = frame_of(connection, [("Zoë",), (None,)], [Field("who", "text")])
    pieces = Pieces((), np.zeros(1, np.int32), np.array([2]))
    table = pa.Table.from_batches(frame.recode([], pieces, [], person="who", key=b"k"))
    salt = hashlib.sha256(b"k").digest()
    expected = {hashlib.sha256(salt + who.encode()).hexdigest()[:32] for who in ("=Zoë", "null")}
    assert table.column_names == ["class_", "person_"]
    assert set(table["person_"].to_pylist()) == expected


def test_a_stream_left_early_frees_the_connection(connection: duckdb.DuckDBPyConnection) -> None:
    frame = DuckFrame(
        connection, "SELECT i % 7 AS n FROM range(500000) AS r(i)", (Field("n", "number"),)
    )
    by = codings(frame)
    counted = frame.tally(by)
    pieces = Pieces(counted.codes, np.zeros(7, np.int32), counted.count)
    stream: Iterator[pa.RecordBatch] = frame.recode(by, pieces, [])
    next(stream)
    with pytest.raises(UsageError, match="still being read"):
        frame.profile()
    stream.close()  # type: ignore[attr-defined]
    assert frame.profile()["n"].rows == 500_000


def test_engine_errors_show_no_value(connection: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT v::INTEGER AS n FROM (VALUES ('1'), ('secret')) AS t(v)"
    frame = DuckFrame(connection, query, (Field("n", "number"),))
    for act in (
        frame.profile,
        lambda: frame.values(["n"]),
        lambda: frame.tally([Coding("n", [1.0], np.zeros(1, np.int32), None, 1)]),
    ):
        with pytest.raises(InputError) as caught:
            act()
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_an_interrupted_query_is_a_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), translate_errors():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="another"), translate_errors():
        raise RuntimeError("another")


def test_query_with_other_columns_than_named(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError):
        DuckFrame(connection, "SELECT 1 AS a, 2 AS b", (Field("a", "number"),))


def test_close_happens_once(connection: duckdb.DuckDBPyConnection) -> None:
    closed: list[int] = []
    frame = DuckFrame(
        connection, "SELECT 1 AS a", (Field("a", "number"),), close=lambda: closed.append(1)
    )
    frame.close()
    frame.close()
    assert closed == [1]


def test_connection_is_private_offline_and_cleans_up() -> None:
    connection = connect("100MB")
    folder, install = connection.execute(
        "SELECT current_setting('temp_directory'), current_setting('autoinstall_known_extensions')"
    ).fetchall()[0]
    folder = Path(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not install
    del connection
    assert not folder.exists()
