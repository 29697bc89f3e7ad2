"""Which pairs all largest assignments have in common, when kinds of one side seek kinds of another.

Each kind stands for many rows; an assignment sends rows along the given pairs, at most as many as
each kind has. How many rows take a pair is the same in all largest assignments exactly when no
closed way of exchanges passes through it: in the residual graph of any one of them, the pairs
inside a strongly connected component can be used by some assignment, the others by none, and of
those that can the fixed ones are the bridges of the graph that they make (Ahuja, Magnanti and
Orlin: Network flows, 1993, for the residual graph; Dulmage and Mendelsohn 1958 for the parts).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Forced(NamedTuple):
    """What largest assignments have in common; pairs and kinds in the order they were given."""

    possible: Flags
    """Whether some largest assignment uses the pair."""
    fixed: Flags
    """Whether as many rows take the pair in all of them."""
    rows: Ints
    """How many rows take the pair in one of them."""
    whole: Flags
    """Of each kind of the first side: whether all its rows are assigned in all of them."""


def forced(one: Ints, other: Ints, start: Ints, others: Ints) -> Forced:
    """Assign as many rows as possible, and tell what could not be otherwise.

    ``one`` and ``other`` count the rows of each side's kinds; kind ``i`` may go to the kinds
    ``others[start[i]:start[i+1]]``, all different.

    >>> two = forced(np.array([1, 1]), np.array([1, 1]), np.array([0, 1, 3]), np.array([0, 0, 1]))
    >>> two.possible.tolist()  # the first has one partner, so that the second must take the other
    [True, False, True]
    """
    m, n, pairs = len(one), len(other), len(others)
    from_ = np.concatenate([np.repeat(np.arange(m), np.diff(start)), np.full(m, m + n),
                            np.arange(m, m + n)])  # fmt: skip
    to = np.concatenate([others + m, np.arange(m), np.full(n, m + n + 1)])
    room = np.concatenate([np.minimum(one[from_[:pairs]], other[others]), one, other])
    flow = _largest(from_, to, room, m + n + 2)
    spare = flow < room
    spare[:pairs] = True  # a pair itself has no limit, only its two kinds have
    part = _components(from_, to, spare, flow > 0, m + n + 2)
    open_ = part[from_] == part[to]
    fixed = ~open_
    fixed[open_] = bridges(from_[open_], to[open_], m + n + 2)
    whole = fixed & (flow == room)
    return Forced(open_[:pairs], fixed[:pairs], flow[:pairs], whole[pairs : pairs + m])


def _largest(from_: Ints, to: Ints, room: Ints, nodes: int) -> Ints:
    """One largest flow from the last node but one to the last: how much each edge carries."""
    limits = csr_array(
        (room.astype(np.int32), (from_.astype(np.int32), to.astype(np.int32))), (nodes, nodes)
    )
    flow = maximum_flow(limits, nodes - 2, nodes - 1).flow
    return np.asarray(flow[from_, to]).astype(np.int64).ravel()


def _components(from_: Ints, to: Ints, ahead: Flags, back: Flags, nodes: int) -> Ints:
    """Each node's strongly connected component, where edges go ahead, back, or both ways."""
    tail = np.concatenate([from_[ahead], to[back]])
    head = np.concatenate([to[ahead], from_[back]])
    graph = csr_array((np.ones(len(tail), np.int8), (tail, head)), (nodes, nodes))
    return np.asarray(connected_components(graph, connection="strong")[1], np.int64)


def bridges(one: Ints, other: Ints, nodes: int) -> Flags:
    """Which edges of an undirected graph lie on no cycle; no two edges have the same ends.

    >>> bridges(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4).tolist()
    [False, False, False, True]
    """
    start, near, edge = _adjacent(one, other, nodes)
    found: Flags = _bridges(start, near, edge, len(one))
    return found


@njit(cache=True)
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


@njit(cache=True)
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
