"""One column's distribution before and after, in few enough bars to look at.

Numbers and dates fall into bins with round ends, codes into groups by their first characters.
For a report that is published no bar stands for fewer than ``fewest`` people on either side, the
outer bins are open, and where bins begin and end is chosen without the ``fewest`` lowest and the
``fewest`` highest people: neither an extreme nor its being there can be read from the bars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.labels import format_value

MAX_BARS = 12
"""How many bars there may be."""
Floats = NDArray[np.float64]
Bars = list[tuple[float, float]]


@dataclass(frozen=True)
class LeafCounts:
    """How many people each leaf of a column has before and after; null, if there is one, last."""

    axis: Axis
    before: Floats
    after: Floats


@dataclass(frozen=True)
class Distribution:
    """How many people have each value, or lie in each bin, before and after."""

    column: str
    labels: tuple[str | None, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    moved: float | None = None
    """The total variation between all values, where it was measured and may be published."""
    ends: tuple[float, ...] = ()
    """Where bins begin and end; none for values as they are. A last bar more is null."""
    counts: LeafCounts | None = field(default=None, repr=False, compare=False)
    """What it was drawn from; the public version has none."""

    def redact(self, fewest: int) -> Distribution:
        """The same for the public: counted again without the outermost people."""
        if self.counts is None:
            return self
        bars, labels, ends = _make_bars(self.counts, fewest)
        return _build_distribution(self.column, labels, bars, ends)


def make_distribution(
    axis: Axis, before: Floats, after: Floats, moved: float | None = None
) -> Distribution:
    """The bars of a column whose leaves have these many people before and after."""
    counts = LeafCounts(axis, before, after)
    bars, labels, ends = _make_bars(counts, 1)
    return _build_distribution(axis.name, labels, bars, ends, moved, counts)


def _build_distribution(
    column: str,
    labels: Sequence[str | None],
    bars: Bars,
    ends: Sequence[float],
    moved: float | None = None,
    counts: LeafCounts | None = None,
) -> Distribution:
    old, new = zip(*bars, strict=True) if bars else ((), ())
    return Distribution(column, tuple(labels), old, new, moved, tuple(ends), counts)


def _make_bars(counts: LeafCounts, fewest: int) -> tuple[Bars, list[str | None], Sequence[float]]:
    axis, leaves = counts.axis, len(counts.axis.leaves)
    before, after = counts.before[:leaves], counts.after[:leaves]
    ends: Sequence[float] = ()
    if axis.kind in ("number", "date") and axis.positions is not None and leaves:
        bars, labels, ends = _bin_values(axis, before, after, fewest)
    else:
        bars, labels = _group_values(axis, before, after, fewest)
    null, missing = axis.null_code, (0.0, 0.0)
    if null >= 0:
        missing = (float(counts.before[null]), float(counts.after[null]))
    # One bin beside a few whose value is missing shows nothing.
    if max(missing) >= 1 and (min(missing) >= fewest or len(bars) > 1):
        bars, labels = [*bars, missing], [*labels, None]
    # Rows spread over the leaves of a wide cell are parts of people; bars count whole ones.
    return [(old, float(round(new))) for old, new in bars], labels, ends


def _group_values(
    axis: Axis, before: Floats, after: Floats, fewest: int
) -> tuple[Bars, list[str | None]]:
    """Values as they are; codes by as many first characters as leave few enough groups."""
    texts = [format_value(leaf) for leaf in axis.leaves]
    longest = max(map(len, texts), default=0)
    if axis.kind == "code":
        while longest > 1 and _count_groups(texts, longest, before, fewest) > MAX_BARS:
            longest -= 1
    names = [text if len(text) <= longest else f"{text[:longest]}…" for text in texts]
    order, at = _number_names(names)
    old, new = (np.bincount(at, weights=side, minlength=len(order)) for side in (before, after))
    return list(zip(old.tolist(), new.tolist(), strict=True)), list(order)


def _count_groups(texts: Sequence[str], length: int, people: Floats, fewest: int) -> int:
    """How many groups there are; for the public, how many hold all but ``fewest`` people."""
    order, at = _number_names([text[:length] for text in texts])
    if fewest <= 1:
        return len(order)
    sizes = np.sort(np.bincount(at, weights=people, minlength=len(order)))
    return int((np.cumsum(sizes) > fewest).sum())


def _number_names(names: Sequence[str]) -> tuple[dict[str, int], NDArray[np.int64]]:
    order = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return order, np.array([order[name] for name in names], np.int64)


def _bin_values(
    axis: Axis, before: Floats, after: Floats, fewest: int
) -> tuple[Bars, list[str | None], Sequence[float]]:
    """Bins of neighbouring values with round ends; who lies outside of them is in the outer."""
    inner = _find_inner_leaves(before, fewest)
    if not inner.any():
        return [], [], ()
    places = _place_leaves(axis, inner)
    whole = _holds_whole_numbers(places, before, fewest)
    edges = _choose_edges(float(places[inner].min()), float(places[inner].max()), whole)
    at = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)
    old, new = (
        np.bincount(at, weights=side, minlength=len(edges) - 1).tolist() for side in (before, after)
    )
    ends, bars = edges.tolist(), list(zip(old, new, strict=True))
    if fewest <= 1:
        return bars, [*_name_bins(ends, whole)], ends
    ends, bars = _merge_small_bins(ends, bars, fewest)
    return bars, [*_name_open_bins(ends, whole)], ends


def _find_inner_leaves(people: Floats, fewest: int) -> NDArray[np.bool_]:
    """The leaves that the bins are made for: all, or those of all but the outermost people."""
    if fewest <= 1:
        return np.ones(len(people), bool)
    up_to = np.cumsum(people)
    inner: NDArray[np.bool_] = (up_to > fewest) & (up_to[-1] - up_to + people > fewest)
    return inner


def _holds_whole_numbers(places: Floats, people: Floats, fewest: int) -> bool:
    """Whether bins hold whole numbers: all values are, or for the public most people's are."""
    is_whole = places == np.floor(places)
    if fewest <= 1:
        return bool(is_whole.all())
    return bool(2 * people[is_whole].sum() > people.sum())


def _place_leaves(axis: Axis, inner: NDArray[np.bool_]) -> Floats:
    """Numbers as they are, dates as years, or as months where one year holds all inner ones."""
    assert axis.positions is not None
    if axis.kind == "number":
        return np.asarray(axis.positions, np.float64)
    days = [date.fromordinal(int(day)) for day in axis.positions]
    years = {day.year for day, inside in zip(days, inner, strict=True) if inside}
    if len(years) > 1:
        return np.array([day.year for day in days], np.float64)
    (year,) = years
    return np.array([12 * (day.year - year) + day.month for day in days], np.float64)


def _choose_edges(low: float, high: float, whole: bool) -> Floats:
    """Round ends of at most ``MAX_BARS`` bins: steps of 1, 2 or 5 times a power of ten."""
    min_step = 1.0 if whole else (high - low or 1.0) / MAX_BARS
    power = 10.0 ** math.floor(math.log10(max((high - low) / MAX_BARS, min_step)))
    steps = [step * power for step in (1, 2, 5, 10, 20)]
    step = next(s for s in steps if math.floor(high / s) - math.floor(low / s) < MAX_BARS)
    first, last = math.floor(low / step), math.floor(high / step)
    return np.array([n * step for n in range(first, last + 2)], np.float64)


def _merge_small_bins(edges: Sequence[float], bars: Bars, fewest: int) -> tuple[list[float], Bars]:
    """Neighbouring bins together until each has enough people on both sides."""
    ends, merged, old, new = [edges[0]], Bars(), 0.0, 0.0
    for end, (before, after) in zip(edges[1:], bars, strict=True):
        old, new = old + before, new + after
        if min(old, new) >= fewest:
            ends.append(end)
            merged.append((old, new))
            old = new = 0.0
    if merged:
        merged[-1] = (merged[-1][0] + old, merged[-1][1] + new)
        ends[-1] = edges[-1]
    return ends, merged


def _name_bins(ends: Sequence[float], whole: bool) -> list[str]:
    names = []
    for low, high in pairwise(ends):
        last = high - 1 if whole else high
        names.append(
            _format_number(low) if last <= low else f"{_format_number(low)}–{_format_number(last)}"
        )
    return names


def _name_open_bins(ends: Sequence[float], whole: bool) -> list[str]:
    """The bins' names, open at both ends: the extremes are not published."""
    names = _name_bins(ends, whole)
    if len(names) > 1:
        return [
            f"under {_format_number(ends[1])}",
            *names[1:-1],
            f"{_format_number(ends[-2])} and over",
        ]
    return ["all values"] * len(names)


def _format_number(value: Any) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:,.0f}"
