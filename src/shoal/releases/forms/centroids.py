"""Centroids: every class is published as one made-up person, alike for all of its rows.

Of numbers and dates the mean, with no more digits than half of the column's values have (in a
column with levels, the value of the column that is nearest to it); of ordered words the median; of
others the most frequent value, the first of equals. Null is the centroid where at least half of the
class are null, where no value is more frequent than null, and where fewer people have a value than
the rule asks of a class: the mean of somebody and a null would be that person's own value. Classes
with equal centroids are one class. Domingo-Ferrer and Torra: Ordinal, continuous and heterogeneous
k-anonymity through microaggregation, 2005.

A centroid is not a set that its people lie in. So rules that ask whom a cell covers, and releases
that keep to the cells of earlier ones, are refused here. Adversaries look for the nearest one.
What it does not protect: means of small classes are close to their people, and most people are
found by the nearest centroid; they are as safe as the number and the values of the class's rows.
A mean times the rows of its class is their sum, but for rounding: whoever knows all of them but one
knows that one too. A median, a most frequent value and the nearest value are somebody's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import cover_classes
from shoal.core.errors import UsageError
from shoal.core.hierarchy import positions_to_values
from shoal.core.labels import format_value
from shoal.core.model import Model, min_class_rows, unwrap_rule
from shoal.core.tally import SUPPRESSED, Cut, Tally
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations, tabulate
from shoal.releases.companion import find_release
from shoal.releases.draft import Labels, TableDraft, make_cut
from shoal.releases.manifest import publishes_centroids
from shoal.releases.options import STARRED, Request
from shoal.releases.tallying import Survey

FINEST = 12
"""Digits after the point that a mean has at the most."""
_CELLS_HINT = "publish generalised cells instead: leave --form out."


def check_centroid_request(request: Request) -> None:
    """Refuse, before anything is read, what cannot be published as centroids."""
    check_centroid_rule(request.rule)
    if request.based_on is not None:
        raise UsageError(
            "Centroids have no cells that could keep to an earlier release.", _CELLS_HINT
        )
    if request.held_back_as == STARRED:
        raise UsageError(
            "Centroids have no cells to star.", "leave rows out instead: --held-back-as absent."
        )


def check_centroid_rule(rule: Model) -> None:
    """Refuse a rule that asks whom cells cover."""
    asked = [str(part) for part in unwrap_rule(rule) if part.needs & {"population", "cells"}]
    if asked:
        raise UsageError(
            f"A centroid covers nobody, so that {', '.join(asked)} cannot be judged.",
            f"use a rule about rows and values, or {_CELLS_HINT}",
        )


def check_centroid_comparison(manifest: Mapping[str, Any], original: Any, population: Any) -> None:
    """Refuse to count whom centroids cover: nobody, and cells so narrow would have lost nothing."""
    if publishes_centroids(manifest) and not (original is None and population is None):
        raise UsageError(
            "Centroids are no cells that an original or a population could be put in.",
            "leave --original and --population out; what changed against the original is in the "
            "report: shoal report RELEASE --original FILE.",
        )


def check_earlier_not_centroids(based_on: Any) -> None:
    """Refuse an earlier release whose cells are centroids: nothing can be as wide as they are."""
    release = None if based_on is None else find_release(based_on)
    if release is not None and publishes_centroids(release[1]):
        raise UsageError(
            "The earlier release has centroids, no cells that another could keep.",
            "base the release on one with generalised cells.",
        )


class CentroidDraft(TableDraft):
    """The classes of a table that are published by their centroids."""

    _centres: dict[str, Labels]

    @classmethod
    def of(cls, frame: Frame, plan: Survey, request: Request) -> CentroidDraft:
        """The classes that the method makes of a table, those with equal centroids as one."""
        encoded = plan.encode(frame)
        method_cut = make_cut(encoded.tally, request)
        cut, centres = compute_centroids(encoded.tally, method_cut, min_class_rows(request.rule))
        draft = cls(frame, encoded, encoded.tally, cut, request)
        draft._centres = centres
        return draft

    def labels(self) -> dict[str, Labels]:
        """The classes' centroids by column."""
        return self._centres


def compute_centroids(tally: Tally, cut: Cut, min_people: int = 1) -> tuple[Cut, dict[str, Labels]]:
    """The cut with classes of equal centroids as one, and the centroids by column.

    A centroid is of ``min_people`` who have a value, or null. The cut's cells are the smallest
    around the people, though they are not published.
    """
    published = cut.class_ >= 0
    entry, class_, count = cut.entry[published], cut.class_[published], cut.count[published]
    columns = [
        _compute_column_centroids(
            axis, tabulate(class_, codes[entry], count, cut.classes, axis.size), min_people
        )
        for axis, codes in zip(tally.quasi, tally.keys, strict=True)
    ]
    number, first = number_combinations(
        [column[0] for column in columns], [len(column[1]) for column in columns]
    )
    class_ = np.where(published, number[cut.class_], SUPPRESSED).astype(np.int32)
    cells = cover_classes(tally.quasi, tally.keys, cut.entry, class_)
    pairs = zip(tally.quasi, columns, strict=True)
    centres = {axis.name: (place[first], words) for axis, (place, words) in pairs}
    return Cut(cut.entry, class_, cut.count, cells, cut.facts), centres


def _compute_column_centroids(
    axis: Axis, counts: tuple[NDArray[Any], ...], min_people: int
) -> Labels:
    start, code, count = counts
    class_ = np.repeat(np.arange(len(start) - 1), np.diff(start))
    has_value = code != axis.null_code
    rows = np.bincount(class_, count, len(start) - 1)
    with_value = np.bincount(class_[has_value], count[has_value], len(start) - 1)
    null = (2 * with_value <= rows) | (axis.null & (with_value < min_people))
    if axis.positions is None:
        if axis.shape == "ordered":
            is_centre = _is_from_median(start, class_, has_value, count)
        else:  # the most frequent
            is_centre = count == np.maximum.reduceat(count, start[:-1])[class_]
        null |= np.bincount(class_[is_centre & ~has_value], minlength=len(null)) > 0
        at = np.flatnonzero(is_centre | null[class_])
        first = code[at[np.unique(class_[at], return_index=True)[1]]]
        centre, number = np.unique(np.where(null, axis.null_code, first), return_inverse=True)
        words = axis.labels(centre, centre)
        return number.astype(np.int32), pa.array(words.tolist(), pa.string())
    place = np.append(axis.positions, 0.0)[code]
    total = np.bincount(class_[has_value], (place * count)[has_value], len(start) - 1)
    mean = total / np.maximum(with_value, 1)
    people = np.bincount(code[has_value], count[has_value], len(axis.leaves))
    return _label_means(axis, mean, null, choose_precision(axis.leaves, people))


def _is_from_median(
    start: NDArray[Any], class_: NDArray[Any], has_value: NDArray[np.bool_], count: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether a code is the median of its class's values or comes after it."""
    so_far = np.append(0, np.cumsum(np.where(has_value, count, 0)))
    before, there = so_far[start[:-1]], np.diff(so_far[start])
    return np.asarray(has_value & (2 * (so_far[1:] - before[class_]) >= there[class_]))


def _label_means(
    axis: Axis, mean: NDArray[np.float64], null: NDArray[np.bool_], digits: int
) -> Labels:
    """Means in the precision of the column, null where that is the centroid."""
    assert axis.positions is not None
    if axis.shape == "tree":  # a taxonomy has its own leaves only
        line = axis.positions
        at = np.clip(np.searchsorted(line, mean), 1, len(line) - 1) if len(line) > 1 else 0
        mean = np.where(mean - line[at - 1] <= line[at] - mean, line[at - 1], line[at])
    else:
        mean = np.round(mean, digits)
    values, number = np.unique(mean, return_inverse=True)
    words = [*map(format_value, positions_to_values(axis.kind, values)), None]
    return np.where(null, len(values), number).astype(np.int32), pa.array(words, pa.string())


def choose_precision(leaves: Sequence[Any], people: Sequence[int] | NDArray[Any]) -> int:
    """How many digits after the point half of the people's values have at the most; dates none.

    One value with many digits would else give them to every mean, and so every class's exact sum.

    >>> choose_precision((20.0, 2.5, 17.25), (1, 1, 1))
    1
    >>> choose_precision((20.0, 0.123456789), (9, 1))
    0
    """
    numbers = [leaf for leaf in leaves if isinstance(leaf, int | float)]
    if not numbers:
        return 0
    exponents = [Decimal(format_value(number)).as_tuple().exponent for number in numbers]
    digits = np.array([max(0, -int(exponent)) for exponent in exponents])
    order = np.argsort(digits, kind="stable")
    so_far = np.cumsum(np.asarray(people)[order])
    return min(FINEST, int(digits[order][np.searchsorted(2 * so_far, so_far[-1])]))
