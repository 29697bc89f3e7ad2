"""Where a person could be in a release: the classes that an adversary has to reckon with.

honest     every class whose cells contain the person
assumed    the class that truly holds the person's row (Ganta et al. 2008, section 3)
centroid   the class nearest to the person, where cells are the means of microaggregation

Honest needs nothing but the published table. Assumed is stronger where cells overlap, and is what
an insider, or somebody who saw the row, knows. Centroid always finds a class, also for people who
are in no row of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import People, Published
from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.kernels.group import combinations
from shoal.kernels.narrow import nearest
from shoal.kernels.threads import share_out

LOCATIONS = ("honest", "assumed", "centroid")

Located = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Person ``i`` is in one of ``classes[start[i]:start[i + 1]]``, ascending."""


def located(
    release: Published, axes: Sequence[Axis], people: People, location: str = "honest"
) -> Located:
    """The classes each person could be in: start (people + 1), classes."""
    if location not in LOCATIONS:
        raise UsageError(
            f"There is no location {location!r}.", f"choose one of {', '.join(LOCATIONS)}."
        )
    if location == "assumed":
        return _assumed(release, people)
    if location == "centroid":
        return _each_once(release, axes, people.keys)
    return release.cells.contains(people.keys)


def _assumed(release: Published, people: People) -> Located:
    """The class that holds each person; cells that nobody is in twice give it away as well."""
    if release.holds is not None:
        held = release.holds >= 0
        return _starts(held), release.holds[held].astype(np.int64)
    start, classes = release.cells.contains(people.keys)
    several = int((np.diff(start) > 1).sum())
    if several:
        raise UsageError(
            f"{release.name}: which class truly holds a person is not known; the cells of several "
            f"contain {several:,} of the people.",
            "keep the private companion beside the release, or use --location honest.",
        )
    return start, classes


def _each_once(release: Published, axes: Sequence[Axis], keys: NDArray[Any]) -> Located:
    """The nearest classes of each person, looked for once for all who are alike."""
    known = np.flatnonzero((keys >= 0).all(axis=0))
    points = keys[:, known]
    number, first = combinations(points, [axis.size for axis in axes])
    start, classes = _nearest(release, axes, np.ascontiguousarray(points[:, first], np.int32))
    of = np.full(keys.shape[1], -1, dtype=np.int64)
    of[known] = number
    length = np.diff(start, append=start[-1])[of]  # the last is 0: nowhere
    begin = _starts(length)
    pick = np.repeat(start[of] - begin[:-1], length) + np.arange(begin[-1])
    return begin, classes[pick]


def _nearest(release: Published, axes: Sequence[Axis], points: NDArray[np.int32]) -> Located:
    """The nearest classes of each point (columns, points)."""
    size, classes = points.shape[1], len(release.cells)
    if not size or not classes:
        return np.zeros(size + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    compared = *_numeric(release, axes, points), *_matched(release, axes, points)
    number, found = np.zeros((2, size), dtype=np.int64)
    everyone = np.arange(size)
    work = size * classes
    share_out(
        nearest, size, work, everyone, *compared, np.ones_like(number), everyone, number, found
    )
    start = _starts(number)
    several = np.flatnonzero(number > 1)
    every = np.repeat(found, number)
    work = len(several) * classes
    share_out(nearest, len(several), work, several, *compared, number, start, number, every)
    return start, every


def _numeric(
    release: Published, axes: Sequence[Axis], points: NDArray[np.int32]
) -> tuple[NDArray[Any], ...]:
    """Numbers and dates: the points' places, the cells' middles, whether null is in a cell, and
    one over the standard deviation of the middles over the release's rows.
    """
    columns = [j for j, axis in enumerate(axes) if _is_line(release, axis, j)]
    shape = len(columns), len(release.cells)
    places, scale = np.empty((len(columns), points.shape[1])), np.zeros(len(columns))
    middle, null = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for at, j in enumerate(columns):
        axis, low, high = axes[j], release.cells.low[:, j], release.cells.high[:, j]
        assert axis.positions is not None
        line = np.append(axis.positions, np.nan)  # null's place, the last code's
        null[at] = axis.null & (high == axis.null_code)
        middle[at] = (line[low] + line[np.where(null[at] & (low < high), high - 1, high)]) / 2
        places[at] = line[points[j]]
        filled = ~np.isnan(middle[at]) & (release.rows > 0)
        if filled.any():
            weight, value = release.rows[filled], middle[at][filled]
            mean = np.average(value, weights=weight)
            spread = np.sqrt(np.average((value - mean) ** 2, weights=weight))
            scale[at] = 1 / spread if spread > 0 else 0.0
    return places, middle, null, scale


def _matched(
    release: Published, axes: Sequence[Axis], points: NDArray[np.int32]
) -> tuple[NDArray[Any], ...]:
    """Categories and codes: the points' codes, and the ranges or sets of the cells."""
    columns = [j for j, axis in enumerate(axes) if not _is_line(release, axis, j)]
    set_of = np.full(len(columns), -1, dtype=np.int64)
    parts, words = [np.zeros((len(release.cells), 0), dtype=np.uint64)], 0
    for at, j in enumerate(columns):
        if j in release.cells.sets:
            set_of[at] = words
            parts.append(release.cells.sets[j])
            words += parts[-1].shape[1]
    low, high = (
        np.ascontiguousarray(end[:, columns].T) for end in (release.cells.low, release.cells.high)
    )
    codes = np.ascontiguousarray(points[columns])
    return codes, low, high, np.concatenate(parts, axis=1), set_of


def _is_line(release: Published, axis: Axis, column: int) -> bool:
    return axis.positions is not None and column not in release.cells.sets


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
