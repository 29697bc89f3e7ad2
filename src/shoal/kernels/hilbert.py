"""The Hilbert curve through a grid of any number of columns."""

from __future__ import annotations

import numpy as np
from numba import njit

WORD = 64


@njit(cache=True, nogil=True)
def hilbert_keys(grid, bits):
    """How far along the curve each point lies: (words, points) of 64 bits, the highest first.

    ``grid`` (columns, points) holds coordinates below 2^bits. J. Skilling, Programming the
    Hilbert curve, AIP Conference Proceedings 707, 2004.
    """
    columns, points = grid.shape
    keys = np.zeros(((columns * bits + WORD - 1) // WORD, points), dtype=np.uint64)
    at = np.empty(columns, dtype=np.int64)
    for i in range(points):
        at[:] = grid[:, i]
        _unfold(at, bits)
        place = len(keys) * WORD - columns * bits
        for level in range(bits - 1, -1, -1):
            for j in range(columns):
                bit = np.uint64((at[j] >> level) & 1)
                keys[place // WORD, i] |= bit << np.uint64(WORD - 1 - place % WORD)
                place += 1
    return keys


@njit(cache=True)
def _unfold(at, bits):
    """Turn and mirror coordinates so that their bits, level by level, are those of the key."""
    columns = len(at)
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for j in range(columns):
            if (at[j] >> level) & 1:
                at[0] ^= below
            else:
                swap = (at[0] ^ at[j]) & below
                at[0] ^= swap
                at[j] ^= swap
    for j in range(1, columns):
        at[j] ^= at[j - 1]
    mirror = 0
    for level in range(bits - 1, 0, -1):
        if (at[columns - 1] >> level) & 1:
            mirror ^= (1 << level) - 1
    for j in range(columns):
        at[j] ^= mirror
