"""Whether a node of the lattice passes: which of its classes break the rule, and how many may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.model import All, Mask, Model, split_rule
from shoal.core.tally import Groups
from shoal.methods._lattice.rolled_tables import RolledTable, RolledTables
from shoal.methods._shared.breaking_classes import find_breaking_classes


@dataclass(frozen=True)
class NodeVerdict:
    """What a rule says of a node."""

    hopeless: Mask
    """The classes that fail a row-monotone part of the rule: lost at finer nodes too."""
    lost: Mask
    """The classes to hold back; where they are too many, at least some of them."""
    passes: bool
    finer: bool
    """What it says of whether the node fails it says of all finer nodes."""


class NodeJudge:
    """Which classes of a node cannot be published under a rule, and whether they may be so many."""

    def __init__(self, tables: RolledTables, limit: int) -> None:
        self.tables, self.model, self.limit = tables, tables.model, limit
        some = [part for part in split_rule(self.model) if getattr(part, "row_monotone", False)]
        whole = some[0] if len(some) == 1 else All(tuple(some)) if some else None
        self._growing: Model | None = whole
        self._settles = len(some) == len(split_rule(self.model))
        self.monotone = self.model.monotone and (limit == 0 or self._settles)
        self._once = self.model.local and not self.model.needs & {"total", "population"}

    def __call__(self, table: RolledTable) -> NodeVerdict:
        """Judge the classes of a node."""
        groups = self.tables.groups(table)
        hopeless = np.zeros(len(table), dtype=bool)
        if self._growing is not None:
            hopeless = ~self._growing.holds(groups)
        doomed = self._rows(table, hopeless) > self.limit
        lost = hopeless if doomed or self._settles else self.failing(table, groups)
        passes = self._rows(table, lost) <= self.limit and not bool(lost.all())
        return NodeVerdict(hopeless, lost, passes, doomed or self.monotone)

    def failing(self, table: RolledTable, groups: Groups) -> Mask:
        """The classes to hold back so that the others meet the rule, once these do not count.

        Where they are more than may be, that is all that is said.
        """
        remaining = np.arange(len(table))
        lost = np.ones(len(table), dtype=bool)
        while len(remaining):
            bad = find_breaking_classes(self.model, groups)
            if not bad.any():
                break
            remaining = remaining[~bad]
            too_many = table.rows.sum() - table.rows[remaining].sum() > self.limit
            if self._once or too_many:
                break
            groups = self.tables.groups(table, remaining)
        lost[remaining] = False
        return lost

    def _rows(self, table: RolledTable, classes: Mask) -> int:
        return int(table.rows[classes].sum())
