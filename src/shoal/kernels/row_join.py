"""The values that classes of several releases leave together, where rows are joined by a column.

A class is in parts, one for each value of the column that rows are joined by. What is left is, of
every such value, what all of the classes have beside it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.bits import count_bits

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def intersect_joined_values(start, joined, values, combinations, l, left, narrowed):
    """What each combination leaves, and whether it exposes who is known to have the joined value.

    ``start[s, c]`` is where class ``c`` of side ``s`` begins among all parts, ``joined`` and
    ``values`` are the parts' own, ascending by ``joined`` within a class. A combination is a class
    of each side. Of each part of the last side ``narrowed`` becomes true where fewer than ``l``
    values are left beside its own joined value, and fewer than each of the parts has alone.
    """
    words = values.shape[1]
    common = np.empty(words, np.uint64)
    sides = combinations.shape[1]
    for number in range(len(combinations)):
        last = combinations[number, sides - 1]
        for part in range(start[sides - 1, last], start[sides - 1, last + 1]):
            own = 0
            for word in range(words):
                common[word] = values[part, word]
                own += count_bits(values[part, word])
            fewest, met = own, True
            for side in range(sides - 1):
                class_ = combinations[number, side]
                low, high = start[side, class_], start[side, class_ + 1]
                at = low + np.searchsorted(joined[low:high], joined[part])
                if at == high or joined[at] != joined[part]:
                    met = False
                    break
                own = 0
                for word in range(words):
                    common[word] &= values[at, word]
                    own += count_bits(values[at, word])
                fewest = min(fewest, own)
            if not met:
                continue
            number_left = 0
            for word in range(words):
                left[number, word] |= common[word]
                number_left += count_bits(common[word])
            if 0 < number_left < l and number_left < fewest:
                narrowed[part] = True
