"""Which coalition can bring the entropy of one class below log l by taking its own rows away.

With x the counts that are left and |x| their sum, g(x) = |x| log l − |x| H(x) is convex and
homogeneous, and it is the largest of w · x over the weights w(s) = log(l π(s)) of all
distributions π, reached at π = x / |x|. So at the worst x the coalition keeps the values with
π(s) > 1 / l whole (fewer than l of them: the set K) and takes away all its rows of the others;
and taking away still more of the others, or adding members, never lowers g. For each K that can
be such a set the search picks members one after the other. It leaves a branch where even the most
that the members to come hold of each value, all at once, would leave g ≤ 0; and the sets that
begin with some values where a bound that adds up over the values is below 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit

HOLDS, FAILS, CLOSE = -1, 1, 0
SAFE, BROKEN, GIVEN_UP = 0, 1, 2
MAX_NODES = 1 << 20
"""After so many steps the search for one class gives up."""
TOLERANCE = 1e-9
GRID = 32


@njit(cache=True, nogil=True)
def search_worst_coalition(counts, max_members, l, min_values, members, close):
    """Search one class's counts (providers, values); providers in any order, values descending.

    ``min_values`` is l rounded up. Returns a state and how many rows of ``close`` are filled: the
    counts that are left, then members, where floats cannot tell if the entropy is below log l.
    """
    d = counts.shape[1]
    total = counts.sum(axis=0)
    reach = _reach(counts, max_members)
    gone = reach[0, max_members]
    keep, drop, rest = _bounds(total, total - gone, l)
    whole = np.zeros(d, dtype=np.bool_)
    stack = np.empty(d, dtype=np.int64)
    sums = np.zeros((d + 1, GRID))  # of the values decided so far, by depth
    depth, nodes, filled, s = 0, 0, 0, 0
    size = (total - gone).sum()  # the least that is left, K kept whole
    enough = -TOLERANCE * total.sum() * (1 + np.log(total.sum()))
    while True:
        nodes += 1
        if (
            s == d
            or l * total[s] < size * (1 - TOLERANCE)
            or (sums[depth] + rest[s]).min() < enough
        ):
            if depth == 0:  # no more value can be in K, or it would not help
                return SAFE, filled
            depth -= 1
            s = stack[depth]
            whole[s] = False
            size -= gone[s]
        elif l * total[s] >= (size + gone[s]) * (1 - TOLERANCE):
            stack[depth], whole[s] = s, True
            size += gone[s]
            sums[depth + 1] = sums[depth] + keep[s]
            depth += 1
            state, filled, nodes = _search_coalitions(
                counts,
                total,
                reach,
                whole,
                max_members,
                l,
                min_values,
                members,
                close,
                filled,
                nodes,
            )
            if state != SAFE:
                return state, filled
            s += 1
            continue
        sums[depth] += drop[s]
        s += 1


@njit(cache=True)
def _bounds(total, lowest, l):
    """What each value adds to a bound on g when it is kept, when not, and it and those after it.

    −|x| log |x| is concave, so below its tangent at each T, and with x log x = 0 for x = 0

        g(x) ≤ T + Σ x(s) (log(l x(s) / T) − 1),

    a sum over values. A grid of T from the least to the most that can be left; the smallest of
    the bounds counts.
    """
    d = len(total)
    keep, drop, rest = np.empty((d, GRID)), np.empty((d, GRID)), np.empty((d + 1, GRID))
    least, most = max(lowest.sum(), 1), total.sum()
    for i in range(GRID):
        size = least + (most - least) * i / (GRID - 1)
        rest[d, i] = size
        for s in range(d - 1, -1, -1):
            keep[s, i] = total[s] * (np.log(l * total[s] / size) - 1)
            drop[s, i] = 0.0
            if lowest[s] > 0:
                drop[s, i] = lowest[s] * (np.log(l * lowest[s] / size) - 1)
            rest[s, i] = rest[s + 1, i] + max(keep[s, i], drop[s, i])
    return keep, drop, rest


@njit(cache=True)
def _reach(counts, max_members):
    """(from, members, value): how many rows of a value so many later providers hold at most."""
    n, d = counts.shape
    reach = np.zeros((n + 1, max_members + 1, d), dtype=np.int64)
    top = np.zeros((d, max_members), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for s in range(d):
            c = counts[i, s]
            for j in range(max_members):
                if c > top[s, j]:
                    c, top[s, j] = top[s, j], c
                reach[i, j + 1, s] = reach[i, j, s] + top[s, j]
    return reach


@njit(cache=True)
def _search_coalitions(
    counts, total, reach, whole, max_members, l, min_values, members, close, filled, nodes
):
    """Search the coalitions for one K."""
    n, d = counts.shape
    taken = np.zeros((max_members + 1, d), dtype=np.int64)
    left = np.empty(d, dtype=np.int64)
    depth, i = 0, 0
    while True:
        nodes += 1
        if nodes > MAX_NODES:
            return GIVEN_UP, filled, nodes
        open_, verdict = i + max_members - depth <= n, HOLDS
        if open_:
            for s in range(d):
                gone = 0 if whole[s] else taken[depth, s] + reach[i, max_members - depth, s]
                left[s] = total[s] - gone
            verdict = _judge(left, l, min_values)
            open_ = verdict != HOLDS
        if open_ and depth < max_members:
            members[depth] = i
            taken[depth + 1] = taken[depth] + counts[i]
            depth += 1
            i += 1
            continue
        if open_ and verdict == FAILS:
            return BROKEN, filled, nodes
        if open_:
            if filled == len(close):
                return GIVEN_UP, filled, nodes
            close[filled, :d] = left
            close[filled, d:] = members
            filled += 1
        if depth == 0:
            return SAFE, filled, nodes
        depth -= 1
        i = members[depth] + 1


@njit(cache=True)
def _judge(left, l, min_values):
    """Whether the entropy of some counts is at least log l; even counts are decided exactly."""
    size = distinct = highest = np.int64(0)
    spread = 0.0
    for count in left:
        if count > 0:
            size += count
            distinct += 1
            highest = max(highest, count)
            spread += count * np.log(count)
    if highest * distinct == size:
        return HOLDS if distinct >= min_values else FAILS
    gap = spread - size * np.log(size / l)
    doubt = TOLERANCE * size * (1 + np.log(size))
    if abs(gap) <= doubt:
        return CLOSE
    return FAILS if gap > 0 else HOLDS
