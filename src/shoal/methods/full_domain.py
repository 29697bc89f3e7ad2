"""Full-domain: one level for each whole column, the best of all combinations of levels.

The combinations form a lattice from the table as it is to all columns as ``*``. A node is judged by
its classes, which are rolled up from the smallest finer table that was made before; classes that
fail may be held back up to a limit. The search goes from the least costly node upwards: a chain
from it to the top is bisected, what fails is told to all finer nodes and what passes to all
coarser ones, and every node whose least possible cost is not below the best found is never made.
The answer is the optimum: no combination of levels that meets the rule costs less by the measure.

LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005 (roll-up,
both directions); Kohlmayer, Prasser, Eckert, Kemper, Kuhn: Flash: efficient, stable and optimal
k-anonymity, 2012 (chains); El Emam et al.: A globally optimal k-anonymity method for the
de-identification of health data, 2009 (predictive tagging); Samarati 2001 (minimal nodes).

What is told to finer nodes: with no row held back all that a monotone rule says; with rows held
back what its *growing* parts say (k-anonymity, distinct diversity), because a class that passes may
be spoilt by rows of one that does not, for entropy diversity or t-closeness. A rule that merging
may break is judged at every node that could be best.

What it does not give: what local recoding reaches, because one sparse corner lifts a column for
everybody (see local, tree-order). That the finer nodes break the rule is known to whoever knows
the method (minimality attack).
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.errors import NotMetError, UsageError
from shoal.methods.costs import cost
from shoal.methods.ladder import Rung, ladder
from shoal.methods.optimum import Budget, Descent, Found, Progress, Search
from shoal.methods.rolled import Node, Tables
from shoal.methods.topdown import refusal
from shoal.model import Model, whole
from shoal.release import short
from shoal.tally import Cut, Tally

LEVELS = True
"""A column is published at one level of its hierarchy."""
LARGEST = 1 << 22
"""So many nodes are searched to the end; of more only some, within a limit that is asked for."""


def full_domain(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    measure: str = "loss",
    levels: str = "",
    minimal: bool = False,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Cut:
    """The table at the levels that cost the least by the measure; nothing in it is random.

    ``levels`` fixes or bounds columns: ``"sex=0, age=1..3, zip=2.."``. ``minimal``: tell all
    minimal combinations of levels too. ``nodes`` and ``seconds`` limit the search; within a limit
    a lattice of more than four million nodes is searched as well, downhill from the first node
    that passes. The cut's facts: the level of each column, the measure and its value, how many
    nodes there are and were checked, and whether the search came to its end.
    """
    if not tally.quasi:
        raise UsageError(
            "There is no quasi-identifier to generalise.", 'give a column the role "quasi".'
        )
    ladders = bounded(tally, levels)
    size = math.prod(map(len, ladders))
    budget = Budget.of(*_limits(nodes, seconds))
    _check_size(size, budget, minimal)
    tables = Tables.of(tally, model, ladders)
    kind = Search if size <= LARGEST else Descent
    search = kind(tables, cost(measure, tables), hold_back, budget, progress)
    best = search.run()
    if best is None:
        raise _refused(tables, hold_back, search)
    facts = {"measure": measure, "value": best.value, "nodes": size}
    if minimal:
        facts["minimal"] = [_levels(tables, node) for node in search.minimal()]
    facts |= {"checked": budget.checked, "complete": search.complete}
    return _cut(tables, best, facts)


def _cut(tables: Tables, best: Found, facts: dict[str, Any]) -> Cut:
    """The table at the best node, without the classes that are held back."""
    cut = tables.cut(best.node).without(best.held_back)
    return replace(cut, facts={"levels": _levels(tables, best.node), **facts})


def _levels(tables: Tables, node: Node) -> dict[str, int]:
    """The level of each column at a node."""
    named = zip(tables.tally.quasi, tables.rungs(node), strict=True)
    return {axis.name: rung.number for axis, rung in named}


def bounded(tally: Tally, levels: str) -> tuple[tuple[Rung, ...], ...]:
    """The rungs that each column may stand on."""
    named = {axis.name: ladder(axis) for axis in tally.quasi}
    for column, low, high in _read(levels, list(named)):
        top = named[column][-1].number
        last = top if high is None else high
        rungs = tuple(rung for rung in named[column] if low <= rung.number <= last)
        if not rungs:
            raise UsageError(
                f"Column {column!r} has no level between {low} and {last}.",
                f"its levels are {', '.join(str(r.number) for r in named[column])}.",
            )
        named[column] = rungs
    return tuple(named[axis.name] for axis in tally.quasi)


def _read(levels: str, known: list[str]) -> list[tuple[str, int, int | None]]:
    """The columns that are bounded, each with its lowest and highest level."""
    found = []
    for text in filter(None, map(str.strip, levels.split(","))):
        matched = re.fullmatch(r"(.+?)\s*=\s*(\d+)(\.\.(\d*))?", text)
        if matched is None or matched[1] not in known:
            raise UsageError(
                "levels is not understood, or names what is no quasi-identifier.",
                f'write for example levels="{known[0]}=1..2"; columns: {", ".join(known)}.',
            )
        low = int(matched[2])
        high = low if matched[3] is None else int(matched[4]) if matched[4] else None
        found.append((matched[1], low, high))
    return found


def _limits(nodes: Any, seconds: Any) -> tuple[int | None, float | None]:
    if nodes is not None:
        nodes = whole(nodes, "nodes", 1)
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise UsageError("seconds is a number above 0.", "write for example seconds=60.")
    return nodes, seconds


def _check_size(size: int, budget: Budget, minimal: bool) -> None:
    """Refuse a lattice that cannot be searched to its end, unless some of it is enough."""
    if size <= LARGEST:
        return
    if minimal or not budget.limited:
        raise UsageError(
            f"The levels have {size:,} combinations, and at most {LARGEST:,} are searched to the "
            "end.",
            'fix or bound levels (levels="age=1..3"), or take the best that is found within a '
            "limit (seconds=60, or nodes=2000)" + (" without minimal." if minimal else "."),
        )


def _refused(tables: Tables, hold_back: int, search: Search) -> NotMetError:
    """How close the levels come to the rule, and with how many rows held back it would pass."""
    if search.budget.limited and not search.complete:
        return NotMetError(
            f"Among the {search.budget.checked:,} combinations of levels that were tried none "
            "meets the rule.",
            "allow more of them (nodes, seconds), or more rows to be held back (--hold-back).",
        )
    rows, chain = tables.tally.rows, search.lattice.chain((0,) * len(tables.ladders))
    needed, node = min((search.judge.needed(tables.at(node)), node) for node in chain)
    if needed >= rows:
        top = tuple(len(rungs) - 1 for rungs in tables.ladders)
        return refusal(tables.model, tables.groups(tables.at(top)))
    told = ", ".join(f"{name} {level}" for name, level in _levels(tables, node).items())
    share = math.ceil(1000 * needed / rows) / 1000
    return NotMetError(
        f"No combination of levels meets {tables.model} with {hold_back:,} rows held back. The "
        f"closest ({told}) needs {needed:,} of {rows:,} rows ({short(100 * needed / rows)} %).",
        f"allow --hold-back {share:.3f}, weaken the rule, or give columns coarser levels.",
    )
