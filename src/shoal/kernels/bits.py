"""Sets as bits of 64-bit words."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def count_bits(word):
    """How many bits are set: added up in pairs, fours, eights, then all bytes at once."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    twos = np.uint64(0x3333333333333333)
    word = (word & twos) + ((word >> np.uint64(2)) & twos)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
