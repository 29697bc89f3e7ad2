"""Pitman's model of population uniqueness: class sizes follow Pitman's sampling formula.

The partition of n people into u classes, c_j of them of size j, has the likelihood

    Π_{i=1}^{u-1} (θ + iα) / Π_{i=1}^{n-1} (θ + i) · Π_j [Π_{i=1}^{j-1} (i - α)]^{c_j},

0 ≤ α < 1, θ > -α. For each α one θ is best, inside bounds known beforehand; along α nothing
promises one peak, so the slope of the profile is followed over a grid, each peak is found exactly
and the highest is taken, the edge α = 0 (Ewens's formula) among them. A population of N then has
Γ(θ+1) Γ(N+θ+α-1) N / (Γ(θ+α) Γ(N+θ)) uniques in expectation, near Γ(θ+1) / Γ(θ+α) · N^α.

One θ: with a_i = 1/(θ+iα), i < u, and b_i = 1/(θ+i), i < n, a zero of the score has Σ a = Σ b. As
a_i ≥ b_i and u < n, the sequence a majorises b, so Σ a² > Σ b²: the score falls at each zero.

N. Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment,
J. Official Statistics 17 (2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, digamma, gammaln

from shoal.measures.risk.sizes import (
    ClassSizes,
    UniquenessEstimate,
    without_estimate,
    without_uniques,
)

Floats = NDArray[np.float64]

ASSUMPTIONS = (
    "The table is a simple random sample of the population, whose class sizes follow Pitman's "
    "sampling formula; meant for sampling fractions up to 0.1 and raw, not generalised, values."
)
ODDS = np.linspace(-12.0, 24.0, 361)
"""The log odds of α at which the profile's slope is followed; below them α is as good as 0."""
HALVINGS = 48
SUMMED_TERMS = 16
"""How many terms of a sum of reciprocals are added up; Euler and Maclaurin give the others."""
SMALL_RATIO = 1e-3


def pitman(sizes: ClassSizes, fraction: float) -> UniquenessEstimate:
    """The estimate from class sizes and the share of the population that is in the table."""
    population = sizes.population(fraction)
    if not sizes.having(1):
        return without_uniques("pitman", ASSUMPTIONS)
    if sizes.classes == sizes.rows:
        return without_estimate(
            "pitman", ASSUMPTIONS, "every row is unique: the likelihood has no maximum"
        )
    if sizes.classes == 1:
        return without_estimate(
            "pitman", ASSUMPTIONS, "one class only: the likelihood has no maximum"
        )
    theta, alpha = fit_pitman(sizes)
    uniques = expected_uniques(theta, alpha, population)
    return UniquenessEstimate(
        "pitman",
        uniques,
        uniques / population,
        ASSUMPTIONS,
        parameters={"theta": theta, "alpha": alpha},
    )


def fit_pitman(sizes: ClassSizes) -> tuple[float, float]:
    """θ and α of the largest likelihood, for at least two classes, of which one has two rows."""

    def slope(alpha: float) -> float:
        return float(_profile_slope(sizes, np.array([alpha]))[0])

    grid = 1 / (1 + np.exp(-ODDS))
    falls = _profile_slope(sizes, grid) <= 0
    # Each step from rising to falling holds a peak; the edge is one if the slope falls from it.
    steps = np.flatnonzero(~falls[:-1] & falls[1:])
    peaks = np.array([0.0, *(_find_peak(slope, grid[i], grid[i + 1]) for i in steps)])
    thetas = best_thetas(sizes, peaks)
    highest = int(np.argmax(log_likelihood(sizes, thetas, peaks)))
    return float(thetas[highest]), float(peaks[highest])


def _find_peak(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where the slope turns; an end where rounding hides that it does."""
    if slope(low) <= 0:
        return low
    return high if slope(high) > 0 else float(brentq(slope, low, high, xtol=1e-15))


def expected_uniques(theta: float, alpha: float, population: int) -> float:
    """How many of a population are unique, in expectation."""
    n = float(population)
    log = _log_rising(theta + alpha, 1 - alpha) - _log_rising(n + theta + alpha - 1, 1 - alpha)
    return float(np.exp(log)) * n


def log_likelihood(sizes: ClassSizes, theta: Floats, alpha: Floats) -> Floats:
    """The logarithm of Pitman's sampling formula, less what does not depend on θ and α."""
    n, u = sizes.rows, sizes.classes
    positive = np.where(alpha > 0, alpha, 1.0)
    fresh = np.where(
        alpha > 0,
        (u - 1) * np.log(positive) + gammaln(u - 1) - betaln(theta / positive + 1, u - 1),
        (u - 1) * np.log(np.where(alpha > 0, 1.0, theta)),
    )
    drawn = gammaln(n - 1) - betaln(theta + 1, n - 1)
    size, number = sizes.size[:, None], sizes.number[:, None]
    again = (number * (gammaln(size - alpha) - gammaln(1 - alpha))).sum(axis=0)
    return np.asarray(fresh - drawn + again)


def best_thetas(sizes: ClassSizes, alpha: Floats) -> Floats:
    """The best θ for each α: where Σ 1/(θ+iα) over the classes is Σ 1/(θ+i) over the people."""
    n, u = sizes.rows, sizes.classes
    # Below `low` the first summand alone exceeds the people's sum; above `high`, (u-1) times it
    # falls short of (n-1) times the people's last.
    low = -np.log(1 / (1 - alpha) + math.log(n) + 2)
    high = np.log((n - 1) * (u - 1) / (n - u) + alpha + 1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        theta = np.exp(middle) - alpha
        rising = _sum_reciprocals(theta, alpha, u - 1) > _sum_reciprocals(
            theta, np.ones_like(theta), n - 1
        )
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray(np.exp((low + high) / 2) - alpha)


def _profile_slope(sizes: ClassSizes, alpha: Floats) -> Floats:
    """How the likelihood at the best θ changes with α."""
    theta, last = best_thetas(sizes, alpha), sizes.classes - 1
    size, number = sizes.size[:, None], sizes.number[:, None]
    again = (number * (digamma(size - alpha) - digamma(1 - alpha))).sum(axis=0)
    return np.asarray(_sum_weighted_reciprocals(theta, alpha, last) - again)


def _sum_reciprocals(start: Floats, step: Floats, count: int) -> Floats:
    """Σ 1/(start + i step) for i from 1 to count, exact where step is nothing beside start."""
    summed = min(count, SUMMED_TERMS)
    total = (1 / (start + np.arange(1, summed + 1)[:, None] * step)).sum(axis=0)
    if count == summed:
        return np.asarray(total)
    first, last = start + (summed + 1) * step, start + count * step
    span = (count - summed - 1) * step / first
    # log1p(x) / x is 1 where the step is 0: the integral of a constant.
    integral = (count - summed - 1) / first * np.where(span > 0, _slope_of_log(span), 1.0)
    ends = (1 / first + 1 / last) / 2
    bend = step / 12 * (1 / first**2 - 1 / last**2)
    third = step**3 / 120 * (1 / first**4 - 1 / last**4)
    fifth = step**5 / 252 * (1 / first**6 - 1 / last**6)
    return np.asarray(total + integral + ends + bend - third + fifth)


def _slope_of_log(span: Floats) -> Floats:
    return np.asarray(np.log1p(span) / np.where(span > 0, span, 1.0))


def _sum_weighted_reciprocals(theta: Floats, alpha: Floats, count: int) -> Floats:
    """Σ i/(θ + iα) for i from 1 to count: by powers of α/θ where the closed form would cancel."""
    ratio = np.where(theta > 0, alpha / np.where(theta > 0, theta, 1.0), np.inf)
    small = ratio * count < SMALL_RATIO
    r = np.where(small, ratio, 0.0)
    series = sum((-r) ** k * power for k, power in enumerate(_sum_powers(float(count))))
    closed = (count - theta * _sum_reciprocals(theta, alpha, count)) / np.where(
        alpha > 0, alpha, 1.0
    )
    return np.asarray(np.where(small, series / np.where(small, theta, 1.0), closed))


def _sum_powers(m: float) -> tuple[float, ...]:
    """Σ i^p for i from 1 to m, p from 1 to 5."""
    first = m * (m + 1) / 2
    second = first * (2 * m + 1) / 3
    fourth = second * (3 * m * m + 3 * m - 1) / 5
    return first, second, first**2, fourth, first**2 * (2 * m * m + 2 * m - 1) / 3


def _log_rising(start: float, more: float) -> float:
    """log Γ(start + more) - log Γ(start) for 0 ≤ more ≤ 1."""
    if more == 0:
        return 0.0
    return float(gammaln(more) - betaln(start, more))
