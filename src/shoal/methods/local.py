"""Local: full-domain recoding again and again, each time of the people who are left.

In every round the finest levels are looked for at which at least a share of the people who are
left come into classes that meet the rule; those are published at these levels, and the rest goes
into the next round. Most people so keep much finer cells than one level for everybody allows. Where
the last people cannot meet the rule by themselves, the latest rounds are taken back until they can
together with them.

Prasser, Eicher, Spengler, Bild, Kuhn: Flexible data anonymization using ARX, Software: Practice and
Experience 50, 2020 (local recoding by full-domain generalisation of the rows suppressed before).

What it does not give: cells that do not overlap. A person may lie in the cells of several classes,
which makes locating them harder, not easier; `shoal attack` counts them all. It gives no optimum:
a round does not know the next ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.errors import UsageError
from shoal.core.model import Model, list_joint_columns
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally, sensitive_columns
from shoal.kernels import rollup
from shoal.methods._lattice.ladder import Rung
from shoal.methods._lattice.level_bounds import bound_rungs, explain_level_refusal
from shoal.methods._lattice.node_costs import create_cost
from shoal.methods._lattice.node_search import (
    NodeSearch,
    SearchBudget,
    check_lattice_size,
    create_search,
)
from shoal.methods._lattice.rolled_tables import RolledTables
from shoal.methods._shared.breaking_classes import mend_classes
from shoal.methods._shared.judged_columns import sum_values
from shoal.methods._shared.points import select_entries
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._shared.refusals import check_quasi

PUBLISHES_LEVELS = True
"""A cell is a node of a hierarchy."""
Entries = NDArray[np.int64]
KERNELS = (rollup,)
"""What is compiled when it first runs on a machine."""


def local(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    measure: str = "loss",
    levels: str = "",
    share: float = 0.1,
    nodes: int | None = None,
) -> Cut:
    """Publish round by round, each at the levels that cost the least.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        How many rows may be suppressed at most.
    measure, levels
        As in full-domain.
    share
        Which share of the people who are left must be placed in a round: less is finer and takes
        longer.
    nodes
        Limits the search of each round.

    Returns
    -------
    Cut
        The classes; its facts: the number of ``rounds``, the nodes ``checked``, and whether every
        search came to its end (``complete``).

    Raises
    ------
    NotMetError
        No combination of levels meets the model with so few rows suppressed.
    UsageError
        A share, level or measure that there is not, or a lattice too large without a limit.
    """
    if not 0 < share <= 1:
        raise UsageError("share is above 0 and at most 1.", "write for example share=0.1.")
    check_quasi(tally)
    ladders = bound_rungs(tally, levels)
    check_lattice_size(ladders, SearchBudget.of(nodes, None))
    rounds = _Rounds(_with_reference(tally, model), model, ladders, measure, nodes)
    advance = Advance(progress)
    rounds.run(share, hold_back, advance)
    cut = _join_rounds(tally, model, rounds, hold_back)
    advance.end()
    return cut


def _with_reference(tally: Tally, model: Model) -> Tally:
    """The tally, as a part of which the rest is judged: against the values of everybody."""
    if tally.reference:
        return tally
    return replace(
        tally, reference=sum_values(tally, sensitive_columns(tally, list_joint_columns(model)))
    )


@dataclass
class _Rounds:
    """What was published in each round (entries and their cut), and who is left."""

    tally: Tally
    model: Model
    ladders: tuple[tuple[Rung, ...], ...]
    measure: str
    nodes: int | None
    published: list[tuple[Entries, Cut]] = field(default_factory=list)
    checked: int = 0
    search: NodeSearch | None = None
    """That of the latest round."""
    complete: bool = True
    """No round was stopped by its limit."""

    def run(self, share: float, hold_back: int, advance: Advance) -> None:
        rest: Entries = np.arange(self.tally.entries)
        while len(rest):
            people = int(self.tally.count[rest].sum())
            left = people / self.tally.rows
            report = advance.part(1 - left, 1 - left + share * left)
            cut = self._search_round(rest, people - max(1, int(np.ceil(share * people))), report)
            if cut is None and self.published and people <= hold_back:
                break
            if cut is None:
                rest, cut = self._undo_rounds(rest, hold_back)
            self.published.append((rest, cut))
            rest = rest[cut.class_ < 0]

    def _search_round(
        self, rest: Entries, limit: int, progress: Progress | None = None
    ) -> Cut | None:
        remaining = select_entries(self.tally, rest)
        tables = RolledTables.of(remaining, self.model, self.ladders)
        budget = SearchBudget.of(self.nodes, None)
        cost = create_cost(self.measure, tables)
        self.search = create_search(tables, cost, limit, budget, progress, placed_later=True)
        best = self.search.run()
        self.checked += budget.checked
        self.complete &= self.search.complete
        return None if best is None else tables.cut(best.node).without(best.suppressed)

    def _undo_rounds(self, rest: Entries, hold_back: int) -> tuple[Entries, Cut]:
        """The rest with as many of the latest rounds as it takes, placed at once."""
        while self.published:
            rest, _ = self.published.pop()
            cut = self._search_round(rest, hold_back)
            if cut is not None:
                return rest, cut
        raise explain_level_refusal(
            RolledTables.of(self.tally, self.model, self.ladders), hold_back, self.search
        )


def _join_rounds(tally: Tally, model: Model, rounds: _Rounds, hold_back: int) -> Cut:
    """All rounds as one cut; mended where classes that were judged apart fail together."""
    class_ = np.full(tally.entries, SUPPRESSED, dtype=np.int32)
    cells, classes = [], 0
    for entries, cut in rounds.published:
        placed = cut.class_ >= 0
        class_[entries[placed]] = cut.class_[placed] + classes
        cells.append(cut.cells)
        classes += cut.classes
    entry = np.arange(tally.entries, dtype=np.int32)
    facts = {
        "rounds": len(rounds.published),
        "measure": rounds.measure,
        "checked": rounds.checked,
        "complete": rounds.complete,
    }
    joined = _order_classes(Cut(entry, class_, tally.count, Cells.joined(cells), facts).merged())
    groups = Groups.of(tally, joined, list_joint_columns(model))
    if model.holds(groups).all():
        return joined
    return mend_classes(
        tally, model, entry, joined.class_, tally.count, hold_back=hold_back, facts=facts
    )


def _order_classes(cut: Cut) -> Cut:
    """The cut with its classes in the order of their cells, whatever that of the entries is."""
    order = np.lexsort((*cut.cells.high.T[::-1], *cut.cells.low.T[::-1]))
    number = np.append(np.argsort(order), SUPPRESSED).astype(np.int32)
    return replace(cut, class_=number[cut.class_], cells=cut.cells.take(order))
