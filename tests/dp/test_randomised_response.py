"""Randomised response and choice: chances, what they spend, and estimates from the answers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from shoal.core.errors import UsageError
from shoal.core.spend import Spend, parse_spend
from shoal.dp.randomised_response import calibrate_response, compute_response_spend
from shoal.dp.selection import calibrate_selection, select_candidate

UNLIKELY = 1e-7


@settings(max_examples=15, deadline=None)
@given(st.fractions("1/100", 15, max_denominator=300), st.integers(2, 300))
def test_the_chance_of_the_truth_is_exact_and_never_too_high(epsilon, values):
    made = calibrate_response(Spend(epsilon), values)
    power = math.exp(epsilon)
    assert abs(made.keep - power / (power + values - 1)) < 1e-9
    back = compute_response_spend(values, made.keep)
    assert back.within(made.spend)
    assert back.epsilon > epsilon * (1 - Fraction(1, 10**6))


def test_the_matrix_is_stochastic_and_its_ratios_are_the_promise():
    made = calibrate_response(parse_spend("1/2"), 5)
    matrix = made.matrix()
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-15)
    ratio = (matrix[:, None, :] / matrix[None, :, :]).max()
    assert ratio <= math.exp(0.5) * (1 + 1e-12)


@pytest.mark.parametrize("seed", [None, 5])
def test_answers_are_of_the_stated_distribution(seed):
    made = calibrate_response(parse_spend(1), 4)
    codes = np.repeat(np.arange(4), [1300, 1100, 30, 200])  # whole batches, and single answers
    rng = np.random.default_rng(seed) if seed else None
    answers = made.answered(codes, rng)
    assert answers.dtype == np.int32
    for code, row in enumerate(made.matrix()):
        seen = np.bincount(answers[codes == code], minlength=4)
        assert chisquare(seen, seen.sum() * row).pvalue > UNLIKELY


def test_rows_keep_their_places():
    sure = calibrate_response(parse_spend(30), 3)
    codes = np.random.default_rng(4).integers(0, 3, 700)
    assert (sure.answered(codes) == codes).all()  # but once in 10 million million answers


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 500), min_size=2, max_size=8), st.fractions("1/10", 5))
def test_the_estimate_inverts_the_matrix(counts, epsilon):
    made = calibrate_response(Spend(epsilon), len(counts))
    true = np.array(counts)
    expected = true @ made.matrix()
    assert np.allclose(made.estimated(expected), true, atol=1e-6)
    assert math.isclose(made.estimated(true).sum(), true.sum(), abs_tol=1e-6)


def test_estimates_are_unbiased_with_the_stated_deviation():
    made, rng = calibrate_response(parse_spend(1), 3), np.random.default_rng(11)
    true = np.array([60, 30, 10])
    codes = np.repeat(np.arange(3), true)
    runs = np.array([np.bincount(made.answered(codes, rng), minlength=3) for _ in range(1000)])
    found = made.estimated(runs)
    assert (abs(found.mean(axis=0) - true) < 5 * made.deviation(true) / math.sqrt(1000)).all()
    assert np.allclose(found.std(axis=0), made.deviation(true), rtol=0.15)


def test_progress_reaches_the_end():
    told = []
    made = calibrate_response(parse_spend(1), 3)
    made.answered(np.arange(9) % 3, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (9, 9)


@pytest.mark.parametrize(("spend", "values"), [(Spend(1), 1), (Spend(0), 3), (Spend("1e-17"), 3)])
def test_what_cannot_be_answered_is_refused_with_a_hint(spend, values):
    with pytest.raises(UsageError) as error:
        calibrate_response(spend, values)
    assert error.value.hint


def test_codes_beyond_the_values_are_refused():
    with pytest.raises(ValueError, match="0 to 2"):
        calibrate_response(parse_spend(1), 3).answered(np.array([3]))


def permute_and_flip(scores, scale):
    """Every candidate's chance, by going through all orders."""
    found = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        still = 1.0
        for at in order:
            flip = math.exp((scores[at] - max(scores)) / scale)
            found[at] += still * flip / len(orders)
            still *= 1 - flip
    return found


@pytest.mark.parametrize("seed", [None, 6])
def test_choices_are_those_of_permute_and_flip(seed):
    scores, epsilon = np.array([0.0, 1.0, 2.0, 1.5]), Fraction(1)
    rng = np.random.default_rng(seed) if seed else None
    seen = np.bincount(
        [select_candidate(scores, 1.0, epsilon, rng) for _ in range(2000)], minlength=4
    )
    expected = permute_and_flip(scores, calibrate_selection(1.0, epsilon))
    assert chisquare(seen, 2000 * expected).pvalue > UNLIKELY


def test_the_scale_of_a_choice_is_twice_the_sensitivity_over_epsilon():
    assert math.isclose(calibrate_selection(3.0, Fraction(1, 2)), 12, rel_tol=1e-12)
    assert Fraction(calibrate_selection(1.0, Fraction(1, 3))) >= 6


@pytest.mark.parametrize(
    ("scores", "sensitivity", "epsilon"), [([], 1.0, 1), ([1.0], 1.0, 0), ([1.0], 0.0, 1)]
)
def test_a_choice_that_means_nothing_is_refused(scores, sensitivity, epsilon):
    with pytest.raises(UsageError) as error:
        select_candidate(np.array(scores), sensitivity, Fraction(epsilon))
    assert error.value.hint
