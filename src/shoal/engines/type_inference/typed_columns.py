"""Columns that come with a type: numbers, truth values, dates and times of frames and databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import duckdb

from shoal.core.errors import InputError
from shoal.engines.type_inference.column_decision import (
    CODE_NAME,
    EXACT_DIGITS,
    ColumnDecision,
    DuckConnection,
    RawColumn,
    exact_sql,
    has_code_width,
    refuse_infinite,
)

Measurements = tuple[Any, ...]
"""What the engine counted of one column, in the order of its type's aggregates."""

_LOT = 250  # columns that one query measures

_INTEGERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
}
_REFUSED = (  # how the type ends or begins, and what a person calls it
    ("]", "lists"),
    ("STRUCT", "records"),
    ("MAP", "maps"),
    ("UNION", "mixed records"),
    ("BLOB", "binary data"),
    ("BIT", "binary data"),
    ("GEOMETRY", "shapes"),
    ("VARIANT", "records"),
)


def refuse_nested(name: str, kind: str) -> None:
    """Refuse a column whose cells are not single values."""
    for mark, what in _REFUSED:
        if kind.endswith(mark) if mark == "]" else kind.startswith(mark):
            raise InputError(
                f"Column {name!r} is a column of {what}.",
                "Leave it out, or give each part a column of its own.",
            )


def has_type(kind: str) -> bool:
    """Whether a column of this type is judged by it; all others are read as text."""
    return _aggregates("", kind) is not None


def measure_columns(
    engine: DuckConnection, columns: Sequence[tuple[RawColumn, str]]
) -> dict[str, Measurements]:
    """What the engine counts of the columns with a type of their own, by name, many at a time.

    Where that fails nothing is told of these columns: each is measured by itself, in their order.
    """
    wanted = [
        (column.raw, column.query, aggregates)
        for column, kind in columns
        if (aggregates := _aggregates(column.value(), kind))
    ]
    measured: dict[str, Measurements] = {}
    for lot in (wanted[at : at + _LOT] for at in range(0, len(wanted), _LOT)):
        every = ", ".join(sql for _, _, aggregates in lot for sql in aggregates)
        try:
            counts = iter(engine.execute(f"SELECT {every} FROM ({lot[0][1]})").fetchall()[0])
        except duckdb.DataError:
            continue
        for raw, _, aggregates in lot:
            measured[raw] = tuple(islice(counts, len(aggregates)))
    return measured


def _aggregates(value: str, kind: str) -> tuple[str, ...] | None:
    """What is counted of a column of this type; nothing where the type says it all."""
    if kind in _INTEGERS:
        return f"min({value})", f"max({value})"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        x = f"CAST({value} AS DOUBLE)"
        numbers = f"FILTER (NOT isnan({x}))"
        return (
            f"count({x})",
            f"count(*) FILTER (isnan({x}))",
            f"count(*) FILTER (isinf({x}))",
            f"bool_and({exact_sql(x)}) {numbers}",
            f"min({x}) {numbers}",
            f"max({x}) {numbers}",
        )
    if kind.startswith("TIMESTAMP"):
        x = f"{_moment_sql(value, kind)}::TIMESTAMP"
        return (
            f"count(*) FILTER ({x} <> date_trunc('day', {x}))",
            f"count(*) FILTER (NOT isfinite({x}))",
        )
    return () if kind in ("DATE", "BOOLEAN") else None


def _moment_sql(value: str, kind: str) -> str:
    return f"({value} AT TIME ZONE 'UTC')" if kind == "TIMESTAMP WITH TIME ZONE" else value


def decide_by_type(
    engine: DuckConnection, column: RawColumn, kind: str, measured: Mapping[str, Measurements]
) -> ColumnDecision | None:
    """The decision for a column with a type of its own; None where it is read as text."""
    aggregates = _aggregates(column.value(), kind)
    if aggregates is None:
        return None
    counts = measured.get(column.raw, ())
    if aggregates and not counts:
        query = f"SELECT {', '.join(aggregates)} FROM ({column.query})"
        counts = engine.execute(query).fetchall()[0]
    if kind in _INTEGERS:
        found = _integer(column, *counts)
    elif kind == "BOOLEAN":
        found = ColumnDecision("category", f"{column.value()}::VARCHAR")
    elif kind == "DATE":
        found = ColumnDecision("date", column.value())
    elif kind.startswith("TIMESTAMP"):
        found = _moment(column, kind, *counts)
    else:
        found = _real(column, *counts)
    return _force(column, found)


def _force(column: RawColumn, found: ColumnDecision) -> ColumnDecision:
    """The kind the caller asked for; numbers and dates can become text, but not each other."""
    if column.forced in (None, found.kind):
        return found
    if column.forced in ("number", "date"):
        if (column.forced, found.kind) == ("number", "code"):
            return ColumnDecision("number", f"CAST({column.value()} AS DOUBLE)")
        raise InputError(
            f"Column {column.name!r} is a {found.kind}, not a {column.forced}.",
            f"Leave {column.name!r} out of kinds=.",
        )
    kind = "category" if column.forced in ("label", "numeral") else column.forced
    return ColumnDecision(kind, f"({found.sql})::VARCHAR", found.notes)


def _integer(column: RawColumn, low: int | None, high: int | None) -> ColumnDecision:
    value = column.value()
    if low is None or high is None:
        return ColumnDecision("category", f"{value}::VARCHAR", ("no values",))
    if max(len(str(abs(low))), len(str(abs(high)))) > EXACT_DIGITS:
        notes = (f"digits beyond {EXACT_DIGITS}: kept as codes, which are exact",)
        return ColumnDecision("code", f"{value}::VARCHAR", notes)
    if low >= 0 and has_code_width(column.name, len(str(low)), len(str(high))):
        return ColumnDecision("code", f"{value}::VARCHAR")
    return ColumnDecision("number", f"CAST({value} AS BIGINT)")


def _real(
    column: RawColumn, some: int, unknown: int, endless: int, exact: bool, low: float, high: float
) -> ColumnDecision:
    value = f"CAST({column.value()} AS DOUBLE)"
    refuse_infinite(column.name, endless)
    if some == unknown:
        return ColumnDecision("category", "CAST(NULL AS VARCHAR)", ("no values",))
    notes: tuple[str, ...] = ()
    if unknown:
        value = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        notes = (f"{unknown:,} nulls written 'NaN'",)
    if not exact:
        return ColumnDecision("number", value, notes)
    sql = f"CAST({value} AS BIGINT)"
    # whole codes that a null turned into floats
    if CODE_NAME.search(column.name) and _integer(column, int(low), int(high)).kind == "code":
        return ColumnDecision("code", f"({sql})::VARCHAR", notes)
    return ColumnDecision("number", sql, notes)


def _moment(column: RawColumn, kind: str, timed: int, endless: int) -> ColumnDecision:
    refuse_infinite(column.name, endless)
    notes = (f"{timed:,} times of day left out",) if timed else ()
    return ColumnDecision("date", f"CAST({_moment_sql(column.value(), kind)} AS DATE)", notes)
