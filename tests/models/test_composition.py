"""Composition against all that could appear; exact at ties; unbroken by merging; in any method."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal import testing
from shoal.core.axis import Axis
from shoal.core.errors import ShoalError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.tally import Groups
from shoal.methods import find_method, guarantees_rule, list_method_names
from shoal.models import rule
from shoal.models.composition import WEIGHT, Composition
from shoal.testing.random_tables import sample

MANY = settings(max_examples=150, deadline=None)
VALUES = 5
COUNTS = st.lists(st.integers(0, 4), min_size=VALUES, max_size=VALUES).filter(any)
ELSEWHERE = st.lists(st.sampled_from([0, 1, 7, 1000]), min_size=VALUES, max_size=VALUES)
HARDLY = 5e-15


def judged(classes: list[list[int]], elsewhere: list[int]) -> Groups:
    """Classes by the counts of their values; the table has other rows elsewhere."""
    counts = np.array(classes)
    class_, value = np.nonzero(counts)
    total = counts.sum(axis=0) + np.array(elsewhere)
    h = Histogram.of(
        Axis.numbered("s", VALUES),
        class_,
        value.astype(np.int32),
        counts[class_, value],
        len(classes),
        total,
    )
    return Groups(counts.sum(axis=1), (h,))


def risk(counts: list[int], shares: list[Fraction], l: int) -> Fraction:
    """Of all people and all sets of values that appear: how often the worst off keeps too few."""
    rows = sum(counts)
    theta = [(n + WEIGHT * p) / (rows + WEIGHT) for n, p in zip(counts, shares, strict=True)]
    absent = {s: (1 - theta[s]) ** (rows - 1) for s in range(len(counts)) if counts[s]}
    return max(_too_few([q for s, q in absent.items() if s != own], l) for own in absent)


def _too_few(absent: list[Fraction], l: int) -> Fraction:
    return sum(
        (
            prod(1 - q if there else q for q, there in zip(absent, world, strict=True))
            for world in product((False, True), repeat=len(absent))
            if 1 + sum(world) < l
        ),
        Fraction(0),
    )


def shares_of(groups: Groups) -> list[Fraction]:
    total = groups.sensitive[0].total.tolist()
    return [Fraction(n, sum(total)) for n in total]


@MANY
@given(st.lists(COUNTS, min_size=1, max_size=3), ELSEWHERE, st.integers(2, 6))
def test_as_by_all_people_and_all_sets_of_values(classes, elsewhere, l):
    groups = judged(classes, elsewhere)
    expected = [risk(counts, shares_of(groups), l) for counts in classes]
    model = Composition(l, 0.5)
    assert model.per_class(groups) == pytest.approx([float(1 - r) for r in expected], abs=1e-12)
    for alpha in (0.1, 0.5, 0.9, 0.999):
        holds = Composition(l, alpha).holds(groups).tolist()
        assert holds == [r <= 1 - Fraction(str(alpha)) for r in expected]


@MANY
@given(COUNTS, ELSEWHERE, st.integers(2, 3))
def test_ties_are_decided_exactly(counts, elsewhere, l):
    groups = judged([counts], elsewhere)
    reached = 1 - risk(counts, shares_of(groups), l)
    assume(Fraction(1, 10**6) < reached < 1 - Fraction(1, 10**5))
    near = Fraction(1, 10**30)
    assert [bool(Composition(l, reached + d).holds(groups)[0]) for d in (-near, 0, near)] == [
        True,
        True,
        False,
    ]


@MANY
@given(COUNTS, COUNTS, ELSEWHERE, st.integers(2, 4))
def test_merging_never_breaks_it(one, other, elsewhere, l):
    """In exact fractions: whoever is worst off in the merged class was no better off before."""
    shares = shares_of(judged([one, other], elsewhere))
    both = [a + b for a, b in zip(one, other, strict=True)]
    before = max(risk(one, shares, l), risk(other, shares, l))
    assert risk(both, shares, l) <= before


@MANY
@given(COUNTS, st.integers(0, VALUES - 1), ELSEWHERE, st.integers(2, 4))
def test_one_more_row_never_breaks_it_while_the_shares_stay(counts, value, elsewhere, l):
    """What the search for coalitions rests on."""
    more = [n + (i == value) for i, n in enumerate(counts)]
    shares = shares_of(judged([more], elsewhere))
    assert risk(more, shares, l) <= risk(counts, shares, l)


def test_a_value_is_missed_less_often_in_a_larger_class_or_hardly_ever():
    """c = n + 20 P stays and M grows by one, for all but the likeliest value: c <= (M + 20) / 2."""
    rows = np.concatenate((np.arange(2, 400), np.geomspace(400, 1e7, 200).round()))
    c = np.linspace(0.01, 1, 2000)[:, np.newaxis] * (rows + WEIGHT) / 2
    before = (rows - 1) * np.log1p(-c / (rows + WEIGHT))
    after = rows * np.log1p(-c / (rows + 1 + WEIGHT))
    worse = after > before + 1e-9
    assert np.exp(after[worse]).max() < HARDLY
    assert np.broadcast_to(c, worse.shape)[worse].min() > 33


ONE_RULE = "invariant"
"""A method that makes classes for one rule only, another one."""


@pytest.mark.parametrize("name", sorted(set(list_method_names()) - {ONE_RULE}))
def test_every_method_meets_it(name):
    model = rule("k-anonymity k=3 & composition l=2 alpha=0.8")
    testing.check_method(find_method(name), model, seeds=(3,), promises=guarantees_rule(name))


def test_a_method_for_another_rule_refuses_it():
    with pytest.raises(ShoalError, match="m-invariance"):
        find_method(ONE_RULE)(sample(3)[0], Composition(2, 0.8))


@pytest.mark.parametrize(
    "text",
    [
        "composition l=3 alpha=0.2",
        "composition l=4 alpha=0.999 on=a*b",
        "m-privacy m=1 (composition l=2 alpha=0.3)",
    ],
)
def test_variants_keep_the_contract(text):
    assert str(rule(text)) == text
    testing.check_model(rule(text))


@pytest.mark.parametrize(
    "text",
    [
        "composition l=1 alpha=0.9",
        "composition l=2.5 alpha=0.9",
        "composition l=2 alpha=0",
        "composition l=2 alpha=1",
        "composition l=2 alpha=0.9999999",
        "composition l=2",
        "composition alpha=0.5",
    ],
)
def test_parameters_out_of_bounds_are_refused(text):
    with pytest.raises(UsageError):
        rule(text)


def test_the_bounds_themselves_are_allowed_and_many_values_asked_for_are_not_met():
    groups = judged([[4, 4, 4, 4, 4]], [0] * VALUES)
    assert Composition(2, "0.999999").reached(groups) > 0.99
    assert not Composition(10**9, "1e-12").holds(groups).any()
    assert Composition(10**9, 0.5).reached(groups) == 0.0


def test_a_table_of_one_value_and_a_class_of_one_row_reach_nothing():
    groups = judged([[3, 0, 0, 0, 0], [1, 0, 0, 0, 0]], [0] * VALUES)
    for alpha in ("1e-12", 0.9):
        assert not Composition(2, alpha).holds(groups).any()
    assert Composition(2, 0.5).reached(groups) == 0.0
