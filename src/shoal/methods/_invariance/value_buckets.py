"""Buckets of rows in which every sensitive value occurs equally often, and their split into groups.

A bucket has a signature, a set of at least m values, and as many rows of each of them. Rows can be
dealt to buckets exactly when they are m-eligible: no value has more than one m-th of them
(Machanavajjhala et al. 2007; X. Xiao and Y. Tao, m-invariance, SIGMOD 2007, phase 3, assignment).
The table is first cut top-down where least is lost, as long as both halves are m-eligible: values
dealt among neighbours make smaller cells.

All buckets are then split at once, level by level (phase 4): the rows of every value are sorted by
a column and halved, so that both halves are even again; the column is taken after which the
published cells lose least.
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
from shoal.methods._shared.points import select_entries
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
MET_BY_SIZE = frozenset({"m-invariance", "k-anonymity"})
"""Models that even halves of real rows meet by their size alone."""


@dataclass(frozen=True)
class BucketRows:
    """Rows in buckets: of each the tally's entry, its bucket, and the code of its value.

    In a bucket every value occurs equally often. Rows about ``nobody`` can be anywhere.
    """

    entry: NDArray[np.int32]
    bucket: Numbers
    value: NDArray[np.int32]
    is_counterfeit: Flags

    def take(self, at: NDArray[Any]) -> BucketRows:
        """Some of the rows."""
        return BucketRows(self.entry[at], self.bucket[at], self.value[at], self.is_counterfeit[at])


def split_buckets(tally: Tally, model: Model, rows: BucketRows, advance: Advance) -> Numbers:
    """The group of each row: buckets halved again and again, as long as the model holds."""
    node, values = _renumber(rows.bucket), _count_bucket_values(rows)
    open_, depth = np.ones(len(node), np.bool_), 0
    while True:
        rows_per_value = np.bincount(node)[node] // values
        splittable = np.flatnonzero(
            open_
            & (rows_per_value >= 2)
            & (values * (rows_per_value // 2) >= min_class_rows(model))
        )
        if not len(splittable):
            return node
        split_rows, group = rows.take(splittable), _renumber(node[splittable])
        side = _choose_halves(tally, split_rows, group, rows_per_value[splittable] // 2)
        allowed = _find_allowed_splits(tally, model, split_rows, 2 * group + side)[group]
        open_[:], open_[splittable] = False, allowed
        node = 2 * node
        node[splittable[allowed]] += side[allowed]
        node, depth = _renumber(node), depth + 1
        advance.half(depth)(1, 1)


def _count_bucket_values(rows: BucketRows) -> Numbers:
    bucket = _renumber(rows.bucket)
    pairs = np.unique(bucket * (int(rows.value.max()) + 1) + rows.value)
    return np.bincount(pairs // (int(rows.value.max()) + 1))[bucket].astype(np.int64)


def _choose_halves(tally: Tally, rows: BucketRows, group: Numbers, half: Numbers) -> Numbers:
    """Of each row whether it is in the left (0) or right (1) half of its group, at least loss."""
    best, side = np.full(int(group.max()) + 1, np.inf), np.zeros(len(group), np.int64)
    for codes in tally.keys:
        candidate = (_rank_in_groups(rows, group, codes) >= half).astype(np.int64)
        cost = _measure_losses(tally, rows, 2 * group + candidate)
        better = cost < best
        side = np.where(better[group], candidate, side)
        best = np.where(better, cost, best)
    return side


def _rank_in_groups(rows: BucketRows, group: Numbers, codes: NDArray[Any]) -> Numbers:
    """The place of each row among those of its group and value, by the codes of a column.

    Rows about nobody are spread evenly among the others.
    """
    section = _renumber(group * (int(rows.value.max()) + 1) + rows.value)
    position = codes[rows.entry].astype(np.float64)
    if rows.is_counterfeit.any():
        for kind in (rows.is_counterfeit, ~rows.is_counterfeit):
            rank = _rank_in_sections(section[kind], position[kind])
            section_rows = np.bincount(section[kind])
            position[kind] = (rank + 0.5) / section_rows[section[kind]]
    return _rank_in_sections(section, position)


def _rank_in_sections(section: Numbers, position: NDArray[np.float64]) -> Numbers:
    """Places as ranks within sections; rows of one place stay in their order."""
    order = np.lexsort((position, section))
    begin = np.concatenate(([0], np.cumsum(np.bincount(section))))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - begin[section[order]]
    return rank


def _measure_losses(tally: Tally, rows: BucketRows, class_: Numbers) -> NDArray[np.float64]:
    """What the two halves (numbers 2 i and 2 i + 1) of each group lose, times their rows."""
    real = ~rows.is_counterfeit
    cells = cover_classes(tally.quasi, tally.keys, rows.entry[real], class_[real])
    lost = cells.widths(tally.quasi) @ tally.importance * np.bincount(class_)
    return np.asarray(lost.reshape(-1, 2).sum(axis=1))


def _find_allowed_splits(tally: Tally, model: Model, rows: BucketRows, class_: Numbers) -> Flags:
    """Of each group whether both halves meet the model: even they are, the rest by real rows."""
    other, real = drop_invariance(model), ~rows.is_counterfeit
    is_met_by_size = MET_BY_SIZE.issuperset(
        getattr(part, "name", str)() for part in split_rule(model)
    )
    if other is None or (is_met_by_size and real.all()):
        return np.ones((int(class_.max()) + 1) // 2, np.bool_)
    real_rows, class_ = rows.take(real), class_[real]
    cells = cover_classes(tally.quasi, tally.keys, real_rows.entry, class_)
    count = np.ones(len(class_), np.int64)
    cut = Cut(real_rows.entry, class_.astype(np.int32), count, cells)
    holds = np.asarray(other.holds(Groups.of(tally, cut, list_joint_columns(model))), np.bool_)
    return np.asarray(holds.reshape(-1, 2).all(axis=1))


def _renumber(numbers: Numbers) -> Numbers:
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
    return _deal_parts(_cut_into_parts(tally, entry, _Eligible(m, on), advance), values, m)


@dataclass(frozen=True)
class _Eligible(Rule):
    """No value has more than one m-th of the rows: they can be dealt (m-eligible)."""

    m: int
    on: str | None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    @property
    def min_rows(self) -> int:
        return self.m

    def holds(self, groups: Groups) -> Mask:
        h = groups.on(self.on)
        return np.asarray(h.largest(h.count) * self.m <= h.rows)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        return self.holds(groups).astype(np.float64)


def _cut_into_parts(
    tally: Tally, entry: NDArray[np.int32], rule: _Eligible, advance: Advance
) -> Numbers:
    count = np.bincount(entry, minlength=tally.entries).astype(np.int64)
    present = np.flatnonzero(count)
    part_tally = replace(select_entries(tally, present), count=count[present])
    search = LossSearch.of(
        part_tally, rule, relaxed=False, rng=None, hold_back=0, progress=advance.half(0)
    )
    cut = search.run(part_tally)
    of_entry = np.zeros(tally.entries, np.int64)
    of_entry[present[cut.entry]] = cut.class_
    return of_entry[entry]


def _deal_parts(part: Numbers, values: NDArray[np.int32], m: int) -> Numbers:
    order = np.lexsort((values, part))
    bucket, number = np.empty(len(order), np.int64), 0
    for rows in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        counts = np.bincount(values[rows])
        at = np.concatenate(([0], np.cumsum(counts)))
        for bucket_values, times in deal_buckets(counts, m):
            for value in bucket_values.tolist():
                bucket[rows[at[value] : at[value] + times]] = number
                at[value] += times
            number += 1
    return bucket
