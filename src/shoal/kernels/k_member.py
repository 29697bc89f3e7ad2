"""Gather the points of each block into clusters by greedy k-member, then move some of them.

A block's points have *local* codes: the values that occur in it, numbered column after column, so
that one table holds what a cluster's cells would cost with any one more value, and what a point
would cost is a sum over the columns of what the table holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.cell_width import SET, measure_width

ROUNDS = 2
"""How often all points of a block are looked at once more."""
SLACK = 1e-12
"""A move must gain more than sums of widths can be wrong by."""


class PointBlock(NamedTuple):
    """The points of a block."""

    code: NDArray[Any]
    """(points, columns)"""
    local: NDArray[Any]
    """(points, columns) the numbers of their values among those of the block"""
    value: NDArray[Any]
    """(values) the code of each"""
    at: NDArray[Any]
    """(columns + 1) where a column's values begin"""
    people: NDArray[Any]
    """(points) how many people are at each"""


class ClusterCells(NamedTuple):
    """Clusters and their cells; the first ``number[0]`` rows are in use."""

    number: NDArray[Any]
    size: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    """(clusters, columns)"""
    members: NDArray[Any]
    """(clusters, columns) how many values of a column it has"""
    holders: NDArray[Any]
    """(clusters, values) how many of its points have each value"""
    lost: NDArray[Any]
    """(clusters) the widths of its cells, weighted"""


@njit(cache=True, nogil=True)
def cluster_blocks(first, last, keys, count, start, stop, min_people, reach, of, clusters):
    """Cluster the points ``start[b]..stop[b]`` of each block: at least ``min_people`` in each.

    Fills ``of`` with each point's cluster, numbered from 0 in each block so that neighbours are
    alike, and ``clusters`` with how many there are. A block of fewer people is one cluster.
    """
    for b in range(first, last):
        a, z = start[b], stop[b]
        block = _block(keys[:, a:z], count[a:z])
        cells = _clusters(block, _room(block, min_people))
        _form(reach, block, min_people, cells, of[a:z])
        for _ in range(ROUNDS):
            if not _improve(reach, block, min_people, cells, of[a:z]):
                break
        clusters[b] = cells.number[0]
        _line_up(reach, block, cells, of[a:z])


@njit(cache=True)
def _block(keys, count):
    columns, points = keys.shape
    code = np.empty((points, columns), np.int64)
    local = np.empty((points, columns), np.int64)
    value = np.empty(points * columns, np.int64)
    at = np.zeros(columns + 1, np.int64)
    for i in range(columns):
        code[:, i] = keys[i]
        values = np.unique(code[:, i])
        local[:, i] = np.searchsorted(values, code[:, i]) + at[i]
        at[i + 1] = at[i] + len(values)
        value[at[i] : at[i + 1]] = values
    return PointBlock(code, local, value[: at[columns]].copy(), at, count)


@njit(cache=True)
def _room(block, min_people):
    """How many clusters of at least so many people there can be."""
    large = np.int64(1)
    for people in block.people:
        large += people >= min_people
    return min(len(block.people), large + block.people.sum() // min_people)


@njit(cache=True)
def _clusters(block, room):
    shape = (room, block.code.shape[1])
    return ClusterCells(
        np.zeros(1, np.int64),
        np.zeros(room, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros((room, len(block.value)), np.int32),
        np.zeros(room),
    )


@njit(cache=True)
def _open(cells):
    """A new cluster without points."""
    c = cells.number[0]
    cells.number[0] += 1
    cells.low[c], cells.high[c] = 2**31 - 1, -1
    return c


@njit(cache=True)
def _loss(reach, cells, c):
    """The widths of a cluster's cells."""
    lost = 0.0
    for i in range(cells.low.shape[1]):
        width = measure_width(reach, i, cells.low[c, i], cells.high[c, i], cells.members[c, i])
        lost += reach.weight[i] * width
    return lost


@njit(cache=True)
def _put(reach, block, cells, c, p):
    """Put a point into a cluster."""
    cells.size[c] += block.people[p]
    for i in range(block.code.shape[1]):
        code, u = block.code[p, i], block.local[p, i]
        cells.low[c, i] = min(cells.low[c, i], code)
        cells.high[c, i] = max(cells.high[c, i], code)
        cells.members[c, i] += cells.holders[c, u] == 0
        cells.holders[c, u] += 1
    cells.lost[c] = _loss(reach, cells, c)


@njit(cache=True)
def _take(reach, block, cells, c, p):
    """Take a point out of a cluster."""
    cells.size[c] -= block.people[p]
    for i in range(block.code.shape[1]):
        u = block.local[p, i]
        cells.holders[c, u] -= 1
        if cells.holders[c, u] == 0:
            cells.members[c, i] -= 1
            low, high = block.at[i], block.at[i + 1] - 1
            while low < high and cells.holders[c, low] == 0:
                low += 1
            while high > low and cells.holders[c, high] == 0:
                high -= 1
            cells.low[c, i], cells.high[c, i] = block.value[low], block.value[high]
    cells.lost[c] = _loss(reach, cells, c)


@njit(cache=True)
def _more(reach, block, cells, c, p, limit):
    """How much more is lost, people times widths, with a point in a cluster: ``limit`` at most."""
    size = cells.size[c]
    after, already = size + block.people[p], size * cells.lost[c]
    if block.people[p] * cells.lost[c] >= limit:
        return limit
    lost = 0.0
    for i in range(cells.low.shape[1]):
        code = block.code[p, i]
        low, high = min(cells.low[c, i], code), max(cells.high[c, i], code)
        members = cells.members[c, i] + (cells.holders[c, block.local[p, i]] == 0)
        lost += reach.weight[i] * measure_width(reach, i, low, high, members)
        if after * lost - already >= limit:
            return limit
    return after * lost - already


@njit(cache=True)
def _tabulate(reach, block, cells, c, table):
    """What each column of a cluster's cells would cost with any one more value."""
    for i in range(cells.low.shape[1]):
        low, high, members = cells.low[c, i], cells.high[c, i], cells.members[c, i]
        for u in range(block.at[i], block.at[i + 1]):
            code = block.value[u]
            more = members + (cells.holders[c, u] == 0)
            width = measure_width(reach, i, min(low, code), max(high, code), more)
            table[u] = reach.weight[i] * width


@njit(cache=True)
def _extreme(table, local, live, sign):
    """Where in ``live`` the point is that costs least (``sign`` 1) or most (-1)."""
    best, where = np.inf, 0
    for q in range(len(live)):
        lost = 0.0
        for u in local[live[q]]:
            lost += table[u]
        if sign * lost < best:
            best, where = sign * lost, q
    return where


@njit(cache=True)
def _form(reach, block, min_people, cells, of):
    """Greedy k-member: a cluster grows from the point least like the last one's first.

    Points of ``min_people`` people or more are clusters by themselves. What is left of fewer people
    goes to the clusters where it costs least.
    """
    points = len(block.people)
    live, people = np.empty(points, np.int64), np.int64(0)
    n = 0
    for p in range(points):
        if block.people[p] >= min_people:
            of[p] = _open(cells)
            _put(reach, block, cells, of[p], p)
        else:
            live[n] = p
            n += 1
            people += block.people[p]
    table = np.zeros(len(block.value))
    while n > 0 and (people >= min_people or cells.number[0] == 0):
        c, at = _open(cells), _extreme(table, block.local, live[:n], -1)
        while n > 0:
            p = live[at]
            n -= 1
            live[at] = live[n]
            of[p] = c
            people -= block.people[p]
            _put(reach, block, cells, c, p)
            if cells.size[c] >= min_people:
                break
            _tabulate(reach, block, cells, c, table)
            at = _extreme(table, block.local, live[:n], 1)
    for p in live[:n]:
        of[p] = _cheapest(reach, block, cells, p, -1, np.inf)
        _put(reach, block, cells, of[p], p)


@njit(cache=True)
def _cheapest(reach, block, cells, p, but, limit):
    """The cluster (``but`` one) where a point costs least, and less than ``limit``; -1: nowhere."""
    where = -1
    for c in range(cells.number[0]):
        if c != but:
            more = _more(reach, block, cells, c, p, limit)
            if more < limit:
                limit, where = more, c
    return where


@njit(cache=True)
def _improve(reach, block, min_people, cells, of):
    """Move points out of clusters that can spare them to where less is lost; returns how many."""
    moved = 0
    for p in range(len(of)):
        c = of[p]
        if cells.size[c] - block.people[p] < min_people:
            continue
        before = cells.size[c] * cells.lost[c]
        _take(reach, block, cells, c, p)
        gain = before - cells.size[c] * cells.lost[c] - SLACK
        to = _cheapest(reach, block, cells, p, c, gain) if gain > 0 else -1
        if to >= 0:
            of[p] = to
            moved += 1
        _put(reach, block, cells, of[p], p)
    return moved


@njit(cache=True)
def _line_up(reach, block, cells, of):
    """Number the clusters anew, each followed by the one whose first point costs it least."""
    n = cells.number[0]
    left, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    for p in range(len(of) - 1, -1, -1):
        left[of[p]] = p
    table = np.zeros(len(block.value))
    at = 0
    for number in range(n):
        c, left[at] = of[left[at]], left[n - number - 1]
        rank[c] = number
        if number < n - 1:
            _tabulate(reach, block, cells, c, table)
            at = _extreme(table, block.local, left[: n - number - 1], 1)
    for p in range(len(of)):
        of[p] = rank[of[p]]


@njit(cache=True, nogil=True)
def join_bad_clusters(first, last, keys, count, start, stop, reach, before, bad, of, clusters):
    """Join each bad cluster with the one of its block for which the least more is lost.

    The clusters of block b are ``before[b]..before[b] + clusters[b]`` in ``bad``; ``of`` and
    ``clusters`` are made anew. One that has been joined is not joined again in the same turn.
    """
    for b in range(first, last):
        a, z, n = start[b], stop[b], clusters[b]
        worse = bad[before[b] : before[b] + n]
        if n < 2 or not worse.any():
            continue
        block = _block(keys[:, a:z], count[a:z])
        cells = _clusters(block, n)
        for _ in range(n):
            _open(cells)
        for p in range(z - a):
            _put(reach, block, cells, of[a + p], p)
        into = _pairs(reach, block, cells, worse)
        renumbered = (
            np.cumsum(into == np.arange(n)) - 1
        )  # who is joined to another is never joined to
        for p in range(a, z):
            of[p] = renumbered[into[of[p]]]
        clusters[b] = renumbered[-1] + 1


@njit(cache=True)
def _pairs(reach, block, cells, bad):
    """For each cluster the one that it becomes a part of, or itself."""
    into = np.arange(len(bad))
    free = np.ones(len(bad), np.bool_)
    for c in np.flatnonzero(bad):
        best, where = np.inf, -1
        for e in range(len(bad)):
            if free[c] and free[e] and c != e:
                more = _joint(reach, block, cells, c, e, best)
                if more < best:
                    best, where = more, e
        if where >= 0:
            into[c] = where
            free[c] = free[where] = False
    return into


@njit(cache=True)
def _joint(reach, block, cells, c, e, limit):
    """How much more is lost, people times widths, with two clusters as one: ``limit`` at most."""
    size = cells.size[c] + cells.size[e]
    already = cells.size[c] * cells.lost[c] + cells.size[e] * cells.lost[e]
    lost = 0.0
    for i in range(cells.low.shape[1]):
        low, high = min(cells.low[c, i], cells.low[e, i]), max(cells.high[c, i], cells.high[e, i])
        members = 0
        if reach.kind[i] == SET:
            for u in range(block.at[i], block.at[i + 1]):
                members += cells.holders[c, u] + cells.holders[e, u] > 0
        lost += reach.weight[i] * measure_width(reach, i, low, high, members)
        if size * lost - already >= limit:
            return limit
    return size * lost - already
