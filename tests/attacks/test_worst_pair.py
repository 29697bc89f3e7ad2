"""The worst pair of classes against all pairs of tiny tables, by plain sets of leaves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.attacks import release_views as releases

import shoal
from shoal.attacks.worst_pair import worst_pair
from shoal.core.axis import Axis
from shoal.core.cells import Cells, find_meeting_classes, ranges_to_sets
from shoal.core.errors import InputError, UsageError
from shoal.core.hierarchy import ordered
from shoal.core.theory.adversary_view import NobodyFoundError, ReleaseView, View
from shoal.data import bundled


def tiny(seed, values=70):
    """Up to 30 people in both releases; more values than fit in a word, few of them in use."""
    rng = np.random.default_rng(seed)
    rows, use = int(rng.integers(4, 31)), int(rng.integers(2, 6))
    view = releases.random_view(
        rng, rows, 5, use, added=3, removed=2, alike=int(rng.integers(1, 6))
    )
    spread = rng.permutation(values)[:use].astype(np.int32)
    axis = Axis("value", "category", "flat", tuple(f"v{i}" for i in range(values)))
    made = [
        replace(one, values=spread[one.values], shared=spread[one.shared]) for one in view.releases
    ]
    return replace(view, releases=tuple(made), sensitive=axis)


def by_hand(view, l):
    """Per pair of classes that somebody could be in: the values in both, and whether too few."""
    found = {}
    sides = [
        {int(one.class_[row]): releases.leaves(one, row)[0] for row in range(len(one.class_))}
        for one in view.releases
    ]
    for (c, mine), (d, theirs) in product(*(side.items() for side in sides)):
        sets = [
            set(one.values[one.class_ == at].tolist())
            for one, at in zip(view.releases, (c, d), strict=True)
        ]
        both = sets[0] & sets[1]
        if both and all(a & b for a, b in zip(mine, theirs, strict=True)):
            found[c, d] = len(both), len(both) < min(l, *map(len, sets))
    return found


@pytest.mark.parametrize("l", [2, 3])
@pytest.mark.parametrize("seed", range(60))
def test_all_pairs_by_hand(seed, l):
    view = tiny(seed)
    pairs = by_hand(view, l)
    bad = {pair: left for pair, (left, few) in pairs.items() if few}
    finding, second = worst_pair(view, l=l), view.releases[1]
    exposed = {d for _, d in bad}
    rows = [row for row, class_ in enumerate(second.class_, 1) if class_ in exposed]
    assert (finding.people, finding.exposed) == (len(second.class_), len(rows))
    assert set(finding.worst) <= set(rows)
    assert finding.details["pairs"] == len(pairs)
    assert finding.details["pairs_exposing"] == len(bad)
    assert finding.details["classes_exposed"] == len(exposed)
    fewest = min(bad.values()) if bad else min(left for left, _ in pairs.values())
    assert finding.sure == 1 / fewest
    worst = tuple(one["class"] for one in finding.witness["releases"])
    assert pairs[worst] == (fewest, bool(bad))
    assert finding.witness["left"] == fewest
    sizes = [
        min(one.rows[c] for one, c in zip(view.releases, pair, strict=True))
        for pair, told in pairs.items()
        if told == pairs[worst]
    ]
    assert min(one["class_rows"] for one in finding.witness["releases"]) == max(sizes)


def test_the_paper_s_two_hospitals():
    schema = shoal.Schema.of(quasi=["Zip", "Age", "Nationality"], sensitive=["Condition"])
    tables = [bundled.path(f"ganta_table1_r{i}.csv") for i in (1, 2)]
    finding = shoal.attack("worst-pair", tables, schema=schema, show=True)
    assert (finding.people, finding.exposed, finding.sure) == (12, 6, 1)
    assert finding.witness["left_named"] == ["AIDS"]  # as for Alice, whom the paper names
    silent = shoal.attack("worst-pair", tables, schema=schema)
    assert "AIDS" not in str(silent.to_json())
    assert shoal.attack("worst-pair", tables, schema=schema, l=3).exposed == 12


def test_the_same_table_twice_takes_nothing_from_anybody():
    one = tiny(0).releases[0]
    apart = Cells(
        np.arange(len(one.cells), dtype=np.int32)[:, None],
        np.arange(len(one.cells), dtype=np.int32)[:, None],
    )
    line = ordered().grow("a", "number", [float(i) for i in range(len(one.cells))])
    same = replace(one, cells=apart)
    finding = worst_pair(View((line,), (same, same), tiny(0).sensitive))
    assert finding.exposed == 0
    assert finding.worst == ()


def test_a_homogeneous_class_is_not_held_against_the_pair():
    """Its one value is known without the other release."""
    line = ordered().grow("a", "number", [0.0])
    axis = Axis("value", "category", "flat", ("ague", "boil"))
    cells, rows = Cells(*np.zeros((2, 1, 1), np.int32)), np.zeros(2, np.int32)
    one = ReleaseView("one", cells, rows, np.array([0, 0], np.int32))
    other = ReleaseView("other", cells, rows, np.array([0, 1], np.int32))
    finding = worst_pair(View((line,), (one, other), axis))
    assert (finding.exposed, finding.sure) == (0, 1)


@pytest.mark.parametrize("l", [1, 0, 2.5, True, "2"])
def test_l_is_a_number_of_values(l):
    with pytest.raises(UsageError, match="at least 2"):
        worst_pair(tiny(1), l=l)


def test_what_cannot_be_is_an_error():
    view = tiny(2)
    one, other = view.releases
    with pytest.raises(InputError, match="two releases"):
        worst_pair(replace(view, releases=(one,)))
    with pytest.raises(InputError, match="sensitive"):
        worst_pair(replace(view, sensitive=None))
    free = next(code for code in range(70) if code not in one.values)
    elsewhere = replace(other, values=np.full_like(other.values, free))
    with pytest.raises(InputError, match="no value of value in common") as told:
        worst_pair(replace(view, releases=(one, elsewhere)))
    assert not isinstance(told.value, NobodyFoundError)  # spelt differently is not safe


def points(*at, sets=None):
    ends = np.array(at, np.int32)[:, None]
    return Cells(ends, ends, sets or {})


def test_where_values_agree_only_in_classes_that_do_not_meet_nobody_is_in_both():
    line = ordered().grow("a", "number", [0.0, 1.0])
    axis = Axis("value", "category", "flat", ("ague", "boil"))
    made = [
        ReleaseView(name, points(0, 1), np.array([0, 1], np.int32), np.array(values, np.int32))
        for name, values in (("one", [0, 1]), ("other", [1, 0]))
    ]
    with pytest.raises(NobodyFoundError, match="Nobody can be in both"):
        worst_pair(View((line,), tuple(made), axis))


@pytest.mark.parametrize("turn", [1, -1])
def test_ranges_are_not_compared_with_sets(turn):
    axis, value = (Axis(name, "category", "flat", ("x", "y")) for name in "av")
    rows, values = np.zeros(2, np.int32), np.array([0, 1], np.int32)
    bits = {0: np.array([[1]], np.uint64)}
    made = [
        ReleaseView("one", points(0, sets=bits), rows, values),
        ReleaseView("two", points(1), rows, values),
    ]
    with pytest.raises(ValueError, match="same columns hold sets"):
        worst_pair(View((axis,), tuple(made[::turn]), value))


@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_boxes_leave_no_pair_out(seed):
    """Hundreds of small boxes, with sets in two columns, against the tree of boxes."""
    rng, values = np.random.default_rng(seed), 9
    axes = (
        *(ordered().grow(n, "number", [float(i) for i in range(40)]) for n in "ab"),
        *(Axis(n, "category", "flat", tuple(f"{i:03d}" for i in range(90))) for n in "cd"),
    )
    made = []
    for classes in (400, 150):
        low = rng.integers(0, 36, (classes, 4)).astype(np.int32)
        some = {j: ranges_to_sets(axes[j], 2 * low[:, j], 2 * low[:, j] + 19) for j in (2, 3)}
        cells = Cells(low, low + rng.integers(0, 5, low.shape).astype(np.int32), some)
        class_ = np.repeat(np.arange(classes, dtype=np.int32), 3)
        value = rng.integers(0, values, len(class_)).astype(np.int32)
        made.append(ReleaseView(str(classes), cells, class_, value))
    axis = Axis("value", "category", "flat", tuple(f"v{i}" for i in range(values)))
    one, other = made
    start, met = find_meeting_classes(other.cells, one.cells)
    pairs = zip(np.repeat(np.arange(150), np.diff(start)), met, strict=True)
    has = [[set(each.values[each.class_ == c]) for c in range(len(each.cells))] for each in made]
    both = [(d, len(has[0][c] & has[1][d]), min(len(has[0][c]), len(has[1][d]))) for d, c in pairs]
    bad = [d for d, common, alone in both if common == 1 < alone]
    finding = worst_pair(View(axes, tuple(made), axis))
    assert finding.details["pairs"] == sum(common > 0 for _, common, _ in both) > 100
    assert finding.details["pairs_exposing"] == len(bad)
    assert finding.exposed == 3 * len(set(bad)) > 0


def test_many_classes_meet_nearly_all_others():
    """Every cell meets nearly every other: 2,000 by 2,000 pairs."""
    rng, classes = np.random.default_rng(0), 2_000
    axes = tuple(ordered().grow(name, "number", [float(i) for i in range(100)]) for name in "ab")
    made = []
    for name in ("one", "other"):
        low = rng.integers(0, 10, (classes, 2)).astype(np.int32)
        class_ = np.repeat(np.arange(classes, dtype=np.int32), 10)
        value = rng.integers(0, 50, len(class_)).astype(np.int32)
        made.append(ReleaseView(name, Cells(low, low + 89), class_, value))
    axis = Axis("value", "category", "flat", tuple(f"v{i}" for i in range(50)))
    finding = worst_pair(View(axes, tuple(made), axis))
    assert finding.details["pairs"] > 3_000_000
    assert finding.exposed == finding.people
