"""From the paper's estimate to the closed form, one assumption lifted at a time.

paper, at least                 people in a class's cells by independent columns, n P(E) of them;
                                a class is exposed where l common values are less sure than C
paper, people counted           the same with as many people there as the class has here
chance in place of C            a class counts with its chance of fewer than l common values, not as
                                a whole or not at all
times somebody in both          times the chance that somebody of the class is in both
own value common                whoever is in both has their own value in common: fewer than l - 1
                                of the class's other values appear; the mean over its people
closed form, everybody alike    all who are in both are counted and not one of them: the closed form
                                with values as the whole table has them
closed form                     values are drawn from people who are alike

What each step does to the error says what the paper's estimate lacks (Sattar and Helal 2018). What
a step does depends on those before it: lifted in another order they may do more or less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.histogram import Histogram
from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import LocalDistribution
from shoal.forecasts.our_table import OurTable, OverlapScenario
from shoal.kernels.combinatorics import compute_chance_of_fewer

COUNTED, CHANCE, SOMEBODY, OWN, ALIKE = (
    "paper, people counted",
    "chance in place of C",
    "times somebody in both",
    "own value common",
    "closed form, everybody alike",
)
WEIGHT = 1.0
"""How much the table's shares of values weigh beside its counts of them: the two are the same."""


def lift_assumptions(ours: OurTable, scenario: OverlapScenario) -> Iterator[ExposureEstimate]:
    """What lies between the paper's estimate and the closed form, in turn."""
    appears = _chance_of_value(ours, scenario)
    fails = compute_chance_of_fewer(
        ours.histogram.start, appears, np.full(ours.classes, -1), scenario.l
    )
    yield ExposureEstimate(COUNTED, float((1 - fails < scenario.confidence).mean()), fails)
    yield ExposureEstimate(CHANCE, float(fails.mean()), fails)
    somebody = 1 - (1 - scenario.overlap) ** ours.histogram.rows
    yield ExposureEstimate(SOMEBODY, float((somebody * fails).mean()), somebody * fails)
    own = somebody * _chance_besides_own(ours.histogram, appears, scenario.l - 1)
    yield ExposureEstimate(OWN, float(own.mean()), own)
    yield estimate_alike(ours, scenario)


def _chance_of_value(ours: OurTable, scenario: OverlapScenario) -> NDArray[np.float64]:
    """Of every class and value the chance that the value appears there, with people counted."""
    histogram = ours.histogram
    share = histogram.rows[histogram.class_] / ours.people * ours.prior[histogram.value]
    with np.errstate(divide="ignore"):
        chance: NDArray[np.float64] = -np.expm1(scenario.rows * np.log1p(-share))
    return chance


def _chance_besides_own(
    histogram: Histogram, appears: NDArray[np.float64], need: int
) -> NDArray[np.float64]:
    """Per class how likely fewer than ``need`` values appear beside the own, the mean over people.

    A group for each class and value: the class's other values.
    """
    of, first = histogram.class_, histogram.start[histogram.class_]
    number = histogram.distinct[of]
    start = np.concatenate([[0], np.cumsum(number)])
    group = np.repeat(np.arange(len(of)), number)
    pair = np.arange(start[-1]) + (first - start[:-1])[group]
    own = np.arange(len(of)) - first + start[:-1]
    fails = compute_chance_of_fewer(start, appears[pair], own, need)
    share: NDArray[np.float64] = histogram.sum(fails * histogram.count) / histogram.rows
    return share


def estimate_alike(ours: OurTable, scenario: OverlapScenario) -> ExposureEstimate:
    """The closed form where anybody's value is like the whole table's."""
    one_group = np.zeros(ours.people, np.int32)
    same_for_all = LocalDistribution(ours, one_group, 0, WEIGHT, float("nan"))
    return replace(estimate_by_closed_form(ours, same_for_all, scenario), name=ALIKE)
