"""μ-Argus on tiny tables, against the outline in plain Python; and that it promises nothing."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measures.test_utility import full_domain
from tests.methods.test_chain import Plain, contents, levels, tables, tally

from shoal.core.errors import UsageError
from shoal.core.tally import Groups
from shoal.methods.mu_argus import mu_argus
from shoal.models import rule
from shoal.testing.random_tables import sample, shuffle_entries

FEW = settings(max_examples=80, deadline=None)
DEGREES = ("a=0", "a=2,b=3", "a=2,b=2", "c=3,b=2", "", "b=3,c=3", "a=1,b=1,c=1")
TESTED = {(1, 1), (1, 2), (1, 3), (1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 2, 3)}


def columns(degrees):
    """The combinations of columns that the outline's list of degrees names."""
    several = [c for n in (2, 3) for c in combinations(range(len(degrees)), n)]
    return [c for c in several if tuple(sorted(degrees[j] for j in c)) in TESTED]


def unsafe(table, tested, k):
    """For each row the combinations of columns in which it is rare; None: blank."""
    found = [[] for _ in table]
    for some in tested:
        values = [tuple(row[j] for j in some) for row in table]
        counts = Counter(one for one in values if None not in one)
        for i, one in enumerate(values):
            if None not in one and counts[one] < k:
                found[i].append(some)
    return found


def blanked(table, tested, k, whole, weights):
    """Blank the cell in most unsafe combinations, in every row with one, until there is none."""
    while True:
        rare = unsafe(table, tested, k)
        times = [
            [sum(j in some for some in found) / w * (j not in whole) for j, w in enumerate(weights)]
            for found in rare
        ]
        if not any(map(any, times)):
            return table
        worst = [one.index(max(one)) if any(one) else None for one in times]
        table = [
            tuple(None if j == at else cell for j, cell in enumerate(row))
            for row, at in zip(table, worst, strict=True)
        ]


def degrees_of(text, count):
    named = dict(part.split("=") for part in text.split(",") if part)
    return [int(named.get(name, 1)) for name in "abc"[:count]]


def own(text, count):
    """The parts of the text that are about the columns there are."""
    return ",".join(part for part in text.split(",") if part and part[0] in "abc"[:count])


def cells_of(plain, rows, at):
    """The rows at these levels, as cells."""
    ladders = [column.levels() for column in plain]
    return [tuple(l[n][c] for l, n, c in zip(ladders, at, row, strict=False)) for row in rows]


@FEW
@given(tables(), st.integers(1, 5), st.sampled_from(DEGREES), st.data())
def test_it_blanks_what_the_outline_blanks(table, k, text, data):
    plain, rows, weights = table
    at = [data.draw(st.sampled_from(list(column.levels()))) for column in plain]
    ours, model = tally(plain, rows, weights), rule(f"k-anonymity k={k}")
    recode = ",".join(f"{name}={level}" for name, level in zip("abc", at, strict=False))
    cut = mu_argus(ours, model, identifying=own(text, len(plain)), recode=recode)
    whole = [j for j, c in enumerate(plain) if at[j] == max(c.levels())]
    tested = columns(degrees_of(text, len(plain)))
    expected = blanked(cells_of(plain, rows, at), tested, k, whole, weights)
    found = Counter()
    for cell, inside in contents(ours, cut).items():
        found[cell] += inside.total()
    stars = [frozenset(range(column.size)) for column in plain]
    shown = [
        tuple(s if c is None else c for c, s in zip(row, stars, strict=True)) for row in expected
    ]
    assert found == Counter(shown)
    assert cut.facts["combinations"] == len(tested)
    blanks = [sum(row[j] is None for row in expected) for j in range(len(plain))]
    assert list(cut.facts["blank"].values()) == blanks
    assert list(levels(cut).values()) == at


@FEW
@given(tables(), st.integers(1, 5), st.sampled_from((0.0, 0.1, 0.4)))
def test_columns_are_lifted_until_few_enough_combinations_are_unsafe(table, k, share):
    plain, rows, weights = table
    ours, model = tally(plain, rows, weights), rule(f"k-anonymity k={k}")
    cut = mu_argus(ours, model, unsafe=share)
    tested = columns([1] * len(plain))
    at = list(levels(cut).values())
    rare = sum(map(len, unsafe(cells_of(plain, rows, at), tested, k)))
    top = [max(column.levels()) for column in plain]
    assert rare <= share * len(rows) * len(tested) or at == top
    before = sum(map(len, unsafe(cells_of(plain, rows, [0] * 3), tested, k)))
    if any(top):
        assert any(at) == (before > share * len(rows) * len(tested))
    told = ",".join(f"{a.name}={level}" for a, level in zip(ours.quasi, at, strict=True))
    assert contents(ours, cut) == contents(ours, mu_argus(ours, model, recode=told))


def test_the_column_that_makes_most_safe_for_its_loss_is_lifted():
    """Everybody has another age and one of two sexes: ages in pairs would do, at a third."""
    pairs = Plain("tree", 4, starts=((0, 2),))
    people = [(age, sex, 0) for age in range(4) for sex in range(2)]
    cut = mu_argus(tally([pairs, Plain("flat", 2)], people), rule("k-anonymity k=2"))
    assert levels(cut) == {0: 1, 1: 0}
    assert cut.facts["blank"] == {"a": 0, "b": 0}
    dear = tally([pairs, Plain("flat", 2)], people, (9.0, 1.0))
    assert levels(mu_argus(dear, rule("k-anonymity k=2"))) == {0: 0, 1: 1}


def test_sixteen_rows_of_four_binary_values_pass_its_own_test_and_are_1_anonymous():
    codes = np.array(list(product((0, 1), repeat=4)), np.int32).T
    four = tuple(Plain("flat", 2).axis(name) for name in "abcd")
    ours = tally([Plain("flat", 2)], [(0, 0)])
    ours = type(ours)(four, (), codes, np.zeros((0, 16), np.int32), np.ones(16, np.int64))
    cut = mu_argus(ours, rule("k-anonymity k=2"))
    assert sum(cut.facts["blank"].values()) == 0
    assert cut.classes == 16
    assert Groups.of(ours, cut).rows.tolist() == [1] * 16


def test_it_does_not_depend_on_the_order_of_entries():
    for seed in range(3):
        ours, before = sample(seed)
        other, _ = shuffle_entries(ours, before, np.random.default_rng(seed))
        model = rule("k-anonymity k=6")
        one, two = (mu_argus(t, model, recode="none") for t in (ours, other))
        assert one.facts == two.facts
        assert one.facts["blank"]["age"] > 0
        shown = [
            sorted(zip(*map(np.ndarray.tolist, (c.cells.low, c.cells.high)), strict=True))
            for c in (one, two)
        ]
        assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"identifying": "a=4"}, "identifying of a is not one of 0 to 3"),
        ({"identifying": "a=x"}, "identifying of a is not one of 0 to 3"),
        ({"identifying": "d=1"}, "does not name quasi-identifiers"),
        ({"identifying": "a=1,a=2"}, "each once"),
        ({"identifying": "a"}, "does not name"),
        ({"recode": "a=2"}, "recode of a is not one of 0 to 1"),
        ({"recode": "some"}, "does not name"),
        ({"recode": "b=-1"}, "recode of b is not one of 0 to 1"),
        ({"unsafe": 2}, "unsafe must be at least 0 and at most 1"),
    ],
)
def test_what_makes_no_sense_is_refused(given, message):
    ours = tally([Plain("ordered", 3)] * 2, [(0, 1, 2), (1, 1, 1)])
    with pytest.raises(UsageError, match=message):
        mu_argus(ours, rule("k-anonymity k=1"), **given)


def test_without_columns_there_is_nothing_to_recode():
    ours = tally([Plain("ordered", 3)], [(0, 1), (1, 1)])
    none = type(ours)((), ours.sensitive, ours.keys[:0], ours.values, ours.count)
    with pytest.raises(UsageError, match="no quasi-identifier"):
        mu_argus(none, rule("k-anonymity k=1"))


def test_on_adult_no_pair_or_triple_is_rare_and_yet_thousands_are_in_small_classes(real_data):
    ours, _ = full_domain(real_data, (0,) * 9)
    cut = mu_argus(ours, rule("k-anonymity k=5"), recode="none")
    assert cut.facts["combinations"] == 36 + 84
    shown = np.where(cut.cells.low == cut.cells.high, cut.cells.low, -1)[cut.class_]
    blank = shown < 0
    assert blank.sum() == sum(cut.facts["blank"].values())
    for some in columns([1] * 9):
        known = shown[:, some][~blank[:, some].any(axis=1)]
        packed = known @ 1000 ** np.arange(len(some))
        assert np.unique(packed, return_counts=True)[1].min() >= 5
    rows = Groups.of(ours, cut).rows
    assert rows[rows < 5].sum() > 10_000
