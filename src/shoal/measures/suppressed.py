"""Suppressed: how many rows are not published, whatever happened to the others.

It does not see what generalisation costs: a table of nothing but `*` suppresses no row.

L. Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

from shoal.core.tally import Cut, Tally


def suppressed(tally: Tally, cut: Cut) -> float:
    """The share of rows that is not published."""
    return raw(tally, cut) / tally.rows if tally.rows else 0.0


def raw(tally: Tally, cut: Cut) -> int:
    """How many rows are not published."""
    return cut.suppressed
