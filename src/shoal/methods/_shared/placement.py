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
_POINTS_AT_ONCE = 100_000
"""So many points are looked up at once."""
_MAX_CLASSES = 32
"""Of so many classes a row may be in, the narrowest, memory holds what they are."""
_MAX_ROUNDS = 24
_LAST_RANK = np.iinfo(np.int64).max - 1
"""The rank of classes that were given up."""


def place_in_cells(tally: Tally, points: Codes, cells: Cells, rule: Model) -> Cut:
    """A cut of the tally by these cells; what lies in none of them is suppressed."""
    classes, preferences = _find_classes(points, cells), _Preferences(len(cells))
    best, fewest = None, tally.rows + 1
    for _ in range(_MAX_ROUNDS):
        class_ = preferences.choose_classes(classes)
        used = np.unique(class_[class_ >= 0])
        cut = _cut(tally, class_, used, cells)
        failing = np.zeros(len(cells), np.bool_)
        failing[used] = (
            find_spoiling_classes(rule, Groups.of(tally, cut, list_joint_columns(rule)))
            if len(used)
            else False
        )
        failing_rows = int(tally.count[(class_ >= 0) & failing[class_]].sum())
        if best is None or failing_rows < fewest:
            best, fewest = cut, failing_rows
        if not failing_rows or not preferences.move_failing(classes, class_, failing):
            break
    assert best is not None, "there is one round at least"
    return best


class _ClassesOfEntries(NamedTuple):
    """The classes that each entry lies in: ``found[start[i]:start[i + 1]]``, narrowest first."""

    start: NDArray[np.int64]
    classes: NDArray[np.int64]

    def find_min(self, of_class: NDArray[np.int64]) -> NDArray[np.int64]:
        """The least value of an entry's classes; for an entry in no class the largest there is."""
        smallest = np.full(len(self.start) - 1, np.iinfo(np.int64).max)
        has = np.diff(self.start) > 0
        if has.any():
            smallest[has] = np.minimum.reduceat(of_class[self.classes], self.start[:-1][has])
        return smallest


def _find_classes(points: Codes, cells: Cells) -> _ClassesOfEntries:
    """The classes that contain each point (columns, points), not more than the narrowest few."""
    sizes, classes = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for begin in range(0, points.shape[1], _POINTS_AT_ONCE):
        start, containing = cells.contains(points[:, begin : begin + _POINTS_AT_ONCE])
        size = np.diff(start)
        narrowest = np.arange(len(containing)) - np.repeat(start[:-1], size) < _MAX_CLASSES
        sizes.append(np.minimum(size, _MAX_CLASSES))
        classes.append(containing[narrowest])
    return _ClassesOfEntries(np.cumsum(np.concatenate(sizes)), np.concatenate(classes))


class _Preferences:
    """Which of its classes a row prefers: the narrowest, until classes are moved or given up."""

    def __init__(self, classes: int) -> None:
        self.moved_before = np.zeros(classes, np.int64)
        """Before how many of the next narrower ones each class stands."""
        self.given_up = np.zeros(classes, np.bool_)

    def compute_ranks(self) -> NDArray[np.int64]:
        """A number for each class, no two alike: the lowest is preferred."""
        place, size = np.arange(len(self.moved_before)), len(self.moved_before)
        before = 2 * size * (place - self.moved_before) - size + place
        return np.where(
            self.given_up, _LAST_RANK, np.where(self.moved_before > 0, before, 2 * size * place)
        )

    def choose_classes(self, classes: _ClassesOfEntries) -> Codes:
        rank = self.compute_ranks()
        order, best_rank = np.argsort(rank), classes.find_min(rank)
        at = np.minimum(np.searchsorted(rank[order], best_rank), len(order) - 1)
        return np.where(best_rank >= _LAST_RANK, SUPPRESSED, order[at]).astype(np.int32)

    def move_failing(self, classes: _ClassesOfEntries, class_: Codes, failing: Flags) -> bool:
        """Give failing classes up, or move them forward; False where nothing is left to do."""
        fails = np.where(failing | self.given_up, 1, 0).astype(np.int64)
        stuck = (class_ >= 0) & (classes.find_min(fails) > 0)  # in no class that holds
        keeps = np.zeros(len(failing), np.bool_)
        keeps[class_[stuck]] = True
        given_up_now = failing & ~keeps
        forward = failing & keeps & (self.moved_before < np.arange(len(failing)))
        self.given_up |= given_up_now
        self.moved_before[forward] = np.maximum(1, 2 * self.moved_before[forward])
        return bool(given_up_now.any() or forward.any())


def _cut(tally: Tally, class_: Codes, used: Codes, cells: Cells) -> Cut:
    number = np.where(class_ < 0, SUPPRESSED, np.searchsorted(used, class_)).astype(np.int32)
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, number, tally.count, cells.take(used))
