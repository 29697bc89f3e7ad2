"""Greedy cuts on tiny tables, against every cut weighed in plain Python; and on Adult."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_mondrian import contents, tables, tally
from tests.oracles.adult_seven import adult_seven

from shoal.core.errors import NotMetError
from shoal.core.tally import Groups
from shoal.measures.loss import loss
from shoal.methods._topdown.least_loss_search import LossSearch
from shoal.methods.greedy import greedy
from shoal.methods.mondrian import mondrian
from shoal.models import rule

FEW = settings(max_examples=50, deadline=None)
MOST = {5: 0.0118, 10: 0.0224, 25: 0.0436, 50: 0.0668}
"""What Adult may lose by k: what was measured of greedy cuts elsewhere."""


def width(column, codes):
    return column.width(codes) if len(codes) > 1 else 0


def cost(plain, weights, lean, halves):
    """People to the power of ``lean``, times the widths of the cells, of both halves."""
    return sum(
        len(half) ** lean
        * sum(
            w * width(column, {row[j] for row in half})
            for j, (column, w) in enumerate(zip(plain, weights, strict=True))
        )
        for half in halves
    )


def all_cuts(plain, rows, k):
    """Every way to part the rows between two codes of a column, with k rows on either side."""
    for j in range(len(plain)):
        for code, _ in pairwise(sorted({row[j] for row in rows})):
            halves = [r for r in rows if r[j] <= code], [r for r in rows if r[j] > code]
            if min(map(len, halves)) >= k:
                yield j, halves


@FEW
@given(tables(), st.integers(1, 4), st.sampled_from([1.0, 1.1]))
def test_the_first_cut_is_the_cheapest_of_all(table, k, lean):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    if len(rows) < k:
        return
    how = {"relaxed": False, "rng": None, "hold_back": 0, "power": lean}
    found = LossSearch.of(ours, rule(f"k-anonymity k={k}"), **how).choose_cuts()
    possible = list(all_cuts(plain, rows, k))
    assert len(found) == bool(possible)
    if possible:
        j, code = int(found.column[0]), int(found.cut[0])
        halves = [r for r in rows if r[j] <= code], [r for r in rows if r[j] > code]
        least = min(cost(plain, weights, lean, halves) for _, halves in possible)
        assert len(halves[0]) == found.left_people[0]
        assert cost(plain, weights, lean, halves) == pytest.approx(least, abs=1e-12)


def published(plain, rows):
    return tuple(column.cover(row[j] for row in rows) for j, column in enumerate(plain))


@FEW
@given(tables(), st.integers(1, 4))
def test_everybody_is_placed_and_no_class_could_be_cut_again(table, k):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    if len(rows) < k:
        with pytest.raises(NotMetError):
            greedy(ours, rule(f"k-anonymity k={k}"))
        return
    found = contents(ours, greedy(ours, rule(f"k-anonymity k={k}")))
    assert sum(found.values(), Counter()) == Counter(rows)
    for cells, inside in found.items():
        members = list(inside.elements())
        assert len(members) >= k
        assert all(row[j] in cell for row in members for j, cell in enumerate(cells))
        for _, halves in all_cuts(plain, members, k):  # only where cells of two coincide
            told = {
                tuple(c.cover(row[j] for row in h) for j, c in enumerate(plain)) for h in halves
            }
            assert cells in told


@pytest.mark.parametrize("k", MOST)
def test_adult_loses_less_than_by_mondrian(real_data, k):
    table, model = adult_seven(real_data), rule(f"k-anonymity k={k}")
    cut = greedy(table, model)
    assert Groups.of(table, cut).rows.min() >= k
    assert int(np.sum(cut.count)) == 45_222
    assert loss(table, cut) <= MOST[k]
    assert loss(table, cut) < loss(table, mondrian(table, model))
