"""Pairs of columns that join all columns into a tree, chosen by how much they say together.

As Kruskal's algorithm finds a greatest spanning tree, but with every choice made privately: among
the pairs that join two parts of what is joined already, one with a high score. The score of a pair
is Σ |n(x, y) − m(x) m(y) / N|, where n are its true counts and m, N the noisy counts of its columns
alone, the quotient rounded to whole people. Adding or removing one person changes one n(x, y) by 1
and m not at all: a score changes by at most 1, exactly, since all of it is whole numbers.

McKenna, Miklau, Sheldon: Winning the NIST contest, 2021, algorithm 2.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.flow.noisy.accounted import SENSITIVITY
from shoal.flow.noisy.measured import Exact, Tables
from shoal.flow.noisy.planned import Columns
from shoal.flow.request import Progress, quiet
from shoal.noise.choice import chosen


def joining(
    measured: Exact, alone: Tables, epsilon: Fraction, rng: np.random.Generator | None,
    progress: Progress = quiet,
) -> list[Columns]:  # fmt: skip
    """The pairs of a spanning tree; ``epsilon`` is what each choice spends."""
    columns = len(measured.plan.bins)
    pairs = list(combinations(range(columns), 2))
    scores = np.array([score(measured.marginal(pair), *_both(alone, pair)) for pair in pairs])
    tree: list[Columns] = []
    part = list(range(columns))
    while len(tree) < columns - 1:
        progress("choosing pairs", len(tree), columns - 1)
        open_ = [i for i, (a, b) in enumerate(pairs) if part[a] != part[b]]
        a, b = pairs[open_[chosen(scores[open_], SENSITIVITY, epsilon, rng)]]
        tree.append((a, b))
        part = [part[a] if own == part[b] else own for own in part]
    return tree


def _both(alone: Tables, pair: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, two = (np.maximum(alone[(column,)], 0).astype(np.float64) for column in pair)
    return one, two


def score(pair: NDArray[np.int64], one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """How far the counts of a pair are from those of independent columns.

    >>> score(np.array([[2, 0], [0, 2]]), np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    4.0
    """
    people = (one.sum() + two.sum()) / 2
    alike = np.rint(np.outer(one, two) / people) if people else np.zeros(pair.shape)
    return float(np.abs(pair - alike.astype(np.int64)).sum())
