"""What a rule judges of classes: counts of sensitive values, or of pairs of provider and value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.histogram import Contributions, Histogram, ProviderValuePairs
from shoal.core.tally import Tally

JudgedColumn = Axis | ProviderValuePairs
SparseCounts = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]
"""Where each class's values start, the values, and how often each occurs."""


def sum_values(
    tally: Tally, columns: Sequence[tuple[Axis, NDArray[Any]]]
) -> tuple[NDArray[np.int64], ...]:
    """How many rows have each value of these columns: of the whole table, where this is a part."""
    return tuple(
        np.bincount(codes, tally.count, axis.size).astype(np.int64)
        if reference is None
        else reference
        for (axis, codes), reference in zip_longest(columns, tally.reference[: len(columns)])
    )


def build_histograms(
    columns: Sequence[JudgedColumn],
    counts: Iterable[SparseCounts],
    totals: Sequence[NDArray[np.int64]],
) -> tuple[tuple[Histogram, ...], tuple[Contributions, ...]]:
    """The counted columns as what a model is given: histograms, and who contributed the rows."""
    histograms, shares = [], []
    for i, (column, counted) in enumerate(zip(columns, counts, strict=True)):
        if isinstance(column, Axis):
            histograms.append(Histogram(column, *counted, totals[i]))
        else:
            shares.append(column.contributions(*counted, totals[i]))
    histograms += [share.values for share in shares if share.axis is not None]
    return tuple(histograms), tuple(shares)
