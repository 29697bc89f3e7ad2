"""Loss: how wide the published cells are (normalised certainty penalty; 1 - granularity).

A cell loses the share of its column's domain that it covers beyond one leaf: (leaves - 1) /
(domain - 1), or width / range for numbers and dates. The loss is the mean over rows and
quasi-identifiers, these by their weights.

It does not see how values are distributed: a cell of two leaves costs the same whether one of them
is rare or not.

J. Xu et al., Utility-based anonymization using local recoding, KDD 2006 (NCP); V. Iyengar,
Transforming data to satisfy privacy constraints, KDD 2002 (loss).
"""

from __future__ import annotations

import numpy as np

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_published_rows


def loss(tally: Tally, cut: Cut) -> float:
    """The mean width of the cells over rows and quasi-identifiers."""
    weights = tally.importance
    if not tally.rows or not weights.sum():
        return 0.0
    return raw(tally, cut) / (tally.rows * float(weights.sum()))


def raw(tally: Tally, cut: Cut) -> float:
    """The sum of widths over rows and quasi-identifiers, each times the column's weight."""
    weights = tally.importance
    per_row = cut.cells.widths(tally.quasi) @ weights
    return float(np.dot(count_published_rows(cut), per_row)) + cut.suppressed * float(weights.sum())
