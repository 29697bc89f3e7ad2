"""Consistent marginals against least squares by brute force, and what is promised of them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from shoal.dp.consistency import make_consistent

SIZES = (2, 3, 2)
PLANS = [
    [(0,), (1,)],
    [(0, 1), (1, 2), (0, 2)],
    [(0,), (0, 1), (1, 2), ()],
    [(0, 1, 2), (1,), (0, 2)],
]


def summing(plan):
    """The matrix that takes the full table to all marginals of a plan, one after the other."""
    cells = list(product(*map(range, SIZES)))
    rows = []
    for key in plan:
        for wanted in product(*(range(SIZES[at]) for at in key)):
            inside = [tuple(cell[at] for at in key) == wanted for cell in cells]
            rows.append(np.array(inside, float))
    return np.array(rows)


def measured(plan, rng, deviation=10):
    full = rng.integers(0, 20, SIZES)
    true = {key: full.sum(axis=tuple(at for at in range(3) if at not in key)) for key in plan}
    drawn = {key: rng.normal(0, deviation, np.shape(true[key])).round() for key in plan}
    return true, {key: true[key] + drawn[key] for key in plan}


@pytest.mark.parametrize("plan", PLANS)
def test_it_is_the_least_squares_estimate(plan):
    _, noisy = measured(plan, np.random.default_rng(2))
    matrix = summing(plan)
    given = np.concatenate([np.ravel(noisy[key]) for key in plan])
    best = matrix @ np.linalg.lstsq(matrix, given, rcond=None)[0]
    found = make_consistent(noisy, SIZES)
    assert np.allclose(np.concatenate([found[key].ravel() for key in plan]), best, atol=1e-9)


@pytest.mark.parametrize("plan", PLANS[1:])
def test_tables_agree_afterwards(plan):
    _, noisy = measured(plan, np.random.default_rng(3), deviation=30)
    found = make_consistent(noisy, SIZES)
    for one, other in product(plan, plan):
        shared = set(one) & set(other)
        sums = [
            found[key].sum(axis=tuple(n for n, at in enumerate(key) if at not in shared))
            for key in (one, other)
        ]
        assert np.allclose(*sums, atol=1e-8)


def test_tables_that_agree_stay_as_they_are():
    true, _ = measured(PLANS[1], np.random.default_rng(4))
    found = make_consistent(true, SIZES)
    assert all(np.allclose(found[key], true[key]) for key in true)


@pytest.mark.parametrize("plan", PLANS)
def test_no_count_gets_a_larger_variance(plan):
    units = np.eye(sum(int(np.prod([SIZES[at] for at in key])) for key in plan))
    ends = np.cumsum([0, *(int(np.prod([SIZES[at] for at in key])) for key in plan)])
    columns = []
    for unit in units:
        noisy = {key: unit[a:b] for key, (a, b) in zip(plan, pairwise(ends), strict=True)}
        found = make_consistent(noisy, SIZES)
        columns.append(np.concatenate([found[key] for key in plan]))
    variance = (np.array(columns) ** 2).sum(axis=0)
    assert (variance <= 1 + 1e-12).all()
    assert variance.mean() < 1


def test_shapes_stay_and_columns_are_in_order():
    flat = {(0, 1): np.arange(6), (): np.array(15)}
    found = make_consistent(flat, SIZES)
    assert found[(0, 1)].shape == (6,)
    assert found[()].shape == ()
    with pytest.raises(ValueError, match="ascending"):
        make_consistent({(1, 0): np.zeros((3, 2))}, SIZES)
    assert make_consistent({}, SIZES) == {}
