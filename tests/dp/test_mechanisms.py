"""Noise on counts: its distribution, its scale, and what it spends by OpenDP's own account."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from shoal.core.errors import UsageError
from shoal.core.spend import Spend, parse_spend
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE, calibrate_noise, compute_noise_spend
from shoal.dp.opendp_library import describe_library, round_down, round_root_up
from shoal.dp.selection import calibrate_selection

DRAWS = 2_000
UNLIKELY = 1e-7


def chances(name, scale, reach):
    """P(z) for z from -reach to reach, all that is beyond being at the ends."""
    z = np.arange(-2000, 2001)
    weight = np.exp(-np.abs(z) / scale) if name == LAPLACE else np.exp(-(z**2) / (2 * scale**2))
    at = np.clip(z, -reach, reach) + reach
    return np.bincount(at, weights=weight / weight.sum())


@pytest.mark.parametrize("seed", [None, 8])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_noise_is_of_the_stated_distribution(epsilon, delta, seed):
    made = calibrate_noise(parse_spend(epsilon, delta), 2)
    rng = None if seed is None else np.random.default_rng(seed)
    drawn = made.added(np.full(DRAWS, 100), rng) - 100
    reach = max(2, int(1.5 * made.deviation))
    seen = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    assert chisquare(seen, DRAWS * chances(made.name, made.scale, reach)).pvalue > UNLIKELY


@pytest.mark.parametrize("delta", [0, 1e-6, 0.01])
@pytest.mark.parametrize("epsilon", ["1/10", "4"])
def test_deviation_is_that_of_the_distribution(epsilon, delta):
    made = calibrate_noise(parse_spend(epsilon, delta), 1)
    z = np.arange(-2000, 2001)
    weight = chances(made.name, made.scale, 2000)
    assert math.isclose(made.deviation, math.sqrt((weight * z**2).sum()), rel_tol=1e-9)


@settings(max_examples=5, deadline=None)
@given(
    st.fractions("1/100", 20, max_denominator=300),
    st.integers(1, 120),
    st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 10**9)]),
)
def test_the_map_gives_back_what_was_asked_for(epsilon, contributions, delta):
    ask = Spend(epsilon, delta)
    made = calibrate_noise(ask, contributions)
    back = compute_noise_spend(made.name, made.scale, contributions, delta)
    assert back.within(ask)
    assert back.epsilon > epsilon * (1 - Fraction(1, 10**6))
    assert (made.spend.epsilon, made.spend.delta) == (epsilon, delta)
    assert made.rho == made.spend.rho == back.rho


def test_laplace_has_the_closed_scale_and_gaussian_the_closed_rho():
    assert calibrate_noise(parse_spend("1/4"), 5).scale == 20
    made = calibrate_noise(parse_spend(1, 1e-6), 5)
    assert made.name == GAUSSIAN
    assert math.isclose(made.rho, 5 / (2 * made.scale**2), rel_tol=1e-12)
    simple = Fraction(made.rho) + 2 * Fraction(math.sqrt(made.rho * math.log(1e6)))
    assert made.spend.epsilon <= simple  # Bun, Steinke 2016, proposition 1.3, which is not tight


def test_less_noise_than_contributions_need_is_noticed():
    ask = parse_spend(1)
    mutant = calibrate_noise(ask, 1)  # as if a person were in one marginal of three
    assert not compute_noise_spend(mutant.name, mutant.scale, 3).within(ask)
    ask = parse_spend(1, 1e-6)
    mutant = calibrate_noise(ask, 1)
    assert not compute_noise_spend(mutant.name, mutant.scale, 3, ask.delta).within(ask)


def test_shapes_stay_and_seeds_repeat():
    made = calibrate_noise(parse_spend(1), 1)
    table = np.arange(6).reshape(2, 3)
    assert made.added(table).shape == (2, 3)
    assert made.added(np.zeros(0, np.int64)).shape == (0,)
    first, again = (made.added(table, np.random.default_rng(3)) for _ in range(2))
    assert (first == again).all()
    assert first.dtype == np.int64


def test_the_operating_system_never_repeats():
    made = calibrate_noise(parse_spend("1/100"), 1)
    counts = np.zeros(50, np.int64)
    assert (made.added(counts) != made.added(counts)).any()


@pytest.mark.parametrize(
    ("spend", "contributions"),
    [(Spend(0), 1), (Spend(1), 0), (Spend("1e-13"), 2), (Spend(1, "1e-400"), 1)],
)
def test_what_cannot_be_drawn_is_refused_with_a_hint(spend, contributions):
    with pytest.raises(UsageError) as error:
        calibrate_noise(spend, contributions)
    assert error.value.hint


def test_what_is_below_all_floats_is_refused_with_a_hint():
    with pytest.raises(UsageError, match="Delta is so small") as error:
        compute_noise_spend(GAUSSIAN, 1.0, 1, Fraction(1, 10**400))
    assert "--delta" in error.value.hint
    for tiny in (Fraction(1, 10**15), Fraction(1, 10**400)):
        with pytest.raises(UsageError, match="by chance alone"):
            calibrate_selection(1.0, tiny)


@pytest.mark.parametrize("scale", [1e-5, 1e300])
def test_what_the_library_refuses_is_told_in_plain_words(scale):
    with pytest.raises(UsageError, match="cannot be drawn"):
        compute_noise_spend("discrete Gaussian", scale, 3, Fraction(1, 10**6))


def test_an_unknown_noise_is_refused():
    with pytest.raises(UsageError):
        compute_noise_spend("Laplace", 1.0, 1)


@given(st.fractions("1/1000000", 1000))
def test_limits_are_rounded_to_the_safe_side(number):
    low = round_down(number)
    assert Fraction(low) <= number < Fraction(math.nextafter(low, math.inf))


@given(st.integers(1, 10**9))
def test_roots_are_rounded_up(number):
    high = round_root_up(number)
    assert Fraction(math.nextafter(high, 0)) ** 2 < number <= Fraction(high) ** 2


def test_the_library_is_named_with_its_version():
    assert describe_library().startswith("OpenDP 0.")
