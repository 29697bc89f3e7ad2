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
    """Publish round by round, each at the levels that cost the least; nothing in it is random.

    ``share`` of the people who are left must be placed in a round: less is finer and takes longer.
    ``measure`` and ``levels`` as in full-domain; ``nodes`` limits the search of each round. The
    cut's facts: rounds, nodes checked, and whether every search came to its end.
    """
    if not 0 < share <= 1:
        raise UsageError("share is above 0 and at most 1.", "write for example share=0.1.")
    check_quasi(tally)
    ladders = bound_rungs(tally, levels)
    check_lattice_size(ladders, SearchBudget.of(nodes, None))
    rounds = _Rounds(_referred(tally, model), model, ladders, measure, nodes)
    advance = Advance(progress)
    rounds.run(share, hold_back, advance)
    cut = _whole(tally, model, rounds, hold_back)
    advance.end()
    return cut


def _referred(tally: Tally, model: Model) -> Tally:
    """The tally, as a part of which the rest is judged: against the values of everybody."""
    totals = (
        np.bincount(codes, weights=tally.count, minlength=axis.size).astype(np.int64)
        for axis, codes in sensitive_columns(tally, list_joint_columns(model))
    )
    return tally if tally.reference else replace(tally, reference=tuple(totals))


@dataclass
class _Rounds:
    """What was published in each round (entries and their cut), and who is left."""

    tally: Tally
    model: Model
    ladders: tuple[tuple[Rung, ...], ...]
    measure: str
    nodes: int | None
    done: list[tuple[Entries, Cut]] = field(default_factory=list)
    checked: int = 0
    search: NodeSearch | None = None
    """That of the latest round."""
    complete: bool = True
    """No round was stopped by its limit."""

    def run(self, share: float, hold_back: int, advance: Advance) -> None:
        """Publish until nobody is left, or as few as may be held back."""
        rest: Entries = np.arange(self.tally.entries)
        while len(rest):
            people = int(self.tally.count[rest].sum())
            left = people / self.tally.rows
            report = advance.part(1 - left, 1 - left + share * left)
            cut = self._round(rest, people - max(1, int(np.ceil(share * people))), report)
            if cut is None and self.done and people <= hold_back:
                break
            if cut is None:
                rest, cut = self._taken_back(rest, hold_back)
            self.done.append((rest, cut))
            rest = rest[cut.class_ < 0]

    def _round(self, rest: Entries, limit: int, progress: Progress | None = None) -> Cut | None:
        """The rest at the levels that cost the least, as far as it meets the rule there."""
        part = _part(self.tally, rest)
        tables = RolledTables.of(part, self.model, self.ladders)
        budget = SearchBudget.of(self.nodes, None)
        by = create_cost(self.measure, tables)
        self.search = create_search(tables, by, limit, budget, progress, later=True)
        best = self.search.run()
        self.checked += budget.checked
        self.complete &= self.search.complete
        return None if best is None else tables.cut(best.node).without(best.lost)

    def _taken_back(self, rest: Entries, hold_back: int) -> tuple[Entries, Cut]:
        """The rest with as many of the latest rounds as it takes, placed at once."""
        while self.done:
            rest, _ = self.done.pop()
            cut = self._round(rest, hold_back)
            if cut is not None:
                return rest, cut
        raise explain_level_refusal(
            RolledTables.of(self.tally, self.model, self.ladders), hold_back, self.search
        )


def _part(tally: Tally, entries: Entries) -> Tally:
    """Some of the entries."""
    return replace(
        tally,
        keys=np.ascontiguousarray(tally.keys[:, entries]),
        values=np.ascontiguousarray(tally.values[:, entries]),
        count=tally.count[entries],
        providers=None if tally.providers is None else tally.providers[entries],
    )


def _whole(tally: Tally, model: Model, rounds: _Rounds, hold_back: int) -> Cut:
    """All rounds as one cut; mended where classes that were judged apart fail together."""
    class_ = np.full(tally.entries, SUPPRESSED, dtype=np.int32)
    cells, classes = [], 0
    for entries, cut in rounds.done:
        placed = cut.class_ >= 0
        class_[entries[placed]] = cut.class_[placed] + classes
        cells.append(cut.cells)
        classes += cut.classes
    entry = np.arange(tally.entries, dtype=np.int32)
    facts = {
        "rounds": len(rounds.done),
        "measure": rounds.measure,
        "checked": rounds.checked,
        "complete": rounds.complete,
    }
    whole = _numbered(Cut(entry, class_, tally.count, Cells.joined(cells), facts).merged())
    groups = Groups.of(tally, whole, list_joint_columns(model))
    if model.holds(groups).all():
        return whole
    return mend_classes(
        tally, model, entry, whole.class_, tally.count, hold_back=hold_back, facts=facts
    )


def _numbered(cut: Cut) -> Cut:
    """The cut with its classes in the order of their cells, whatever that of the entries is."""
    order = np.lexsort((*cut.cells.high.T[::-1], *cut.cells.low.T[::-1]))
    number = np.append(np.argsort(order), SUPPRESSED).astype(np.int32)
    return replace(cut, class_=number[cut.class_], cells=cut.cells.take(order))
