"""Choosing one of many by a score, so that the choice says little about any one person.

Permute-and-flip (McKenna, Sheldon: A new mechanism for differentially private selection, NeurIPS
2020), OpenDP's noisy maximum: candidate c is chosen as often as if exponential noise of scale
2Δ/ε had been added to each score and the highest taken, where Δ is how much one person changes a
score. It is ε-differentially private, and never expected to choose worse than the exponential
mechanism (McSherry, Talwar 2007).

The choice alone is protected: publishing the score of what was chosen spends again.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.spend import round_up
from shoal.dp.mechanisms import MAX_SCALE
from shoal.dp.opendp_library import load_opendp, round_down, translate_refusals
from shoal.dp.seeded_draws import draw_highest


@translate_refusals()
def select_candidate(
    scores: NDArray[np.float64],
    sensitivity: float,
    epsilon: Fraction,
    rng: np.random.Generator | None = None,
) -> int:
    """The place of a high score; one person changes each score by at most `sensitivity`.

    `rng`: repeatable, not to be released.

    >>> select_candidate(np.array([0.0, 1e6, 0.0]), 1.0, Fraction(1))
    1
    """
    if not len(scores):
        raise UsageError("There is nothing to choose from.", "name at least one candidate.")
    scale = calibrate_selection(sensitivity, epsilon)
    if rng is not None:
        return draw_highest(scores, scale, rng)
    return int(_measurement(scale)(np.asarray(scores, dtype=np.float64).tolist()))


@lru_cache
@translate_refusals()
def calibrate_selection(sensitivity: float, epsilon: Fraction) -> float:
    """The smallest scale whose loss, by OpenDP's map, is within ε."""
    if not (epsilon > 0 and sensitivity > 0):
        raise UsageError("Epsilon must be more than 0.", "write for example --epsilon 1.")
    if round_down(epsilon) < sensitivity / MAX_SCALE:  # scales that the library cannot search
        raise UsageError(
            "Epsilon is so small that a choice would be by chance alone.",
            "ask for more, or name the marginals.",
        )
    search = load_opendp().binary_search_param
    return float(search(_measurement, sensitivity, round_down(epsilon), T=float))


@translate_refusals()
def compute_selection_spend(scale: float, sensitivity: float) -> Fraction:
    """What one choice of this scale spends, by OpenDP's map: the way back from a manifest.

    >>> compute_selection_spend(calibrate_selection(1.0, Fraction(1, 2)), 1.0) <= Fraction(1, 2)
    True
    """
    return round_up(_measurement(scale).map(sensitivity))


def _measurement(scale: float) -> Any:
    dp = load_opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    metric = dp.linf_distance(T=float)
    return dp.m.make_noisy_max(domain, metric, dp.max_divergence(), scale=scale)
