"""(c,k)-safety holds exactly where no k pieces tell too much, and Mondrian keeps it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.checks.worlds import least, reference

from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.models.ck_safety import CkSafety
from shoal.tally import Groups, Histogram
from shoal.testing import sample

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


@pytest.mark.parametrize(("c", "k"), [(0, 1), (-0.1, 1), (1.1, 1), ("much", 1), (0.5, -1),
                                      (0.5, 1.5), (0.5, "two")])  # fmt: skip
def test_safety_refuses_bounds_that_mean_nothing(c, k):
    with pytest.raises(UsageError):
        CkSafety(c, k)


def test_safety_is_written_and_read():
    for text in ("ck-safety c=0.6 k=2", "ck-safety c=2/3 k=0 on=disease",
                 "ck-safety c=0.6 k=2 gamma=0.9"):  # fmt: skip
        assert str(rule(text)) == text
        assert rule(str(rule(text))) == rule(text)
    assert rule("ck-safety c=0.6 k=2") == CkSafety(0.6, 2)
    assert (CkSafety(0.6, 2).monotone, CkSafety(0.6, 2).local) == (True, False)


@pytest.mark.parametrize(("c", "k"), [("1/2", 1), ("3/4", 2), ("9/10", 3)])
def test_cuts_are_admitted_in_turn_exactly_where_all_classes_stay_safe(c, k):
    rng, model, seen = np.random.default_rng(k), CkSafety(c, k), set()
    classes = [[30, 28, 27, 25, 24, 22, 21]]
    state = model.start(groups(classes))
    for _ in range(12):
        class_ = rng.integers(len(classes), size=6)
        lefts = [rng.binomial(classes[i], 0.5).tolist() for i in class_]
        rights = [np.subtract(classes[i], lefts[n]).tolist() for n, i in enumerate(class_)]
        filled = [i for i in range(6) if any(lefts[i]) and any(rights[i])]
        class_, halves = class_[filled], [(lefts[i], rights[i]) for i in filled]
        given = groups([half for pair in halves for half in pair])
        model.admit(state, class_, given)  # a state is never changed in place
        state, made = model.admit(state, class_, given)
        classes, expected = replayed(classes, class_, halves, Fraction(c), k)
        assert made.tolist() == expected
        seen |= {*expected}
    assert seen == {True, False}


def replayed(classes, class_, halves, c, k):
    """The classes after the cuts that keep all of them safe, at most one of a class, and which."""
    classes, cut, made = [*classes], set(), []
    for i, (left, right) in zip(class_, halves, strict=True):
        after = [*classes[:i], left, *classes[i + 1 :], right]
        made.append(i not in cut and safe(after, c, k))
        if made[-1]:
            classes = after
            cut.add(i)
    return classes, made


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
        halves = [np.bincount(tally.values[0][cut.entry[of[side]]], people[side], size)
                  for side in nearest_to_half(codes, people)]  # fmt: skip
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
        some = [held[i] for i in rng.integers(len(held), size=rng.integers(1, 9))]
        assert model.holds(groups([np.sum(some, axis=0).tolist()])).all()


def sufficient(counts, c, k, gamma):
    """Whatever a class has to do with j of the k + 1 atoms, it leaves the others their share."""
    chance = [least(tuple(counts), j) for j in range(k + 2)]
    odds, bound = Fraction(sum(counts), max(counts)), (1 - c) / c
    return all(chance[j] >= gamma**j for j in range(k + 1)) and all(
        chance[j] * odds * gamma ** (k + 1 - j) > bound for j in range(1, k + 2)
    )
