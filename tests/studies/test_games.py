"""The paper's statements against enumeration: every table, every output, exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.core.errors import UsageError
from shoal.core.theory.odds import move_belief
from shoal.dp.beliefs import bound_improbable, bound_improbable_in_paper
from shoal.dp.semantics import semantic_privacy, semantic_privacy_for_most
from shoal.studies.games import (
    Mechanism,
    counting,
    distance,
    excess,
    exclusive_or,
    leaking,
    play,
    posterior,
    random_record,
    replaced,
    responses,
    tables,
    uniform,
    unlike,
    written,
)

HALF, TWO, THREE = Fraction(1, 2), Fraction(2), Fraction(3)
KNOWN = {(1, 0): HALF, (1, 1): HALF}
"""Somebody who knows that the first bit is set, and nothing of the second."""


def drawn(rng, size: int) -> list[Fraction]:
    """A distribution of small whole parts, zeros among them."""
    parts = rng.integers(0, 7, size)
    parts[rng.integers(size)] += 1
    return [Fraction(int(part), int(parts.sum())) for part in parts]


def believed(rng, mechanism: Mechanism) -> dict[tuple[int, ...], Fraction]:
    return dict(zip(mechanism.chances, drawn(rng, len(mechanism.chances)), strict=True))


PURE = [
    exclusive_or(2, THREE),
    exclusive_or(3, Fraction(3, 2)),
    responses(2, 3, TWO),
    counting(3, Fraction(5, 4)),
    counting(4, TWO),
]


@pytest.mark.parametrize("mechanism", PURE, ids=lambda one: one.name)
def test_mechanisms_are_distributions_and_have_no_delta(mechanism):
    assert all(sum(chances.values()) == 1 for chances in mechanism.chances.values())
    assert mechanism.delta(mechanism.odds()) == 0
    assert mechanism.delta(mechanism.odds() * Fraction(99, 100)) > 0


def test_odds_are_those_that_were_asked_for():
    assert [one.odds() for one in PURE] == [3, Fraction(3, 2), 2, Fraction(5, 4), 2]


@pytest.mark.parametrize("mechanism", PURE, ids=lambda one: one.name)
def test_proposition_14_and_the_tight_bound_hold_for_every_belief(mechanism):
    odds, rng = mechanism.odds(), np.random.default_rng(8)
    found = [play(mechanism, believed(rng, mechanism)).worst for _ in range(25)]
    assert max(found) <= (odds - 1) / (odds + 1)  # tanh(ε / 2), exactly
    assert max(found) <= odds - 1
    assert max(found) > 0


@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3, 2), TWO, THREE, Fraction(50)])
def test_randomised_response_on_xor_attains_the_tight_bound(odds):
    worst = play(exclusive_or(2, odds), KNOWN).worst
    assert worst == (odds - 1) / (odds + 1)
    assert float(worst) == pytest.approx(math.tanh(math.log(odds) / 2))
    assert float(worst) == pytest.approx(semantic_privacy(math.log(odds)).tight.epsilon)


def test_posteriors_are_bayes_by_hand():
    found = posterior(exclusive_or(2, THREE), KNOWN, 1)
    assert found == {(1, 0): Fraction(3, 4), (1, 1): Fraction(1, 4)}
    game = posterior(exclusive_or(2, THREE), KNOWN, 1, person=0)
    assert game == {(1, 0): Fraction(1, 4), (1, 1): Fraction(3, 4)}
    assert replaced((1, 1), 0) == (0, 1)


def test_belief_in_a_bit_is_within_the_odds_and_reaches_them():
    odds, prior = THREE, Fraction(1, 10)
    mechanism = responses(1, 2, odds)
    found = posterior(mechanism, {(1,): prior, (0,): 1 - prior}, (1,))[1,]
    least, most = move_belief(0.1, math.log(3))
    assert float(found) == pytest.approx(most)
    assert float(posterior(mechanism, {(1,): prior, (0,): 1 - prior}, (0,))[1,]) == pytest.approx(
        least
    )


@pytest.mark.parametrize("delta", [Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 10)])
def test_semantic_privacy_with_a_delta_holds_by_enumeration(delta):
    rng, odds = np.random.default_rng(15), Fraction(11, 10)
    for inner in (responses(2, 2, odds), counting(3, odds)):
        mechanism = leaking(inner, delta)
        assert mechanism.odds() is None
        assert mechanism.delta(odds) == delta
        meant = semantic_privacy(math.log(odds), delta, mechanism.people)
        for _ in range(10):
            played = play(mechanism, believed(rng, mechanism))
            assert played.exceeding(meant.paper.epsilon) <= meant.paper.delta
            assert played.exceeding(meant.tight.epsilon) <= meant.tight.delta


def test_semantic_privacy_holds_for_mechanisms_drawn_at_random():
    rng = np.random.default_rng(16)
    for _ in range(60):
        drawn_ = written("drawn", tables(2), lambda _: dict(enumerate(drawn(rng, 4))))
        played, n = play(drawn_, believed(rng, drawn_)), drawn_.people
        for odds in (Fraction(11, 10), TWO, Fraction(5)):
            delta = float(drawn_.delta(odds))
            root = math.sqrt(n * delta)
            # Any threshold in Markov's inequality: the theorem takes the root of nδ.
            for threshold in (root, delta**0.75, 2 * delta):
                bound = float((odds - 1) / (odds + 1)) + threshold
                chance = n * (2 + odds) * delta / threshold if delta else 0
                assert played.exceeding(bound + 1e-12) <= chance + 1e-12


def test_lemma_18_holds_with_the_constant_that_is_used():
    rng = np.random.default_rng(18)
    for _ in range(300):
        one, other = (dict(enumerate(drawn(rng, 4))) for _ in range(2))
        for odds in (Fraction(11, 10), Fraction(3, 2), THREE):
            delta = max(excess(one, other, odds), excess(other, one, odds))
            most = delta * (1 + 1 / odds**2) / (1 - 1 / odds)
            assert max(unlike(one, other, odds), unlike(other, one, odds)) <= most
            assert float(min(most, 1)) == pytest.approx(
                bound_improbable(math.log(odds), float(delta))
            )


@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3, 2), THREE])
def test_lemma_18_as_printed_is_exceeded_and_no_smaller_constant_holds(odds):
    # Where the ratio is a hair beyond odds², in both directions.
    hair, mass = Fraction(10**6 + 1, 10**6), Fraction(1, 100)
    small = mass / (odds**2 * hair)
    rest = 1 - mass - small
    one = {"up": mass, "down": small, "rest": rest}
    other = {"up": small, "down": mass, "rest": rest}
    delta = max(excess(one, other, odds), excess(other, one, odds))
    found = unlike(one, other, odds)
    epsilon = math.log(odds)
    assert found > bound_improbable_in_paper(epsilon, float(delta))
    assert float(found) == pytest.approx(bound_improbable(epsilon, float(delta)), rel=1e-3)


def test_theorem_17_holds_where_most_tables_are_private():
    # One table in sixteen is published as it is; all others are counted with noise.
    odds, rare = Fraction(11, 10), (1, 1, 1, 1)
    counted = counting(4, odds)
    mechanism = written(
        "rarely open",
        counted.chances,
        lambda table: {"open": Fraction(1)} if table == rare else counted.chances[table],
    )
    near = {table for table in tables(4) if sum(table) >= 3}
    most = [table for table in tables(4) if table not in near]
    assert mechanism.odds() is None
    assert mechanism.delta(odds) == 1
    assert mechanism.delta(odds, most) == 0
    share = Fraction(1, 1000)
    belief = {table: share / len(near) for table in near}
    belief |= {table: (1 - share) / len(most) for table in most}
    meant = semantic_privacy_for_most(math.log(odds), 0, share, 4)
    played = play(mechanism, belief)
    assert played.worst == 1
    assert 0 < played.exceeding(meant.tight.epsilon) <= meant.tight.delta
    assert played.exceeding(meant.paper.epsilon) <= meant.paper.delta


@pytest.mark.parametrize("people", [2, 3, 5])
def test_a_small_statistical_distance_publishes_a_whole_record(people):
    mechanism = random_record(people, 2)
    assert mechanism.variation() == Fraction(1, people)
    assert mechanism.odds() is None
    belief = uniform(tables(people))
    for at in range(people):
        found = posterior(mechanism, belief, (at, 1))
        assert sum(chance for table, chance in found.items() if table[at] == 1) == 1
    assert play(mechanism, belief).exceeding(Fraction(99, 100)) == HALF


def test_distances_are_total_variation():
    rng = np.random.default_rng(3)
    for _ in range(50):
        one, other = drawn(rng, 5), drawn(rng, 5)
        half = sum((abs(p - q) for p, q in zip(one, other, strict=True)), Fraction(0)) / 2
        assert distance(dict(enumerate(one)), dict(enumerate(other))) == half


def test_games_on_too_many_tables_are_refused():
    with pytest.raises(UsageError, match="tables"):
        tables(20)
