"""Three totals of what releases spend: exact sums, published numbers, and the truth below them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.spend import Spend, to_exact
from shoal.dp.accounting import (
    ADVANCED,
    BASIC,
    ZCDP,
    compose_advanced,
    compose_by_theorem,
    compose_spends,
    compute_remaining,
    convert_concentrated,
    convert_to_replacement,
    explain_missing_total,
)
from shoal.dp.mechanisms import calibrate_noise

MILLIONTH = Fraction(1, 10**6)
PARTS = st.sampled_from(["1/10", "1/3", "0.7", "1e-3", "2/7"])


@given(st.lists(PARTS, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_a_basic_total_is_the_exact_sum_in_any_order(parts, random):
    spends = [Spend(one, "1/1000000007") for one in parts]
    mixed = random.sample(spends, len(spends))
    total = compose_spends(BASIC, mixed)
    assert total.epsilon == sum((Fraction(to_exact(one)) for one in parts), Fraction(0))
    assert total.delta == Fraction(len(parts), 1000000007)
    assert compose_spends(ADVANCED, mixed, MILLIONTH) == compose_spends(ADVANCED, spends, MILLIONTH)


def test_tenths_and_thirds_make_wholes():
    assert compose_spends(BASIC, [Spend(0.1)] * 10) == Spend(1)
    assert compose_spends(BASIC, [Spend("1/3")] * 3000) == Spend(1000)
    assert compose_spends(BASIC, []) == compose_spends(ZCDP, [], MILLIONTH) == Spend()


def test_the_advanced_total_is_the_filter_of_the_paper():
    """k = 10,000 releases of ε 1/801 at δ' = e^-32: 800/801 + ½ · 10,000 / 801²."""
    slack = Fraction(math.exp(-32))
    found = compose_advanced([Spend("1/801")] * 10_000, slack)
    assert float(found.epsilon) == pytest.approx(800 / 801 + 5_000 / 801**2, rel=1e-9)
    assert found.delta == slack
    with_delta = compose_spends(ADVANCED, [Spend("1/100", "1/100000000")] * 10, MILLIONTH)
    assert with_delta.delta == MILLIONTH / 2 + Fraction(10, 10**8)


@pytest.mark.parametrize("count", [1, 7, 400])
def test_computed_totals_are_never_below_the_formula(count):
    squares = count * Fraction(1, 900)
    float_value = math.sqrt(2 * math.log(1e6) * squares) + float(squares) / 2
    found = compose_advanced([Spend("1/30")] * count, MILLIONTH).epsilon
    assert float_value * (1 - 1e-14) <= found <= float_value * (1 + 1e-10)


def test_the_conversion_of_rho_is_opendps():
    found = convert_concentrated(Fraction(1, 32), Fraction(1, 1000))
    assert float(found.epsilon) == pytest.approx(0.6880024554878085, abs=1e-12)
    simple = 1 / 32 + 2 * math.sqrt(math.log(1000) / 32)  # Bun, Steinke 2016, proposition 1.3
    assert found.epsilon <= simple
    assert found.rho == Fraction(1, 32)


def failing(epsilon, each, count):
    """The smallest δ of so many randomised responses of ε ``each``, at a total of ``epsilon``."""
    keep = math.exp(each) / (1 + math.exp(each))
    return sum(
        math.comb(count, j)
        * max(
            0.0,
            keep ** (count - j) * (1 - keep) ** j
            - math.exp(epsilon) * keep**j * (1 - keep) ** (count - j),
        )
        for j in range(count + 1)
    )


@pytest.mark.parametrize("name", [BASIC, ADVANCED, ZCDP])
@pytest.mark.parametrize(("each", "count"), [("1", 1), ("1/2", 12), ("1/10", 60)])
def test_no_total_is_below_what_randomised_responses_really_spend(name, each, count):
    delta = Fraction(1, 1000)
    found = compose_spends(name, [Spend(each)] * count, delta)
    assert failing(float(found.epsilon), float(Fraction(each)), count) <= found.delta + 1e-12


def test_many_small_gaussian_releases_spend_less_by_their_rho():
    one = calibrate_noise(Spend("1/10", MILLIONTH / 100), 1).spend
    totals = {name: compose_spends(name, [one] * 50, MILLIONTH) for name in (BASIC, ZCDP)}
    assert totals[BASIC] == Spend(5, MILLIONTH / 2)
    assert totals[ZCDP].epsilon < Fraction(4, 5)
    assert totals[ZCDP].rho == 50 * one.rho
    assert totals[ZCDP].delta == MILLIONTH


def test_a_smaller_rho_than_that_of_a_pure_epsilon_is_not_believed():
    forged, honest = Spend(1, 0, "1e-9"), Spend(1)
    assert compose_spends(ZCDP, [forged], MILLIONTH) == compose_spends(ZCDP, [honest], MILLIONTH)
    assert compose_spends(ZCDP, [Spend(1, 0, 2)], MILLIONTH).rho == 2


def apart(distance, epsilon):
    """The smallest δ of discrete Laplace noise of scale 1, for counts so far from each other."""
    here, there = (np.exp(-np.abs(np.arange(-60, 61) - at)) for at in (0, distance))
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum() / here.sum())


@pytest.mark.parametrize("epsilon", ["0", "1/4", "1/2", "9/10"])
def test_a_change_of_a_row_is_one_less_and_another_more(epsilon):
    alone = apart(1, float(Fraction(epsilon)))
    found = convert_to_replacement(Spend(epsilon, alone))
    assert found.epsilon == 2 * Fraction(epsilon)
    assert apart(2, float(found.epsilon)) <= found.delta <= (1 + math.e) * alone
    assert float(found.delta) == pytest.approx((1 + math.exp(Fraction(epsilon))) * alone)


def test_the_rho_of_a_change_is_four_times_as_large():
    one = calibrate_noise(Spend(1, MILLIONTH), 1).spend
    assert convert_to_replacement(one).rho == 4 * one.rho
    pure = compose_spends(ZCDP, [convert_to_replacement(Spend("1/3"))], MILLIONTH)
    assert pure.rho == 4 * compose_spends(ZCDP, [Spend("1/3")], MILLIONTH).rho
    assert convert_to_replacement(Spend(2000, MILLIONTH)) == Spend(4000, 1)
    assert convert_to_replacement(Spend(2000)) == Spend(4000)


def test_what_is_below_all_floats_is_bounded_or_refused():
    tiny = convert_concentrated(Fraction(1, 10**400), MILLIONTH)
    assert 0 <= tiny.epsilon <= convert_concentrated(Fraction(1, 10**12), MILLIONTH).epsilon
    assert compose_spends(ZCDP, [Spend("1e-200")], MILLIONTH).epsilon < 1
    with pytest.raises(shoal.UsageError, match="Delta is so small"):
        convert_concentrated(Fraction(1, 32), Fraction(1, 10**400))
    assert explain_missing_total(ZCDP, [], Fraction(1, 10**400))


def test_a_theorem_without_what_it_needs_says_so():
    assert explain_missing_total(BASIC, [Spend(1, MILLIONTH)], Fraction(0)) == ""
    assert "δ above 0" in explain_missing_total(ADVANCED, [Spend(1)], Fraction(0))
    assert "states no ρ" in explain_missing_total(ZCDP, [Spend(1), Spend(1, MILLIONTH)], MILLIONTH)
    assert explain_missing_total(ZCDP, [Spend(1, MILLIONTH, "1/50")], MILLIONTH) == ""
    with pytest.raises(shoal.NotMetError, match="no zcdp total"):
        compose_spends(ZCDP, [Spend(1, MILLIONTH)], MILLIONTH)


@pytest.mark.parametrize("name", [ADVANCED, ZCDP])
def test_what_is_left_fits_and_a_thousandth_more_does_not(name):
    before, budget = [Spend("1/50")] * 9, Spend(2, MILLIONTH)
    left = compute_remaining(name, before, budget).epsilon
    more = Spend(left + Fraction(1, 1000))
    assert 0 < left < 2
    assert compose_spends(name, [*before, Spend(left)], budget.delta).within(budget)
    assert not compose_spends(name, [*before, more], budget.delta).within(budget)


@pytest.mark.parametrize("name", [ADVANCED, ZCDP])
@pytest.mark.parametrize(
    "one", [Spend("19/10"), calibrate_noise(Spend("19/10", MILLIONTH), 3).spend]
)
def test_a_single_release_spends_what_it_states_and_nothing_is_left_beside_it(name, one):
    budget = Spend("19/10", MILLIONTH)
    found = compose_spends(name, [Spend(), one], MILLIONTH)
    assert (found.epsilon, found.delta) == (one.epsilon, one.delta)
    counted = compose_by_theorem(name, [one], MILLIONTH)
    assert counted.epsilon > budget.epsilon
    assert found.rho == counted.rho
    assert not compose_spends(name, [one, Spend("1e-9")], MILLIONTH).within(budget)
    assert compute_remaining(name, [], budget) == Spend("19/10")
    assert compute_remaining(name, [one], budget) == Spend()


def test_a_single_release_is_not_taken_at_its_word_where_that_is_more_or_at_a_larger_delta():
    small, large = (
        calibrate_noise(Spend(2, MILLIONTH / 1000), 1).spend,
        calibrate_noise(Spend(2, "1e-4"), 1).spend,
    )
    assert compose_spends(ZCDP, [small], MILLIONTH) == convert_concentrated(small.rho, MILLIONTH)
    assert compose_spends(ZCDP, [small], MILLIONTH).epsilon < 2
    assert compose_spends(ZCDP, [large], MILLIONTH) == convert_concentrated(large.rho, MILLIONTH)
    assert compose_spends(ZCDP, [large], MILLIONTH).epsilon > 2


def test_what_is_left_of_a_basic_budget_is_exact():
    assert compute_remaining(BASIC, [Spend("1/3")], Spend(1, MILLIONTH)) == Spend("2/3", MILLIONTH)
    assert compute_remaining(BASIC, [Spend(2)], Spend(1)) == Spend()
    assert compute_remaining(ZCDP, [Spend(1, MILLIONTH)], Spend(1, MILLIONTH)) is None
