"""Zayatz's estimate of population uniqueness: the sample's class sizes stand for the population's.

Given that a class has size i in the population of N, the sample of n holds exactly one of it with
the hypergeometric probability p(i). The share of classes of size i, c_i / u, is taken from the
sample. By Bayes the share of sample uniques that are population uniques is

    c_1 p(1) / Σ_i c_i p(i),

and times c_1 / f (f = n / N) it is the number of population uniques.

L. Zayatz, Estimation of the number of unique population elements using a sample,
Proc. Survey Research Methods, ASA 1991.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from shoal.measures.risk.sizes import ClassSizes, UniquenessEstimate, without_uniques

ASSUMPTIONS = (
    "The table is a simple random sample of the population, and the sizes of classes in it are "
    "distributed as in the population; for small sampling fractions this overestimates."
)


def zayatz(sizes: ClassSizes, fraction: float) -> UniquenessEstimate:
    """The estimate from class sizes and the share of the population that is in the table.

    >>> zayatz(ClassSizes.of([1, 1, 2]), 1.0).uniques
    2.0
    """
    population, ones = sizes.population(fraction), sizes.having(1)
    if not ones:
        return without_uniques("zayatz", ASSUMPTIONS)
    certain = ones / float((sizes.number * _chance_of_one_sampled(sizes, population)).sum())
    uniques = ones * certain * population / sizes.rows
    return UniquenessEstimate(
        "zayatz",
        uniques,
        uniques / population,
        ASSUMPTIONS,
        parameters={"unique_given_sample_unique": certain},
    )


def _chance_of_one_sampled(sizes: ClassSizes, population: int) -> NDArray[np.float64]:
    """p(i) / p(1) = i · Π_{j=0}^{i-2} (N - n - j) / (N - 1 - j) for each size i."""
    i = sizes.size.astype(np.float64)
    outside = float(population - sizes.rows)
    # i - 1 people more of the class must all be outside the sample; 0 where so many are not.
    possible = i - 1 <= outside
    inside = np.where(possible, i, 1.0)
    log = (
        gammaln(outside + 1)
        - gammaln(outside - inside + 2)
        + gammaln(population - inside + 1)
        - gammaln(population)
    )
    return np.where(possible, i * np.exp(log), 0.0)
