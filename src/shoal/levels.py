"""The levels of a tree over leaves that are in order: intervals, calendar, masked codes, bins.

Each function takes the leaves and returns one `Level`: runs of leaves with a label each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.axis import Axis, Level
from shoal.errors import HierarchyError
from shoal.labels import number, position, positions, write_range

Floats = NDArray[np.float64]
Ends = tuple[float, float]

MOST_WHOLE_NUMBERS = 100_000


def runs(keys: ArrayLike, label: Callable[[int, int], str]) -> Level:
    """The level whose nodes are the runs of equal keys; `label` names the run first..last."""
    keys = np.asarray(keys)
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    starts = np.concatenate([np.zeros(min(len(keys), 1), dtype=np.int64), changes])
    lasts = [*(starts[1:] - 1).tolist(), len(keys) - 1]
    labels = tuple(label(a, b) for a, b in zip(starts.tolist(), lasts, strict=False))
    return Level(starts.astype(np.int32), labels)


@dataclass(frozen=True)
class Given:
    """What is known about a column when its axis grows; `values` are distinct, without null."""

    name: str
    kind: str
    values: Sequence[Any] | NDArray[Any]
    counts: NDArray[np.int64] | None
    null: bool
    bounds: Ends | None

    def line(self, need: Sequence[str] = ("number", "date")) -> tuple[Floats, Ends]:
        """The leaves as ascending numbers, and the range they lie in.

        They are the values that occur; with whole bounds, all whole numbers between them.
        """
        if self.kind not in need:
            raise HierarchyError(
                f"Column {self.name!r} is of kind {self.kind}; its hierarchy is for {need[0]}s.",
                "Change the kind, or use flat(), prefixes() or tree(...).",
            )
        raw = self.places()
        places = np.unique(raw)
        if self.bounds is None:
            return places, (float(places[0]), float(places[-1])) if len(places) else (0.0, 0.0)
        low, high = float(self.bounds[0]), float(self.bounds[1])
        outside = (raw < low) | (raw > high)
        self._refuse(outside, "lie outside its bounds", "Widen the bounds in the schema.")
        if is_whole(places) and is_whole([low, high]) and high - low < MOST_WHOLE_NUMBERS:
            places = np.arange(low, high + 1)
        return places, (low, high)

    def places(self) -> Floats:
        """The values as finite numbers."""
        try:
            raw = positions(self.values, self.kind)
        except (ValueError, TypeError, OverflowError):
            raise HierarchyError(
                f"Column {self.name!r} has values that are no {self.kind}s.", "Change its kind."
            ) from None
        self._refuse(~np.isfinite(raw), "are infinite or no numbers", "Mark them as null.")
        return raw

    def refuse_uncovered(self, axis: Axis) -> None:
        """Raise HierarchyError when a value is no leaf of the axis."""
        hint = "Add a row to the hierarchy for each of them."
        self._refuse(axis.codes(self.values) < 0, "are not in its hierarchy", hint)

    def _refuse(self, wrong: NDArray[np.bool_], fact: str, hint: str) -> None:
        if wrong.any():
            rows = "" if self.counts is None else f" ({int(self.counts[wrong].sum())} rows)"
            share = f"{int(wrong.sum())} of {len(wrong)} values{rows}"
            raise HierarchyError(f"Column {self.name!r}: {share} {fact}.", hint)


def to_values(kind: str, places: Floats) -> tuple[Any, ...]:
    """Positions as values of the column's kind: floats, or dates."""
    if kind == "date":
        return tuple(date.fromordinal(int(place)) for place in places)
    return tuple(places.tolist())


def leaf(label: str, kind: str) -> Any:
    """A taxonomy's leaf as a value of the column's kind; None when it cannot be one."""
    if kind not in ("number", "date"):
        return label
    try:
        place = position(label, kind)
    except ValueError:
        return None
    return to_values(kind, np.array([place]))[0] if math.isfinite(place) else None


def is_whole(numbers: ArrayLike) -> bool:
    """Whether all of them are whole numbers."""
    numbers = np.asarray(numbers, dtype=np.float64)
    return bool(np.all(numbers == np.floor(numbers)))


def exact(value: float) -> Fraction:
    """The decimal number that a float is written as, exactly: .3 is three times .1."""
    return Fraction(str(float(value)))


def interval_index(places: Floats, width: float, origin: float) -> list[int]:
    """The number of the interval each place lies in, in exact arithmetic."""
    if is_whole(places) and is_whole([width, origin]):
        return [(int(place) - int(origin)) // int(width) for place in places.tolist()]
    start, step = exact(origin), exact(width)
    return [math.floor((exact(place) - start) / step) for place in places.tolist()]


def interval_level(
    places: Floats,
    index: Sequence[int],
    width: float,
    origin: float,
    ends: Ends,
    whole: bool,
) -> Level:
    """Intervals of one width by their numbers; below and above the `ends`, an open one each.

    `whole` labels are closed, ``[20-29]``; others half open, ``[20, 30[``.
    """
    bottom, top = ends
    edges = {i: _edges(i, width, origin, bottom, top) for i in set(index)}
    reach = [
        (-math.inf, bottom) if place < bottom else (top, math.inf) if place >= top else edges[i]
        for place, i in zip(places.tolist(), index, strict=True)
    ]
    stated = np.array(reach, dtype=np.float64).reshape(-1, 2)
    level = runs(stated[:, 0], lambda first, _: _interval(*reach[first], whole))
    # [20-29] ends at 29, [20, 30[ at 30
    return Level(level.starts, level.labels, stated[level.starts] - [0, int(whole)])


def _edges(index: int, width: float, origin: float, bottom: float, top: float) -> Ends:
    low = exact(origin) + index * exact(width)
    return max(float(low), bottom), min(float(low + exact(width)), top)


def _interval(low: float, high: float, whole: bool) -> str:
    if math.isinf(low):
        return f"<{number(high)}"
    if math.isinf(high):
        return f">={number(low)}"
    return write_range(low, high - 1) if whole else f"[{number(low)}, {number(high)}["


def calendar_level(places: Floats, unit: str) -> Level:
    """Months, quarters, years or decades: ``1965-09``, ``1965-Q3``, ``1965``, ``1960-69``."""
    months = [12 * day.year + day.month - 1 for day in to_values("date", places)]
    length = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    keys = [month // length * length for month in months]
    level = runs(keys, lambda first, _: _period(keys[first], unit))
    first = [keys[start] for start in level.starts]
    ends = [(_day(month), _day(month + length) - 1) for month in first]
    return Level(level.starts, level.labels, np.array(ends, dtype=np.float64).reshape(-1, 2))


def _day(month: int) -> int:
    """The ordinal of the month's first day; a decade may reach beyond what dates can say."""
    year = min(max(month // 12, 1), date.max.year)
    inside = 12 * year <= month < 12 * (year + 1)
    return date(year, month % 12 + 1 if inside else 1 if month < 12 * year else 12, 1).toordinal()


def _period(month: int, unit: str) -> str:
    year = f"{month // 12:04d}"
    if unit == "month":
        return f"{year}-{month % 12 + 1:02d}"
    if unit == "quarter":
        return f"{year}-Q{month % 12 // 3 + 1}"
    if unit == "year":
        return year
    last = f"{month // 12 + 9:04d}"
    # 2000-09 would be read as a September
    return f"{year}-{last}" if year.endswith("00") else f"{year}-{last[2:]}"


def masked_level(texts: Sequence[str], length: int, taken: dict[str, tuple[int, int]]) -> Level:
    """Sorted codes that share their first `length` characters: ``130**``, as long as the longest.

    `taken` remembers the labels of finer levels: codes that hold a ``*`` themselves could make
    two groups look alike, so the coarser one gets one more.
    """
    keys = [code[:length] for code in texts]

    def label(first: int, last: int) -> str:
        longest = max(map(len, texts[first : last + 1]))
        mask = keys[first].ljust(longest, "*")
        while taken.setdefault(mask, (first, last)) != (first, last):
            mask += "*"
        return mask

    # objects, because numpy's own strings drop trailing NULs
    return runs(np.array([*keys, None], dtype=object)[:-1], label)


def binned_level(bins: NDArray[np.int64], leaves: Sequence[Any]) -> Level:
    """Bins by their number, labelled with the outermost leaves in them."""
    return runs(bins, lambda first, last: write_range(leaves[first], leaves[last]))


def column_level(labels: Sequence[str]) -> Level:
    """A level of a taxonomy: one label for each leaf, in tree order."""
    return runs(np.array([*labels, None], dtype=object)[:-1], lambda first, _: labels[first])
