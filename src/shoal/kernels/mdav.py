"""Maximum distance to average: clusters of k people around the outermost of a cloud of points.

``cluster_by_mdav`` works on blocks of points, each by itself; ``halve_points`` makes such blocks,
and orders points so that neighbours are alike. Points have weights, how many people are there; a
cluster may take some of them. Where distances are equal, the point of the lower number counts as
nearer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NO_CUT = np.iinfo(np.int64).max
"""Worse than any cut."""


class PointCloud(NamedTuple):
    """The points that are left, in no order, and what their mean is made of."""

    places: Any
    """(columns, points): coordinates."""
    codes: Any
    """(columns, points): categories, numbered on over all columns from ``base``."""
    cost: Any
    """What two different categories of a column add to the squared distance."""
    base: Any
    people: Any
    number: Any
    sums: Any
    """Per column of ``places`` the sum over the people left."""
    category_people: Any
    """How many of them have each category."""


@njit(cache=True, nogil=True)
def cluster_by_mdav(
    first, last, start, places, codes, cost, base, people, k, room, point, class_, count, written
):
    """Cluster the points ``start[b]:start[b + 1]`` of each of the blocks ``first..last``.

    Writes the pieces of block ``b``, which point, in which of its clusters, and how many people,
    from ``room[b]`` on, and into ``written[b]`` how many pieces and how many clusters there are.
    """
    for b in range(first, last):
        at = slice(start[b], start[b + 1])
        cloud = _cloud(places[:, at], codes[:, at], cost, base, people[at])
        out = (
            point[room[b] : room[b + 1]],
            class_[room[b] : room[b + 1]],
            count[room[b] : room[b + 1]],
        )
        pieces, clusters = _cluster(cloud, k, out)
        point[room[b] : room[b] + pieces] += start[b]
        written[b, 0], written[b, 1] = pieces, clusters


@njit(cache=True)
def _cloud(places, codes, cost, base, people):
    sums, category_people = np.zeros(len(places)), np.zeros(base[-1], np.int64)
    for i in range(len(people)):
        for j in range(len(places)):
            sums[j] += people[i] * places[j, i]
        for j in range(len(codes)):
            category_people[codes[j, i]] += people[i]
    number = np.arange(len(people))
    return PointCloud(
        places.copy(), codes.copy(), cost, base, people.copy(), number, sums, category_people
    )


@njit(cache=True)
def _cluster(cloud, k, out):
    """Two clusters at a time, around the point farthest from the mean and the one farthest from it.

    Of 2k to 3k - 1 people the k around the farthest are one cluster, and the others the last.
    """
    points, left, pieces, clusters = len(cloud.number), cloud.people.sum(), 0, 0
    far, near = np.empty(points), np.empty(k + 1, np.int64)
    here, kind = np.empty(len(cloud.places)), np.empty(len(cloud.codes), np.int64)
    while left >= 2 * k:
        _from_mean(cloud, points, left, far)
        _copy_point(cloud, _farthest(cloud, points, far), here, kind)
        _from_point(cloud, points, here, kind, far)
        if left >= 3 * k:
            _copy_point(cloud, _farthest(cloud, points, far), here, kind)
        number = _nearest(cloud, points, k, far, near)
        pieces = _move(cloud, near[:number], k, clusters, pieces, out)
        points, left, clusters = _close_gaps(cloud, near[:number], points), left - k, clusters + 1
        if left >= 2 * k:  # there were 3k: the second point's turn
            _from_point(cloud, points, here, kind, far)
            number = _nearest(cloud, points, k, far, near)
            pieces = _move(cloud, near[:number], k, clusters, pieces, out)
            points, left, clusters = (
                _close_gaps(cloud, near[:number], points),
                left - k,
                clusters + 1,
            )
    pieces = _move(cloud, np.arange(points), left, clusters, pieces, out)
    return pieces, clusters + 1


@njit(cache=True)
def _from_mean(cloud, points, left, far):
    """Squared distances to the mean; categories are one-hot over the square root of 2."""
    far[:points] = 0.0
    for j in range(len(cloud.places)):
        mean = cloud.sums[j] / left
        for i in range(points):
            apart = cloud.places[j, i] - mean
            far[i] += apart * apart
    away = np.empty(len(cloud.category_people))
    for j in range(len(cloud.codes)):
        squares = 0.0
        for v in range(cloud.base[j], cloud.base[j + 1]):
            squares += (cloud.category_people[v] / left) ** 2
        for v in range(cloud.base[j], cloud.base[j + 1]):
            away[v] = cloud.cost[j] * (1 - 2 * cloud.category_people[v] / left + squares) / 2
        for i in range(points):
            far[i] += away[cloud.codes[j, i]]


@njit(cache=True)
def _copy_point(cloud, i, here, kind):
    """Keep where a point is: once it is taken, others get its number."""
    here[:] = cloud.places[:, i]
    kind[:] = cloud.codes[:, i]


@njit(cache=True)
def _from_point(cloud, points, here, kind, far):
    far[:points] = 0.0
    for j in range(len(here)):
        for i in range(points):
            apart = cloud.places[j, i] - here[j]
            far[i] += apart * apart
    for j in range(len(kind)):
        for i in range(points):
            far[i] += cloud.cost[j] if cloud.codes[j, i] != kind[j] else 0.0


@njit(cache=True)
def _farthest(cloud, points, far):
    best = 0
    for i in range(1, points):
        if far[i] > far[best] or (far[i] == far[best] and cloud.number[i] > cloud.number[best]):
            best = i
    return best


@njit(cache=True)
def _nearest(cloud, points, k, far, near):
    """Write the nearest points that have k people together into ``near``; returns how many."""
    number, people = 0, 0
    for i in range(points):
        if people >= k and far[i] > far[near[number - 1]]:
            continue
        at = number
        while at > 0 and _before(cloud, far, i, near[at - 1]):
            near[at] = near[at - 1]
            at -= 1
        near[at] = i
        number, people = number + 1, people + cloud.people[i]
        while people - cloud.people[near[number - 1]] >= k:
            people -= cloud.people[near[number - 1]]
            number -= 1
    return number


@njit(cache=True)
def _before(cloud, far, one, other):
    return far[one] < far[other] or (
        far[one] == far[other] and cloud.number[one] < cloud.number[other]
    )


@njit(cache=True)
def _move(cloud, near, max_people, cluster, pieces, out):
    """Write these points, up to ``max_people``, as pieces of a cluster; returns all pieces."""
    point, class_, count = out
    for i in near:
        taken = min(max_people, cloud.people[i])
        point[pieces], class_[pieces], count[pieces] = cloud.number[i], cluster, taken
        pieces, max_people = pieces + 1, max_people - taken
        cloud.people[i] -= taken
        for j in range(len(cloud.places)):
            cloud.sums[j] -= taken * cloud.places[j, i]
        for j in range(len(cloud.codes)):
            cloud.category_people[cloud.codes[j, i]] -= taken
    return pieces


@njit(cache=True)
def _close_gaps(cloud, near, points):
    """Put the last of the points where one is used up; returns how many are left."""
    for i in np.sort(near)[::-1]:
        if cloud.people[i] == 0:
            points -= 1
            cloud.places[:, i] = cloud.places[:, points]
            cloud.codes[:, i] = cloud.codes[:, points]
            cloud.people[i], cloud.number[i] = cloud.people[points], cloud.number[points]
    return points


def halve_points(
    line: NDArray[np.float64], people: NDArray[np.int64], max_people: int, min_people: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points (columns, points) cut in two, again and again, until no part has over ``max_people``.

    Each part is cut nearest to its median in the column where its variance is largest, both halves
    having ``min_people``. Returns the points in the order of the parts, neighbours alike, and
    where each part begins, and the last one ends.
    """
    order, edges = np.arange(line.shape[1]), np.array([0, line.shape[1]])
    closed = np.zeros(1, np.bool_)
    while True:
        size = np.add.reduceat(people[order], edges[:-1])
        closed |= (size <= max_people) | (np.diff(edges) < 2)
        if closed.all():
            return order, edges
        at = np.flatnonzero(np.repeat(~closed, np.diff(edges)))
        part = np.repeat(np.arange((~closed).sum()), np.diff(edges)[~closed])
        order[at] = _sort_parts(line, people, order[at], part)
        cut, able = _find_middles(people[order[at]], part, min_people)
        closed[np.flatnonzero(~closed)[~able]] = True
        new = np.sort(np.append(edges, at[cut[able]] + 1))
        closed = closed[np.searchsorted(edges, new[:-1], side="right") - 1]
        edges = new


def _sort_parts(
    line: NDArray[np.float64], people: NDArray[np.int64], order: NDArray[Any], part: NDArray[Any]
) -> NDArray[np.int64]:
    """The points of each part by the column in which they vary most."""
    begin = np.flatnonzero(np.diff(part, prepend=-1))
    weight = people[order]
    total = np.add.reduceat(weight, begin)
    variance = np.empty((len(line), len(begin)))
    for j, column in enumerate(line):
        value = column[order]
        mean = np.add.reduceat(weight * value, begin) / total
        variance[j] = np.add.reduceat(weight * (value - mean[part]) ** 2, begin) / total
    return order[np.lexsort((line[variance.argmax(axis=0)[part], order], part))]


def _find_middles(
    weight: NDArray[np.int64], part: NDArray[Any], min_people: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """After which point each part is cut, nearest to half of its people, and whether it can be."""
    begin = np.flatnonzero(np.diff(part, prepend=-1))
    total = np.add.reduceat(weight, begin)
    left = np.cumsum(weight) - (np.cumsum(total) - total)[part]
    fits = (left >= min_people) & (total[part] - left >= max(min_people, 1))
    off = np.where(fits, np.abs(2 * left - total[part]), NO_CUT)
    best = np.minimum.reduceat(off, begin)
    hit = np.flatnonzero(off == best[part])
    return hit[np.unique(part[hit], return_index=True)[1]], best < NO_CUT
