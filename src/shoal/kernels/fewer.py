"""How likely fewer than so many of a group's independent events happen (Poisson binomial).

f[j], the chance that j events happened so far, becomes f[j] (1 − p) + f[j − 1] p with every
event. What reaches ``need`` can only stay there, so it is not kept: the sum of the others is the
answer, and it is added up from small chances without cancellation.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fewer(start, chance, left_out, need):
    """Per group the chance that fewer than ``need`` of its events happen; 0 where need ≤ 0.

    Group i has the events ``chance[start[i]:start[i + 1]]`` but the one at index ``left_out[i]``
    of ``chance`` (−1: none is left out).

    >>> fewer(np.array([0, 2, 3]), np.array([0.5, 0.5, 0.5]), np.array([-1, 2]), 1)
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
def likeliest(start, chance):
    """Per group the index of its largest chance, the first of equals; −1 for an empty group."""
    out = np.full(len(start) - 1, -1, np.int64)
    for i in range(len(out)):
        best = -np.inf
        for e in range(start[i], start[i + 1]):
            if chance[e] > best:
                best = chance[e]
                out[i] = e
    return out
