"""Points and boxes: which points lie in which boxes of ranges and sets.

A box has a range ``low..high`` per column; a column whose ``set_of`` is not negative holds a set
instead, the bits ``sets[box, set_of[column] : ]`` over 64-bit words.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def inside(keys, point, low, high, sets, set_of, box):
    """Whether one point lies in one box."""
    for j in range(keys.shape[0]):
        code = keys[j, point]
        if code < 0:
            return False
        if set_of[j] >= 0:
            word = sets[box, set_of[j] + (code >> 6)]
            if not (word >> np.uint64(code & 63)) & np.uint64(1):
                return False
        elif code < low[box, j] or code > high[box, j]:
            return False
    return True


@njit(cache=True, nogil=True)
def count_inside(first, last, keys, count, low, high, sets, set_of, total):
    """Add to each box of ``first..last`` the count of the points inside it."""
    for box in range(first, last):
        for point in range(keys.shape[1]):
            if inside(keys, point, low, high, sets, set_of, box):
                total[box] += count[point]


@njit(cache=True)
def locate(keys, low, high, sets, set_of):
    """For each point the boxes that hold it: start (points + 1), boxes ascending."""
    start = np.zeros(keys.shape[1] + 1, dtype=np.int64)
    found = np.empty(max(16, keys.shape[1]), dtype=np.int64)
    n = 0
    for point in range(keys.shape[1]):
        for box in range(len(low)):
            if inside(keys, point, low, high, sets, set_of, box):
                if n == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                found[n] = box
                n += 1
        start[point + 1] = n
    return start, found[:n].copy()
