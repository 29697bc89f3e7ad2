"""Precision: how far up their hierarchies the published cells are.

A cell on level h of a hierarchy that is H levels high has lost h / H: nothing where it is as it
was, all of it as ``*``. Sweeney's precision is 1 less the mean over all cells,

    Prec = 1 - (Σ over rows and columns h / H) / (rows · columns)

and the measure, a loss like the others, is that mean: 1 - Prec, columns by their weights. The
level of a cell is the lowest that has a node around it, unless it is printed with the label of a
higher one; a node with one leaf is level 0: it is printed as that leaf. H counts every level that
was given, also one that joins nothing more. A suppressed row is ``*`` everywhere. A column without
levels is 0 or 1.

It does not see how many leaves a node has, nor how often they occur: a level more costs the same
whether it joins two values or two hundred. So it depends on how many levels somebody wrote down.

L. Sweeney, Achieving k-anonymity privacy protection using generalization and suppression,
International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002.
"""

from __future__ import annotations

import numpy as np

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_published_rows, find_levels


def precision(tally: Tally, cut: Cut) -> float:
    """The mean share of the way up that the cells have gone: 1 - Prec."""
    weights = tally.importance
    if not tally.rows or not weights.sum():
        return 0.0
    return raw(tally, cut) / (tally.rows * float(weights.sum()))


def raw(tally: Tally, cut: Cut) -> float:
    """The sum of h / H over rows and quasi-identifiers, each times the column's weight."""
    rows, weights = count_published_rows(cut), tally.importance
    lost = cut.suppressed * float(weights.sum())
    for column, (axis, weight) in enumerate(zip(tally.quasi, weights, strict=True)):
        level, top = find_levels(axis, cut.cells, column)
        lost += float(weight * np.dot(rows, level)) / max(top, 1)
    return lost
