"""Rows into given classes whose cells contain them, so that the classes meet a rule.

Everybody goes into the narrowest class first. Cells may overlap, and then a wide class can be left
with few people beside narrower ones that took the others. So, round after round, of the classes
that fail: one whose people all lie in a class that holds is given up; any other goes before the
next narrower one, then before two, four, ... of them, and takes from them who lies in its cells.
The round in which the fewest rows fail counts; nothing here promises that none does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.model import Model, find_spoiling_classes, list_joint_columns
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally

Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
_AT_ONCE = 100_000
"""So many points are looked up at once."""
_MOST = 32
"""Of so many classes a row may be in, the narrowest, memory holds what they are."""
_ROUNDS = 24
_LAST = np.iinfo(np.int64).max - 1
"""The rank of classes that were given up."""


def place_in_cells(tally: Tally, points: Codes, cells: Cells, rule: Model) -> Cut:
    """A cut of the tally by these cells; what lies in none of them is held back."""
    homes, ranks = _homes(points, cells), _Ranks(len(cells))
    best, fewest = None, tally.rows + 1
    for _ in range(_ROUNDS):
        class_ = ranks.chosen(homes)
        used = np.unique(class_[class_ >= 0])
        cut = _cut(tally, class_, used, cells)
        bad = np.zeros(len(cells), np.bool_)
        bad[used] = (
            find_spoiling_classes(rule, Groups.of(tally, cut, list_joint_columns(rule)))
            if len(used)
            else False
        )
        failing = int(tally.count[(class_ >= 0) & bad[class_]].sum())
        if best is None or failing < fewest:
            best, fewest = cut, failing
        if not failing or not ranks.changed(homes, class_, bad):
            break
    assert best is not None, "there is one round at least"
    return best


class _Homes(NamedTuple):
    """The classes that each entry lies in: ``found[start[i]:start[i + 1]]``, narrowest first."""

    start: NDArray[np.int64]
    found: NDArray[np.int64]

    def least(self, of_class: NDArray[np.int64]) -> NDArray[np.int64]:
        """The least value of an entry's classes; for an entry in no class the largest there is."""
        least = np.full(len(self.start) - 1, np.iinfo(np.int64).max)
        has = np.diff(self.start) > 0
        if has.any():
            least[has] = np.minimum.reduceat(of_class[self.found], self.start[:-1][has])
        return least


def _homes(points: Codes, cells: Cells) -> _Homes:
    """The classes that contain each point (columns, points), not more than the narrowest few."""
    sizes, classes = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for begin in range(0, points.shape[1], _AT_ONCE):
        start, homes = cells.contains(points[:, begin : begin + _AT_ONCE])
        size = np.diff(start)
        few = np.arange(len(homes)) - np.repeat(start[:-1], size) < _MOST
        sizes.append(np.minimum(size, _MOST))
        classes.append(homes[few])
    return _Homes(np.cumsum(np.concatenate(sizes)), np.concatenate(classes))


class _Ranks:
    """Which of its classes a row prefers: the narrowest, until classes are moved or given up."""

    def __init__(self, classes: int) -> None:
        self.moved = np.zeros(classes, np.int64)
        """Before how many of the next narrower ones each class stands."""
        self.given_up = np.zeros(classes, np.bool_)

    def ranked(self) -> NDArray[np.int64]:
        """A number for each class, no two alike: the lowest is preferred."""
        place, size = np.arange(len(self.moved)), len(self.moved)
        before = 2 * size * (place - self.moved) - size + place
        return np.where(self.given_up, _LAST, np.where(self.moved > 0, before, 2 * size * place))

    def chosen(self, homes: _Homes) -> Codes:
        """The preferred class that each entry lies in."""
        rank = self.ranked()
        order, least = np.argsort(rank), homes.least(rank)
        at = np.minimum(np.searchsorted(rank[order], least), len(order) - 1)
        return np.where(least >= _LAST, SUPPRESSED, order[at]).astype(np.int32)

    def changed(self, homes: _Homes, class_: Codes, bad: Flags) -> bool:
        """Give failing classes up, or move them forward; False where nothing is left to do."""
        fails = np.where(bad | self.given_up, 1, 0).astype(np.int64)
        stuck = (class_ >= 0) & (homes.least(fails) > 0)  # in no class that holds
        keeps = np.zeros(len(bad), np.bool_)
        keeps[class_[stuck]] = True
        leave, forward = bad & ~keeps, bad & keeps & (self.moved < np.arange(len(bad)))
        self.given_up |= leave
        self.moved[forward] = np.maximum(1, 2 * self.moved[forward])
        return bool(leave.any() or forward.any())


def _cut(tally: Tally, class_: Codes, used: Codes, cells: Cells) -> Cut:
    number = np.where(class_ < 0, SUPPRESSED, np.searchsorted(used, class_)).astype(np.int32)
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, number, tally.count, cells.take(used))
