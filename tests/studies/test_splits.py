"""Splits of a table over providers: sizes, seeds, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from shoal import UsageError
from shoal.studies.splits import KINDS, compute_provider_shares, split


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "n"), [(2, 2), (10, 10), (11, 10), (150, 15), (2_000, 40)])
def test_every_row_has_a_provider_and_every_provider_a_row(kind, rows, n):
    for seed in range(20):
        who = split(rows, n, kind, seed)
        assert who.dtype == np.int32
        assert len(who) == rows
        assert np.bincount(who, minlength=n).min() >= 1
        assert who.max() == n - 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_split_and_another_another(kind):
    assert np.array_equal(split(500, 7, kind, 3), split(500, 7, kind, 3))
    assert not np.array_equal(split(500, 7, kind, 3), split(500, 7, kind, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_the_sizes_follow_the_law(kind):
    rows, n = 200_000, 10
    weight = [1.0 if kind == "uniform" else float(np.exp(-i / 2)) for i in range(n)]
    expected = np.array(weight) / sum(weight) * rows
    sizes = np.bincount(split(rows, n, kind))
    assert np.all(np.abs(sizes - expected) < 5 * np.sqrt(expected) + 1)


def test_exponential_shares_fall_by_the_same_factor():
    found = compute_provider_shares(10, "exponential")
    assert np.allclose(found[1:] / found[:-1], np.exp(-0.5))
    assert found.sum() == pytest.approx(1)


def test_rows_do_not_come_in_the_order_of_providers():
    """Nobody's rows stand at one end: the rows that everybody is sure of are spread."""
    places = [np.flatnonzero(split(10_000, 5, "uniform", seed) == 0).mean() for seed in range(5)]
    assert all(4_000 < place < 6_000 for place in places)
    first = {tuple(split(1_000, 5, "uniform", seed)[:5]) for seed in range(10)}
    assert len(first) > 1


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ((10, 1), "1 providers"),
        ((10, 0), "0 providers"),
        ((3, 4), "3 rows"),
        ((10, 2, "normal"), "no split 'normal'"),
        ((10, 2, "uniform", -1), "seed"),
    ],
)
def test_bad_input_is_refused_with_a_hint(asked, fact):
    with pytest.raises(UsageError, match=fact) as caught:
        split(*asked)
    assert caught.value.hint
