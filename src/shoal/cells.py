"""Cells: generalised values as sets of leaves, nearly always a range of codes.

Only a flat, unordered column holds a set (bits over its leaves). ``contains``, ``meet`` and
``width`` know the two forms; nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.kernels import boxes
from shoal.kernels.group import extents, members, numbered
from shoal.kernels.threads import share_out

Bits = NDArray[np.uint64]


@dataclass(frozen=True)
class Cells:
    """The cells of many classes: ``low`` and ``high`` (classes, columns), and sets by column."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sets: Mapping[int, Bits] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.low)

    def take(self, classes: NDArray[Any]) -> Cells:
        """The cells of some classes."""
        sets = {column: bits[classes] for column, bits in self.sets.items()}
        return Cells(self.low[classes], self.high[classes], sets)

    @classmethod
    def joined(cls, several: Sequence[Cells]) -> Cells:
        """The cells of all of them, one after the other."""
        sets = {c: np.concatenate([cells.sets[c] for cells in several]) for c in several[0].sets}
        low, high = (np.concatenate([getattr(c, end) for c in several]) for end in ("low", "high"))
        return cls(low, high, sets)

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

    def widths(self, axes: Sequence[Axis]) -> NDArray[np.float64]:
        """How much of its axis each cell covers: 0 one leaf … 1 all; (classes, columns)."""
        columns = [self._width(axis, j) for j, axis in enumerate(axes)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0))

    def _width(self, axis: Axis, column: int) -> NDArray[np.float64]:
        if column in self.sets:
            return axis.set_width(np.bitwise_count(self.sets[column]).sum(axis=1))
        return axis.width(self.low[:, column], self.high[:, column])

    def labels(
        self, axes: Sequence[Axis], column: int
    ) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """The published texts of one column (None: null), and which of them each class has."""
        axis, low, high = axes[column], self.low[:, column], self.high[:, column]
        if column in self.sets:
            number, first = _alike(self.sets[column].T, len(self))
            return number, axis.set_labels(self.sets[column][first])
        number, first = numbered((low.astype(np.int64) << 32 | high).view(np.uint64))
        return number, axis.labels(low[first], high[first])

    def count_inside(self, keys: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each class, how many of the counted points its cells contain."""
        total = np.zeros(len(self), dtype=np.int64)
        points, order, begin, end = self._near(keys)
        boxed = self.low, self.high, *self._packed(), total
        work = int((end - begin).sum())
        share_out(boxes.count_inside, len(self), work, points, begin, end, count[order], *boxed)
        return total

    def contains(self, keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each point (columns, points) the classes whose cells contain it: start, classes."""
        (points, order, begin, end), (sets, set_of) = self._near(keys), self._packed()
        found: tuple[NDArray[np.int64], NDArray[np.int64]] = boxes.locate(
            points, order, begin, end, self.low, self.high, sets, set_of
        )
        return found

    def _near(self, keys: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """The points in the order of the column on which cells are narrowest, their numbers, and
        the first and last of them that each class's cells could contain.
        """
        wide = (self.high - self.low + 1).mean(axis=0) if len(self) else np.zeros(len(keys))
        by = int((wide / (self.high.max(axis=0, initial=0) + 1)).argmin())
        order = np.argsort(keys[by], kind="stable")
        codes = keys[by][order].astype(np.int64)
        begin = np.searchsorted(codes, self.low[:, by], side="left")
        end = np.searchsorted(codes, self.high[:, by], side="right")
        return np.ascontiguousarray(keys[:, order], np.int32), order, begin, end

    def _packed(self) -> tuple[Bits, NDArray[np.int64]]:
        """All sets side by side, and where each column's begin (-1: the column has a range)."""
        begin = np.full(self.low.shape[1], -1, dtype=np.int64)
        words, parts = 0, [np.zeros((len(self), 0), dtype=np.uint64)]
        for column in sorted(self.sets):
            begin[column] = words
            words += self.sets[column].shape[1]
            parts.append(self.sets[column])
        return np.concatenate(parts, axis=1), begin


def meet(one: Cells, other: Cells) -> tuple[Cells, NDArray[np.bool_]]:
    """The cells that lie in both, row by row, and whether they are not empty in every column."""
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    filled = low <= high
    sets = {column: bits & other.sets[column] for column, bits in one.sets.items()}
    for column, bits in sets.items():
        filled[:, column] = bits.any(axis=1)
    return Cells(low, high, sets), np.asarray(filled.all(axis=1))


def _alike(
    columns: Iterable[NDArray[Any]], rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number rows alike that agree in every 64-bit column, and find each number's first."""
    number = np.zeros(rows, dtype=np.int32)
    first = np.zeros(min(1, rows), dtype=np.int64)
    for column in columns:
        values, _ = numbered(np.ascontiguousarray(column).view(np.uint64))
        number, first = numbered((number.astype(np.int64) * rows + values).view(np.uint64))
    return number, first


def publishable(
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
            bits[mixed] = everything(axis)
    low = np.stack([pair[0] for pair in covered], axis=1).astype(np.int32)
    high = np.stack([pair[1] for pair in covered], axis=1).astype(np.int32)
    return Cells(low, high, full)


def everything(axis: Axis) -> Bits:
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
    low, high = extents(keys, entry, class_, classes)
    sets = {
        j: members(keys[j], entry, class_, classes, axis.words)
        for j, axis in enumerate(axes)
        if axis.shape == "flat"
    }
    return publishable(axes, low, high, sets)
