"""`shoal.collusion` against brute force, and brute force against the paper's table."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.checks import coalitions
from tests.checks.provided import provided, random_classes

from shoal.collusion import breached, members
from shoal.models.alpha_k import AlphaK
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.k_anonymity import KAnonymity

TABLE = json.loads(
    (Path(__file__).parent.parent / "golden" / "mprivacy_table1.json").read_text(encoding="utf-8")
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
    groups = provided([
        [(provider.index(who), value.index(what)) for who, what in pairs(rows)]
        for rows in classes.values()
    ])  # fmt: skip
    found = breached(KAnonymity(k) & DistinctDiversity(l), groups, members(groups.brought, m))
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
    found = breached(model, groups, members(groups.brought, m))
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
    found = breached(AlphaK(0.6, 2), groups, members(groups.brought, m))
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
    found = breached(KAnonymity(2), groups, members(groups.brought, 5))
    assert found.broken.tolist() == [False, True]
    assert found.of(0) is None
    assert found.of(1) == (1,)
    assert np.array_equal(members(groups.brought, 5), [0, 1])
