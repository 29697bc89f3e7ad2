"""How useful a release of noise is: its marginals beside the original's, as for any other release.

The measure is `shoal.measures.marginals`: every column and every pair of columns as distributions
over the leaves of the original, a bin spread evenly over its leaves. It is for the publisher: it
compares with the exact table, and is no part of what may be released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.column import DEFAULT_HIERARCHIES, Column
from shoal.core.schema import Schema
from shoal.core.tally import Tally
from shoal.engines.protocol import Frame
from shoal.measures.marginals import CountTables, Distances, cut_to_root, marginals, raw
from shoal.releases.forms._noise.measured import MeasuredTable, list_columns_in_any, tabulate_codes
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.tallying import encode

Estimated = Mapping[Columns, NDArray[np.float64]]


def tally_original(frame: Frame, schema: Schema, names: Sequence[str] | None = None) -> Tally:
    """The table by its own leaves, as other releases are compared with it.

    ``names``: columns that are counted, where not all are; of others the schema's word on what
    they may hold is not heeded.
    """
    columns = (*schema.quasi, *schema.sensitive)
    known = [column.name for column in columns] if names is None else names
    read = (
        without_counting_limits(column) if column.name in known else _as_it_is(column)
        for column in columns
    )
    return encode(frame, Schema(tuple(read))).tally


def _as_it_is(column: Column) -> Column:
    return replace(column, hierarchy=DEFAULT_HIERARCHIES[column.kind], bounds=None, domain=None)


def without_counting_limits(column: Column) -> Column:
    """The column without what says how it is counted, and not what it is.

    That is bounds, and the empty text of a domain; leaves of numbers and dates are the rows' own.
    """
    known = None if column.kind in ("number", "date") else column.listed_values
    return replace(column, bounds=None, domain=known)


def measure_noise_utility(tally: Tally, plan: MarginalPlan, estimates: Estimated) -> dict[str, Any]:
    """How far all columns and pairs have moved, together and each, by what is estimated of them."""
    known = list_columns_in_any(estimates)
    released = CountTables(_leaves(tally, plan, known), _up_to_pairs(plan, estimates))
    return {"marginals": marginals(tally, released), **raw(tally, released).to_dict()}


def measure_bin_loss(tally: Tally, measured: MeasuredTable) -> float:
    """How far exact counts of columns and pairs in the same bins have moved: by no noise.

    Columns that nobody counts are lost, but not by bins.
    """
    plan, names = measured.plan, measured.names
    columns = [plan.names.index(name) for name in names]
    exact = measured.tables([*combinations(columns, 1), *combinations(columns, 2)])
    counts = {marginal: table.astype(np.float64) for marginal, table in exact.items()}
    moved = raw(tally, CountTables(_leaves(tally, plan, columns), _up_to_pairs(plan, counts)))
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


def _leaves(
    tally: Tally, plan: MarginalPlan, columns: Sequence[int]
) -> dict[str, NDArray[np.int32]]:
    """The bin of every leaf of these columns."""
    own = {plan.names[column]: plan.bins[column] for column in columns}
    axes = (axis for axis in (*tally.quasi, *tally.sensitive) if axis.name in own)
    return {axis.name: own[axis.name].of_leaves(axis) for axis in axes}


def _up_to_pairs(
    plan: MarginalPlan, estimates: Estimated
) -> dict[tuple[str, ...], NDArray[np.float64]]:
    """Columns and pairs, each summed up from the first table that has it."""
    tables: dict[tuple[str, ...], NDArray[np.float64]] = {}
    for columns, table in estimates.items():
        for size in (1, 2):
            for some in combinations(range(len(columns)), size):
                names = tuple(plan.names[columns[i]] for i in some)
                if names not in tables:
                    others = tuple(i for i in range(len(columns)) if i not in some)
                    tables[names] = np.asarray(table, np.float64).sum(axis=others)
    return tables
