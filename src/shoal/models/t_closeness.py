"""t-closeness: the sensitive values of every class are distributed as in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import NEAR, Mask, Number, Rule, divide_products, is_at_most, parse_fraction
from shoal.core.tally import Groups
from shoal.core.theory.collusion import (
    Collusion,
    ProviderCounts,
    Sums,
    find_exceeding,
    find_largest_contributors,
    search_classes,
    undecided_error,
)

Whole = NDArray[Any]
"""Whole numbers: 64 bits wide, or Python's own where those could overflow."""
MAX_COMPARED = 1 << 21
"""How many classes times values are compared at once where values are unknown."""


@dataclass(frozen=True)
class TCloseness(Rule):
    """The distance between the sensitive values of a class and of the table is at most t.

    Parameters
    ----------
    t : Number
        The largest distance, 0 to 1.
    on : str, optional
        The sensitive column; not needed where the table has only one.
    distance : str, default "equal"
        "equal", "ordered" or "hierarchical": how far two values are apart.

    Raises
    ------
    UsageError
        Where t is out of its bounds or there is no such distance; when judged by the ordered
        distance, where the column has no order.

    Notes
    -----
    "An equivalence class is said to have t-closeness if the distance between the distribution of
    a sensitive attribute in this class and the distribution of the attribute in the whole table
    is no more than a threshold t." The distance is the earth mover's, between p (class) and q
    (published table), where moving a unit costs at most 1:

    ``equal``         every two values are 1 apart: ½ Σ |p − q|, the total variation.
    ``ordered``       the i-th and j-th of the m values that occur are |i − j| / (m − 1) apart:
                      Σ |P_i − Q_i| / (m − 1) with P and Q cumulative. Null comes last.
    ``hierarchical``  two values are h / H apart when their lowest common ancestor is h of H
                      levels above the leaves; every level that was given counts. With edges of
                      the length 1/2H the path between two leaves is h / H long, and what must
                      move over an edge is |p − q| of the node below it. So the distance is the
                      mean, over the levels from the leaves to the coarsest below the root, of
                      the equal distance between the levels' nodes. An axis without levels has
                      the leaves only.

    Every one of them is convex in p, so merging classes never breaks it: monotone. All sums are
    taken over whole numbers and the values that occur in a class, so the comparison is exact and
    memory grows with the (class, value) pairs, not with classes × values.

    An unknown value may be any that occurs in the table, in the class and outside it. With r the
    values of all rows outside a class of n among N, p − q is (p − r)(N − n) / N, every distance is
    convex in p and in r: the worst completion gives all unknown values of the class one value and
    all others one value. The best of all pairs is found by one pass over the tree, or over the
    order.

    Every distance is a sum of |p(f) − q(f)| over sets f of values. Against a coalition of
    providers, who may take any of their rows away, each pattern of the signs is a linear rule
    (``shoal.core.theory.collusion``).

    Does not protect: the identity of a person, who may be alone in a class; and a small absolute
    distance may still be a large relative gain for a rare value (see β-likeness).

    References
    ----------
    N. Li, T. Li and S. Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
    l-diversity, ICDE 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> table = groups([["flu", "flu", "cold", "cold"], ["flu", "flu", "flu", "cold"]])
    >>> TCloseness(0.125).holds(table).tolist(), TCloseness("1/9").reached(table)
    ([True, True], 0.125)
    """

    t: Number
    on: str | None = None
    distance: str = "equal"
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "total"})
    parameter: ClassVar[str] = "t"
    strongest: ClassVar[str] = "smallest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", parse_fraction(self.t, "t", 0, 1))
        if self.distance not in DISTANCES:
            names = ", ".join(DISTANCES)
            raise UsageError(f"There is no distance {self.distance!r}.", f"write one of {names}.")

    @classmethod
    def probes(cls, axis: Axis | None) -> list[tuple[Mapping[str, Any], Self]]:
        """Every distance that the column's axis allows."""
        able = {
            "ordered": axis is not None and axis.shape == "ordered",
            "hierarchical": axis is not None and bool(axis.levels),
        }
        name = axis.name if axis else None
        return [
            ({"distance": distance}, cls(1, name, distance))
            for distance in DISTANCES
            if able.get(distance, True)
        ]

    @property
    def symmetric(self) -> bool:
        """Only the equal distance ignores how the values are arranged."""
        return self.distance == "equal"

    def holds(self, groups: Groups) -> Mask:
        """Which classes lie within t of the table."""
        moved, of = self._moved(groups)
        return is_at_most(moved, of, Fraction(self.t))

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The distance of each class."""
        return divide_products(*self._moved(groups))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it.

        Taking away r of n rows moves the distance by at most r / n, so many classes are safe.
        """
        contributed = groups.contributed_on(self.on)
        moved = (
            self.per_class(groups)
            + find_largest_contributors(contributed, max_members)[0] / contributed.rows
        )
        sums = SUMS[self.distance](contributed.values)

        def find(
            values: NDArray[np.int32], counts: ProviderCounts, max_members: int
        ) -> list[int] | None:
            exceeding, certain = find_exceeding(sums, Fraction(self.t), values, counts, max_members)
            if not certain:
                raise undecided_error(self)
            return exceeding

        safe = np.asarray(moved < float(Fraction(self.t)) - NEAR)
        return search_classes(contributed, max_members, ~self.holds(groups), find, safe)

    def _moved(self, groups: Groups) -> tuple[list[Whole], list[Any]]:
        """Each class's distance as whole numbers: factors above and below the line."""
        h = groups.on(self.on)
        if self.distance == "ordered" and h.axis.shape == "flat":
            raise UsageError(
                f"The values of column {h.axis.name!r} have no order.",
                f"give {h.axis.name} the hierarchy ordered(), or write distance=equal.",
            )
        measure, everybody = DISTANCES[self.distance], int(h.total.sum())
        if h.all_blanks:
            measure = WITH_BLANKS[self.distance]
        widest = max(int(np.count_nonzero(h.total)), len(h.axis.levels) + 1)
        fits = h.rows < 2**61 // (everybody * widest + 1)
        if fits.all():
            moved, scale = measure(h, np.dtype(np.int64))
        else:  # a class so large that 64 bits overflow
            moved = np.zeros(len(h.rows), dtype=object)
            for part, kind in ((fits, np.int64), (~fits, object)):
                moved[part], scale = measure(h.take(np.flatnonzero(part)), np.dtype(kind))
        return [moved], [scale, h.rows, everybody]


def _equal(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    """Σ |c N − n T| over all values, of 2 n N: those outside the class are N − Σ T in all."""
    rows, total = h.rows.astype(kind), h.total.astype(kind)
    everybody = total.sum()
    reference = total[h.value]
    inside = h.sum(np.abs(h.count.astype(kind) * everybody - rows[h.class_] * reference))
    return inside + rows * (everybody - h.sum(reference)), 2


def _hierarchical(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    """The sum of the equal distances of all levels, of 2 n N times the number of levels."""
    levels = [h, *(_coarsen(h, level.starts) for level in h.axis.levels)]
    return np.sum([_equal(level, kind)[0] for level in levels], axis=0), 2 * len(levels)


def _coarsen(h: Histogram, starts: NDArray[np.int32]) -> Histogram:
    """The histogram of a level's nodes; null is a node of its own at every level."""
    codes = np.arange(h.axis.size)
    node = np.searchsorted(starts, codes, side="right") - 1
    node[codes == h.axis.null_code] = len(starts)
    value = node[h.value].astype(np.int32)
    first = np.ones(len(value), dtype=bool)  # values ascend in a class, so nodes are runs
    first[1:] = (value[1:] != value[:-1]) | (h.class_[1:] != h.class_[:-1])
    at = np.flatnonzero(first)
    run = np.concatenate(([0], np.cumsum(first)))
    total = np.zeros(len(starts) + 1, dtype=np.int64)
    np.add.at(total, node, h.total)
    count = np.add.reduceat(h.count, at) if len(at) else h.count
    return replace(h, start=run[h.start], value=value[at], count=count, total=total)


def _ordered(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    """Σ |C_i N − n T_i| over the values that occur, cumulative counts, of (m − 1) n N.

    Between two values of a class C stays and T grows, so a gap of values a … b − 1 is two sums
    with one crossing x, found by bisection; S are the sums of T.
    """
    occurs = h.total > 0
    table = np.cumsum(h.total[occurs])
    m, everybody = len(table), int(h.total.sum())
    sums = np.concatenate(([0], np.cumsum(table))).astype(kind)
    rank = (np.cumsum(occurs) - 1)[h.value]
    last = h.start[1:] - 1
    end = np.append(rank[1:], m)[: len(rank)]  # a class's last gap ends with the values
    end[last] = m
    running = np.cumsum(h.count)
    before = np.concatenate(([0], running))[h.start[:-1]]
    height = (running - before[h.class_]).astype(kind) * everybody
    rows = h.rows.astype(kind)
    own = rows[h.class_]
    level = (height // own).astype(np.int64)
    cross = np.clip(np.searchsorted(table, level, side="right"), rank, end)
    above = height * (2 * cross - rank - end) - own * (2 * sums[cross] - sums[rank] - sums[end])
    head = rows * sums[rank[h.start[:-1]]]  # before a class's first value C is 0
    return h.sum(above) + head, max(m - 1, 1)


def _by_known_values(
    h: Histogram, worst: Callable[[Whole, Whole, Whole], Whole], kind: np.dtype[Any]
) -> Whole:
    """The result of ``worst`` for each class, some classes at once.

    Its arguments are c N − n T of each known value (classes, values), and what the unknown values
    of the class and of all others weigh: b (N − n) more where the first are, n (B − b) less where
    the others are.
    """
    everybody, size = int(h.total.sum()), len(h.occurring_values)
    moved = np.zeros(len(h.rows), dtype=kind)
    if not size:
        return moved
    place = np.full(h.axis.size, -1)
    place[h.occurring_values] = np.arange(size)
    at_once = max(1, MAX_COMPARED // size)
    for first in range(0, len(h.rows), at_once):
        part = h.take(np.arange(first, min(first + at_once, len(h.rows))))
        rows, known = part.rows.astype(kind), ~part.is_blank
        gap = -rows[:, np.newaxis] * h.total[h.occurring_values].astype(kind)
        at = part.class_[known], place[part.value[known]]
        gap[at] += part.count[known].astype(kind) * everybody
        blanks = part.blanks.astype(kind)
        more, less = blanks * (everybody - rows), rows * (h.all_blanks - blanks)
        moved[first : first + at_once] = worst(gap, more[:, np.newaxis], less[:, np.newaxis])
    return moved


def _equal_worst(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    return _by_known_values(h, lambda *gaps: _over_tree([], *gaps), kind), 2


def _hierarchical_worst(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    levels = [
        np.searchsorted(level.starts, h.occurring_values, side="right") for level in h.axis.levels
    ]
    distances = _by_known_values(h, lambda *gaps: _over_tree(levels, *gaps), kind)
    return distances, 2 * (len(levels) + 1)


def _over_tree(levels: list[NDArray[Any]], gap: Whole, more: Whole, less: Whole) -> Whole:
    """The largest Σ |gap| over the nodes of all levels once two values get ``more`` and ``less``.

    ``levels``: the node of each value on each level above the values. Up the tree go the best
    gains of one value that gets more, of one that gets less, and of two under the same node.
    """
    total, gains = np.abs(gap).sum(axis=1), _gains(gap, more, less)
    lowest = np.arange(gap.shape[1])  # a value under each of the nodes below
    for level in levels:
        node = level[lowest]
        begins = np.flatnonzero(np.concatenate(([True], node[1:] != node[:-1])))
        gap = np.add.reduceat(gap, begins, axis=1)
        total = total + np.abs(gap).sum(axis=1)
        own, under = _gains(gap, more, less), _best_under(gains, begins)
        gains = (own[0] + under[0], own[1] + under[1], own[2] + under[2])
        lowest = lowest[begins]
    return np.asarray(total + _best_under(gains, np.zeros(1, np.intp))[2][:, 0])


def _gains(gap: Whole, more: Whole, less: Whole) -> tuple[Whole, Whole, Whole]:
    """What Σ |gap| gains at each node where the first value is under it, the second, or both."""
    size = np.abs(gap)
    return np.abs(gap + more) - size, np.abs(gap - less) - size, np.abs(gap + more - less) - size


def _best_under(
    gains: tuple[Whole, Whole, Whole], begins: NDArray[np.intp]
) -> tuple[Whole, Whole, Whole]:
    """The best gains among the nodes under each one above, which begin at ``begins``."""
    first, second, both = gains
    best = both.copy()  # up to each node: two values under it, or under two nodes
    so_far = first.copy(), second.copy()
    started = set(begins.tolist())
    for j in range(first.shape[1]):
        if j in started:
            continue
        crossed = np.maximum(so_far[0][:, j - 1] + second[:, j], so_far[1][:, j - 1] + first[:, j])
        best[:, j] = np.maximum(np.maximum(best[:, j - 1], best[:, j]), crossed)
        for largest in so_far:
            largest[:, j] = np.maximum(largest[:, j - 1], largest[:, j])
    last = np.append(begins[1:], first.shape[1]) - 1
    return so_far[0][:, last], so_far[1][:, last], best[:, last]


def _ordered_worst(h: Histogram, kind: np.dtype[Any]) -> tuple[Whole, int]:
    return _by_known_values(h, _over_order, kind), max(len(h.occurring_values) - 1, 1)


def _over_order(gap: Whole, more: Whole, less: Whole) -> Whole:
    """The largest Σ |cumulative gap| once two values get ``more`` and ``less``."""
    running = np.cumsum(gap, axis=1)
    shifts = (running, running + more, running - less, running + more - less)
    none, first, second, both = (
        np.pad(np.cumsum(np.abs(shift), axis=1), ((0, 0), (1, 0))) for shift in shifts
    )
    best = []
    for between in (first, second):  # up to v nothing has changed, from v to w one has, then both
        start = np.maximum.accumulate((none - between)[:, :-1], axis=1)
        best.append((start + (between - both)[:, :-1]).max(axis=1) + both[:, -1])
    return np.asarray(np.maximum(*best))


def _leaves(h: Histogram) -> Sums:
    codes = np.arange(h.axis.size)
    return Sums.of(h, codes, codes + 1, 2)


def _nodes(h: Histogram) -> Sums:
    last = h.axis.size
    levels = [range(last), *(level.starts.tolist() for level in h.axis.levels)]
    null = {h.axis.null_code} if h.axis.null else set()
    low = [np.array(sorted({*starts, *null})) for starts in levels]
    high = [np.append(starts[1:], last) for starts in low]
    return Sums.of(h, np.concatenate(low), np.concatenate(high), 2 * len(levels))


def _prefixes(h: Histogram) -> Sums:
    high = np.flatnonzero(h.total) + 1
    return Sums.of(h, np.zeros_like(high), high, max(len(high) - 1, 1))


SUMS: dict[str, Callable[[Histogram], Sums]] = {
    "equal": _leaves,
    "ordered": _prefixes,
    "hierarchical": _nodes,
}


WITH_BLANKS: dict[str, Callable[[Histogram, np.dtype[Any]], tuple[Whole, int]]] = {
    "equal": _equal_worst,
    "ordered": _ordered_worst,
    "hierarchical": _hierarchical_worst,
}


DISTANCES: dict[str, Callable[[Histogram, np.dtype[Any]], tuple[Whole, int]]] = {
    "equal": _equal,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}
