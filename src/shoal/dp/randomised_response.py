"""Randomised response of k values: a true answer with a stated chance, else any other one alike.

Warner (1965) for two values; for k of them, with ε of local differential privacy,

    P(y | x) = e^ε / (e^ε + k − 1) where y = x,   1 / (e^ε + k − 1) otherwise

(Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy, 2016). Each answer
costs its own person ε and nobody else anything. Counts of answers, put through the inverse of that
matrix, are unbiased estimates of the true counts (Wang, Blocki, Li, Jha 2017).

It protects the one value that is asked for: nothing else in the row, and not a value that could be
foretold from the rest of the row. Answers of the same person to the same question add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.spend import Spend, round_up
from shoal.dp.opendp_library import load_opendp, round_down, translate_refusals
from shoal.dp.seeded_draws import draw_answers

_AT_ONCE = 1024
"""Answers that are drawn in one call of the library, which is what the time goes into."""

Codes = NDArray[np.int32]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Response:
    """How an answer out of so many values is drawn, and what it spends of its person's budget."""

    values: int
    keep: float
    spend: Spend

    @translate_refusals()
    def answered(
        self,
        codes: NDArray[Any],
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> Codes:
        """An answer for each code from 0 to values − 1. `rng`: repeatable, not to be released.

        `progress` is called with how many are answered and how many there are.
        """
        codes = np.asarray(codes, dtype=np.int32)
        if len(codes) and not 0 <= codes.min() <= codes.max() < self.values:
            raise ValueError(f"codes are from 0 to {self.values - 1}")
        if rng is not None:
            return draw_answers(codes, self.values, self.keep, rng)
        return codes.copy() if self.values == 1 else self._draw_by_library(codes, progress)

    def _draw_by_library(self, codes: Codes, progress: Progress | None) -> Codes:
        """OpenDP's answers: rows of one value together, as a vector of independent answers to it.

        Composition is only how the library is asked for many answers in one call, about four
        times faster than one by one; each of them is another person's.
        """
        dp = load_opendp()
        draw_answer = _measurement(self.values, self.keep)
        draw_batch = dp.c.make_composition([draw_answer] * _AT_ONCE)
        drawn, done = np.empty_like(codes), 0
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            for start in range(0, len(rows), _AT_ONCE):
                batch = rows[start : start + _AT_ONCE]
                true = int(codes[batch[0]])
                few = len(batch) < _AT_ONCE // 4
                answers = [draw_answer(true) for _ in batch] if few else draw_batch(true)
                drawn[batch] = answers[: len(batch)]
                done += len(batch)
                if progress:
                    progress(done, len(codes))
        return drawn

    @property
    def other(self) -> float:
        """The chance of any one answer that is not true."""
        return (1 - self.keep) / (self.values - 1) if self.values > 1 else 0.0

    def matrix(self) -> NDArray[np.float64]:
        """P(answer | true): a row for each true value, a column for each answer."""
        chance = np.full((self.values, self.values), self.other)
        np.fill_diagonal(chance, self.keep)
        return chance

    def estimated(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Unbiased estimates of the true counts, from the answers' counts (…, values).

        They add up to the number of answers; single ones may be below 0.
        """
        counts = np.asarray(counts, dtype=np.float64)
        total = counts.sum(axis=-1, keepdims=True)
        return np.asarray((counts - total * self.other) / (self.keep - self.other))

    def deviation(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """The standard deviation of each estimate, where these are the true counts.

        An answer's count is a sum of independent yes or no: x with chance `keep`, and the others
        with chance `other`.
        """
        counts = np.asarray(counts, dtype=np.float64)
        rest = counts.sum(axis=-1, keepdims=True) - counts
        keep, other = self.keep, self.other
        variance = counts * keep * (1 - keep) + rest * other * (1 - other)
        return np.asarray(np.sqrt(variance) / (keep - other))


@translate_refusals()
def calibrate_response(budget: Spend, values: int) -> Response:
    """The most truthful response of so many values that spends no more than a budget.

    >>> from shoal.core.spend import parse_spend
    >>> round(calibrate_response(parse_spend("1"), values=4).keep, 6)
    0.475367
    """
    if values < 2:
        raise UsageError(
            "A column of one value has nothing to hide and nothing to answer.",
            "list all values that it may take in its domain, or leave it out.",
        )
    if not budget.epsilon > 0:
        raise UsageError("Epsilon must be more than 0.", "write for example --epsilon 1.")
    epsilon = round_down(budget.epsilon)
    keep = 1 / (1 + (values - 1) * math.exp(-epsilon))
    while keep > 1 / values and not _within(values, keep, epsilon):
        keep = math.nextafter(keep, 0)
    if keep <= 1 / values:
        raise UsageError(
            "Epsilon is so small that an answer would say nothing.", "choose 0.001 or more."
        )
    return Response(values, keep, Spend(budget.epsilon))


@translate_refusals()
def compute_response_spend(values: int, keep: float) -> Spend:
    """What an answer with this chance of being true spends, by OpenDP's map.

    >>> float(compute_response_spend(4, 0.475367).epsilon) < 1.000001
    True
    """
    return Spend(round_up(_measurement(values, keep).map(1)))


def _within(values: int, keep: float, epsilon: float) -> bool:
    return bool(_measurement(values, keep).map(1) <= epsilon)


def _measurement(values: int, keep: float) -> Any:
    return load_opendp().m.make_randomized_response(list(range(values)), keep)
