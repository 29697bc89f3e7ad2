"""The same distributions from a seed: for tests and studies, never for a release.

Whoever knows the seed can take the noise away again. Vectorised, because studies draw millions;
floats decide here where OpenDP computes exactly, so a draw may differ with a chance of about 1e-16.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def create_seeded_generator(seed: int | None) -> np.random.Generator | None:
    """A test's or a study's generator; None: noise is the operating system's."""
    return None if seed is None else np.random.default_rng(seed)


def draw_laplace(scale: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with P(z) ∝ e^(−|z|/scale): a difference of two geometric numbers.

    >>> draw_laplace(2.0, 3, np.random.default_rng(7)).shape
    (3,)
    """
    stop = -math.expm1(-1 / scale)
    return rng.geometric(stop, size) - rng.geometric(stop, size)


def draw_gaussian(sigma: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with P(z) ∝ e^(−z²/(2σ²)), by rejection from the discrete Laplace.

    Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, NeurIPS 2020,
    algorithm 3: with t = ⌊σ⌋ + 1 a draw y of scale t is kept with chance
    exp(−(|y| − σ²/t)² / (2σ²)); more than a third of them are.
    """
    t = math.floor(sigma) + 1
    accepted = np.empty(0, dtype=np.int64)
    while len(accepted) < size:
        proposed = draw_laplace(t, 3 * (size - len(accepted)) + 10, rng)
        chance = np.exp(-((np.abs(proposed) - sigma**2 / t) ** 2) / (2 * sigma**2))
        accepted = np.concatenate([accepted, proposed[rng.random(len(proposed)) < chance]])
    return accepted[:size]


def draw_answers(
    codes: NDArray[np.int32], values: int, keep: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Randomised responses: each code kept with this chance, else any other one alike."""
    others = rng.integers(1, values, len(codes)) if values > 1 else np.zeros(len(codes), int)
    moved = (codes + others) % values
    return np.where(rng.random(len(codes)) < keep, codes, moved).astype(np.int32)


def draw_highest(scores: NDArray[np.float64], scale: float, rng: np.random.Generator) -> int:
    """The place of the highest score after exponential noise.

    That is the distribution of permute-and-flip (Ding et al. 2021).
    """
    return int(np.argmax(scores + rng.exponential(scale, len(scores))))
