"""The verifiers agree with each other and with brute force, and count their checks honestly."""

from __future__ import annotations

import csv
import gzip
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.core.theory.test_collusion import RULES
from tests.oracles import coalitions
from tests.oracles.provided import provided, random_classes

from shoal.core.errors import UsageError
from shoal.core.model import Rule
from shoal.models._verifiers import (
    CoalitionLattice,
    decode_coalition,
    encode_coalitions,
    rank_by_attack_power,
    score_classes,
    verifiers,
)
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.k_map import KMap

PAPERS = ("direct", "top-down", "bottom-up", "binary")


@dataclass(frozen=True)
class Counted(Rule):
    """A row-monotone rule that counts how many classes it was asked about."""

    counted: Rule
    asked: list[int]
    row_monotone: ClassVar[bool] = True

    def holds(self, groups):
        self.asked.append(len(groups))
        return self.counted.holds(groups)

    def per_class(self, groups):
        return self.counted.per_class(groups)


def even(rows_each, providers=15, values=14):
    """A class in which every provider has as many rows, of different values."""
    return [(p, (p + i) % values) for p in range(providers) for i in range(rows_each)]


def test_the_room():
    assert set(verifiers()) == {*PAPERS, "adaptive", "exact"}


@pytest.mark.parametrize("verifier", verifiers())
@pytest.mark.parametrize("name", RULES)
def test_every_verifier_agrees_with_brute_force(name, verifier):
    model, rule = RULES[name]
    judge = verifiers()[verifier]
    for i, rows in enumerate(random_classes(150, seed=4)):
        m = i % 5
        result = judge(model, provided([rows]), m)
        assert (result.coalition is not None) == bool(coalitions.breaking(rows, m, rule))
        if result.coalition is not None:
            assert len(result.coalition) <= m
            assert len(result.coalition) < len({provider for provider, _ in rows})
            assert not rule(coalitions.left(rows, result.coalition))


@pytest.mark.parametrize("verifier", PAPERS)
def test_checks_are_what_the_rule_was_asked(verifier):
    """Asked in bites that double: past the first hit they go by less than as far again."""
    for i, rows in enumerate(random_classes(40, seed=5)):
        class_ = provided([rows])
        asked: list[int] = []
        model = Counted(KAnonymity(3) & DistinctDiversity(2), asked)
        result = verifiers()[verifier](model, class_, i % 4)
        asked_about = sum(asked[2:])  # the first are about the class, and each provider's own rows
        if result.coalition is None or verifier == "binary":
            assert result.checks == asked_about
        else:
            assert asked_about / 2 <= result.checks <= asked_about


def test_exact_judges_a_strangers_growing_rule():
    for rows in random_classes(40, seed=6):
        result = verifiers()["exact"](Counted(DistinctDiversity(2), []), provided([rows]), 2)
        assert (result.coalition is None) == (not coalitions.breaking(rows, 2, RULES["l"][1]))


def safe_lattice(verifier, n, m):
    return {
        "direct": math.comb(n, m),
        "bottom-up": sum(math.comb(n, size) for size in range(m + 1)),
        "top-down": n,  # no coalition of all but one breaks it: that settles all
        "binary": m + 1,  # any m providers lack one of the m + 1 strongest
    }[verifier]


@pytest.mark.parametrize("verifier", PAPERS)
@pytest.mark.parametrize("m", [1, 5, 14])
def test_checks_of_a_safe_class_by_hand(verifier, m):
    class_ = provided([even(50)])
    result = verifiers()[verifier](KAnonymity(50) & DistinctDiversity(4), class_, m)
    assert result.coalition is None
    assert result.checks == safe_lattice(verifier, 15, m)


@pytest.mark.parametrize(
    ("verifier", "checks"),
    [
        ("direct", 1),  # the strongest two are asked about first
        ("bottom-up", 1 + 15 + 1),  # nobody; each alone; the first pair breaks it
        (
            "top-down",
            2 + sum(math.comb(13, size - 2) for size in range(3, 15)) + 1,
        ),  # all with both
        ("binary", 4),  # all but either is harmless; all but a third breaks it, and so do the two
    ],
)
def test_checks_of_a_broken_class_by_hand(verifier, checks):
    """Two large providers: a coalition of both leaves at most 13 rows, any other at least 20."""
    rows = [(p, 0) for p in range(13)] + [(p, 0) for p in (13, 14) for _ in range(20)]
    result = verifiers()[verifier](KAnonymity(20), provided([rows]), 2)
    assert result.coalition == (13, 14)
    assert result.checks == checks


@pytest.mark.parametrize("verifier", PAPERS)
@pytest.mark.parametrize("m", [0, 1, 7])
def test_one_provider_is_checked_once(verifier, m):
    class_ = provided([[(0, 0), (0, 1)]])
    assert verifiers()[verifier](KAnonymity(2), class_, m).checks == 1
    assert verifiers()[verifier](KAnonymity(2), class_, m).coalition is None
    assert verifiers()[verifier](KAnonymity(3), class_, m).coalition == ()


def adult_class(folder, size, scale):
    """Rows of Adult's occupations, spread over 15 providers evenly or by exponential decay."""
    with gzip.open(folder / "adult.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        jobs = [row["occupation"] for row in csv.DictReader(lines) if "?" not in row.values()]
    rng = np.random.default_rng(1)
    value = rng.choice(np.unique(jobs, return_inverse=True)[1], size, replace=False)
    share = np.exp(-np.arange(15) / scale)
    provider = np.concatenate([np.arange(15), rng.choice(15, size - 15, p=share / share.sum())])
    return provided([list(zip(provider.tolist(), value.tolist(), strict=True))])


@pytest.mark.parametrize(
    ("size", "scale", "cheapest_first"),
    [
        (150, 4, ("direct", "binary", "bottom-up", "top-down")),
        (750, math.inf, ("binary", "top-down", "direct", "bottom-up")),
    ],
)
def test_adult_as_in_the_paper(real_data, size, scale, cheapest_first):
    """n_G = 15, k = 50, l = 4, m = 5: a weak class and a strong one."""
    class_ = adult_class(real_data, size, scale)
    model = KAnonymity(50) & DistinctDiversity(4)
    results = {name: judge(model, class_, 5) for name, judge in verifiers().items()}
    assert {result.coalition is None for result in results.values()} == {size == 750}
    checks = [results[name].checks for name in cheapest_first]
    assert checks == sorted(checks)
    assert results[cheapest_first[0]].checks <= 20
    assert results["exact"].checks == 1


# The order of attack


def test_stronger_providers_have_more_rows_and_values():
    rows = [(0, 0)] * 3 + [(1, 0)] + [(2, i % 2) for i in range(3)]
    class_ = provided([rows])
    model = KAnonymity(5) & DistinctDiversity(4)
    assert rank_by_attack_power(model, class_).tolist() == [1, 0, 2]
    assert rank_by_attack_power(KAnonymity(5), class_).tolist() == [
        1,
        0,
        2,
    ]  # equal rows: as they come


def test_score_of_the_paper_with_its_correction():
    groups = provided([even(1, 4, 4), even(1, 10, 1)])
    model = KAnonymity(4) & DistinctDiversity(2)
    met, failed = score_classes(model, groups).tolist()
    assert met == pytest.approx(0.7 * 4 / 4 + 0.3 * 4 / 2)
    assert failed < 1 < 0.7 * 10 / 4 + 0.3 * 1 / 2  # at most 1 − ε: ten rows of one value fail
    assert score_classes(KAnonymity(20), groups).tolist() == pytest.approx([0.14, 0.35])


def test_levels_run_from_weak_to_strong_or_back():
    lattice = CoalitionLattice.of(KAnonymity(2), provided([even(2, 4)]), 2, "direct")
    assert lattice.level(3)[0].tolist() == [0, 1, 2]
    assert lattice.level(2, strongest=True)[0].tolist() == [3, 2]
    assert lattice.level(0).shape == (1, 0)
    assert encode_coalitions(lattice.level(0)).tolist() == [0]
    assert [
        decode_coalition(int(mask))[0].tolist() for mask in encode_coalitions(lattice.level(3))
    ] == (lattice.level(3).tolist())


# Refusals


@pytest.mark.parametrize("verifier", PAPERS)
def test_rules_that_are_not_growing_are_refused(verifier):
    model = KAnonymity(2) & EntropyDiversity(2)
    with pytest.raises(UsageError, match=rf"{verifier}.*entropy-diversity l=2") as error:
        verifiers()[verifier](model, provided([even(2, 3)]), 1)
    assert "exact" in error.value.hint


def test_exact_refuses_what_has_no_exact_test():
    with pytest.raises(UsageError, match="population"):
        verifiers()["exact"](KMap(2), provided([even(2, 3)]), 1)


@pytest.mark.parametrize("verifier", verifiers())
def test_many_classes_or_no_provider_are_refused(verifier):
    judge = verifiers()[verifier]
    with pytest.raises(UsageError, match="one class, not 2"):
        judge(KAnonymity(2), provided([even(2, 3), even(2, 2)]), 1)
    with pytest.raises(UsageError, match="brought"):
        judge(KAnonymity(2), replace(provided([even(2, 3)]), contributions=()), 1)
    with pytest.raises(UsageError, match="m must be"):
        judge(KAnonymity(2), provided([even(2, 3)]), -1)


@pytest.mark.parametrize("verifier", PAPERS)
def test_too_many_coalitions_are_refused_and_exact_is_named(verifier):
    class_ = provided([even(1, 70)])
    with pytest.raises(UsageError, match="70 providers") as error:
        verifiers()[verifier](KAnonymity(10), class_, 20)
    assert "exact" in error.value.hint
    assert verifiers()["exact"](KAnonymity(10), class_, 20).coalition is None
