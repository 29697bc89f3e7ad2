"""Cells: generalised values as sets of leaves, nearly always a range of codes.

Only a flat, unordered column holds a set (bits over its leaves). ``contains``, ``meet`` and
``width`` know the two forms; nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.kernels import box_tree
from shoal.kernels.grouping import collect_code_sets, find_extents, number_keys

Bits = NDArray[np.uint64]


@dataclass(frozen=True)
class Cells:
    """The cells of many classes: ``low`` and ``high`` (classes, columns), and sets by column.

    ``levels`` (classes, columns) says at which level of its hierarchy a cell is printed where
    several have a node of the same leaves (``Axis.level_to_print``); -1 is the lowest of them.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sets: Mapping[int, Bits] = field(default_factory=dict)
    levels: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.low)

    def take(self, classes: NDArray[Any]) -> Cells:
        """The cells of some classes."""
        sets = {column: bits[classes] for column, bits in self.sets.items()}
        levels = None if self.levels is None else self.levels[classes]
        return Cells(self.low[classes], self.high[classes], sets, levels)

    def level(self, column: int) -> NDArray[np.int32]:
        """The level at which each cell of a column is printed; -1 is the lowest."""
        return np.full(len(self), -1, np.int32) if self.levels is None else self.levels[:, column]

    def columns(self, some: NDArray[Any]) -> Cells:
        """The same cells by some of their columns."""
        sets = {at: self.sets[j] for at, j in enumerate(some.tolist()) if j in self.sets}
        return Cells(self.low[:, some], self.high[:, some], sets)

    @classmethod
    def joined(cls, several: Sequence[Cells]) -> Cells:
        """The cells of all of them, one after the other."""
        sets = {c: np.concatenate([cells.sets[c] for cells in several]) for c in several[0].sets}
        low, high = (np.concatenate([getattr(c, end) for c in several]) for end in ("low", "high"))
        if all(cells.levels is None for cells in several):
            return cls(low, high, sets)
        levels = [np.full_like(c.low, -1) if c.levels is None else c.levels for c in several]
        return cls(low, high, sets, np.concatenate(levels))

    def unique(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first class of each distinct combination of cells, and each class's number there."""
        number, first = _alike(self._columns(), len(self))
        return first, number.astype(np.int64)

    def _columns(self) -> Iterator[NDArray[Any]]:
        """Everything that tells two cells apart, as 64-bit columns."""
        for j in range(self.low.shape[1]):
            if j in self.sets:
                yield from self.sets[j].T
            else:
                yield self.low[:, j].astype(np.int64) << 32 | self.high[:, j]
        if self.levels is not None:
            yield from self.levels.T.astype(np.int64)

    def widths(self, axes: Sequence[Axis]) -> NDArray[np.float64]:
        """How much of its axis each cell covers: 0 one leaf … 1 all; (classes, columns)."""
        columns = [self._width(axis, j) for j, axis in enumerate(axes)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0))

    def _width(self, axis: Axis, column: int) -> NDArray[np.float64]:
        if column in self.sets:
            return axis.set_width(np.bitwise_count(self.sets[column]).sum(axis=1))
        return axis.width(self.low[:, column], self.high[:, column], self.level(column))

    def labels(
        self, axes: Sequence[Axis], column: int
    ) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """The published texts of one column (None: null), and which of them each class has."""
        axis, low, high = axes[column], self.low[:, column], self.high[:, column]
        if column in self.sets:
            number, first = _alike(self.sets[column].T, len(self))
            return number, axis.set_labels(self.sets[column][first])
        ranges, level = low.astype(np.int64) << 32 | high, self.level(column)
        if (level < 0).all():
            number, first = number_keys(ranges.view(np.uint64))
        else:
            number, first = _alike((ranges, level.astype(np.int64)), len(self))
        return number, axis.labels(low[first], high[first], level[first])

    def count_inside(self, keys: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each class, how many of the counted points its cells contain."""
        start, classes = self.contains(keys)
        inside = np.bincount(classes, np.repeat(count, np.diff(start)), len(self))
        return inside.astype(np.int64)

    def contains(self, keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each point (columns, points) the classes whose cells contain it: start, classes.

        Point ``i`` lies in the classes ``classes[start[i]:start[i+1]]``, ascending; a code below 0
        lies in no cell.
        """
        points = np.ascontiguousarray(keys.T, np.int32)
        return box_tree.find_met_boxes(self._tree, points, points, self._tree.bits[:0])

    @cached_property
    def _tree(self) -> box_tree.BoxTree:
        return box_tree.build_box_tree(*self._ranges(), *self._packed())

    def _ranges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The ranges, of sets from the first member to the last; 0..-1 where any cell is empty."""
        low, high = self.low.clip(0), self.high.copy()
        for column, bits in self.sets.items():
            low[:, column], high[:, column] = box_tree.find_set_ends(bits)
        empty = (low > high).any(axis=1)
        low[empty], high[empty] = 0, -1
        return low, high

    def _packed(self) -> tuple[Bits, NDArray[np.int64]]:
        """All sets side by side, and (columns, 2) which words are a column's: none of a range."""
        words = np.zeros((self.low.shape[1], 2), dtype=np.int64)
        parts = [np.zeros((len(self), 0), dtype=np.uint64)]
        for column, bits in sorted(self.sets.items()):
            begin = int(words.max(initial=0))
            words[column] = begin, begin + bits.shape[1]
            parts.append(bits)
        return np.concatenate(parts, axis=1), words


def meet(one: Cells, other: Cells) -> tuple[Cells, NDArray[np.bool_]]:
    """The cells that lie in both, row by row, and whether they are not empty in every column."""
    _same_form(one, other)
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    filled = low <= high
    sets = {column: bits & other.sets[column] for column, bits in one.sets.items()}
    for column, bits in sets.items():
        filled[:, column] = bits.any(axis=1)
    return Cells(low, high, sets), np.asarray(filled.all(axis=1))


def find_meeting_classes(one: Cells, other: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each class of one the classes of the other whose cells meet its cells in every column.

    Class ``i`` of one meets the classes ``others[start[i]:start[i+1]]`` of the other, ascending.
    """
    _same_form(one, other)
    return box_tree.find_met_boxes(other._tree, *one._ranges(), one._packed()[0])


def _same_form(one: Cells, other: Cells) -> None:
    """Refuse to compare a range with a set: codes of one would be taken for bits of the other."""
    forms = [{j: bits.shape[1] for j, bits in cells.sets.items()} for cells in (one, other)]
    if one.low.shape[1] != other.low.shape[1] or forms[0] != forms[1]:
        raise ValueError("Cells can only be compared where the same columns hold sets.")


def _alike(
    columns: Iterable[NDArray[Any]], rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number rows alike that agree in every 64-bit column, and find each number's first."""
    number = np.zeros(rows, dtype=np.int32)
    first = np.zeros(min(1, rows), dtype=np.int64)
    for column in columns:
        values, _ = number_keys(np.ascontiguousarray(column).view(np.uint64))
        number, first = number_keys((number.astype(np.int64) * rows + values).view(np.uint64))
    return number, first


def cover_ranges(
    axes: Sequence[Axis], low: NDArray[np.int32], high: NDArray[np.int32], sets: Mapping[int, Bits]
) -> Cells:
    """The smallest cells that can be printed and cover the given ranges and sets.

    A set that holds null and another leaf becomes the whole axis, as a range does: null lies
    directly under the root.
    """
    covered = [axis.cover(low[:, j], high[:, j]) for j, axis in enumerate(axes)]
    full = {j: bits.copy() for j, bits in sets.items()}
    for j, bits in full.items():
        axis = axes[j]
        if axis.null:
            mixed = (high[:, j] == axis.size - 1) & (low[:, j] < axis.size - 1)
            bits[mixed] = all_leaves(axis)
    low = np.stack([pair[0] for pair in covered], axis=1).astype(np.int32)
    high = np.stack([pair[1] for pair in covered], axis=1).astype(np.int32)
    return Cells(low, high, full)


def ranges_to_sets(axis: Axis, low: NDArray[np.int32], high: NDArray[np.int32]) -> Bits:
    """Ranges of codes as the sets of their members, (ranges, words)."""
    first = 64 * np.arange(axis.words)[None, :]
    ends = (np.clip(end[:, None] - first, 0, 64) for end in (low, high.astype(np.int64) + 1))
    begin, stop = (_below(end) for end in ends)
    return np.asarray(stop & ~begin)


def _below(count: NDArray[np.int64]) -> Bits:
    """Words in which so many of the lowest bits are set; a shift by 64 would shift nothing."""
    full = np.uint64(2**64 - 1)
    return np.where(count == 0, np.uint64(0), full >> (64 - count.clip(1)).astype(np.uint64))


def all_leaves(axis: Axis) -> Bits:
    """The set of all leaves of an axis, null included."""
    bits = np.full(axis.words, 2**64 - 1, dtype=np.uint64)
    spare = axis.words * 64 - axis.size
    bits[-1] >>= np.uint64(spare)
    return bits


def cover_classes(
    axes: Sequence[Axis], keys: NDArray[Any], entry: NDArray[Any], class_: NDArray[Any]
) -> Cells:
    """The smallest publishable cells of each class, from the entries in it."""
    classes = int(class_.max(initial=-1)) + 1
    low, high = find_extents(keys, entry, class_, classes)
    sets = {
        j: collect_code_sets(keys[j], entry, class_, classes, axis.words)
        for j, axis in enumerate(axes)
        if axis.shape == "flat"
    }
    return cover_ranges(axes, low, high, sets)
