"""How useful a randomised release is: its marginals beside the original's, as for other releases.

Of quasi-identifiers what the cells say, as always; of sensitive columns what is estimated from the
answers of each class, which may be below 0. A bin of numbers is spread evenly over its values. It
is for the publisher: it compares with the exact table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Tally
from shoal.dp.randomised_response import Response
from shoal.engines.protocol import Frame
from shoal.measures.marginals import Distances, EstimatedRows, cut_to_root, raw
from shoal.releases.forms._noise.answer_estimates import AnswerCounts
from shoal.releases.forms._noise.answers import Answers
from shoal.releases.forms._noise.utility import without_counting_limits
from shoal.releases.tallying import encode

MOST = 1 << 25
"""So many counts of classes and values are compared at the most."""
TOO_MANY = "not measured: there are too many classes and values"

Floats = NDArray[np.float64]


def measure_answer_utility(
    frame: Frame, schema: Schema, cut: Cut, answers: Mapping[str, Answers], drawn: AnswerCounts
) -> dict[str, Any]:
    """How far columns and pairs of them have moved: together, as a share, and each."""
    if cut.classes * max(drawn.sizes) > MOST:
        return {"marginals": None, "reason": TOO_MANY}
    tally = encode(frame, _original(schema)).tally
    tally = replace(tally, keys=tally.keys.astype(np.int32))
    pairs = zip(tally.sensitive, answers.values(), strict=True)
    ways = [(column.response, column.bins.of_leaves(axis)) for axis, column in pairs]
    lost = Distances({}, {})
    for i, (way, bin_of) in enumerate(ways):
        estimated = estimate_over_leaves(way, drawn.table([i], cut.classes), bin_of)
        _add(lost, raw(_only(tally, [i]), EstimatedRows.of(cut.cells, estimated)))
    for i, j in combinations(range(len(ways)), 2):
        (way_i, first), (two, second) = ways[i], ways[j]
        half = estimate_over_leaves(two, drawn.table([i, j]), second)
        joint = estimate_over_leaves(way_i, half.T, first).T
        _add(lost, raw(_only(tally, [i, j], quasi=False), _joint(joint)))
    return {"marginals": lost.share(raw(tally, cut_to_root(tally))), **lost.to_dict()}


def _original(schema: Schema) -> Schema:
    """The columns as the table has them: an empty value of a domain is null there."""
    return Schema((*schema.quasi, *map(without_counting_limits, schema.sensitive)))


def estimate_over_leaves(way: Response, answers: Floats, bin_of: NDArray[np.int32]) -> Floats:
    """(…, leaves) of people, estimated from (…, bins) of answers: a bin's evenly over its leaves.

    ``bin_of`` has the bin of each leaf, -1 where it is in none.
    """
    leaves = np.bincount(bin_of[bin_of >= 0], minlength=way.values)
    each = way.estimated(answers) / np.maximum(leaves, 1)
    return np.where(bin_of >= 0, each[..., bin_of], 0.0)


def _only(tally: Tally, columns: Sequence[int], *, quasi: bool = True) -> Tally:
    """The tally with some of the sensitive columns, and with or without quasi-identifiers."""
    some = replace(
        tally,
        sensitive=tuple(tally.sensitive[i] for i in columns),
        values=tally.values[list(columns)],
        providers=None,
        provider=None,
    )
    return some if quasi else replace(some, quasi=(), keys=tally.keys[:0], weights=())


def _joint(estimated: Floats) -> EstimatedRows:
    """Estimates of two columns together, in one class."""
    codes = np.indices(estimated.shape).reshape(2, -1)
    nothing = np.zeros((1, 0), np.int32)
    return EstimatedRows(
        Cells(nothing, nothing), np.zeros(codes.shape[1], np.int64), codes, estimated.ravel()
    )


def _add(lost: Distances, more: Distances) -> None:
    lost.columns.update(more.columns)
    lost.pairs.update(more.pairs)
