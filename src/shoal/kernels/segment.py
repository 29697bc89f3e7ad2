"""Cut a sequence of people into segments at the least total cost: a dynamic programme."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.reach import SET, later, wide


@njit(cache=True, nogil=True)
def segmented(keys, reach, least, most):
    """Where the segments begin that cost least, each of ``least`` to ``most`` people; that cost.

    ``keys`` (columns, people) are the people in their order; a segment costs its people × the
    weighted width of its cells. With ``most`` ≥ 2 ``least`` − 1 any number of people from
    ``least`` on can be cut; fewer are one segment.
    """
    columns, people = keys.shape
    following = np.empty((columns, people), dtype=np.int32)
    for j in range(columns):
        if reach.kind[j] == SET:
            following[j] = later(keys[j], reach.size[j])
    total = np.full(people + 1, np.inf)
    total[0] = 0.0
    length = np.zeros(people + 1, dtype=np.int32)
    widths = np.empty(most + 1)
    for end in range(least, people + 1):
        longest = min(most, end)
        widths[:] = 0.0
        for j in range(columns):
            _widen(keys[j], following[j], reach, j, end, longest, widths)
        for n in range(least, longest + 1):
            cost = total[end - n] + n * widths[n]
            if cost < total[end]:
                total[end], length[end] = cost, n
    return _begins(length, people), total[people]


@njit(cache=True)
def _widen(codes, following, reach, column, end, longest, widths):
    """Add a column's width to that of each segment which ends here."""
    low = high = codes[end - 1]
    members, width, weight = 1, 0.0, reach.weight[column]
    is_set = reach.kind[column] == SET
    for n in range(2, longest + 1):
        code = codes[end - n]
        new = following[end - n] >= end if is_set else code < low or code > high
        if new:
            members += 1
            low, high = min(low, code), max(high, code)
            width = weight * wide(reach, column, low, high, members)
        widths[n] += width


@njit(cache=True)
def _begins(length, people):
    """The first person of each segment, ascending."""
    begins = np.empty(people + 1, dtype=np.int64)
    found, end = 0, people
    while end > 0:
        end -= length[end] if length[end] > 0 else end
        begins[found] = end
        found += 1
    return begins[:found][::-1].copy()
