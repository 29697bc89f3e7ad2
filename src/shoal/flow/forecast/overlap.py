"""An overlap as people write it: a share of our people, or how many they are."""

from __future__ import annotations

import math
from decimal import Decimal

from shoal.errors import UsageError

MANY = 10**10
"""More are no number of people."""


def overlap_of(given: float | str) -> float:
    """A share from 0 to 1, or a whole number of people from 2 on; as a number or as text.

    >>> overlap_of("5%"), overlap_of("500"), overlap_of(0.25)
    (0.05, 500, 0.25)
    """
    number = _read(given) if isinstance(given, str) else given
    real = isinstance(number, int | float) and not isinstance(number, bool)
    if real and 0 <= number <= 1:
        return number
    if real and 1 < number < MANY and number == int(number):
        return int(number)
    raise UsageError(
        f"{repr(given) if isinstance(given, str) else 'That'} is no overlap: it is a share of our "
        "people, or how many they are.",
        "write for example 0.1, 10% or 500.",
    )


def _read(text: str) -> float:
    """The number that a text is, as a share where it ends in %; else none."""
    word = text.strip()
    try:  # as decimals, so that 0.1% is the 0.001 that somebody else writes
        if not word.endswith("%"):
            return float(Decimal(word))
        share = float(Decimal(word[:-1]) / 100)
    except (ArithmeticError, ValueError):
        return math.nan
    return share if share <= 1 else math.nan
