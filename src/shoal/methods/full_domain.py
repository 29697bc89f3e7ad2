"""Full-domain: one level for each whole column, the best of all combinations of levels.

The combinations form a lattice from the table as it is to all columns as ``*``. A node is judged by
its classes, which are rolled up from the smallest finer table that was made before; classes that
fail may be suppressed up to a limit. The search goes from the least costly node upwards: a chain
from it to the top is bisected, what fails is told to all finer nodes and what passes to all
coarser ones, and every node whose least possible cost is not below the best found is never made.
The answer is the optimum: no combination of levels that meets the rule costs less by the measure.

LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005 (roll-up,
both directions); Kohlmayer, Prasser, Eckert, Kemper, Kuhn: Flash: efficient, stable and optimal
k-anonymity, 2012 (chains); El Emam et al.: A globally optimal k-anonymity method for the
de-identification of health data, 2009 (predictive tagging); Samarati 2001 (minimal nodes).

What is told to finer nodes: with no row suppressed all that a monotone rule says; with rows
suppressed what its *row-monotone* parts say (k-anonymity, distinct diversity), because a class that
passes may be spoilt by rows of one that does not, for entropy diversity or t-closeness. A rule that
merging may break is judged at every node that could be best.

What it does not give: what local recoding reaches, because one sparse corner lifts a column for
everybody (see local, tree-order). That the finer nodes break the rule is known to whoever knows
the method (minimality attack).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.core.errors import UsageError
from shoal.core.model import Model
from shoal.core.tally import Cut, Tally
from shoal.kernels import rollup
from shoal.methods._lattice.ladder import describe_levels, map_levels
from shoal.methods._lattice.level_bounds import bound_rungs, explain_level_refusal
from shoal.methods._lattice.node_costs import create_cost
from shoal.methods._lattice.node_search import SearchBudget, check_lattice_size, create_search
from shoal.methods._lattice.rolled_tables import RolledTables
from shoal.methods._shared.progress import Progress
from shoal.methods._shared.refusals import check_quasi

PUBLISHES_LEVELS = True
"""A column is published at one level of its hierarchy."""
KERNELS = (rollup,)
"""What is compiled when it first runs on a machine."""


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
    """The table at the levels that cost the least by a measure.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every published class must meet.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        How many rows may be suppressed at most.
    measure
        What is minimised: one of ``shoal.methods._lattice.node_costs.MEASURES``.
    levels
        Fixes or bounds columns: ``"sex=0, age=1..3, zip=2.."``.
    minimal
        Whether the facts list all minimal combinations of levels too.
    nodes, seconds
        Limit the search. Within a limit a lattice of more than four million nodes is searched as
        well, downhill from the first node that passes.

    Returns
    -------
    Cut
        The classes; its facts: the level of each column, the measure and its ``value``, how many
        ``nodes`` there are and were ``checked``, and whether the search came to its end
        (``complete``).

    Raises
    ------
    NotMetError
        No combination of levels meets the model with so few rows suppressed.
    UsageError
        A level or measure that there is not, a lattice too large without a limit, or ``minimal``
        within one.
    """
    check_quasi(tally)
    ladders = bound_rungs(tally, levels)
    budget = SearchBudget.of(nodes, seconds)
    size = check_lattice_size(ladders, budget)
    if minimal and budget.limited:
        raise UsageError(
            "All minimal combinations cannot be told within a limit.",
            "leave out minimal, or the limit (nodes, seconds).",
        )
    tables = RolledTables.of(tally, model, ladders)
    search = create_search(tables, create_cost(measure, tables), hold_back, budget, progress)
    best = search.run()
    if best is None:
        raise explain_level_refusal(tables, hold_back, search)
    facts = {"measure": measure, "value": best.value, "nodes": size}
    if minimal:
        facts["minimal"] = [map_levels(tally, tables.rungs(node)) for node in search.minimal()]
    facts |= {"checked": budget.checked, "complete": search.complete}
    search.advance.end()
    cut = tables.cut(best.node).without(best.suppressed)
    return replace(cut, facts=describe_levels(tally, tables.rungs(best.node)) | facts)
