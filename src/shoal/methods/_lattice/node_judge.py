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
    suppressed: Mask
    """The classes to suppress; where they are too many, at least some of them."""
    passes: bool
    holds_for_finer: bool
    """What it says of whether the node fails it says of all finer nodes."""


class NodeJudge:
    """Which classes of a node cannot be published under a rule, and whether they may be so many."""

    def __init__(self, tables: RolledTables, limit: int) -> None:
        self.tables, self.model, self.limit = tables, tables.model, limit
        row_monotone = [
            part for part in split_rule(self.model) if getattr(part, "row_monotone", False)
        ]
        joined = (
            row_monotone[0]
            if len(row_monotone) == 1
            else All(tuple(row_monotone))
            if row_monotone
            else None
        )
        self._row_monotone_part: Model | None = joined
        self._is_row_monotone = len(row_monotone) == len(split_rule(self.model))
        self.monotone = self.model.monotone and (limit == 0 or self._is_row_monotone)
        self._judged_once = self.model.local and not self.model.needs & {"total", "population"}

    def __call__(self, table: RolledTable) -> NodeVerdict:
        """Judge the classes of a node."""
        groups = self.tables.count_groups(table)
        hopeless = np.zeros(len(table), dtype=bool)
        if self._row_monotone_part is not None:
            hopeless = ~self._row_monotone_part.holds(groups)
        is_hopeless = self._count_rows(table, hopeless) > self.limit
        suppressed = (
            hopeless if is_hopeless or self._is_row_monotone else self.find_failing(table, groups)
        )
        passes = self._count_rows(table, suppressed) <= self.limit and not bool(suppressed.all())
        return NodeVerdict(hopeless, suppressed, passes, is_hopeless or self.monotone)

    def find_failing(self, table: RolledTable, groups: Groups) -> Mask:
        """The classes to suppress so that the others meet the rule, once these do not count.

        Where they are more than may be, that is all that is said.
        """
        remaining = np.arange(len(table))
        failing = np.ones(len(table), dtype=bool)
        while len(remaining):
            breaking = find_breaking_classes(self.model, groups)
            if not breaking.any():
                break
            remaining = remaining[~breaking]
            too_many = table.rows.sum() - table.rows[remaining].sum() > self.limit
            if self._judged_once or too_many:
                break
            groups = self.tables.count_groups(table, remaining)
        failing[remaining] = False
        return failing

    def _count_rows(self, table: RolledTable, classes: Mask) -> int:
        return int(table.rows[classes].sum())
