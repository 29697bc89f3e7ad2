"""One column's distribution before and after, in few enough bars to look at.

Numbers and dates fall into bins with round ends, codes into groups by their first characters.
For a report that is published no bar stands for fewer than ``fewest`` people on either side, and
the outer bins are open, so that neither the smallest nor the largest value can be read from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.labels import text

MOST = 12
"""How many bars there may be."""
Floats = NDArray[np.float64]


Bars = list[tuple[float, float]]


@dataclass(frozen=True)
class Distribution:
    """How many people have each value, or lie in each bin, before and after."""

    column: str
    labels: tuple[str | None, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    moved: float | None = None
    """The total variation between all values, where it was measured."""
    ends: tuple[float, ...] = ()
    """Where bins begin and end; none for values as they are. A last bar more is null."""
    whole: bool = True
    """Whether the binned values are whole numbers."""

    def discreet(self, fewest: int) -> Distribution:
        """Bins together until each has enough people on both sides, the outer ones open."""
        if not self.ends:
            return self
        bars = list(zip(self.before, self.after, strict=True))
        inside = len(self.ends) - 1
        ends, kept = _merged(self.ends, bars[:inside], fewest)
        kept += [bar for bar in bars[inside:] if min(bar) >= fewest]
        labels = [*_open(ends, self.whole), None][: len(kept)]
        old, new = zip(*kept, strict=True) if kept else ((), ())
        return replace(self, labels=tuple(labels), before=old, after=new, ends=tuple(ends))


def distribution(
    axis: Axis, before: Floats, after: Floats, moved: float | None = None
) -> Distribution:
    """The bars of a column whose leaves have these many people before and after."""
    leaves = len(axis.leaves)
    sides = (before[:leaves], after[:leaves])
    ends: tuple[float, ...] = ()
    whole = True
    if axis.kind in ("number", "date") and axis.positions is not None and leaves:
        places = _places(axis)
        whole = bool(np.all(places == np.floor(places)))
        ends, bars = _binned(places, *sides)
        labels: list[str | None] = [*_names(ends, whole)]
    else:
        labels, bars = _grouped(axis, *sides)
    if axis.null and max(before[leaves], after[leaves]) >= 1:
        labels, bars = [*labels, None], [*bars, (float(before[leaves]), float(after[leaves]))]
    old, new = zip(*bars, strict=True) if bars else ((), ())
    # Rows spread over the leaves of a wide cell are parts of people; bars count whole ones.
    rounded = tuple(float(round(n)) for n in new)
    return Distribution(axis.name, tuple(labels), old, rounded, moved, ends, whole)


def _grouped(axis: Axis, before: Floats, after: Floats) -> tuple[list[str | None], Bars]:
    """Values as they are; codes by as many first characters as leave few enough groups."""
    texts = [text(leaf) for leaf in axis.leaves]
    longest = max(map(len, texts), default=0)
    if axis.kind == "code":
        while longest > 1 and len({one[:longest] for one in texts}) > MOST:
            longest -= 1
    names = [one if len(one) <= longest else f"{one[:longest]}…" for one in texts]
    order = {name: i for i, name in enumerate(dict.fromkeys(names))}
    at = np.array([order[name] for name in names], np.int64)
    old, new = (np.bincount(at, weights=side, minlength=len(order)) for side in (before, after))
    return list(order), list(zip(old.tolist(), new.tolist(), strict=True))


def _binned(places: Floats, before: Floats, after: Floats) -> tuple[tuple[float, ...], Bars]:
    """Bins of neighbouring values with round ends, and the people in them."""
    edges = _edges(places)
    at = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)
    counts = [
        np.bincount(at, weights=side, minlength=len(edges) - 1).tolist() for side in (before, after)
    ]
    return tuple(edges.tolist()), list(zip(*counts, strict=True))


def _places(axis: Axis) -> Floats:
    """Numbers as they are, dates as years, or as months where one year holds them all."""
    assert axis.positions is not None
    if axis.kind == "number":
        return np.asarray(axis.positions, np.float64)
    days = [date.fromordinal(int(day)) for day in axis.positions]
    one = len({day.year for day in days}) == 1
    return np.array([day.month if one else day.year for day in days], np.float64)


def _edges(places: Floats) -> Floats:
    """Round ends of at most ``MOST`` bins: steps of 1, 2 or 5 times a power of ten."""
    low, high = float(places.min()), float(places.max())
    least = 1.0 if np.all(places == np.floor(places)) else (high - low or 1.0) / MOST
    power = 10.0 ** math.floor(math.log10(max((high - low) / MOST, least)))
    steps = [step * power for step in (1, 2, 5, 10, 20)]
    step = next(s for s in steps if math.floor(high / s) - math.floor(low / s) < MOST)
    first, last = math.floor(low / step), math.floor(high / step)
    return np.array([n * step for n in range(first, last + 2)], np.float64)


def _merged(edges: Sequence[float], bars: Bars, fewest: int) -> tuple[list[float], Bars]:
    """Neighbouring bins together until each has enough people on both sides."""
    ends, kept, old, new = [edges[0]], Bars(), 0.0, 0.0
    for end, (before, after) in zip(edges[1:], bars, strict=True):
        old, new = old + before, new + after
        if min(old, new) >= fewest:
            ends.append(end)
            kept.append((old, new))
            old = new = 0.0
    if kept:
        kept[-1] = (kept[-1][0] + old, kept[-1][1] + new)
        ends[-1] = edges[-1]
    return ends, kept


def _names(ends: Sequence[float], whole: bool) -> list[str]:
    names = []
    for low, high in pairwise(ends):
        last = high - 1 if whole else high
        names.append(_number(low) if last <= low else f"{_number(low)}–{_number(last)}")
    return names


def _open(ends: Sequence[float], whole: bool) -> list[str]:
    """The bins' names, open at both ends: the extremes are nobody's business."""
    names = _names(ends, whole)
    if len(names) > 1:
        return [f"under {_number(ends[1])}", *names[1:-1], f"{_number(ends[-2])} and over"]
    return ["all values"] * len(names)


def _number(value: Any) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:,.0f}"
