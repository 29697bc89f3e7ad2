"""The rows of a tally, kept in order so that each open class is one segment of them.

What top-down methods share: the spans of the segments, candidate cuts of many segments at once,
and the groups that a model needs to judge both halves of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, all_leaves, cover_ranges
from shoal.core.model import Model
from shoal.core.tally import Groups, Population, Tally, number_provider_pairs, sensitive_columns
from shoal.kernels import split
from shoal.kernels.threads import share_out
from shoal.methods._shared.judged_columns import (
    JudgedColumn,
    SparseCounts,
    build_histograms,
    sum_values,
)
from shoal.methods._shared.points import order_people

BLOCK_ROWS = 1 << 21
"""Candidates are judged in blocks of about so many rows, so that memory stays bounded."""


@dataclass
class CandidateCuts:
    """Cuts to be judged, one per row: a segment, a column, and where on it."""

    segment: NDArray[np.int64]
    column: NDArray[np.int64]
    free: NDArray[np.bool_]
    """Whether the cut may fall between any two codes, inside the nodes of a tree too."""
    begin: NDArray[np.int64]
    """Where the level that is cut begins in ``LevelNodes.node``; -1: codes are cut."""
    cut: NDArray[np.int64]
    """The last node, or code, on the left ..."""
    quota: NDArray[np.int64]
    """... and how many of the people exactly there go left."""
    left_people: NDArray[np.int64]
    holds: NDArray[np.bool_]
    """(candidates, 2): whether each half meets the model, where that was judged."""

    def __len__(self) -> int:
        return len(self.segment)

    def take(self, chosen: NDArray[Any], holds: NDArray[np.bool_] | None = None) -> CandidateCuts:
        """Some of the candidates, with the verdict on their halves where it is known."""
        candidates = CandidateCuts(*(field[chosen] for field in vars(self).values()))
        return candidates if holds is None else replace(candidates, holds=holds)

    def joined(self, other: CandidateCuts) -> CandidateCuts:
        """These and others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return CandidateCuts(*(np.concatenate(pair) for pair in pairs))

    def without_cuts(self) -> CandidateCuts:
        """The same segments with everybody on the left: the classes before the cut."""
        everywhere = np.full(len(self), split.NO_QUOTA)
        return replace(self, begin=np.full(len(self), -1), cut=everywhere, quota=everywhere)


@dataclass(frozen=True)
class LevelNodes:
    """The node of every code on each level of each axis, coarsest level first, as one array.

    Those of an axis begin at its ``offset``, a level after the other.
    """

    node: NDArray[np.int32]
    offset: NDArray[np.int64]
    levels: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> LevelNodes:
        """Number the nodes of each level; null is a node of its own on every one of them."""
        tables = [_list_level_nodes(axis) for axis in axes]
        sizes = np.array([axis.size for axis in axes], dtype=np.int64)
        levels = np.array([len(table) for table in tables], dtype=np.int64)
        offset = np.concatenate(([0], np.cumsum(levels * sizes)))[:-1]
        nodes = [*(level for table in tables for level in table), np.zeros(1, np.int32)]
        return cls(np.concatenate(nodes).astype(np.int32), offset, levels, sizes)


def _list_level_nodes(axis: Axis) -> list[NDArray[np.int32]]:
    leaves = axis.size - axis.null
    codes = np.arange(leaves)
    tables = [np.searchsorted(level.starts, codes, side="right") - 1 for level in axis.levels[::-1]]
    if axis.null:
        tables = [np.zeros(leaves, dtype=np.int64), *tables]
        tables = [np.append(nodes, nodes.max(initial=0) + 1) for nodes in tables]
    return [nodes.astype(np.int32) for nodes in tables if nodes.max(initial=0) > 0]


@dataclass
class Segments:
    """Open classes as segments of rows, with the spans of their codes."""

    axes: tuple[Axis, ...]
    importance: NDArray[np.float64]
    level_nodes: LevelNodes
    keys: NDArray[Any]
    values: NDArray[np.int32]
    count: NDArray[Any]
    entry: NDArray[np.int32]
    columns: tuple[JudgedColumn, ...]
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
        bounds = np.zeros(1, np.int64), np.array([len(order)]), np.array([tally.rows])
        spans = Cells(
            np.zeros((1, len(tally.quasi)), np.int32),
            np.array([[axis.size - 1 for axis in tally.quasi]], np.int32),
        )
        segments = cls(
            tally.quasi,
            tally.importance,
            LevelNodes.of(tally.quasi),
            keys,
            values,
            count,
            order,
            tuple(column for column, _ in columns),
            sum_values(tally, pairs) or (np.zeros(0, np.int64),),
            tally.population if "population" in model.needs else None,
            relaxed,
            tally.rows,
            *bounds,
            spans,
        )
        full_sets = {
            j: all_leaves(axis)[np.newaxis]
            for j, axis in enumerate(tally.quasi)
            if axis.shape == "flat"
        }
        segments.spans = segments._span_segments(Cells(spans.low, spans.high, full_sets))
        return segments

    @property
    def has_levels(self) -> NDArray[np.bool_]:
        """Which columns have nodes between their codes and the root."""
        return self.level_nodes.levels > 0

    @property
    def may_coincide(self) -> NDArray[np.bool_]:
        """Which columns may publish one cell for two segments: trees, and those with nulls."""
        return np.array([axis.shape == "tree" or axis.null for axis in self.axes])

    def _locate_sets(self) -> tuple[NDArray[np.int64], int]:
        """Where each set column's bits begin (-1: a range), and the words of all."""
        offsets = np.full(len(self.axes), -1, dtype=np.int64)
        words = 0
        for j, axis in enumerate(self.axes):
            if axis.shape == "flat":
                offsets[j] = words
                words += axis.words
        return offsets, words

    def _span_segments(self, parents: Cells) -> Cells:
        set_offsets, words = self._locate_sets()
        low, high = parents.low.copy(), parents.high.copy()
        bits = np.zeros((len(self.start), words), dtype=np.uint64)
        parent_bits = np.concatenate(
            [bits[:, :0], *(parents.sets[j] for j in sorted(parents.sets))], axis=1
        )
        rows = self.keys, self.start, self.stop, set_offsets, parent_bits
        self._run_kernel(split.fill_spans, len(self.start), *rows, low, high, bits)
        return self._build_cells(low, high, bits, set_offsets)

    def _build_cells(
        self, low: NDArray[Any], high: NDArray[Any], bits: NDArray[Any], set_offsets: NDArray[Any]
    ) -> Cells:
        sets = {
            j: np.ascontiguousarray(bits[:, set_offsets[j] : set_offsets[j] + axis.words])
            for j, axis in enumerate(self.axes)
            if set_offsets[j] >= 0
        }
        return Cells(low, high, sets)

    def widths(self) -> NDArray[np.float64]:
        """The weighted width of each segment's published cells; 0 where a column has one code."""
        spans = self.spans
        several = spans.high > spans.low
        widths = cover_ranges(self.axes, spans.low, spans.high, spans.sets).widths(self.axes)
        # a tree node with one leaf present is still cut-free, and a zero-wide pair is not
        return np.where(several, np.maximum(widths, 1e-12), 0.0) * self.importance

    def create_candidates(
        self, segment: NDArray[Any], column: NDArray[Any], free: NDArray[np.bool_] | None = None
    ) -> CandidateCuts:
        """Cuts of these segments on these columns, not balanced yet."""
        n = len(segment)
        free = np.zeros(n, bool) if free is None else free
        begin, cut, quota, left_people = np.zeros((4, n), np.int64)
        return CandidateCuts(
            segment, column, free, begin, cut, quota, left_people, np.zeros((n, 2), bool)
        )

    def _place_cuts(self, candidates: CandidateCuts) -> split.PlacedCuts:
        return split.PlacedCuts(
            candidates.segment,
            candidates.column,
            candidates.begin,
            self.level_nodes.node,
            candidates.cut,
            candidates.quota,
        )

    def _run_kernel(self, kernel: Callable[..., None], tasks: int, *arguments: Any) -> None:
        share_out(kernel, tasks, self.keys.shape[1], *arguments)

    def balance(self, candidates: CandidateCuts) -> None:
        """Find where each candidate cuts: nearest to half of the people."""
        self._run_kernel(
            split.find_balanced_cuts,
            len(candidates),
            self.keys,
            self.count,
            self.start,
            self.stop,
            self.people,
            self.spans.low,
            self.spans.high,
            candidates.segment,
            candidates.column,
            candidates.free,
            self.relaxed,
            self.level_nodes.node,
            self.level_nodes.offset,
            self.level_nodes.levels,
            self.level_nodes.sizes,
            candidates.begin,
            candidates.cut,
            candidates.quota,
            candidates.left_people,
        )

    def iterate_blocks(self, candidates: CandidateCuts) -> Iterator[NDArray[np.int64]]:
        """The candidates in blocks of about ``BLOCK_ROWS`` rows."""
        if not len(candidates):
            return
        rows = np.cumsum((self.stop - self.start)[candidates.segment])
        number = rows // BLOCK_ROWS if self.columns or self.population else np.zeros_like(rows)
        edges = np.flatnonzero(np.diff(number)) + 1
        yield from np.split(np.arange(len(candidates)), edges)

    def count_halves(self, candidates: CandidateCuts, model: Model) -> Groups:
        """Both halves of each candidate as groups: left and right in turn."""
        people = self.people[candidates.segment]
        left = np.where(candidates.cut == split.NO_QUOTA, people, candidates.left_people)
        rows = np.stack((left, people - left), axis=1).ravel()
        cuts = self._place_cuts(candidates)
        counts = (self._count_column(i, rows, cuts) for i in range(len(self.columns)))
        histograms, shares = build_histograms(self.columns, counts, self.totals)
        cells = population = None
        if model.needs & {"cells", "population"}:
            cells = self._half_cells(cuts)
        if self.population is not None and cells is not None:
            population = cells.count_inside(self.population.keys, self.population.count)
        return Groups(rows, histograms, shares, cells, population)

    def _count_column(
        self, i: int, rows: NDArray[np.int64], cuts: split.PlacedCuts
    ) -> SparseCounts:
        """A column counted in both halves of each candidate: sparse, ascending in each."""
        size = self.columns[i].size
        entries = np.repeat((self.stop - self.start)[cuts.segment], 2)
        room = np.concatenate(([0], np.cumsum(np.minimum(np.minimum(rows, entries), size))))
        value, count = np.empty(room[-1], np.int32), np.empty(room[-1], np.int64)
        distinct = np.zeros(len(rows), np.int64)
        self._run_kernel(
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
            distinct,
        )
        start = np.concatenate(([0], np.cumsum(distinct)))
        filled = np.repeat(room[:-1] - start[:-1], distinct) + np.arange(start[-1])
        return start, value[filled], count[filled]

    def _half_cells(self, cuts: split.PlacedCuts) -> Cells:
        set_offsets, words = self._locate_sets()
        number = len(cuts.segment)
        shape = (2 * number, len(self.axes))
        low, high = np.full(shape, 2**31 - 1, np.int32), np.full(shape, -1, np.int32)
        bits = np.zeros((shape[0], words), dtype=np.uint64)
        rows = self.keys, self.count, self.start, self.stop
        self._run_kernel(split.fill_half_spans, number, *rows, cuts, set_offsets, low, high, bits)
        spans = self._build_cells(np.minimum(low, high.clip(0)), high.clip(0), bits, set_offsets)
        return cover_ranges(self.axes, spans.low, spans.high, spans.sets)

    def count_groups(self, model: Model) -> Groups:
        """The segments themselves as groups."""
        n = len(self.start)
        undone = self.create_candidates(np.arange(n), np.zeros(n, np.int64)).without_cuts()
        return self.count_halves(undone, model).take(np.arange(0, 2 * n, 2))

    def apply_cuts(self, chosen: CandidateCuts) -> NDArray[np.bool_]:
        """Cut the chosen segments: their halves become the open ones; returns which meet it."""
        chosen_order = np.argsort(self.start[chosen.segment], kind="stable")
        chosen = chosen.take(chosen_order)
        middle = np.empty(len(chosen), np.int64)
        self._run_kernel(
            split.partition_segments,
            len(chosen),
            self.keys,
            self.values,
            self.count,
            self.entry,
            self.start,
            self.stop,
            self._place_cuts(chosen),
            middle,
        )
        start, stop = self.start[chosen.segment], self.stop[chosen.segment]
        people = self.people[chosen.segment]
        parents = self.spans.take(np.repeat(chosen.segment, 2))
        self.start = np.stack((start, middle), axis=1).ravel()
        self.stop = np.stack((middle, stop), axis=1).ravel()
        self.people = np.stack((chosen.left_people, people - chosen.left_people), axis=1).ravel()
        self.spans = self._span_segments(parents)
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
