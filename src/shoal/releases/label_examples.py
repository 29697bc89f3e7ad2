"""A few values that each published label covers, so that axes grown from other people know it.

Targets and populations need not have every value that a release has: nobody among them may live
in ``130**``. An axis grown from their values alone could not read that label. Ranges need more
than their ends: ``[20, 30[`` and ``(25, 40]`` meet, although neither holds an end of the other.

`shoal.core.label_parser` reads one text. Some texts have two readings, and only the column tells
which it is:

    2000-09         a decade beside ``1990-99``, September beside ``1965-09`` or ``2000-09-03``
    130*            four characters long: no code of five is meant by it
    m/f, m or f     a set where m and f are values; ``Asian/Pacific`` is a value where neither is
    not m           nobody's value where m is one, and no set that is written down

What nothing decides is not read at all: a label that is read as too little hides a risk.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from shoal.core.hierarchy import Ordered, Tree
from shoal.core.label_parser import (
    Between,
    LabelMeaning,
    Masked,
    Span,
    ValueSet,
    infer_label_kind,
    list_example_values,
    parse_label,
    value_at,
)
from shoal.core.labels import (
    format_value,
    read_range,
    read_set,
    to_position,
    write_set,
)
from shoal.core.missing_marks import is_empty_label
from shoal.core.schema import Column, Schema
from shoal.releases.recount import Recount, Spelling, list_labels

Examples = dict[str, list[Any]]
"""By column, values that its labels cover; None where a label is null."""

_YEARS = re.compile(r"(?P<open>[\[(\]]?)(\d\d)(?P<low>\d\d)-(?P<high>\d\d)(?P<close>[\])\[]?)")
_DAY = re.compile(r"\d{4}-\d\d-[\d*]{1,2}")
_MASKED = re.compile(r"[-+]?\d+(\*+|[xX]+)")
_BUT = re.compile(r"(?:not|non|except|other than|all but|anything but)[\s-]+(.+)", re.IGNORECASE)
_NUMBERED = re.compile(r"(\D*)(\d{1,15})")


def find_examples(count: Recount, schema: Schema, *, own: bool = False) -> Examples:
    """Values that the labels of a recounted table cover or end at, for each quasi-identifier.

    `own`: Shoal made the table. Then ``Black, other`` and ``NA`` are values, because Shoal writes
    a set in braces and a null as an empty cell. In the tables of others they may be a set and a
    suppressed cell; what nothing decides gets no example, and cannot be read.
    """
    columns = {column.name: column for column in schema.quasi}
    return {
        axis.name: find_values_in_labels(list_labels(axis), columns[axis.name], own)
        for axis in count.tally.quasi
    }


def find_values_in_labels(
    labels: Sequence[str | None], column: Column, own: bool = False
) -> list[Any]:
    """Values of a column that lie in its labels' cells; none for ``*`` and what is not understood.

    >>> find_values_in_labels(["130**"], Column("zip", "quasi", "code"))
    ['13000', '13011']
    >>> find_values_in_labels(["[20-29]", "<30"], Column("age", "quasi", "number"))
    [20.0, 29.0, 30.0, 19.0]
    """
    column = replace(column, kind=column.kind or infer_label_kind(labels))
    texts = [label for label in labels if label is not None]
    spelling = {} if own else respell_labels(texts, column.kind, column.listed_values or (), texts)
    meanings = read_meanings(texts, column, own, spelling)
    null = [None] if None in labels else []
    return [*null, *list_named_values(meanings, column), *pick_values_inside(meanings, column, ())]


def read_meanings(
    labels: Iterable[str], column: Column, made_by_shoal: bool, spelling: Spelling
) -> list[LabelMeaning | None]:
    """What the labels of a column mean; nothing under a taxonomy, which lists all its leaves."""
    if isinstance(column.hierarchy, Tree):
        return []
    if made_by_shoal and column.kind in ("category", "code"):
        return [_read_own(label, column) for label in labels]
    return [_read_foreign(label, column, spelling) for label in labels]


def list_named_values(meanings: Iterable[LabelMeaning | None], column: Column) -> list[Any]:
    """The values that labels name, or end at."""
    values = dict.fromkeys(
        value for meaning in meanings for value in list_example_values(meaning, column.kind)
    )
    return [value for value in values if value is None or is_allowed_value(value, column)]


def pick_values_inside(
    meanings: Iterable[LabelMeaning | None], column: Column, known_values: Iterable[Any]
) -> list[Any]:
    """Values between the ends of ranges: whatever two of them have in common, one lies in it.

    ``known_values`` are values that there are already.
    """
    if column.kind in ("number", "date"):
        ranges = [meaning for meaning in meanings if isinstance(meaning, Between)]
        known_points = sorted(
            to_position(value, column.kind) for value in known_values if value is not None
        )
        points = pick_gap_points(ranges, known_points, column.kind == "date")
        inside = [value_at(point, column.kind) for point in points]
    else:
        inside = _pick_codes_between([meaning for meaning in meanings if isinstance(meaning, Span)])
    return [value for value in inside if value is not None and is_allowed_value(value, column)]


def pick_gap_points(
    ranges: Sequence[Between], known_points: Sequence[float], whole: bool = False
) -> list[float]:
    """A point in each gap between neighbouring ends that begins or stops a range without its end.

    And one beyond all ends where a range has none. Points are whole numbers where everything else
    is (or has to be, ``whole``); ``known_points`` (ascending) are points that there are already.

    >>> pick_gap_points([Between(20, 30, True, False), Between(25, 40, False, True)], [])
    [27.0]
    """
    ends = sorted({end for span in ranges for end in (span.low, span.high) if math.isfinite(end)})
    if not ends:
        return []
    opened = {span.low for span in ranges if not span.low_in}
    closed = {span.high for span in ranges if not span.high_in}
    whole = whole or (
        all(float(end).is_integer() for end in (*ends, *known_points))
        and all(map(_holds_whole, ranges))
    )
    wide = [
        (low, high)
        for low, high in pairwise(ends)
        if (low in opened or high in closed)
        and (not whole or high - low >= 2)
        and bisect_right(known_points, low) == bisect_left(known_points, high)
    ]
    points = [low + (high - low) / 2 for low, high in wide]
    if any(math.isinf(span.low) for span in ranges):
        points.append(ends[0] - 1)
    if any(math.isinf(span.high) for span in ranges):
        points.append(ends[-1] + 1)
    return [float(math.floor(point)) if whole else point for point in points]


def _holds_whole(span: Between) -> bool:
    if math.isinf(span.low) or math.isinf(span.high):
        return True
    first = math.floor(span.low) + 1 if not span.low_in else math.ceil(span.low)
    return first <= span.high if span.high_in else first < span.high


def _pick_codes_between(spans: Iterable[Span]) -> list[str]:
    """The same for codes that end in a number of one length, such as 05000 or A12."""
    alike: dict[tuple[str, int], list[Between]] = {}
    for span in spans:
        low, high = _NUMBERED.fullmatch(span.low), _NUMBERED.fullmatch(span.high)
        if low and high and (low[1], len(low[2])) == (high[1], len(high[2])):
            ends = int(low[2]), int(high[2])
            between = Between(*ends, low_in=span.low_in, high_in=span.high_in)
            alike.setdefault((low[1], len(low[2])), []).append(between)
    return [
        prefix + str(int(point)).zfill(digits)
        for (prefix, digits), ranges in alike.items()
        for point in pick_gap_points(ranges, (), whole=True)
    ]


def _read_own(label: str, column: Column) -> LabelMeaning | None:
    if "*" in label:
        masks = column.kind == "code" or not label.strip("*")
        return parse_label(label, column.kind) if masks else ValueSet((label,))
    if isinstance(column.hierarchy, Ordered) and (ends := read_range(label)):
        return Span(*ends)
    return ValueSet(tuple(read_set(label) or [label]))


def _read_foreign(label: str, column: Column, spelling: Spelling) -> LabelMeaning | None:
    """What a label means in the table of others; none where it is not certain."""
    if label in (column.listed_values or ()):
        return ValueSet((label,))
    spelt = None if is_empty_label(label) else spelling.get(label, label)
    meaning = None if spelt is None else parse_label(spelt, column.kind)
    words = column.kind == "category" and not isinstance(column.hierarchy, Ordered)
    return None if words and isinstance(meaning, Span) else meaning


def is_allowed_value(value: Any, column: Column) -> bool:
    """Whether the schema lets the column have this value."""
    if column.listed_values is not None:
        return value in column.listed_values
    if column.bounds is None or column.kind not in ("number", "date"):
        return True
    return column.bounds[0] <= to_position(value, column.kind) <= column.bounds[1]


# What the whole column decides


def respell_labels(
    labels: Collection[str], kind: str, known_values: Collection[Any], all_labels: Collection[str]
) -> Spelling:
    """The labels of a release that their column decides about, as they are to be read.

    ``known_values`` are known without any label; ``all_labels`` are those of all releases.

    >>> respell_labels(["1990-99", "2000-09"], "date", [], [])
    {'2000-09': '2000-2009'}
    >>> respell_labels(["m/f", "130*"], "code", ["m", "f", "13053"], [])
    {'130*': None, 'm/f': '{m, f}'}
    """
    if kind in ("number", "date"):
        short = _find_short_masks(labels, known_values, all_labels) if kind == "number" else {}
        return {**_respell_years(labels, kind), **short}
    words = {format_value(value) for value in known_values if value is not None}
    single_words = words | _list_certain_values(all_labels, kind)
    sets = {label: _respell_words(label, kind, words, single_words) for label in labels}
    changed = {label: spelt for label, spelt in sets.items() if spelt != label}
    return {**_find_odd_masks(labels, kind, words, all_labels), **changed}


def _respell_years(labels: Collection[str], kind: str) -> Spelling:
    """``2000-09`` as others of the column are written: years 2000-2009, or a month; else None."""
    matches = {label: _YEARS.fullmatch(label.strip()) for label in labels}
    years, months, either = False, any(_DAY.fullmatch(label.strip()) for label in labels), []
    for label, match in matches.items():
        if match is None:
            continue
        rising, month = match["low"] < match["high"], "01" <= match["high"] <= "12"
        bare = not (match["open"] or match["close"])
        if rising and month and bare:
            either.append(label)
        years |= rising and not (month and bare)
        months |= month and bare and not rising
    if years == months or (months and kind == "number"):
        return dict.fromkeys(either)
    return {} if months else {label: _write_years(label.strip()) for label in either}


def _write_years(label: str) -> str:
    low, high = label.split("-")
    return f"{low}-{low[:2]}{high}"


def _find_short_masks(
    labels: Iterable[str], known_values: Iterable[Any], all_labels: Iterable[str]
) -> Spelling:
    """Masked numbers with fewer digits than any number: codes, perhaps, that leave out stars."""
    masked = [label for label in labels if _MASKED.fullmatch(label.strip())]
    plain = [
        parse_label(label, "number") for label in all_labels if not _MASKED.fullmatch(label.strip())
    ]
    ends = [
        end
        for meaning in plain
        if isinstance(meaning, Between)
        for end in (meaning.low, meaning.high)
    ]
    numbers = [float(value) for value in known_values if value is not None] + ends if masked else []
    digits = (len(str(int(abs(number)))) for number in numbers if abs(number) < 1e15)
    min_digits = min(digits, default=0)
    return {label: None for label in masked if len(label.strip().lstrip("+-")) < min_digits}


def _find_odd_masks(
    labels: Iterable[str], kind: str, words: Collection[str], all_labels: Iterable[str]
) -> Spelling:
    """Masked codes as long as no code is; where none is known, as long as not the longest mask."""
    meanings = {label: parse_label(label, kind) for label in {*labels, *all_labels}}
    masks = {
        label: meaning.length for label, meaning in meanings.items() if isinstance(meaning, Masked)
    }
    if not masks:
        return {}
    spans = [meaning.low for meaning in meanings.values() if isinstance(meaning, Span)]
    codes = [
        word for word in _list_certain_values(all_labels, kind) if any(map(str.isdecimal, word))
    ]
    lengths = {len(code) for code in (*words, *spans, *codes)} or {max(masks.values())}
    return {label: None for label in labels if masks.get(label, 0) not in {0, *lengths}}


def _respell_words(
    label: str, kind: str, known_words: Collection[str], single_words: Collection[str | None]
) -> str | None:
    """A list of words as a set in braces, or one value in braces; None where it may be either."""
    meaning = parse_label(label, kind)
    if not isinstance(meaning, ValueSet) or is_empty_label(label):
        return label
    if label in known_words:
        return label if meaning.texts == (label,) else write_set([label])
    if len(meaning.texts) == 1:
        but = _BUT.fullmatch(label.strip())
        return None if but and but[1] in single_words else label
    if meaning.is_certain:
        return label
    members = [word in single_words for word in meaning.texts]
    if all(members):
        return write_set(meaning.texts)
    return write_set([label.strip()]) if meaning.is_loose and not any(members) else None


def _list_certain_values(labels: Iterable[str], kind: str) -> set[str]:
    meanings = [parse_label(label, kind) for label in labels if not is_empty_label(label)]
    certain = (
        meaning.texts
        for meaning in meanings
        if isinstance(meaning, ValueSet) and meaning.is_certain
    )
    return {word for texts in certain for word in texts if word is not None}
