"""Split buckets into small groups of near people, in which every value occurs equally often.

All buckets are split at once, level by level: in each, the rows of every value are sorted by a
column and halved, so that both halves are even again; the column is taken after which the
published cells lose least (X. Xiao and Y. Tao, m-invariance, SIGMOD 2007, phase 4, split).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.cells import cover_classes
from shoal.methods.cutting.progress import Advance
from shoal.methods.invariance.asking import besides
from shoal.model import Model, least_rows, parts, products
from shoal.tally import Cut, Groups, Tally

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
EVEN = frozenset({"m-invariance", "k-anonymity"})
"""Models that even halves of real rows meet by their size alone."""


@dataclass(frozen=True)
class Rows:
    """Rows in buckets: of each the tally's entry, its bucket, and the code of its value.

    In a bucket every value occurs equally often. Rows about ``nobody`` can be anywhere.
    """

    entry: NDArray[np.int32]
    bucket: Numbers
    value: NDArray[np.int32]
    nobody: Flags

    def take(self, at: NDArray[Any]) -> Rows:
        """Some of the rows."""
        return Rows(self.entry[at], self.bucket[at], self.value[at], self.nobody[at])


def split(tally: Tally, model: Model, rows: Rows, advance: Advance) -> Numbers:
    """The group of each row: buckets halved again and again, as long as the model holds."""
    node, values = _dense(rows.bucket), _values(rows)
    live, turn = np.ones(len(node), np.bool_), 0
    while True:
        height = np.bincount(node)[node] // values
        at = np.flatnonzero(live & (height >= 2) & (values * (height // 2) >= least_rows(model)))
        if not len(at):
            return node
        some, group = rows.take(at), _dense(node[at])
        side = _best(tally, some, group, height[at] // 2)
        made = _allowed(tally, model, some, 2 * group + side)[group]
        live[:], live[at] = False, made
        node = 2 * node
        node[at[made]] += side[made]
        node, turn = _dense(node), turn + 1
        advance.half(turn)(1, 1)


def _values(rows: Rows) -> Numbers:
    """Of each row how many values its bucket has."""
    bucket = _dense(rows.bucket)
    pairs = np.unique(bucket * (int(rows.value.max()) + 1) + rows.value)
    return np.bincount(pairs // (int(rows.value.max()) + 1))[bucket].astype(np.int64)


def _best(tally: Tally, rows: Rows, group: Numbers, half: Numbers) -> Numbers:
    """Of each row whether it is in the left (0) or right (1) half of its group, at least loss."""
    best, side = np.full(int(group.max()) + 1, np.inf), np.zeros(len(group), np.int64)
    for codes in tally.keys:
        now = (_ranks(rows, group, codes) >= half).astype(np.int64)
        cost = _cost(tally, rows, 2 * group + now)
        better = cost < best
        side = np.where(better[group], now, side)
        best = np.where(better, cost, best)
    return side


def _ranks(rows: Rows, group: Numbers, codes: NDArray[Any]) -> Numbers:
    """The place of each row among those of its group and value, by the codes of a column.

    Rows about nobody are spread evenly among the others.
    """
    section = _dense(group * (int(rows.value.max()) + 1) + rows.value)
    place = codes[rows.entry].astype(np.float64)
    if rows.nobody.any():
        for kind in (rows.nobody, ~rows.nobody):
            rank, of = _order(section[kind], place[kind]), np.bincount(section[kind])
            place[kind] = (rank + 0.5) / of[section[kind]]
    return _order(section, place)


def _order(section: Numbers, place: NDArray[np.float64]) -> Numbers:
    """Places as ranks within sections; rows of one place stay in their order."""
    order = np.lexsort((place, section))
    begin = np.concatenate(([0], np.cumsum(np.bincount(section))))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - begin[section[order]]
    return rank


def _cost(tally: Tally, rows: Rows, class_: Numbers) -> NDArray[np.float64]:
    """What the two halves (numbers 2 i and 2 i + 1) of each group lose, times their rows."""
    real = ~rows.nobody
    cells = cover_classes(tally.quasi, tally.keys, rows.entry[real], class_[real])
    lost = cells.widths(tally.quasi) @ tally.importance * np.bincount(class_)
    return np.asarray(lost.reshape(-1, 2).sum(axis=1))


def _allowed(tally: Tally, model: Model, rows: Rows, class_: Numbers) -> Flags:
    """Of each group whether both halves meet the model: even they are, the rest by real rows."""
    other, real = besides(model), ~rows.nobody
    sized = EVEN.issuperset(getattr(one, "name", str)() for one in parts(model))
    if other is None or (sized and real.all()):
        return np.ones((int(class_.max()) + 1) // 2, np.bool_)
    some, class_ = rows.take(real), class_[real]
    cells = cover_classes(tally.quasi, tally.keys, some.entry, class_)
    count = np.ones(len(class_), np.int64)
    cut = Cut(some.entry, class_.astype(np.int32), count, cells)
    holds = np.asarray(other.holds(Groups.of(tally, cut, products(model))), np.bool_)
    return np.asarray(holds.reshape(-1, 2).all(axis=1))


def _dense(numbers: Numbers) -> Numbers:
    """The same without gaps, in their order."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)
