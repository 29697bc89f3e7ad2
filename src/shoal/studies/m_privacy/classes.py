"""One class of rows with the providers who brought them, by itself.

What Figure 6 verifies, Table II scores and Algorithm 1 is run on. The paper does not say which
classes it took: where they come from a table their rows are drawn at random, and split by one of
two laws (`shoal.studies.splits`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal import UsageError
from shoal.core.axis import Axis
from shoal.core.tally import Cut, Groups, Tally
from shoal.studies.splits import split
from shoal.studies.tables import Sample


def draw_rows_as_class(sample: Sample, rows: int, n: int, kind: str, seed: int) -> Groups:
    """So many rows of the table as one class of n providers."""
    picked = np.random.default_rng(seed).choice(sample.rows, rows, replace=False)
    column = sample.table[sample.sensitive].combine_chunks().dictionary_encode("encode")
    values = column.indices.to_numpy()[picked].astype(np.int32)
    axis = Axis.numbered(sample.sensitive, len(column.dictionary))
    return make_class(axis, values, split(rows, n, kind, seed), n)


def make_class(
    axis: Axis, values: NDArray[np.int32], provider: NDArray[np.int32], n: int
) -> Groups:
    """Rows with these codes of their value and their provider (of n) as one class."""
    rows = len(values)
    tally = Tally(
        (Axis.numbered("class", 1),),
        (axis,),
        np.zeros((1, rows), np.uint8),
        values[np.newaxis],
        np.ones(rows, np.int64),
        Axis.numbered("provider", n),
        provider,
    )
    cut = Cut.of(tally, np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32))
    return Groups.of(tally, cut)


def select_fitting_sizes(sample: Sample, sizes: Sequence[int]) -> list[int]:
    """The sizes of classes that the table has rows for."""
    fitting_sizes = [size for size in sizes if size <= sample.rows]
    if not fitting_sizes:
        raise UsageError(
            f"The table has {sample.rows:,} rows, and a class needs {min(sizes):,}.",
            "take a larger table.",
        )
    return fitting_sizes
