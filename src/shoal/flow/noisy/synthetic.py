"""Synthetic: a table of made-up people, drawn from a model of noisy counts.

Three uses of the rows, each a third of the budget (MST: McKenna, Miklau, Sheldon, Winning the NIST
contest: a scalable and general approach to differentially private synthetic data, 2021):

    1  every column alone is counted, with noise
    2  pairs of columns are chosen that join all columns into a tree, each by permute-and-flip; the
       score of a pair is the L1 distance between its true counts and those it would have if its
       two columns, as step 1 has them, were independent
    3  the chosen pairs are counted, with noise

One person more or less changes one count of a pair by 1 and nothing that step 1 said, so a score
changes by at most 1. Where marginals are named there is nothing to choose: they are counted with
all of the budget. A graphical model of greatest entropy is fitted to what was counted, and people
are drawn from it (McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for
differential privacy, ICML 2019; the package mbi). Fitting and drawing read noisy counts alone.

It does not keep relations that no counted marginal has, and no row is anybody's. Unlike MST as
published, values that are rare are not merged before pairs are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import UsageError
from shoal.flow.noisy.accounted import ALONE, CHOICE, CHOOSING, EVERY, PAIRS, SENSITIVITY, Step
from shoal.flow.noisy.counts import added
from shoal.flow.noisy.drawn import Drawn
from shoal.flow.noisy.fitted import Noisy, check_fits, check_installed, made_up
from shoal.flow.noisy.measured import Exact
from shoal.flow.noisy.planned import Columns, Plan
from shoal.flow.noisy.request import option, typed
from shoal.flow.noisy.tree import joining
from shoal.flow.noisy.useful import of_people
from shoal.flow.request import Progress, quiet
from shoal.noise.choice import selection_scale
from shoal.noise.library import floor
from shoal.noise.mechanism import Noise, noise
from shoal.spend import Spend

_ROOM = Fraction(10**9 - 1, 10**9)
"""The share of ρ that is given out: the rest is for rounding it up when it is accounted for."""


@dataclass(frozen=True)
class Chosen:
    """What each third of a budget buys: noise on columns, choices of pairs, noise on those."""

    alone: Noise
    epsilon: Fraction
    """What one choice spends."""
    pairs: Noise


def thirds(spend: Spend, columns: int) -> Chosen:
    """A budget in three parts that add up to it; for three columns or more.

    >>> made = thirds(Spend(1), 4)
    >>> round(made.alone.scale, 6), made.epsilon, round(made.pairs.scale, 6)
    (12.0, Fraction(1, 9), 9.0)
    """
    pairs = columns - 1
    if not spend.delta:
        third = Spend(spend.epsilon / 3)
        return Chosen(noise(third, columns), third.epsilon / pairs, noise(third, pairs))
    # ρ adds up: noise for three times as many marginals as there are spends a third of it on these
    whole = noise(spend, 1).rho
    assert whole is not None, "there is a δ"
    alone, of_pairs = noise(spend, 3 * columns), noise(spend, 3 * pairs)
    used = [Step.of("", alone, columns), Step.of("", of_pairs, pairs)]
    rest = whole * _ROOM - sum((one.spend(spend.delta).rho or Fraction(0)) for one in used)
    each = Fraction(np.sqrt(floor(2 * rest / pairs))) * _ROOM  # a pure ε is ρ = ε²/2
    return Chosen(
        replace(alone, contributions=columns), each, replace(of_pairs, contributions=pairs)
    )


@dataclass(frozen=True)
class Synthetic:
    """What is to be counted for a model, and the noise of it; ``named``: nothing is chosen."""

    plan: Plan
    marginals: tuple[Columns, ...]
    """Those that are counted in any case: every column alone, or the named ones."""
    noise: Noise
    chosen: Chosen | None = None
    progress: Progress = quiet

    @classmethod
    def of(
        cls, plan: Plan, spend: Spend, asked: Any = None, progress: Progress = quiet
    ) -> Synthetic:
        """A model within a budget, of the marginals that are named or of chosen ones."""
        check_installed()
        columns = len(plan.bins)
        if asked is None and columns > 2:
            pairs = sorted(combinations(range(columns), 2), key=lambda one: plan.cells([one]))
            plan.check_size(pairs[1 - columns :])  # as large as any tree of them
            made = thirds(spend, columns)
            alone = tuple((column,) for column in range(columns))
            return cls(plan, alone, made.alone, made, progress)
        marginals = plan.marginals(columns if asked is None else _named(asked))
        _check_all(plan, marginals)
        plan.check_size(marginals)
        check_fits(plan, marginals)
        return cls(plan, marginals, noise(spend, len(marginals)), None, progress)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """One step, or three where pairs are chosen."""
        if self.chosen is None:
            return (Step.of(EVERY, self.noise),)
        pairs, scale = self.chosen.pairs, selection_scale(SENSITIVITY, self.chosen.epsilon)
        return (
            Step.of(ALONE, self.noise),
            Step(CHOOSING, CHOICE, scale, pairs.contributions),
            Step.of(PAIRS, pairs),
        )

    def counted(self, measured: Exact, rng: np.random.Generator | None) -> list[Noisy]:
        """Count with noise: all that looks at the rows."""
        counted = added(self.noise, measured.tables(self.marginals), rng, self.progress)
        known = [Noisy(counted, self.noise)]
        if self.chosen is not None:
            tree = joining(measured, known[0].tables, self.chosen.epsilon, rng, self.progress)
            counted = added(self.chosen.pairs, measured.tables(tree), rng, self.progress)
            known.append(Noisy(counted, self.chosen.pairs))
        return known

    def drawn(self, measured: Exact, rng: np.random.Generator | None) -> Drawn:
        """Count with noise, fit the model, and draw as many people as the counts say there are."""
        known = self.counted(measured, rng)
        codes = made_up(self.plan.sizes, known, rng, self.progress)
        marginals = tuple(one for part in known for one in part.tables)
        return Drawn(_written(self.plan, codes), marginals, of_people(codes, self.plan))

    def expected(self) -> dict[str, Any]:
        """The noise of one count of a column alone, and of a chosen pair."""
        pairs = {} if self.chosen is None else {"deviation_of_pairs": self.chosen.pairs.deviation}
        cells = self.plan.cells(self.marginals)
        return {"cells": cells, "deviation": self.noise.deviation, **pairs}


def _named(asked: Any) -> Any:
    """Named marginals; all of so many columns would be one table of all of them."""
    if isinstance(asked, int) and asked > 1:
        raise UsageError(
            "A synthetic table chooses its marginals by itself, or takes those that are named.",
            "leave --marginals out, or name them: --marginal age,sex --marginal sex,disease.",
        )
    return asked


def _check_all(plan: Plan, marginals: tuple[Columns, ...]) -> None:
    """Refuse columns of which nothing would be known."""
    counted = {column for one in marginals for column in one}
    if bare := [name for i, name in enumerate(plan.names) if i not in counted]:
        raise UsageError(
            f"Columns are in no marginal, and nothing is known of them: {typed(bare)}.",
            f"name them too: {option(bare[:1])}.",
        )


def _written(plan: Plan, codes: NDArray[np.int32]) -> pa.Table:
    """The made-up people: a row each, every cell a label of the schema's; empty cells are empty."""
    columns = {}
    for bins, own in zip(plan.bins, codes, strict=True):
        words = pa.array([label or None for label in bins.labels], pa.string())
        columns[bins.name] = words.take(pa.array(own))
    return pa.table(columns)
