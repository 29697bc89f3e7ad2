"""Who has which sensitive values: local distributions, shrunken towards the whole table's.

theta_i(s) = (people with s in a coarse node around person i, leaving i out, + tau P(s)) /
(the node's people - 1 + tau): what somebody like person i has, learned from the others alone, so
that the person's own value does not vouch for itself. The nodes' size and tau are those under
which people's own values, each left out of its node, are likeliest: a cross-validated
(leave-one-out) estimate with the additive smoothing of Lidstone, 1920, towards P instead of the
uniform.

Where a population is known to have values that we lack, P and with it theta leave them their share:
they are drawn as one code beyond ours, which nobody of ours shares.

Does not give: the truth about people who are unlike ours. Nobody learns from one table how the
values are elsewhere; a population's P(s) helps where it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, cover_classes
from shoal.core.tally import Cut, Tally
from shoal.forecasts.our_table import OurTable, tally_codes

SIZES = (25, 50, 100, 200, 400, 800, 1600)
"""The smallest sizes of nodes that are tried; one node of everybody is tried too."""
TAUS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
POWERS, MIN_NODE_SIZE = (0, 1, 2), 1e-3
"""How columns may weigh: by a power of what they tell, and no column less than so much."""

CoarsePartition = Callable[[int], NDArray[Any]]
"""The node of each of our people, in a partition into nodes of at least so many of them."""


@dataclass(frozen=True, eq=False)
class LocalDistribution:
    """theta: a coarse partition of our people, and how far its nodes are trusted."""

    ours: OurTable
    node: NDArray[np.int32]
    """The node of each of our people."""
    size: int
    """The smallest size of a node; 0: everybody is in one."""
    tau: float
    likelihood: float
    """The mean log-likelihood of people's own values, each left out of its node."""

    @property
    def description(self) -> dict[str, Any]:
        """What was chosen, and how well it foretells people's values."""
        return {
            "node": self.size,
            "nodes": len(self.rows),
            "tau": self.tau,
            "log_likelihood": self.likelihood,
        }

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """How many people each node has."""
        return np.bincount(self.node)

    @cached_property
    def counts(self) -> NDArray[np.int32]:
        """How many people of each node have each value, (nodes, values)."""
        return _count_values(self.ours, self.node)

    def theta(self, person: NDArray[Any], value: NDArray[Any]) -> NDArray[np.float64]:
        """How likely somebody like a person, but not that person, has a value; pair by pair."""
        node = self.node[person]
        own = self.ours.values[person] == value
        smoothed = self.counts[node, value] - own + self.tau * self.ours.prior[value]
        chances: NDArray[np.float64] = smoothed / (self.rows[node] - 1 + self.tau)
        return chances

    def draw(self, person: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int32]:
        """A value for somebody like each person: a neighbour's, or with a chance of tau, any.

        What nobody of ours has is drawn as one code beyond them, ``ours.sensitive.size``.
        """
        node = self.node[person]
        other = rng.integers(0, np.maximum(self.rows[node] - 1, 1))
        other += other >= self._place[person]  # never the person
        at = np.minimum(self._start[node] + other, len(self.node) - 1)
        near = self.ours.values[self._order[at]]
        return self._blended(near, self.rows[node] - 1, rng)

    def draw_at(self, node: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int32]:
        """A value for somebody of each node who is none of our people."""
        near = self.ours.values[self._order[self._start[node] + rng.integers(0, self.rows[node])]]
        return self._blended(near, self.rows[node], rng)

    def _blended(
        self, near: NDArray[np.int32], people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        far = rng.random(len(near)) * (people + self.tau) >= people
        chances = self.ours.chances
        near[far] = rng.choice(len(chances), int(far.sum()), p=chances)
        return near

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.node, kind="stable")

    @cached_property
    def _start(self) -> NDArray[np.int64]:
        return np.cumsum(self.rows) - self.rows

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        place = np.empty(len(self.node), np.int64)
        place[self._order] = np.arange(len(self.node)) - self._start[self.node[self._order]]
        return place

    def nodes_of(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """The node of each point (columns, points): one that contains it, else the nearest."""
        quasi, everyone = self.ours.quasi, np.arange(len(self.node), dtype=np.int32)
        cells = cover_classes(quasi, self.ours.keys, everyone, self.node)
        start, inside = cells.contains(keys)
        nodes = np.full(keys.shape[1], -1, np.int64)
        lies = np.flatnonzero(np.diff(start))
        nodes[lies] = inside[start[lies]]
        astray = np.flatnonzero(nodes < 0)
        for part in np.array_split(astray, len(astray) * len(cells) // 4_000_000 + 1):
            nodes[part] = _measure_gaps(cells, keys[:, part], [axis.size for axis in quasi]).argmin(
                axis=1
            )
        return nodes


def fit_local_distribution(
    ours: OurTable,
    coarse: CoarsePartition | Sequence[CoarsePartition],
    sizes: Sequence[int] = SIZES,
    taus: Sequence[float] = TAUS,
) -> LocalDistribution:
    """The partition and the tau under which people's values, each left out, are likeliest.

    ``coarse``: one way to part our people, or several that are all tried.
    """
    partitions = [coarse] if callable(coarse) else list(coarse)
    nodes = [(0, np.zeros(ours.people, np.int32))]
    nodes += [
        (size, partition(size).astype(np.int32))
        for partition in partitions
        for size in sizes
        if 2 * size <= ours.people
    ]
    candidates = (_fit_partition(ours, node, size, tau) for size, node in nodes for tau in taus)
    return max(candidates, key=lambda fitted: fitted.likelihood)


def list_coarse_partitions(
    ours: OurTable, cut: Callable[[Tally, int], Cut]
) -> list[CoarsePartition]:
    """Ways to part our people by a method, ``cut(tally, size)``, that cuts no two alike apart.

    The columns weigh the same, as much as they tell of the sensitive value, and by its square:
    nodes cut by columns that tell much are more alike in their values.
    """
    tally, entry = tally_codes(ours.quasi, ours.sensitive, ours.keys, ours.values)
    informativeness = measure_informativeness(ours)

    def weigh_columns(power: int) -> CoarsePartition:
        weights = tuple(np.maximum(informativeness**power, MIN_NODE_SIZE).tolist())
        weighed = replace(tally, weights=weights)

        def nodes(size: int) -> NDArray[np.int32]:
            classes = cut(weighed, size)
            node = np.empty(tally.entries, np.int32)
            node[classes.entry] = classes.class_
            return node[entry]

        return nodes

    return [weigh_columns(power) for power in POWERS]


def measure_informativeness(ours: OurTable) -> NDArray[np.float64]:
    """How much each quasi-identifier tells of the sensitive value, against the one that tells most.

    Mutual information, less what chance alone gives a table of this size, (r - 1)(c - 1) / 2n
    (Miller, Note on the bias of information estimates, 1955).
    """
    informations = [_information(codes, ours.values) for codes in ours.keys]
    highest = max(informations, default=0.0)
    return np.array([information / highest if highest > 0 else 1.0 for information in informations])


def _information(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The mutual information of two columns in nats, corrected for the table's size; never < 0."""
    i, j = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    rows, columns = np.bincount(i), np.bincount(j)
    pair, count = np.unique(i * len(columns) + j, return_counts=True)  # few of all there could be
    n, expected = len(first), rows[pair // len(columns)] * columns[pair % len(columns)]
    information = (count / n * np.log(n * count / expected)).sum()
    return max(float(information) - (len(rows) - 1) * (len(columns) - 1) / (2 * n), 0.0)


def _fit_partition(
    ours: OurTable, node: NDArray[np.int32], size: int, tau: float
) -> LocalDistribution:
    unfitted = LocalDistribution(ours, node, size, tau, 0.0)
    likelihoods = unfitted.theta(np.arange(ours.people), ours.values)
    # Of values that are ours: that nobody of ours has any other does not speak against tau.
    near = unfitted.rows[node] - 1
    likelihoods *= (near + tau) / (near + tau * ours.prior.sum())
    return LocalDistribution(ours, node, size, tau, float(np.log(likelihoods).mean()))


def _count_values(ours: OurTable, node: NDArray[np.int32]) -> NDArray[np.int32]:
    size, nodes = ours.sensitive.size, int(node.max()) + 1
    flat = np.bincount(node.astype(np.int64) * size + ours.values, minlength=nodes * size)
    return flat.reshape(nodes, size).astype(np.int32)


def _measure_gaps(cells: Cells, keys: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.float64]:
    """How far each point lies from each class, (points, classes): the missing share of an axis
    by its order, or one where a set does not hold the code; summed over the columns."""
    far = np.zeros((keys.shape[1], len(cells)))
    for j, size in enumerate(sizes):
        code = keys[j].astype(np.int64)
        if j in cells.sets:
            word, bit = code >> 6, (code & 63).astype(np.uint64)
            far += ((cells.sets[j][:, word] >> bit) & np.uint64(1) == 0).T
            continue
        below = cells.low[:, j] - code[:, None]
        above = code[:, None] - cells.high[:, j]
        far += np.maximum(np.maximum(below, above), 0) / max(size - 1, 1)
    return far
