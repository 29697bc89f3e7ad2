"""Rows in buckets, dealt in small parts of the table: values of neighbours make smaller cells.

The table is cut top-down where least is lost, as long as in both halves no value has more than one
m-th of the rows; then the rows of each part are dealt by their values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.methods.cutting.by_loss import ByLoss
from shoal.methods.cutting.progress import Advance
from shoal.methods.invariance.dealing import dealt
from shoal.methods.invariance.splitting import Numbers
from shoal.model import Mask, Rule
from shoal.tally import Groups, Tally


def in_buckets(
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
    def least(self) -> int:
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
    search = ByLoss.of(some, rule, relaxed=False, rng=None, hold_back=0, progress=advance.half(0))
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
        for some, times in dealt(counts, m):
            for value in some.tolist():
                bucket[rows[at[value] : at[value] + times]] = number
                at[value] += times
            number += 1
    return bucket
