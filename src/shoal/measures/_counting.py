"""Counts that several measures share: rows of classes, members of sets, levels of cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Tally
from shoal.kernels.grouping import number_combinations

BLOCK = 1 << 26
"""How many bits of sets are unpacked at once."""


def count_published_rows(cut: Cut) -> NDArray[np.int64]:
    """Rows of each published class."""
    is_published = cut.class_ >= 0
    rows = np.bincount(
        cut.class_[is_published], weights=cut.count[is_published], minlength=cut.classes
    )
    return rows.astype(np.int64)


def count_original_rows(tally: Tally) -> NDArray[np.int64]:
    """Rows of each class of the untouched table: of each distinct key."""
    number, first = number_combinations(tally.keys, [axis.size for axis in tally.quasi])
    rows = np.bincount(number, weights=tally.count, minlength=len(first))
    return rows[rows > 0].astype(np.int64)


def unpack_members(bits: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The sets' members block by block: (set, code) pairs, ascending."""
    step = max(1, BLOCK // max(1, bits.shape[1] * 64))
    for begin in range(0, len(bits), step):
        block = np.ascontiguousarray(bits[begin : begin + step]).astype("<u8")
        row, code = np.nonzero(np.unpackbits(block.view(np.uint8), axis=1, bitorder="little"))
        yield row + begin, code


def find_levels(axis: Axis, cells: Cells, column: int) -> tuple[NDArray[np.int64], int]:
    """The lowest level of the column's hierarchy that has a node around each cell, and the highest.

    0 is a leaf, 1 the finest level, and one above the coarsest is ``*``, which alone holds null
    and anything else. A cell that is printed with the label of a higher level is on that one. The
    highest is ``*``, however few levels join anything: 0 where the column has a single leaf.
    """
    sets = cells.sets.get(column)
    if sets is None:
        lowest = axis.level_of(cells.low[:, column], cells.high[:, column])
        level_of = np.maximum(lowest, cells.level(column))
    else:  # a flat column has no level between
        several = np.bitwise_count(sets).sum(axis=1) > 1
        level_of = several.astype(np.int64)
    return level_of, axis.height
