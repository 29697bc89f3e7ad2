"""Auditing: bounds that hold, correct mechanisms under them, and mutants above them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from shoal.core.errors import UsageError
from shoal.core.spend import parse_spend
from shoal.dp.audit import BoundMaker, audit_epsilon, bound_share_above, bound_share_below
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE, calibrate_noise
from shoal.dp.randomised_response import calibrate_response
from shoal.dp.residuals import check_residuals
from shoal.dp.seeded_draws import draw_gaussian as gaussian_of
from shoal.dp.seeded_draws import draw_laplace as laplace_of

BEFORE = np.array([0, 5, 3, 9, 7])
AFTER = BEFORE + np.array([1, 0, 0, 0, 0])
THREE = np.tile(BEFORE, 3), np.tile(AFTER, 3)
"""The person is in one cell of each of three marginals."""


@cache
def laplace(epsilon, contributions=1):
    return calibrate_noise(parse_spend(epsilon), contributions).added


# Bounds


@pytest.mark.parametrize("share", [0.003, 0.2, 0.5, 0.97])
def test_the_ends_of_a_share_are_missed_no_more_often_than_stated(share):
    runs, doubt = 60, 0.025
    hits, chance = np.arange(runs + 1), binom.pmf(np.arange(runs + 1), runs, share)
    assert chance[bound_share_below(hits, runs, doubt) > share].sum() <= doubt
    assert chance[bound_share_above(hits, runs, doubt) < share].sum() <= doubt


def test_epsilon_takes_delta_off_and_needs_the_likelier_table_first():
    doubts = BoundMaker(delta=0.1, doubt=0.005, concentrated=False)
    low, high = bound_share_below(80, 100, 0.005), bound_share_above(20, 100, 0.005)
    assert doubts.epsilon(80, 20, 100) == pytest.approx(math.log((low - 0.1) / high))
    assert doubts.epsilon(20, 80, 100) < 0
    assert doubts.epsilon(0, 0, 100) == -math.inf


def test_rho_is_the_largest_divergence_of_two_coins_over_its_order():
    doubts = BoundMaker(delta=0, doubt=0.005, concentrated=True)
    p, q = bound_share_below(900, 1000, 0.005), bound_share_above(100, 1000, 0.005)
    orders = np.linspace(1.0005, 60, 60_000)
    both = p**orders * q ** (1 - orders) + (1 - p) ** orders * (1 - q) ** (1 - orders)
    by_search = (np.log(both) / (orders - 1) / orders).max()
    assert 0.98 * by_search < doubts.rho(900, 100, 1000) <= by_search * 1.0001
    assert doubts.rho(100, 900, 1000) == pytest.approx(0, abs=1e-9)


def test_a_tight_mechanism_is_accused_less_often_than_stated():
    # An event with chances 0.5 and 0.5 / e: exactly epsilon 1.
    runs, doubt = 300, 0.05
    one, other = (binom.pmf(np.arange(runs + 1), runs, p) for p in (0.5, 0.5 / math.e))
    hits, too = np.meshgrid(np.arange(runs + 1), np.arange(runs + 1), indexing="ij")
    bound = BoundMaker(0, doubt, False).epsilon(hits, too, runs)
    assert np.outer(one, other)[bound > 1].sum() <= 2 * doubt


# Correct mechanisms stay under what they claim, and near to it


@pytest.mark.parametrize(("epsilon", "least"), [(0.2, 0), (1, 0.6), (3, 2)])
def test_laplace_stays_under_its_claim(epsilon, least):
    found = audit_epsilon(laplace(epsilon), BEFORE, AFTER, epsilon, runs=2000, seed=5)
    assert found.holds
    assert least <= found.epsilon_low <= epsilon


def test_noise_of_the_operating_system_stays_under_its_claim():
    found = audit_epsilon(laplace(1), BEFORE, AFTER, 1, runs=500, confidence=0.9999)
    assert 0 < found.epsilon_low <= 1


def test_gaussian_stays_under_its_claim():
    made = calibrate_noise(parse_spend(3, 1e-6), 1)
    found = audit_epsilon(made.added, BEFORE, AFTER, 3, 1e-6, rho=made.rho, runs=2000, seed=5)
    assert found.holds
    assert 0.1 * made.rho < found.rho_low <= made.rho


def test_several_marginals_stay_under_their_claim():
    found = audit_epsilon(laplace(1, 3), *THREE, 1, runs=2000, seed=5)
    assert 0.2 < found.epsilon_low <= 1


@pytest.mark.parametrize(("values", "pair"), [(2, (0, 1)), (6, (4, 1))])
def test_randomised_response_stays_under_its_claim(values, pair):
    made = calibrate_response(parse_spend(2), values)
    found = audit_epsilon(made.answered, [pair[0]], [pair[1]], 2, runs=2000, seed=5)
    assert 1.3 < found.epsilon_low <= 2


# Mutants


def occupied(counts, rng):
    """Cells are printed only where somebody is in them."""
    return np.where(counts > 0, laplace(1)(counts, rng), np.nan)


def left_out(counts, rng):
    """The same, and the file is shorter."""
    return laplace(1)(counts, rng)[counts > 0]


def again(counts, _):
    """The seed is always the same."""
    return laplace(1)(counts, np.random.default_rng(3))


def shared(counts, rng):
    """All cells get the same noise."""
    return counts + laplace(1)(np.zeros(1, np.int64), rng)


def half(counts, rng):
    """Half of the noise."""
    return laplace(2)(counts, rng)


def spilt(counts, rng):
    """The person is counted in another cell too, with noise of its own."""
    return laplace(1)(counts + np.array([0, 0, 0, 1, 0]) * counts[0], rng)


MUTANTS = [half, occupied, left_out, again, shared, spilt]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant):
    found = audit_epsilon(mutant, BEFORE, AFTER, 1, runs=1500, seed=5)
    assert not found.holds
    assert "MORE THAN" in str(found)


def test_counts_without_noise_now_and_then_are_caught():
    wide = np.arange(12)

    def forgetful(counts, rng):
        return counts if rng.random() < 0.05 else laplace(1)(counts, rng)

    found = audit_epsilon(forgetful, wide, wide + (wide == 0), 1, runs=2000, seed=5)
    assert found.epsilon_low > 1
    assert found.event == "in how many of all cells a table is met exactly"


def test_sensitivity_forgotten_for_several_marginals_is_caught():
    found = audit_epsilon(laplace(1), *THREE, 1, runs=2000, seed=5)
    assert found.epsilon_low > 1.5


def test_half_of_gaussian_noise_is_caught_by_rho_alone():
    made = calibrate_noise(parse_spend(3, 1e-6), 1)
    mutant = replace(made, scale=made.scale / 2)
    with_rho = audit_epsilon(mutant.added, BEFORE, AFTER, 3, 1e-6, rho=made.rho, runs=2000, seed=5)
    without = audit_epsilon(mutant.added, BEFORE, AFTER, 3, 1e-6, runs=2000, seed=5)
    assert not with_rho.holds
    assert without.holds


def test_an_answer_that_is_too_truthful_is_caught():
    found = audit_epsilon(
        calibrate_response(parse_spend(2), 5).answered, [1], [3], 1, runs=2000, seed=5
    )
    assert found.epsilon_low > 1


def test_either_table_may_be_the_likelier():
    there = audit_epsilon(left_out, BEFORE, AFTER, 1, runs=200, seed=5)
    back = audit_epsilon(left_out, AFTER, BEFORE, 1, runs=200, seed=5)
    assert not there.holds
    assert not back.holds


# Many runs at once, and what is learnt from them


def test_many_runs_at_once_are_runs_like_others():
    calls = []

    def counted(counts, rng):
        calls.append(counts.shape)
        return laplace(1)(counts, rng)

    found = audit_epsilon(counted, BEFORE, AFTER, 1, runs=2000, at_once=300, seed=5)
    assert 0.6 < found.epsilon_low <= 1
    assert max(calls) == (300, 5)
    assert sum(runs for runs, _ in calls) == 4000
    bare = audit_epsilon(lambda counts, _: counts, BEFORE, AFTER, 1, runs=200, at_once=50)
    assert bare.epsilon_low == bare.most


def test_runs_that_teach_the_weights_do_not_flatter():
    many = np.arange(60)

    def chance(counts, rng):  # nothing tells the tables apart: what is learnt is luck
        return rng.integers(0, 9, counts.shape)

    found = [
        audit_epsilon(chance, many, many + (many == 3), 1, runs=200, at_once=200, seed=seed)
        for seed in range(10)
    ]
    assert max(one.epsilon_low for one in found) < 0.5


# What was added to published counts


@pytest.mark.parametrize(("name", "draw"), [(LAPLACE, laplace_of), (GAUSSIAN, gaussian_of)])
@pytest.mark.parametrize("scale", [0.4, 3, 50])
def test_noise_as_stated_is_believed_and_other_noise_is_not(name, draw, scale):
    rng = np.random.default_rng(2)
    right = [check_residuals(name, scale, draw(scale, 80, rng)).wrong for _ in range(20)]
    assert right == [""] * 20
    assert check_residuals(name, scale, np.zeros(300)).wrong == "exact"
    assert check_residuals(name, scale, draw(4 * scale, 80, rng)).wrong == "too far"
    if scale > 1:
        assert check_residuals(name, scale, draw(scale / 3, 80, rng)).wrong in ("too near", "exact")
        assert check_residuals(name, scale, np.full(300, round(scale))).wrong == "shared"


@pytest.mark.parametrize("cells", [1, 2, 7])
def test_the_chance_of_a_file_is_never_below_the_true_one(cells):
    all_exact = math.tanh(1 / 6) ** cells  # P(0) of scale 3, in each cell
    found = check_residuals(LAPLACE, 3, np.zeros(cells)).chance
    assert found == pytest.approx(min(1, 5 * all_exact), rel=0.01)
    assert found >= min(1, 5 * all_exact) * (1 - 1e-9)


# What is told


def test_no_bound_is_above_what_the_runs_can_show():
    found = audit_epsilon(lambda counts, _: counts, BEFORE, AFTER, 10, runs=200)
    assert found.epsilon_low == found.most == pytest.approx(2.911, abs=0.001)
    assert found.holds
    assert found.to_json()["claimed"] == {"epsilon": "10", "delta": "0"}


def test_an_own_statistic_is_used():
    def printed(output):
        return float(np.isfinite(output).sum())

    found = audit_epsilon(occupied, BEFORE, AFTER, 1, runs=400, statistic=printed, seed=5)
    blind = audit_epsilon(occupied, BEFORE, AFTER, 1, runs=400, statistic=lambda _: 1.0, seed=5)
    assert not found.holds
    assert blind.epsilon_low == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"runs": 10},
        {"confidence": 1},
        {"epsilon": 0},
        {"delta": 1},
        {"after": BEFORE},
        {"after": AFTER[1:]},
    ],
)
def test_what_cannot_be_audited_is_refused(wrong):
    asked_for = {"before": BEFORE, "after": AFTER, "epsilon": 1, **wrong}
    with pytest.raises(UsageError):
        audit_epsilon(laplace(1), **asked_for)
