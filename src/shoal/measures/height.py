"""Height: how many levels the columns were lifted, all together.

The sum over the quasi-identifiers of the highest level that any of their published cells is on:
0 where every cell is as it was. In a table with one level for each column it is the distance from
the original in the lattice of all such tables. The measure is its share of all levels there are;
suppressed rows count 1. The level of a cell is the lowest that has a node around it.

It does not see how many cells are on a level: a single class with ``*`` counts like a table full of
them, so it says little where classes differ in their levels, as Mondrian's do. Nor does it see how
high a hierarchy is: a level of three counts like a level of ten. Weights multiply levels.

P. Samarati, Protecting respondents' identities in microdata release, IEEE Transactions on Knowledge
and Data Engineering 13(6), 2001.
"""

from __future__ import annotations

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import find_levels


def height(tally: Tally, cut: Cut) -> float:
    """The levels that the published columns were lifted, as a share of all levels."""
    if not tally.rows:
        return 0.0
    tops = (find_levels(axis, cut.cells, column)[1] for column, axis in enumerate(tally.quasi))
    all_levels = sum(top * weight for top, weight in zip(tops, tally.importance, strict=True))
    lifted = raw(tally, cut) / all_levels if all_levels else 0.0
    return float((tally.rows - cut.suppressed) * lifted + cut.suppressed) / tally.rows


def raw(tally: Tally, cut: Cut) -> float:
    """The sum of the columns' highest published levels, each times its weight."""
    levels = (find_levels(axis, cut.cells, column)[0] for column, axis in enumerate(tally.quasi))
    highest = (int(level.max(initial=0)) for level in levels)
    return float(sum(n * weight for n, weight in zip(highest, tally.importance, strict=True)))
