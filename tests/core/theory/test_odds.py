"""Odds and events under a factor e^x: against every chance that fits it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shoal.core.theory.odds import bound_success, move_belief


def test_a_belief_moves_by_its_odds():
    for exponent, before in itertools.product((0.0, 0.5, 2.0), (0.1, 0.5, 0.9)):
        least, most = move_belief(before, exponent)
        odds = before / (1 - before)
        assert most / (1 - most) == pytest.approx(odds * math.exp(exponent))
        assert least / (1 - least) == pytest.approx(odds * math.exp(-exponent))
    assert move_belief(0.0, 3.0) == (0.0, 0.0)
    assert move_belief(0.5, math.inf) == (0.0, 1.0)


def test_an_event_is_bounded_by_both_cases_of_the_definition():
    chances = np.linspace(0, 1, 2001)
    for exponent, otherwise in itertools.product((0.0, 0.5, 2.0), (0.0, 0.1, 0.5, 0.9, 1.0)):
        factor = math.exp(exponent)
        fits = (chances <= factor * otherwise + 1e-12) & (
            1 - otherwise <= factor * (1 - chances) + 1e-12
        )
        assert bound_success(otherwise, exponent) == pytest.approx(chances[fits].max(), abs=6e-4)
    assert bound_success(0.0, 5.0) == 0.0
