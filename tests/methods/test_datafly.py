"""Datafly on tiny tables, against the outline in plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_chain import Plain, classes, contents, levels, steps, tables, tally

from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups
from shoal.methods.chain import chain
from shoal.methods.datafly import datafly
from shoal.models import rule
from shoal.testing.checks import check_method

FEW = settings(max_examples=80, deadline=None)


def outline(plain, rows, weights, k, few, allowed):
    """The levels and how many rows are held back, by counting; None: it cannot be done."""
    tried = []
    for step in steps(plain, rows, weights):
        sizes = sorted(inside.total() for inside in classes(plain, rows, step).values())
        kept = [n for n in sizes if n >= k]
        failing = len(rows) - sum(kept)
        lost = failing
        while 0 < failing <= allowed and lost < k and kept:
            lost += kept.pop(0)
        if failing <= few and lost <= allowed:
            return step, lost
        tried.append((step, lost))
    return min(tried, key=lambda one: one[1]) if allowed else None


@FEW
@given(tables(), st.integers(1, 6), st.integers(0, 8), st.none() | st.integers(0, 5))
def test_it_does_what_the_outline_says(table, k, allowed, few):
    plain, rows, weights = table
    ours, model = tally(plain, rows, weights), rule(f"k-anonymity k={k}")
    found = outline(plain, rows, weights, k, k if few is None else few, allowed)
    if found is None:
        with pytest.raises(NotMetError, match="as a single class"):
            datafly(ours, model, hold_back=allowed, left_over=few)
        return
    cut = datafly(ours, model, hold_back=allowed, left_over=few)
    assert (levels(cut), cut.suppressed) == found
    made = Counter(cut.facts["steps"])
    assert sum(contents(ours, cut).values(), Counter()) == Counter(rows)
    assert sum(made.values()) == sum(
        list(column.levels()).index(level)
        for column, level in zip(plain, levels(cut).values(), strict=True)
    )
    assert model.holds(Groups.of(ours, cut)).all()


@FEW
@given(
    tables(),
    st.sampled_from(("distinct-diversity l=2", "t-closeness t=0.3", "ck-safety c=0.8 k=1")),
)
def test_without_rows_held_back_it_is_the_chain_step_by_step(table, text):
    plain, rows, weights = table
    ours, model = tally(plain, rows, weights), rule(text)
    try:
        cut = datafly(ours, model)
    except NotMetError:
        with pytest.raises(NotMetError):
            chain(ours, model)
        return
    assert cut.suppressed == 0
    assert contents(ours, cut) == contents(ours, chain(ours, model))


@FEW
@given(
    tables(),
    st.sampled_from(("distinct-diversity l=3", "t-closeness t=0.1", "ck-safety c=0.6 k=1")),
    st.integers(1, 20),
)
def test_what_is_published_meets_any_rule(table, text, allowed):
    plain, rows, weights = table
    ours, model = tally(plain, rows, weights), rule(text)
    cut = datafly(ours, model, hold_back=allowed)
    assert model.holds(Groups.of(ours, cut)).all()
    assert sum(contents(ours, cut).values(), Counter()) == Counter(rows)


def test_one_row_held_back_would_stand_out_so_the_smallest_class_goes_too():
    """Three people are a, four are b, and one is c: alone, printed as *, c would be c again."""
    people = [(0, i % 3) for i in range(3)] + [(1, i % 3) for i in range(4)] + [(2, 0)]
    ours = tally([Plain("flat", 3)], people)
    cut = datafly(ours, rule("k-anonymity k=2"), hold_back=4)
    assert (cut.suppressed, cut.facts["complementary"], levels(cut)) == (4, 3, {0: 0})
    assert list(contents(ours, cut)[None]) == [(0, 0), (0, 1), (0, 2), (2, 0)]
    lifted = datafly(ours, rule("k-anonymity k=2"), hold_back=3)
    assert (lifted.suppressed, levels(lifted)) == (0, {0: 1})


def test_the_first_of_equals_is_lifted_and_a_weight_divides_the_values():
    people = [(i, i, 0) for i in range(4)]
    pairs = Plain("tree", 4, starts=((0, 2),))
    cut = datafly(tally([pairs, pairs], people), rule("k-anonymity k=2"))
    assert cut.facts["steps"] == ["a", "b"]
    heavy = tally([pairs, pairs], people, (3.0, 1.0))
    assert datafly(heavy, rule("k-anonymity k=2")).facts["steps"] == ["b", "b", "a"]


def test_the_contract_of_methods_holds():
    for text in (None, "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)", "k-map k=9"):
        check_method(datafly, text and rule(text), seeds=range(2))
    check_method(datafly, hold_back=5, seeds=range(1))
    check_method(datafly, hold_back=40, left_over=40, seeds=range(1))


def test_the_work_is_told_as_it_goes_on():
    told = []
    ours = tally([Plain("ordered", 6)] * 3, [(0, 1, 2, 0), (3, 4, 5, 1)])
    datafly(ours, rule("k-anonymity k=2"), progress=lambda *one: told.append(one))
    assert told == [(done, 1000) for done in (0, 333, 667, 1000, 1000)]


def test_what_makes_no_sense_is_refused():
    ours = tally([Plain("ordered", 3)], [(0, 1), (1, 1)])
    for few in (-1, 1.5, "many"):
        with pytest.raises(UsageError, match="left_over must be a whole number"):
            datafly(ours, rule("k-anonymity k=1"), left_over=few)
    none = type(ours)((), ours.sensitive, ours.keys[:0], ours.values, ours.count)
    with pytest.raises(UsageError, match="no quasi-identifier"):
        datafly(none, rule("k-anonymity k=1"))


def test_the_order_of_entries_does_not_choose_among_equal_classes():
    people = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    model = rule("k-anonymity k=2")
    found = set()
    for seed in range(4):
        mixed = [people[i] for i in np.random.default_rng(seed).permutation(5)]
        ours = tally([Plain("flat", 3)], mixed)
        found.add(frozenset(contents(ours, datafly(ours, model, hold_back=3))[None]))
    assert found == {frozenset({(0, 0), (0, 1), (2, 2)})}
