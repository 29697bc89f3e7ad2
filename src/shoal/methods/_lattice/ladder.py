"""The levels of a column as a ladder, and a table with one level for each of its columns.

What full-domain methods share: every quasi-identifier is published at one rung of its ladder, as it
is, at a level between, or as ``*``; null stands alone until ``*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, ranges_to_sets
from shoal.core.tally import Cut, Tally
from shoal.kernels.grouping import number_combinations


@dataclass(frozen=True)
class Rung:
    """One level of a column: the node of each code, and each node's range of codes."""

    number: int
    node: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(cls, number: int, starts: NDArray[Any], size: int) -> Rung:
        """The level whose nodes begin at these codes."""
        low, codes = starts.astype(np.int32), np.arange(size)
        node = np.searchsorted(low, codes, side="right") - 1
        high = np.append(low[1:], size) - 1
        return cls(number, node.astype(np.int32), low, high.astype(np.int32))

    def labels(self, codes: NDArray[Any]) -> int:
        """How many different labels these codes have."""
        return len(np.unique(self.node[codes]))


def build_ladder(axis: Axis) -> tuple[Rung, ...]:
    """A column as it is, and at each level that joins anything more: the last joins all.

    >>> from shoal.core.axis import Level
    >>> pairs = Level(np.array([0, 2]), ("ab", "c"))
    >>> axis = Axis("letter", "category", "tree", ("a", "b", "c"), null=True, levels=(pairs,))
    >>> [rung.node.tolist() for rung in build_ladder(axis)]
    [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 0]]
    """
    return drop_equal_rungs(list_all_rungs(axis))


def list_all_rungs(axis: Axis) -> tuple[Rung, ...]:
    """A column as it is, at each level of its hierarchy, and as ``*``."""
    null = [axis.null_code] if axis.null else []
    between = [np.append(level.starts, null) for level in axis.levels]
    starts = [np.arange(axis.size), *between, np.zeros(1)][: axis.height + 1]
    return tuple(Rung.of(number, begin, axis.size) for number, begin in enumerate(starts))


def drop_equal_rungs(rungs: Sequence[Rung]) -> tuple[Rung, ...]:
    """The first of these rungs, and of the others those that join more than the one below."""
    joining = (above for below, above in pairwise(rungs) if len(above) < len(below))
    return (rungs[0], *joining)


def find_rung(axis: Axis, level: int) -> Rung:
    """The rung of a level, as it is written in the hierarchy; above the highest it is ``*``."""
    return list_all_rungs(axis)[min(level, axis.height)]


def describe_levels(tally: Tally, rungs: Sequence[Rung]) -> dict[str, dict[str, int]]:
    """The level of each column (0: as it is), and the top that it has: facts of a cut."""
    tops = {axis.name: axis.height for axis in tally.quasi}
    return {"levels": map_levels(tally, rungs), "levels_of": tops}


def map_levels(tally: Tally, rungs: Sequence[Rung]) -> dict[str, int]:
    """The level of each column by its name."""
    return {axis.name: rung.number for axis, rung in zip(tally.quasi, rungs, strict=True)}


def recode_to_rungs(tally: Tally, rungs: Sequence[Rung]) -> Cut:
    """The table with one rung for each column: its cells are the nodes, however few occur."""
    nodes = [rung.node[codes] for rung, codes in zip(rungs, tally.keys, strict=True)]
    class_, first = number_combinations(nodes, map(len, rungs))
    pairs = [(rung, node[first]) for rung, node in zip(rungs, nodes, strict=True)]
    low = np.stack([rung.low[node] for rung, node in pairs], axis=1)
    high = np.stack([rung.high[node] for rung, node in pairs], axis=1)
    flat = (j for j, axis in enumerate(tally.quasi) if axis.shape == "flat")
    sets = {j: ranges_to_sets(tally.quasi[j], low[:, j], high[:, j]) for j in flat}
    entry = np.arange(tally.entries, dtype=np.int32)
    cells = relabel_cells(tally.quasi, Cells(low, high, sets), [rung.number for rung in rungs])
    return Cut(entry, class_, tally.count, cells)


def relabel_cells(axes: Sequence[Axis], cells: Cells, levels: Sequence[int]) -> Cells:
    """The cells, each column's printed with the labels of its level."""
    ends = zip(axes, levels, cells.low.T, cells.high.T, strict=True)
    shown = [axis.level_to_print(level, low, high) for axis, level, low, high in ends]
    if all((level < 0).all() for level in shown):
        return cells
    return replace(cells, levels=np.stack(shown, axis=1))
