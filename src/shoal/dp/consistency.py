"""Noisy tables of counts that agree with each other: the least-squares estimate, in closed form.

Each marginal carries its own noise, so two of them give different counts of the same people. The
estimate is the set of tables nearest to the measured ones, in squares, that some one (real-valued)
table of all columns has as its marginals. A marginal over columns A is the orthogonal sum of its
residuals: for each S ⊆ A, what its counts over S say beyond those over less than S. Every marginal
that holds S measures that residual, with a variance in proportion to the cells that were summed;
the estimate takes their mean, weighted by the inverse of the variance (Barak et al., Privacy,
accuracy, and consistency too, PODS 2007, for bits; Xiao et al., An optimal and scalable matrix
mechanism for noisy marginals under convex loss functions, NeurIPS 2023, for any sizes).

It only reads noisy counts, so it costs no privacy. No count gets a larger variance. Counts may be
below 0: cutting them off would bias them, small ones coming out too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[int, ...]
Floats = NDArray[np.float64]
Tables = dict[Key, Floats]


def make_consistent(tables: Mapping[Key, NDArray[Any]], sizes: Sequence[int]) -> dict[Key, Floats]:
    """The tables that agree with each other and are nearest to these, in the shapes given.

    A table is under its columns' numbers, ascending; `sizes` has each column's cells. The noise in
    all of them is of one deviation.

    >>> both = {(0,): np.array([6, 2]), (0, 1): np.array([[3, 1], [2, 0]])}
    >>> make_consistent(both, (2, 2))[(0,)].round(2).tolist()
    [5.33, 2.0]
    """
    shaped: Tables = {}
    for key, table in tables.items():
        if list(key) != sorted(set(key)):
            raise ValueError("a table's columns are numbered in ascending order")
        shaped[key] = np.asarray(table, dtype=np.float64).reshape([sizes[at] for at in key])
    agreeing = _average_residuals(shaped, sizes)
    return {key: table.reshape(np.shape(tables[key])) for key, table in agreeing.items()}


def _average_residuals(tables: Tables, sizes: Sequence[int]) -> Tables:
    sums: dict[Key, Any] = defaultdict(float)
    weights: dict[Key, float] = defaultdict(float)
    for key, table in tables.items():
        for inner in _subsets(key):
            weight = 1 / _lacking(key, inner, sizes)
            sums[inner] = sums[inner] + weight * _residual(table, key, inner)
            weights[inner] += weight
    means = {inner: sums[inner] / weights[inner] for inner in sums}
    return {key: _assemble(key, means, sizes) for key in tables}


def compute_estimate_deviations(tables: Collection[Key], sizes: Sequence[int]) -> dict[Key, float]:
    """The standard deviation of each table's estimates, in those of a measured count.

    It is the same for all cells of a table. A residual over S is measured with a variance of
    ∏ (1 − 1/n) over S, by the sum of the weights of all tables that hold it; residuals are
    uncorrelated, and each is spread over the cells that it lacks.

    >>> deviations = compute_estimate_deviations([(0,), (0, 1)], (2, 3))
    >>> {key: round(deviation, 3) for key, deviation in deviations.items()}
    {(0,): 0.866, (0, 1): 0.866}
    """
    weights: dict[Key, float] = defaultdict(float)
    for key in tables:
        for inner in _subsets(key):
            weights[inner] += 1 / _lacking(key, inner, sizes)
    return {
        key: sqrt(
            sum(
                prod(1 - 1 / sizes[at] for at in inner)
                / weights[inner]
                / _lacking(key, inner, sizes) ** 2
                for inner in _subsets(key)
            )
        )
        for key in tables
    }


def _lacking(key: Key, inner: Key, sizes: Sequence[int]) -> int:
    """How many cells of the table are summed to one over the inner columns."""
    return prod(sizes[at] for at in key if at not in inner)


def _subsets(key: Key) -> list[Key]:
    return [inner for size in range(len(key) + 1) for inner in combinations(key, size)]


def _residual(table: Floats, key: Key, inner: Key) -> Floats:
    """What a table's counts over the inner columns say beyond those over fewer of them."""
    left = np.asarray(table.sum(axis=tuple(n for n, at in enumerate(key) if at not in inner)))
    for axis in range(len(inner)):
        left = left - left.mean(axis=axis, keepdims=True)
    return left


def _assemble(key: Key, residuals: Mapping[Key, Floats], sizes: Sequence[int]) -> Floats:
    """The table over these columns: each residual, spread evenly over the columns it lacks."""
    table = np.zeros([sizes[at] for at in key])
    for inner in _subsets(key):
        shape = [sizes[at] if at in inner else 1 for at in key]
        table += residuals[inner].reshape(shape) / _lacking(key, inner, sizes)
    return table
