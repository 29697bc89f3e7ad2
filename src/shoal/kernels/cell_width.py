"""How wide the published cell of a range or set would be: for searches that compare many cells.

Arrays of all columns lie one after the other (``at``: where a column's codes begin); they are
packed by ``shoal.methods._shared.cell_widths.pack_axis_widths``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LINE, SET, TREE = 0, 1, 2


class AxisWidths(NamedTuple):
    """The columns' axes as arrays; (columns,) unless said otherwise."""

    kind: NDArray[Any]
    """``LINE``: ranges of leaves; ``SET``: sets of them; ``TREE``: nodes."""
    size: NDArray[Any]
    null: NDArray[Any]
    """The code of null; -1: there is none."""
    at: NDArray[Any]
    place: NDArray[Any]
    """(all codes) Where each leaf lies on its line, in units of the column's ``span``."""
    span: NDArray[Any]
    levels: NDArray[Any]
    node_at: NDArray[Any]
    node: NDArray[Any]
    """(levels × codes) The node of each code, from the finest level to the coarsest."""
    node_width: NDArray[Any]
    """(levels × codes) How wide that node is."""
    weight: NDArray[Any]


@njit(cache=True, nogil=True)
def measure_width(reach, column, low, high, members):
    """The width of the published cell around low..high, of ``members`` leaves if it is a set."""
    if low == high:
        return 0.0
    size = reach.size[column]
    if high == reach.null[column]:
        return 1.0
    if reach.kind[column] == SET:
        return (members - 1.0) / (size - 1.0)
    if reach.kind[column] == LINE:
        if low == 0 and high == size - 1:
            return 1.0
        at = reach.at[column]
        return (reach.place[at + high] - reach.place[at + low]) / reach.span[column]
    begin = reach.node_at[column]
    for _ in range(reach.levels[column]):
        if reach.node[begin + low] == reach.node[begin + high]:
            return reach.node_width[begin + low]
        begin += size
    return 1.0


@njit(cache=True, nogil=True)
def find_next_equal(codes, size):
    """For each place in a sequence of codes the next place with the same code, or its length.

    Growing a range backwards, a code is new to it where the next equal one lies behind its end.
    """
    following = np.empty(len(codes), dtype=np.int32)
    last = np.full(size, len(codes), dtype=np.int32)
    for i in range(len(codes) - 1, -1, -1):
        following[i] = last[codes[i]]
        last[codes[i]] = i
    return following
