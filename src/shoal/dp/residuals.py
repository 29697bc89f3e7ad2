"""Published counts beside the true ones: whether what was added can be noise as it is stated.

Noise of a stated name and scale is drawn for n cells; the differences z between published and true
counts are known. Under the statement they are independent, with P(z) ∝ e^(−|z|/s) or
P(z) ∝ e^(−z²/(2σ²)). For a number f of each, the chance of a mean of at least a is at most

    e^(n · min over t > 0 of (ln E e^(t f) − t a))

whatever n is (Chernoff: A measure of asymptotic efficiency for tests of a hypothesis based on the
sum of observations, 1952). Looked at are the spread of z (|z| or z²: what tells the scale best),
how many are 0, and their sum, which is too large where cells share their noise. The statement is
given up where one of them has a chance below its part of `MAX_FALSE_ALARM`.

Answers in place of true values are looked at likewise, by what P(answer | true) says
(`check_exchanged_counts`).

A single draw never proves a statement: noise from a bad source, or drawn anew until somebody liked
it, passes. Cells that were changed one by one are found only where there are many of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.release import to_json_value
from shoal.dp.mechanisms import LAPLACE

MAX_FALSE_ALARM = 1e-4
"""Noise as it is stated is accused with no more than this chance."""
NEAR, EXACT, SHARED, FAR = "too near", "exact", "shared", "too far"
"""What may be wrong with what was added."""
TAIL, STEPS = 60, 100
"""The distribution is summed up to so many scales on either side, in so many steps of a scale."""
_RAISED = np.geomspace(1e-5, 1e3, 150)
"""The t of the bound that are tried: any of them gives one that holds."""


@dataclass(frozen=True)
class Residuals:
    """What one look at a published file says of its noise."""

    cells: int
    wrong: str
    """What is wrong; empty where the statement withstood."""
    chance: float
    """The chance of the least likely of what was looked at is no larger than this."""

    @property
    def exposes(self) -> bool:
        """Whether there is less noise than is stated, of which more would do no harm."""
        return self.wrong in (NEAR, EXACT, SHARED)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"cells": self.cells, "wrong": self.wrong, "chance": to_json_value(self.chance)}


def check_residuals(name: str, scale: float, added: NDArray[Any]) -> Residuals:
    """Whether what was added to counts can be noise of this name and scale.

    >>> check_residuals("discrete Laplace", 3.0, np.zeros(20)).wrong
    'exact'
    >>> check_residuals("discrete Laplace", 1.0, np.array([1, 0, -2, 0, 1, 0, -1, 3, 0, 0])).wrong
    ''
    """
    drawn, spread = np.asarray(added, np.float64).ravel(), np.abs if name == LAPLACE else np.square
    grid, chance = _distribution(name, scale)
    looks: tuple[tuple[str, Callable[[Any], Any], int], ...] = (
        (EXACT, lambda z: (z == 0) * 1.0, 1),
        (NEAR, spread, -1),
        (FAR, spread, 1),
        (SHARED, lambda z: z, 1),
        (SHARED, lambda z: z, -1),
    )
    tails = [
        _tail(sign * look(grid), chance, float((sign * look(drawn)).mean()), len(drawn))
        for _, look, sign in looks
    ]
    pairs = zip(looks, tails, strict=True)
    wrong = next((look[0] for look, tail in pairs if tail < MAX_FALSE_ALARM / len(looks)), "")
    return Residuals(len(drawn), wrong, min(1.0, len(looks) * min(tails)))


def check_exchanged_counts(
    answers: NDArray[Any], true: NDArray[Any], chance: NDArray[Any]
) -> Residuals:
    """Whether counts of answers can be those of true values exchanged by P(answer | true).

    A sum of answers, each weighed by how many have that value, is the larger the more of them are
    true; and no answer may be much more or less common than true counts times chances foretell.

    >>> chance = np.full((3, 3), 0.3) + 0.1 * np.eye(3)
    >>> check_exchanged_counts(np.array([90, 6, 4]), np.array([90, 6, 4]), chance).wrong
    'too near'
    >>> check_exchanged_counts(np.array([39, 31, 30]), np.array([90, 6, 4]), chance).wrong
    ''
    """
    alike = true / max(1, int(true.sum()))
    looks = [(NEAR, alike), *((FAR, sign * unit) for unit in np.eye(len(true)) for sign in (1, -1))]
    tails = [_tail_of_answers(weight, answers, true, chance) for _, weight in looks]
    # the first look is what tells less noise than stated: half of the doubt is its own
    parts = [2.0, *[2.0 * (len(looks) - 1)] * (len(looks) - 1)]
    chances = [part * tail for part, tail in zip(parts, tails, strict=True)]
    wrong = next(
        (look[0] for look, bound in zip(looks, chances, strict=True) if bound < MAX_FALSE_ALARM), ""
    )
    return Residuals(int(answers.sum()), wrong, min(1.0, *chances))


def _tail_of_answers(
    weight: NDArray[Any], answers: NDArray[Any], true: NDArray[Any], chance: NDArray[Any]
) -> float:
    """At most how likely the answers have a sum of weights as large as this."""
    total, there = float(weight @ answers), true > 0
    if total <= float(true @ chance @ weight):
        return 1.0
    logs, width = np.log(np.maximum(chance[there], 1e-300)), float(np.abs(weight).max())
    exponent = 0.0
    for t in _RAISED / width:
        means = [_log_mean(own + t * weight) for own in logs]
        exponent = min(exponent, float(true[there] @ means) - t * total)
    return math.exp(exponent)


def _distribution(name: str, scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole numbers and their chances; of wide noise one in so many of them, which is as good."""
    step = max(1, math.floor(scale / STEPS))
    width = TAIL if name == LAPLACE else 12
    reach = math.ceil(max(width * scale, 3) / step)
    grid = step * np.arange(-reach, reach + 1, dtype=np.float64)
    raised = -np.abs(grid) / scale if name == LAPLACE else -((grid / scale) ** 2) / 2
    weights = np.exp(raised)
    return grid, weights / weights.sum()


def _tail(
    numbers: NDArray[np.float64], chance: NDArray[np.float64], mean: float, cells: int
) -> float:
    """At most how likely so many numbers have a mean as large as this."""
    if mean <= float(numbers @ chance):
        return 1.0
    width, logs = float(np.sqrt((numbers**2) @ chance)) or 1.0, np.log(np.maximum(chance, 1e-300))
    exponent = min(_log_mean(t * numbers + logs) - t * mean for t in _RAISED / width)
    return math.exp(min(0.0, cells * exponent))


def _log_mean(logs: NDArray[np.float64]) -> float:
    """ln Σ e^x, without overflow."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
