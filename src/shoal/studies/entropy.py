"""How much there is to learn: the entropy of how often values occur, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def compute_entropy(counts: ArrayLike) -> float:
    """The entropy of these counts; values that do not occur count nothing.

    >>> compute_entropy([2, 2, 2, 2]), compute_entropy([3, 0, 0])
    (2.0, 0.0)
    """
    count = np.asarray(counts, dtype=np.float64)
    share = count[count > 0] / count.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0  # never -0.0
