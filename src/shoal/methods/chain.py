"""Chain: one level for the whole column, the finest along a line of coarser and coarser tables.

Full-domain generalisation: every quasi-identifier is published at one level of its hierarchy, as
it is, at a level between, or as ``*``; null stands alone until ``*``. The chain begins with all
columns as they are and ends with all as ``*``; each step lifts one column by one level: the one
with the most labels left for its weight (labels ÷ weight; the first of equals). Every class of a
step is a union of classes of the step before. Where merging classes never breaks the rule, it
therefore holds at all steps from some step on, and bisection finds that step with about
log2(steps) judgements; any other rule is judged step by step, from the finest. Each judgement is
about the whole table, so that rules serve which cannot judge a class alone.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, section 3.4: minimal safe tables by binary search
along a chain. Sweeney: Achieving k-anonymity privacy protection using generalization and
suppression, 2002: lifting the column with the most distinct values (Datafly).

What it does not give: the least loss of all full-domain tables, for those beside the chain are not
looked at; nor what local recoding reaches, because one sparse corner lifts a column for everybody.
A column without levels has only one step, to ``*``. That the step before would have broken the
rule is known to whoever knows the method (minimality attack).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import Model, list_joint_columns
from shoal.core.tally import Cut, Groups, Tally
from shoal.kernels import grouping
from shoal.methods._lattice.ladder import Rung, build_ladder, describe_levels, recode_to_rungs
from shoal.methods._shared.breaking_classes import suppress_breaking_classes
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._shared.refusals import check_quasi, explain_not_met

PUBLISHES_LEVELS = True
"""A column is published at one level of its hierarchy."""
KERNELS = (grouping,)
"""What is compiled when it first runs on a machine."""


def chain(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    order: Sequence[str] | None = None,
) -> Cut:
    """The finest table of the chain that meets the model.

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
        Above 0: where even the coarsest table does not meet the model, the step is taken that loses
        the fewest rows, and its classes that fail are suppressed.
    order
        Columns that are lifted before all others, each up to ``*`` before the next: those that may
        be lost first.

    Returns
    -------
    Cut
        The classes; its facts: the level of each column (0: as it is), the ``steps`` of the chain,
        and how many of them were ``judged``.

    Raises
    ------
    NotMetError
        No table of the chain meets the model, and no row may be suppressed.
    UsageError
        ``order`` names something that is no quasi-identifier, or one twice.
    """
    check_quasi(tally)
    level_chain = _LevelChain.of(tally, model, _find_first_columns(tally, order), Advance(progress))
    step = level_chain.find_finest(hold_back)
    if step < len(level_chain.steps):
        return level_chain.add_levels(step, level_chain.cut_at(step))
    if not hold_back:
        raise explain_not_met(model, level_chain.count_groups(level_chain.cut_at(-1)))
    return level_chain.add_levels(*level_chain.find_fewest_suppressed())


@dataclass
class _LevelChain:
    """The steps, each a rung for every column (steps, columns), and how many were judged."""

    tally: Tally
    model: Model
    ladders: tuple[tuple[Rung, ...], ...]
    steps: NDArray[np.int64]
    advance: Advance
    expected: int = 0
    """How many judgements it takes at the most."""
    judged: int = 0

    @classmethod
    def of(
        cls, tally: Tally, model: Model, first_columns: Sequence[int], advance: Advance
    ) -> _LevelChain:
        ladders = tuple(build_ladder(axis) for axis in tally.quasi)
        return cls(tally, model, ladders, _list_steps(tally, ladders, first_columns), advance)

    def rungs_at(self, step: int) -> list[Rung]:
        return [rungs[at] for rungs, at in zip(self.ladders, self.steps[step], strict=True)]

    def cut_at(self, step: int) -> Cut:
        return recode_to_rungs(self.tally, self.rungs_at(step))

    def count_groups(self, cut: Cut) -> Groups:
        return Groups.of(self.tally, cut, list_joint_columns(self.model))

    def find_finest(self, hold_back: int) -> int:
        """The finest step at which the model holds; the number of steps where it never does."""
        steps = range(len(self.steps))
        bisects = self.model.monotone
        self.expected = len(steps).bit_length() if bisects else len(steps)
        self.expected += len(steps) if hold_back else 0
        if bisects:
            return bisect_left(steps, True, key=self._holds)
        return next((step for step in steps if self._holds(step)), len(steps))

    def _holds(self, step: int) -> bool:
        holds = self.model.holds(self.count_groups(self.cut_at(step)))
        self._report_judgement()
        return bool(holds.all())

    def find_fewest_suppressed(self) -> tuple[int, Cut]:
        steps = range(len(self.steps))
        attempts = ((step, self._suppress_failing(self.cut_at(step))) for step in steps)
        return min(attempts, key=lambda attempt: attempt[1].suppressed)

    def _suppress_failing(self, cut: Cut) -> Cut:
        """The classes that meet the model, also once the others no longer count as published."""
        self._report_judgement()
        return suppress_breaking_classes(self.tally, self.model, cut)

    def _report_judgement(self) -> None:
        self.judged += 1
        self.advance.to(self.judged / self.expected)

    def add_levels(self, step: int, cut: Cut) -> Cut:
        self.advance.end()
        work = {"steps": len(self.steps), "judged": self.judged}
        return replace(cut, facts=describe_levels(self.tally, self.rungs_at(step)) | work)


def _list_steps(
    tally: Tally, ladders: Sequence[Sequence[Rung]], first_columns: Sequence[int]
) -> NDArray[np.int64]:
    """Which rung each column stands on at each step, (steps, columns)."""
    codes_present = [np.unique(codes) for codes in tally.keys]
    labels_left = [
        np.array([rung.labels(codes) for rung in rungs]) / weight
        for rungs, codes, weight in zip(ladders, codes_present, tally.importance, strict=True)
    ]
    tops = [len(rungs) - 1 for rungs in ladders]
    lifted = [column for column in first_columns for _ in range(tops[column])]
    standing = [tops[column] if column in first_columns else 0 for column in range(len(tops))]
    while liftable := [column for column, top in enumerate(tops) if standing[column] < top]:
        column = max(liftable, key=lambda column: labels_left[column][standing[column]])
        standing[column] += 1
        lifted.append(column)
    steps = np.zeros((len(lifted) + 1, len(tops)), dtype=np.int64)
    steps[np.arange(1, len(steps)), lifted] = 1
    return np.cumsum(steps, axis=0)


def _find_first_columns(tally: Tally, order: Sequence[str] | None) -> list[int]:
    names = [axis.name for axis in tally.quasi]
    requested = [order] if isinstance(order, str) else order or ()
    hint = f"name some of: {', '.join(names)}; each once."
    if not isinstance(requested, Sequence) or any(name not in names for name in requested):
        raise UsageError("order names something that is no quasi-identifier.", hint)
    if len(set(requested)) < len(requested):
        raise UsageError("order names a column twice.", hint)
    return [names.index(name) for name in requested]
