"""Where a function changes its sign: slow, and impossible to send astray."""

from __future__ import annotations

import math
from collections.abc import Callable

STEPS = 200


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A root between ``low`` and ``high``; nan where the signs at the two ends do not differ.

    >>> round(bisect(lambda x: x * x - 2, 0, 2), 9)
    1.414213562
    >>> bisect(lambda x: x * x + 1, 0, 2)
    nan
    """
    rising = function(high) > 0
    if not (function(low) < 0 if rising else function(low) > 0):
        return math.nan
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2
