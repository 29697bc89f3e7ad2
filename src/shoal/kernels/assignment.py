"""What all largest assignments have in common, when rows of one side seek rows of another.

Rows that nobody can tell apart are put together as *twins*; an assignment sends rows from twins to
twins along the given pairs, at most as many as there are. How many rows take a pair is the same in
all largest assignments exactly when no closed way of exchanges passes through it: in the residual
graph of any one of them, the pairs inside a strongly connected component can be used by some
assignment, the others by none, and of those that can the fixed ones are the bridges of the graph
that they make (Ahuja, Magnanti and Orlin: Network flows, 1993, for the residual graph; Dulmage and
Mendelsohn 1958 for the parts).

Pairs of the same twins that come to the same are a *bundle*, and get a node of their own between
the twins and their partners: how many rows take a bundle is then a question about one edge too.
Twins of either side have bundles; which side is looked from is for the caller to choose.

Where all rows are assigned, every other assignment is reached from one by exchanges: a row leaves
its place for another that it may have, whose row moves on, until a place is free or the row that
began it has come round. ``find_max_rows_per_pair`` moves rows onto a pair until no exchange is
left; ``find_min_rows_per_place`` moves them off a place. Both are exact unless the search is cut
short: then a limit is given that holds whatever it would have found. ``count_min_rows_on_pairs``
keeps rows off several pairs at once, by an assignment that costs least where such a pair costs one
for each row; it is always exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, maximum_flow

from shoal.kernels.grouping import number_combinations

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Nodes = NDArray[np.int32]


class Assignment(NamedTuple):
    """One largest assignment, and what others may change; pairs in the order they were given."""

    rows: Ints
    """How many rows take each pair."""
    possible: Flags
    """Whether some largest assignment uses the pair."""
    loose: tuple[Flags, Flags]
    """Of each side's twins: whether an exchange may leave rows of them out, or take them in."""


def assign(one: Ints, other: Ints, start: Ints, others: Ints) -> Assignment:
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
    flow = _find_largest_flow(from_, to, room.astype(np.int32), m + n + 2)
    spare = flow < room
    spare[:pairs] = True  # a pair itself has no limit, only its two twins have
    part = _find_components(from_, to, spare, flow > 0, m + n + 2)
    open_ = part[from_] == part[to]
    loose = open_[pairs : pairs + m], open_[pairs + m :]
    return Assignment(flow[:pairs].astype(np.int64), open_[:pairs], loose)


class AssignablePairs(NamedTuple):
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


class PairBundles(NamedTuple):
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

    def take(self, which: Flags | Ints) -> PairBundles:
        """Some of the bundles."""
        return PairBundles._make(column[which] for column in self)


def bundle_pairs(
    pairs: AssignablePairs, loose: tuple[Flags, Flags]
) -> tuple[PairBundles, PairBundles]:
    """The bundles that as many rows take in all largest assignments, and the others.

    ``loose`` as in ``Assignment``, the side that the pairs are seen from first.

    >>> rows, other = np.array([1, 1]), np.array([0, 1, 0, 1])
    >>> two = assign(rows, rows, np.array([0, 2, 4]), other)
    >>> twins, cell = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2])
    >>> pairs = AssignablePairs(twins, other, cell, two.rows, two.rows)
    >>> same, open_ = bundle_pairs(pairs, two.loose)
    >>> same.twins.tolist(), open_.twins.tolist()  # the second's pairs come to the same
    ([1], [0, 0])
    """
    sizes = [int(column.max(initial=0)) + 1 for column in (pairs.twins, pairs.cell)]
    number, first = number_combinations((pairs.twins, pairs.cell), sizes)
    bundle = number.astype(np.int64)
    size = pairs.size[first]
    np.minimum.at(size, bundle, pairs.size)
    rows = np.bincount(bundle, pairs.rows, len(first)).astype(np.int64)
    sole = np.bincount(bundle, minlength=len(first)) == 1
    twins, partner, cell = (column[first] for column in pairs[:3])
    bundles = PairBundles(twins, partner, cell, rows, size, sole)
    same = _find_fixed_bundles(pairs, bundle, twins, loose)
    return bundles.take(same), bundles.take(~same)


def _find_fixed_bundles(
    pairs: AssignablePairs, bundle: Ints, owner: Ints, loose: tuple[Flags, Flags]
) -> Flags:
    """Of each bundle whether its edge, from the twins that own it, is a bridge."""
    m, n = map(len, loose)
    first, end = m + n, m + n + len(owner)
    free = [np.flatnonzero(side) for side in loose]
    tail = np.concatenate([owner, first + bundle, np.full(len(free[0]), end), m + free[1]])
    head = np.concatenate(
        [np.arange(first, end), m + pairs.partner, free[0], np.full(len(free[1]), end + 1)]
    )
    return find_bridges(tail, head, end + 2)[: len(owner)]


def _find_largest_flow(from_: Nodes, to: Nodes, room: Nodes, nodes: int) -> Nodes:
    """One largest flow from the last node but one to the last: how much each edge carries."""
    limits = csr_array((room, (from_, to)), (nodes, nodes))
    flow = maximum_flow(limits, nodes - 2, nodes - 1).flow
    return np.asarray(flow[from_, to]).ravel()


def _find_components(from_: Nodes, to: Nodes, ahead: Flags, back: Flags, nodes: int) -> Nodes:
    """Each node's strongly connected component, where edges go ahead, back, or both ways."""
    tail = np.concatenate([from_[ahead], to[back]])
    head = np.concatenate([to[ahead], from_[back]])
    graph = csr_array((np.ones(len(tail), np.int8), (tail, head)), (nodes, nodes))
    return np.asarray(connected_components(graph, connection="strong")[1])


def find_bridges(one: Ints, other: Ints, nodes: int) -> Flags:
    """Which edges of an undirected graph lie on no cycle; no two edges have the same ends.

    >>> find_bridges(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4).tolist()
    [False, False, False, True]
    """
    start, near, edge = _list_adjacent(one, other, nodes)
    bridge: Flags = _bridges(start, near, edge, len(one))
    return bridge


@njit(cache=True, nogil=True)
def _list_adjacent(one, other, nodes):
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
    visited = np.full(nodes, -1, dtype=np.int64)
    low = np.empty(nodes, dtype=np.int64)
    via = np.full(nodes, -1, dtype=np.int64)
    above = np.full(nodes, -1, dtype=np.int64)
    bridge = np.zeros(edges, dtype=np.bool_)
    time = 0
    for root in range(nodes):
        node = root if visited[root] < 0 else -1
        while node >= 0:
            if visited[node] < 0:
                visited[node] = low[node] = time
                time += 1
            if at[node] < start[node + 1]:
                k = at[node]
                at[node] += 1
                if visited[near[k]] < 0:
                    via[near[k]], above[near[k]] = edge[k], node
                    node = near[k]
                elif edge[k] != via[node]:
                    low[node] = min(low[node], visited[near[k]])
            else:
                up = above[node]
                if up >= 0:
                    low[up] = min(low[up], low[node])
                    bridge[via[node]] = low[node] > visited[up]
                node = up
    return bridge


# Over all assignments: how many rows take a pair at most, a place or several pairs at least


MAX_STEPS = 10**9
"""So many pairs are looked at, a few seconds; then a search is cut short."""


def find_max_rows_per_pair(
    one: Ints, other: Ints, start: Ints, others: Ints, rows: Ints, possible: Flags
) -> tuple[Ints, int]:
    """How many rows take each pair at most, all rows being assigned, and how many are limits.

    ``one``, ``other``, ``start`` and ``others`` as in ``assign``, which gives ``rows`` and
    ``possible``. A limit is the smaller of the numbers of twins.

    >>> one, other, start = np.array([2, 1]), np.array([2, 1]), np.array([0, 2, 3])
    >>> pairs = start, np.array([0, 1, 0]), np.array([1, 1, 1]), np.ones(3, bool)
    >>> # the second's only place is one of the first's two
    >>> find_max_rows_per_pair(one, other, *pairs)[0].tolist()
    [1, 1, 1]
    """
    max_rows = np.zeros(len(others), np.int64)
    twins = np.repeat(np.arange(len(one)), np.diff(start))
    limit = np.where(possible, np.minimum(one[twins], other[others]), 0)
    cut: int = _fill_max_rows(
        start, others, twins, limit, max_rows, MAX_STEPS, *_room(other, others, rows)
    )
    return max_rows, cut


def find_min_rows_per_place(
    one: Ints, other: Ints, start: Ints, others: Ints, rows: Ints
) -> tuple[Ints, int]:
    """How many rows take a place of each of the others' twins at least; how many are limits.

    Arguments as in ``find_max_rows_per_pair``. A limit is 0.

    >>> one, other, start = np.array([2]), np.array([2, 1]), np.array([0, 2])
    >>> find_min_rows_per_place(one, other, start, np.array([0, 1]), np.array([2, 0]))[0].tolist()
    [1, 0]
    """
    min_rows = np.zeros(len(other), np.int64)
    twins = np.repeat(np.arange(len(one)), np.diff(start))
    cut: int = _fill_min_rows(
        start, others, twins, min_rows, MAX_STEPS, *_room(other, others, rows)
    )
    return min_rows, cut


def count_min_rows_on_pairs(one: Ints, other: Ints, start: Ints, others: Ints, some: Flags) -> int:
    """How many rows take some of the pairs at least, all rows being assigned, as must be possible.

    Rows are assigned along the cheapest ways, all ways of one cost at a time, cheaper ones first
    (Ford and Fulkerson: Flows in networks, 1962, section III.3).

    >>> one, other, start = np.array([1, 2, 2]), np.array([3, 3]), np.array([0, 1, 3, 5])
    >>> some = np.array([True, False, True, False, True])
    >>> # the first is in one of them
    >>> count_min_rows_on_pairs(one, other, start, np.array([0, 0, 1, 0, 1]), some)
    3
    """
    m, n, source = len(one), len(other), len(one) + len(other)
    twins = np.repeat(np.arange(m), np.diff(start))
    from_ = np.concatenate([twins, np.full(m, source), np.arange(m, source)])
    to = np.concatenate([m + others, np.arange(m), np.full(n, source + 1)])
    room = np.concatenate([np.minimum(one[twins], other[others]), one, other])
    cost = np.concatenate([some, np.zeros(m + n)]).astype(np.int64)
    tail, head = np.concatenate([from_, to]), np.concatenate([to, from_])
    price = np.concatenate([cost, -cost])
    flow, height = np.zeros(len(room), np.int64), np.zeros(source + 2, np.int64)
    while flow[-n:].sum() < one.sum():
        spare = np.concatenate([room - flow, flow])
        ways = _Ways(tail, head, price, spare)
        height = ways.raised(height)
        flow += ways.filled(height)[from_, to]
    return int(flow[: len(others)][some].sum())


class _Ways(NamedTuple):
    """The ways that an assignment leaves open: edges, what a row pays there, how many may go."""

    tail: Ints
    head: Ints
    price: Ints
    spare: Ints

    def raised(self, height: Ints) -> Ints:
        """How much it costs to get to each node from the last but one; at most to the last."""
        steps = (self.price + height[self.tail] - height[self.head]).astype(np.float64)
        graph = self._graph(steps, self.spare > 0, len(height))
        far: NDArray[np.float64] = dijkstra(graph, indices=len(height) - 2)
        raised: Ints = height + np.minimum(far, far[-1]).astype(np.int64)
        return raised

    def filled(self, height: Ints) -> csr_array:
        """As many rows as can go the ways that cost no more than they must."""
        cheapest = self.price + height[self.tail] == height[self.head]
        limits = self._graph(self.spare.astype(np.int32), cheapest & (self.spare > 0), len(height))
        return maximum_flow(limits, len(height) - 2, len(height) - 1).flow

    def _graph(self, value: NDArray[Any], some: Flags, nodes: int) -> csr_array:
        return csr_array((value[some], (self.tail[some], self.head[some])), (nodes, nodes))


def _room(other: Ints, others: Ints, rows: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """A copy of the assignment, the places that it leaves free, and the pairs of each place."""
    taken = np.bincount(others, rows, len(other)).astype(np.int64)
    begin = np.concatenate([[0], np.bincount(others, minlength=len(other)).cumsum()])
    return rows.copy(), other - taken, begin, np.argsort(others, kind="stable")


@njit(cache=True, nogil=True)
def _fill_max_rows(start, others, twins, limit, max_rows, steps, flow, spare, begin, back):
    marks = _marks(len(start) - 1, len(spare))
    held = np.full(len(spare), -1, dtype=np.int64)  # the pair of the twins in turn, by place
    cut = 0
    for i in range(len(start) - 1):
        for e in range(start[i], start[i + 1]):
            held[others[e]] = e
        for e in range(start[i], start[i + 1]):
            j = others[e]
            if marks[3][1] > steps:
                max_rows[e], cut = limit[e], cut + (flow[e] < limit[e])
                continue
            while flow[e] < limit[e]:
                at = j
                if spare[j] == 0:
                    at = _search(j, i, held, start, others, twins, flow, spare, begin, back, marks)
                if at < 0:
                    break
                _move_onto_pair(e, at, held, start, others, twins, flow, spare, limit[e], marks)
            max_rows[e] = flow[e]
        for e in range(start[i], start[i + 1]):
            held[others[e]] = -1
    return cut


@njit(cache=True)
def _move_onto_pair(e, at, held, start, others, twins, flow, spare, limit, marks):
    """Move rows onto a pair by the way that was found, which ends at a place."""
    i, j, from_ = twins[e], others[e], held[at]
    free = at == j or from_ < 0 or flow[from_] == 0
    if free:
        from_ = start[i]
        while from_ == e or flow[from_] == 0:
            from_ += 1
    number = min(limit - flow[e], flow[from_], _narrowest(j, at, others, twins, flow, marks))
    if free:
        number = min(number, spare[at])
        spare[at] -= number
        spare[others[from_]] += number
    _exchange(j, at, number, others, twins, flow, marks)
    flow[from_] -= number
    flow[e] += number


@njit(cache=True, nogil=True)
def _fill_min_rows(start, others, twins, min_rows, steps, flow, spare, begin, back):
    marks = _marks(len(start) - 1, len(spare))
    held = np.full(len(spare), -1, dtype=np.int64)
    nobody = np.int64(-1)  # a plain -1 would be a type of its own, and compile the search again
    cut = 0
    for j in range(len(spare)):
        taken = 0
        for k in range(begin[j], begin[j + 1]):
            taken += flow[back[k]]
        if marks[3][1] > steps:
            cut += taken > 0
            continue
        while taken > 0:
            at = _search(j, nobody, held, start, others, twins, flow, spare, begin, back, marks)
            if at < 0:
                break
            number = min(spare[at], _narrowest(j, at, others, twins, flow, marks))
            _exchange(j, at, number, others, twins, flow, marks)
            spare[at] -= number
            spare[j] += number
            taken -= number
        min_rows[j] = taken
    return cut


@njit(cache=True)
def _marks(one, other):
    """Who was met in the search in turn and by which pair, both sides; a queue; turn and steps."""
    left, right = np.zeros((2, one), dtype=np.int64), np.zeros((2, other), dtype=np.int64)
    return left, right, np.empty(other, dtype=np.int64), np.zeros(2, dtype=np.int64)


@njit(cache=True)
def _search(j, i, held, start, others, twins, flow, spare, begin, back, marks):
    """The nearest place that is free, or that twins ``i`` hold, when rows leave place ``j``."""
    left, right, queue, count = marks
    count[0] += 1
    turn, first, last = count[0], 0, 1
    queue[0] = j
    right[0, j] = turn
    while first < last:
        place = queue[first]
        first += 1
        count[1] += begin[place + 1] - begin[place]
        for k in range(begin[place], begin[place + 1]):
            row = twins[back[k]]
            if flow[back[k]] == 0 or row == i or left[0, row] == turn:
                continue
            left[0, row], left[1, row] = turn, back[k]
            count[1] += start[row + 1] - start[row]
            for e in range(start[row], start[row + 1]):
                at = others[e]
                if right[0, at] == turn:
                    continue
                right[0, at], right[1, at] = turn, e
                if spare[at] > 0 or (held[at] >= 0 and flow[held[at]] > 0):
                    return at
                queue[last] = at
                last += 1
    return -1


@njit(cache=True)
def _narrowest(j, at, others, twins, flow, marks):
    """How many rows can be exchanged on the way from ``j`` to ``at``."""
    number = np.iinfo(np.int64).max
    while at != j:
        leaving = marks[0][1, twins[marks[1][1, at]]]
        number = min(number, flow[leaving])
        at = others[leaving]
    return number


@njit(cache=True)
def _exchange(j, at, number, others, twins, flow, marks):
    """Let so many rows move on, all the way from ``j`` to ``at``."""
    while at != j:
        taking = marks[1][1, at]
        leaving = marks[0][1, twins[taking]]
        flow[taking] += number
        flow[leaving] -= number
        at = others[leaving]
