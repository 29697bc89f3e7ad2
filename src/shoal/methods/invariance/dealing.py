"""Deal the rows of a table to buckets by their sensitive values, so that each can be split evenly.

A bucket has a signature, a set of at least m values, and as many rows of each of them. Rows can be
dealt exactly when they are m-eligible: no value has more than one m-th of them (Machanavajjhala et
al. 2007; X. Xiao and Y. Tao, m-invariance, SIGMOD 2007, phase 3, assignment).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Dealt = list[tuple[NDArray[np.int64], int]]
"""Buckets: the values of each, ascending, and how many rows of every one of them."""


def dealt(counts: NDArray[Any], m: int) -> Dealt:
    """Buckets that hold ``counts`` rows of each value, all of them; the rows are m-eligible.

    The m most frequent values go together, as many rows of each as leave an m-eligible rest. Where
    that is not one, the most frequent are more than m and equally many, and all go together.

    >>> [(values.tolist(), rows) for values, rows in dealt(np.array([3, 2, 1]), 2)]
    [([0, 1], 2), ([0, 2], 1)]
    """
    left, found = np.array(counts, np.int64), []
    while left.any():
        order = np.argsort(-left, kind="stable")
        after = int(left[order[m]]) if len(order) > m else 0
        rows = min(int(left[order[m - 1]]), int(left.sum()) // m - after)
        together = order[:m]
        if rows < 1:
            top = int(left.max())
            together = np.flatnonzero(left == top)
            rows = top - int(left[left < top].max(initial=0))
        left[together] -= rows
        found.append((np.sort(together), rows))
    return found


def most(counts: NDArray[Any], m: int) -> int:
    """How many rows of any one value can be dealt, if of more frequent ones some are left out.

    >>> most(np.array([9, 2, 1]), 2)
    3
    """
    high = int(np.sum(counts)) // m
    while int(np.minimum(counts, high).sum()) < m * high:
        high = int(np.minimum(counts, high).sum()) // m
    return high


def lacking(counts: NDArray[Any], m: int, known: NDArray[Any]) -> Whole:
    """Per value how many more rows would make these m-eligible: the fewest, of the known values.

    Values that occur already come first, then those that ``known`` counts most.

    >>> lacking(np.array([3, 1, 0]), 2, np.array([5, 4, 1])).tolist()
    [0, 2, 0]
    """
    top, more = int(np.max(counts, initial=0)), np.zeros(len(counts), np.int64)
    short = m * top - int(np.sum(counts))
    for value in np.lexsort((-known, -np.asarray(counts))).tolist():
        if known[value] > 0 or counts[value] > 0:
            more[value] = min(max(short, 0), top - int(counts[value]))
            short -= int(more[value])
    return more
