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
    """The finest table of the chain that meets the model; nothing in it is random.

    ``order`` names columns that are lifted before all others, each up to ``*`` before the next:
    those that may be lost first. ``hold_back``: where even the coarsest table does not meet the
    model, the step that loses the fewest rows, its classes that fail held back, instead of a
    refusal. The cut's facts: the level of each column (0: as it is), the steps of the chain, and
    how many of them were judged.
    """
    check_quasi(tally)
    line = _Chain.of(tally, model, _find_columns(tally, order), Advance(progress))
    at = line.finest(hold_back)
    if at < len(line.steps):
        return line.add_levels(at, line.cut(at))
    if not hold_back:
        raise explain_not_met(model, line.groups(line.cut(-1)))
    return line.add_levels(*line.fewest_held_back())


@dataclass
class _Chain:
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
    def of(cls, tally: Tally, model: Model, first: Sequence[int], advance: Advance) -> _Chain:
        """From all columns as they are to all as ``*``."""
        ladders = tuple(build_ladder(axis) for axis in tally.quasi)
        return cls(tally, model, ladders, _steps(tally, ladders, first), advance)

    def rungs(self, step: int) -> list[Rung]:
        """The rung of each column at one step."""
        return [rungs[at] for rungs, at in zip(self.ladders, self.steps[step], strict=True)]

    def cut(self, step: int) -> Cut:
        """The table at one step."""
        return recode_to_rungs(self.tally, self.rungs(step))

    def groups(self, cut: Cut) -> Groups:
        return Groups.of(self.tally, cut, list_joint_columns(self.model))

    def finest(self, hold_back: int) -> int:
        """The finest step at which the model holds; the number of steps where it never does."""
        steps = range(len(self.steps))
        bisected = self.model.monotone
        self.expected = len(steps).bit_length() if bisected else len(steps)
        self.expected += len(steps) if hold_back else 0
        if bisected:
            return bisect_left(steps, True, key=self._holds)
        return next((step for step in steps if self._holds(step)), len(steps))

    def _holds(self, step: int) -> bool:
        holds = self.model.holds(self.groups(self.cut(step)))
        self._count()
        return bool(holds.all())

    def fewest_held_back(self) -> tuple[int, Cut]:
        """The step that loses the fewest rows, the finest of equals, and what is left of it."""
        steps = range(len(self.steps))
        tried = ((step, self._settled(self.cut(step))) for step in steps)
        return min(tried, key=lambda one: one[1].suppressed)

    def _settled(self, cut: Cut) -> Cut:
        """The classes that meet the model, also once the others no longer count as published."""
        self._count()
        return suppress_breaking_classes(self.tally, self.model, cut)

    def _count(self) -> None:
        self.judged += 1
        self.advance.to(self.judged / self.expected)

    def add_levels(self, step: int, cut: Cut) -> Cut:
        """The cut with the level of each column, and the work it took."""
        self.advance.end()
        work = {"steps": len(self.steps), "judged": self.judged}
        return replace(cut, facts=describe_levels(self.tally, self.rungs(step)) | work)


def _steps(
    tally: Tally, ladders: Sequence[Sequence[Rung]], first: Sequence[int]
) -> NDArray[np.int64]:
    """Which rung each column stands on at each step, (steps, columns)."""
    present = [np.unique(codes) for codes in tally.keys]
    left = [
        np.array([rung.labels(codes) for rung in rungs]) / weight
        for rungs, codes, weight in zip(ladders, present, tally.importance, strict=True)
    ]
    tops = [len(rungs) - 1 for rungs in ladders]
    lifted = [column for column in first for _ in range(tops[column])]
    at = [tops[column] if column in first else 0 for column in range(len(tops))]
    while able := [column for column, top in enumerate(tops) if at[column] < top]:
        column = max(able, key=lambda column: left[column][at[column]])
        at[column] += 1
        lifted.append(column)
    steps = np.zeros((len(lifted) + 1, len(tops)), dtype=np.int64)
    steps[np.arange(1, len(steps)), lifted] = 1
    return np.cumsum(steps, axis=0)


def _find_columns(tally: Tally, order: Sequence[str] | None) -> list[int]:
    """The columns that the user wants lifted first, by number."""
    names = [axis.name for axis in tally.quasi]
    wanted = [order] if isinstance(order, str) else order or ()
    hint = f"name some of: {', '.join(names)}; each once."
    if not isinstance(wanted, Sequence) or any(name not in names for name in wanted):
        raise UsageError("order names something that is no quasi-identifier.", hint)
    if len(set(wanted)) < len(wanted):
        raise UsageError("order names a column twice.", hint)
    return [names.index(name) for name in wanted]
