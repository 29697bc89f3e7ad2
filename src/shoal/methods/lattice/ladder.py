"""The levels of a column as a ladder, and a table with one level for each of its columns.

What full-domain methods share: every quasi-identifier is published at one rung of its ladder, as it
is, at a level between, or as ``*``; null stands alone until ``*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells, as_sets
from shoal.kernels.group import combinations
from shoal.tally import Cut, Tally


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


def ladder(axis: Axis) -> tuple[Rung, ...]:
    """A column as it is, at each level that joins anything, and as ``*``.

    >>> from shoal.axis import Level
    >>> pairs = Level(np.array([0, 2]), ("ab", "c"))
    >>> axis = Axis("letter", "category", "tree", ("a", "b", "c"), null=True, levels=(pairs,))
    >>> [rung.node.tolist() for rung in ladder(axis)]
    [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 0]]
    """
    null = [axis.null_code] if axis.null else []
    between = [np.append(level.starts, null) for level in axis.levels]
    starts = [np.arange(axis.size), *between, np.zeros(1)]
    rungs = [Rung.of(number, begin, axis.size) for number, begin in enumerate(starts)]
    return (rungs[0], *(above for below, above in pairwise(rungs) if len(above) < len(below)))


def standing(rungs: Sequence[Rung], level: int) -> Rung:
    """The rung of a level; one that joins nothing has the nodes of the level below it."""
    return [rung for rung in rungs if rung.number <= level][-1]


def told_levels(tally: Tally, rungs: Sequence[Rung]) -> dict[str, dict[str, int]]:
    """The level of each column (0: as it is), and the top that it has: facts of a cut."""
    tops = [ladder(axis)[-1] for axis in tally.quasi]
    return {"levels": level_of_each(tally, rungs), "levels_of": level_of_each(tally, tops)}


def level_of_each(tally: Tally, rungs: Sequence[Rung]) -> dict[str, int]:
    """The level of each column by its name."""
    return {axis.name: rung.number for axis, rung in zip(tally.quasi, rungs, strict=True)}


def levelled(tally: Tally, rungs: Sequence[Rung]) -> Cut:
    """The table with one rung for each column: its cells are the nodes, however few occur."""
    nodes = [rung.node[codes] for rung, codes in zip(rungs, tally.keys, strict=True)]
    class_, first = combinations(nodes, map(len, rungs))
    pairs = [(rung, node[first]) for rung, node in zip(rungs, nodes, strict=True)]
    low = np.stack([rung.low[node] for rung, node in pairs], axis=1)
    high = np.stack([rung.high[node] for rung, node in pairs], axis=1)
    flat = (j for j, axis in enumerate(tally.quasi) if axis.shape == "flat")
    sets = {j: as_sets(tally.quasi[j], low[:, j], high[:, j]) for j in flat}
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, class_, tally.count, Cells(low, high, sets))
