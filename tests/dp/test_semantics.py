"""What a promise means: the constants to more digits than are printed, beliefs, and errors."""

from __future__ import annotations

import json
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from shoal.core.errors import UsageError
from shoal.core.spend import Spend
from shoal.core.theory.odds import move_belief
from shoal.dp.beliefs import (
    bound_beliefs,
    bound_improbable,
    bound_improbable_in_paper,
    compute_belief_curves,
)
from shoal.dp.semantics import semantic_privacy, semantic_privacy_for_most
from shoal.reports.charts.belief import chart_beliefs
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart

getcontext().prec = 50


def theorem_15(epsilon: str, delta: str, people: int) -> tuple[Decimal, Decimal]:
    """The paper's constants in fifty digits."""
    e, d = Decimal(epsilon), Decimal(delta)
    return (3 * e).exp() - 1 + 2 * d.sqrt(), people * (d.sqrt() + 2 * d / (e * e.exp()))


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "distance", "chance"),
    [
        ("0.1", "1e-10", 1_000, 0.349879, 0.0100018),
        ("0.1", "1e-12", 10_000, 0.349861, 0.0100002),
        ("0.5", "1e-10", 1_000, 3.48171, 0.0100002),
    ],
)
def test_theorem_15_to_six_digits(epsilon, delta, people, distance, chance):
    found = semantic_privacy(epsilon, delta, people).paper
    exact = theorem_15(epsilon, delta, people)
    assert (found.epsilon, found.delta) == pytest.approx(tuple(map(float, exact)), rel=1e-13)
    assert (found.epsilon, found.delta) == pytest.approx((distance, chance), rel=5e-6)
    assert found.vacuous == (distance >= 1)
    assert found.distance == min(1, found.epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "1/3"])
def test_the_pure_bounds(epsilon):
    found = semantic_privacy(epsilon)
    e = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)
    assert found.paper.epsilon == pytest.approx(float(e.exp() - 1), rel=1e-14)
    assert found.tight.epsilon == pytest.approx(float((e.exp() - 1) / (e.exp() + 1)), rel=1e-14)
    assert found.paper.delta == found.tight.delta == 0
    assert found.tight.epsilon < found.paper.epsilon


def test_numbers_of_pure_epsilon_to_six_digits():
    found = semantic_privacy(1)
    assert round(found.paper.epsilon, 6) == 1.718282
    assert round(found.tight.epsilon, 6) == 0.462117
    assert found.paper.vacuous
    assert found.paper.distance == 1
    assert not found.vacuous


def test_without_a_delta_the_pure_bound_is_used_and_with_a_small_one_the_tight_one_nearly():
    pure, nearly = semantic_privacy("0.1", 0, 10), semantic_privacy("0.1", "1e-30", 10)
    assert pure.paper.epsilon == pytest.approx(0.105170918, rel=1e-8)
    assert nearly.paper.epsilon == pytest.approx(0.349858808, rel=1e-8)
    assert nearly.tight.epsilon == pytest.approx(pure.tight.epsilon, abs=1e-13)


def test_chances_are_capped_and_told_as_vacuous():
    found = semantic_privacy("0.1", "1e-6", 10**7)
    assert found.paper.chance == found.tight.chance == 1
    assert found.vacuous
    assert "says nothing" in str(found)
    assert "says nothing" not in str(semantic_privacy("0.1", "1e-10", 1_000))


def test_enormous_promises_are_vacuous_and_do_not_overflow():
    found = semantic_privacy(100, 0.5, 3, prior=0.1, neighbours="add or remove")
    assert found.vacuous
    assert found.beliefs[-1].at_most == 1
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["vacuous"] is True


def test_most_tables_count_as_delta():
    most = semantic_privacy_for_most("0.1", "1e-10", "2e-10", 1_000)
    assert most == semantic_privacy("0.1", "3e-10", 1_000)


def test_odds_move_by_at_most_e_to_the_epsilon():
    before, (least, most) = 0.1, move_belief(0.1, 0.7)
    for after, sign in ((least, -1), (most, 1)):
        moved_by = (after / (1 - after)) / (before / (1 - before))
        assert moved_by == pytest.approx(float(Decimal(str(sign * 0.7)).exp()))
    assert move_belief(0, 3) == (0, 0)
    assert move_belief(1, 3) == (1, 1)


def test_beliefs_in_values_need_two_steps_where_people_are_added_or_removed():
    changed = bound_beliefs(Spend(1), {"flu": 0.7, "other": 0.3})
    there = bound_beliefs(Spend(1), 0.1, "add or remove")
    assert [belief.about for belief in changed] == ["flu", "other"]
    assert [belief.exponent for belief in changed] == [1, 1]
    assert [(one.about, one.exponent) for one in there] == [
        ("being in the table", 1),
        ("a value", 2),
    ]
    assert changed[0].at_most + changed[1].at_least == pytest.approx(1)


def test_a_delta_tells_the_chance_of_failing():
    pure, (one,) = bound_beliefs(Spend(1), 0.1)[0], bound_beliefs(Spend(1, 1e-9), 0.1)
    assert pure.failing == 0
    assert one.exponent == pytest.approx(1.1)
    assert one.failing == pytest.approx(bound_improbable(1, 1e-9, 0.1))
    assert 1e-9 < one.failing < 2e-8


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 3])
def test_the_constant_of_lemma_18_is_too_small(epsilon):
    assert bound_improbable_in_paper(epsilon, 1e-6) < bound_improbable(epsilon, 1e-6)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"epsilon": 0}, "more than 0"),
        ({"epsilon": -1}, "more than 0"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": 1, "delta": 1}, "nothing is promised"),
        ({"epsilon": 1, "delta": -0.1}, "not below 0"),
        ({"epsilon": 1, "people": 0}, "at least one person"),
        ({"epsilon": 1, "prior": 1.5}, "probability"),
        ({"epsilon": 1, "prior": "much"}, "probability"),
        ({"epsilon": 1, "prior": {"a": 0.5}}, "add up to 1"),
        ({"epsilon": 1, "prior": {}}, "add up to 1"),
        ({"epsilon": 1, "neighbours": "swap"}, "Neighbouring"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(given, told):
    with pytest.raises(UsageError, match=told) as error:
        semantic_privacy(**given)
    assert error.value.hint


def test_neighbours_are_read_as_manifests_write_them():
    there = semantic_privacy(1, neighbours="add or remove one person")
    changed = semantic_privacy(1, neighbours="change one person's sensitive values")
    assert there.even.exponent == 2
    assert changed.even.exponent == 1
    assert "were not there" in str(there)


def test_the_chart_tells_the_belief_and_draws():
    found = semantic_privacy("1/2", 0, prior=0.1)
    spec = chart_beliefs(found.to_json(), compute_belief_curves(0.5, found.even.exponent))
    columns, rows = tabulate_chart(spec)
    assert "whoever believes 10% before believes at least 6.3%" in join_title(spec)
    assert columns == ("Belief before", "After, at least", "After, at most")
    assert rows[1] == ("10%", "6.3%", "15%")
    assert "<svg" in draw_svg(spec)


def test_the_chart_of_an_enormous_epsilon_still_draws():
    found = semantic_privacy(100, 1e-6)
    spec = chart_beliefs(found.to_json(), compute_belief_curves(100, found.even.exponent))
    assert "but for a chance of 1e-06" in join_title(spec)
    assert "<svg" in draw_svg(spec)
