"""Rows in buckets, dealt in small parts of the table: values of neighbours make smaller cells.

The table is cut top-down where least is lost, as long as in both halves no value has more than one
m-th of the rows; then the rows of each part are dealt by their values.

Deal the rows of a table to buckets by their sensitive values, so that each can be split evenly.

A bucket has a signature, a set of at least m values, and as many rows of each of them. Rows can be
dealt exactly when they are m-eligible: no value has more than one m-th of them (Machanavajjhala et
al. 2007; X. Xiao and Y. Tao, m-invariance, SIGMOD 2007, phase 3, assignment).

Split buckets into small groups of near people, in which every value occurs equally often.

All buckets are split at once, level by level: in each, the rows of every value are sorted by a
column and halved, so that both halves are even again; the column is taken after which the
published cells lose least (X. Xiao and Y. Tao, m-invariance, SIGMOD 2007, phase 4, split).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import cover_classes
from shoal.core.model import Mask, Model, Rule, list_joint_columns, min_class_rows, split_rule
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods._invariance.requirement import drop_invariance
from shoal.methods._shared.progress import Advance
from shoal.methods._topdown.least_loss_search import LossSearch

# Deal the rows of a table to buckets by their sensitive values, so that each can be split evenly.


Whole = NDArray[np.int64]
DealtBuckets = list[tuple[NDArray[np.int64], int]]
"""Buckets: the values of each, ascending, and how many rows of every one of them."""


def deal_buckets(counts: NDArray[Any], m: int) -> DealtBuckets:
    """Buckets that hold ``counts`` rows of each value, all of them; the rows are m-eligible.

    The m most frequent values go together, as many rows of each as leave an m-eligible rest. Where
    that is not one, the most frequent are more than m and equally many, and all go together.

    >>> [(values.tolist(), rows) for values, rows in deal_buckets(np.array([3, 2, 1]), 2)]
    [([0, 1], 2), ([0, 2], 1)]
    """
    left, buckets = np.array(counts, np.int64), []
    while left.any():
        order = np.argsort(-left, kind="stable")
        after = int(left[order[m]]) if len(order) > m else 0
        rows = min(int(left[order[m - 1]]), int(left.sum()) // m - after)
        together = order[:m]
        if rows < 1:
            top = int(left.max())
            together = np.flatnonzero(left == top)
            rows = top - int(left[left < top].max(initial=0))
        left[together] -= rows
        buckets.append((np.sort(together), rows))
    return buckets


def count_dealable(counts: NDArray[Any], m: int) -> int:
    """How many rows of any one value can be dealt, if of more frequent ones some are left out.

    >>> count_dealable(np.array([9, 2, 1]), 2)
    3
    """
    high = int(np.sum(counts)) // m
    while int(np.minimum(counts, high).sum()) < m * high:
        high = int(np.minimum(counts, high).sum()) // m
    return high


def count_missing_rows(counts: NDArray[Any], m: int, known: NDArray[Any]) -> Whole:
    """Per value how many more rows would make these m-eligible: the fewest, of the known values.

    Values that occur already come first, then those that ``known`` counts most.

    >>> count_missing_rows(np.array([3, 1, 0]), 2, np.array([5, 4, 1])).tolist()
    [0, 2, 0]
    """
    top, more = int(np.max(counts, initial=0)), np.zeros(len(counts), np.int64)
    short = m * top - int(np.sum(counts))
    for value in np.lexsort((-known, -np.asarray(counts))).tolist():
        if known[value] > 0 or counts[value] > 0:
            more[value] = min(max(short, 0), top - int(counts[value]))
            short -= int(more[value])
    return more


# Split buckets into small groups of near people, in which every value occurs equally often.


Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
EVEN = frozenset({"m-invariance", "k-anonymity"})
"""Models that even halves of real rows meet by their size alone."""


@dataclass(frozen=True)
class BucketRows:
    """Rows in buckets: of each the tally's entry, its bucket, and the code of its value.

    In a bucket every value occurs equally often. Rows about ``nobody`` can be anywhere.
    """

    entry: NDArray[np.int32]
    bucket: Numbers
    value: NDArray[np.int32]
    nobody: Flags

    def take(self, at: NDArray[Any]) -> BucketRows:
        """Some of the rows."""
        return BucketRows(self.entry[at], self.bucket[at], self.value[at], self.nobody[at])


def split_buckets(tally: Tally, model: Model, rows: BucketRows, advance: Advance) -> Numbers:
    """The group of each row: buckets halved again and again, as long as the model holds."""
    node, values = _dense(rows.bucket), _values(rows)
    live, turn = np.ones(len(node), np.bool_), 0
    while True:
        height = np.bincount(node)[node] // values
        at = np.flatnonzero(
            live & (height >= 2) & (values * (height // 2) >= min_class_rows(model))
        )
        if not len(at):
            return node
        some, group = rows.take(at), _dense(node[at])
        side = _best(tally, some, group, height[at] // 2)
        allowed = _allowed(tally, model, some, 2 * group + side)[group]
        live[:], live[at] = False, allowed
        node = 2 * node
        node[at[allowed]] += side[allowed]
        node, turn = _dense(node), turn + 1
        advance.half(turn)(1, 1)


def _values(rows: BucketRows) -> Numbers:
    """Of each row how many values its bucket has."""
    bucket = _dense(rows.bucket)
    pairs = np.unique(bucket * (int(rows.value.max()) + 1) + rows.value)
    return np.bincount(pairs // (int(rows.value.max()) + 1))[bucket].astype(np.int64)


def _best(tally: Tally, rows: BucketRows, group: Numbers, half: Numbers) -> Numbers:
    """Of each row whether it is in the left (0) or right (1) half of its group, at least loss."""
    best, side = np.full(int(group.max()) + 1, np.inf), np.zeros(len(group), np.int64)
    for codes in tally.keys:
        now = (_ranks(rows, group, codes) >= half).astype(np.int64)
        cost = _cost(tally, rows, 2 * group + now)
        better = cost < best
        side = np.where(better[group], now, side)
        best = np.where(better, cost, best)
    return side


def _ranks(rows: BucketRows, group: Numbers, codes: NDArray[Any]) -> Numbers:
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


def _cost(tally: Tally, rows: BucketRows, class_: Numbers) -> NDArray[np.float64]:
    """What the two halves (numbers 2 i and 2 i + 1) of each group lose, times their rows."""
    real = ~rows.nobody
    cells = cover_classes(tally.quasi, tally.keys, rows.entry[real], class_[real])
    lost = cells.widths(tally.quasi) @ tally.importance * np.bincount(class_)
    return np.asarray(lost.reshape(-1, 2).sum(axis=1))


def _allowed(tally: Tally, model: Model, rows: BucketRows, class_: Numbers) -> Flags:
    """Of each group whether both halves meet the model: even they are, the rest by real rows."""
    other, real = drop_invariance(model), ~rows.nobody
    sized = EVEN.issuperset(getattr(part, "name", str)() for part in split_rule(model))
    if other is None or (sized and real.all()):
        return np.ones((int(class_.max()) + 1) // 2, np.bool_)
    some, class_ = rows.take(real), class_[real]
    cells = cover_classes(tally.quasi, tally.keys, some.entry, class_)
    count = np.ones(len(class_), np.int64)
    cut = Cut(some.entry, class_.astype(np.int32), count, cells)
    holds = np.asarray(other.holds(Groups.of(tally, cut, list_joint_columns(model))), np.bool_)
    return np.asarray(holds.reshape(-1, 2).all(axis=1))


def _dense(numbers: Numbers) -> Numbers:
    """The same without gaps, in their order."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)


# Rows in buckets, dealt in small parts of the table: values of neighbours make smaller cells.


def assign_to_buckets(
    tally: Tally,
    entry: NDArray[np.int32],
    values: NDArray[np.int32],
    m: int,
    on: str | None,
    advance: Advance,
) -> Numbers:
    """The bucket of each of these rows, which are m-eligible."""
    return _buckets(_parts(tally, entry, _Eligible(m, on), advance), values, m)


@dataclass(frozen=True)
class _Eligible(Rule):
    """No value has more than one m-th of the rows: they can be dealt (m-eligible)."""

    m: int
    on: str | None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    @property
    def min_rows(self) -> int:
        """The fewest rows of a part."""
        return self.m

    def holds(self, groups: Groups) -> Mask:
        """Which parts can be dealt."""
        h = groups.on(self.on)
        return np.asarray(h.largest(h.count) * self.m <= h.rows)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """1 for a part that can be dealt, else 0."""
        return self.holds(groups).astype(np.float64)


def _parts(tally: Tally, entry: NDArray[np.int32], rule: _Eligible, advance: Advance) -> Numbers:
    """The part of each row: the table cut where least is lost, as long as parts can be dealt."""
    count = np.bincount(entry, minlength=tally.entries).astype(np.int64)
    there = np.flatnonzero(count)
    some = replace(
        tally,
        keys=np.ascontiguousarray(tally.keys[:, there]),
        values=tally.values[:, there],
        count=count[there],
        providers=None if tally.providers is None else tally.providers[there],
    )
    search = LossSearch.of(
        some, rule, relaxed=False, rng=None, hold_back=0, progress=advance.half(0)
    )
    cut = search.run(some)
    of_entry = np.zeros(tally.entries, np.int64)
    of_entry[there[cut.entry]] = cut.class_
    return of_entry[entry]


def _buckets(part: Numbers, values: NDArray[np.int32], m: int) -> Numbers:
    """The bucket of each row: in each part the rows of every value are dealt in their order."""
    order = np.lexsort((values, part))
    bucket, number = np.empty(len(order), np.int64), 0
    for rows in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        counts = np.bincount(values[rows])
        at = np.concatenate(([0], np.cumsum(counts)))
        for some, times in deal_buckets(counts, m):
            for value in some.tolist():
                bucket[rows[at[value] : at[value] + times]] = number
                at[value] += times
            number += 1
    return bucket
