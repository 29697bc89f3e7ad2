"""`shoal.core.theory.collusion` against brute force, and brute force against the paper's table."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import coalitions
from tests.oracles.provided import provided, random_classes

from shoal.core.axis import Axis
from shoal.core.histogram import Contributions
from shoal.core.theory import collusion as fewest_module
from shoal.core.theory.collusion import (
    count_members,
    find_breaches,
    find_smallest_union,
    find_value_breaches,
)
from shoal.kernels import coalition as collude
from shoal.models._verifiers import verifiers
from shoal.models.alpha_k import AlphaK
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.m_privacy import MPrivacy

TABLE = json.loads(
    (Path(__file__).parents[2] / "golden" / "mprivacy_table1.json").read_text(encoding="utf-8")
)
ASKED = sorted(TABLE["expected"]["is_m_private"])
RULES = {
    "k": (KAnonymity(3), coalitions.k_anonymous(3)),
    "l": (DistinctDiversity(2), coalitions.diverse(2)),
    "large l": (DistinctDiversity(4), coalitions.diverse(4)),
    "k & l": (
        KAnonymity(4) & DistinctDiversity(3),
        coalitions.both(coalitions.k_anonymous(4), coalitions.diverse(3)),
    ),
}


def printed(asked):
    """The classes of a printed table by their cells, and m, k and l of a question about it."""
    name, *numbers = asked.split(",")
    classes = defaultdict(list)
    for row in TABLE[name]:
        classes[row["Age"], row["Zip"]].append(row)
    return classes, *(int(number.partition("=")[2]) for number in numbers)


def pairs(rows):
    return [(row["Provider"], row["Disease"]) for row in rows]


@pytest.mark.parametrize("asked", ASKED)
def test_brute_force_finds_every_coalition_of_the_papers_table(asked):
    classes, m, k, l = printed(asked)
    rule = coalitions.both(coalitions.k_anonymous(k), coalitions.diverse(l))
    found = {
        (cells, one): sorted(row["Name"] for row in rows if row["Provider"] not in one)
        for cells, rows in classes.items()
        for one in coalitions.breaking(pairs(rows), m, rule)
    }
    listed = {
        (tuple(one["group"]), tuple(one["coalition"])): sorted(one["remaining"])
        for one in TABLE["expected"]["violations"].get(asked, [])
    }
    assert found == listed
    assert (not found) == TABLE["expected"]["is_m_private"][asked]


@pytest.mark.parametrize("asked", ASKED)
def test_the_papers_table_is_judged_as_corrected(asked):
    classes, m, k, l = printed(asked)
    provider = sorted(TABLE["providers"])
    value = sorted({row["Disease"] for rows in classes.values() for row in rows})
    groups = provided(
        [
            [(provider.index(who), value.index(what)) for who, what in pairs(rows)]
            for rows in classes.values()
        ]
    )
    found = find_breaches(
        KAnonymity(k) & DistinctDiversity(l), groups, count_members(groups.contributed, m)
    )
    assert bool(found.broken.any()) != TABLE["expected"]["is_m_private"][asked]


def test_overall_verdicts_at_m_1():
    """Correction of the paper: T*b is 1-private for k = 2 and not for k = 3."""
    private = TABLE["expected"]["is_m_private"]
    assert not private["Ta,m=1,k=2,l=2"]
    assert private["Tb,m=1,k=2,l=2"]
    assert not private["Tb,m=1,k=3,l=2"]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("m", [0, 1, 2, 3, 9])
def test_growing_rules_against_brute_force(name, m):
    model, rule = RULES[name]
    classes = random_classes(300)
    groups = provided(classes)
    found = find_breaches(model, groups, count_members(groups.contributed, m))
    assert 0 < found.broken.sum() < len(classes)
    for class_, rows in enumerate(classes):
        coalition = found.of(class_)
        assert (coalition is not None) == bool(coalitions.breaking(rows, m, rule))
        if coalition is not None:
            assert len(coalition) <= m
            assert not rule(coalitions.left(rows, coalition))


@pytest.mark.parametrize("name", RULES)
def test_taking_some_rows_is_no_worse_than_all_where_a_rule_is_growing(name):
    rule = RULES[name][1]
    for rows in random_classes(60, seed=1):
        some = coalitions.breaking_by_some(rows, 2, rule)
        assert some == coalitions.breaking(rows, 2, rule)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_a_cap_is_judged_by_any_of_the_coalitions_rows(m):
    rule = coalitions.both(coalitions.k_anonymous(2), coalitions.capped(0.6))
    classes = random_classes(80, seed=2)
    groups = provided(classes)
    found = find_breaches(AlphaK(0.6, 2), groups, count_members(groups.contributed, m))
    brute = [bool(coalitions.breaking_by_some(rows, m, rule)) for rows in classes]
    assert found.broken.tolist() == brute
    if m:  # what only full removal sees is not enough
        assert brute != [bool(coalitions.breaking(rows, m, rule)) for rows in classes]


@pytest.mark.parametrize("name", RULES)
def test_more_members_never_help_the_others(name):
    rule = RULES[name][1]
    for rows in random_classes(60, seed=3):
        last = coalitions.survives(rows, rule)
        n = len({provider for provider, _ in rows})
        safe = [not coalitions.breaking(rows, m, rule) for m in range(n)]
        assert safe == [last is None or m <= last for m in range(n)]


def test_whoever_holds_a_class_alone_hurts_nobody():
    groups = provided([[(0, 0), (0, 0), (0, 1)], [(0, 0), (1, 0), (1, 1)]])
    found = find_breaches(KAnonymity(2), groups, count_members(groups.contributed, 5))
    assert found.broken.tolist() == [False, True]
    assert found.of(0) is None
    assert found.of(1) == (1,)
    assert np.array_equal(count_members(groups.contributed, 5), [0, 1])


# The fewest values that a coalition can leave


def shares(*has):
    """Classes as tables of bools: who (rows) has which value (columns)."""
    pairs = [np.nonzero(one) for one in has]
    start = np.cumsum([0, *(len(who) for who, _ in pairs)])
    who, value = (np.concatenate(part).astype(np.int32) for part in zip(*pairs, strict=True))
    providers, values = (max(one.shape[side] for one in has) for side in (0, 1))
    total = np.bincount(value, minlength=values)
    return Contributions(
        Axis.numbered("who", providers),
        Axis.numbered("s", values),
        start,
        who,
        value,
        np.ones(len(who), np.int64),
        total,
    )


def values_after(has, coalition):
    return int(np.delete(has, list(coalition), axis=0).any(axis=0).sum())


def fewest(has):
    """For each number of members the fewest values that are left, all coalitions tried."""
    n = len(has)
    return [min(values_after(has, c) for c in combinations(range(n), m)) for m in range(n)]


def small_tables(number, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < number:
        has = rng.random((rng.integers(2, 9), rng.integers(2, 10))) < rng.choice([0.2, 0.4, 0.7])
        has = has[has.any(axis=1)][:, has.any(axis=0)]
        if len(has) > 1:
            found.append(has)
    return found


def wide_tables(shape, seed=0):
    """More than 64 providers or values: their bits do not fit in one word."""
    rng = np.random.default_rng(seed)
    for few in (0.5 / shape[0], 1 / shape[0], 0.2, 0.9):
        has = rng.random(shape) < few
        has[:, 0] = True  # everybody has one, and all others occur:
        has[rng.integers(0, shape[0], shape[1]), np.arange(shape[1])] = True
        yield has


def covered(has, most, l, side):
    """One side of the search alone: values that are gone, or providers that stay."""
    who, value = (part.astype(np.int64) for part in np.nonzero(has))
    n, d = has.shape
    if side == "gone":
        return collude._search_cover(value, who, np.bincount(value), n, most, d - l + 1)[0]
    return collude._search_cover(who, value, np.bincount(who), d, l - 1, n - most)[0]


@pytest.mark.parametrize("side", ["gone", "stay"])
def test_either_side_of_the_search_agrees_with_all_coalitions(side):
    for has in small_tables(80):
        left = fewest(has)
        for m in range(1, len(has)):
            for l in range(1, has.shape[1] + 1):
                assert covered(has, m, l, side) == (left[m] < l)


@pytest.mark.parametrize("by", ["search", "integer program"])
def test_the_fewest_values_and_who_leaves_them(by, monkeypatch):
    if by != "search":
        monkeypatch.setattr(fewest_module, "share_out", gives_up)
    tables = small_tables(60 if by == "search" else 12, seed=1)
    least, whole = [fewest(has) for has in tables], shares(*tables)
    for m in range(1, 5):
        most = np.minimum(m, [len(has) - 1 for has in tables])
        for l in (2, 4) if by != "search" else range(1, 8):
            found = find_value_breaches(whole, most, l)
            assert found.broken.tolist() == [least[c][k] < l for c, k in enumerate(most)]
            for c in np.flatnonzero(found.broken).tolist():
                assert len(found.of(c)) <= most[c]
                assert values_after(tables[c], found.of(c)) < l


def gives_up(kernel, number, rows, *arguments):
    """As if every search had been too long; what fails by itself was seen before."""
    kernel(0, number, *arguments)
    if kernel is collude.search_value_coalitions:
        state, members_ = arguments[-2:]
        alone = (state == collude.BROKEN) & (members_ < 0).all(axis=1)
        state[:] = np.where(alone, collude.BROKEN, collude.UNDECIDED)
        members_[:] = -1


@pytest.mark.parametrize("shape", [(70, 9), (6, 130), (66, 66)], ids=str)
def test_more_providers_or_values_than_a_word_has_bits(shape):
    most = 2 if shape[0] > 10 else 4
    for has in wide_tables(shape):
        left = min(values_after(has, c) for c in combinations(range(len(has)), most))
        for l in {2, shape[1] // 2, left, left + 1, shape[1]}:
            found = find_value_breaches(shares(has), np.array([most]), l).of(0)
            assert (found is not None) == (left < l)
            assert found is None or (values_after(has, found) < l and len(found) <= most)
            for side in ("gone", "stay"):
                assert covered(has, most, l, side) in (int(left < l), collude.UNDECIDED)


def test_the_fewest_providers_by_the_integer_program():
    for has in small_tables(25, seed=2):
        left = [*fewest(has), 0]
        for l in {1, 2, has.shape[1]}:
            found = find_smallest_union(shares(has), 0, l)
            assert len(found) == next(m for m, values in enumerate(left) if values < l)
            assert values_after(has, found) < l


@pytest.mark.parametrize(("most", "l", "broken"), [(15, 48, False), (15, 49, True), (16, 48, True)])
def test_where_one_search_is_long_the_other_decides(most, l, broken):
    """Each value has three providers: which values are gone takes too long to tell.

    The integer program, which takes seconds, says that 16 providers are needed to leave 47.
    """
    rng = np.random.default_rng(888)
    has = np.zeros((28, 75), bool)
    for value in range(75):
        has[rng.choice(28, 3, replace=False), value] = True
    assert covered(has, most, l, "gone") == collude.UNDECIDED
    found = find_value_breaches(shares(has), np.array([most]), l).of(0)
    assert (found is not None) == broken
    if found is not None:
        assert len(found) <= most
        assert values_after(has, found) < l


# Classes that fail by themselves


@pytest.mark.parametrize("model", [KAnonymity(3), DistinctDiversity(3), EntropyDiversity(3)])
@pytest.mark.parametrize("m", [0, 1, 2])
def test_what_fails_by_itself_needs_no_coalition(model, m):
    """Two rows of two values, of two providers; three of three, of one provider."""
    groups = provided([[(0, 0), (1, 1)], [(0, 0), (0, 1), (0, 2)], [(2, 0), (1, 1)]])
    found = find_breaches(model, groups, count_members(groups.contributed, m))
    assert [found.of(class_) for class_ in range(3)] == [(), None, ()]
    assert MPrivacy(m, model).witness(groups, 2)["coalition"] == []
    assert MPrivacy(m, model).per_class(groups).tolist() == [-1, np.inf, -1]
    one = groups.take(np.array([0]))
    growing = getattr(model, "row_monotone", False)
    for name in verifiers() if growing else ["exact"]:
        assert verifiers()[name](model, one, m).coalition == ()


def test_a_witness_is_of_the_rules_own_m():
    """One provider of five rows: one member leaves three of eight, two leave one."""
    groups = provided([[(0, 0)] * 5 + [(1, 0)] * 2 + [(2, 0)]])
    assert MPrivacy(1, KAnonymity(4)).witness(groups, 0) == {"coalition": [0], "left": 3}
    assert MPrivacy(1, KAnonymity(3)).witness(groups, 0) == {"coalition": [0, 1], "left": 1}
    assert MPrivacy(0, KAnonymity(9)).witness(groups, 0) == {"coalition": [], "left": 8}
    assert MPrivacy(2, KAnonymity(1)).witness(groups, 0) == {}


def test_m_privacy_where_nobody_colludes_is_as_monotone_as_its_rule():
    assert MPrivacy(0, EntropyDiversity(2)).monotone
    assert not MPrivacy(1, EntropyDiversity(2)).monotone
    assert MPrivacy(3, KAnonymity(2) & DistinctDiversity(2)).monotone
    assert not MPrivacy(1, KAnonymity(2) & EntropyDiversity(2)).monotone
