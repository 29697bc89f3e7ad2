r"""How a value, a range and a set are written in a published table, and read back.

Every label reads back as exactly the leaves it was written for:

    20   2.5   1965-09-03       one leaf
    [20-29]   [-5 - -1]         a range; the spaced hyphen where a bare one would be ambiguous
    {A, B}   {A\, B}   {A, \N}  a set; backslash before ``, { } \``; ``\N`` is null inside a set
    *                           everything

`order_bands` puts categories that have an order of their own into it: bands of numbers, ranges of
codes, chapters, sizes and degrees.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = "*"
NULL_MEMBER = r"\N"
FORMULA_START = r"^\s*[=+\-@＝＋－＠]|^[\t\r\n]"
"""How a text begins that a spreadsheet would run; such cells are written after an apostrophe."""

_MEMBER = r"(?:\\.|[^\\,{}])*"
_SET = re.compile(rf"\{{{_MEMBER}(?:, {_MEMBER})*\}}", re.DOTALL)
_MEMBERS = re.compile(rf"(?:^|, )({_MEMBER})", re.DOTALL)
_BARE_RANGE = re.compile(r"(\d+)-(\d+)")
_LOOSE_HYPHEN = re.compile(r"\\|(?<![^ ])-|-(?![^ ])")
_EPOCH = date(1970, 1, 1).toordinal()
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_DAYS = range(1, date.max.toordinal() + 1)
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_MONTH = re.compile(r"(\d{1,2})/(\d{4})")
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_CALENDAR = re.compile(r"(?=[\d*]{4}(-[\d*]{1,2}){0,2}$)([\d-]*)\**(-\*+)*")


def format_number(value: float) -> str:
    """The shortest text that reads back as the same number; whole numbers without a point.

    >>> format_number(20.0), format_number(2.5), format_number(-0.0)
    ('20', '2.5', '0')
    """
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def format_value(value: object) -> str:
    """A leaf as text: numbers by `format_number`, dates in ISO form, all else as it is."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return format_number(float(value))
    if isinstance(value, datetime):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def format_people(number: int) -> str:
    """So many people.

    >>> format_people(1), format_people(1200)
    ('1 person', '1,200 people')
    """
    return "1 person" if number == 1 else f"{number:,} people"


def format_count(number: int | str, noun: str) -> str:
    """So many of them; the number may be in words.

    >>> format_count(1, "row"), format_count(2, "class"), format_count("at least 5", "row")
    ('1 row', '2 classes', 'at least 5 rows')
    >>> format_count(1200, "provider")
    '1,200 providers'
    """
    digits = number if isinstance(number, str) else f"{number:,}"
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{digits} {noun if number == 1 else plural}"


def to_position(value: object, kind: str) -> float:
    """Where a value lies on its line: a number itself, a date's ordinal day; null is nan.

    Raises ValueError for text that is no number, or no ISO date.

    >>> to_position("17", "number"), to_position("1970-01-01", "date")
    (17.0, 719163.0)
    >>> to_position(date(1970, 1, 1), "date")
    719163.0
    """
    if value is None:
        return math.nan
    if kind == "date" and isinstance(value, str):
        value = datetime.strptime(value, "%Y-%m-%d")
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()  # NaT becomes None
        return to_position(value, kind)
    if isinstance(value, date):
        return float(value.toordinal())
    if isinstance(value, str) and "_" in value:  # a number in Python's source, not in a table
        raise ValueError
    return float(value)  # type: ignore[arg-type]


def to_positions(values: Iterable[Any], kind: str) -> NDArray[np.float64]:
    """`to_position` of many values; numbers and dates are converted all at once."""
    values = list(values)
    if kind == "number" and not any(isinstance(value, str) for value in values):
        return np.array(values, dtype=np.float64)
    if kind == "date" and all(type(value) is date for value in values):
        return np.array(values, dtype="datetime64[D]").astype(np.float64) + _EPOCH
    return np.array([to_position(value, kind) for value in values], dtype=np.float64)


def parse_period(text: str) -> tuple[float, float] | None:
    """The first and the last day of a day, month, quarter or year, or of a masked date.

    >>> [date.fromordinal(int(day)).isoformat() for day in parse_period("1965-Q3") or ()]
    ['1965-07-01', '1965-09-30']
    >>> parse_period("1965-09") == parse_period("9/1965") == parse_period("1965-09-**")
    True
    >>> parse_period("1965-13") is None
    True
    """
    if quarter := _QUARTER.fullmatch(text):
        last = 3 * int(quarter[2])
        ends = (
            parse_period(f"{quarter[1]}-{last - 2:02d}"),
            parse_period(f"{quarter[1]}-{last:02d}"),
        )
        return (ends[0][0], ends[1][1]) if ends[0] and ends[1] else None
    if month := _MONTH.fullmatch(text):
        return parse_period(f"{month[2]}-{int(month[1]):02d}")
    text = _MIDNIGHT.sub("", text)
    calendar = _CALENDAR.fullmatch(text)
    if not calendar:
        return None
    return _days(calendar[2]) if "*" in text or len(text) in (4, 7, 10) else None


def _days(prefix: str) -> tuple[float, float] | None:
    """The first and the last day whose ISO form begins so: ISO dates are sorted as texts."""
    iso = lambda day: date.fromordinal(day).isoformat()[: len(prefix)]  # noqa: E731
    first, stop = bisect_left(_DAYS, prefix, key=iso), bisect_right(_DAYS, prefix, key=iso)
    return (float(_DAYS[first]), float(_DAYS[stop - 1])) if first < stop else None


def write_range(low: object, high: object) -> str:
    """The label of the range from one leaf to another, both inside.

    >>> write_range(20, 29), write_range(-5, -1), write_range("A-1", "C")
    ('[20-29]', '[-5 - -1]', '[A-1 - C]')
    """
    return join_range(format_value(low), format_value(high), isinstance(low, str))


def join_range(low: str, high: str, words: bool) -> str:
    """The label of a range whose ends are texts: of ``words``, or of numbers and dates."""
    if words:  # a hyphen with a space or nothing beside it would look like ours
        low, high = (_LOOSE_HYPHEN.sub(r"\\\g<0>", end) for end in (low, high))
    elif low.isdecimal() and high.isdecimal():
        return f"[{low}-{high}]"
    return f"[{low} - {high}]"


def read_range(label: str) -> tuple[str, str] | None:
    """The two ends that `write_range` wrote, as text; None when the label is no range."""
    if not (label.startswith("[") and label.endswith("]")):
        return None
    low, hyphen, high = label[1:-1].partition(" - ")
    if hyphen:
        return _ESCAPED.sub(r"\1", low), _ESCAPED.sub(r"\1", high)
    bare = _BARE_RANGE.fullmatch(label[1:-1])
    return (bare[1], bare[2]) if bare else None


def write_set(members: Iterable[str | None]) -> str:
    r"""The label of a set of texts, in the order given; None is null.

    >>> print(write_set(["A", "B, C", None]))
    {A, B\, C, \N}
    """
    return "{" + ", ".join(NULL_MEMBER if m is None else _escape(m) for m in members) + "}"


def read_set(label: str) -> list[str | None] | None:
    r"""The members that `write_set` wrote; None when the label is no set.

    >>> read_set(r"{A, B\, C, \N}"), read_set("A")
    (['A', 'B, C', None], None)
    """
    if not _SET.fullmatch(label):
        return None
    members = _MEMBERS.findall(label[1:-1])
    return [None if m == NULL_MEMBER else _ESCAPED.sub(r"\1", m) for m in members]


def _escape(member: str) -> str:
    return re.sub(r"[\\,{}]", r"\\\g<0>", member)


def restore_cell(cell: Any) -> Any:
    """A cell as it was before it was kept from running in a spreadsheet; anything else as it is.

    >>> restore_cell("'=x"), restore_cell("'tis"), restore_cell(None)
    ('=x', "'tis", None)
    """
    risky = isinstance(cell, str) and cell.startswith("'") and re.match(FORMULA_START, cell[1:])
    return cell[1:] if risky else cell


# Categories that have an order of their own
#
# [10-20)  10-19  10 to 19  <30  80+        bands of numbers
# A00-B99                                   ranges of codes, such as ICD chapters
# I  II  IX                                 chapters by Roman numerals
# S M L   low medium high   mild severe     sizes and degrees


MAX_BANDS = 200
"""A column of more values is no column of bands."""

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_BETWEEN = re.compile(
    rf"(?P<open>[\[(]?)\s*(?P<low>{_NUMBER})\s*(?:-|–|—|,(?=\s)|;|\.\.|to|bis)\s*"
    rf"(?P<high>{_NUMBER})\s*(?P<close>[\])]?)",
    re.IGNORECASE,
)
_COMMA_BETWEEN = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]")
_BELOW = re.compile(
    rf"(?:<=?|≤|under|below|less than|up to|unter|bis)\s*({_NUMBER})", re.IGNORECASE
)
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|from|über|ab)\s*({_NUMBER})"
    rf"|({_NUMBER})\s*(?:\+|and (?:over|older|above|more)|or (?:older|over|more)|und mehr)",
    re.IGNORECASE,
)
_CODES = re.compile(r"([A-Za-z])(\d{2,3})\s*[-–]\s*([A-Za-z])(\d{2,3})")
_ROMAN = re.compile(r"(?:chapter |kapitel )?(x{0,3})(ix|iv|v?i{0,3})", re.IGNORECASE)
_UNIT = re.compile(r"\s*(?:years?|yrs?|jahre?|y|kg|cm|mg|days?|tage?|%|€|\$|eur|usd)\.?$", re.I)

_SCALES = [
    [place.split("/") for place in scale.split(" < ")]
    for scale in (
        "xxxs < xxs < xs < s < m < l < xl < xxl/2xl < xxxl/3xl",
        "very small < small < medium/middle < large < very large",
        "very low < low < medium/moderate/middle/normal < high < very high",
        "minimal < mild < moderate < severe < critical/very severe",
        "never < rarely/seldom < sometimes < often < always",
        "sehr niedrig < niedrig/gering < mittel < hoch < sehr hoch",
        "leicht < mittel/mäßig < schwer",
    )
]
"""Words that have an order; those between slashes mean the same place of it."""
_ASIDE = frozenset(
    "na;n/a;nan;unknown;not known;missing;other;others;refused;unbekannt;keine angabe;k.a.;"
    "andere".split(";")
)
"""Words that stand beside bands for those who are in none; they come last."""
_MIN_WORDS = 3
"""`S` and `M` alone may be single and married: so many words of a scale make an order."""


def order_bands(values: Iterable[str]) -> tuple[str, ...] | None:
    """The values in their own order; None where they are no bands, or bands that overlap.

    >>> order_bands(["[20-30)", "[0-10)", "[10-20)"])
    ('[0-10)', '[10-20)', '[20-30)')
    >>> order_bands(["80+", "<30", "30-79"]), order_bands(["L", "S", "M"])
    (('<30', '30-79', '80+'), ('S', 'M', 'L'))
    >>> order_bands(["NA", "10-19", "5-9"])
    ('5-9', '10-19', 'NA')
    >>> order_bands(["C00-D48", "A00-B99"]), order_bands(["flu", "asthma"])
    (('A00-B99', 'C00-D48'), None)
    """
    every = sorted(set(values))
    aside = [text for text in every if text.strip().casefold() in _ASIDE]
    texts = [text for text in every if text not in aside]
    if not 2 <= len(texts) <= MAX_BANDS:
        return None
    ordered = (
        _order_by_ends(texts, _number_ends)
        or _order_by_ends(texts, _code_ends)
        or _order_numerals(texts)
        or _order_words(texts)
    )
    return None if ordered is None else (*ordered, *aside)


def _order_by_ends(
    texts: Sequence[str], read: Callable[[str], tuple[float, float] | None]
) -> tuple[str, ...] | None:
    """The texts by their ends, where each can be read, none overlaps and one is more than a point.

    Bands may share an end: whether 20 belongs to 10-20 or to 20-30 does not change their order.
    """
    ends = {}
    for text in texts:
        band = read(text)
        if band is None or band[0] > band[1]:
            return None
        ends[text] = band
    ordered = sorted(texts, key=lambda text: ends[text])
    if any(ends[later][0] < ends[earlier][1] for earlier, later in pairwise(ordered)):
        return None
    same = len(set(ends.values())) < len(ends)
    points = all(low == high for low, high in ends.values())
    return None if same or points else tuple(ordered)


def _number_ends(text: str) -> tuple[float, float] | None:
    bare = _UNIT.sub("", text.strip())
    if between := _COMMA_BETWEEN.fullmatch(bare):
        return _number(between[1]), _number(between[2])
    if between := _BETWEEN.fullmatch(bare):
        return _number(between["low"]), _number(between["high"])
    if below := _BELOW.fullmatch(bare):
        return -math.inf, _number(below[1])
    if above := _ABOVE.fullmatch(bare):
        return _number(above[1] or above[2]), math.inf
    return (_number(bare), _number(bare)) if re.fullmatch(_NUMBER, bare) else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _code_ends(text: str) -> tuple[float, float] | None:
    codes = _CODES.fullmatch(text.strip())
    return codes and (_code_place(codes[1], codes[2]), _code_place(codes[3], codes[4]))


def _code_place(letter: str, digits: str) -> float:
    return ord(letter.upper()) * 1000.0 + float(digits.ljust(3, "0"))


def _order_numerals(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Roman numerals up to 39; one of them has two letters, for `I`, `V` and `X` may be codes."""
    numerals = [_ROMAN.fullmatch(text.strip()) for text in texts]
    parts = [(match[1], match[2]) for match in numerals if match and (match[1] or match[2])]
    if not _MIN_WORDS <= len(texts) == len(parts):
        return None
    places = {
        text: 10 * len(tens) + _ONES.index(ones.casefold())
        for text, (tens, ones) in zip(texts, parts, strict=True)
    }
    long = any(len(tens + ones) > 1 for tens, ones in parts)
    if not long or len(set(places.values())) < len(places):
        return None
    return tuple(sorted(texts, key=lambda text: places[text]))


_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def _order_words(texts: Sequence[str]) -> tuple[str, ...] | None:
    if len(texts) < _MIN_WORDS:
        return None
    for scale in _SCALES:
        place = {word: at for at, words in enumerate(scale) for word in words}
        places = {text: place.get(" ".join(text.split()).casefold()) for text in texts}
        known = [at for at in places.values() if at is not None]
        if len(known) == len(texts) == len(set(known)):
            return tuple(sorted(texts, key=lambda text: places[text] or 0))
    return None
