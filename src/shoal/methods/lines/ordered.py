"""Classes along an order of people: what the methods share that put everybody in a line first.

People who follow each other in the line are alike; the line is cut into segments of k to 2k − 1
people (k: the fewest that could meet the rule) so that the sum of people × loss is least of all
ways to cut it, by a dynamic programme. Where the rule asks for more than k people, segments that
break it are joined with their neighbours, and longer segments are tried too.

G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, Fast data anonymization with low information
loss, VLDB 2007: one-dimensional optimal partitioning along a space-filling curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.kernels.group import combinations
from shoal.kernels.reach import Reach
from shoal.kernels.segment import segmented
from shoal.methods.cutting.segments import canonical
from shoal.methods.cutting.topdown import lost
from shoal.methods.lines.mend import mended
from shoal.model import Model, least_rows
from shoal.reach import packed
from shoal.tally import Cut, Tally

LONGER = 1.5
"""Where segments had to be joined, longer ones by this factor are tried next."""
PATIENCE = 2
"""So many longer ones in a row that lose more end the trial."""


@dataclass(frozen=True)
class Points:
    """The distinct combinations of quasi-identifiers, ascending, and the people of each.

    ``keys`` (columns, points): codes; those of flat columns are numbered from the most common
    value to the rarest, null always last. ``of`` is the point of each entry.
    """

    keys: NDArray[np.int32]
    count: NDArray[np.int64]
    of: NDArray[np.int64]

    @classmethod
    def of_tally(cls, tally: Tally) -> Points:
        """Those of a tally, whatever the order of its entries."""
        if not tally.quasi:
            raise UsageError(
                "There is no quasi-identifier to order people by.",
                'give a column the role "quasi".',
            )
        columns = zip(tally.quasi, tally.keys, strict=True)
        keys = np.stack([_by_frequency(axis, codes, tally.count) for axis, codes in columns])
        words = _words(keys, [axis.size for axis in tally.quasi])
        order = np.lexsort(words[::-1])
        new = np.append(True, np.any([np.diff(word[order]) != 0 for word in words], axis=0))
        first = np.flatnonzero(new[: len(order)])
        of = np.empty(len(order), np.int64)
        of[order] = np.cumsum(new[: len(order)]) - 1
        return cls(keys[:, order[first]], np.add.reduceat(tally.count[order], first), of)


def _by_frequency(axis: Axis, codes: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.int32]:
    """The codes; of a flat axis by how many people have them."""
    if axis.shape != "flat":
        return codes.astype(np.int32)
    people = np.bincount(codes, count, axis.size)[: len(axis.leaves)]
    number = np.arange(axis.size, dtype=np.int32)
    number[np.argsort(-people, kind="stable")] = np.arange(len(people))
    return np.asarray(number[codes])


def _words(keys: NDArray[np.int32], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """The columns in as few as hold them: sorting takes as long as there are columns."""
    words, top = [np.zeros(keys.shape[1], np.int64)], 1
    for codes, size in zip(keys, sizes, strict=True):
        if top > 2**62 // size:
            words.append(np.zeros(keys.shape[1], np.int64))
            top = 1
        words[-1] = words[-1] * size + codes
        top *= size
    return words


def along(
    tally: Tally,
    model: Model,
    points: Points,
    order: NDArray[Any],
    *,
    rng: np.random.Generator,
    hold_back: int = 0,
) -> Cut:
    """The cut into segments of the points in this order that meets the model and loses least.

    People at one point stand in random order (``rng``). The cut's facts: the ``shortest``
    segments that were made, and how many of them were ``joined`` with others.
    """
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    entry = canonical(tally, rng)
    entry = entry[np.argsort(rank[points.of[entry]], kind="stable")]
    line = _Line(tally, model, entry, np.ascontiguousarray(points.keys[:, points.of[entry]]))
    return line.best(hold_back)


@dataclass(frozen=True)
class _Line:
    """People in their order: the entry of each, and (columns, people) their codes."""

    tally: Tally
    model: Model
    entry: NDArray[np.int32]
    keys: NDArray[np.int32]

    def best(self, hold_back: int) -> Cut:
        """The cut with the least loss, of those that begin with shorter and longer segments."""
        length = max(1, least_rows(self.model))
        best = cut = self._cut(length, hold_back)
        worse = 0
        while cut.facts.get("joined") and worse < PATIENCE and length < len(self.entry):
            length = math.ceil(length * LONGER)
            cut = self._cut(length, hold_back)
            worse += 1
            if lost(self.tally, cut) < lost(self.tally, best):
                best, worse = cut, 0
        return best

    def _cut(self, length: int, hold_back: int) -> Cut:
        """Segments of so many people and more, those joined that break the rule."""
        begins = np.zeros(len(self.entry), np.int32)
        begins[segmented(self.keys, self._reach, length, 2 * length - 1)[0]] = 1
        class_ = np.cumsum(begins) - 1
        pieces, first = combinations((self.entry, class_), (self.tally.entries, len(begins)))
        how: dict[str, Any] = {"hold_back": hold_back, "facts": {"shortest": length}}
        count = np.bincount(pieces, minlength=len(first))
        return mended(self.tally, self.model, self.entry[first], class_[first], count, **how)

    @cached_property
    def _reach(self) -> Reach:
        return packed(self.tally.quasi, self.tally.importance)
