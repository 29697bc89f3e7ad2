"""Worst-case disclosure equals brute force over all worlds and all sets of pieces, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.oracles.worlds import (
    BASIC,
    NEGATED,
    SIMPLE,
    Worlds,
    believed,
    least,
    least_by_trying,
    negations,
    reference,
    releases,
    shapes,
    worst,
)

from shoal.core.axis import Axis
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.theory.worst_case_disclosure import (
    IMPLICATIONS,
    NEGATIONS,
    PersonValue,
    disclosure_curve,
    disclosure_per_class,
    find_reaching,
    find_witness,
    max_disclosure,
)

BOTH = (IMPLICATIONS, NEGATIONS)
CLOSE = 1e-12


def histogram(classes):
    """Classes written as counts, their values numbered alike."""
    axis = Axis.numbered("value", max(map(len, classes)))
    class_ = np.repeat(np.arange(len(classes)), [len(counts) for counts in classes])
    value = np.concatenate([np.arange(len(counts)) for counts in classes])
    count = np.concatenate(classes).astype(np.int64)
    some = count > 0
    return Histogram.of(axis, class_[some], value[some], count[some], len(classes))


def drawn(seed, classes, people, values):
    """Random classes of up to so many people, some even and some skewed, with values missing."""
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.full(values, rng.choice([0.3, 1, 20]))) for _ in range(classes)]
    return [rng.multinomial(rng.integers(1, people + 1), share).tolist() for share in shares]


def close(found, expected):
    """Quicker than pytest's, for thousands."""
    return len(found) == len(expected) and np.abs(found - np.array(expected, float)).max() <= CLOSE


def exactly(classes, k, knowledge=IMPLICATIONS):
    return max_disclosure(classes, k, knowledge=knowledge, exact=True)


ANY = [drawn(seed, 1 + seed % 9, (6, 30, 200)[seed % 3], 3 + seed % 8) for seed in range(30)]


# Against all worlds and all sets of pieces, on every release of a kind up to renaming


def to(low, high):
    return range(low, high + 1)


TINY = {
    "one piece": (1, SIMPLE, to(1, 3), to(2, 6), to(2, 4), 5000),
    "one piece, many classes": (1, SIMPLE, to(4, 5), to(2, 6), to(2, 4), 1400),
    "one piece, many values": (1, SIMPLE, to(1, 2), to(3, 8), to(3, 5), 10_000),
    "two pieces": (2, SIMPLE, to(1, 3), to(2, 6), to(2, 5), 250),
    "two pieces, many values": (2, SIMPLE, to(1, 2), to(4, 6), to(4, 5), 4000),
    "three pieces": (3, SIMPLE, to(1, 2), to(2, 5), to(2, 5), 30),
    "three pieces, many values": (3, SIMPLE, to(1, 1), to(5, 5), to(5, 5), 120),
    "a conjunction and a disjunction": (1, BASIC, to(1, 3), to(2, 5), to(2, 4), 60),
    "two conjunctions and disjunctions": (2, BASIC, to(1, 2), to(2, 4), to(2, 4), 36),
}
"""Pieces, language, and how many classes, people, values and at most worlds."""
RELEASES = 2000


@pytest.mark.parametrize("case", TINY)
def test_disclosure_is_the_largest_belief_that_any_set_of_pieces_gives(case):
    k, language, *kind = TINY[case]
    for release in releases(*kind):
        expected, h = worst(release, k, language), histogram(release)
        most = [max(beliefs) for beliefs in expected]
        assert exactly(release, k) == most, release
        assert close(disclosure_curve(h, k), most), release
        assert close(disclosure_per_class(h, k), expected[k]), release
        assert reference(release, k) == expected[k], release


def test_thousands_of_releases_were_tried():
    kinds = [kind for _, language, *kind in TINY.values() if language == SIMPLE]
    tried = {release for kind in kinds for release in releases(*kind)}
    assert len(tried) >= RELEASES


def test_disclosure_by_negations_is_the_largest_belief_that_any_set_of_them_gives():
    for release in releases(to(1, 3), to(2, 6), to(2, 5), 300):
        expected = worst(release, 3, NEGATED)
        assert exactly(release, 3, NEGATIONS) == [max(beliefs) for beliefs in expected], release
        assert close(disclosure_per_class(histogram(release), 3, NEGATIONS), expected[3]), release


def test_the_recursion_is_the_least_over_all_sets_of_atoms():
    for counts in shapes(to(1, 6), to(1, 4)):
        for k in range(5):
            assert least(counts, k) == least_by_trying(counts, k), (counts, k)


# The witness


@pytest.mark.parametrize("knowledge", BOTH)
def test_a_witness_attains_the_maximum_in_the_worlds_and_no_piece_is_idle(knowledge):
    for release in releases(to(1, 3), to(2, 6), to(1, 4), 40):
        worlds, most, h = Worlds(release), exactly(release, 3, knowledge), histogram(release)
        for k in range(4):
            found = find_witness(h, k, knowledge)
            target, others = atom(found.target), [atom(one) for one in found.others]
            assert found.disclosure == most[k], release
            assert worlds.belief(target, [(one, target) for one in others]) == most[k], release
            assert len({target, *others}) == 1 + len(others) == 1 + most.index(most[k]), release
            assert knowledge == IMPLICATIONS or {one[:2] for one in others} <= {target[:2]}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_witness_attains_the_maximum_in_large_classes_too(k):
    across = [[50] + [1] * 50, [40, 40, 5, 5, 5, 5]]
    for release in (across, *ANY):
        found = find_witness(histogram(release), k)
        target, others = atom(found.target), [atom(one) for one in found.others]
        assert believed(release, target, others) == found.disclosure == exactly(release, k)[k]
        assert len({target, *others}) == 1 + len(others) <= 1 + k
        assert all(person < sum(release[class_]) for class_, person, _ in (target, *others))
    found = find_witness(histogram(across), 2)
    assert {atom(one)[:2] for one in (found.target, *found.others)} == {(0, 0), (1, 0)}


def atom(known: PersonValue):
    return known.class_, known.person, known.value


# Larger classes: the recursion in fractions


@pytest.mark.parametrize(
    ("seed", "classes", "people", "values", "k"),
    [
        (0, 1, 500, 14, 13),
        (1, 8, 500, 14, 13),
        (2, 8, 30, 14, 8),
        (3, 25, 60, 6, 5),
        (4, 25, 12, 14, 4),
        (5, 60, 40, 10, 3),
        (6, 40, 8, 8, 6),
    ],
)
def test_large_classes_are_judged_as_by_the_recursion(seed, classes, people, values, k):
    release = drawn(seed, classes, people, values)
    h, expected = histogram(release), reference(release, k)
    assert close(disclosure_per_class(h, k), expected)
    exact = exactly(release, k)
    assert exact == [max(reference(release, j)) for j in range(k)] + [max(expected)]
    assert close(disclosure_curve(h, k), exact)
    assert close(max_disclosure(release, k), exact)
    plain = [max(negations(counts, j) for counts in release) for j in range(k + 1)]
    assert exactly(release, k, NEGATIONS) == plain
    assert close(disclosure_curve(h, k, NEGATIONS), plain)


# What must hold for any release


@pytest.mark.parametrize("knowledge", BOTH)
def test_more_pieces_never_disclose_less(knowledge):
    for release in ANY:
        found = exactly(release, 6, knowledge)
        assert all(fewer <= more for fewer, more in pairwise(found))
        assert found[0] == max(Fraction(max(counts), sum(counts)) for counts in release)


def test_negations_never_disclose_more_than_implications():
    for release in ANY:
        pairs = zip(exactly(release, 6, NEGATIONS), exactly(release, 6), strict=True)
        assert all(negated <= implied for negated, implied in pairs)


@pytest.mark.parametrize("knowledge", BOTH)
def test_the_worst_class_makes_the_curve(knowledge):
    for release in ANY:
        h = histogram(release)
        for k in (0, 1, 4):
            assert close(
                [disclosure_per_class(h, k, knowledge).max()],
                disclosure_curve(h, k, knowledge)[-1:],
            )


@pytest.mark.parametrize("knowledge", BOTH)
def test_merging_classes_never_discloses_more(knowledge):
    """Theorem 14."""
    rng = np.random.default_rng(0)
    for release in ANY:
        before = exactly(release, 4, knowledge)
        while len(release) > 1:
            one, other, *rest = (release[i] for i in rng.permutation(len(release)))
            release = [[a + b for a, b in zip(one, other, strict=True)], *rest]
            after = exactly(release, 4, knowledge)
            assert all(now <= then for now, then in zip(after, before, strict=True))
            before = after


@pytest.mark.parametrize("knowledge", BOTH)
def test_the_order_of_classes_and_of_values_changes_nothing(knowledge):
    rng = np.random.default_rng(1)
    for release in ANY:
        order = rng.permutation(len(release))
        other = [rng.permutation(release[i]).tolist() for i in order]
        assert exactly(other, 4, knowledge) == exactly(release, 4, knowledge)
        expected = disclosure_per_class(histogram(release), 4, knowledge)[order]
        assert close(disclosure_per_class(histogram(other), 4, knowledge), expected)


def test_everybody_twice_changes_nothing_for_negations_and_helps_against_implications():
    for release in ANY:
        twice = [[2 * count for count in counts] for counts in release]
        assert exactly(twice, 4, NEGATIONS) == exactly(release, 4, NEGATIONS)
        pairs = zip(exactly(twice, 4), exactly(release, 4), strict=True)
        assert all(now <= then for now, then in pairs)


def test_more_classes_alike_than_atoms_add_nothing():
    for release in ANY[:9]:
        found = [exactly(release * times, 2) for times in (1, 3, 4, 9)]
        assert found[0] <= found[1] == found[2] == found[3]


def test_counts_may_be_a_mapping_and_hold_zeros():
    plain = exactly([[3, 1, 1], [2, 2, 2]], 2)
    assert plain == [Fraction(3, 5), Fraction(6, 7), 1]
    named = [{"flu": 1, "ulcer": 3, "cold": 1}, {"flu": 2, "hiv": 2, "ulcer": 2}]
    assert exactly(named, 2) == plain
    assert exactly([[0, 3, 0, 1, 1], [2, 2, 0, 2]], 2) == plain


# The edges


@pytest.mark.parametrize("knowledge", BOTH)
def test_a_class_of_one_value_discloses_all(knowledge):
    for release in ([[4]], [[1]], [[1, 1, 1, 1, 1], [0, 3]]):
        assert exactly(release, 2, knowledge) == [1, 1, 1]
        found = find_witness(histogram(release), 2, knowledge)
        assert (found.disclosure, found.others) == (1, ())


def test_what_is_sure_elsewhere_can_be_used_to_say_anything():
    assert disclosure_per_class(histogram([[3], [1, 1, 1, 1]]), 1).tolist() == [1, 1]
    assert disclosure_per_class(histogram([[3], [1, 1, 1, 1]]), 1, NEGATIONS).tolist() == [
        1,
        pytest.approx(1 / 3),
    ]


@pytest.mark.parametrize("knowledge", BOTH)
def test_without_knowledge_it_is_the_share_of_the_commonest_value(knowledge):
    release = [[5, 4, 1], [7, 2, 2], [1, 1, 1]]
    assert exactly(release, 0, knowledge) == [Fraction(7, 11)]
    assert close(disclosure_per_class(histogram(release), 0, knowledge), [1 / 2, 7 / 11, 1 / 3])
    found = find_witness(histogram(release), 0, knowledge)
    assert atom(found.target)[::2] == (1, 0)
    assert (found.disclosure, found.others) == (Fraction(7, 11), ())


@pytest.mark.parametrize("k", [-1, 1.5, "two", None])
def test_the_number_of_pieces_is_a_whole_number(k):
    with pytest.raises(UsageError):
        max_disclosure([[2, 1]], k)
    for of in (disclosure_curve, disclosure_per_class, find_witness):
        with pytest.raises(UsageError):
            of(histogram([[2, 1]]), k)


def test_unknown_knowledge_and_an_empty_release_are_refused():
    none = histogram([[2, 1]]).take(np.zeros(0, np.int64))
    with pytest.raises(UsageError):
        max_disclosure([], 1)
    with pytest.raises(UsageError):
        max_disclosure([[2, 1]], 1, knowledge="rumours")
    for of in (disclosure_curve, disclosure_per_class, find_witness):
        with pytest.raises(UsageError):
            of(none, 1)
        with pytest.raises(UsageError):
            of(histogram([[2, 1]]), 1, "rumours")


@pytest.mark.parametrize("knowledge", BOTH)
def test_a_whole_number_may_be_written_as_a_float(knowledge):
    h = histogram([[3, 1, 1], [2, 2, 2]])
    for of in (disclosure_curve, disclosure_per_class):
        assert of(h, 2.0, knowledge).tolist() == of(h, 2, knowledge).tolist()
    assert find_witness(h, 2.0, knowledge) == find_witness(h, 2, knowledge)
    assert exactly([[3, 1, 1]], 2.0, knowledge) == exactly([[3, 1, 1]], 2, knowledge)


@pytest.mark.parametrize("counts", [[], [0, 0], [3, -1], {}])
def test_counts_that_nobody_can_have_are_refused(counts):
    with pytest.raises((InputError, UsageError)):
        max_disclosure([[2, 1], counts], 1)


def test_a_class_of_zero_rows_is_refused():
    h = histogram([[3, 1, 1], [2, 2, 2]])
    hole = replace(h, start=h.start[[0, 1, 1, 2]])
    for of in (disclosure_curve, disclosure_per_class, find_witness):
        with pytest.raises(UsageError, match="no people"):
            of(hole, 1)


def test_who_can_be_told_for_certain_is_known_without_fractions():
    """A chance of 0 is exact: thousands of such classes cost no more than others."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 40, (3000, 3))
    h = histogram([[*one, 1] for one in counts.tolist()])
    certain = find_reaching(h, 3, Fraction(1))
    assert certain.all()  # four values at most, and three of them ruled out
    assert not find_reaching(h, 0, Fraction(1))[np.count_nonzero(counts, axis=1) > 0].any()
