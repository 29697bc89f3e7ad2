"""Ways in which a release could have looked safe and was not: each stays closed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.axis import Axis, Level
from shoal.core.cells import Cells
from shoal.core.errors import UsageError
from shoal.core.hierarchy import Flat, Ordered
from shoal.core.histogram import Histogram
from shoal.core.tally import Cut, Groups, Population, Tally
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.models.entropy_diversity import entropy_reaches
from shoal.testing.checks import check_method


def independent(rows: int, seed: int) -> Tally:
    """People whose disease has nothing to do with their few distinct ages."""
    rng = np.random.default_rng(seed)
    age = Ordered().grow("age", "number", [float(a) for a in range(20, 28)])
    disease = Flat().grow("disease", "category", ["flu", "hiv"])
    drawn = np.stack([rng.integers(0, 8, rows), rng.integers(0, 2, rows)])
    codes, count = np.unique(drawn, axis=1, return_counts=True)
    keys, values = codes[:1].astype(np.uint8), codes[1:].astype(np.int32)
    return Tally((age,), (disease,), keys, values, count.astype(np.int64))


@pytest.mark.parametrize("k", [10, 50])
def test_relaxed_cuts_do_not_sort_people_by_their_sensitive_value(k):
    tally = independent(4000, k)
    cut = mondrian(tally, rule(f"k-anonymity k={k}"), relaxed=True)
    h = Groups.of(tally, cut).on(None)
    share = h.largest(h.count) / h.rows
    assert len(share) > 10
    assert (share[h.rows >= 30] < 0.9).all()
    assert (h.distinct == 2).mean() > 0.95


def test_a_level_of_one_node_is_a_level_like_any_other():
    """The lowest common ancestor is the first of H levels, so values are 1 / H apart."""

    def reached(levels: int) -> float:
        trivial = tuple(Level(np.zeros(1, np.int32), ("all",)) for _ in range(levels))
        axis = Axis("d", "category", "tree", ("a", "b", "c", "d"), levels=trivial)
        one = np.ones(4, np.int64)
        h = Histogram.of(axis, np.array([0, 0, 1, 1]), np.arange(4), one, 2)
        model = rule("t-closeness t=1 distance=hierarchical")
        return model.reached(Groups(np.array([2, 2]), (h,)))

    assert [reached(levels) for levels in range(4)] == [0.5, 0.25, pytest.approx(1 / 6), 0.125]


@pytest.mark.parametrize(("m", "r"), [(2, 1), (3, 8), (5, 3), (7, 2)])
def test_entropy_ties_are_decided_exactly(m, r):
    counts = (m * m * r, *[1] * (m * m * r))  # exp(entropy) is 2 m √r: an exact tie at its square
    n = sum(counts)
    for digits in (1, 10, 35):
        near = Fraction(10**-digits).limit_denominator(10**40)
        exact = Fraction(n) ** 2 / Fraction(m * m * r)
        assert entropy_reaches(counts, exact - near) == below(counts, exact - near)
        assert entropy_reaches(counts, exact + near) == below(counts, exact + near)


def below(counts: tuple[int, ...], l: Fraction) -> bool:
    """n^n >= l^n Π c^c, in whole numbers."""
    n = sum(counts)
    right = Fraction(l) ** n
    for c in counts:
        right *= c**c
    return Fraction(n) ** n >= right


def test_presence_adds_up_over_the_classes_a_person_could_be_in():
    age = Ordered().grow("age", "number", [float(a) for a in range(10)])
    people = Population(np.arange(10, dtype=np.uint8)[None], np.full(10, 10))
    entries = np.array([[0, 9]], np.uint8)
    cells = Cells(np.array([[0], [0]], np.int32), np.array([[4], [9]], np.int32))
    tally = Tally(
        (age,), (), entries, np.zeros((0, 2), np.int32), np.array([18, 17]), population=people
    )
    cut = Cut(np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int32), tally.count, cells)
    groups = Groups.of(tally, cut)  # 18 of 50 and 17 of 100: .36 + .17 for everybody up to 4
    assert rule("delta-presence low=0 high=0.5").holds(groups).tolist() == [False, False]
    assert rule("delta-presence low=0 high=0.54").holds(groups).tolist() == [True, True]


def test_people_whom_no_class_covers_are_surely_absent():
    age = Ordered().grow("age", "number", [float(a) for a in range(4)])
    people = Population(np.arange(4, dtype=np.uint8)[None], np.full(4, 5))
    cells = Cells(np.array([[0]], np.int32), np.array([[1]], np.int32))
    tally = Tally(
        (age,),
        (),
        np.array([[0]], np.uint8),
        np.zeros((0, 1), np.int32),
        np.array([4]),
        population=people,
    )
    one = np.zeros(1, np.int32)
    groups = Groups.of(tally, Cut(one, one, tally.count, cells))
    assert groups.uncovered == 10
    assert not rule("delta-presence low=0.2 high=0.9").holds(groups).any()
    assert rule("delta-presence low=0 high=0.9").holds(groups).all()


def test_a_rule_that_merging_breaks_is_kept_by_the_method_itself():
    check_method(mondrian, rule("delta-presence low=0 high=0.9"))
    with pytest.raises(UsageError, match="Relaxed"):
        mondrian(independent(100, 0), rule("delta-presence low=0 high=0.9"), relaxed=True)


def test_a_code_that_stands_for_nothing_lies_in_no_set():
    bits = np.full((1, 1), 2**64 - 1, np.uint64)
    cells = Cells(np.zeros((1, 1), np.int32), np.full((1, 1), 63, np.int32), {0: bits})
    start, found = cells.contains(np.array([[-1, 5]]))
    assert start.tolist() == [0, 0, 1]
    assert found.tolist() == [0]
