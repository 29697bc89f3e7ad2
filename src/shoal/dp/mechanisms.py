"""Noise on counts: discrete Laplace for pure, discrete Gaussian for approximate privacy.

A randomised function M is (ε, δ)-differentially private when for all tables D, D′ that differ in
one person and all sets S of outcomes  P(M(D) ∈ S) ≤ e^ε P(M(D′) ∈ S) + δ  (Dwork, McSherry, Nissim,
Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006; Dwork et al., Our data,
ourselves, EUROCRYPT 2006). Here a person is in exactly one cell of each of ``contributions``
tables of counts, so adding or removing one changes that many counts by 1.

    δ = 0   P(z) ∝ e^(−|z|/s),      s ≥ contributions / ε           (Ghosh et al., STOC 2009)
    δ > 0   P(z) ∝ e^(−z²/(2σ²)),   ρ = contributions / (2σ²)       (Canonne, Kamath, Steinke 2020)

where ρ is the loss in zero-concentrated privacy (Bun, Steinke 2016), which OpenDP turns into ε at
the δ asked for. The scale is the smallest float whose loss, by OpenDP's own map, is within what was
asked; noise is drawn from the operating system as whole numbers, so that no float's last bits tell
what was added to (Mironov 2012).

It does not protect what is the same with and without one person, nor people with several rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.spend import Spend, round_up
from shoal.dp.opendp_library import load_opendp, round_down, round_root_up, translate_refusals
from shoal.dp.seeded_draws import draw_gaussian, draw_laplace

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"
MAX_SCALE = 2.0**40
"""The largest scale: beyond it noise drowns any count, and sums of it leave 64 bits."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Noise:
    """How noise is drawn: its name and scale, and what adding it to all the counts spends.

    `contributions` is how many counts one person changes by 1 each, `deviation` the standard
    deviation of what is added to one count.
    """

    name: str
    scale: float
    contributions: int
    spend: Spend
    deviation: float
    rho: Fraction | None = None

    @translate_refusals()
    def added(self, counts: Counts, rng: np.random.Generator | None = None) -> Counts:
        """The counts with noise, of the same shape; all of them at once, for one spend.

        Without `rng` the noise is OpenDP's. With one it is of the same distribution, repeatable
        and therefore not private: for tests and studies.
        """
        exact = np.ascontiguousarray(counts, dtype=np.int64)
        if rng is not None:
            draw = draw_laplace if self.name == LAPLACE else draw_gaussian
            return exact + draw(self.scale, exact.size, rng).reshape(exact.shape)
        if not exact.size:
            return exact.copy()
        drawn = _measurement(self.name, self.scale)(exact.ravel())
        return np.array(drawn, dtype=np.int64).reshape(exact.shape)


@translate_refusals()
def calibrate_noise(budget: Spend, contributions: int) -> Noise:
    """The least noise under which so many counts about each person spend no more than a budget.

    >>> from shoal.core.spend import parse_spend
    >>> noise = calibrate_noise(parse_spend(1), contributions=3)
    >>> noise.name, noise.scale, round(noise.deviation, 3)
    ('discrete Laplace', 3.0, 4.223)
    """
    if contributions < 1:
        raise UsageError("Nothing is counted.", "name at least one marginal.")
    if not budget.epsilon > 0:
        raise UsageError("Epsilon must be more than 0.", "write for example --epsilon 1.")
    check_delta(budget.delta)
    name = GAUSSIAN if budget.delta else LAPLACE
    scale = _search_scale(name, budget, contributions)
    if not scale <= MAX_SCALE:
        raise UsageError(
            "Epsilon is so small that the noise would drown every count.",
            "ask for more, or for fewer marginals.",
        )
    rho = round_up(_zcdp(scale, contributions)) if budget.delta else None
    spend = Spend(budget.epsilon, budget.delta, rho)
    return Noise(name, scale, contributions, spend, compute_noise_deviation(name, scale), rho)


@translate_refusals()
def compute_noise_spend(
    name: str, scale: float, contributions: int, delta: Fraction = Fraction(0)
) -> Spend:
    """What noise of this name and scale spends, by OpenDP's map: the way back from a manifest.

    >>> print(compute_noise_spend("discrete Laplace", 3.0, contributions=3))
    ε 1
    """
    if name == LAPLACE:
        return Spend(round_up(_measurement(name, scale).map(contributions)), delta)
    check_delta(delta)
    epsilon, _ = _approximate(scale, round_down(delta)).map(round_root_up(contributions))
    return Spend(round_up(epsilon), delta, round_up(_zcdp(scale, contributions)))


def check_delta(delta: Fraction) -> None:
    """Refuse a δ above 0 that is below all floats, which is what the library computes with."""
    if delta and not round_down(delta) > 0:
        raise UsageError(
            "Delta is so small that nothing can be computed with it.",
            "leave it out, or write for example --delta 1e-6.",
        )


@lru_cache
def _search_scale(name: str, budget: Spend, contributions: int) -> float:
    """The smallest scale that OpenDP's map finds within the budget; infinite without one."""
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    if epsilon < contributions / MAX_SCALE:  # the search is slow where no scale will do
        return math.inf
    search = load_opendp().binary_search_param
    if name == LAPLACE:
        return float(search(lambda s: _measurement(name, s), contributions, epsilon, T=float))
    return float(
        search(
            lambda s: _approximate(s, delta),
            round_root_up(contributions),
            (epsilon, delta),
            T=float,
        )
    )


def _measurement(name: str, scale: float) -> Any:
    dp = load_opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if name == LAPLACE:
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    if name == GAUSSIAN:
        return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    raise UsageError("The noise has an unknown name.", f"it is {LAPLACE} or {GAUSSIAN}.")


def _approximate(scale: float, delta: float) -> Any:
    """The Gaussian's mechanism, with its loss in (ε, δ) at this δ."""
    dp = load_opendp()
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_measurement(GAUSSIAN, scale)), delta)


def _zcdp(scale: float, contributions: int) -> float:
    return float(_measurement(GAUSSIAN, scale).map(round_root_up(contributions)))


def compute_noise_deviation(name: str, scale: float) -> float:
    """The standard deviation of one draw.

    The discrete Gaussian's variance is below σ², and within 1e-15 of it from σ = 3 on.
    """
    if name == LAPLACE:
        decay = math.exp(-1 / scale)
        return math.sqrt(2 * decay) / -math.expm1(-1 / scale)
    if scale > 3:
        return scale
    z = np.arange(-40, 41)
    weights = np.exp(-((z / scale) ** 2) / 2)
    return math.sqrt(float((weights * z**2).sum() / weights.sum()))
