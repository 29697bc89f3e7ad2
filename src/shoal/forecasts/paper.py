"""The paper's estimator: how likely a data set drawn from marginals shares l values with a class.

Sattar and Helal, Privacy risk against composition attack, 2018. The probability of a record is
the product of its values' marginal probabilities, so that of one in the cells of class E with
value s is P(E) P(s), P(E) = prod_i P(cell_i). A hypothesised data set of n such records holds it
with p_s = 1 - (1 - P(E) P(s))^n. The class is exposed (there: vulnerable) where l common values
are less sure than the confidence level C. "forall s^l" in definition 7 has two readings:

    at least       P(at least l of the class's values appear) < C, a Poisson binomial
    best subset    max over sets of l values of P(all of them appear) < C: the l largest p_s

With J other releases a value is common to all with p_s^J.

It takes quasi-identifiers and values to be independent, the other table to have the same cells,
and knows nothing of how many people are in both. On real tables it is off by an order of magnitude
(compare with the other estimators); it is here because it is the paper's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.errors import UsageError
from shoal.core.tally import Population
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.our_table import OurTable, OverlapScenario
from shoal.kernels.combinatorics import compute_chance_of_fewer

READINGS = ("at least", "best subset")


def estimate_by_paper(
    ours: OurTable, scenario: OverlapScenario, reading: str = "at least"
) -> ExposureEstimate:
    """The paper's estimate; per class the probability that fewer than l values are common."""
    if reading not in READINGS:
        raise UsageError(
            f"There is no reading {reading!r}.", f"the readings are: {', '.join(READINGS)}."
        )
    chance = compute_value_chances(ours, scenario)
    start = ours.nonblank_histogram.start
    if reading == "at least":
        common = 1 - compute_chance_of_fewer(start, chance, np.full(ours.classes, -1), scenario.l)
    else:
        common = _multiply_likeliest(start, chance, scenario.l)
    common[ours.nonblank_histogram.distinct == 0] = 1.0  # of missing values alone nothing is known
    exposed = common < scenario.confidence
    details = {"reading": reading, "confidence": scenario.confidence, "exposed": int(exposed.sum())}
    assumptions = (*list_paper_assumptions(ours), *ours.blank_assumption)
    return ExposureEstimate(
        f"paper, {reading}", float(exposed.mean()), 1 - common, None, assumptions, details
    )


def list_paper_assumptions(ours: OurTable) -> tuple[str, ...]:
    """What the paper takes to be so."""
    everybody = "our people" if ours.population is None else "the people of the population"
    return (
        "quasi-identifiers and the sensitive value are independent of each other",
        "the other release has the cells of ours",
        f"its people are drawn with replacement, each column as {everybody} have it",
        "nothing is known of who is in both",
    )


def compute_value_chances(ours: OurTable, scenario: OverlapScenario) -> NDArray[np.float64]:
    """p_s^J of each value of each class, in the histogram's order."""
    histogram = ours.nonblank_histogram
    record = compute_class_chances(ours)[histogram.class_] * ours.prior[histogram.value]
    # 1 - (1 - x)^n without cancellation, for x is tiny and n large.
    with np.errstate(divide="ignore"):
        chances: NDArray[np.float64] = -np.expm1(scenario.rows * np.log1p(-record))
    return chances**scenario.others


def compute_class_chances(ours: OurTable) -> NDArray[np.float64]:
    """P(E): the product of the marginal probabilities of each class's cells."""
    people = ours.population or Population(ours.keys, np.ones(ours.people, np.int64))
    total = people.count.sum()
    chance = np.ones(ours.classes)
    for j, axis in enumerate(ours.quasi):
        count = np.bincount(people.keys[j], weights=people.count, minlength=axis.size)
        chance *= _count_inside(ours.cells, j, count) / total
    return chance


def _count_inside(cells: Cells, column: int, count: NDArray[Any]) -> NDArray[np.float64]:
    """How many of the counted people each class's cell in one column holds."""
    if column in cells.sets:
        raw = np.ascontiguousarray(cells.sets[column], dtype="<u8").view(np.uint8)
        held = np.unpackbits(raw, axis=1, count=len(count), bitorder="little")
        return np.asarray(held @ count, np.float64)
    below = np.concatenate([[0.0], np.cumsum(count)])
    return np.asarray(below[cells.high[:, column] + 1] - below[cells.low[:, column]], np.float64)


def _multiply_likeliest(
    start: NDArray[np.int64], chance: NDArray[np.float64], l: int
) -> NDArray[np.float64]:
    """Per class the product of its l largest chances; 0 where it has fewer values."""
    classes = len(start) - 1
    of = np.repeat(np.arange(classes), np.diff(start))
    order = np.lexsort((-chance, of))
    rank = np.arange(len(chance)) - start[:-1][of]  # the same classes' places, sorted
    product = np.ones(classes)
    np.multiply.at(product, of[rank < l], chance[order][rank < l])
    product[np.diff(start) < l] = 0.0
    return product
