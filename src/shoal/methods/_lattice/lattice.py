"""The lattice of all combinations of levels: what is known of its nodes, and which to look at next.

A node is one rung for each column; one node is coarser than another where no column is finer. What
is found at one node is told to the others in both directions: where classes may only be merged
without harm, every node finer than one that fails fails too, and every one coarser than one that
passes passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods._lattice.rolled_tables import Node

FAILS, UNKNOWN, PASSES = -1, 0, 1
BLOCK = 1024
"""How many nodes are looked through at once for the next."""


class NodeLattice:
    """All nodes of a shape (rungs of each column), with the least each can cost."""

    def __init__(self, bound: NDArray[np.float64], bounds_known: bool) -> None:
        self.shape = bound.shape
        self.top: Node = tuple(size - 1 for size in self.shape)
        self.bound = bound
        self.bounds_known = bounds_known
        self.extra = np.zeros(self.shape)
        self.status = np.zeros(self.shape, dtype=np.int8)
        self.valued = np.zeros(self.shape, dtype=bool)
        height = sum_over_rungs(np.arange(size, dtype=np.int16) for size in self.shape)
        order = np.lexsort((height.ravel(), bound.ravel()))
        self._order, self._position = order.astype(np.int64), 0

    def find_next(self, value_to_beat: float) -> Node | None:
        """The first node by its bound that may pass, is not valued, and may cost less than that."""
        bound, extra = self.bound.ravel(), self.extra.ravel()
        status, valued = self.status.ravel(), self.valued.ravel()
        while self._position < len(self._order):
            block = self._order[self._position : self._position + BLOCK]
            may_be_best = (
                (status[block] > FAILS)
                & ~valued[block]
                & (bound[block] + extra[block] < value_to_beat)
            )
            first = int(may_be_best.argmax())
            if may_be_best[first]:
                self._position += first
                return self._node(block[first])
            if self.bounds_known and bound[block[-1]] >= value_to_beat:
                return None
            self._position += len(block)
        return None

    def find_unknown(self) -> Node | None:
        """A node of which it is not known whether it passes."""
        unknown = self.status.ravel() == UNKNOWN
        first = int(unknown.argmax())
        return self._node(first) if unknown[first] else None

    def _node(self, flat: int) -> Node:
        return tuple(int(at) for at in np.unravel_index(flat, self.shape))

    def build_chain(self, node: Node) -> list[Node]:
        """From a node up to the top, each time by the column that costs the least."""
        chain = [node]
        while node != self.top:
            liftable = [j for j, top_rung in enumerate(self.top) if node[j] < top_rung]
            node = lift_node(node, min(liftable, key=lambda j: self._step_costs[j][node[j]]))
            chain.append(node)
        return chain

    @cached_property
    def _step_costs(self) -> list[list[float]]:
        """What the next rung of each column costs more; where bounds are not known, its height."""
        if not self.bounds_known:
            return [[(at + 1) / top_rung for at in range(top_rung)] for top_rung in self.top]
        lines = (
            np.moveaxis(self.bound, j, 0).reshape(size, -1) for j, size in enumerate(self.shape)
        )
        return [np.diff(line[:, 0]).tolist() for line in lines]

    def min_cost(self, node: Node) -> float:
        """The least that a node can cost, as far as is known."""
        return float(self.bound[node] + self.extra[node])

    def mark_failed(self, node: Node) -> None:
        """The node fails, and so do all finer ones."""
        self.status[_finer(node)] = FAILS

    def mark_passed(self, node: Node) -> None:
        """The node passes, and so do all coarser ones."""
        self.status[_coarser(node)] = PASSES

    def raise_bound(self, node: Node, bound: float) -> None:
        """Neither the node nor a coarser one costs less than that."""
        part = self.bound[_coarser(node)]
        np.maximum(part, bound, out=part)

    def raise_extra(self, node: Node, extra: float) -> None:
        """Neither the node nor a finer one costs less than so much besides its bound."""
        part = self.extra[_finer(node)]
        np.maximum(part, extra, out=part)

    def minimal(self) -> list[Node]:
        """The nodes that pass while no node finer by one level does."""
        passes = self.status == PASSES
        is_minimal = passes.copy()
        for column in range(len(self.shape)):
            before = (slice(None),) * column
            is_minimal[(*before, slice(1, None))] &= ~passes[(*before, slice(-1))]
        return [tuple(map(int, node)) for node in np.argwhere(is_minimal)]


def sum_over_rungs(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """For each node the sum of what the rungs of its columns have.

    >>> sum_over_rungs([np.array([0, 10]), np.array([0, 1, 2])]).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    return np.asarray(reduce(np.add.outer, columns))


def lift_node(node: Node, column: int, by: int = 1) -> Node:
    """The node with one column lifted."""
    return (*node[:column], node[column] + by, *node[column + 1 :])


def _finer(node: Node) -> tuple[slice, ...]:
    return tuple(slice(0, at + 1) for at in node)


def _coarser(node: Node) -> tuple[slice, ...]:
    return tuple(slice(at, None) for at in node)
