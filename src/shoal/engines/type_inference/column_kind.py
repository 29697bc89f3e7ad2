"""What each column is: number, date, code, category or free text, judged on all its values.

A column that comes with a type (of a frame, a database, a Parquet file) is decided by it. Of a text
column the engine counts the forms in which its values are written (`value_forms`, `text_census`),
and the decision is taken here, on those counts; `decimal_sign_and_date_order` finds which sign is
the decimal one and whether the day comes before the month. Every guess that could have gone another
way stands in the field's notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import duckdb

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import LIKE_A_VALUE, is_like_a_value, list_columns
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import order_bands
from shoal.core.missing_marks import DOUBTFUL_MARKS, NULL_MARKS
from shoal.core.schema import Field
from shoal.engines.readers.header import clean_names
from shoal.engines.type_inference.column_records import (
    CODE_NAME,
    EXACT_DIGITS,
    ColumnDecision,
    DuckConnection,
    RawColumn,
    ReadingOptions,
    Select,
    exact_sql,
    has_code_width,
    refuse_infinite,
)
from shoal.engines.type_inference.decimal_sign_and_date_order import (
    find_date_order,
    find_decimal_sign,
)
from shoal.engines.type_inference.text_census import (
    NUMBER_FORMS,
    Census,
    ColumnEvidence,
    EvidenceCollector,
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
_IN_ORDER = ("values in an order of their own",)
_PLAIN_WORD = re.compile(r"[^\W\d_]([^\W\d]|[.,&()/ -]){0,39}(?<! )")


def recognise_columns(
    engine: DuckConnection,
    query: str,
    reading: ReadingOptions,
    longest: Mapping[str, int] | None = None,
) -> tuple[Select, tuple[Field, ...]]:
    """The query with typed columns under public names, and the fields.

    Text columns whose ``longest`` text is known (bytes, by name) are looked at many at a time.
    """
    described = engine.execute(f"DESCRIBE {query}").fetchall()
    names = clean_names(row[0] for row in described)
    if unknown := sorted(set(reading.kinds) - set(names)):
        hint = list_columns(name_fields(names), reading.kinds)
        raise UsageError(f"There is no column {unknown[0]!r}.", hint)
    for name, row in zip(names, described, strict=True):
        _refuse_nested(name, row[1])
    row_count = engine.execute(f"SELECT count(*) FROM ({query})").fetchall()[0]
    if not row_count[0]:
        raise InputError("The table has no rows.", "Check that this is the right table.")
    unread = () if reading.left_out is None else reading.left_out(names)
    kinds = dict.fromkeys(unread, "label") | dict(reading.kinds)
    raw = [
        (RawColumn(row[0], name, query, kinds.get(name)), row[1])
        for name, row in zip(names, described, strict=True)
    ]
    decisions = _decide_columns(engine, raw, reading, row_count[0], longest or {})
    columns = tuple((name, decision.sql) for name, decision in zip(names, decisions, strict=True))
    fields = tuple(
        Field(
            name,
            decision.kind,
            decision.notes + _note_like_a_value(name),
            decision.ordered,
            decision.null_marks,
            decision.doubtful_marks,
            decision.decimal_comma,
        )
        for name, decision in zip(names, decisions, strict=True)
    )
    return Select(columns, query), fields


def _decide_columns(
    engine: DuckConnection,
    columns: Sequence[tuple[RawColumn, str]],
    reading: ReadingOptions,
    rows: int,
    longest: Mapping[str, int],
) -> list[ColumnDecision]:
    """What each column is, by its type; an error is about the first column that has one."""
    marks = NULL_MARKS if reading.nulls is None else reading.nulls
    texts = [
        column
        for column, kind in columns
        if _aggregates_sql("", kind) is None and column.forced not in ("label", "numeral")
    ]
    collector = EvidenceCollector(engine, texts, marks, rows, longest)
    measured = _measure_columns(engine, columns)
    decisions = [
        _decide_by_type(engine, column, kind, measured) or _decide_text(collector, column, reading)
        for column, kind in columns
    ]
    collector.close()
    return decisions


def name_fields(names: Iterable[str]) -> tuple[Field, ...]:
    """Columns of which the names alone are known."""
    return tuple(Field(name, "text", _note_like_a_value(name)) for name in names)


def _note_like_a_value(name: str) -> tuple[str, ...]:
    """A name that looks like a cell: perhaps the table has no header."""
    return (LIKE_A_VALUE,) if is_like_a_value(name) else ()


def _decide_text(
    collector: EvidenceCollector, column: RawColumn, reading: ReadingOptions
) -> ColumnDecision:
    forced = column.forced
    if forced in ("label", "numeral"):
        word = f"nullif({column.value()}::VARCHAR, '')"
        comma = forced == "numeral" and reading.decimal == ","
        return ColumnDecision("category", f"replace({word}, ',', '.')" if comma else word)
    evidence = collector.ask(column)
    if forced in (None, "category") and (words := _plain_words(evidence, reading)):
        ordered = order_bands(words) is not None
        return ColumnDecision(
            "category", f"{column.value()}::VARCHAR", _IN_ORDER * ordered, ordered
        )
    census = evidence.census
    may_be_bands = forced in (None, "category") and census.may_be_bands
    if may_be_bands and order_bands(evidence.values()) is not None:
        return _decide_words(census, column, "category", ordered=True)
    if forced is None and _is_code(census, column.name):
        return _decide_words(census, column, "code")
    if forced in (None, "number") and (decimal := find_decimal_sign(census, column, reading)):
        return _decide_number(evidence, column, decimal, reading)
    if forced in (None, "date") and (order := find_date_order(census, column, reading)):
        return _decide_date(census, column, order, reading)
    kind = forced or ("text" if _is_prose(census) else "category")
    return _decide_words(census, column, kind)


def _plain_words(evidence: ColumnEvidence, reading: ReadingOptions) -> list[str]:
    """The values where all are short words, beyond doubt: most columns are; a census is slow."""
    marks = NULL_MARKS if reading.nulls is None else reading.nulls
    words = evidence.few_texts()
    if not {*marks, *forms.SOFT_MARKS}.isdisjoint(words):
        return []
    plain = all(_PLAIN_WORD.fullmatch(word) and word.count(" ") < 3 for word in words)
    return words if plain else []


def _text_sql(
    census: Census, column: RawColumn, *also: str
) -> tuple[str, tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The column as text with nulls for marks (and these ``also``), notes, and the marks found.

    Clean columns are left alone.
    """
    sql, notes = f"{column.value()}::VARCHAR", []
    if padded := census.total("padded"):
        sql = forms.trim_blanks(sql)
        notes.append(f"{padded:,} values had blanks around them")
    marks = census.nulls | census.marks(*also)
    if marks:
        listed = ", ".join(map(forms.quote_text, marks))
        sql = (
            f"CASE WHEN {forms.trim_blanks(column.value())} IN ({listed}) THEN NULL ELSE {sql} END"
        )
    written = tuple((mark, rows) for mark, rows in marks.items() if mark)
    notes += [f"{rows:,} nulls written {mark!r}" for mark, rows in written]
    return sql, tuple(notes), written


def _decide_words(
    census: Census, column: RawColumn, kind: str, ordered: bool = False
) -> ColumnDecision:
    also = DOUBTFUL_MARKS if kind == "code" else ()  # no code of digits is written so
    sql, notes, marks = _text_sql(census, column, *also)
    doubtful = () if also else tuple(census.marks(*DOUBTFUL_MARKS).items())
    notes += tuple(
        f"{rows:,} values {mark!r}, which may mean missing (set with --null {mark})"
        for mark, rows in doubtful
    )
    numbers, live = census.rows(*NUMBER_FORMS), census.total("rows")
    if not live:
        notes += ("no values",)
    elif kind == "category" and 0 < numbers < live and not ordered:
        notes += (f"{numbers:,} of {live:,} values are numbers, the others are not",)
    elif kind == "category" and (dates := census.rows("iso", "parts")):
        notes += (f"{dates:,} of {live:,} values look like dates, but not all in one order",)
    elif kind == "code" and census.spread("digits")[1] > EXACT_DIGITS:
        notes += (f"digits beyond {EXACT_DIGITS}: kept as codes, which are exact",)
    notes += _IN_ORDER * ordered
    return ColumnDecision(kind, sql, notes, ordered, marks, doubtful)


def _is_code(census: Census, name: str) -> bool:
    """Leading zeros, digits too long for a number, a hinted fixed width, or one shape of code."""
    live, digits = census.live, census.rows("digits")
    doubtful = sum(census.marks(*DOUBTFUL_MARKS).values())
    if not live or live != census.total("rows") - doubtful:
        return False
    numeric = census.rows("zeros", "digits", "plain", "dotted")
    short, long = census.spread("digits")
    if (census.rows("zeros") and numeric == live) or (digits == live and long > EXACT_DIGITS):
        return True
    if CODE_NAME.search(name):
        lettered = census.rows("code")
        fixed = digits == live and has_code_width(name, short, long)
        return fixed or (lettered > 0 and numeric + lettered == live)
    return (
        census.rows("code") == live
        and census.all["code"]["heads"] == 1
        and census.spread("code")[0] > 2
    )


def _is_prose(census: Census) -> bool:
    """Many words or letters, and hardly two values alike."""
    live = census.total("rows")
    long = census.total("words") >= 5 * live or census.total("letters") >= 80 * live
    return live > 0 and long and 2 * census.total("distinct") >= live


def _decide_number(
    evidence: ColumnEvidence, column: RawColumn, decimal: str, reading: ReadingOptions
) -> ColumnDecision:
    census = evidence.census
    value, notes, marks = _text_sql(census, column, *forms.SOFT_MARKS)
    if census.rows("digits") == census.live and census.spread("digits")[1] <= EXACT_DIGITS:
        return ColumnDecision("number", f"CAST({value} AS BIGINT)", notes, null_marks=marks)
    refuse_infinite(column.name, census.rows("inf"))
    plain = census.rows("digits", "plain") == census.live
    sql = f"CAST({value} AS DOUBLE)" if plain else forms.cast_number(value, decimal)
    if decimal == ",":
        notes += ("decimal comma",)
    elif census.rows("either") and not reading.decimal:
        notes += ("a comma before three digits read as thousands separator (set with decimal=)",)
    sql = evidence.whole(sql, "plain" if plain else decimal)
    return ColumnDecision("number", sql, notes, null_marks=marks, decimal_comma=decimal == ",")


def _decide_date(
    census: Census, column: RawColumn, order: str, reading: ReadingOptions
) -> ColumnDecision:
    value, notes, marks = _text_sql(census, column, *forms.SOFT_MARKS)
    if order != "iso":
        is_certain = (
            census.total("first") or census.total("second") or reading.day_first is not None
        )
        doubt = "" if is_certain else ": they cannot be told apart (set with day_first=)"
        notes += (("day before month" if order == "day" else "month before day") + doubt,)
    if census.total("short"):
        notes += ("two-digit years read as 1930 to 2029",)
    if timed := census.total("timed"):
        notes += (f"{timed:,} times of day left out",)
    return ColumnDecision("date", forms.cast_date(value, order), notes, null_marks=marks)


# Columns that come with a type: numbers, truth values, dates and times of frames and databases


def _refuse_nested(name: str, kind: str) -> None:
    for mark, what in _REFUSED:
        if kind.endswith(mark) if mark == "]" else kind.startswith(mark):
            raise InputError(
                f"Column {name!r} is a column of {what}.",
                "Leave it out, or give each part a column of its own.",
            )


def _measure_columns(
    engine: DuckConnection, columns: Sequence[tuple[RawColumn, str]]
) -> dict[str, Measurements]:
    """What the engine counts of the columns with a type of their own, by name, many at a time.

    Where that fails, each of these columns is measured by itself, in their order.
    """
    wanted = [
        (column.raw, column.query, aggregates)
        for column, kind in columns
        if (aggregates := _aggregates_sql(column.value(), kind))
    ]
    measured: dict[str, Measurements] = {}
    for lot in (wanted[at : at + _LOT] for at in range(0, len(wanted), _LOT)):
        aggregates_of_lot = ", ".join(sql for _, _, aggregates in lot for sql in aggregates)
        try:
            counts = iter(
                engine.execute(f"SELECT {aggregates_of_lot} FROM ({lot[0][1]})").fetchall()[0]
            )
        except duckdb.DataError:
            continue
        for raw, _, aggregates in lot:
            measured[raw] = tuple(islice(counts, len(aggregates)))
    return measured


def _aggregates_sql(value: str, kind: str) -> tuple[str, ...] | None:
    """What is counted of a column of this type; nothing where the type says it all.

    None of a type that decides nothing: such columns are read as text.
    """
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


def _decide_by_type(
    engine: DuckConnection, column: RawColumn, kind: str, measured: Mapping[str, Measurements]
) -> ColumnDecision | None:
    """The decision for a column with a type of its own; None where it is read as text."""
    aggregates = _aggregates_sql(column.value(), kind)
    if aggregates is None:
        return None
    counts = measured.get(column.raw, ())
    if aggregates and not counts:
        query = f"SELECT {', '.join(aggregates)} FROM ({column.query})"
        counts = engine.execute(query).fetchall()[0]
    if kind in _INTEGERS:
        decision = _decide_integer(column, *counts)
    elif kind == "BOOLEAN":
        decision = ColumnDecision("category", f"{column.value()}::VARCHAR")
    elif kind == "DATE":
        decision = ColumnDecision("date", column.value())
    elif kind.startswith("TIMESTAMP"):
        decision = _decide_moment(column, kind, *counts)
    else:
        decision = _decide_real(column, *counts)
    return _apply_stated_kind(column, decision)


def _apply_stated_kind(column: RawColumn, decision: ColumnDecision) -> ColumnDecision:
    """The kind the caller asked for; numbers and dates can become text, but not each other."""
    if column.forced in (None, decision.kind):
        return decision
    if column.forced in ("number", "date"):
        if (column.forced, decision.kind) == ("number", "code"):
            return ColumnDecision("number", f"CAST({column.value()} AS DOUBLE)")
        raise InputError(
            f"Column {column.name!r} is a {decision.kind}, not a {column.forced}.",
            f"Leave {column.name!r} out of kinds=.",
        )
    kind = "category" if column.forced in ("label", "numeral") else column.forced
    return ColumnDecision(kind, f"({decision.sql})::VARCHAR", decision.notes)


def _decide_integer(column: RawColumn, low: int | None, high: int | None) -> ColumnDecision:
    value = column.value()
    if low is None or high is None:
        return ColumnDecision("category", f"{value}::VARCHAR", ("no values",))
    if max(len(str(abs(low))), len(str(abs(high)))) > EXACT_DIGITS:
        notes = (f"digits beyond {EXACT_DIGITS}: kept as codes, which are exact",)
        return ColumnDecision("code", f"{value}::VARCHAR", notes)
    if low >= 0 and has_code_width(column.name, len(str(low)), len(str(high))):
        return ColumnDecision("code", f"{value}::VARCHAR")
    return ColumnDecision("number", f"CAST({value} AS BIGINT)")


def _decide_real(
    column: RawColumn, values: int, nans: int, infinite: int, exact: bool, low: float, high: float
) -> ColumnDecision:
    value = f"CAST({column.value()} AS DOUBLE)"
    refuse_infinite(column.name, infinite)
    if values == nans:
        return ColumnDecision("category", "CAST(NULL AS VARCHAR)", ("no values",))
    notes: tuple[str, ...] = ()
    if nans:
        value = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        notes = (f"{nans:,} nulls written 'NaN'",)
    if not exact:
        return ColumnDecision("number", value, notes)
    sql = f"CAST({value} AS BIGINT)"
    # whole codes that a null turned into floats
    if (
        CODE_NAME.search(column.name)
        and _decide_integer(column, int(low), int(high)).kind == "code"
    ):
        return ColumnDecision("code", f"({sql})::VARCHAR", notes)
    return ColumnDecision("number", sql, notes)


def _decide_moment(column: RawColumn, kind: str, timed: int, infinite: int) -> ColumnDecision:
    refuse_infinite(column.name, infinite)
    notes = (f"{timed:,} times of day left out",) if timed else ()
    return ColumnDecision("date", f"CAST({_moment_sql(column.value(), kind)} AS DATE)", notes)
