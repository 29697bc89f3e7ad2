"""Invariant: groups of near people whose sensitive values all differ, for m-invariance.

    assignment  the rows are dealt to buckets: a bucket has a set of at least m values, its
                signature, and equally many rows of each of them
    split       every bucket is halved again and again, the rows of each value sorted by one column,
                by the column after which least is lost; until one row of each value is left

Before that the table is cut top-down, where least is lost, into parts in each of which no value has
more than one m-th of the rows: values dealt among neighbours make smaller cells. Groups that would
publish the same cells with different values are told apart: some get cells a little wider.

This is the first release of a table; the next one, based on it, keeps everybody's signature and
adds counterfeit rows where people are short (`publish(..., based_on=...)`). Rows are left over
where a value is more frequent than one in m: suppressed, as far as they may be; whoever knows that
somebody is in the table and sees that they are in no class then knows that they have such a value.

Parameter, for releases based on another: ``newcomers="apart"`` (they have classes of their own), or
``"fill"``: the paper's rule, they stand in for people who left. That takes the fewest counterfeits,
and leaks: a counterfeit then tells that no newcomer with its value was left over (the minimality
attack: R. Wong et al., VLDB 2007).

X. Xiao and Y. Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets,
SIGMOD 2007 (phases 3 and 4). Dealing the most frequent values first: X. Xiao and Y. Tao: Anatomy,
VLDB 2006.

What it does not give: rules without m-invariance, for which it is refused; the least loss possible;
disjoint cells: somebody may lie in the cells of several classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import NotMetError
from shoal.core.model import Model, list_joint_columns
from shoal.core.tally import Cut, Groups, Tally
from shoal.kernels import cheapest_cut, grouping, split
from shoal.methods._invariance.groups import (
    explain_indistinct_groups,
    gather_classes,
    suppress_missing_rows,
)
from shoal.methods._invariance.requirement import APART, check_newcomers, read_requirement
from shoal.methods._invariance.value_buckets import (
    BucketRows,
    Numbers,
    assign_to_buckets,
    count_dealable,
)
from shoal.methods._shared.breaking_classes import suppress_breaking_classes
from shoal.methods._shared.points import order_people
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._shared.refusals import check_quasi, explain_not_met

KERNELS = (cheapest_cut, split, grouping)
"""What is compiled when it first runs on a machine."""


def invariant(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    newcomers: str = APART,
) -> Cut:
    """Classes of at least m values, all equally frequent, for a rule with m-invariance in it.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule; a part of it must be m-invariance.
    rng
        Chooses which rows of a value go where, and which are suppressed.
    progress
        Called with how much of how much is done.
    hold_back
        How many rows may be suppressed at most.
    newcomers
        What people who come later do in releases based on this one: ``apart`` or ``fill``.

    Returns
    -------
    Cut
        The classes.

    Raises
    ------
    NotMetError
        The rule has no m-invariance, a value is too frequent, or classes break the rest of the
        rule.
    UsageError
        The rule judges all classes together, or leaves open which column it is about.
    """
    check_newcomers(newcomers)
    check_quasi(tally)
    m, on, values = read_requirement(tally, model)
    rng, advance = rng or np.random.default_rng(0), Advance(progress)
    entry = order_people(tally, rng)
    entry = entry[_find_dealable_rows(values[entry], m, hold_back)]
    bucket = assign_to_buckets(tally, entry, values[entry], m, on, advance)
    rows = BucketRows(entry, bucket, values[entry], np.zeros(len(entry), np.bool_))
    _, cut, unplaced_rows = gather_classes(tally, model, rows, advance)
    if unplaced_rows > hold_back:
        raise explain_indistinct_groups(unplaced_rows)
    cut = _suppress_failing_classes(tally, model, suppress_missing_rows(tally, cut), hold_back)
    advance.end()
    return cut


def _find_dealable_rows(values: NDArray[np.int32], m: int, hold_back: int) -> Numbers:
    """The rows that can be dealt: of values that are too frequent, only the first so many."""
    counts = np.bincount(values)
    max_rows = count_dealable(counts, m)
    excess = int(np.maximum(counts - max_rows, 0).sum())
    if excess > hold_back or not max_rows:
        raise NotMetError(
            f"Of {int((counts > 0).sum()):,} sensitive values some have more than one row in {m}: "
            f"{excess:,} of {len(values):,} rows cannot be placed, {hold_back:,} may be held back.",
            f"allow more with --hold-back {min(1.0, excess / len(values) + 0.0005):.3f}, or ask "
            "for a smaller m."
            if max_rows
            else "ask for a smaller m: the column has too few values.",
        )
    order = np.argsort(values, kind="stable")
    begin = np.concatenate(([0], np.cumsum(counts)))
    rank = np.arange(len(values)) - begin[values[order]]
    return np.sort(order[rank < max_rows])


def _suppress_failing_classes(tally: Tally, model: Model, cut: Cut, hold_back: int) -> Cut:
    """The cut, without classes that break what the rule asks for besides."""
    groups = Groups.of(tally, cut, list_joint_columns(model))
    failing = ~np.asarray(model.holds(groups), np.bool_)
    if failing.any() and not hold_back:
        raise explain_not_met(model, groups.take(np.flatnonzero(failing)))
    return suppress_breaking_classes(tally, model, cut)
