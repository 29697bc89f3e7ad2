"""Where a person could be in a release: the classes that an adversary has to reckon with.

honest     every class whose cells contain the person
assumed    the class that truly holds the person's row (Ganta et al. 2008, section 3)
centroid   the class nearest to the person, where cells are the means of microaggregation; always so
           in releases that say they publish centroids, for no cell of theirs holds anybody

Honest needs nothing but the published table. Assumed is stronger where cells overlap, and is what
an insider, or somebody who saw the row, knows. Centroid always finds a class, also for people who
are in no row of the table.

People with the same key, the codes of their quasi-identifiers, are looked for once
(``group_by_key``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import UsageError
from shoal.core.theory.adversary_view import NobodyFoundError, ReleaseView, Targets
from shoal.kernels.grouping import number_combinations
from shoal.kernels.narrowing import find_nearest_classes
from shoal.kernels.threads import share_out

LOCATIONS = {
    "honest": "every class whose cells contain the person is possible (honest location)",
    "assumed": "the adversary knows which class holds the person (assumed location)",
    "centroid": "the person is in the class with the nearest centroid (centroid location)",
}
"""Where people could be, as an assumption."""
NEAREST = "where a release publishes centroids, the person is in the class with the nearest one"
MEANS = "the numbers look like averages that no single person has: add --location centroid"

Located = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Person ``i`` is in one of ``classes[start[i]:start[i + 1]]``, ascending."""


def locate(
    release: ReleaseView, axes: Sequence[Axis], people: Targets, location: str = "honest"
) -> Located:
    """The classes each person could be in: start (people + 1), classes."""
    if check_location(location) == "assumed":
        return _locate_true_class(release, people)
    if location == "centroid" or release.centroids:
        return _locate_nearest(release, axes, people)
    return people.find_classes(release.cells)


def resolve_location(releases: Sequence[ReleaseView], location: str) -> tuple[str, tuple[str, ...]]:
    """The location that people are truly looked for by, and what it takes for granted."""
    near = [release.centroids for release in releases]
    if check_location(location) != "honest" or not any(near):
        return location, (LOCATIONS[location],)
    if all(near):
        return "centroid", (LOCATIONS["centroid"],)
    return location, (LOCATIONS[location], NEAREST)


def check_location(location: str) -> str:
    """The location, if there is one of that name."""
    if location not in LOCATIONS:
        raise UsageError(
            f"There is no location {location!r}.", f"choose one of {', '.join(LOCATIONS)}."
        )
    return location


def group_by_key(
    people: Targets, axes: Sequence[Axis], location: str
) -> tuple[Targets, NDArray[np.int64]]:
    """One person for each distinct key, and the number of everybody's key among these.

    Where classes are known, people with the same key may be in different ones.
    """
    if location == "assumed":
        return people, np.arange(people.table_rows)
    if people.cells is not None:
        first, number = people.cells.unique()
        return people.take(first), number
    codes = people.keys + 1  # -1: a value that no release has
    key, first = number_combinations(codes, [axis.size + 1 for axis in axes])
    return people.take(first), key.astype(np.int64)


def find_full_classes(
    release: ReleaseView, people: Targets
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The only class that holds each person (-1: none or several), and which classes are full:
    those whose cells hold as many people as they have rows, and nobody who could be elsewhere.
    """
    start, classes = release.cells.contains(people.keys)
    person = np.repeat(np.arange(len(people)), np.diff(start))
    only = (np.diff(start) == 1)[person]
    class_of = np.full(len(people), -1, dtype=np.int64)
    class_of[person[only]] = classes[only]
    covered, sure = (np.bincount(c, minlength=len(release.cells)) for c in (classes, classes[only]))
    full = (covered == release.rows) & (sure == release.rows)
    if not full.any():
        raise NobodyFoundError(
            f"In none of the {len(full):,} classes are as many people known as it has rows.",
            "give as targets exactly the people in the release, one row each.",
        )
    return class_of, full


def looks_like_means(
    release: ReleaseView, axes: Sequence[Axis], keys: NDArray[Any], absent: NDArray[np.bool_]
) -> bool:
    """Whether most people are in no cell, and a column of single numbers has none of theirs."""
    if 2 * absent.sum() <= len(absent):
        return False
    for j in (j for j, axis in enumerate(axes) if _is_line(release, axis, j)):
        low, point = release.cells.low[:, j], release.cells.low[:, j] == release.cells.high[:, j]
        mostly = 2 * release.rows[point].sum() > release.rows.sum()
        if mostly and 2 * np.isin(keys[j, absent], low[point]).sum() < absent.sum():
            return True
    return False


def _locate_true_class(release: ReleaseView, people: Targets) -> Located:
    """The class that holds each person; cells that nobody is in twice give it away as well."""
    if release.true_class is not None:
        held = release.true_class >= 0
        return _starts(held), release.true_class[held].astype(np.int64)
    if release.centroids:
        raise UsageError(
            f"{release.name}: which class truly holds a person is not known; it publishes "
            "centroids.",
            "keep the private companion beside the release, or use --location centroid.",
        )
    start, classes = people.find_classes(release.cells)
    several = int((np.diff(start) > 1).sum())
    if several:
        raise UsageError(
            f"{release.name}: which class truly holds a person is not known; the cells of several "
            f"contain {several:,} of the people.",
            "keep the private companion beside the release, or use --location honest.",
        )
    return start, classes


def _locate_nearest(release: ReleaseView, axes: Sequence[Axis], people: Targets) -> Located:
    """The nearest classes of each person; none of who has a value that no release has.

    A column of which no single value of somebody is known does not count for them.
    """
    point = (
        np.ones(people.keys.shape, np.bool_) if people.cells is None else are_points(people.cells)
    )
    patterns, pattern = np.unique(point, axis=1, return_inverse=True)
    nearest: list[tuple[NDArray[np.int64], Located]] = []
    for i, columns in enumerate(patterns.T):
        some = np.flatnonzero(columns)
        keys = people.keys[some]
        known = np.flatnonzero((pattern.ravel() == i) & (keys >= 0).all(axis=0))
        part = replace(release, cells=release.cells.columns(some))
        points = np.ascontiguousarray(keys[:, known], np.int32)
        nearest.append(
            (known, _find_nearest_classes(part, [axes[j] for j in some.tolist()], points))
        )
    length = np.zeros(len(people), dtype=np.int64)
    for known, (start, _) in nearest:
        length[known] = np.diff(start)
    starts = _starts(length)
    classes = np.empty(starts[-1], dtype=np.int64)
    for known, (_, near) in nearest:
        classes[expand_ranges(starts[known], length[known])] = near
    return starts, classes


def are_points(cells: Cells) -> NDArray[np.bool_]:
    """Whether each cell is a single value, or none: (columns, cells)."""
    single = (cells.low >= cells.high).T
    for column, bits in cells.sets.items():
        single[column] = np.bitwise_count(bits).sum(axis=1) <= 1
    return single


def expand_ranges(first: NDArray[Any], length: NDArray[Any]) -> NDArray[np.int64]:
    """So many numbers from each of the first ones on, one after the other.

    >>> expand_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    return np.asarray(np.repeat(first, length) + within, np.int64)


def _find_nearest_classes(
    release: ReleaseView, axes: Sequence[Axis], points: NDArray[np.int32]
) -> Located:
    size, classes = points.shape[1], len(release.cells)
    if not size or not classes:
        return np.zeros(size + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    compared = *_prepare_numbers(release, axes, points), *_prepare_categories(release, axes, points)
    number, first = np.zeros((2, size), dtype=np.int64)
    everyone = np.arange(size)
    work = size * classes
    share_out(
        find_nearest_classes,
        size,
        work,
        everyone,
        *compared,
        np.ones_like(number),
        everyone,
        number,
        first,
    )
    start = _starts(number)
    several = np.flatnonzero(number > 1)
    every = np.repeat(first, number)
    work = len(several) * classes
    share_out(
        find_nearest_classes, len(several), work, several, *compared, number, start, number, every
    )
    return start, every


def _prepare_numbers(
    release: ReleaseView, axes: Sequence[Axis], points: NDArray[np.int32]
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


def _prepare_categories(
    release: ReleaseView, axes: Sequence[Axis], points: NDArray[np.int32]
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


def _is_line(release: ReleaseView, axis: Axis, column: int) -> bool:
    return axis.positions is not None and column not in release.cells.sets


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
