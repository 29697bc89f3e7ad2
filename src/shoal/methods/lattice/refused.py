"""Why no combination of levels meets a rule: how close they come, and what it would take."""

from __future__ import annotations

import math

from shoal.errors import NotMetError
from shoal.methods.cutting.topdown import refusal
from shoal.methods.lattice.bounds import is_bounded
from shoal.methods.lattice.costs import HeldBack
from shoal.methods.lattice.ladder import level_of_each
from shoal.methods.lattice.rolled import Tables
from shoal.methods.lattice.search import Budget, NodeSearch, searched
from shoal.release import short

CLOSEST = 5000
"""Among so many nodes the closest is looked for, where none passes."""


def refused(tables: Tables, hold_back: int, search: NodeSearch | None = None) -> NotMetError:
    """How close the levels come to the rule, and with how many rows held back it would pass."""
    loosen = "loosen levels, " if is_bounded(tables.tally, tables.ladders) else ""
    if search is not None and search.budget.limited and not search.complete:
        return NotMetError(
            f"Among the {search.budget.checked:,} combinations of levels that were tried last none "
            "meets the rule.",
            f"{loosen}allow more of them (--set nodes=…, seconds=…), or more rows to be held back "
            "(--hold-back).",
        )
    rows = tables.tally.rows
    closest = searched(tables, HeldBack(tables), rows, Budget(CLOSEST)).run()
    if closest is None and loosen:
        return NotMetError(
            f"No combination of the levels that are allowed meets {tables.model}, however many "
            "rows are held back.",
            f"{loosen}or weaken the rule.",
        )
    if closest is None:
        top = tuple(len(rungs) - 1 for rungs in tables.ladders)
        return refusal(tables.model, tables.groups(tables.at(top)), hold_back)
    levels, needed = level_of_each(tables.tally, tables.rungs(closest.node)), closest.rows
    told = ", ".join(f"{name} {level}" for name, level in levels.items())
    share = math.ceil(1000 * needed / rows) / 1000
    return NotMetError(
        f"No combination of levels meets {tables.model} with {hold_back:,} rows held back. The "
        f"closest found ({told}) needs {needed:,} of {rows:,} rows "
        f"({short(100 * needed / rows)} %).",
        f"{loosen}allow --hold-back {share:.3f}, weaken the rule, or give columns coarser levels.",
    )
