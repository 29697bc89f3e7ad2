"""What several measures count: the rows of classes, before and after, and the leaves of sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
