"""(c,k)-safety holds exactly where no k pieces tell too much, and Mondrian keeps it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.worlds import least, reference

from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.tally import Groups, Tally
from shoal.methods.chain import chain
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.models.ck_safety import CkSafety
from shoal.testing.random_tables import sample

VALUES = 20


def groups(classes):
    """Classes written as counts, their values numbered alike."""
    count = np.array([list(counts) + [0] * (VALUES - len(counts)) for counts in classes])
    class_, value = np.nonzero(count)
    axis = Axis.numbered("value", VALUES)
    h = Histogram.of(axis, class_, value, count[class_, value], len(classes))
    return Groups(h.rows, (h,))


def safe(classes, c, k):
    return max(reference(classes, k)) < c


@pytest.mark.parametrize("k", [0, 1, 3])
def test_safety_is_strict_and_exact(k):
    rng = np.random.default_rng(k)
    for values in range(2, 12):
        shares = rng.dirichlet(np.ones(values), rng.integers(1, 9))
        release = [rng.multinomial(rng.integers(1, 80), share).tolist() for share in shares]
        beliefs = reference(release, k)
        for c in {*beliefs} - {1}:
            for bound in (c, c + Fraction(1, 10**18), c - Fraction(1, 10**18)):
                expected = [belief < bound for belief in beliefs]
                assert CkSafety(bound, k).holds(groups(release)).tolist() == expected
        assert CkSafety(1, k).reached(groups(release)) == pytest.approx(float(max(beliefs)))


@pytest.mark.parametrize(
    ("c", "k"), [(0, 1), (-0.1, 1), (1.1, 1), ("much", 1), (0.5, -1), (0.5, 1.5), (0.5, "two")]
)
def test_safety_refuses_bounds_that_mean_nothing(c, k):
    with pytest.raises(UsageError):
        CkSafety(c, k)


def test_safety_is_written_and_read():
    for text in (
        "ck-safety c=0.6 k=2",
        "ck-safety c=2/3 k=0 on=disease",
        "ck-safety c=0.6 k=2 gamma=0.9",
    ):
        assert str(rule(text)) == text
        assert rule(str(rule(text))) == rule(text)
    assert rule("ck-safety c=0.6 k=2") == CkSafety(0.6, 2)
    assert (CkSafety(0.6, 2).monotone, CkSafety(0.6, 2).local) == (True, False)


@pytest.mark.parametrize(("c", "k"), [("1/2", 1), ("3/4", 2), ("9/10", 3)])
def test_cuts_are_admitted_in_turn_exactly_where_all_classes_stay_safe(c, k):
    rng, model, answers = np.random.default_rng(k), CkSafety(c, k), set()
    classes = [[30, 28, 27, 25, 24, 22, 21]]
    state = model.start(groups(classes))
    for _ in range(12):
        class_ = rng.integers(len(classes), size=6)
        lefts = [rng.binomial(classes[i], 0.5).tolist() for i in class_]
        rights = [np.subtract(classes[i], lefts[n]).tolist() for n, i in enumerate(class_)]
        filled = [i for i in range(6) if any(lefts[i]) and any(rights[i])]
        class_, halves = class_[filled], [(lefts[i], rights[i]) for i in filled]
        half_groups = groups([half for pair in halves for half in pair])
        model.admit(state, class_, half_groups)  # a state is never changed in place
        state, admitted = model.admit(state, class_, half_groups)
        classes, expected = replayed(classes, class_, halves, Fraction(c), k)
        assert admitted.tolist() == expected
        answers |= {*expected}
    assert answers == {True, False}


def replayed(classes, class_, halves, c, k):
    """The classes after the cuts that keep all of them safe, at most one of a class, and which."""
    classes, cut, admitted = [*classes], set(), []
    for i, (left, right) in zip(class_, halves, strict=True):
        after = [*classes[:i], left, *classes[i + 1 :], right]
        admitted.append(i not in cut and safe(after, c, k))
        if admitted[-1]:
            classes = after
            cut.add(i)
    return classes, admitted


@pytest.mark.parametrize("seed", range(4))
def test_mondrian_gives_a_release_that_is_safe_as_a_whole(seed):
    tally, _ = sample(seed)
    for c, k in ((Fraction(7, 10), 1), (Fraction(9, 10), 2)):
        cut = mondrian(tally, CkSafety(c, k) & rule("k-anonymity k=4"))
        classes = counted(tally.values[0], tally.sensitive[0].size, cut)
        assert len(classes) > 1
        assert safe(classes, c, k)


def counted(values, size, cut):
    return [
        np.bincount(values[cut.entry[of]], cut.count[of], size).astype(int).tolist()
        for of in (cut.class_ == class_ for class_ in range(cut.classes))
    ]


@pytest.mark.parametrize("seed", range(4))
def test_mondrian_leaves_no_cut_that_could_still_be_made(seed):
    """In no class do the people part nearest to half on any column and stay safe."""
    tally, _ = sample(seed)
    size = tally.sensitive[0].size
    plain = tuple(
        Axis(axis.name, "category", "ordered", tuple("abcdefgh"[: axis.size]))
        for axis in tally.quasi
    )  # without trees and nulls every cut on a column is between two codes
    tally = replace(tally, quasi=plain, population=None)
    c, k, least_rows = Fraction(4, 5), 1, 5
    cut = mondrian(tally, rule(f"ck-safety c={c} k={k} & k-anonymity k={least_rows}"))
    classes = counted(tally.values[0], size, cut)
    refused = 0
    for class_, column in np.ndindex(cut.classes, len(plain)):
        of = np.flatnonzero(cut.class_ == class_)
        codes, people = tally.keys[column, cut.entry[of]], cut.count[of]
        halves = [
            np.bincount(tally.values[0][cut.entry[of[side]]], people[side], size)
            for side in nearest_to_half(codes, people)
        ]
        if halves and min(half.sum() for half in halves) >= least_rows:
            parted = [half.astype(int).tolist() for half in halves]
            assert not safe(classes[:class_] + classes[class_ + 1 :] + parted, c, k)
            refused += 1
    assert refused


def nearest_to_half(codes, people):
    """Who goes left and who right at the cut of a column nearest to half of the people."""
    cuts = np.unique(codes)[:-1]
    if not len(cuts):
        return []
    left = [people[codes <= cut].sum() for cut in cuts]
    best = cuts[np.argmin(np.abs(2 * np.array(left) - people.sum()))]
    return [codes <= best, codes > best]


# The sufficient test that judges each class alone


@pytest.mark.parametrize(("c", "k"), [("1/2", 1), ("3/5", 2), ("7/10", 3)])
def test_the_local_test_is_its_definition_sound_and_survives_merging(c, k):
    rng, model, c = np.random.default_rng(k), CkSafety(c, k, gamma=0.9), Fraction(c)
    shares = rng.dirichlet(np.full(VALUES, 40), 80)
    drawn = [rng.multinomial(rng.integers(60, 400), share).tolist() for share in shares]
    holds = model.holds(groups(drawn)).tolist()
    assert model.local
    assert holds == [sufficient(counts, c, k, Fraction(9, 10)) for counts in drawn]
    assert holds[:9] == [model.holds(groups([counts])).item() for counts in drawn[:9]]
    held = [counts for counts, good in zip(drawn, holds, strict=True) if good]
    assert 10 < len(held) < len(drawn)
    assert safe(held * (k + 1), c, k)
    for _ in range(30):
        chosen = [held[i] for i in rng.integers(len(held), size=rng.integers(1, 9))]
        assert model.holds(groups([np.sum(chosen, axis=0).tolist()])).all()


def sufficient(counts, c, k, gamma):
    """Whatever a class has to do with j of the k + 1 atoms, it leaves the others their share."""
    chance = [least(tuple(counts), j) for j in range(k + 2)]
    odds, bound = Fraction(sum(counts), max(counts)), (1 - c) / c
    return all(chance[j] >= gamma**j for j in range(k + 1)) and all(
        chance[j] * odds * gamma ** (k + 1 - j) > bound for j in range(1, k + 2)
    )


def test_the_local_test_decides_ties_exactly():
    """p_1 of (6, 2, 2) is 4/10 and of (3, 2, 2) 4/7: at γ equal to it a class still holds."""
    for counts, gamma in (((6, 2, 2), Fraction(4, 10)), ((3, 2, 2), Fraction(4, 7))):
        for nudge in (0, 1, -1):
            near = gamma + Fraction(nudge, 10**15)
            model = CkSafety(1, 1, gamma=near)
            assert model.holds(groups([counts])).item() == (nudge <= 0)
            assert sufficient(counts, Fraction(1), 1, near) == (nudge <= 0)


def test_a_gamma_that_does_not_fit_is_answered_with_one_that_does():
    classes = groups([[30, 28, 27, 25, 24, 22, 21]])
    with pytest.raises(NotMetError) as caught:
        mondrian(*_table(), CkSafety("7/10", 2, gamma=0.99))
    low, high = re.findall(r"between (\S+) and ([\d.]+\d)", caught.value.hint)[0]
    assert CkSafety("7/10", 2, gamma=(float(low) + float(high)) / 2).advice(classes)
    for gamma in (float(low) + 0.01, float(high) - 0.01):
        assert mondrian(*_table(), CkSafety("7/10", 2, gamma=gamma)).classes >= 1
    with pytest.raises(NotMetError, match="no gamma"):
        mondrian(*_table(), CkSafety("1/10", 2, gamma=0.5))


def _table():
    """A tally of ten ages whose hundred people have ten values equally often."""
    keys = np.repeat(np.arange(10, dtype=np.int32), 10)[np.newaxis]
    values = np.tile(np.arange(10, dtype=np.int32), 10)[np.newaxis]
    count = np.full(100, 10)
    return (Tally((Axis.numbered("age", 10),), (Axis.numbered("value", 10),), keys, values, count),)


# Two rules that judge the whole table, and rows held back


def test_a_cut_is_made_only_where_every_rule_that_judges_the_table_admits_it():
    first, second = CkSafety("2/5", 1), CkSafety("3/5", 2)
    both = first & second
    rng, classes = np.random.default_rng(5), [[30, 28, 27, 25, 24, 22, 21]]
    state, answers = both.start(groups(classes)), set()
    for _ in range(8):
        class_ = rng.integers(len(classes), size=5)
        lefts = [rng.binomial(classes[i], 0.5).tolist() for i in class_]
        halves = [
            (left, np.subtract(classes[i], left).tolist())
            for i, left in zip(class_, lefts, strict=True)
        ]
        if not all(any(left) and any(right) for left, right in halves):
            continue
        state, admitted = both.admit(
            state, class_, groups([half for pair in halves for half in pair])
        )
        cut = set()
        for i, (left, right), is_admitted in zip(class_, halves, admitted, strict=True):
            after = [*classes[:i], left, *classes[i + 1 :], right]
            apart = [safe(after, Fraction(m.c), m.k) for m in (first, second)]
            assert is_admitted == (i not in cut and all(apart))
            answers.add(tuple(apart))
            if is_admitted:
                classes = after
                cut.add(i)
    assert {(True, True), (False, False)} < answers  # and at least one on which they differ


@pytest.mark.parametrize("method", [mondrian, chain])
def test_one_class_that_spoils_the_others_is_held_back_alone(method):
    (plain,) = _table()
    keys = np.append(plain.keys, [[10]], axis=1).astype(np.int32)
    values = np.append(plain.values, [[0]], axis=1).astype(np.int32)
    ages = Axis("age", "number", "ordered", tuple(map(float, range(11))), positions=np.arange(11.0))
    table = Tally((ages,), plain.sensitive, keys, values, np.append(plain.count, 900))
    cut = method(table, CkSafety("1/2", 1), hold_back=True)
    assert cut.suppressed == 900
    assert cut.classes == 10
    with pytest.raises(NotMetError):
        method(table, CkSafety("1/2", 1))


def test_fewer_rows_are_held_back_for_a_weaker_rule():
    rng = np.random.default_rng(1)
    people = np.stack((rng.integers(0, 20, 3000), rng.integers(0, 12, 3000)))
    people[1, rng.random(3000) < people[0] / 25] = 0  # the older, the more alike
    codes, count = np.unique(people, axis=1, return_counts=True)
    ages = Axis("age", "number", "ordered", tuple(map(float, range(20))), positions=np.arange(20.0))
    codes = codes.astype(np.int32)
    table = Tally((ages,), (Axis.numbered("value", 12),), codes[:1], codes[1:], count)
    held = [mondrian(table, CkSafety(c, 1), hold_back=True).suppressed for c in (0.5, 0.55, 0.6)]
    assert held == sorted(held, reverse=True)
    assert held[0] < 3000
