"""How wide cells are: the loss of a cut, and axes packed for kernels that ask it in their loops.

``kernels.cell_width.measure_width(widths, column, low, high, members)`` is ``Axis.width`` of
low..high, and ``Axis.set_width`` of ``members`` leaves for a flat column; a range or set with null
and anything else is the whole axis. Weights are not applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.tally import Cut, Tally
from shoal.kernels.cell_width import LINE, SET, TREE, AxisWidths

KINDS = {"ordered": LINE, "flat": SET, "tree": TREE}


def pack_axis_widths(
    axes: Sequence[Axis], weights: Sequence[float] | NDArray[Any] | None = None
) -> AxisWidths:
    """The axes as arrays, with the weight of each (1 unless given).

    >>> from shoal.kernels.cell_width import measure_width
    >>> ages = (20.0, 25.0, 30.0, 60.0)
    >>> reach = pack_axis_widths([Axis("age", "number", "ordered", ages, positions=np.array(ages))])
    >>> measure_width(reach, 0, 0, 2, 0)
    0.25
    """
    sizes = np.array([axis.size for axis in axes], dtype=np.int64)
    levels = np.array([len(_list_node_starts(axis)) for axis in axes], dtype=np.int64)
    lines = [_lay_out_leaves(axis) for axis in axes]
    nodes, widths = zip(*(_list_nodes_and_widths(axis) for axis in axes), strict=True)
    return AxisWidths(
        np.array([KINDS[axis.shape] for axis in axes], dtype=np.int64),
        sizes,
        np.array([axis.null_code for axis in axes], dtype=np.int64),
        _compute_offsets(sizes),
        np.concatenate([place for place, _ in lines]),
        np.array([span for _, span in lines]),
        levels,
        _compute_offsets(sizes * levels),
        np.concatenate(nodes),
        np.concatenate(widths),
        np.array((1.0,) * len(axes) if weights is None else weights, dtype=np.float64),
    )


def sum_cell_widths(tally: Tally, cut: Cut) -> float:
    """How wide the cells are that people are published with; 1 for each column suppressed."""
    per_row = np.append(cut.cells.widths(tally.quasi) @ tally.importance, tally.importance.sum())
    return float(np.dot(cut.count, per_row[cut.class_]))


def _compute_offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(lengths) - lengths


def _lay_out_leaves(axis: Axis) -> tuple[NDArray[np.float64], float]:
    """Where the leaves lie, and how long the line is; null's place is never looked at."""
    places = axis.positions
    if places is None or not len(places):
        return np.arange(axis.size, dtype=np.float64), float(max(axis.size - 1, 1))
    start, end = axis.span or (places[0], places[-1])
    inside = np.append(np.clip(places, start, end), [0.0] * axis.null)
    return inside, float(end - start if end > start else 1.0)


def _list_node_starts(axis: Axis) -> list[NDArray[np.int64]]:
    """Of a tree, the first code of each node, level by level; null is a node of its own."""
    if axis.shape != "tree":
        return []
    null = [axis.null_code] if axis.null else []
    return [np.append(level.starts, null).astype(np.int64) for level in axis.levels]


def _list_nodes_and_widths(axis: Axis) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The node of every code on each level and its width, from fine to coarse."""
    nodes, widths = [np.zeros(0, np.int32)], [np.zeros(0)]
    for starts in _list_node_starts(axis):
        node = np.searchsorted(starts, np.arange(axis.size), side="right") - 1
        last = np.append(starts[1:], axis.size) - 1
        nodes.append(node.astype(np.int32))
        widths.append(axis.width(starts, last)[node])
    return np.concatenate(nodes), np.concatenate(widths)
