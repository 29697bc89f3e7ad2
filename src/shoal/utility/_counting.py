"""What several measures count: rows of classes, before and after, leaves of sets, cells' levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.kernels.group import combinations
from shoal.tally import Cut, Tally

BLOCK = 1 << 26
"""How many bits of sets are unpacked at once."""


def rows_after(cut: Cut) -> NDArray[np.int64]:
    """Rows of each published class."""
    kept = cut.class_ >= 0
    rows = np.bincount(cut.class_[kept], weights=cut.count[kept], minlength=cut.classes)
    return rows.astype(np.int64)


def rows_before(tally: Tally) -> NDArray[np.int64]:
    """Rows of each class of the untouched table: of each distinct key."""
    number, first = combinations(tally.keys, [axis.size for axis in tally.quasi])
    rows = np.bincount(number, weights=tally.count, minlength=len(first))
    return rows[rows > 0].astype(np.int64)


def members(bits: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The sets' members block by block: (set, code) pairs, ascending."""
    step = max(1, BLOCK // max(1, bits.shape[1] * 64))
    for begin in range(0, len(bits), step):
        block = np.ascontiguousarray(bits[begin : begin + step]).astype("<u8")
        row, code = np.nonzero(np.unpackbits(block.view(np.uint8), axis=1, bitorder="little"))
        yield row + begin, code


def levels(axis: Axis, cells: Cells, column: int) -> tuple[NDArray[np.int64], int]:
    """The lowest level of the column's hierarchy that has a node around each cell, and the highest.

    0 is a leaf, 1 the finest level, and one above the coarsest is ``*``, which alone holds null
    and anything else. The highest is the lowest level that is all of the column: 0 where it has a
    single leaf.
    """
    sets, last = cells.sets.get(column), np.array([axis.size - 1])
    if sets is None:
        found = _around(axis, cells.low[:, column], cells.high[:, column])
    else:  # a flat column has no level between
        several = np.bitwise_count(sets).sum(axis=1) > 1
        found = several.astype(np.int64)
    return found, int(_around(axis, np.zeros_like(last), last)[0]) if axis.size else 0


def _around(axis: Axis, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.int64]:
    """The lowest level with a node around each range of codes."""
    found = np.full(len(low), len(axis.levels) + 1)
    for number, level in reversed(list(enumerate(axis.levels, 1))):
        starts = np.append(level.starts, axis.null_code) if axis.null else level.starts
        first, last = (np.searchsorted(starts, end, side="right") for end in (low, high))
        found[first == last] = number
    found[low == high] = 0
    return found
