"""Discernibility: from how many rows each row cannot be distinguished.

    DM = Σ over classes |class|² + |suppressed rows| · |rows|

It does not see what the cells say: classes of equal sizes cost the same, narrow or wide.

R. Bayardo, R. Agrawal, Data privacy through optimal k-anonymization, ICDE 2005.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_original_rows, count_published_rows


def discernibility(tally: Tally, cut: Cut) -> float:
    """0 at the untouched table's own value, 1 where all rows look alike or none is published.

    Relaxed cuts may divide people who are equal; what is below the untouched value is 0 too.
    """
    lowest, highest = _sum_of_squares(count_original_rows(tally)), tally.rows**2
    return max(0.0, (raw(tally, cut) - lowest) / (highest - lowest)) if highest > lowest else 0.0


def raw(tally: Tally, cut: Cut) -> int:
    """The metric as published: a whole number of any size."""
    return _sum_of_squares(count_published_rows(cut)) + cut.suppressed * tally.rows


def _sum_of_squares(rows: NDArray[np.int64]) -> int:
    # Exact: few sizes are distinct, so whole numbers without a limit cost nothing.
    size, number = np.unique(rows, return_counts=True)
    return sum(s * s * n for s, n in zip(size.tolist(), number.tolist(), strict=True))
