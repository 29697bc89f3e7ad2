r"""What a label means, whoever wrote it: the one place that reads the notations of other tools.

    [20-30]  [20, 40[  (20,30]  20-40  20 to 40  <30  >=40  30+  3*  1960-69     numbers
    1965  1965-09  1965-Q3  9/1965  1960-69  196*  [1960, 1970[  <1960           dates
    130**  130xx  5000-5100                                                      codes
    {A, B}  {A,B}  [A, B]  A,B  A;B  A|B  A~B  A/B  A+B  A & B  A or B           sets
    *  *****  NA  -  any  unknown  suppressed                                    everything

Square brackets hold their end, round and turned ones do not; a range without brackets holds both.
A text has one meaning or none. What values there are decides further, and only an axis knows them
(`shoal.core.axis`): a text that is a value is that value, and a set needs every member to be one.
What the rest of a column decides is in `shoal.releases.label_examples`.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.labels import parse_period, read_range, read_set, to_position
from shoal.core.missing_marks import is_empty_label

_NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?i:inf)|∞)"
_DAY = r"\d{4}(?:-?Q[1-4]|-\d{2}(?:-\d{2})?)?|\d{1,2}/\d{4}"
_ENDS = {"number": (_NUMBER, _NUMBER), "date": (_DAY, rf"{_DAY}|\d\d")}
_TO = r"(?P<to>\s+to\s+|\s*(?:[-–—~]|\.\.)\s*)"
_COMMA = rf"(?:{_TO}|\s*[,;]\s*)"
_DASHES = ("-", "–", "—")
_LONGEST = 15
"""Longer numbers are no longer told apart, and masks of that length mask no number."""
_LOOSE = re.compile(r"\s*[/+&]\s*|\s+(?:or|and)\s+")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+")


def _compiled(kind: str) -> tuple[re.Pattern[str], ...]:
    low, high = _ENDS[kind]
    return (
        re.compile(rf"(?P<low>{low}){_TO}(?P<high>{high})"),
        re.compile(
            rf"(?P<open>[\[(\]])\s*(?P<low>{low}){_COMMA}(?P<high>{high})\s*(?P<close>[\])\[])"
        ),
        re.compile(rf"(?P<sign><=?|>=?|≤|≥)\s*(?P<end>{low})|(?P<minimum>{low})\s*\+"),
    )


_FORMS = {kind: _compiled(kind) for kind in _ENDS}
_MASKED_NUMBER = re.compile(r"([-+]?)(\d+)(\*+|[xX]+)")
_MASKED_CODE = re.compile(r"([^*]+)(\*+)|(\d+)([xX]+)")
_CODE = r"(?=[^\W\d_]*\d)[^\W_]+"
_CODES = re.compile(
    rf"(?P<open>[\[(\]]?)\s*(?P<low>{_CODE}){_COMMA}(?P<high>{_CODE})\s*(?P<close>[\])\[]?)"
)
_MONTHS = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_DIGITS = re.compile(r"\d*[*xX]*")
_CLOSING = {"[": "]", "{": "}"}
_QUOTED = re.compile(r"(['\"])(.*)\1")


@dataclass(frozen=True)
class Everything:
    """Any value, null too: a suppressed cell."""


@dataclass(frozen=True)
class Between:
    """A range of positions (a date is its ordinal day); an end may be infinite, or not inside."""

    low: float
    high: float
    low_in: bool = True
    high_in: bool = True

    def within(self, places: NDArray[np.float64]) -> tuple[int, int]:
        """The ascending places that lie inside: from the first, up to but not the second."""
        first = np.searchsorted(places, self.low, side="left" if self.low_in else "right")
        stop = np.searchsorted(places, self.high, side="right" if self.high_in else "left")
        return int(first), max(int(first), int(stop))


@dataclass(frozen=True)
class Masked:
    """Codes that begin so and are no longer than `length`; `mark` is what masks the rest."""

    prefix: str
    length: int
    mark: str = "*"

    def among(self, codes: Sequence[str]) -> list[int]:
        """Which of the sorted codes are meant, by their places; none when x is a letter in them."""
        if self.mark != "*" and any(code.endswith(("x", "X")) for code in codes):
            return []
        first = bisect_left(codes, self.prefix)
        stop = bisect_left(codes, self.prefix + "\U0010ffff")
        return [at for at in range(first, stop) if len(codes[at]) <= self.length]


@dataclass(frozen=True)
class Span:
    """Codes from one to another in the order of text, as long as these two."""

    low: str
    high: str
    low_in: bool = True
    high_in: bool = True

    def among(self, codes: Sequence[str]) -> list[int]:
        """Which of the sorted codes are meant, by their places."""
        if len(self.low) != len(self.high):
            return []
        first = (bisect_left if self.low_in else bisect_right)(codes, self.low)
        stop = (bisect_right if self.high_in else bisect_left)(codes, self.high)
        return [at for at in range(first, stop) if len(codes[at]) == len(self.low)]


@dataclass(frozen=True)
class ValueSet:
    """These values. Not `is_certain`: the text may as well be one value, as in ``Black, other``;
    `is_loose`: it is one unless one of these is a value, as in ``Asian/Pacific``."""

    texts: tuple[str | None, ...]
    is_certain: bool = True
    is_loose: bool = False


LabelMeaning = Everything | Between | Masked | Span | ValueSet

_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=(\d+))")
"""A comma between digits, which may be a decimal sign; with the digits after it."""


def parse_label(label: str, kind: str) -> LabelMeaning | None:
    """What a label says in a column of this kind; None when it says nothing certain.

    >>> parse_label("[20, 40[", "number")
    Between(low=20.0, high=40.0, low_in=True, high_in=False)
    >>> parse_label("A|B", "category"), parse_label("young", "number")
    (ValueSet(texts=('A', 'B'), is_certain=True, is_loose=False), None)
    """
    label = label.strip().replace("\u2212", "-").replace("\u00a0", " ")
    if label.strip("*-/" if kind == "date" else "*") == "" and "*" in label:
        return Everything()
    if kind in _FORMS:
        return _listed(label, kind) or _between(label, kind)
    if kind == "code":
        return _masked(label) or _range_or_set(label)
    ends = read_range(label)
    meaning = Span(*ends) if ends else _members(label)
    return None if isinstance(meaning, ValueSet) and _two_numbers(label, meaning) else meaning


def with_decimal_points(label: str, is_decimal: bool = False) -> str:
    """A number, or a range of numbers, whose decimal commas are points.

    What can be read as it stands is left alone, and so are three digits after every comma, which
    may be thousands, unless ``is_decimal`` says that a comma is the decimal sign.

    >>> with_decimal_points("30,5-40,5"), with_decimal_points("[20, 30]")
    ('30.5-40.5', '[20, 30]')
    >>> with_decimal_points("1,000-2,000"), with_decimal_points("1,000-2,000", is_decimal=True)
    ('1,000-2,000', '1.000-2.000')
    """
    pointed = _DECIMAL_COMMA.sub(".", label)
    if pointed == label or "." in label or parse_label(label, "number") is not None:
        return label
    is_decimal = is_decimal or any(len(digits) != 3 for digits in _DECIMAL_COMMA.findall(label))
    return pointed if is_decimal and parse_label(pointed, "number") is not None else label


def list_example_values(meaning: LabelMeaning | None, kind: str) -> list[Any]:
    """Values that a label covers or ends at.

    >>> list_example_values(parse_label("130**", "code"), "code")
    ['13000', '13011']
    >>> list_example_values(parse_label("3*", "number"), "number")
    [30.0, 40.0]
    """
    if isinstance(meaning, Between):
        ends = sorted({meaning.low, meaning.high})
        return [value for end in ends if (value := value_at(end, kind)) is not None]
    if isinstance(meaning, Masked):
        return [meaning.prefix.ljust(meaning.length, digit) for digit in "01"]
    if isinstance(meaning, Span):
        return [meaning.low, meaning.high]
    if not isinstance(meaning, ValueSet):
        return []
    if kind not in _FORMS:
        return list(meaning.texts)
    points = [None if text is None else _point(text, kind) for text in meaning.texts]
    return [None if point is None else value_at(point[0], kind) for point in points]


def value_at(point: float, kind: str) -> Any:
    """The number or date at a position; None where there is none, as at infinity.

    >>> value_at(719163.0, "date"), value_at(-math.inf, "number")
    (datetime.date(1970, 1, 1), None)
    """
    if kind == "date":
        return date.fromordinal(int(point)) if 1 <= point <= date.max.toordinal() else None
    return point if math.isfinite(point) else None


def infer_label_kind(labels: Iterable[str | None]) -> str:
    """The kind under which all labels of a column can be read, where nobody says it.

    Years alone are numbers; masked digits of one length are codes when there are five or more of
    them, or a leading zero.

    >>> columns = ["<30", "3*", None], ["0213*", "02141"], ["1965-09", "1964"]
    >>> [infer_label_kind(labels) for labels in columns]
    ['number', 'code', 'date']
    """
    filled = {label for label in labels if label is not None and not is_empty_label(label)}
    texts = {text for text in filled if not isinstance(parse_label(text, "date"), Everything)}
    if not texts:
        return "category"
    if _all_codes(texts):
        return "code"
    if all(_MONTHS.fullmatch(text) for text in texts):
        return "date"
    for kind in _FORMS:
        if all(parse_label(text, kind) for text in texts):
            return kind
    return "code" if any(map(_masked, texts)) else "category"


# Numbers and dates


def _listed(label: str, kind: str) -> ValueSet | None:
    members = read_set(label) or [""]
    return ValueSet(tuple(members)) if all(m is None or _point(m, kind) for m in members) else None


def _between(label: str, kind: str) -> Between | None:
    range_, bracketed, one_sided = _FORMS[kind]
    if point := _point(label, kind):
        return _from(point, point)
    if kind == "number" and (masked := _MASKED_NUMBER.fullmatch(label)):
        if len(label) > _LONGEST:
            return None
        step = 10.0 ** len(masked[3])
        low, high = int(masked[2]) * step, (int(masked[2]) + 1) * step
        return Between(-high, -low, False) if masked[1] == "-" else Between(low, high, True, False)
    if half_line := one_sided.fullmatch(label):
        end = _point(half_line["end"] or half_line["minimum"], kind)
        return _half_line(end, half_line["sign"] or ">=")
    match = range_.fullmatch(label) or bracketed.fullmatch(label)
    sides = _sides(match) if match else None
    if not match or not sides:
        return None
    dashed = (match["to"] or "").strip() in _DASHES
    high_text = _unabridged(match["low"], match["high"]) if dashed else match["high"]
    return _from(_point(match["low"], kind), _point(high_text, kind), *sides)


def _sides(match: re.Match[str]) -> tuple[bool, bool] | None:
    """Which ends of a range are inside; None for ``(20-30)``, whose brackets may say nothing."""
    brackets = match.groupdict().get("open") or "[", match.groupdict().get("close") or "]"
    sides = brackets[0] == "[", brackets[1] == "]"
    return None if match["to"] and not any(sides) else sides


def _point(text: str, kind: str) -> tuple[float, float] | None:
    """A number, or the first and last day of a day, month, quarter, year or masked date."""
    if kind == "date":
        return parse_period(text)
    if not re.fullmatch(_NUMBER, text):
        return None
    place = to_position(text.replace("∞", "inf"), kind)
    beyond = math.isinf(place) and any(digit.isdigit() for digit in text)
    return None if beyond else (place, place)


def _from(
    low: tuple[float, float] | None,
    high: tuple[float, float] | None,
    low_in: bool = True,
    high_in: bool = True,
) -> Between | None:
    """From the first day of the low end to the last of the high one, or without these ends."""
    if low is None or high is None:
        return None
    first, last = low[0 if low_in else 1], high[1 if high_in else 0]
    if first == last and (math.isinf(first) or not (low_in and high_in)):
        return None
    return Between(first, last, low_in, high_in) if first <= last else None


def _half_line(end: tuple[float, float] | None, sign: str) -> Between | None:
    if end is None or math.isinf(end[0]):
        return None
    inside = sign not in ("<", ">")
    if sign[0] in "<≤":
        return _from((-math.inf, -math.inf), end, True, inside)
    return _from(end, (math.inf, math.inf), inside, True)


def _unabridged(low: str, high: str) -> str:
    """The second end in full where a year leaves out its century: 1969 in ``1960-69``."""
    return low[:2] + high if re.fullmatch(r"\d{4}-\d\d", f"{low}-{high}") else high


# Codes


def _masked(label: str) -> Masked | None:
    match = _MASKED_CODE.fullmatch(label)
    if not match:
        return None
    prefix, mask = (match[1], match[2]) if match[1] else (match[3], match[4])
    return Masked(prefix, len(label), mask[0])


def _range_or_set(label: str) -> Span | ValueSet | None:
    """A range or a set of codes; None for ``[A1, B1]`` and ``A1~B1``, which may be either."""
    span, members = _span(label), _members(label)
    if span and members and len(members.texts) > 1:
        return None
    return span or members


def _span(label: str) -> Span | None:
    """A range of codes that are alike: ``5000-5100``, but neither ``A-1`` nor ``13053-1234``."""
    if ends := read_range(label):
        return Span(*ends)
    match = _CODES.fullmatch(label)
    if not match or bool(match["open"]) != bool(match["close"]):
        return None
    low, high, sides = match["low"], match["high"], _sides(match)
    if sides is None or not (match["to"] or match["open"]):
        return None
    return Span(low, high, *sides) if _shape(low) == _shape(high) and low < high else None


def _shape(code: str) -> str:
    return "".join("9" if c.isdecimal() else "a" if c.islower() else "A" for c in code)


def _all_codes(labels: Iterable[str]) -> bool:
    words = [word for label in labels for word in _words(label)]
    if not all(_DIGITS.fullmatch(word) for word in words) or len(set(map(len, words))) != 1:
        return False
    zeros = any(word.startswith("0") and len(word) > 1 for word in words)
    return zeros or (len(words[0]) >= 5 and not all(word.isdecimal() for word in words))


def _words(label: str) -> list[str]:
    """The codes that a label names; a masked one as it stands."""
    meaning = parse_label(label, "code")
    if isinstance(meaning, ValueSet) and not meaning.is_loose:
        return [text or "" for text in meaning.texts]
    return [meaning.low, meaning.high] if isinstance(meaning, Span) else [label]


# Sets


def _members(label: str) -> ValueSet | None:
    """A set, or one value; None for a text that is separated in two ways, masked, or a range."""
    if own := read_set(label):
        return ValueSet(tuple(own))
    bracket = label[:1] if _CLOSING.get(label[:1]) == label[-1:] else ""
    inner = label[1:-1] if bracket else label
    marks = [mark for mark in ",;|~" if mark in inner]
    parts = [part.strip() for part in inner.split(marks[0])] if marks else [inner]
    if len(marks) > 1 or "" in parts or len(set(parts)) < len(parts) or "*" in inner:
        return None
    if marks and not bracket and label[0] in "[](":
        return None
    if not marks and not bracket:
        return _loose(label)
    if bracket:
        parts = [_QUOTED.sub(r"\2", part) for part in parts]
    return ValueSet(tuple(parts), _is_certain_set(label, bracket, parts))


def _loose(label: str) -> ValueSet:
    parts = _LOOSE.split(label)
    several = len(parts) > 1 and all(parts) and len(set(parts)) == len(parts)
    return ValueSet(tuple(parts), False, True) if several else ValueSet((label,))


def _two_numbers(label: str, members: ValueSet) -> bool:
    """Whether a list of words may as well be a range of numbers, or one number with a comma."""
    if label[:1] == "{" or len(members.texts) < 2 or members.is_loose:
        return False
    numbers = all(re.fullmatch(_NUMBER, part or "") for part in members.texts)
    return numbers and (len(members.texts) == 2 or _THOUSANDS.fullmatch(label) is not None)


def _is_certain_set(label: str, bracket: str, parts: Sequence[str]) -> bool:
    """Whether such a list is certainly a set: two numbers may be a range, with a comma one number,
    and people put a space after the commas inside a value."""
    if bracket == "{" or len(parts) < 2:
        return True
    comma = "," in label and not bracket
    numbers = all(re.fullmatch(_NUMBER, part) for part in parts)
    return not (comma and ", " in label) and not (numbers and (comma or len(parts) == 2))
