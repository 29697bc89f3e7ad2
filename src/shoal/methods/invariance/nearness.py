"""How far apart people are: the widths of the ranges between them, summed over columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.tally import Tally


def distances(tally: Tally, one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Between each of some entries and each of others, by the columns' weights.

    Codes of a column lie in its order; where it has none, they are equal or not.
    """
    far = np.zeros((len(one), len(other)))
    for codes, axis, weight in zip(tally.keys, tally.quasi, tally.importance, strict=True):
        here, there = (codes[entry].astype(np.int64) for entry in (one, other))
        apart = np.abs(here[:, np.newaxis] - there)
        far += weight * (apart > 0 if axis.shape == "flat" else apart / max(axis.size - 1, 1))
    return far
