"""What each column is: number, date, code, category or free text, judged on all its values.

The engine counts the forms in which a column's values are written (`forms`); the decision is taken
here, on those counts. Every guess that could have gone another way is told in the field's notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import LIKE_A_VALUE, is_like_a_value, list_columns
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import DOUBTFUL_MARKS, NULL_MARKS
from shoal.core.ordered_bands import order_bands
from shoal.core.schema import Field
from shoal.engines.readers.header import clean_names
from shoal.engines.type_inference.column import (
    EXACT,
    HINT,
    Column,
    Engine,
    Found,
    Select,
    infinite,
    is_wide,
)
from shoal.engines.type_inference.text_census import (
    COMMA,
    NUMBERS,
    POINT,
    Census,
    Evidence,
    Inquiry,
)
from shoal.engines.type_inference.typed_columns import has_type, measure, nested, typed

KINDS = ("number", "date", "code", "category", "text", "label", "numeral")
"""What a caller may state; a label is a word exactly as it stands, and only empty is null. A
numeral is a label of numbers, with a decimal point whatever sign is written."""
_IN_ORDER = ("values in an order of their own",)
_WORDS = re.compile(r"[^\W\d_]([^\W\d]|[.,&()/ -]){0,39}(?<! )")

LeftOut = Callable[[Sequence[str]], Iterable[str]]
"""Picks, of the names of a table's columns, those that are left out of all that is done with it."""


@dataclass(frozen=True)
class Reading:
    """What the caller knows about how values are written; None is to be found out."""

    decimal: str | None = None
    day_first: bool | None = None
    nulls: tuple[str, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    left_out: LeftOut | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise UsageError("The decimal sign must be '.' or ','.", "Set decimal=','.")
        if wrong := sorted(set(self.kinds.values()) - set(KINDS)):
            raise UsageError(f"There is no kind {wrong[0]!r}.", f"Use one of {', '.join(KINDS)}.")


def recognise(
    engine: Engine, query: str, reading: Reading, longest: Mapping[str, int] | None = None
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
        nested(name, row[1])
    counted = engine.execute(f"SELECT count(*) FROM ({query})").fetchall()[0]
    if not counted[0]:
        raise InputError("The table has no rows.", "Check that this is the right table.")
    unread = () if reading.left_out is None else reading.left_out(names)
    kinds = dict.fromkeys(unread, "label") | dict(reading.kinds)
    raw = [
        (Column(row[0], name, query, kinds.get(name)), row[1])
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
    engine: Engine,
    columns: Sequence[tuple[Column, str]],
    reading: Reading,
    rows: int,
    longest: Mapping[str, int],
) -> list[Found]:
    """What each column is, by its type; an error is about the first column that has one."""
    marks = NULL_MARKS if reading.nulls is None else reading.nulls
    texts = [
        column
        for column, kind in columns
        if not has_type(kind) and column.forced not in ("label", "numeral")
    ]
    inquiry = Inquiry(engine, texts, marks, rows, longest)
    measured = measure(engine, columns)
    decisions = [
        typed(engine, column, kind, measured) or _text(inquiry, column, reading)
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


def _text(inquiry: Inquiry, column: Column, reading: Reading) -> Found:
    forced = column.forced
    if forced in ("label", "numeral"):
        word = f"nullif({column.value()}::VARCHAR, '')"
        comma = forced == "numeral" and reading.decimal == ","
        return Found("category", f"replace({word}, ',', '.')" if comma else word)
    evidence = inquiry.ask(column)
    if forced in (None, "category") and (words := _plain_words(evidence, reading)):
        ordered = order_bands(words) is not None
        return Found("category", f"{column.value()}::VARCHAR", _IN_ORDER * ordered, ordered)
    census = evidence.census
    if forced in (None, "category") and _are_bands(evidence):
        return _words(census, column, "category", ordered=True)
    if forced is None and _is_code(census, column.name):
        return _words(census, column, "code")
    if forced in (None, "number") and (decimal := _decimal(census, column, reading)):
        return _number(evidence, column, decimal, reading)
    if forced in (None, "date") and (order := _order(census, column, reading)):
        return _date(census, column, order, reading)
    kind = forced or ("text" if _is_prose(census) else "category")
    return _words(census, column, kind)


def _plain_words(evidence: Evidence, reading: Reading) -> list[str]:
    """The values where all are short words, beyond doubt: most columns are; a census is slow."""
    marks = NULL_MARKS if reading.nulls is None else reading.nulls
    words = evidence.few_texts()
    if not {*marks, *forms.SOFT_MARKS}.isdisjoint(words):
        return []
    plain = all(_WORDS.fullmatch(word) and word.count(" ") < 3 for word in words)
    return words if plain else []


def _are_bands(evidence: Evidence) -> bool:
    """Whether the column has few values, not all of them numbers, in an order of their own."""
    return evidence.census.may_be_bands and order_bands(evidence.values()) is not None


def _value(
    census: Census, column: Column, *also: str
) -> tuple[str, tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The column as text with nulls for marks (and these ``also``), notes, and the marks found.

    Clean columns are left alone.
    """
    sql, notes = f"{column.value()}::VARCHAR", []
    if padded := census.total("padded"):
        sql = forms.trimmed(sql)
        notes.append(f"{padded:,} values had blanks around them")
    marks = census.nulls | census.marks(*also)
    if marks:
        listed = ", ".join(map(forms.literal, marks))
        sql = f"CASE WHEN {forms.trimmed(column.value())} IN ({listed}) THEN NULL ELSE {sql} END"
    written = tuple((mark, rows) for mark, rows in marks.items() if mark)
    notes += [f"{rows:,} nulls written {mark!r}" for mark, rows in written]
    return sql, tuple(notes), written


def _words(census: Census, column: Column, kind: str, ordered: bool = False) -> Found:
    also = DOUBTFUL_MARKS if kind == "code" else ()  # no code of digits is written so
    sql, notes, marks = _value(census, column, *also)
    doubtful = () if also else tuple(census.marks(*DOUBTFUL_MARKS).items())
    notes += tuple(
        f"{rows:,} values {mark!r}, which may mean missing (set with --null {mark})"
        for mark, rows in doubtful
    )
    numbers, live = census.rows(*NUMBERS), census.total("rows")
    if not live:
        notes += ("no values",)
    elif kind == "category" and 0 < numbers < live and not ordered:
        notes += (f"{numbers:,} of {live:,} values are numbers, the others are not",)
    elif kind == "category" and (dates := census.rows("iso", "parts")):
        notes += (f"{dates:,} of {live:,} values look like dates, but not all in one order",)
    elif kind == "code" and census.spread("digits")[1] > EXACT:
        notes += (f"digits beyond {EXACT}: kept as codes, which are exact",)
    notes += _IN_ORDER * ordered
    return Found(kind, sql, notes, ordered, marks, doubtful)


def _is_code(census: Census, name: str) -> bool:
    """Leading zeros, digits too long for a number, a hinted fixed width, or one shape of code."""
    live, digits = census.live, census.rows("digits")
    doubtful = sum(census.marks(*DOUBTFUL_MARKS).values())
    if not live or live != census.total("rows") - doubtful:
        return False
    numeric = census.rows("zeros", "digits", "plain", "dotted")
    short, long = census.spread("digits")
    if (census.rows("zeros") and numeric == live) or (digits == live and long > EXACT):
        return True
    if HINT.search(name):
        lettered = census.rows("code")
        fixed = digits == live and is_wide(name, short, long)
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


def _decimal(census: Census, column: Column, reading: Reading) -> str | None:
    """The decimal sign under which every value is a number."""
    extra = ("inf", "zeros") if column.forced else ("inf",)
    fits = {".": census.rows(*POINT, *extra), ",": census.rows(*COMMA, *extra)}
    signs = [reading.decimal] if reading.decimal else [".", ","]
    if census.live and census.live != census.rows("inf"):
        for sign in signs:
            if fits[sign] == census.live:
                return sign
    if column.forced == "number":
        _refuse(column, census.live - max(fits[sign] for sign in signs), "numbers")
    return None


def _refuse(column: Column, count: int, what: str) -> None:
    raise InputError(
        f"{count:,} values of column {column.name!r} are not {what}.",
        f"Correct them, name them in nulls=, or leave {column.name!r} out of kinds=.",
    )


def _number(evidence: Evidence, column: Column, decimal: str, reading: Reading) -> Found:
    census = evidence.census
    value, notes, marks = _value(census, column, *forms.SOFT_MARKS)
    if census.rows("digits") == census.live and census.spread("digits")[1] <= EXACT:
        return Found("number", f"CAST({value} AS BIGINT)", notes, null_marks=marks)
    infinite(column.name, census.rows("inf"))
    plain = census.rows("digits", "plain") == census.live
    sql = f"CAST({value} AS DOUBLE)" if plain else forms.number(value, decimal)
    if decimal == ",":
        notes += ("decimal comma",)
    elif census.rows("either") and not reading.decimal:
        notes += ("a comma before three digits read as thousands separator (set with decimal=)",)
    sql = evidence.whole(sql, "plain" if plain else decimal)
    return Found("number", sql, notes, null_marks=marks, decimal_comma=decimal == ",")


def _order(census: Census, column: Column, reading: Reading) -> str | None:
    """How every date is written: iso, day first, month first; None where not all are dates."""
    bad = {order: census.total(f"bad_{order}") for order in ("iso", "day", "month")}
    live = census.live
    if live and census.rows("iso") == live and not bad["iso"]:
        return "iso"
    if live and census.rows("parts") == live:
        orders = (
            ["day", "month"]
            if reading.day_first is None
            else (["day"] if reading.day_first else ["month"])
        )
        for order in orders:
            if not bad[order]:
                return order
    if column.forced == "date":
        other = live - census.rows("iso", "parts")
        wrong = bad["iso"] + min(bad["day"], bad["month"])
        _refuse(
            column,
            other + wrong or min(census.rows("iso"), census.rows("parts")) or live,
            "dates in one order",
        )
    return None


def _date(census: Census, column: Column, order: str, reading: Reading) -> Found:
    value, notes, marks = _value(census, column, *forms.SOFT_MARKS)
    if order != "iso":
        told = census.total("first") or census.total("second") or reading.day_first is not None
        doubt = "" if told else ": they cannot be told apart (set with day_first=)"
        notes += (("day before month" if order == "day" else "month before day") + doubt,)
    if census.total("short"):
        notes += ("two-digit years read as 1930 to 2029",)
    if timed := census.total("timed"):
        notes += (f"{timed:,} times of day left out",)
    return Found("date", forms.date(value, order), notes, null_marks=marks)
