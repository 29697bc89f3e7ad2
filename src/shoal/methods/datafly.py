"""Datafly: lift the column with the most values until few rows are left over; suppress those.

    count the rows of each combination of quasi-identifiers
    while more than k rows are in combinations of fewer than k rows:
        replace the column with the most distinct values (the first of equals) by its next level
    suppress the rows that are left over
    if these are fewer than k, suppress more, until they are not

Every column is published at one level of its hierarchy. Here any rule takes the place of k: a row
is left over where its class fails the rule, and k is the fewest rows that a class of the rule has.
A weight divides a column's number of values. Rows are suppressed only as far as they may be: where
more would be, the lifting goes on, and where none may be suppressed it goes on until every class
meets the rule. The last step suppresses whole classes, the smallest first, so that those suppressed
do not stand out, few as they are, where they are printed as ``*`` (complementary suppression).

L. Sweeney: Achieving k-anonymity privacy protection using generalization and suppression,
International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10 (2002): Datafly II;
L. Sweeney: Guaranteeing anonymity when sharing medical data, the Datafly system, 1997.

What it does not give: little loss. A column with many values is lifted for everybody, needed or
not, and never let down again: the full-domain search finds the best levels. Who is suppressed is
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
    """The first table on Datafly's way that leaves few enough rows over.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every published class must meet.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        How many rows may be suppressed at most.
    left_over
        At how many rows in failing classes the lifting stops; unless given, the fewest rows of a
        class that meets the model.

    Returns
    -------
    Cut
        The classes; where no table on the way leaves so few rows over, those of the one that loses
        the fewest. Its facts: the level of each column (0: as it is), the column lifted at each of
        its ``steps``, and how many rows are suppressed for the others' sake only
        (``complementary``).

    Raises
    ------
    NotMetError
        Even the coarsest table leaves rows over, and none may be suppressed.
    """
    check_quasi(tally)
    max_left_over = (
        min_class_rows(model)
        if left_over is None
        else parse_whole_number(left_over, "left_over", 0)
    )
    best: Cut | None = None
    advance = Advance(progress)
    for cut, share_done in _iterate_tables(tally):
        advance.to(share_done)
        meeting = suppress_breaking_classes(tally, model, cut)
        candidate = (
            _suppress_complementary(tally, model, meeting)
            if 0 < meeting.suppressed <= hold_back
            else meeting
        )
        if candidate.suppressed <= hold_back and meeting.suppressed <= max_left_over:
            best = candidate
            break
        if best is None or candidate.suppressed < best.suppressed:
            best = candidate
    assert best is not None, "the way has a first table"
    if best.suppressed and not hold_back:
        raise explain_not_met(model, Groups.of(tally, cut, list_joint_columns(model)))
    advance.end()
    return best


def _iterate_tables(tally: Tally) -> Iterator[tuple[Cut, float]]:
    """The tables from all columns as they are to all as ``*``, with how much of the way is done."""
    ladders = [build_ladder(axis) for axis in tally.quasi]
    codes_present = [np.unique(codes) for codes in tally.keys]
    standing, total_steps = [0] * len(ladders), sum(len(rungs) - 1 for rungs in ladders)
    lifted_columns: list[str] = []

    def count_values(column: int) -> float:
        labels = ladders[column][standing[column]].labels(codes_present[column])
        return float(labels / tally.importance[column])

    while True:
        rungs = [rungs[rung_number] for rungs, rung_number in zip(ladders, standing, strict=True)]
        yield (
            _cut_with_facts(tally, rungs, lifted_columns),
            len(lifted_columns) / max(total_steps, 1),
        )
        liftable = [
            column
            for column, rung_number in enumerate(standing)
            if rung_number < len(ladders[column]) - 1
        ]
        if not liftable:
            return
        column = max(liftable, key=count_values)
        standing[column] += 1
        lifted_columns.append(tally.quasi[column].name)


def _cut_with_facts(tally: Tally, rungs: list[Rung], lifted_columns: list[str]) -> Cut:
    steps = {"steps": list(lifted_columns), "complementary": 0}
    return replace(recode_to_rungs(tally, rungs), facts=describe_levels(tally, rungs) | steps)


def _suppress_complementary(tally: Tally, model: Model, cut: Cut) -> Cut:
    """The cut with so many classes suppressed too that the rows suppressed are not too few."""
    suppressed_before = cut.suppressed
    while cut.classes and cut.suppressed < min_class_rows(model):
        cut = suppress_breaking_classes(
            tally, model, cut.without(_find_smallest_class(tally, model, cut))
        )
    return replace(cut, facts=cut.facts | {"complementary": cut.suppressed - suppressed_before})


def _find_smallest_class(tally: Tally, model: Model, cut: Cut) -> Mask:
    """The class with the fewest rows; of equals the one whose cells come first."""
    rows = Groups.of(tally, cut, list_joint_columns(model)).rows
    order = np.lexsort((*cut.cells.low.T[::-1], rows))
    return np.asarray(np.arange(cut.classes) == order[0])
