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
def count_inside(first, last, keys, begin, end, count, low, high, sets, set_of, total):
    """Add to each box of ``first..last`` the count of the points inside it.

    Only the points ``begin[box]..end[box]`` can be.
    """
    for box in range(first, last):
        for point in range(begin[box], end[box]):
            if inside(keys, point, low, high, sets, set_of, box):
                total[box] += count[point]


@njit(cache=True)
def locate(keys, order, begin, end, low, high, sets, set_of):
    """For each point the boxes that hold it: start (points + 1), boxes ascending.

    Point ``i`` of ``keys`` is number ``order[i]`` in the answer.
    """
    start = np.zeros(keys.shape[1] + 1, dtype=np.int64)
    for box in range(len(low)):
        for point in range(begin[box], end[box]):
            if inside(keys, point, low, high, sets, set_of, box):
                start[order[point] + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    found = np.empty(start[-1], dtype=np.int64)
    for box in range(len(low)):
        for point in range(begin[box], end[box]):
            if inside(keys, point, low, high, sets, set_of, box):
                found[at[order[point]]] = box
                at[order[point]] += 1
    return start, found
