"""Starred: how many published cells say nothing at all.

It does not see how wide the other cells are.

After L. Sweeney, Achieving k-anonymity privacy protection using generalization and suppression,
International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002.
"""

from __future__ import annotations

import numpy as np

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_published_rows, find_levels


def starred(tally: Tally, cut: Cut) -> float:
    """The share of cells on the top level of their column; suppressed rows count 1."""
    if not tally.rows:
        return 0.0
    tops = []
    for column, axis in enumerate(tally.quasi):
        level, top = find_levels(axis, cut.cells, column)
        if top:  # a column with a single value has nothing to lose
            tops.append(level == top)
    share = np.mean(tops, axis=0) if tops else np.zeros(cut.classes)
    return float(share @ count_published_rows(cut) + cut.suppressed) / tally.rows
