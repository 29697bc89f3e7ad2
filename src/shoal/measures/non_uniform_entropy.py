"""Non-uniform entropy: how many bits it takes to guess the values back from their cells.

A value v published as the cell V loses -log₂(Pr(v) / Pr(V)) bits, Pr by the frequencies in the
original column; the measure is the sum over rows and quasi-identifiers. A suppressed row is
published as the root: -log₂ Pr(v). This is ARX's convention without suppression, where frequencies
of the whole input count; a weight on a column multiplies its bits.

It does not see how far apart the values in a cell are, nor how columns depend on each other.

A. Gionis, T. Tassa, k-anonymization with minimal loss of information, TKDE 21 (2009); F. Prasser,
R. Bild, K. Kuhn, A generic method for assessing the quality of de-identified health data, 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.tally import Cut, Tally
from shoal.measures._counting import unpack_members


def non_uniform_entropy(tally: Tally, cut: Cut) -> float:
    """The bits lost, as a share of those lost when nothing is published."""
    max_bits = 0.0
    for column, weight in enumerate(tally.importance):
        rows = _count_by_code(tally, column)
        rows = rows[rows > 0]
        max_bits += weight * float(np.dot(rows, np.log2(tally.rows / rows)))
    return min(1.0, raw(tally, cut) / max_bits) if max_bits > 0 else 0.0


def raw(tally: Tally, cut: Cut) -> float:
    """The bits lost over all rows and quasi-identifiers."""
    columns = enumerate(tally.importance)
    return sum(float(weight) * _sum_bits(tally, cut, column) for column, weight in columns)


def _sum_bits(tally: Tally, cut: Cut, column: int) -> float:
    rows = _count_by_code(tally, column)
    # The last one is the root, for class -1: suppressed.
    of_class = np.append(_count_covered(cut.cells, column, rows), tally.rows)
    value = rows[tally.keys[column][cut.entry]]
    return float(np.dot(cut.count, np.log2(of_class[cut.class_] / value)))


def _count_by_code(tally: Tally, column: int) -> NDArray[np.float64]:
    size = tally.quasi[column].size
    rows = np.bincount(tally.keys[column], weights=tally.count, minlength=size)
    return rows.astype(np.float64)


def _count_covered(cells: Cells, column: int, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    if column not in cells.sets:
        before = np.concatenate(([0.0], np.cumsum(rows)))
        return before[cells.high[:, column] + 1] - before[cells.low[:, column]]
    total = np.zeros(len(cells))
    for row, code in unpack_members(cells.sets[column]):
        total += np.bincount(row, weights=rows[code], minlength=len(cells))
    return total
