"""Kept columns, published as they are: whoever knows them tells apart the people of a class.

No rule judges them, and methods do not see them. But the risk would be told too low without them:
a class of a hundred in which every row has a name is a hundred classes of one. The adversary is
taken to know them of everybody, as verifying does that counts k over kept columns too; one who does
not know them gains less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.cells import Cells
from shoal.flow.encode import Encoded, stacked, survey
from shoal.frames.frame import Frame
from shoal.kernels.group import combinations
from shoal.schema import Schema
from shoal.tally import HELD_BACK, Cut, Tally


@dataclass(frozen=True)
class Counted:
    """A table as methods are given it, and with its kept columns, as the adversary knows it."""

    tally: Tally
    known: Tally
    """The kept columns are further quasi-identifiers here; without any it is the tally."""
    part_of: NDArray[np.int32]
    """Of which entry of the tally each entry of ``known`` is a part."""

    @classmethod
    def of(cls, frame: Frame, schema: Schema, encoded: Encoded) -> Counted:
        """The table, counted again by its kept columns too, if it has any."""
        tally = encoded.tally
        if not schema.keep:
            return cls(tally, tally, np.arange(tally.entries, dtype=np.int32))
        kept = survey(frame, Schema(tuple(replace(one, role="quasi") for one in schema.keep)))
        counted = frame.tally((*encoded.codings, *kept.codings))
        own, more = (counted.codes[: len(encoded.codings)], counted.codes[len(encoded.codings) :])
        entries, q, s = len(counted.count), len(tally.quasi), len(tally.sensitive)
        known = replace(
            tally,
            quasi=(*tally.quasi, *kept.axes),
            keys=stacked((*own[:q], *more), entries),
            values=stacked(own[q : q + s], entries, np.int32),
            count=counted.count,
            providers=None if tally.provider is None else own[q + s].astype(np.int32),
            weights=(),
        )
        return cls(tally, known, _found(encoded, own))

    def seen(self, cut: Cut) -> tuple[Tally, Cut]:
        """What the adversary knows, and a cut's classes as it tells them apart."""
        kept = self.known.keys[len(self.tally.quasi) :]
        if not len(kept):
            return self.tally, cut
        entry, class_, count = self._pieces(cut)
        there = np.flatnonzero(class_ != HELD_BACK)
        columns, sizes = kept[:, entry[there]], [one.size for one in self.known.quasi[-len(kept) :]]
        number, first = combinations((class_[there], *columns), (cut.classes, *sizes))
        divided = np.full_like(class_, HELD_BACK)
        divided[there] = number
        cells = _with(cut.cells.take(class_[there[first]]), columns[:, first])
        return self.known, Cut(entry, divided, count, cells)

    def _pieces(self, cut: Cut) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """The pieces of a cut by the entries of ``known``: entry, class, count.

        Where an entry is divided, chance says which of its rows go where, as in publishing.
        """
        rows = np.repeat(np.arange(self.known.entries, dtype=np.int32), self.known.count)
        rows = np.random.default_rng(0).permutation(rows)
        rows = rows[np.argsort(self.part_of[rows], kind="stable")]
        order = np.argsort(cut.entry, kind="stable")
        class_ = np.repeat(cut.class_[order], cut.count[order])
        number, first = combinations((rows, class_ + 1), (self.known.entries, cut.classes + 1))
        return rows[first], class_[first], np.bincount(number)


def _found(encoded: Encoded, codes: tuple[NDArray[Any], ...]) -> NDArray[np.int32]:
    """Which entry of a tally has these codes; its own entries differ, and are numbered first."""
    own = encoded.codes()
    both = [np.concatenate(pair, dtype=np.int64) for pair in zip(own, codes, strict=True)]
    number, _ = combinations(both, [one.size for one in encoded.codings])
    return number[encoded.tally.entries :]


def _with(cells: Cells, codes: NDArray[Any]) -> Cells:
    """The cells with further columns that hold one code each."""
    more = codes.T.astype(np.int32)
    return Cells(np.hstack((cells.low, more)), np.hstack((cells.high, more)), cells.sets)
