"""Mend classes that break the rule: each is joined with the more like one of its two neighbours.

What methods share that make classes along an order: first as if only their size mattered, then
joined, round after round, until the rule holds. Where even one class of everybody breaks it, rows
are suppressed or the table is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, cover_classes, cover_ranges
from shoal.core.model import Mask, Model, find_spoiling_classes, list_joint_columns
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.core.theory.collusion import judge_by_halves
from shoal.methods._shared.refusals import explain_not_met


def mend_classes(
    tally: Tally,
    model: Model,
    entry: NDArray[Any],
    class_: NDArray[Any],
    count: NDArray[Any],
    *,
    hold_back: int = 0,
    facts: dict[str, Any] | None = None,
) -> Cut:
    """The pieces' classes as a cut that meets the model, those that break it joined with others.

    ``class_`` numbers the classes in an order in which neighbours are alike; pieces below 0 stay
    suppressed. A class that breaks the rule is joined with the neighbour for which the sum of
    width × rows grows least. Where no joining helps, the state with the fewest rows in classes
    that break the rule is taken, and they are suppressed (``hold_back``), or the table is refused.
    The cut's facts say how many classes were ``joined``.
    """
    ordered = _OrderedClasses.of(tally, entry, class_, count)
    initial, best, fewest = len(ordered), ordered.cut, tally.rows + 1
    while True:
        cut = ordered.cut
        groups = Groups.of(tally, cut, list_joint_columns(model))
        breaking = find_breaking_classes(model, groups)
        rows = int(groups.rows[breaking].sum())
        if rows < fewest:
            best, fewest = cut, rows
        if not breaking.any() or len(ordered) < 2:
            break
        ordered = ordered.join(breaking[ordered.find_published(cut)])
    all_facts = {**(facts or {}), "joined": initial - len(ordered)}
    if not breaking.any():
        return replace(cut, facts=all_facts)
    if not hold_back:
        raise explain_not_met(model, groups)
    return replace(suppress_breaking_classes(tally, model, best), facts=dict(facts or {}))


def find_breaking_classes(model: Model, groups: Groups) -> Mask:
    """The classes to be joined next; what cannot be decided in time breaks the rule."""
    if not model.local:
        return find_spoiling_classes(model, groups)
    return ~judge_by_halves(lambda some, _: model.holds(some), groups)


def suppress_breaking_classes(tally: Tally, model: Model, cut: Cut) -> Cut:
    """What is left once the classes that break the rule are suppressed, until none does."""
    while cut.classes:
        breaking = find_breaking_classes(model, Groups.of(tally, cut, list_joint_columns(model)))
        if not breaking.any():
            break
        cut = cut.without(breaking)
    return cut


@dataclass(frozen=True)
class _OrderedClasses:
    """Classes in their order: the pieces with their class, and each class's rows and cells."""

    tally: Tally
    entry: NDArray[np.int32]
    class_: NDArray[np.int32]
    count: NDArray[np.int64]
    rows: NDArray[np.int64]
    cells: Cells

    @classmethod
    def of(
        cls, tally: Tally, entry: NDArray[Any], class_: NDArray[Any], count: NDArray[Any]
    ) -> _OrderedClasses:
        """The classes that have anybody, numbered without gaps."""
        entry, count = entry.astype(np.int32), count.astype(np.int64)
        size = int(class_.max(initial=-1)) + 1
        rows = np.bincount(class_[class_ >= 0], count[class_ >= 0], size).astype(np.int64)
        number = np.append(np.cumsum(rows > 0) - 1, SUPPRESSED)  # the last one is for class -1
        class_ = number[class_].astype(np.int32)
        cells = cover_classes(tally.quasi, tally.keys, entry, class_)
        return cls(tally, entry, class_, count, rows[rows > 0], cells)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def cut(self) -> Cut:
        """The classes as published: those with equal cells are one."""
        return Cut(self.entry, self.class_, self.count, self.cells).merged()

    def find_published(self, cut: Cut) -> NDArray[np.int32]:
        class_of_segment = np.empty(len(self), np.int32)
        class_of_segment[self.class_[self.class_ >= 0]] = cut.class_[self.class_ >= 0]
        return class_of_segment

    def join(self, breaking: Mask) -> _OrderedClasses:
        """Each bad class joined with a neighbour, unless that one is being joined already."""
        right = self._prefers_right()
        wanted = (breaking & right)[:-1] | (breaking & ~right)[1:]
        at = np.arange(len(wanted))
        streak = np.maximum.accumulate(np.where(wanted, -1, at)) + 1
        # of neighbours who all want to be joined, the first with the second, the third with ...
        begins = np.append(True, ~(wanted & ((at - streak) % 2 == 0)))
        class_ = np.append(np.cumsum(begins) - 1, SUPPRESSED)[self.class_].astype(np.int32)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(self)) - 1
        rows = np.add.reduceat(self.rows, first)
        return replace(self, class_=class_, rows=rows, cells=self._unite_cells(first, last))

    def _prefers_right(self) -> Mask:
        """Whether joining each class with the one after it costs less than with the one before."""
        axes, weights = self.tally.quasi, self.tally.importance
        own_loss = self.cells.widths(axes) @ weights * self.rows
        pairs = self._unite_cells(np.arange(len(self) - 1), np.arange(1, len(self)))
        joined_loss = pairs.widths(axes) @ weights * (self.rows[:-1] + self.rows[1:])
        right = np.append(joined_loss - own_loss[1:], np.inf)
        left = np.append(np.inf, joined_loss - own_loss[:-1])
        return np.asarray(right < left)

    def _unite_cells(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Cells:
        a, b = self.cells.take(first), self.cells.take(second)
        sets = {column: bits | b.sets[column] for column, bits in a.sets.items()}
        low, high = np.minimum(a.low, b.low), np.maximum(a.high, b.high)
        return cover_ranges(self.tally.quasi, low, high, sets)
