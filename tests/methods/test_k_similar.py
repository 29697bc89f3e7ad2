"""k-Similar: clusters on tiny tables and by brute force, any rule, and Adult."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_greedy import width
from tests.methods.test_mondrian import Plain, contents, tables, tally
from tests.oracles.adult_seven import adult_seven

from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups, Tally
from shoal.measures.loss import loss
from shoal.methods.greedy import greedy
from shoal.methods.k_similar import k_similar
from shoal.models import rule
from shoal.testing.random_tables import sample

FEW = settings(max_examples=50, deadline=None)
MOST = {5: 0.0096, 10: 0.0188, 25: 0.0400, 50: 0.0645}
"""What Adult may lose by k; greedy k-member in Mondrian's blocks lost .0111 .0223 .0500 .0831."""


def partitions(rows):
    """Every way to divide rows into groups."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for i in range(len(groups)):
            yield [*groups[:i], [first, *groups[i]], *groups[i + 1 :]]


def lost(plain, weights, groups):
    return sum(
        len(group) * w * width(column, {row[j] for row in group})
        for group in groups
        for j, (column, w) in enumerate(zip(plain, weights, strict=True))
    )


def least(plain, weights, rows, k):
    """What the best division into groups of k and more loses."""
    legal = (groups for groups in partitions(rows) if min(map(len, groups)) >= k)
    return min(lost(plain, weights, groups) for groups in legal)


@FEW
@given(tables(), st.integers(1, 4), st.integers(2, 20))
def test_everybody_is_in_a_cluster_of_k_that_contains_them(table, k, block):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    model = rule(f"k-anonymity k={k}")
    if len(rows) < k:
        with pytest.raises(NotMetError):
            k_similar(ours, model, block=block)
        return
    found = contents(ours, k_similar(ours, model, block=block))
    assert sum(found.values(), Counter()) == Counter(rows)
    for cells, inside in found.items():
        assert inside.total() >= k
        assert all(row[j] in cell for row in inside for j, cell in enumerate(cells))


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 3))
def test_it_loses_no_less_than_the_best_division_and_no_more_than_none(table, k):
    plain, rows, weights = table
    rows = rows[:7]
    if len(rows) < k:
        return
    ours = tally(plain, rows, weights)
    found = contents(ours, k_similar(ours, rule(f"k-anonymity k={k}")))
    made = lost(plain, weights, [list(inside.elements()) for inside in found.values()])
    whole = lost(plain, weights, [rows])
    assert least(plain, weights, rows, k) - 1e-9 <= made <= whole + 1e-9
    assert k > 1 or made == 0


@pytest.mark.parametrize("k", [2, 3])
def test_mostly_it_finds_the_best_division_and_loses_a_tenth_more_at_most(k):
    """All ways to divide seven people are tried, of forty tables."""
    plain = [Plain("ordered", 8), Plain("flat", 4), Plain("tree", 6, starts=((0, 3),))]
    sizes, weights, pairs = [column.size for column in plain], (1.0, 1.0, 1.0), []
    for seed in range(40):
        drawn = np.random.default_rng(seed).integers(sizes, size=(7, 3)).tolist()
        rows = [(*row, 0) for row in drawn]
        ours = tally(plain, rows, weights)
        found = contents(ours, k_similar(ours, rule(f"k-anonymity k={k}")))
        made = lost(plain, weights, [list(inside.elements()) for inside in found.values()])
        pairs.append((made, least(plain, weights, rows, k)))
    made, best = np.array(pairs).T
    assert made.sum() <= 1.1 * best.sum()
    assert np.isclose(made, best).mean() > 0.5


def test_people_far_apart_are_not_mixed():
    """Three crowds of different people, 5, 6 and 7 of them, and k = 5."""
    places = tuple(float(i) for i in range(90))
    axes = tuple(
        Axis(name, "number", "ordered", places, positions=np.array(places)) for name in "ab"
    )
    people = [(at + i, at + 3 * i % n) for at, n in ((0, 5), (40, 6), (80, 7)) for i in range(n)]
    keys = np.array(people, np.int32).T.copy()
    ours = Tally(axes, (), keys, np.zeros((0, 18), np.int32), np.ones(18, np.int64))
    cut = k_similar(ours, rule("k-anonymity k=5"))
    assert sorted(Groups.of(ours, cut).rows.tolist()) == [5, 6, 7]


def test_the_lowest_common_node_is_published():
    tree = Plain("tree", 6, starts=((0, 3),))
    rows = [(0, 0), (2, 1), (3, 0), (5, 2)]
    ours = tally([tree], rows)
    found = contents(ours, k_similar(ours, rule("k-anonymity k=2")))
    assert set(found) == {(frozenset({0, 1, 2}),), (frozenset({3, 4, 5}),)}


@pytest.mark.parametrize("block", [1, 2.5, "many"])
def test_a_block_that_is_none_is_refused(block):
    with pytest.raises(UsageError, match="at least 2"):
        k_similar(sample(0)[0], rule("k-anonymity k=2"), block=block)


def test_a_table_without_quasi_identifiers_is_refused():
    table = replace(sample(0)[0], quasi=(), keys=np.zeros((0, 150), np.int32))
    with pytest.raises(UsageError, match="quasi-identifier"):
        k_similar(table, rule("k-anonymity k=2"))


def test_clusters_that_break_the_rule_are_joined_and_told():
    table, _ = sample(0)
    assert k_similar(table, rule("k-anonymity k=3")).facts["joined"] == 0
    assert k_similar(table, rule("k-anonymity k=3 & distinct-diversity l=4")).facts["joined"] > 0


@pytest.mark.parametrize(
    "k", [pytest.param(k, marks=[pytest.mark.long] * (k != min(MOST))) for k in MOST]
)
def test_adult_loses_less_than_by_greedy_cuts(real_data, k):
    table, model = adult_seven(real_data), rule(f"k-anonymity k={k}")
    cut = k_similar(table, model)
    assert Groups.of(table, cut).rows.min() >= k
    assert int(np.sum(cut.count)) == 45_222
    assert loss(table, cut) <= MOST[k]
    assert loss(table, cut) < loss(table, greedy(table, model))
