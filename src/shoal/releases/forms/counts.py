"""Counts: noisy tables of how many people there are in each cell of each marginal.

Every cell of every marginal is published, whether anybody is in it or not, with a whole number
drawn from the discrete Laplace (δ = 0) or the discrete Gaussian distribution around its true count.
One person is in one cell of each marginal, so the noise grows with the number of marginals.

Marginals that share columns disagree about them by their noise. The ``estimate`` beside each count
is the least-squares one under which all of them agree: it is computed from the noisy counts alone,
and is closer to the truth on average wherever marginals overlap. It may be negative: cutting it at
0 would make every sum of cells too large.

Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006;
Barak et al., Privacy, accuracy, and consistency too, PODS 2007 (marginals that agree).

It does not say anything of columns that are not counted together, and small counts drown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.spend import Spend
from shoal.dp.consistency import make_consistent
from shoal.dp.mechanisms import Noise, calibrate_noise
from shoal.releases.forms._noise.accounted_spend import EVERY, Step
from shoal.releases.forms._noise.measured import ExactCounts, NoiseDraft, Tables
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.options import Progress, ignore_progress

MARGINAL, COUNT, ESTIMATE = "marginal", "count", "estimate"
"""The columns that a release of counts has beside those that are counted."""
TOGETHER = 2
"""How many columns are counted together unless somebody says otherwise."""
AT_ONCE = 1 << 16
"""Cells that noise is drawn for between two words about progress."""
DIGITS = 3
"""Digits of an estimate after the point: the noise is of whole people."""


@dataclass(frozen=True)
class Counts:
    """Marginals to be counted, and the noise that is added to each count."""

    plan: MarginalPlan
    marginals: tuple[Columns, ...]
    noise: Noise
    progress: Progress = ignore_progress

    @classmethod
    def of(
        cls,
        plan: MarginalPlan,
        spend: Spend,
        wanted: Any = None,
        progress: Progress = ignore_progress,
    ) -> Counts:
        """The counts of the marginals that are asked for, within a budget."""
        marginals = plan.marginals(TOGETHER if wanted is None else wanted)
        check_marginal_names(plan, marginals)
        plan.check_size(marginals)
        return cls(plan, marginals, calibrate_noise(spend, len(marginals)), progress)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All marginals at once."""
        return (Step.of(EVERY, self.noise),)

    def draft(self, measured: ExactCounts, rng: np.random.Generator | None) -> NoiseDraft:
        """Add the noise, and make the marginals agree."""
        counts = add_noise(self.noise, measured.tables(self.marginals), rng, self.progress)
        estimates = make_consistent(counts, self.plan.sizes)
        return NoiseDraft(tabulate_counts(self.plan, counts, estimates), self.marginals, estimates)

    def expected_noise(self) -> dict[str, Any]:
        """The noise of one count, and how many counts there are."""
        return {"cells": self.plan.cells(self.marginals), "deviation": self.noise.deviation}


def check_marginal_names(plan: MarginalPlan, marginals: tuple[Columns, ...]) -> None:
    """Refuse columns that the published table could not tell from its own."""
    if taken := [name for name in plan.names if name in (MARGINAL, COUNT, ESTIMATE)]:
        raise UsageError(
            f"A release of counts has columns of its own of these names: {', '.join(taken)}.",
            "rename them in the table and in the schema.",
        )
    called = [plan.name(marginal) for marginal in marginals]
    if len(set(called)) < len(called):
        raise UsageError("Two marginals have the same name.", "rename the columns that have an ×.")


def add_noise(
    noise: Noise,
    tables: Tables,
    rng: np.random.Generator | None,
    progress: Progress = ignore_progress,
) -> Tables:
    """The tables with noise on every cell; all of them together spend what the noise is for.

    Every cell has its own draw, so that parts, for the progress, make no difference.
    """
    flat = np.concatenate([table.ravel() for table in tables.values()])
    drawn = np.empty_like(flat)
    for start in range(0, len(flat), AT_ONCE):
        progress("drawing noise", start, len(flat))
        drawn[start : start + AT_ONCE] = noise.added(flat[start : start + AT_ONCE], rng)
    ends = np.cumsum([table.size for table in tables.values()])[:-1]
    parts = np.split(drawn, ends)
    return {
        marginal: part.reshape(tables[marginal].shape)
        for marginal, part in zip(tables, parts, strict=True)
    }


def tabulate_counts(
    plan: MarginalPlan, counts: Tables, estimates: Mapping[Columns, NDArray[np.float64]]
) -> pa.Table:
    """The published table: a row for each cell of each marginal, in the order of the schema.

    A column that a marginal does not have is empty there.
    """
    which = np.repeat(np.arange(len(counts)), [table.size for table in counts.values()])
    names = pa.array([plan.name(marginal) for marginal in counts])
    columns = {MARGINAL: pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), names)}
    for place, bins in enumerate(plan.bins):
        codes = np.concatenate([_codes(plan, marginal, place) for marginal in counts])
        codes = pa.array(codes, mask=codes < 0)
        columns[bins.name] = pa.DictionaryArray.from_arrays(codes, pa.array(bins.printed))
    columns[COUNT] = pa.array(np.concatenate([table.ravel() for table in counts.values()]))
    estimated = np.concatenate([estimates[marginal].ravel() for marginal in counts])
    columns[ESTIMATE] = pa.array(round_estimates(estimated))
    return pa.table(columns)


def round_estimates(estimates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimates as they are written; none is a negative nothing."""
    return np.asarray(np.round(estimates, DIGITS) + 0.0)


def _codes(plan: MarginalPlan, marginal: Columns, place: int) -> NDArray[np.int32]:
    """A column's bins in the cells of a marginal, in their order; -1 where it is not in it."""
    shape = plan.shape(marginal)
    if place not in marginal:
        return np.full(int(np.prod(shape)), -1, np.int32)
    axis = marginal.index(place)
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(along, shape).ravel().astype(np.int32)
