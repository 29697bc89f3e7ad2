"""The chance that fewer than so many events happen, against all their combinations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.combinatorics import compute_chance_of_fewer

SIXTEENTHS = st.integers(0, 16).map(lambda i: Fraction(i, 16))
GROUPS = st.lists(st.lists(SIXTEENTHS, max_size=6), min_size=1, max_size=4)


def brute(chances: list[Fraction], need: int) -> Fraction:
    """Every combination of events with its chance; those with fewer than ``need`` count."""
    return sum(
        (
            prod(p if happens else 1 - p for p, happens in zip(chances, world, strict=True))
            for world in product((False, True), repeat=len(chances))
            if sum(world) < need
        ),
        Fraction(0),
    )


def asked(groups: list[list[Fraction]], left_out: list[int], need: int) -> np.ndarray:
    start = np.cumsum([0] + [len(group) for group in groups])
    chance = np.array([float(p) for group in groups for p in group])
    at = [start[i] + out if out >= 0 else -1 for i, out in enumerate(left_out)]
    return compute_chance_of_fewer(
        start.astype(np.int64), chance, np.array(at, dtype=np.int64), need
    )


@settings(max_examples=60, deadline=None)
@given(GROUPS, st.integers(-1, 7), st.data())
def test_as_by_all_combinations(groups, need, data):
    left_out = [data.draw(st.integers(-1, len(group) - 1)) for group in groups]
    found = asked(groups, left_out, need)
    for group, out, value in zip(groups, left_out, found, strict=True):
        rest = [p for i, p in enumerate(group) if i != out]
        assert value == pytest.approx(float(brute(rest, need)), rel=1e-12, abs=1e-15)


def test_bounds_of_need():
    groups, none = [[Fraction(1, 2)] * 3, []], [-1, -1]
    assert asked(groups, none, 0).tolist() == [0.0, 0.0]
    assert asked(groups, none, -3).tolist() == [0.0, 0.0]
    assert asked(groups, none, 4).tolist() == [1.0, 1.0]
    assert asked([], [], 2).tolist() == []


def test_small_chances_keep_their_digits():
    """Of 1,000 events at 1/2 fewer than 3: near 1e-295, and right to twelve digits."""
    exact = Fraction(sum(comb(1000, j) for j in range(3)), 2**1000)
    found = asked([[Fraction(1, 2)] * 1000], [-1], 3)[0]
    assert found == pytest.approx(float(exact), rel=1e-12)
