"""m-invariance over random histories: even classes, signatures that stay, and what is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adult_seven import adult_seven

from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Cut, Groups, Tally
from shoal.measures.loss import loss
from shoal.methods._invariance.balancing import NEW, Balance
from shoal.methods._invariance.groups import gather_classes
from shoal.methods._invariance.requirement import APART, FILL
from shoal.methods._invariance.value_buckets import count_dealable, count_missing_rows, deal_buckets
from shoal.methods._shared.progress import Advance
from shoal.methods.invariant import invariant
from shoal.models import rule
from shoal.testing.checks import check_method, check_model
from shoal.testing.random_tables import groups

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=7).map(np.array)


def table(points, values, size=6) -> Tally:
    """One entry a person, on two numbered columns of 40 codes."""
    axes = tuple(Axis(name, "category", "ordered", tuple(range(40))) for name in ("a", "b"))
    keys = np.array(points, np.int32).reshape(-1, 2).T
    sensitive = (Axis.numbered("sensitive", size),)
    codes = np.array(values, np.int32)[np.newaxis]
    return Tally(axes, sensitive, keys, codes, np.ones(len(values), np.int64))


# The model


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_model_keeps_its_contract(m):
    check_model(rule(f"m-invariance m={m}"))


def test_one_value_hides_nothing():
    with pytest.raises(UsageError, match="at least 2"):
        rule("m-invariance m=1")


def test_classes_are_even_or_they_are_not():
    classes = groups([["a", "b", "c"], ["a", "a", "b", "b"], ["a", "b", "b"], ["a"], [None, "a"]])
    assert rule("m-invariance m=2").holds(classes).tolist() == [True, True, False, False, True]
    assert rule("m-invariance m=3").per_class(classes).tolist() == [3, 2, 0, 1, 2]
    assert rule("m-invariance m=2").reached(classes) == 0


# Dealing


@settings(max_examples=200, deadline=None)
@given(counts=COUNTS, m=st.integers(1, 4))
def test_rows_are_dealt_exactly_where_they_can_be(counts, m):
    if counts.max() * m > counts.sum():
        high = count_dealable(counts, m)
        assert np.minimum(counts, high).sum() >= m * high
        assert np.minimum(counts, high + 1).sum() < m * (high + 1)
        counts = np.minimum(counts, high)
    placed = np.zeros_like(counts)
    for values, times in deal_buckets(counts, m):
        assert len(set(values.tolist())) == len(values) >= m
        assert times > 0
        placed[values] += times
    assert (placed == counts).all()


@settings(max_examples=200, deadline=None)
@given(counts=COUNTS, m=st.integers(1, 4))
def test_what_lacks_is_the_least_that_makes_rows_eligible(counts, m):
    more = count_missing_rows(counts, m, np.ones(len(counts), np.int64))
    assert (more >= 0).all()
    assert more.sum() == 0 or (counts + more).max() == counts.max()
    if len(counts) >= m:
        assert more.sum() == max(0, m * counts.max() - counts.sum())


# The method


def check_cut(tally, cut, m):
    found = Groups.of(tally, cut)
    assert rule(f"m-invariance m={m}").holds(found).all()
    assert len(cut.cells.unique()[0]) == cut.classes


@pytest.mark.parametrize("model", ["m-invariance m=2", "m-invariance m=2 & k-anonymity k=5"])
def test_the_method_keeps_its_contract(model):
    check_method(invariant, rule(model), hold_back=10_000)


PEOPLE = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39), st.integers(0, 5)), min_size=6)


@settings(max_examples=40, deadline=None)
@given(people=PEOPLE, m=st.integers(2, 3))
def test_everybody_who_can_be_is_in_an_even_class(people, m):
    tally = table([p[:2] for p in people], [p[2] for p in people])
    counts = np.bincount([p[2] for p in people])
    high = count_dealable(counts, m)
    over = int(np.maximum(counts - high, 0).sum())
    if over:
        with pytest.raises(NotMetError, match="may be held back"):
            invariant(tally, rule(f"m-invariance m={m}"))
    if high:
        cut = invariant(tally, rule(f"m-invariance m={m}"), hold_back=over)
        assert cut.suppressed == over
        check_cut(tally, cut, m)


def test_groups_with_other_values_never_share_their_cells():
    # Twelve people at one place: three signatures at least, so some cells must be wider.
    values = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4]
    tally = table([(7, 9)] * len(values), values)
    cut = invariant(tally, rule("m-invariance m=3"))
    check_cut(tally, cut, 3)
    assert cut.classes > 1
    assert (cut.cells.low <= (7, 9)).all()
    assert (cut.cells.high >= (7, 9)).all()


def test_what_cannot_be_told_apart_is_refused_or_held_back():
    axis = Axis("a", "category", "ordered", (0,))
    codes = np.array([[0, 0, 1, 1, 1, 2, 2, 3]], np.int32)
    keys = np.zeros((1, 8), np.int32)
    tally = Tally((axis,), (Axis.numbered("s", 4),), keys, codes, np.ones(8, np.int64))
    with pytest.raises(NotMetError, match="however wide"):
        invariant(tally, rule("m-invariance m=2"))
    cut = invariant(tally, rule("m-invariance m=2"), hold_back=8)
    assert 0 < cut.suppressed < 8
    check_cut(tally, cut, 2)


@pytest.mark.parametrize(
    ("model", "error"),
    [("k-anonymity k=3", NotMetError), ("m-invariance m=2 & ck-safety c=0.9 k=1", UsageError)],
)
def test_other_rules_are_refused(model, error):
    tally = table([(1, 2), (3, 4)], [0, 1])
    with pytest.raises(error, match="method invariant"):
        invariant(tally, rule(model))


def test_adult_loses_far_less_than_by_dealing_the_whole_table(real_data):
    tally = adult_seven(real_data)
    cut = invariant(tally, rule("m-invariance m=3"))
    assert cut.suppressed == 0
    check_cut(tally, cut, 3)
    assert loss(tally, cut) < 0.027  # 0.126 where the paper's assignment deals all rows at once


# Histories


def balanced(tally, signature, signatures, m, newcomers):
    entry = np.arange(tally.entries, dtype=np.int32)
    balance = Balance(tally, entry, tally.values[0], signature, 6, newcomers)
    balance.fill(signatures)
    balance.deal(m, None, Advance(None), hold_back=tally.entries)
    return balance


def made_of(tally, balance, m):
    """The tally with the counterfeits, and the cut; people who stay find their cells first."""
    rows, made = balance.rows(), len(balance.counterfeits)
    whole = Tally(
        tally.quasi,
        tally.sensitive,
        np.concatenate((tally.keys, np.zeros((2, made), np.int32)), 1),
        np.concatenate((tally.values, rows.value[np.newaxis, rows.is_counterfeit]), 1),
        np.ones(tally.entries + made, np.int64),
    )
    first = np.append(balance.signature != NEW, np.zeros(made, np.bool_))
    whole, cut, left = gather_classes(
        whole, rule(f"m-invariance m={m}"), rows, Advance(None), first
    )
    assert left == 0
    return whole, cut


def published(tally, balance, m):
    """Per person the set of values of the class."""
    whole, cut = made_of(tally, balance, m)
    check_cut(whole, cut, m)
    check_inside(whole, cut)
    people = cut.cells.count_inside(tally.keys, tally.count)
    assert (people >= np.minimum(Groups.of(whole, cut).on(None).distinct, tally.entries)).all()
    members = defaultdict(list)
    for entry, class_ in zip(cut.entry, cut.class_, strict=True):
        members[class_].append(entry)
    assert all(min(some) < tally.entries for some in members.values()), "a class of nobody"
    of_class = {one: tuple(sorted({*whole.values[0][some]})) for one, some in members.items()}
    return {int(entry): of_class[c] for entry, c in zip(cut.entry, cut.class_, strict=True)}


def check_inside(tally: Tally, cut: Cut):
    for j, codes in enumerate(tally.keys):
        here = codes[cut.entry]
        assert (cut.cells.low[cut.class_, j] <= here).all()
        assert (here <= cut.cells.high[cut.class_, j]).all()


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    m=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    newcomers=st.sampled_from([APART, FILL]),
)
def test_signatures_stay_over_random_histories(data, m, seed, newcomers):
    rng = np.random.default_rng(seed)
    people = {i: (*rng.integers(0, 40, 2), int(v)) for i, v in enumerate(rng.permutation(30) % 6)}
    has: dict[int, tuple[int, ...]] = {}
    for year in range(3):
        names = sorted(people)
        tally = table([people[n][:2] for n in names], [people[n][2] for n in names])
        sets = sorted({has[n] for n in names if n in has})
        signature = np.array([sets.index(has[n]) if n in has else NEW for n in names])
        how = tally, signature, [np.array(one) for one in sets], m, newcomers
        if not sets and np.bincount(tally.values[0]).max() * m > tally.entries:
            with pytest.raises(NotMetError, match="nobody else to publish"):
                balanced(*how)
            return
        balance = balanced(*how)
        assert year or not balance.counterfeits
        found = published(tally, balance, m)
        now = {name: found[i] for i, name in enumerate(names) if i in found}
        assert all(now[n] == has[n] for n in names if n in has)
        assert all(people[n][2] in now[n] and len(now[n]) >= m for n in now)
        waiting = {n for n in names if n not in now}
        assert not waiting or waiting == set(names) - has.keys()
        assert newcomers == APART or not waiting
        gone = data.draw(st.integers(0, len(names) - 1))
        for name in rng.permutation(names)[:gone].tolist():
            del people[name]
        for i in range(data.draw(st.integers(0, 12))):
            place = rng.integers(0, 40, 2)
            people[1000 * (year + 1) + i] = (*place, int(rng.integers(0, 6)))
        has = {n: now[n] for n in people if n in now}


def test_one_person_who_is_left_shares_the_cells_with_one_who_waits():
    # Nobody else is published. Cells around the one who stays alone would be their own values.
    tally = table([(15, 12), (3, 30), (39, 39)], [3, 3, 3])
    balance = balanced(tally, np.array([0, NEW, NEW]), [np.array([2, 3])], 2, APART)
    _, cut = made_of(tally, balance, 2)
    assert (cut.cells.low.tolist(), cut.cells.high.tolist()) == ([[3, 12]], [[15, 30]])
    assert published(tally, balance, 2) == {0: (2, 3), 3: (2, 3)}


def test_newcomers_alone_do_not_all_wait():
    # Nobody of the earlier release is left: where the newcomers wait, nothing is published.
    tally = table([(15, 12), (3, 30), (9, 9)], [3, 3, 2])
    with pytest.raises(NotMetError, match=r"Of 3 new rows (?s:.*) there is nobody else to publish"):
        balanced(tally, np.full(3, NEW), [], 2, APART)


@cache
def fewest(m: int, stay: tuple[tuple[tuple[int, ...], int], ...], new: tuple[int, ...]) -> int:
    """The fewest counterfeits there can be, by trying all groups that could hold everybody.

    ``stay`` has the signature and value of each person who stays. Every group has a set of at
    least m values, each once. So people of one signature, and newcomers in the gaps, need as many
    groups of it as the most frequent of their values; newcomers may also be in groups of their own.
    """
    values = range(4)
    sets = [s for size in range(m, 5) for s in combinations(values, size)]
    best = 99
    places = [[s for s in sets if v in s] for v in new]
    for choice in product(*places):
        need: dict[tuple[int, ...], Counter] = defaultdict(Counter)
        for one, value in (*stay, *zip(choice, new, strict=True)):
            need[one][value] += 1
        slots = sum(len(one) * max(count.values()) for one, count in need.items())
        best = min(best, slots - len(stay) - len(new))
    return best


STAY = st.lists(
    st.sampled_from([((0, 1), 0), ((0, 1), 1), ((0, 1, 2), 2), ((0, 1, 2), 0), ((2, 3), 3)]),
    max_size=4,
).map(lambda some: tuple(sorted(some)))
NEWCOMERS = st.lists(st.integers(0, 3), max_size=4).map(lambda some: tuple(sorted(some)))


@settings(max_examples=60, deadline=None)
@given(stay=STAY, new=NEWCOMERS)
def test_filled_by_newcomers_there_are_no_more_counterfeits_than_needed(stay, new):
    if not stay and not new:
        return
    # everybody may be anywhere; all four values are known, by somebody in a signature
    stay = (*stay, ((0, 1, 2, 3), 0))
    tally = table([(0, 0)] * (len(stay) + len(new)), [*(v for _, v in stay), *new])
    sets = sorted({one for one, _ in stay})
    signature = np.array([*(sets.index(one) for one, _ in stay), *(NEW for _ in new)])
    balance = balanced(tally, signature, [np.array(one) for one in sets], 2, FILL)
    assert len(balance.counterfeits) == fewest(2, stay, new)


def test_newcomers_who_are_near_fill_the_gaps():
    # One person of (0, 1) is left at (5, 5), and of the newcomers with the value 1 one is near.
    tally = table([(5, 5), (39, 39), (6, 5), (20, 30)], [0, 1, 1, 0])
    balance = balanced(tally, np.array([0, NEW, NEW, NEW]), [np.array([0, 1])], 2, FILL)
    assert balance.bucket[0] == balance.bucket[2] != balance.bucket[1] == balance.bucket[3]
    assert balance.counterfeits == []


# What an adversary works out


def told(tally, balance, m):
    """All that is public of a release: of each class its cells, its values and its counterfeits."""
    whole, cut = made_of(tally, balance, m)
    nobody = np.bincount(cut.class_, cut.entry >= tally.entries, cut.classes)
    cells = zip(cut.cells.low.tolist(), cut.cells.high.tolist(), strict=True)
    values = [sorted(whole.values[0][cut.entry[cut.class_ == c]]) for c in range(cut.classes)]
    return str(sorted(zip(cells, values, nobody.tolist(), strict=True)))


def most_believed(groups, stays, places, new, newcomers, m):
    """The highest belief in somebody's value, of whoever knows the method and tries all worlds.

    ``groups`` are the signatures of the first release's groups; in a world their people have those
    values in some order. Who stays, everybody's place and even the newcomers' values are known.
    """
    sets = sorted({*groups})
    at = [(i, j) for i, group in enumerate(groups) for j in range(len(group)) if stays[i][j]]
    signature = np.array([*(sets.index(groups[i]) for i, _ in at), *(NEW for _ in new)])
    seen = defaultdict(list)
    for world in product(*map(permutations, groups)):
        values = [world[i][j] for i, j in at]
        tally = table(places[: len(at) + len(new)], [*values, *new])
        balance = balanced(tally, signature, [np.array(one) for one in sets], m, newcomers)
        seen[told(tally, balance, m)].append(values)
    counts = [Counter(one) for worlds in seen.values() for one in zip(*worlds, strict=True)]
    return max(max(count.values()) / count.total() for count in counts)


HISTORIES = {
    2: [((0, 1), (0, 1), (0, 2)), ((0, 1), (1, 2), (1, 2)), ((0, 1), (0, 1), (0, 1))],
    3: [((0, 1, 2), (0, 1, 2)), ((0, 1, 2), (1, 2, 3))],
}


@pytest.mark.parametrize("m", HISTORIES)
@pytest.mark.parametrize("seed", range(4))
def test_where_newcomers_keep_apart_no_value_is_likelier_than_one_in_m(m, seed):
    rng = np.random.default_rng(seed)
    for groups_ in HISTORIES[m]:
        stays = [rng.permutation([True, *(rng.random(m - 1) < 0.5)]) for _ in groups_]
        places = rng.permutation(1600)[:12]
        places = [(p // 40, p % 40) for p in places.tolist()]
        new = rng.permutation([*range(m), *range(m)])[: rng.integers(0, 2 * m + 1)].tolist()
        found = most_believed(groups_, stays, places, new, APART, m)
        assert found == pytest.approx(1 / m)


def test_where_newcomers_fill_gaps_a_counterfeit_tells_who_has_which_value():
    # One of two people is left, and a newcomer with the value 0 is in a class of newcomers: had
    # the gap been one of 0 the newcomer would fill it, so the person left has 0.
    places = [(5, 5), (30, 5), (8, 20), (20, 9), (12, 30)]
    case = ((0, 1),), [(True, False)], places
    assert most_believed(*case, [0, 2], FILL, 2) == 1
    assert most_believed(*case, [0, 2], APART, 2) == 0.5


def test_newcomers_too_alike_wait_together_or_are_refused():
    tally = table([(5, 5), (9, 9), (6, 5), (20, 30)], [0, 1, 1, 0])
    signature, sets = np.array([0, NEW, NEW, NEW]), [np.array([0, 1])]
    balance = balanced(tally, signature, sets, 3, APART)
    assert balance.bucket.tolist() == [0, NEW, NEW, NEW]
    assert balance.counterfeits == [(0, 1)]
    refused = Balance(tally, np.arange(4, dtype=np.int32), tally.values[0], signature, 6, APART)
    with pytest.raises(NotMetError, match="Of 3 new rows more than one in 3"):
        refused.deal(3, None, Advance(None), hold_back=2)
