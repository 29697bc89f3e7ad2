"""Classes along an order: the programme against all ways to cut, the curve, the tree, the rules."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_mondrian import columns, tables, tally

from shoal.core.axis import Axis, Level
from shoal.core.cells import cover_classes
from shoal.core.errors import NotMetError, UsageError
from shoal.core.model import list_joint_columns
from shoal.core.tally import Groups, Tally
from shoal.kernels.line_order import compute_hilbert_keys, cut_into_segments
from shoal.kernels.line_order import order_by_tree as leaves
from shoal.measures.loss import loss
from shoal.methods._shared.cell_widths import pack_axis_widths
from shoal.methods._shared.points import Points
from shoal.methods.hilbert import hilbert
from shoal.methods.mondrian import mondrian
from shoal.methods.tree_order import tree_order
from shoal.models import rule
from shoal.testing.checks import check_method
from shoal.testing.random_tables import sample

METHODS = {"tree-order": tree_order, "hilbert": hilbert}
FEW = settings(max_examples=60, deadline=None)


# The programme


def cost(axes, weights, keys, begins):
    """People × weighted width of the published cells, by definition."""
    ends = (*begins[1:], keys.shape[1])
    class_ = np.repeat(np.arange(len(begins)), np.subtract(ends, begins))
    cells = cover_classes(axes, keys, np.arange(keys.shape[1]), class_.astype(np.int32))
    return float(np.bincount(class_) @ (cells.widths(axes) @ weights))


@FEW
@given(st.data())
def test_no_way_to_cut_the_line_costs_less(data):
    plain = data.draw(st.lists(columns(), min_size=1, max_size=3))
    axes = tuple(one.axis(name) for one, name in zip(plain, "abc", strict=False))
    row = st.tuples(*(st.integers(0, axis.size - 1) for axis in axes))
    keys = np.array(data.draw(st.lists(row, min_size=1, max_size=9)), np.int32).T.copy()
    weights = np.array([2.0, 1.0, 0.5][: len(axes)])
    least, people = data.draw(st.integers(1, 3)), keys.shape[1]
    begins, least_cost = cut_into_segments(
        keys, pack_axis_widths(axes, weights), least, 2 * least - 1
    )
    ways = [
        (0, *inner)
        for n in range(people)
        for inner in combinations(range(1, people), n)
        if all(b - a >= least for a, b in pairwise((0, *inner, people)))
    ]
    best = min((cost(axes, weights, keys, way) for way in ways), default=None)
    found = begins.tolist()
    if best is None:
        assert found == [0]  # too few people: one segment
    else:
        assert tuple(found) in ways
        assert cost(axes, weights, keys, found) == pytest.approx(best)
        assert least_cost == pytest.approx(best)


# The curve


@pytest.mark.parametrize(("sides", "bits"), [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2), (6, 1)])
def test_the_curve_visits_every_place_once_and_steps_to_a_neighbour(sides, bits):
    grid = np.array(list(product(range(2**bits), repeat=sides))).T
    keys = compute_hilbert_keys(grid, bits)
    assert keys.shape == (1, grid.shape[1])
    assert np.array_equal(np.sort(keys[0]), np.arange(grid.shape[1]))
    walk = grid[:, np.argsort(keys[0])]
    assert (np.abs(np.diff(walk, axis=1)).sum(axis=0) == 1).all()
    assert (walk[:, 0] == 0).all()


def test_a_curve_of_more_than_64_bits_is_the_fine_one_of_its_coarse_one():
    fine = np.random.default_rng(0).integers(0, 2**16, (5, 200))
    keys = compute_hilbert_keys(fine, 16)
    assert keys.shape == (2, 200)
    whole = [int(high) << 64 | int(low) for high, low in keys.T]
    coarse = compute_hilbert_keys(fine >> 4, 12)[0]
    assert [one >> 20 for one in whole] == coarse.tolist()


# The tree


def cuts(axes, rows):
    """Every way to part points (codes, people) by a code of one column."""
    for j in range(len(axes)):
        for code in sorted({codes[j] for codes, _ in rows})[:-1]:
            yield [r for r in rows if r[0][j] <= code], [r for r in rows if r[0][j] > code]


def lost(axes, weights, rows):
    keys = np.array([codes for codes, _ in rows], np.int32).T
    return cost(axes, weights, keys, [0]) / len(rows) * sum(people for _, people in rows)


def is_tree(axes, weights, rows):
    """Whether the points can be parted in their order, each time at the least loss of all cuts."""
    if len(rows) == 1:
        return True
    least = min(sum(lost(axes, weights, half) for half in halves) for halves in cuts(axes, rows))
    for halves in cuts(axes, rows):
        first = next(half for half in halves if rows[0] in half)
        parts = rows[: len(first)], rows[len(first) :]
        best = sum(lost(axes, weights, half) for half in halves) <= least + 1e-9
        if best and parts[0] == first and all(is_tree(axes, weights, part) for part in parts):
            return True
    return False


@FEW
@given(tables())
def test_the_tree_is_cut_where_least_is_lost(made):
    plain, rows, weights = made
    table = tally(plain, rows, weights)
    points = Points.of(table)
    order = leaves(
        points.keys.copy(), points.count.copy(), pack_axis_widths(table.quasi, weights), 1.0, 99
    )
    assert sorted(order.tolist()) == list(range(len(points.count)))
    pairs = list(zip(map(tuple, points.keys.T.tolist()), points.count.tolist(), strict=True))
    assert is_tree(table.quasi, np.array(weights), [pairs[at] for at in order])


def test_the_line_turns_back_instead_of_jumping():
    near, far = (Axis(name, "category", "ordered", tuple("abcd")) for name in ("near", "far"))
    keys = np.array(list(product(range(4), range(4))), np.int32).T.copy()
    order = leaves(
        keys.copy(), np.ones(16, np.int64), pack_axis_widths([near, far], [4.0, 1.0]), 1.0, 99
    )
    steps = np.abs(np.diff(keys[:, order], axis=1)).sum(axis=0)
    assert (steps == 1).all()


@pytest.mark.parametrize("even", [0, 40, 600])
def test_many_points_are_sorted_as_few_are(even):
    rng = np.random.default_rng(0)
    numbers = tuple(map(float, range(70_000)))
    axis = Axis("n", "number", "ordered", numbers, positions=np.array(numbers))
    keys = rng.choice(70_000, (1, 500), replace=False).astype(np.int32)
    order = leaves(keys.copy(), np.ones(500, np.int64), pack_axis_widths([axis]), 1.0, even)
    assert np.array_equal(keys[0, order], np.sort(keys[0]))


def test_large_nodes_are_cut_in_the_middle_of_the_widest_column_between_nodes_of_its_tree():
    letters = Axis("letter", "category", "tree", tuple("abcdef"), levels=(level(0, 1, 3),))
    number = Axis("number", "category", "ordered", tuple("xy"))
    keys = np.array(list(product(range(6), range(2))), np.int32).T.copy()
    reach = pack_axis_widths([letters, number], [1.1, 1.0])
    order = leaves(keys.copy(), np.ones(12, np.int64), reach, 1.0, 7)
    assert set(keys[0, order[:6]]) == {0, 1, 2}


def level(*starts):
    return Level(np.array(starts, np.int32), tuple(f"from {start}" for start in starts))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [3, 10, 30])
def test_less_is_lost_than_by_mondrian(seed, k):
    places = tuple(map(float, range(60)))
    axes = (
        Axis("number", "number", "ordered", places, positions=np.array(places)),
        Axis("set", "category", "flat", tuple("abcdefg"), null=True),
        Axis("tree", "category", "tree", tuple("abcdefghij"), levels=(level(0, 3, 5, 8),)),
    )
    rng = np.random.default_rng(seed)
    drawn = np.stack([(rng.beta(2, 4, 800) * axis.size).astype(np.int32) for axis in axes])
    keys, count = np.unique(drawn, axis=1, return_counts=True)
    table = Tally(axes, (), keys, np.zeros((0, len(count)), np.int32), count)
    model = rule(f"k-anonymity k={k}")
    assert loss(table, tree_order(table, model)) < loss(table, mondrian(table, model))


def test_sets_of_more_than_64_values_are_counted_in_full():
    wide = Axis.numbered("wide", 200)
    ages = tuple(map(float, range(4)))
    age = Axis("age", "number", "ordered", ages, positions=np.array(ages))
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(0, (200, 4), (300, 2)), axis=0).T.astype(np.int32)
    table = Tally((wide, age), (), keys, np.zeros((0, keys.shape[1]), np.int32), ones(keys))
    cut = tree_order(table, rule("k-anonymity k=4"))
    assert np.bincount(cut.class_, cut.count).min() >= 4
    assert loss(table, cut) <= loss(table, mondrian(table, rule("k-anonymity k=4")))


def ones(keys):
    return np.ones(keys.shape[1], np.int64)


# The methods


def test_points_are_the_different_people_in_the_order_of_their_codes():
    axis = Axis("job", "category", "flat", ("a", "b", "c"), null=True)
    keys = np.array([[3, 0, 1, 2, 1]], np.int32)
    table = Tally((axis,), (), keys, np.zeros((0, 5), np.int32), np.array([9, 1, 2, 1, 3]))
    points = Points.of(table)
    assert points.keys.tolist() == [[0, 1, 2, 3]]
    assert points.count.tolist() == [1, 5, 1, 9]
    assert points.of_entry.tolist() == [3, 0, 1, 2, 1]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", ["t-closeness t=0.2", "entropy-diversity l=2.5"])
def test_under_rules_on_values_no_more_is_lost_than_by_mondrian(name, text):
    below = 0
    for seed in range(6):
        table, model = sample(seed)[0], rule(text)
        try:
            other = mondrian(table, model)
        except NotMetError:
            continue
        cut = METHODS[name](table, model)
        assert loss(table, cut) <= loss(table, other) + 1e-12
        below += bool(cut.facts.get("line", True))
    assert below < 6  # somewhere the line was not the best


@pytest.mark.parametrize("name", METHODS)
def test_the_method_keeps_its_promises(name):
    check_method(METHODS[name])
    check_method(METHODS[name], rule("m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)"))


RULES = (
    "k-anonymity k=4 & distinct-diversity l=3",
    "t-closeness t=0.3",
    "ck-safety c=0.8 k=1",
    "delta-presence low=0 high=0.9",
    "k-map k=6",
)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", RULES)
def test_every_rule_is_met(name, text):
    model = rule(text)
    for seed in range(3):
        table, _ = sample(seed)
        cut = METHODS[name](table, model)
        assert model.holds(Groups.of(table, cut, list_joint_columns(model))).all()
        assert (np.bincount(cut.entry, cut.count) == table.count).all()


def test_longer_segments_are_tried_where_short_ones_break_the_rule(monkeypatch):
    everybody = lambda self, _: self._cut_by_length(len(self.entry), 0)  # noqa: E731
    monkeypatch.setattr("shoal.methods._shared.line_cut._PeopleInLine._cut_top_down", everybody)
    shortest = []
    for seed in range(4):
        table, _ = sample(seed)
        assert tree_order(table, rule("k-anonymity k=3")).facts == {"shortest": 3, "joined": 0}
        shortest.append(tree_order(table, rule("t-closeness t=0.3")).facts["shortest"])
    assert max(shortest) > 1  # where segments of one person would have been allowed


@pytest.mark.parametrize("name", METHODS)
def test_too_few_people_are_refused_and_all_that_may_be_are_held_back(name):
    table, _ = sample(0)
    model = rule(f"k-anonymity k={table.rows + 1}")
    with pytest.raises(NotMetError):
        METHODS[name](table, model)
    assert METHODS[name](table, model, hold_back=table.rows).suppressed == table.rows


@pytest.mark.parametrize("name", METHODS)
def test_a_table_without_quasi_identifiers_is_refused(name):
    empty = Tally((), (), np.zeros((0, 1), np.int32), np.zeros((0, 1), np.int32), np.array([5]))
    with pytest.raises(UsageError, match="no quasi-identifier"):
        METHODS[name](empty, rule("k-anonymity k=2"))


def test_a_weight_keeps_a_column_fine():
    places = tuple(map(float, range(8)))
    axes = [Axis(n, "number", "ordered", places, positions=np.array(places)) for n in "ab"]
    keys = np.array(list(product(range(8), range(8))), np.int32).T.copy()
    for method in METHODS.values():
        table = Tally(
            tuple(axes), (), keys, np.zeros((0, 64), np.int32), ones(keys), weights=(9, 1)
        )
        widths = method(table, rule("k-anonymity k=4")).cells.widths(axes).mean(axis=0)
        assert widths[0] < widths[1]
