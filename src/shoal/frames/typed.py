"""Columns that come with a type: numbers, truth values, dates and times of frames and databases."""

from __future__ import annotations

from shoal.errors import InputError
from shoal.frames.column import EXACT, HINT, Column, Engine, Found, infinite, is_wide, whole

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


def nested(name: str, kind: str) -> None:
    """Refuse a column whose cells are not single values."""
    for mark, what in _REFUSED:
        if kind.endswith(mark) if mark == "]" else kind.startswith(mark):
            raise InputError(
                f"Column {name!r} is a column of {what}.",
                "Leave it out, or give each part a column of its own.",
            )


def typed(engine: Engine, column: Column, kind: str) -> Found | None:
    """The decision for a column with a type of its own; None where it is read as text."""
    if kind in _INTEGERS:
        found = _integer(engine, column)
    elif kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        found = _real(engine, column, kind)
    elif kind == "DATE" or kind.startswith("TIMESTAMP"):
        found = _moment(engine, column, kind)
    elif kind == "BOOLEAN":
        found = Found("category", f"{column.value()}::VARCHAR")
    else:
        return None
    return _force(column, found)


def _force(column: Column, found: Found) -> Found:
    """The kind the caller asked for; numbers and dates can become text, but not each other."""
    if column.forced in (None, found.kind):
        return found
    if column.forced in ("number", "date"):
        if (column.forced, found.kind) == ("number", "code"):
            return Found("number", f"CAST({column.value()} AS DOUBLE)")
        raise InputError(
            f"Column {column.name!r} is a {found.kind}, not a {column.forced}.",
            f"Leave {column.name!r} out of kinds=.",
        )
    kind = "category" if column.forced in ("label", "numeral") else column.forced
    return Found(kind, f"({found.sql})::VARCHAR", found.notes)


def _integer(engine: Engine, column: Column) -> Found:
    value = column.value()
    bounds = engine.execute(f"SELECT min({value}), max({value}) FROM ({column.query})")
    low, high = bounds.fetchall()[0]
    if low is None or high is None:
        return Found("category", f"{value}::VARCHAR", ("no values",))
    if max(len(str(abs(low))), len(str(abs(high)))) > EXACT:
        notes = (f"digits beyond {EXACT}: kept as codes, which are exact",)
        return Found("code", f"{value}::VARCHAR", notes)
    if low >= 0 and is_wide(column.name, len(str(low)), len(str(high))):
        return Found("code", f"{value}::VARCHAR")
    return Found("number", f"CAST({value} AS BIGINT)")


def _real(engine: Engine, column: Column, kind: str) -> Found:
    value = f"CAST({column.value()} AS DOUBLE)"
    counted = engine.execute(
        f"SELECT count(x), count(*) FILTER (isnan(x)), count(*) FILTER (isinf(x))"
        f" FROM (SELECT {value} AS x FROM ({column.query}))"
    ).fetchall()[0]
    some, unknown, endless = counted
    infinite(column.name, endless)
    if some == unknown:
        return Found("category", "CAST(NULL AS VARCHAR)", ("no values",))
    notes: tuple[str, ...] = ()
    if unknown:
        value = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        notes = (f"{unknown:,} nulls written 'NaN'",)
    sql = whole(engine, column, value)
    if sql != value and HINT.search(column.name):  # whole codes that a null turned into floats
        integers = Column("x", column.name, f"SELECT {sql} AS x FROM ({column.query})")
        if _integer(engine, integers).kind == "code":
            return Found("code", f"({sql})::VARCHAR", notes)
    return Found("number", sql, notes)


def _moment(engine: Engine, column: Column, kind: str) -> Found:
    value = column.value()
    if kind == "DATE":
        return Found("date", value)
    if kind == "TIMESTAMP WITH TIME ZONE":
        value = f"({value} AT TIME ZONE 'UTC')"
    counted = engine.execute(
        f"SELECT count(*) FILTER (x <> date_trunc('day', x)), count(*) FILTER (NOT isfinite(x))"
        f" FROM (SELECT {value}::TIMESTAMP AS x FROM ({column.query}))"
    ).fetchall()[0]
    timed, endless = counted
    infinite(column.name, endless)
    notes = (f"{timed:,} times of day left out",) if timed else ()
    return Found("date", f"CAST({value} AS DATE)", notes)
