"""How useful a release of noise is: its marginals beside the original's, as for any other release.

The measure is `shoal.measures.marginals`: every column and every pair of columns as distributions
over the leaves of the original, a bin spread evenly over its leaves. In a randomised release the
cells say it of quasi-identifiers; of sensitive columns it is estimated from the answers of each
class, and may be below 0. All of it is for the publisher: it compares with the exact table, and is
no part of what may be released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.column import DEFAULT_HIERARCHIES, Column
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Tally
from shoal.dp.randomised_response import Response
from shoal.engines.protocol import Frame
from shoal.measures.marginals import (
    CountTables,
    Distances,
    EstimatedRows,
    cut_to_root,
    marginals,
    raw,
)
from shoal.releases.forms._noise.answers import AnswerCounts, Answers
from shoal.releases.forms._noise.measured import MeasuredTable, list_columns_in_any, tabulate_codes
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.tallying import encode

MAX_ANSWER_COUNTS = 1 << 25
"""So many counts of classes and values are compared at the most."""
TOO_MANY_COUNTS = "not measured: there are too many classes and values"

Floats = NDArray[np.float64]
Estimated = Mapping[Columns, Floats]


def tally_original(frame: Frame, schema: Schema, names: Sequence[str] | None = None) -> Tally:
    """The table by its own leaves, as other releases are compared with it.

    ``names``: columns that are counted, where not all are; of others the schema's word on what
    they may hold is not heeded.
    """
    columns = (*schema.quasi, *schema.sensitive)
    read = (
        without_counting_limits(column)
        if names is None or column.name in names
        else replace(column, hierarchy=DEFAULT_HIERARCHIES[column.kind], bounds=None, domain=None)
        for column in columns
    )
    return encode(frame, Schema(tuple(read))).tally


def without_counting_limits(column: Column) -> Column:
    """The column without what says how it is counted, and not what it is.

    That is bounds, and the empty text of a domain; leaves of numbers and dates are the rows' own.
    """
    known = None if column.kind in ("number", "date") else column.listed_values
    return replace(column, bounds=None, domain=known)


def measure_noise_utility(tally: Tally, plan: MarginalPlan, estimates: Estimated) -> dict[str, Any]:
    """How far all columns and pairs have moved, together and each, by what is estimated of them."""
    known = list_columns_in_any(estimates)
    released = CountTables(_bin_leaves(tally, plan, known), _sum_to_pairs(plan, estimates))
    return {"marginals": marginals(tally, released), **raw(tally, released).to_dict()}


def measure_bin_loss(tally: Tally, measured: MeasuredTable) -> float:
    """How far exact counts of columns and pairs in the same bins have moved: by no noise.

    Columns that nobody counts are lost, but not by bins.
    """
    plan, names = measured.plan, measured.names
    columns = [plan.names.index(name) for name in names]
    exact = measured.tables([*combinations(columns, 1), *combinations(columns, 2)])
    counts = {marginal: table.astype(np.float64) for marginal, table in exact.items()}
    moved = raw(tally, CountTables(_bin_leaves(tally, plan, columns), _sum_to_pairs(plan, counts)))
    own = Distances(
        {name: moved.columns[name] for name in names},
        {pair: lost for pair, lost in moved.pairs.items() if {*pair} <= {*names}},
    )
    return own.share(raw(tally, cut_to_root(tally)))


def tabulate_people(codes: NDArray[np.int32], plan: MarginalPlan) -> Estimated:
    """Every column and pair of a table of bins: (columns, rows)."""
    columns = range(len(plan.bins))
    wanted = [*combinations(columns, 1), *combinations(columns, 2)]
    return {
        marginal: tabulate_codes([codes[c] for c in marginal], plan.shape(marginal)).astype(
            np.float64
        )
        for marginal in wanted
    }


def _bin_leaves(
    tally: Tally, plan: MarginalPlan, columns: Sequence[int]
) -> dict[str, NDArray[np.int32]]:
    own = {plan.names[column]: plan.bins[column] for column in columns}
    axes = (axis for axis in (*tally.quasi, *tally.sensitive) if axis.name in own)
    return {axis.name: own[axis.name].of_leaves(axis) for axis in axes}


def _sum_to_pairs(plan: MarginalPlan, estimates: Estimated) -> dict[tuple[str, ...], Floats]:
    """Columns and pairs, each summed up from the first table that has it."""
    tables: dict[tuple[str, ...], Floats] = {}
    for columns, table in estimates.items():
        for size in (1, 2):
            for some in combinations(range(len(columns)), size):
                names = tuple(plan.names[columns[i]] for i in some)
                if names not in tables:
                    others = tuple(i for i in range(len(columns)) if i not in some)
                    tables[names] = np.asarray(table, np.float64).sum(axis=others)
    return tables


def measure_answer_utility(
    frame: Frame, schema: Schema, cut: Cut, answers: Mapping[str, Answers], drawn: AnswerCounts
) -> dict[str, Any]:
    """How far columns and pairs of them have moved: together, as a share, and each."""
    if cut.classes * max(drawn.sizes) > MAX_ANSWER_COUNTS:
        return {"marginals": None, "reason": TOO_MANY_COUNTS}
    # The columns as the table has them: an empty value of a domain is null there.
    original = Schema((*schema.quasi, *map(without_counting_limits, schema.sensitive)))
    tally = encode(frame, original).tally
    tally = replace(tally, keys=tally.keys.astype(np.int32))
    pairs = zip(tally.sensitive, answers.values(), strict=True)
    ways = [(column.response, column.bins.of_leaves(axis)) for axis, column in pairs]
    lost = Distances({}, {})
    for i, (response, bin_of) in enumerate(ways):
        estimated = estimate_over_leaves(response, drawn.table([i], cut.classes), bin_of)
        _add_distances(
            lost, raw(_select_columns(tally, [i]), EstimatedRows.of(cut.cells, estimated))
        )
    for i, j in combinations(range(len(ways)), 2):
        (first, first_bins), (second, second_bins) = ways[i], ways[j]
        half = estimate_over_leaves(second, drawn.table([i, j]), second_bins)
        joint = estimate_over_leaves(first, half.T, first_bins).T
        _add_distances(
            lost, raw(_select_columns(tally, [i, j], quasi=False), _estimate_pair(joint))
        )
    return {"marginals": lost.share(raw(tally, cut_to_root(tally))), **lost.to_dict()}


def estimate_over_leaves(response: Response, answers: Floats, bin_of: NDArray[np.int32]) -> Floats:
    """(…, leaves) of people, estimated from (…, bins) of answers: a bin's evenly over its leaves.

    ``bin_of`` has the bin of each leaf, -1 where it is in none.
    """
    leaves = np.bincount(bin_of[bin_of >= 0], minlength=response.values)
    each = response.estimated(answers) / np.maximum(leaves, 1)
    return np.where(bin_of >= 0, each[..., bin_of], 0.0)


def _select_columns(tally: Tally, columns: Sequence[int], *, quasi: bool = True) -> Tally:
    some = replace(
        tally,
        sensitive=tuple(tally.sensitive[i] for i in columns),
        values=tally.values[list(columns)],
        providers=None,
        provider=None,
    )
    return some if quasi else replace(some, quasi=(), keys=tally.keys[:0], weights=())


def _estimate_pair(estimated: Floats) -> EstimatedRows:
    codes = np.indices(estimated.shape).reshape(2, -1)
    nothing = np.zeros((1, 0), np.int32)
    return EstimatedRows(
        Cells(nothing, nothing), np.zeros(codes.shape[1], np.int64), codes, estimated.ravel()
    )


def _add_distances(lost: Distances, more: Distances) -> None:
    lost.columns.update(more.columns)
    lost.pairs.update(more.pairs)
