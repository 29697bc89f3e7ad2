"""What each column is: number, date, code, category or free text, judged on all its values.

The engine counts the forms in which a column's values are written (`value_forms`); the decision is
taken here, on those counts. Which sign is the decimal one and whether the day comes before the
month is found in `decimal_sign_and_date_order`. Every guess that could have gone another way stands
in the field's notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import LIKE_A_VALUE, is_like_a_value, list_columns
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import DOUBTFUL_MARKS, NULL_MARKS
from shoal.core.ordered_bands import order_bands
from shoal.core.schema import Field
from shoal.engines.readers.header import clean_names
from shoal.engines.type_inference.column_decision import (
    CODE_NAME,
    EXACT_DIGITS,
    ColumnDecision,
    DuckConnection,
    RawColumn,
    ReadingOptions,
    Select,
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
from shoal.engines.type_inference.typed_columns import (
    decide_by_type,
    has_type,
    measure_columns,
    refuse_nested,
)

_IN_ORDER = ("values in an order of their own",)
_WORDS = re.compile(r"[^\W\d_]([^\W\d]|[.,&()/ -]){0,39}(?<! )")


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
        refuse_nested(name, row[1])
    counted = engine.execute(f"SELECT count(*) FROM ({query})").fetchall()[0]
    if not counted[0]:
        raise InputError("The table has no rows.", "Check that this is the right table.")
    unread = () if reading.left_out is None else reading.left_out(names)
    kinds = dict.fromkeys(unread, "label") | dict(reading.kinds)
    raw = [
        (RawColumn(row[0], name, query, kinds.get(name)), row[1])
        for name, row in zip(names, described, strict=True)
    ]
    found = _decide(engine, raw, reading, counted[0], longest or {})
    columns = tuple((name, one.sql) for name, one in zip(names, found, strict=True))
    fields = tuple(
        Field(
            n,
            f.kind,
            f.notes + _headless(n),
            f.ordered,
            f.null_marks,
            f.doubtful_marks,
            f.decimal_comma,
        )
        for n, f in zip(names, found, strict=True)
    )
    return Select(columns, query), fields


def _decide(
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
        if not has_type(kind) and column.forced not in ("label", "numeral")
    ]
    inquiry = EvidenceCollector(engine, texts, marks, rows, longest)
    measured = measure_columns(engine, columns)
    decisions = [
        decide_by_type(engine, column, kind, measured) or _text(inquiry, column, reading)
        for column, kind in columns
    ]
    inquiry.close()
    return decisions


def name_fields(names: Iterable[str]) -> tuple[Field, ...]:
    """Columns of which the names alone are known."""
    return tuple(Field(name, "text", _headless(name)) for name in names)


def _headless(name: str) -> tuple[str, ...]:
    """A name that looks like a cell: perhaps the table has no header."""
    return (LIKE_A_VALUE,) if is_like_a_value(name) else ()


def _text(inquiry: EvidenceCollector, column: RawColumn, reading: ReadingOptions) -> ColumnDecision:
    forced = column.forced
    if forced in ("label", "numeral"):
        word = f"nullif({column.value()}::VARCHAR, '')"
        comma = forced == "numeral" and reading.decimal == ","
        return ColumnDecision("category", f"replace({word}, ',', '.')" if comma else word)
    evidence = inquiry.ask(column)
    if forced in (None, "category") and (words := _plain_words(evidence, reading)):
        ordered = order_bands(words) is not None
        return ColumnDecision(
            "category", f"{column.value()}::VARCHAR", _IN_ORDER * ordered, ordered
        )
    census = evidence.census
    if forced in (None, "category") and _are_bands(evidence):
        return _words(census, column, "category", ordered=True)
    if forced is None and _is_code(census, column.name):
        return _words(census, column, "code")
    if forced in (None, "number") and (decimal := find_decimal_sign(census, column, reading)):
        return _number(evidence, column, decimal, reading)
    if forced in (None, "date") and (order := find_date_order(census, column, reading)):
        return _date(census, column, order, reading)
    kind = forced or ("text" if _is_prose(census) else "category")
    return _words(census, column, kind)


def _plain_words(evidence: ColumnEvidence, reading: ReadingOptions) -> list[str]:
    """The values where all are short words, beyond doubt: most columns are; a census is slow."""
    marks = NULL_MARKS if reading.nulls is None else reading.nulls
    words = evidence.few_texts()
    if not {*marks, *forms.SOFT_MARKS}.isdisjoint(words):
        return []
    plain = all(_WORDS.fullmatch(word) and word.count(" ") < 3 for word in words)
    return words if plain else []


def _are_bands(evidence: ColumnEvidence) -> bool:
    """Whether the column has few values, not all of them numbers, in an order of their own."""
    return evidence.census.may_be_bands and order_bands(evidence.values()) is not None


def _value(
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


def _words(census: Census, column: RawColumn, kind: str, ordered: bool = False) -> ColumnDecision:
    also = DOUBTFUL_MARKS if kind == "code" else ()  # no code of digits is written so
    sql, notes, marks = _value(census, column, *also)
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


def _number(
    evidence: ColumnEvidence, column: RawColumn, decimal: str, reading: ReadingOptions
) -> ColumnDecision:
    census = evidence.census
    value, notes, marks = _value(census, column, *forms.SOFT_MARKS)
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


def _date(census: Census, column: RawColumn, order: str, reading: ReadingOptions) -> ColumnDecision:
    value, notes, marks = _value(census, column, *forms.SOFT_MARKS)
    if order != "iso":
        told = census.total("first") or census.total("second") or reading.day_first is not None
        doubt = "" if told else ": they cannot be told apart (set with day_first=)"
        notes += (("day before month" if order == "day" else "month before day") + doubt,)
    if census.total("short"):
        notes += ("two-digit years read as 1930 to 2029",)
    if timed := census.total("timed"):
        notes += (f"{timed:,} times of day left out",)
    return ColumnDecision("date", forms.cast_date(value, order), notes, null_marks=marks)
