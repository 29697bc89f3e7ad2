"""Average class: how many rows a class has on average.

    C_avg = rows / classes   (LeFevre divides by k too; a measure does not know k)

It does not see what the cells say, nor how unequal the classes are.

K. LeFevre, D. DeWitt, R. Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
"""

from __future__ import annotations

from shoal.core.tally import Cut, Tally
from shoal.measures._counting import count_original_rows


def average_class(tally: Tally, cut: Cut) -> float:
    """0 at the untouched table's own average, 1 where one class is left or none is published.

    Published rows count by their classes' average, suppressed rows as 1.
    """
    if not tally.rows:
        return 0.0
    before = tally.rows / len(count_original_rows(tally))
    wider = max(0.0, raw(tally, cut) - before) / max(tally.rows - before, 1.0)
    published = tally.rows - cut.suppressed
    return (published * min(1.0, wider) + cut.suppressed) / tally.rows


def raw(tally: Tally, cut: Cut) -> float:
    """Published rows / published classes; 0 where there is none."""
    return (tally.rows - cut.suppressed) / cut.classes if cut.classes else 0.0
