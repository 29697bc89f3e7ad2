"""The slide negative binomial estimate of population uniqueness.

A class of the population has 1 + Y people, Y negative binomial with parameters α and β, so that of
K classes K β^α are unique. Each person is sampled with probability f. With g = (1 - β)(1 - f) and
D = 1 - g a class leaves one, or two, people in the sample with probability

    P₁ = f (β/D)^α (1 + α g/D),     P₂ = α β^α f² (1 - β) (2 - (1 - α) g) / (2 D^(α+2)).

α and β solve K P₁ = c₁ and K P₂ = c₂, the sample's classes of one and of two. Their ratio gives α
from β in closed form; β is found by bisection. K is Shlosser's estimate of the number of classes
as improved by Haas and Stokes.

G. Chen, S. Keller-McNulty, Estimation of identification disclosure risk in microdata,
J. Official Statistics 14 (1998). P. Haas, L. Stokes, Estimating the number of classes in a finite
population, J. American Statistical Association 93 (1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoal.measures.risk.sizes import (
    ClassSizes,
    UniquenessEstimate,
    without_estimate,
    without_uniques,
)

STEPS = 200


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A root between ``low`` and ``high``; nan where the signs at the two ends do not differ.

    >>> round(bisect(lambda x: x * x - 2, 0, 2), 9)
    1.414213562
    >>> bisect(lambda x: x * x + 1, 0, 2)
    nan
    """
    rising = function(high) > 0
    if not (function(low) < 0 if rising else function(low) > 0):
        return math.nan
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2


ASSUMPTIONS = (
    "People are sampled independently with one probability, and class sizes in the population are "
    "one plus a negative binomial number; meant for sampling fractions above 0.1."
)
GRID = 400
"""Where changes of sign are looked for: the log odds of β from -20 to 20."""


def snb(sizes: ClassSizes, fraction: float) -> UniquenessEstimate:
    """The estimate from class sizes and the share of the population that is in the table.

    Where several β solve the equations, the estimate is the one with most uniques.
    """
    population, ones, twos = sizes.population(fraction), sizes.having(1), sizes.having(2)
    if not ones:
        return without_uniques("snb", ASSUMPTIONS)
    if not twos:
        return without_estimate(
            "snb", ASSUMPTIONS, "no class has two rows: the equations have no solution"
        )
    f = sizes.rows / population
    classes = population_classes(sizes, f)
    solutions = [
        (classes * beta**alpha, alpha, beta)
        for alpha, beta in _solve(classes, f, float(ones), float(twos))
    ]
    if not solutions:
        reason = "the equations for the classes of one and of two rows have no solution"
        return without_estimate("snb", ASSUMPTIONS, reason)
    uniques, alpha, beta = max(solutions)
    parameters = {"alpha": alpha, "beta": beta, "classes": classes}
    return UniquenessEstimate(
        "snb", uniques, uniques / population, ASSUMPTIONS, parameters=parameters
    )


def population_classes(sizes: ClassSizes, f: float) -> float:
    """How many classes the population has (Haas and Stokes's third Shlosser estimator)."""
    i, number = sizes.size.astype(np.float64), sizes.number
    unseen = ((1 - f) ** i * number).sum()
    once = (i * f * (1 - f) ** (i - 1) * number).sum()
    twice = (i * f**2 * (1 - f**2) ** (i - 1) * number).sum()
    # (1 - f)^i ((1 + f)^i - 1), written so that a tiny f does not cancel.
    seen_again = ((1 - f) ** i * np.expm1(i * np.log1p(f)) * number).sum()
    if unseen == 0 or seen_again == 0:
        return float(sizes.classes)
    return float(sizes.classes + sizes.having(1) * (twice / seen_again) * (unseen / once) ** 2)


def leaves_one(alpha: float, beta: float, f: float) -> float:
    """P₁: the probability that a class leaves one person in the sample."""
    g = (1 - beta) * (1 - f)
    power = math.exp(alpha * (math.log(beta) - math.log1p(-g)))
    return f * power * (1 + alpha * g / (1 - g))


def leaves_two(alpha: float, beta: float, f: float) -> float:
    """P₂: the probability that a class leaves two people in the sample."""
    g = (1 - beta) * (1 - f)
    power = math.exp(alpha * (math.log(beta) - math.log1p(-g)))
    return alpha * power * f**2 * (1 - beta) * (2 - (1 - alpha) * g) / (2 * (1 - g) ** 2)


def _solve_alpha(beta: float, f: float, ratio: float) -> float:
    """The α > 0 with P₂ / P₁ = ratio: a quadratic equation with one positive root."""
    q = 1 - beta
    g = q * (1 - f)
    d = 1 - g
    a, b, c = q * f * g, q * f * (2 * d + g) - 2 * d * ratio * g, -2 * d * d * ratio
    root = math.sqrt(b * b - 4 * a * c)
    return -2 * c / (b + root) if b > 0 or a == 0 else (root - b) / (2 * a)


def _solve(classes: float, f: float, ones: float, twos: float) -> list[tuple[float, float]]:
    """Every (α, β) that meets both equations, β as far from 0 and 1 as floats tell apart."""

    def surplus(odds: float) -> float:
        beta = 1 / (1 + math.exp(-odds))
        return classes * leaves_one(_solve_alpha(beta, f, twos / ones), beta, f) - ones

    grid = np.linspace(-20, 20, GRID)
    values = np.array([surplus(x) for x in grid])
    crossings = np.flatnonzero((values[1:] > 0) != (values[:-1] > 0))
    betas = [1 / (1 + math.exp(-bisect(surplus, grid[i], grid[i + 1]))) for i in crossings]
    return [(_solve_alpha(beta, f, twos / ones), beta) for beta in betas]
