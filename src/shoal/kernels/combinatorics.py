"""Counting what could be: arrays of counts with given sums, and sums of independent events.

``iterate_fillings`` has every array of counts with given sums of rows and of columns, and
``count_fillings`` how many there are.

``compute_chance_of_fewer`` is how likely fewer than so many of a group's independent events happen
(Poisson binomial). f[j], the chance that j events happened so far, becomes
f[j] (1 − p) + f[j − 1] p with every event. What reaches ``need`` can only stay there, so it is not
kept: the sum of the others is the answer, added up from small chances without cancellation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit

Counts = tuple[int, ...]

MAX_SIDE = 100
"""Arrays with more rows or columns are not counted: there would be too many of them."""


def iterate_fillings(rows: Sequence[int], columns: Counts) -> Iterator[tuple[Counts, ...]]:
    """Every array of counts with these sums of rows and columns.

    >>> list(iterate_fillings([1, 1], (1, 1)))
    [((0, 1), (1, 0)), ((1, 0), (0, 1))]
    """
    if not rows:
        yield ()
        return
    for row in _rows(columns, rows[0]):
        for rest in iterate_fillings(rows[1:], _minus(columns, row)):
            yield row, *rest


def count_fillings(rows: Sequence[int], columns: Counts, limit: int) -> int:
    """How many such arrays there are; ``limit`` + 1 where they are more than ``limit``.

    >>> count_fillings([1, 1, 1], (2, 1), 10), count_fillings([1, 1, 1], (2, 1), 2)
    (3, 3)
    """
    if max(len(rows), len(columns)) > MAX_SIDE:
        return limit + 1
    ways, total = {columns: 1}, 1  # by the columns' sums that are left
    for size in rows:
        after: dict[Counts, int] = defaultdict(int)
        total = 0
        for left, number in ways.items():
            for row in _rows(left, size):
                after[_minus(left, row)] += number
                total += number
                if total > limit:  # each of them can be completed
                    return limit + 1
        ways = after
    return total


def _rows(columns: Counts, size: int) -> Iterator[Counts]:
    """Every row of this sum whose counts are at most the columns' sums."""
    if not columns:
        yield ()
        return
    first, *rest = columns
    for number in range(max(0, size - sum(rest)), min(first, size) + 1):
        for others in _rows(tuple(rest), size - number):
            yield number, *others


def _minus(columns: Counts, row: Counts) -> Counts:
    return tuple(a - b for a, b in zip(columns, row, strict=True))


@njit(cache=True, nogil=True)
def compute_chance_of_fewer(start, chance, left_out, need):
    """Per group the chance that fewer than ``need`` of its events happen; 0 where need ≤ 0.

    Group i has the events ``chance[start[i]:start[i + 1]]`` but the one at index ``left_out[i]``
    of ``chance`` (−1: none is left out).

    >>> chances, left_out = np.array([0.5, 0.5, 0.5]), np.array([-1, 2])
    >>> compute_chance_of_fewer(np.array([0, 2, 3]), chances, left_out, 1)
    array([0.25, 1.  ])
    """
    groups = len(start) - 1
    out = np.zeros(groups)
    if need <= 0:
        return out
    f = np.empty(need)
    for i in range(groups):
        f[:] = 0.0
        f[0] = 1.0
        for e in range(start[i], start[i + 1]):
            if e != left_out[i]:
                p = chance[e]
                for j in range(need - 1, 0, -1):
                    f[j] = f[j] * (1.0 - p) + f[j - 1] * p
                f[0] *= 1.0 - p
        out[i] = f.sum()
    return out


@njit(cache=True, nogil=True)
def find_likeliest_event(start, chance):
    """Per group the index of its largest chance, the first of equals; −1 for an empty group."""
    out = np.full(len(start) - 1, -1, np.int64)
    for i in range(len(out)):
        best = -np.inf
        for e in range(start[i], start[i + 1]):
            if chance[e] > best:
                best = chance[e]
                out[i] = e
    return out
