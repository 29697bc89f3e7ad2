"""Centroids: every class is published as one made-up person, alike for all of its rows.

Of numbers and dates the mean, rounded as the column's own values are (in a column with levels, the
value of the column that is nearest to it); of ordered words the median; of others the most frequent
value, the first of equals. Null is the centroid where most of the class are null. Classes with
equal centroids are one class. Domingo-Ferrer and Torra: Ordinal, continuous and heterogeneous
k-anonymity through microaggregation, 2005.

A centroid is not a set that its people lie in. So rules that ask whom a cell covers, and releases
that keep to the cells of earlier ones, are refused here. Adversaries look for the nearest one.
What it does not protect: means of small classes are close to their people, and most people are
found by the nearest centroid; they are as safe as the number and the values of the class's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import cover_classes
from shoal.errors import UsageError
from shoal.flow.encode import Survey
from shoal.flow.made import Whole
from shoal.flow.make import make
from shoal.flow.opening import released
from shoal.flow.recoded import Labels
from shoal.flow.record import in_centroids
from shoal.flow.request import STARRED, Request
from shoal.frames.frame import Frame
from shoal.kernels.group import combinations, tabulate
from shoal.labels import text
from shoal.levels import to_values
from shoal.model import Model, inner
from shoal.tally import HELD_BACK, Cut, Tally

FINEST = 12
"""Digits after the point that a mean has at the most."""
_CELLS = "publish generalised cells instead: leave --form out."


def check_centroids(request: Request) -> None:
    """Refuse, before anything is read, what cannot be published as centroids."""
    check_cells(request.rule)
    if request.based_on is not None:
        raise UsageError("Centroids have no cells that could keep to an earlier release.", _CELLS)
    if request.held_back_as == STARRED:
        raise UsageError(
            "Centroids have no cells to star.", "leave rows out instead: --held-back-as absent."
        )


def check_cells(rule: Model) -> None:
    """Refuse a rule that asks whom cells cover."""
    asked = [str(part) for part in inner(rule) if part.needs & {"population", "cells"}]
    if asked:
        raise UsageError(
            f"A centroid covers nobody, so that {', '.join(asked)} cannot be judged.",
            f"use a rule about rows and values, or {_CELLS}",
        )


def check_covers(manifest: Mapping[str, Any], original: Any, population: Any) -> None:
    """Refuse to count whom centroids cover: nobody, and cells so narrow would have lost nothing."""
    if in_centroids(manifest) and not (original is None and population is None):
        raise UsageError(
            "Centroids are no cells that an original or a population could be put in.",
            "leave --original and --population out.",
        )


def check_earlier(based_on: Any) -> None:
    """Refuse an earlier release whose cells are centroids: nothing can be as wide as they are."""
    release = None if based_on is None else released(based_on)
    if release is not None and in_centroids(release[1]):
        raise UsageError(
            "The earlier release has centroids, no cells that another could keep.",
            "base the release on one with generalised cells.",
        )


class Centroids(Whole):
    """The classes of a table that are published by their centroids."""

    _centres: dict[str, Labels]

    @classmethod
    def of(cls, frame: Frame, plan: Survey, request: Request) -> Centroids:
        """The classes that the method makes of a table, those with equal centroids as one."""
        encoded = plan.encode(frame)
        cut, centres = centred(encoded.tally, make(encoded.tally, request))
        found = cls(frame, encoded, encoded.tally, cut, request)
        found._centres = centres
        return found

    def labels(self) -> dict[str, Labels]:
        """The classes' centroids by column."""
        return self._centres


def centred(tally: Tally, cut: Cut) -> tuple[Cut, dict[str, Labels]]:
    """The cut with classes of equal centroids as one, and the centroids by column.

    The cut's cells are the smallest around the people, though they are not published.
    """
    kept = cut.class_ >= 0
    entry, class_, count = cut.entry[kept], cut.class_[kept], cut.count[kept]
    found = [
        _centre(axis, tabulate(class_, codes[entry], count, cut.classes, axis.size))
        for axis, codes in zip(tally.quasi, tally.keys, strict=True)
    ]
    number, first = combinations([one[0] for one in found], [len(one[1]) for one in found])
    class_ = np.where(kept, number[cut.class_], HELD_BACK).astype(np.int32)
    cells = cover_classes(tally.quasi, tally.keys, cut.entry, class_)
    pairs = zip(tally.quasi, found, strict=True)
    centres = {axis.name: (place[first], words) for axis, (place, words) in pairs}
    return Cut(cut.entry, class_, cut.count, cells, cut.facts), centres


def _centre(axis: Axis, counts: tuple[NDArray[Any], ...]) -> Labels:
    """The centroids of classes in a column, by how often each has which code."""
    start, code, count = counts
    class_ = np.repeat(np.arange(len(start) - 1), np.diff(start))
    if axis.positions is None and axis.shape != "ordered":
        most = np.maximum.reduceat(count, start[:-1])
        return _worded(axis, _first(class_, count == most[class_], code))
    known = code != axis.null_code
    rows = np.bincount(class_, count, len(start) - 1)
    there = np.bincount(class_[known], count[known], len(start) - 1)
    null = 2 * there < rows
    if axis.positions is None:
        so_far = np.cumsum(np.where(known, count, 0))
        before = np.append(0, so_far)[start[:-1]]
        half = known & (2 * (so_far - before[class_]) >= there[class_])
        middle = _first(class_, half | null[class_], code)
        return _worded(axis, np.where(null, axis.null_code, middle))
    place = np.append(axis.positions, 0.0)[code]
    mean = np.bincount(class_[known], (place * count)[known], len(start) - 1) / np.maximum(there, 1)
    return _measured(axis, mean, null)


def _first(class_: NDArray[Any], wanted: NDArray[np.bool_], code: NDArray[Any]) -> NDArray[Any]:
    """Of each class the first code that is wanted."""
    at = np.flatnonzero(wanted)
    return np.asarray(code[at[np.unique(class_[at], return_index=True)[1]]])


def _worded(axis: Axis, code: NDArray[Any]) -> Labels:
    there, number = np.unique(code, return_inverse=True)
    words = axis.labels(there, there)
    return number.astype(np.int32), pa.array(words.tolist(), pa.string())


def _measured(axis: Axis, mean: NDArray[np.float64], null: NDArray[np.bool_]) -> Labels:
    """Means in the precision of the column, null where that is the centroid."""
    assert axis.positions is not None
    if axis.shape == "tree":  # a taxonomy has its own leaves only
        line = axis.positions
        at = np.clip(np.searchsorted(line, mean), 1, len(line) - 1) if len(line) > 1 else 0
        mean = np.where(mean - line[at - 1] <= line[at] - mean, line[at - 1], line[at])
    there, number = np.unique(np.round(mean, precision(axis.leaves)), return_inverse=True)
    words = [*map(text, to_values(axis.kind, there)), None]
    return np.where(null, len(there), number).astype(np.int32), pa.array(words, pa.string())


def precision(leaves: Sequence[Any]) -> int:
    """How many digits after the point the values of a column have; dates none.

    >>> precision((20.0, 2.5, 17.25)), precision((20.0, 30.0))
    (2, 0)
    """
    numbers = (Decimal(text(leaf)) for leaf in leaves if isinstance(leaf, int | float))
    digits = (min(0, int(one.as_tuple().exponent)) for one in numbers)
    return min(FINEST, max((-digit for digit in digits), default=0))
