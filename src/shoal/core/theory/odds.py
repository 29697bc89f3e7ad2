"""Odds: how far what is published can move a belief, or make a guess right.

Where something is at most e^x times as probable under one of two cases as under the other, and the
other way round, as x-differential privacy says of neighbouring tables, by Bayes the odds
p / (1 − p) of a belief move by at most that factor (Dwork, McSherry, Nissim, Smith 2006):

    p / (p + (1 − p) e^x)   <=   belief after   <=   p / (p + (1 − p) e^−x)

The same factor bounds any event, such as that a guess is right: one that has probability c in the
one case has at most min(e^x c, 1 − e^−x (1 − c)) in the other (Kairouz, Oh, Viswanath 2015).
"""

from __future__ import annotations

import math

MAX_EXPONENT = 10_000.0
"""No belief is told apart beyond this exponent, and no float overflows below it."""


def move_belief(before: float, exponent: float) -> tuple[float, float]:
    """The smallest and the largest belief whose odds are within e^±exponent of those before.

    >>> [round(belief, 6) for belief in move_belief(0.1, 1)]
    [0.03927, 0.231969]
    """
    if not 0 < before < 1:  # who is certain learns nothing
        return before, before
    factor = math.exp(-min(exponent, MAX_EXPONENT))
    least = before * factor / (before * factor + 1 - before)
    return least, before / (before + (1 - before) * factor)


def bound_success(otherwise: float, exponent: float) -> float:
    """The largest chance of an event whose chance is ``otherwise`` in the other case.

    It is concave, so that of a mean chance it bounds the mean.

    >>> round(bound_success(0.1, 1), 6), round(bound_success(0.5, 1), 6)
    (0.271828, 0.81606)
    """
    factor = math.exp(-min(exponent, 700.0))
    return min(otherwise / factor, 1 - factor * (1 - otherwise))
