"""Datafly: lift the column with the most values until few rows are left over; hold those back.

    count the rows of each combination of quasi-identifiers
    while more than k rows are in combinations of fewer than k rows:
        replace the column with the most distinct values (the first of equals) by its next level
    hold back the rows that are left over
    if these are fewer than k, hold back more, until they are not

Every column is published at one level of its hierarchy. Here any rule takes the place of k: a row
is left over where its class fails the rule, and k is the fewest rows that a class of the rule has.
A weight divides a column's number of values. Rows are held back only as far as they may be: where
more would be, the lifting goes on, and where none may be held back it goes on until every class
meets the rule. The last step holds back whole classes, the smallest first, so that those held back
do not stand out, few as they are, where they are printed as ``*`` (complementary suppression).

L. Sweeney: Achieving k-anonymity privacy protection using generalization and suppression,
International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10 (2002): Datafly II;
L. Sweeney: Guaranteeing anonymity when sharing medical data, the Datafly system, 1997.

What it does not give: little loss. A column with many values is lifted for everybody, needed or
not, and never let down again: the full-domain search finds the best levels. Who is held back is
not random: the unusual are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shoal.core.model import Mask, Model, list_joint_columns, min_class_rows, parse_whole_number
from shoal.core.tally import Cut, Groups, Tally
from shoal.kernels import grouping
from shoal.methods._lattice.ladder import Rung, build_ladder, describe_levels, recode_to_rungs
from shoal.methods._shared.breaking_classes import suppress_breaking_classes
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._shared.refusals import check_quasi, explain_not_met

PUBLISHES_LEVELS = True
"""A column is published at one level of its hierarchy."""
KERNELS = (grouping,)
"""What is compiled when it first runs on a machine."""


def datafly(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    left_over: int | None = None,
) -> Cut:
    """The first table on Datafly's way that leaves few enough rows over; nothing in it is random.

    ``left_over``: at how many such rows the lifting stops; unless given, the fewest rows of a
    class that meets the model. ``hold_back``: how many rows may be held back at most. Where no
    table on the way leaves so few over, the one that loses the fewest rows, if any may be held
    back. The cut's facts: the level of each column (0: as it is), the column lifted at each step,
    and how many rows are held back for the others' sake only.
    """
    check_quasi(tally)
    few = (
        min_class_rows(model)
        if left_over is None
        else parse_whole_number(left_over, "left_over", 0)
    )
    best: Cut | None = None
    advance = Advance(progress)
    for cut, done in _way(tally):
        advance.to(done)
        left = suppress_breaking_classes(tally, model, cut)
        candidate = _unremarkable(tally, model, left) if 0 < left.suppressed <= hold_back else left
        if candidate.suppressed <= hold_back and left.suppressed <= few:
            best = candidate
            break
        if best is None or candidate.suppressed < best.suppressed:
            best = candidate
    assert best is not None, "the way has a first table"
    if best.suppressed and not hold_back:
        raise explain_not_met(model, Groups.of(tally, cut, list_joint_columns(model)))
    advance.end()
    return best


def _way(tally: Tally) -> Iterator[tuple[Cut, float]]:
    """The tables from all columns as they are to all as ``*``, with how much of the way is done."""
    ladders = [build_ladder(axis) for axis in tally.quasi]
    present = [np.unique(codes) for codes in tally.keys]
    at, steps = [0] * len(ladders), sum(len(rungs) - 1 for rungs in ladders)
    lifted: list[str] = []

    def values(column: int) -> float:
        labels = ladders[column][at[column]].labels(present[column])
        return float(labels / tally.importance[column])

    while True:
        rungs = [rungs[i] for rungs, i in zip(ladders, at, strict=True)]
        yield _cut_with_facts(tally, rungs, lifted), len(lifted) / max(steps, 1)
        able = [column for column, i in enumerate(at) if i < len(ladders[column]) - 1]
        if not able:
            return
        column = max(able, key=values)
        at[column] += 1
        lifted.append(tally.quasi[column].name)


def _cut_with_facts(tally: Tally, rungs: list[Rung], lifted: list[str]) -> Cut:
    """The table at these rungs, with its levels and the way to it."""
    way = {"steps": list(lifted), "complementary": 0}
    return replace(recode_to_rungs(tally, rungs), facts=describe_levels(tally, rungs) | way)


def _unremarkable(tally: Tally, model: Model, cut: Cut) -> Cut:
    """The cut with so many classes held back too that the rows held back are not too few."""
    before = cut.suppressed
    while cut.classes and cut.suppressed < min_class_rows(model):
        cut = suppress_breaking_classes(tally, model, cut.without(_smallest(tally, model, cut)))
    return replace(cut, facts=cut.facts | {"complementary": cut.suppressed - before})


def _smallest(tally: Tally, model: Model, cut: Cut) -> Mask:
    """The class with the fewest rows; of equals the one whose cells come first."""
    rows = _groups(tally, model, cut).rows
    order = np.lexsort((*cut.cells.low.T[::-1], rows))
    return np.asarray(np.arange(cut.classes) == order[0])


def _groups(tally: Tally, model: Model, cut: Cut) -> Groups:
    return Groups.of(tally, cut, list_joint_columns(model))
