"""Where points lie and which cells meet: the index against asking every class."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from shoal.core.cells import Cells, find_meeting_classes, meet
from shoal.kernels import box_tree

SEEDS = range(12)


def bitset(held):
    """A table of flags (classes, codes) as bits over 64-bit words."""
    rows, size = held.shape
    words = -(-size // 64)
    wide = np.zeros((rows, words * 64), np.uint8)
    wide[:, :size] = held
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def cells_of(rng, classes, sizes, flat=(), narrow=4):
    """Random cells, some of them empty: ranges that overlap, and sets in the flat columns."""
    low = np.stack([rng.integers(0, size, classes) for size in sizes], axis=1)
    wide = np.stack([rng.integers(-1, size // narrow + 2, classes) for size in sizes], axis=1)
    high = np.minimum(low + wide, np.array(sizes) - 1)
    sets = {j: bitset(rng.random((classes, sizes[j])) < 0.3) for j in flat}
    return Cells(low.astype(np.int32), high.astype(np.int32), sets)


def holds(cells, class_, key):
    """Whether a class's cells contain a point, column by column, as the definition says."""
    return all(
        code >= 0
        and (
            int(cells.sets[j][class_, code >> 6]) >> (code & 63) & 1
            if j in cells.sets
            else cells.low[class_, j] <= code <= cells.high[class_, j]
        )
        for j, code in enumerate(key)
    )


def lists(start, found):
    return [found[a:b].tolist() for a, b in pairwise(start)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_point_lies_in_the_classes_that_contain_it(seed):
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.choice([2, 9, 64, 150], rng.integers(1, 5))]
    flat = [j for j in range(len(sizes)) if rng.random() < 0.4]
    cells = cells_of(rng, int(rng.choice([1, 7, 60, 300])), sizes, flat, narrow=rng.choice([1, 8]))
    keys = np.stack([rng.integers(-1, size, 50) for size in sizes])
    expected = [[c for c in range(len(cells)) if holds(cells, c, key)] for key in keys.T.tolist()]
    assert lists(*cells.contains(keys)) == expected
    assert any(expected) or len(cells) < 60


@pytest.mark.parametrize("seed", SEEDS)
def test_a_class_meets_the_classes_whose_cells_it_shares_a_point_with(seed):
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.choice([2, 9, 64, 150], rng.integers(1, 4))]
    flat = [j for j in range(len(sizes)) if rng.random() < 0.4]
    one, other = (cells_of(rng, int(rng.choice([1, 30, 200])), sizes, flat) for _ in range(2))
    other = Cells(other.low, other.high, dict(reversed(other.sets.items())))
    found = lists(*find_meeting_classes(one, other))
    for class_, met in enumerate(found):
        _, filled = meet(one.take(np.full(len(other), class_)), other)
        assert met == np.flatnonzero(filled).tolist()
    assert len(found) == len(one)


def test_points_of_one_class_are_counted_with_their_counts():
    rng = np.random.default_rng(3)
    cells = cells_of(rng, 40, [20, 70], [1])
    keys, count = np.stack([rng.integers(0, 20, 80), rng.integers(0, 70, 80)]), np.arange(80)
    points = list(enumerate(keys.T.tolist()))
    expected = [sum(i for i, key in points if holds(cells, c, key)) for c in range(40)]
    assert cells.count_inside(keys, count).tolist() == expected


def test_where_nothing_is_nothing_is_found():
    nothing = Cells(np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32))
    some = Cells(np.zeros((3, 2), np.int32), np.ones((3, 2), np.int32))
    assert lists(*nothing.contains(np.zeros((2, 4), np.int32))) == [[]] * 4
    assert lists(*some.contains(np.zeros((2, 0), np.int32))) == []
    assert lists(*find_meeting_classes(some, nothing)) == [[]] * 3
    assert lists(*find_meeting_classes(nothing, some)) == []


def test_an_empty_cell_holds_and_meets_nothing():
    low, high = np.array([[5, 0], [0, 0]], np.int32), np.array([[3, 9], [9, 9]], np.int32)
    ranges, none = Cells(low, high), Cells(low, high, {1: np.zeros((2, 1), np.uint64)})
    assert lists(*ranges.contains(np.array([[4, 5], [1, 1]]))) == [[1], [1]]
    assert lists(*find_meeting_classes(ranges, ranges)) == [[], [1]]
    assert lists(*none.contains(np.array([[4, 5], [1, 1]]))) == [[], []]
    assert lists(*find_meeting_classes(none, none)) == [[], []]


@pytest.mark.parametrize("alike", ["equal", "nested", "all but one"])
def test_cells_that_no_place_divides_are_found_all_the_same(alike):
    rows = np.arange(500, dtype=np.int32)
    reach = {"equal": rows * 0, "nested": rows, "all but one": np.where(rows == 77, 400, 0)}[alike]
    low, high = np.stack((500 - reach,) * 2, axis=1), np.stack((500 + reach,) * 2, axis=1)
    cells = Cells(low.astype(np.int32), high.astype(np.int32))
    for code in (100, 250, 500, 503, 900):
        expected = np.flatnonzero((cells.low[:, 0] <= code) & (code <= cells.high[:, 0]))
        found = cells.contains(np.array([[code], [500]]))[1]
        assert found.tolist() == expected.tolist()


def looked_at(tree, point):
    """How many boxes a search for one point compares: a walk through the nodes, written anew."""
    boxes, waiting = 0, [0]
    while waiting:
        at = waiting.pop()
        column, one, two, second = tree.node[at].tolist()
        if column < 0:
            boxes += two - one
            continue
        waiting += [at + 1] * (point[column] <= one) + [second] * (point[column] >= two)
    return boxes


def test_a_search_compares_few_of_many_boxes():
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(20)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    order = rng.permutation(len(grid))
    cells = Cells((grid[order] * 5).astype(np.int32), (grid[order] * 5 + 4).astype(np.int32))
    points = rng.integers(0, 100, (3, 200))
    start, found = cells.contains(points)
    assert np.diff(start).tolist() == [1] * 200
    assert np.array_equal(grid[order][found], points.T // 5)
    tree = box_tree.build_box_tree(
        cells.low, cells.high, np.zeros((8000, 0), np.uint64), np.zeros((3, 2), int)
    )
    assert max(looked_at(tree, point) for point in points.T.tolist()) <= 4 * box_tree.LEAF_BOXES


def test_threads_find_what_one_thread_finds():
    rng = np.random.default_rng(5)
    cells = cells_of(rng, 100, [30, 300], [0], narrow=8)
    keys = np.stack([rng.integers(0, 30, 70_000), rng.integers(0, 300, 70_000)])
    some = rng.choice(70_000, 500, replace=False)
    start, found = cells.contains(keys)
    few_start, few = cells.contains(keys[:, some])
    assert lists(few_start, few) == [found[start[i] : start[i + 1]].tolist() for i in some]
