"""Levels that a user fixes or bounds, and why no combination of levels meets a rule."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.release import format_reached
from shoal.core.tally import Tally
from shoal.methods._lattice.ladder import (
    Rung,
    build_ladder,
    drop_equal_rungs,
    list_all_rungs,
    map_levels,
)
from shoal.methods._lattice.node_costs import SuppressedRows
from shoal.methods._lattice.node_search import NodeSearch, SearchBudget, create_search
from shoal.methods._lattice.rolled_tables import RolledTables
from shoal.methods._shared.refusals import explain_not_met

# Levels that a user fixes or bounds: the rungs that each column may stand on.


def bound_rungs(tally: Tally, levels: str) -> tuple[tuple[Rung, ...], ...]:
    """The rungs that each column may stand on."""
    bounds = _parse_levels(levels, [axis.name for axis in tally.quasi])
    return tuple(_select_rungs(axis, *bounds.get(axis.name, (0, None))) for axis in tally.quasi)


def _select_rungs(axis: Axis, low: int, high: int | None) -> tuple[Rung, ...]:
    rungs = list_all_rungs(axis)
    allowed = rungs[low:] if high is None else rungs[low : high + 1]
    if allowed:
        return drop_equal_rungs(allowed)
    meant = f"{low} or above" if high is None else f"in {low}..{high}" if low != high else str(low)
    raise UsageError(
        f"Column {axis.name!r} has no level {meant}.",
        f"its levels are {', '.join(str(rung.number) for rung in rungs)}.",
    )


def is_bounded(tally: Tally, ladders: Sequence[Sequence[Rung]]) -> bool:
    """Whether any column may stand on fewer rungs than it has."""
    pairs = zip(tally.quasi, ladders, strict=True)
    return any(len(rungs) < len(build_ladder(axis)) for axis, rungs in pairs)


def _parse_levels(levels: str, names: list[str]) -> dict[str, tuple[int, int | None]]:
    bounds: dict[str, tuple[int, int | None]] = {}
    hint = f'write for example levels="{names[0]}=1..2"; columns: {", ".join(names)}.'
    for text in filter(None, map(str.strip, levels.split(","))):
        matched = re.fullmatch(r"(.+?)\s*=\s*(\d+)(\.\.(\d*))?", text)
        if matched is None:
            raise UsageError("levels is not understood.", hint)
        column, low = matched[1], int(matched[2])
        if column not in names:
            raise UsageError(f"levels names {column!r}, which is no quasi-identifier.", hint)
        if column in bounds:
            raise UsageError(f"levels names {column!r} twice.", hint)
        bounds[column] = low, low if matched[3] is None else int(matched[4]) if matched[4] else None
    return bounds


# Why no combination of levels meets a rule: how close they come, and what it would take.


CLOSEST_AMONG = 5000
"""Among so many nodes the closest is looked for, where none passes."""


def explain_level_refusal(
    tables: RolledTables, hold_back: int, search: NodeSearch | None = None
) -> NotMetError:
    """How close the levels come to the rule, and with how many rows suppressed it would pass."""
    loosen = "loosen levels, " if is_bounded(tables.tally, tables.ladders) else ""
    if search is not None and search.budget.limited and not search.complete:
        return NotMetError(
            f"Among the {search.budget.checked:,} combinations of levels that were tried last none "
            "meets the rule.",
            f"{loosen}allow more of them (--set nodes=…, seconds=…), or more rows to be held back "
            "(--hold-back).",
        )
    rows = tables.tally.rows
    closest = create_search(tables, SuppressedRows(tables), rows, SearchBudget(CLOSEST_AMONG)).run()
    if closest is None and loosen:
        return NotMetError(
            f"No combination of the levels that are allowed meets {tables.model}, however many "
            "rows are held back.",
            f"{loosen}or weaken the rule.",
        )
    if closest is None:
        top = tuple(len(rungs) - 1 for rungs in tables.ladders)
        return explain_not_met(tables.model, tables.count_groups(tables.roll_up(top)), hold_back)
    levels, needed = map_levels(tables.tally, tables.rungs(closest.node)), closest.rows
    closest_levels = ", ".join(f"{name} {level}" for name, level in levels.items())
    share = math.ceil(1000 * needed / rows) / 1000
    return NotMetError(
        f"No combination of levels meets {tables.model} with {hold_back:,} rows held back. The "
        f"closest found ({closest_levels}) needs {needed:,} of {rows:,} rows "
        f"({format_reached(100 * needed / rows)} %).",
        f"{loosen}allow --hold-back {share:.3f}, weaken the rule, or give columns coarser levels.",
    )
