"""What each guarantee makes of a table: classes under a rule, or noise under differential privacy.

Both schools publish the same half of a table. Releases are made in memory with a study's seed and
are never published: noise that somebody can draw again protects nobody.

    partition    classes by a method under a rule; values stand in them as they are
    randomised   classes of quasi-identifiers alone; every value an answer by k-ary randomised
                 response (Kairouz, Oh, Viswanath 2016), ε for one person's value
    counts       every pair of columns counted over bins of the schema, with discrete Laplace noise,
                 made consistent; ε for one person's row
    synthetic    people made up from noisy counts of columns and of pairs that are chosen with
                 noise too (McKenna, Miklau, Sheldon 2021); they are counted as anybody's

Does not give: the best that either school can do. Each is as its defaults have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.answer_beliefs import Floats
from shoal.attacks._shared.joined_beliefs import (
    ClassLikelihoods,
    LikelihoodSource,
    NaiveBayesTables,
)
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.core.spend import Spend, format_budget
from shoal.core.tally import Cut, Tally
from shoal.dp.bins import build_all_bins
from shoal.dp.randomised_response import calibrate_response
from shoal.engines.protocol import CodeCounts
from shoal.forecasts.real_intersection import assign_rows_to_classes
from shoal.kernels.grouping import number_combinations as distinct
from shoal.measures.loss import loss
from shoal.measures.marginals import EstimatedRows, marginals
from shoal.releases.draft import make_cut
from shoal.releases.forms._noise.distance_from_original import (
    estimate_over_leaves,
    measure_bin_loss,
    measure_noise_utility,
)
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import MarginalPlan
from shoal.releases.forms.counts import Counts
from shoal.releases.forms.synthetic import Synthetic
from shoal.releases.options import (
    COUNTS,
    PARTITION,
    RANDOMISED,
    SYNTHETIC,
    Progress,
    Request,
    ignore_progress,
)
from shoal.verbs.side_by_side.two_tables import CodedPeople

METHOD = "mondrian"


@dataclass(frozen=True)
class Unpublished:
    """A release that is made for the attack alone: what it tells of people, and what is lost."""

    view: LikelihoodSource
    loss: float
    """By the measure ``marginals``."""
    width: float | None = None
    """The mean width of its cells, where it has any."""
    noiseless: float | None = None
    """What would be lost without noise, to bins or classes alone."""


@dataclass(frozen=True)
class Guarantee:
    """A form with what it promises: a rule, or an ε."""

    form: str
    rule: Model | None = None
    spend: Spend | None = None
    progress: Progress = field(default=ignore_progress, compare=False)

    @property
    def name(self) -> str:
        """What it is called in a table."""
        if self.spend is None:
            return str(self.rule)
        return f"{self.form}, ε = {format_budget(self.spend.epsilon)}"

    def make(self, people: CodedPeople, prior: Floats, rng: np.random.Generator) -> Unpublished:
        """The release of a table."""
        return _MAKERS[self.form](self, people, prior, rng)


def _publish_partition(
    guarantee: Guarantee, people: CodedPeople, prior: Floats, rng: np.random.Generator
) -> Unpublished:
    assert guarantee.rule is not None
    tally, entry = people.count_entries()
    cut = _cut_classes(tally, people, guarantee.rule, guarantee.progress)
    counts = _count_by_class(
        cut, assign_rows_to_classes(cut, entry, rng), people.values, people.sensitive.size
    )
    view = ClassLikelihoods.of(cut.cells, counts, np.eye(people.sensitive.size), prior)
    return Unpublished(view, marginals(tally, cut), loss(tally, cut))


def _publish_randomised(
    guarantee: Guarantee, people: CodedPeople, prior: Floats, rng: np.random.Generator
) -> Unpublished:
    """Classes in which every value is an answer; the values are not looked at to make them."""
    assert guarantee.rule is not None
    assert guarantee.spend is not None
    of_leaf, plan = _bin_leaves(people)
    bin_of_value, size = of_leaf[-1], plan.sizes[-1]
    response = calibrate_response(guarantee.spend, size)
    tally, entry = _tally_without_values(people)
    cut = _cut_classes(tally, people, guarantee.rule, guarantee.progress)
    class_, true = assign_rows_to_classes(cut, entry, rng), bin_of_value[people.values]
    counts = _count_by_class(cut, class_, response.answered(true, rng), size)
    view = ClassLikelihoods.of(cut.cells, counts, response.matrix()[bin_of_value], prior)
    expected = _count_by_class(cut, class_, true, size) @ response.matrix()
    losses = [
        marginals(
            people.tally,
            EstimatedRows.of(cut.cells, estimate_over_leaves(response, answers, bin_of_value)),
        )
        for answers in (counts.astype(np.float64), expected)
    ]
    return Unpublished(view, losses[0], loss(tally, cut), losses[1])


def _publish_counts(
    guarantee: Guarantee, people: CodedPeople, prior: Floats, rng: np.random.Generator
) -> Unpublished:
    """Tables of counts, or of people who were made up from some."""
    assert guarantee.spend is not None
    of_leaf, plan = _bin_leaves(people)
    codes = [
        bins[leaves] for bins, leaves in zip(of_leaf, (*people.keys, people.values), strict=True)
    ]
    measured = MeasuredTable(plan, CodeCounts(tuple(codes), np.ones(len(people), np.int64)))
    form = Counts.of if guarantee.form == COUNTS else Synthetic.of
    tables = form(plan, guarantee.spend).draft(measured, rng).estimates
    last = len(plan.bins) - 1
    view = NaiveBayesTables(of_leaf, [tables[(column, last)] for column in range(last)])
    loss_share = float(measure_noise_utility(people.tally, plan, tables)["marginals"])
    return Unpublished(view, loss_share, noiseless=measure_bin_loss(people.tally, measured))


_MAKERS: dict[str, Callable[[Guarantee, CodedPeople, Floats, np.random.Generator], Unpublished]] = {
    PARTITION: _publish_partition,
    RANDOMISED: _publish_randomised,
    COUNTS: _publish_counts,
    SYNTHETIC: _publish_counts,
}


def _cut_classes(tally: Tally, people: CodedPeople, rule: Model, progress: Progress) -> Cut:
    schema = Schema(people.columns)
    return make_cut(tally, Request(schema=schema, rule=rule, method=METHOD, progress=progress))


def _tally_without_values(people: CodedPeople) -> tuple[Tally, NDArray[np.int32]]:
    """The people's quasi-identifiers alone, counted, and each row's entry."""
    entry, first = distinct(list(people.keys), [axis.size for axis in people.quasi])
    count = np.bincount(entry, minlength=len(first)).astype(np.int64)
    keys = np.ascontiguousarray(people.keys[:, first])
    return Tally(people.quasi, (), keys, np.zeros((0, len(first)), np.int32), count), entry


def _count_by_class(
    cut: Cut, class_: NDArray[Any], published: NDArray[Any], size: int
) -> NDArray[np.int64]:
    pair = class_.astype(np.int64) * size + published
    return np.bincount(pair, minlength=cut.classes * size).reshape(cut.classes, size)


def _bin_leaves(people: CodedPeople) -> tuple[list[NDArray[np.int32]], MarginalPlan]:
    """Of every column the bin of each leaf, and the plan of them, which the schema alone decides.

    The last is the value's. Leaves of a taxonomy that the domain leaves out have none, nor rows.
    """
    schema = Schema(people.columns)
    plan = MarginalPlan(schema, build_all_bins(schema))
    axes = (*people.quasi, people.sensitive)
    return [bins.of_leaves(axis) for bins, axis in zip(plan.bins, axes, strict=True)], plan
