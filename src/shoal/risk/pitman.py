"""Pitman's model of population uniqueness: class sizes follow Pitman's sampling formula.

The partition of n people into u classes, c_j of them of size j, has the likelihood

    Π_{i=1}^{u-1} (θ + iα) / Π_{i=1}^{n-1} (θ + i) · Π_j [Π_{i=1}^{j-1} (i - α)]^{c_j},

0 ≤ α < 1, θ > -α. The maximum is found by bisection in θ inside a bisection in α, so that it is
found wherever it exists. A population of N then has Γ(θ+1) Γ(N+θ+α-1) N / (Γ(θ+α) Γ(N+θ)) uniques
in expectation, near Γ(θ+1) / Γ(θ+α) · N^α for large N.

N. Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment,
J. Official Statistics 17 (2001). Where no α > 0 fits better, α = 0: Ewens's formula.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import digamma, gammaln

from shoal.risk.bisection import bisect
from shoal.risk.sizes import Estimate, Sizes, missing, nobody

ASSUMPTIONS = (
    "The table is a simple random sample of the population, whose class sizes follow Pitman's "
    "sampling formula; meant for sampling fractions up to 0.1 and raw, not generalised, values."
)
SMALLEST, LARGEST = 1e-6, 1 - 1e-9
"""Where α is looked for; a maximum below is Ewens's formula."""


def pitman(sizes: Sizes, fraction: float) -> Estimate:
    """The estimate from class sizes and the share of the population that is in the table."""
    population = sizes.population(fraction)
    if not sizes.having(1):
        return nobody("pitman", ASSUMPTIONS)
    if sizes.classes == sizes.rows:
        return missing("pitman", ASSUMPTIONS, "every row is unique: the likelihood has no maximum")
    if sizes.classes == 1:
        return missing("pitman", ASSUMPTIONS, "one class only: the likelihood has no maximum")
    theta, alpha = fit(sizes)
    if math.isnan(theta) or math.isnan(alpha):
        return missing("pitman", ASSUMPTIONS, "the likelihood has no maximum within bounds")
    uniques = expected_uniques(theta, alpha, population)
    return Estimate(
        "pitman",
        uniques,
        uniques / population,
        ASSUMPTIONS,
        parameters={"theta": theta, "alpha": alpha},
    )


def fit(sizes: Sizes) -> tuple[float, float]:
    """θ and α of the largest likelihood; nan where there is none."""

    def slope(alpha: float) -> float:
        return _score(sizes, _theta(sizes, alpha), alpha)[1]

    if slope(SMALLEST) <= 0:
        return _theta(sizes, 0.0), 0.0
    alpha = bisect(slope, SMALLEST, LARGEST)
    return _theta(sizes, alpha), alpha


def expected_uniques(theta: float, alpha: float, population: int) -> float:
    """How many of a population are unique, in expectation."""
    n = float(population)
    log = gammaln(theta + 1) - gammaln(theta + alpha) + gammaln(n + theta + alpha - 1)
    return float(np.exp(log - gammaln(n + theta))) * n


def _theta(sizes: Sizes, alpha: float) -> float:
    """The best θ for an α: the score falls from +∞ at -α to below 0, as u < n."""
    top = math.log(sizes.rows) + 30
    log = bisect(lambda x: _score(sizes, math.exp(x) - alpha, alpha)[0], -30.0, top)
    return math.exp(log) - alpha


def _score(sizes: Sizes, theta: float, alpha: float) -> tuple[float, float]:
    """The derivatives of the log likelihood by θ and by α."""
    n, u = sizes.rows, sizes.classes
    drawn = digamma(n + theta) - digamma(1 + theta)
    if alpha == 0:
        return float((u - 1) / theta - drawn), math.nan
    fresh = (digamma(u + theta / alpha) - digamma(1 + theta / alpha)) / alpha
    again = (sizes.number * (digamma(sizes.size - alpha) - digamma(1 - alpha))).sum()
    return float(fresh - drawn), float((u - 1 - theta * fresh) / alpha - again)
