"""The cells of a release as classes for other people, and which values they cover."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.flow.recount import Recount, read_cells
from shoal.tally import Tally


def narrowest_first(count: Recount, tally: Tally) -> Cells:
    """A release's cells on a tally's axes, the narrowest first; equals by their labels."""
    cells = read_cells(count, tally.quasi)
    width = np.round(cells.widths(tally.quasi) @ tally.importance, 12)
    ordered = cells.take(np.lexsort((*count.cut.cells.low.T, width)))
    return ordered.take(np.sort(ordered.unique()[0]))


def covered(cells: Cells, axis: Axis, column: int) -> NDArray[np.bool_]:
    """Whether each code of a column lies in any class's cell there."""
    sets = {0: cells.sets[column]} if column in cells.sets else {}
    alone = Cells(cells.low[:, [column]], cells.high[:, [column]], sets)
    first, _ = alone.unique()
    start, _ = alone.take(first).contains(np.arange(axis.size, dtype=np.int32)[np.newaxis])
    return np.asarray(np.diff(start) > 0)
