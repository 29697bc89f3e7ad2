"""What several measures count: the rows of classes, before and after, and the leaves of sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    if not tally.entries:
        return np.zeros(0, dtype=np.int64)
    key, domain = np.zeros(tally.entries, dtype=np.int64), 1
    for axis, codes in zip(tally.quasi, tally.keys, strict=True):
        if domain * axis.size >= 1 << 62:  # number what occurs, so that the product fits again
            present, key = np.unique(key, return_inverse=True)
            domain = len(present)
        key, domain = key * axis.size + codes, domain * axis.size
    order = np.argsort(key)
    key = key[order]
    start = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return np.add.reduceat(tally.count[order], start)


def members(bits: NDArray[np.uint64]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The sets' members block by block: (set, code) pairs, ascending."""
    step = max(1, BLOCK // max(1, bits.shape[1] * 64))
    for begin in range(0, len(bits), step):
        block = np.ascontiguousarray(bits[begin : begin + step]).astype("<u8")
        row, code = np.nonzero(np.unpackbits(block.view(np.uint8), axis=1, bitorder="little"))
        yield row + begin, code
