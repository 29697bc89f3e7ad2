"""The search of a lattice for the node that costs the least, and of all nodes that are minimal."""

from __future__ import annotations

import heapq
import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.methods._lattice.ladder import Rung
from shoal.methods._lattice.lattice import FAILS, PASSES, UNKNOWN, NodeLattice, lift_node
from shoal.methods._lattice.node_costs import Cost
from shoal.methods._lattice.node_judge import NodeJudge, NodeVerdict
from shoal.methods._lattice.rolled_tables import Node, RolledTable, RolledTables
from shoal.methods._shared.progress import Advance, Progress

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class BestNode:
    """A node that passes: what it costs, and which of its classes are suppressed."""

    node: Node
    value: float
    suppressed: Mask
    rows: int
    """How many rows are in those."""


NEAR = 1e-12
"""Costs that differ by less, as a share, are the same."""
LARGEST = 1 << 22
"""So many nodes are searched to the end; of more only some, within a limit that is asked for."""


class BudgetSpent(Exception):
    """As many nodes were made, or as much time was taken, as the search may."""


@dataclass
class SearchBudget:
    """How many nodes may be made, and until when."""

    nodes: float = math.inf
    until: float = math.inf
    checked: int = 0
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, nodes: int | None, seconds: float | None) -> SearchBudget:
        """A limit of nodes, of seconds, or none."""
        if min(1 if nodes is None else nodes, 1.0 if seconds is None else seconds) <= 0:
            raise UsageError("nodes and seconds are above 0.", "write for example nodes=2000.")
        until = math.inf if seconds is None else time.monotonic() + seconds
        return cls(math.inf if nodes is None else nodes, until)

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return min(self.nodes, self.until) < math.inf

    def spend(self) -> None:
        """Count one node; raises ``BudgetSpent`` where it is one too many."""
        if self.checked >= self.nodes or (self.checked and time.monotonic() > self.until):
            raise BudgetSpent
        self.checked += 1

    def share(self, size: int) -> float:
        """How much of a search of so many nodes is done, by nodes or by time: the larger one."""
        took = (time.monotonic() - self.since) / (self.until - self.since)
        return max(self.checked / min(self.nodes, size), took)


class NodeSearch:
    """The best node of a lattice, by a cost, with at most so many rows suppressed.

    ``later``: those rows come into classes later, and cost no more than the others yet.
    """

    exhaustive: ClassVar[bool] = True
    """Once it has come to its end, no node is better."""

    def __init__(
        self,
        tables: RolledTables,
        cost: Cost,
        limit: int,
        budget: SearchBudget,
        progress: Progress | None = None,
        *,
        placed_later: bool = False,
    ) -> None:
        self.tables, self.cost, self.placed_later = tables, cost, placed_later
        self.judge = NodeJudge(tables, limit)
        self.budget, self.advance = budget, Advance(progress)
        self.size = math.prod(map(len, tables.ladders))
        self.best: BestNode | None = None
        self.complete = False

    @cached_property
    def lattice(self) -> NodeLattice:
        """All nodes, with what is known of them."""
        return NodeLattice(self.cost.bounds(), self.cost.bounds_known)

    @property
    def value_to_beat(self) -> float:
        """What a better node must cost less than."""
        return math.inf if self.best is None else self.best.value

    def run(self) -> BestNode | None:
        """The node that costs the least of those that pass; None where none does."""
        with suppress(BudgetSpent):  # what was found within the limit stands
            self.explore()
            self.complete = self.exhaustive
        return self.best

    def explore(self) -> None:
        """Resolve every node that could be the best."""
        self._bisect(self.lattice.build_chain((0,) * len(self.lattice.shape)))
        while (node := self.lattice.find_next(self.value_to_beat)) is not None:
            self._resolve(node)
        self._refine()

    def _refine(self) -> None:
        """Go down from the best as long as a finer node costs no more: ties are told apart so."""
        best_before = None
        while self.best is not None and self.best is not best_before:
            best_before = self.best
            finer = [
                lift_node(best_before.node, j, -1) for j, at in enumerate(best_before.node) if at
            ]
            for node in finer:
                may = self.lattice.status[node] > FAILS and self.best is best_before
                if may and self.lattice.min_cost(node) <= best_before.value * (1 + NEAR):
                    self.evaluate(node, equal=True)

    def minimal(self) -> list[Node]:
        """All nodes that pass while none finer by one level does; judges what is still open."""
        while (node := self.lattice.find_unknown()) is not None:
            self._resolve(node)
        return self.lattice.minimal()

    def _resolve(self, node: Node) -> None:
        """Find out about a node, and where it helps about all on a chain above it."""
        if self.judge.monotone and self.lattice.status[node] == UNKNOWN:
            self._bisect(self.lattice.build_chain(node))
        else:
            self._check(node)

    def _bisect(self, chain: list[Node]) -> None:
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high) // 2
            if self.lattice.status[chain[middle]] == UNKNOWN:
                self._check(chain[middle])
            if self.lattice.status[chain[middle]] == PASSES:
                high = middle - 1
            else:
                low = middle + 1

    def _check(self, node: Node) -> None:
        lattice, cost = self.lattice, self.cost
        table, verdict = self.evaluate(node)
        lattice.valued[node] = True
        if not cost.bounds_known:
            lattice.raise_bound(node, cost.bound(table))
        if not verdict.passes and verdict.holds_for_finer:
            lattice.mark_failed(node)
            return
        if cost.extra_grows and not self.placed_later and verdict.hopeless.any():
            lattice.raise_extra(node, cost.extra(table, verdict.hopeless))
        if verdict.passes and self.judge.monotone:
            lattice.mark_passed(node)
        else:
            lattice.status[node] = PASSES if verdict.passes else FAILS

    def evaluate(self, node: Node, *, equal: bool = False) -> tuple[RolledTable, NodeVerdict]:
        """Make and judge a node, and remember it where it is the best.

        ``equal``: or costs as little as the best, and suppresses no more rows.
        """
        self.budget.spend()
        table = self.tables.roll_up(node)
        verdict = self.judge(table)
        if verdict.passes:
            value = self.compute_cost(table, verdict.suppressed)
            rows = int(table.rows[verdict.suppressed].sum())
            tied = equal and self.best is not None and rows <= self.best.rows
            if value < self.value_to_beat or (tied and value <= self.value_to_beat * (1 + NEAR)):
                self.best = BestNode(node, value, verdict.suppressed, rows)
        self.advance.to(self.budget.share(self.size))
        return table, verdict

    def compute_cost(self, table: RolledTable, suppressed: Mask) -> float:
        """What a node costs without these classes."""
        costs_nothing = self.placed_later or not suppressed.any()
        return self.cost.bound(table) + (
            0.0 if costs_nothing else self.cost.extra(table, suppressed)
        )


class Descent(NodeSearch):
    """The best node that is found going down from one that passes, best first.

    For a lattice that is too large to be searched: within a limit, and with no promise.
    """

    exhaustive = False

    def explore(self) -> None:
        """Go down from the top, and from the first node of a chain that passes."""
        self._values: dict[Node, float] = {}
        self._failed = np.zeros((0, len(self.tables.ladders)), dtype=np.int64)
        top = tuple(len(rungs) - 1 for rungs in self.tables.ladders)
        waiting = sorted((self._value_of(node), node) for node in {self._find_start(top), top})
        while waiting and waiting[0][0] < math.inf:
            _, node = heapq.heappop(waiting)
            finer = [lift_node(node, j, -1) for j, at in enumerate(node) if at > 0]
            for child in finer:
                if child not in self._values:
                    heapq.heappush(waiting, (self._value_of(child), child))

    def _find_start(self, top: Node) -> Node:
        chain: list[Node] = [(0,) * len(top)]
        while liftable := [j for j, top_rung in enumerate(top) if chain[-1][j] < top_rung]:
            lowest = min(liftable, key=lambda j: chain[-1][j] / top[j])
            chain.append(lift_node(chain[-1], lowest))
        first = bisect_left(chain, True, key=lambda node: self._value_of(node) < math.inf)
        return chain[min(first, len(chain) - 1)]

    def _value_of(self, node: Node) -> float:
        """What a node costs; infinite where it fails, or one that is coarser does."""
        if node not in self._values:
            dominated = bool((self._failed >= np.array(node)).all(axis=1).any())
            self._values[node] = math.inf if dominated else self._evaluate_node(node)
        return self._values[node]

    def _evaluate_node(self, node: Node) -> float:
        table, verdict = self.evaluate(node)
        if verdict.holds_for_finer and not verdict.passes:
            self._failed = np.vstack((self._failed, node))
        return self.compute_cost(table, verdict.suppressed) if verdict.passes else math.inf


def create_search(
    tables: RolledTables,
    cost: Cost,
    limit: int,
    budget: SearchBudget,
    progress: Progress | None = None,
    *,
    placed_later: bool = False,
) -> NodeSearch:
    """The search of a lattice: to its end, or within a limit where it is too large for that."""
    size = math.prod(map(len, tables.ladders))
    kind = NodeSearch if size <= LARGEST else Descent
    return kind(tables, cost, limit, budget, progress, placed_later=placed_later)


def check_lattice_size(ladders: Sequence[Sequence[Rung]], budget: SearchBudget) -> int:
    """How many nodes there are; refuses more than can be searched, unless some are enough."""
    size = math.prod(map(len, ladders))
    if size > LARGEST and not budget.limited:
        raise UsageError(
            f"The levels have {size:,} combinations, and at most {LARGEST:,} are searched to the "
            "end.",
            'fix or bound levels (--set levels="age=1..3"), or take the best that is found within '
            "a limit (--set nodes=2000).",
        )
    return size
