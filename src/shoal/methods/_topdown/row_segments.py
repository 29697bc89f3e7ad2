"""The rows of a tally, kept in order so that each open class is one segment of them.

What top-down methods share: the spans of the segments, candidate cuts of many segments at once,
and the groups that a model needs to judge both halves of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, all_leaves, cover_ranges
from shoal.core.histogram import Contributions, Histogram, ProviderValuePairs
from shoal.core.model import Model
from shoal.core.tally import Groups, Population, Tally, number_provider_pairs, sensitive_columns
from shoal.kernels import split
from shoal.kernels.threads import share_out
from shoal.methods._shared.points import order_people

BLOCK_ROWS = 1 << 21
"""Candidates are judged in blocks of about so many rows, so that memory stays bounded."""


@dataclass
class CandidateCuts:
    """Cuts to be judged, one per row: a segment, a column, and where on it."""

    segment: NDArray[np.int64]
    column: NDArray[np.int64]
    free: NDArray[np.bool_]
    begin: NDArray[np.int64]
    cut: NDArray[np.int64]
    quota: NDArray[np.int64]
    left: NDArray[np.int64]
    holds: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.segment)

    def take(self, pick: NDArray[Any], holds: NDArray[np.bool_] | None = None) -> CandidateCuts:
        """Some of the candidates, with the verdict on their halves where it is known."""
        held = self.holds[pick] if holds is None else holds
        return CandidateCuts(
            self.segment[pick],
            self.column[pick],
            self.free[pick],
            self.begin[pick],
            self.cut[pick],
            self.quota[pick],
            self.left[pick],
            held,
        )

    def joined(self, other: CandidateCuts) -> CandidateCuts:
        """These and others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return CandidateCuts(*(np.concatenate(pair) for pair in pairs))

    def undone(self) -> CandidateCuts:
        """The same segments with everybody on the left: the classes before the cut."""
        everywhere = np.full(len(self), split.NO_QUOTA)
        return replace(self, begin=np.full(len(self), -1), cut=everywhere, quota=everywhere)


@dataclass(frozen=True)
class Lifts:
    """The places of every code on each level of each axis, from the coarsest level down."""

    place: NDArray[np.int32]
    at: NDArray[np.int64]
    levels: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> Lifts:
        """Number the nodes of each level; null is a node of its own on every one of them."""
        tables = [_places(axis) for axis in axes]
        sizes = np.array([axis.size for axis in axes], dtype=np.int64)
        levels = np.array([len(table) for table in tables], dtype=np.int64)
        at = np.concatenate(([0], np.cumsum(levels * sizes)))[:-1]
        flat = [*(places for table in tables for places in table), np.zeros(1, np.int32)]
        return cls(np.concatenate(flat).astype(np.int32), at, levels, sizes)


def _places(axis: Axis) -> list[NDArray[np.int32]]:
    leaves = axis.size - axis.null
    code = np.arange(leaves)
    tables = [np.searchsorted(level.starts, code, side="right") - 1 for level in axis.levels[::-1]]
    if axis.null:
        tables = [np.zeros(leaves, dtype=np.int64), *tables]
        tables = [np.append(places, places.max(initial=0) + 1) for places in tables]
    return [places.astype(np.int32) for places in tables if places.max(initial=0) > 0]


@dataclass
class Segments:
    """Open classes as segments of rows, with the spans of their codes."""

    axes: tuple[Axis, ...]
    importance: NDArray[np.float64]
    lifts: Lifts
    keys: NDArray[Any]
    values: NDArray[np.int32]
    count: NDArray[Any]
    entry: NDArray[np.int32]
    columns: tuple[Axis | ProviderValuePairs, ...]
    """What ``values`` numbers: sensitive values, or their pairs with the provider."""
    totals: tuple[NDArray[np.int64], ...]
    population: Population | None
    relaxed: bool
    people_total: int
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    people: NDArray[np.int64]
    spans: Cells

    @classmethod
    def of(
        cls,
        tally: Tally,
        model: Model,
        products: Sequence[str],
        relaxed: bool,
        rng: np.random.Generator,
    ) -> Segments:
        """The whole tally as one segment."""
        pairs = sensitive_columns(tally, products) if model.needs & {"sensitive", "total"} else []
        totals = tuple(
            np.bincount(codes, weights=tally.count, minlength=axis.size).astype(np.int64)
            if whole is None
            else whole
            for (axis, codes), whole in zip_longest(pairs, tally.reference[: len(pairs)])
        )
        columns: list[Any] = (
            number_provider_pairs(tally, pairs) if "provider" in model.needs else pairs
        )
        order = order_people(tally, rng) if relaxed else np.arange(tally.entries, dtype=np.int32)
        small = np.int32 if tally.rows < 2**31 else np.int64
        count = np.ones(len(order), small) if relaxed else tally.count.astype(small)
        keys = np.ascontiguousarray(tally.keys[:, order]) if relaxed else tally.keys.copy()
        values = np.empty((len(columns), len(order)), dtype=np.int32)
        for i, (_, codes) in enumerate(columns):
            values[i] = codes[order] if relaxed else codes
        single = np.zeros(1, np.int64), np.array([len(order)]), np.array([tally.rows])
        spans = Cells(
            np.zeros((1, len(tally.quasi)), np.int32),
            np.array([[axis.size - 1 for axis in tally.quasi]], np.int32),
        )
        segments = cls(
            tally.quasi,
            tally.importance,
            Lifts.of(tally.quasi),
            keys,
            values,
            count,
            order,
            tuple(column for column, _ in columns),
            totals or (np.zeros(0, np.int64),),
            tally.population if "population" in model.needs else None,
            relaxed,
            tally.rows,
            *single,
            spans,
        )
        full = {
            j: all_leaves(a)[np.newaxis] for j, a in enumerate(tally.quasi) if a.shape == "flat"
        }
        segments.spans = segments._spanned(Cells(spans.low, spans.high, full))
        return segments

    @property
    def has_levels(self) -> NDArray[np.bool_]:
        """Which columns have nodes between their codes and the root."""
        return self.lifts.levels > 0

    @property
    def may_coincide(self) -> NDArray[np.bool_]:
        """Which columns may publish one cell for two segments: trees, and those with nulls."""
        return np.array([axis.shape == "tree" or axis.null for axis in self.axes])

    def _set_at(self) -> tuple[NDArray[np.int64], int]:
        """Where each set column's bits begin (-1: a range), and the words of all."""
        at = np.full(len(self.axes), -1, dtype=np.int64)
        total = 0
        for j, axis in enumerate(self.axes):
            if axis.shape == "flat":
                at[j] = total
                total += axis.words
        return at, total

    def _spanned(self, parents: Cells) -> Cells:
        """The segments' spans, from those of their parents."""
        set_at, total = self._set_at()
        low, high = parents.low.copy(), parents.high.copy()
        bits = np.zeros((len(self.start), total), dtype=np.uint64)
        had = np.concatenate(
            [bits[:, :0], *(parents.sets[j] for j in sorted(parents.sets))], axis=1
        )
        where = self.keys, self.start, self.stop, set_at, had
        self._share(split.fill_spans, len(self.start), *where, low, high, bits)
        return self._cells(low, high, bits, set_at)

    def _cells(
        self, low: NDArray[Any], high: NDArray[Any], bits: NDArray[Any], set_at: NDArray[Any]
    ) -> Cells:
        sets = {
            j: np.ascontiguousarray(bits[:, set_at[j] : set_at[j] + axis.words])
            for j, axis in enumerate(self.axes)
            if set_at[j] >= 0
        }
        return Cells(low, high, sets)

    def widths(self) -> NDArray[np.float64]:
        """The weighted width of each segment's published cells; 0 where a column has one code."""
        spans = self.spans
        several = spans.high > spans.low
        widths = cover_ranges(self.axes, spans.low, spans.high, spans.sets).widths(self.axes)
        # a tree node with one leaf present is still cut-free, and a zero-wide pair is not
        return np.where(several, np.maximum(widths, 1e-12), 0.0) * self.importance

    def candidates(
        self, segment: NDArray[Any], column: NDArray[Any], free: NDArray[np.bool_] | None = None
    ) -> CandidateCuts:
        """Cuts of these segments on these columns, not balanced yet."""
        n = len(segment)
        free = np.zeros(n, bool) if free is None else free
        begin, cut, quota, left = np.zeros((4, n), np.int64)
        return CandidateCuts(segment, column, free, begin, cut, quota, left, np.zeros((n, 2), bool))

    def _placed(self, cuts: CandidateCuts) -> split.PlacedCuts:
        lift = self.lifts.place
        return split.PlacedCuts(cuts.segment, cuts.column, cuts.begin, lift, cuts.cut, cuts.quota)

    def _share(self, kernel: Callable[..., None], number: int, *arguments: Any) -> None:
        share_out(kernel, number, self.keys.shape[1], *arguments)

    def balance(self, found: CandidateCuts) -> None:
        """Find where each candidate cuts: nearest to half of the people."""
        self._share(
            split.find_balanced_cuts,
            len(found),
            self.keys,
            self.count,
            self.start,
            self.stop,
            self.people,
            self.spans.low,
            self.spans.high,
            found.segment,
            found.column,
            found.free,
            self.relaxed,
            self.lifts.place,
            self.lifts.at,
            self.lifts.levels,
            self.lifts.sizes,
            found.begin,
            found.cut,
            found.quota,
            found.left,
        )

    def blocks(self, found: CandidateCuts) -> Iterator[NDArray[np.int64]]:
        """The candidates in blocks of about ``BLOCK_ROWS`` rows."""
        if not len(found):
            return
        rows = np.cumsum((self.stop - self.start)[found.segment])
        number = rows // BLOCK_ROWS if self.columns or self.population else np.zeros_like(rows)
        edges = np.flatnonzero(np.diff(number)) + 1
        yield from np.split(np.arange(len(found)), edges)

    def halves(self, found: CandidateCuts, model: Model) -> Groups:
        """Both halves of each candidate as groups: left and right in turn."""
        left = np.where(found.cut == split.NO_QUOTA, self.people[found.segment], found.left)
        rows = np.stack((left, self.people[found.segment] - left), axis=1).ravel()
        cuts = self._placed(found)
        histograms, shares = self._count_values(rows, cuts)
        cells = population = None
        if model.needs & {"cells", "population"}:
            cells = self._half_cells(cuts)
        if self.population is not None and cells is not None:
            population = cells.count_inside(self.population.keys, self.population.count)
        return Groups(rows, histograms, shares, cells, population)

    def _count_values(
        self, rows: NDArray[np.int64], cuts: split.PlacedCuts
    ) -> tuple[tuple[Histogram, ...], tuple[Contributions, ...]]:
        """The sensitive values of both halves of each candidate, and who brought them if asked."""
        histograms, shares = [], []
        for i, column in enumerate(self.columns):
            counts = self._counts(i, rows, cuts)
            if isinstance(column, Axis):
                histograms.append(Histogram(column, *counts, self.totals[i]))
            else:
                shares.append(column.contributions(*counts, self.totals[i]))
        histograms += [share.values for share in shares if share.axis is not None]
        return tuple(histograms), tuple(shares)

    def _counts(
        self, i: int, rows: NDArray[np.int64], cuts: split.PlacedCuts
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """A column counted in both halves of each candidate: sparse, ascending in each."""
        size = self.columns[i].size
        entries = np.repeat((self.stop - self.start)[cuts.segment], 2)
        room = np.concatenate(([0], np.cumsum(np.minimum(np.minimum(rows, entries), size))))
        value, count = np.empty(room[-1], np.int32), np.empty(room[-1], np.int64)
        pairs = np.zeros(len(rows), np.int64)
        self._share(
            split.count_halves,
            len(cuts.segment),
            self.keys,
            self.values[i],
            self.count,
            self.start,
            self.stop,
            cuts,
            size,
            room,
            value,
            count,
            pairs,
        )
        start = np.concatenate(([0], np.cumsum(pairs)))
        pick = np.repeat(room[:-1] - start[:-1], pairs) + np.arange(start[-1])
        return start, value[pick], count[pick]

    def _half_cells(self, cuts: split.PlacedCuts) -> Cells:
        set_at, total = self._set_at()
        number = len(cuts.segment)
        shape = (2 * number, len(self.axes))
        low, high = np.full(shape, 2**31 - 1, np.int32), np.full(shape, -1, np.int32)
        bits = np.zeros((shape[0], total), dtype=np.uint64)
        rows = self.keys, self.count, self.start, self.stop
        self._share(split.fill_half_spans, number, *rows, cuts, set_at, low, high, bits)
        spans = self._cells(np.minimum(low, high.clip(0)), high.clip(0), bits, set_at)
        return cover_ranges(self.axes, spans.low, spans.high, spans.sets)

    def whole(self, model: Model) -> Groups:
        """The segments themselves as groups."""
        n = len(self.start)
        undone = self.candidates(np.arange(n), np.zeros(n, np.int64)).undone()
        return self.halves(undone, model).take(np.arange(0, 2 * n, 2))

    def part(self, chosen: CandidateCuts) -> NDArray[np.bool_]:
        """Cut the chosen segments: their halves become the open ones; returns which meet it."""
        chosen_order = np.argsort(self.start[chosen.segment], kind="stable")
        chosen = chosen.take(chosen_order)
        middle = np.empty(len(chosen), np.int64)
        self._share(
            split.partition_segments,
            len(chosen),
            self.keys,
            self.values,
            self.count,
            self.entry,
            self.start,
            self.stop,
            self._placed(chosen),
            middle,
        )
        start, stop = self.start[chosen.segment], self.stop[chosen.segment]
        people = self.people[chosen.segment]
        parents = self.spans.take(np.repeat(chosen.segment, 2))
        self.start = np.stack((start, middle), axis=1).ravel()
        self.stop = np.stack((middle, stop), axis=1).ravel()
        self.people = np.stack((chosen.left, people - chosen.left), axis=1).ravel()
        self.spans = self._spanned(parents)
        return chosen.holds.ravel()

    def pieces(
        self, class_: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Entry, class and count of each piece; people of a divided entry are counted together."""
        if not self.relaxed:
            return self.entry, class_, self.count.astype(np.int64)
        joint = self.entry.astype(np.int64) * (int(class_.max(initial=0)) + 2) + class_ + 1
        _, first, count = np.unique(joint, return_index=True, return_counts=True)
        return self.entry[first], class_[first], count.astype(np.int64)
