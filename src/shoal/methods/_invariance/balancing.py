"""Keep the signatures of people who stay: counterfeits, or newcomers, for those who left.

    division    people who stay are in the bucket of their signature
    balancing   in a bucket every value is brought to the same number of rows
    assignment  newcomers are dealt to buckets of their own

X. Xiao and Y. Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets,
SIGMOD 2007. There newcomers balance the buckets, and counterfeits where there are none. Whoever
knows that learns from a counterfeit that no newcomer with its value was left over, and so which
values are counterfeit (the minimality attack: R. Wong et al., VLDB 2007). So there are two ways:

    apart   counterfeits alone balance a bucket, so that its rows do not depend on newcomers, and
            on values only by how often they occur in it, whichever they are: the values of a
            signature could be exchanged throughout and the same would be published. Newcomers are
            dealt by themselves without counterfeits; where that cannot be, all of them wait, if
            anybody else is there to be published.
    fill    newcomers fill every gap that they can, and counterfeits join those left who cannot be
            dealt. That takes the fewest counterfeits that there can be: with g gaps of which p are
            filled, and newcomers left of whom y have the most frequent value, it is g - p +
            max(0, m y - newcomers left), and each filled gap lowers both terms or leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import NotMetError
from shoal.core.tally import Tally
from shoal.methods._invariance.groups import measure_distances
from shoal.methods._invariance.requirement import APART, FILL
from shoal.methods._invariance.value_buckets import (
    BucketRows,
    Numbers,
    assign_to_buckets,
    count_missing_rows,
    deal_buckets,
)
from shoal.methods._shared.progress import Advance

NEW = -1
"""The signature of people who had none, and the bucket of those who wait."""
MAX_COMPARED = 16
"""So many rows of a bucket a newcomer is compared with."""


@dataclass
class Balance:
    """Rows as they are put in buckets: of each the bucket, and the counterfeits of (bucket, value).

    ``entry`` and ``values`` (rows,) and the number of each row's ``signature`` among the sets.
    """

    tally: Tally
    entry: NDArray[np.int32]
    values: NDArray[np.int32]
    signature: Numbers
    size: int
    """How many values there may be."""
    newcomers: str = APART

    def __post_init__(self) -> None:
        self.bucket = self.signature.astype(np.int64)
        self.buckets = int(self.signature.max(initial=NEW)) + 1
        self.value_counts = np.bincount(self.values, minlength=self.size)
        self.counterfeits: list[tuple[int, int]] = []
        """Of each counterfeit its bucket and its value."""

    def fill(self, signatures: Sequence[NDArray[Any]]) -> None:
        """Bring all values of each bucket to the same number of rows."""
        new = np.flatnonzero((self.signature == NEW) & (self.newcomers == FILL))
        waiting = {code: new[self.values[new] == code] for code in range(self.size)}
        order = np.argsort(self.signature, kind="stable")
        begin = np.searchsorted(self.signature[order], np.arange(len(signatures) + 1))
        for number, codes in enumerate(signatures):
            own = order[begin[number] : begin[number + 1]]
            counts = np.bincount(self.values[own], minlength=self.size)[codes]
            for code, gap in zip(codes.tolist(), (counts.max() - counts).tolist(), strict=True):
                near = waiting[code][self._find_nearest(waiting[code], own, gap)]
                waiting[code] = np.setdiff1d(waiting[code], near)
                self.bucket[near] = number
                self.counterfeits += [(number, code)] * (gap - len(near))
            self.value_counts[codes] += 1

    def _find_nearest(self, candidates: Numbers, own: Numbers, gap: int) -> Numbers:
        """Which of some newcomers, at most so many, are nearest to any row of a bucket."""
        if not gap or len(candidates) <= gap:
            return np.arange(len(candidates) if gap else 0)
        distances = measure_distances(
            self.tally, self.entry[candidates], self.entry[own[:MAX_COMPARED]]
        )
        return np.argsort(distances.min(axis=1), kind="stable")[:gap]

    def deal(self, m: int, on: str | None, advance: Advance, hold_back: int = 0) -> None:
        """Put the newcomers left into buckets of their own."""
        new = np.flatnonzero(self.bucket == NEW)
        if not len(new):
            return
        counts = np.bincount(self.values[new], minlength=self.size)
        if m * counts.max() <= len(new):
            entry, values = self.entry[new], self.values[new]
            new_buckets = assign_to_buckets(self.tally, entry, values, m, on, advance)
            self.bucket[new] = new_buckets + self.buckets
        elif self.newcomers == FILL:
            self._deal_with_counterfeits(new, counts, m)
        elif len(new) > hold_back or len(new) == len(self.entry):
            raise _too_frequent_error(len(new), len(self.entry), m)

    def _deal_with_counterfeits(self, new: Numbers, counts: NDArray[Any], m: int) -> None:
        more = count_missing_rows(counts, m, self.value_counts)
        if (counts + more).sum() < m * counts.max():
            raise NotMetError(
                f"There are fewer than {m} different values, so that {len(new):,} new rows cannot "
                "be placed.",
                "ask for a smaller m.",
            )
        rows = {code: new[self.values[new] == code] for code in range(self.size)}
        for codes, times in deal_buckets(counts + more, m):
            for code in codes.tolist():
                here, rows[code] = rows[code][:times], rows[code][times:]
                self.bucket[here] = self.buckets
                self.counterfeits += [(self.buckets, code)] * (times - len(here))
            self.buckets += 1

    def rows(self) -> BucketRows:
        """The rows in their buckets, counterfeits last: entries beyond those of the tally."""
        placed = self.bucket != NEW
        bucket, value = np.array(self.counterfeits, np.int64).reshape(-1, 2).T
        entry = self.tally.entries + np.arange(len(bucket))
        return BucketRows(
            np.concatenate((self.entry[placed], entry)).astype(np.int32),
            np.concatenate((self.bucket[placed], bucket)),
            np.concatenate((self.values[placed], value)).astype(np.int32),
            np.arange(int(placed.sum()) + len(bucket)) >= placed.sum(),
        )


def _too_frequent_error(new: int, rows: int, m: int) -> NotMetError:
    """Of newcomers one value is too frequent. Leaving out those alone would tell who has it."""
    return NotMetError(
        f"Of {new:,} new rows more than one in {m} have the same sensitive value, so that they "
        "cannot have classes of their own.",
        f"wait until more have come: leave all of them out for now with --hold-back "
        f"{min(1.0, new / rows + 0.0005):.3f}, or ask for a smaller m."
        if new < rows
        else "wait until more have come, or ask for a smaller m: there is nobody else to publish.",
    )
