"""What all largest assignments have in common, when rows of one side seek rows of another.

Rows that nobody can tell apart are put together as twins; an assignment sends rows from twins to
twins along the given pairs, at most as many as there are. How many rows take a pair is the same in
all largest assignments exactly when no closed way of exchanges passes through it: in the residual
graph of any one of them, the pairs inside a strongly connected component can be used by some
assignment, the others by none, and of those that can the fixed ones are the bridges of the graph
that they make (Ahuja, Magnanti and Orlin: Network flows, 1993, for the residual graph; Dulmage and
Mendelsohn 1958 for the parts).

Pairs of the same twins that come to the same are a *bundle*, and get a node of their own between
the twins and their partners: how many rows take a bundle is then a question about one edge too.
Twins of either side have bundles; which side is looked from is for the caller to choose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from shoal.kernels.group import combinations

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Nodes = NDArray[np.int32]


class Assigned(NamedTuple):
    """One largest assignment, and what others may change; pairs in the order they were given."""

    rows: Ints
    """How many rows take each pair."""
    possible: Flags
    """Whether some largest assignment uses the pair."""
    loose: tuple[Flags, Flags]
    """Of each side's twins: whether an exchange may leave rows of them out, or take them in."""


def assign(one: Ints, other: Ints, start: Ints, others: Ints) -> Assigned:
    """Assign as many rows as possible, and tell which pairs could be used.

    ``one`` and ``other`` count the rows of each side's twins; twins ``i`` may go to the twins
    ``others[start[i]:start[i+1]]``, all different.

    >>> two = assign(np.array([1, 1]), np.array([1, 1]), np.array([0, 1, 3]), np.array([0, 0, 1]))
    >>> two.possible.tolist()  # the first has one partner, so that the second must take the other
    [True, False, True]
    """
    m, n, pairs = len(one), len(other), len(others)
    from_ = np.empty(pairs + m + n, np.int32)
    to = np.empty(pairs + m + n, np.int32)
    from_[:pairs], to[:pairs] = np.repeat(np.arange(m, dtype=np.int32), np.diff(start)), others
    to[:pairs] += m
    from_[pairs:], to[pairs:] = m + n, m + n + 1
    to[pairs : pairs + m], from_[pairs + m :] = np.arange(m), np.arange(m, m + n)
    room = np.concatenate([np.minimum(one[from_[:pairs]], other[others]), one, other])
    flow = _largest(from_, to, room.astype(np.int32), m + n + 2)
    spare = flow < room
    spare[:pairs] = True  # a pair itself has no limit, only its two twins have
    part = _components(from_, to, spare, flow > 0, m + n + 2)
    open_ = part[from_] == part[to]
    loose = open_[pairs : pairs + m], open_[pairs + m :]
    return Assigned(flow[:pairs].astype(np.int64), open_[:pairs], loose)


class Pairs(NamedTuple):
    """Pairs that some largest assignment uses, seen from one side; a column of each."""

    twins: Ints
    partner: Ints
    """Twins of the other side."""
    cell: Ints
    """What the pair comes to, by number: alike where it comes to the same."""
    rows: Ints
    """How many rows take it in one largest assignment."""
    size: Ints
    """The smaller of the classes that its rows are in."""


class Bundles(NamedTuple):
    """Pairs of the same twins that come to the same, put together."""

    twins: Ints
    partner: Ints
    """The first of their partners."""
    cell: Ints
    rows: Ints
    """How many rows take them in one largest assignment."""
    size: Ints
    """The smallest class that the rows may be in."""
    sole: Flags
    """Whether they are one pair only."""

    def take(self, which: Flags | Ints) -> Bundles:
        """Some of the bundles."""
        return Bundles._make(column[which] for column in self)


def bundled(pairs: Pairs, loose: tuple[Flags, Flags]) -> tuple[Bundles, Bundles]:
    """The bundles that as many rows take in all largest assignments, and the others.

    ``loose`` as in ``Assigned``, the side that the pairs are seen from first.

    >>> rows, other = np.array([1, 1]), np.array([0, 1, 0, 1])
    >>> two = assign(rows, rows, np.array([0, 2, 4]), other)
    >>> pairs = Pairs(np.array([0, 0, 1, 1]), other, np.array([0, 1, 2, 2]), two.rows, two.rows)
    >>> same, open_ = bundled(pairs, two.loose)
    >>> same.twins.tolist(), open_.twins.tolist()  # the second's pairs come to the same
    ([1], [0, 0])
    """
    sizes = [int(column.max(initial=0)) + 1 for column in (pairs.twins, pairs.cell)]
    number, first = combinations((pairs.twins, pairs.cell), sizes)
    bundle = number.astype(np.int64)
    size = pairs.size[first]
    np.minimum.at(size, bundle, pairs.size)
    rows = np.bincount(bundle, pairs.rows, len(first)).astype(np.int64)
    sole = np.bincount(bundle, minlength=len(first)) == 1
    twins, partner, cell = (column[first] for column in pairs[:3])
    made = Bundles(twins, partner, cell, rows, size, sole)
    same = _fixed(pairs, bundle, twins, loose)
    return made.take(same), made.take(~same)


def _fixed(pairs: Pairs, bundle: Ints, owner: Ints, loose: tuple[Flags, Flags]) -> Flags:
    """Of each bundle whether its edge, from the twins that own it, is a bridge."""
    m, n = map(len, loose)
    first, end = m + n, m + n + len(owner)
    free = [np.flatnonzero(side) for side in loose]
    tail = np.concatenate([owner, first + bundle, np.full(len(free[0]), end), m + free[1]])
    head = np.concatenate(
        [np.arange(first, end), m + pairs.partner, free[0], np.full(len(free[1]), end + 1)]
    )
    return bridges(tail, head, end + 2)[: len(owner)]


def _largest(from_: Nodes, to: Nodes, room: Nodes, nodes: int) -> Nodes:
    """One largest flow from the last node but one to the last: how much each edge carries."""
    limits = csr_array((room, (from_, to)), (nodes, nodes))
    flow = maximum_flow(limits, nodes - 2, nodes - 1).flow
    return np.asarray(flow[from_, to]).ravel()


def _components(from_: Nodes, to: Nodes, ahead: Flags, back: Flags, nodes: int) -> Nodes:
    """Each node's strongly connected component, where edges go ahead, back, or both ways."""
    tail = np.concatenate([from_[ahead], to[back]])
    head = np.concatenate([to[ahead], from_[back]])
    graph = csr_array((np.ones(len(tail), np.int8), (tail, head)), (nodes, nodes))
    return np.asarray(connected_components(graph, connection="strong")[1])


def bridges(one: Ints, other: Ints, nodes: int) -> Flags:
    """Which edges of an undirected graph lie on no cycle; no two edges have the same ends.

    >>> bridges(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4).tolist()
    [False, False, False, True]
    """
    start, near, edge = _adjacent(one, other, nodes)
    found: Flags = _bridges(start, near, edge, len(one))
    return found


@njit(cache=True, nogil=True)
def _adjacent(one, other, nodes):
    """Of each node the nodes beside it and the edges there: start (nodes + 1), nodes, edges."""
    start = np.zeros(nodes + 1, dtype=np.int64)
    for e in range(len(one)):
        start[one[e] + 1] += 1
        start[other[e] + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    near = np.empty(2 * len(one), dtype=np.int64)
    edge = np.empty(2 * len(one), dtype=np.int64)
    for e in range(len(one)):
        for a, b in ((one[e], other[e]), (other[e], one[e])):
            near[at[a]], edge[at[a]] = b, e
            at[a] += 1
    return start, near, edge


@njit(cache=True, nogil=True)
def _bridges(start, near, edge, edges):
    """Tarjan 1974: walk down first; an edge is a bridge if nothing below it leads around it."""
    nodes = len(start) - 1
    at = start[:-1].copy()
    seen = np.full(nodes, -1, dtype=np.int64)
    low = np.empty(nodes, dtype=np.int64)
    via = np.full(nodes, -1, dtype=np.int64)
    above = np.full(nodes, -1, dtype=np.int64)
    bridge = np.zeros(edges, dtype=np.bool_)
    time = 0
    for root in range(nodes):
        node = root if seen[root] < 0 else -1
        while node >= 0:
            if seen[node] < 0:
                seen[node] = low[node] = time
                time += 1
            if at[node] < start[node + 1]:
                k = at[node]
                at[node] += 1
                if seen[near[k]] < 0:
                    via[near[k]], above[near[k]] = edge[k], node
                    node = near[k]
                elif edge[k] != via[node]:
                    low[node] = min(low[node], seen[near[k]])
            else:
                up = above[node]
                if up >= 0:
                    low[up] = min(low[up], low[node])
                    bridge[via[node]] = low[node] > seen[up]
                node = up
    return bridge
