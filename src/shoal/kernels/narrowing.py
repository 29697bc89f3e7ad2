"""Where a person could be, and what that leaves possible: the loops of the intersection attack.

``count_possible_values`` counts with bitsets, without a branch: for domains of up to some hundred
values. ``weigh_possible_values`` works on sparse histograms alone, so that neither a large domain
nor a class that everybody could be in (suppressed rows) makes it slow: a person costs about as much
as there are values left. ``find_nearest_classes`` finds the closest centroids.

``intersect_joined_values`` is for rows that are joined by a column: a class is in parts, one for
each value of that column. What is left is, of every such value, what all of the classes have
beside it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.bits import count_bits

SEARCH_RATIO = 8
"""So many times longer must a class's list be than a person's before searching beats merging."""
TINY = 1e-300
TOLERANCE = 1e-9
"""Distances that differ by less, relatively, are equal: sums of floats are not exact."""


@njit(cache=True, nogil=True)
def count_possible_values(first, last, start, classes, sets, prior, posterior):
    """Count the values that each release leaves possible for each person, and all of them together.

    Person ``i`` lies, by release ``j``, in ``classes[start[j, i] : start[j, i + 1]]``, and class
    ``c`` has the values ``sets[c]``, as bits. Fills ``prior`` (releases, people), ``posterior``.
    """
    left = np.empty(sets.shape[1], dtype=np.uint64)
    for i in range(first, last):
        left[:] = ~np.uint64(0)
        for j in range(len(start)):
            n = 0
            for word in range(len(left)):
                union = np.uint64(0)
                for at in range(start[j, i], start[j, i + 1]):
                    union |= sets[classes[at], word]
                left[word] &= union
                n += count_bits(union)
            prior[j, i] = n
        n = 0
        for word in left:
            n += count_bits(word)
        posterior[i] = n


@njit(cache=True, nogil=True)
def weigh_possible_values(
    first,
    last,
    people,
    start,
    classes,
    begin,
    value,
    count,
    share,
    truth,
    temperature,
    prior,
    posterior,
    best,
    stated,
    chance,
):
    """Intersect and weigh the values that each release leaves possible for each of ``people``.

    Person ``i`` lies, by release ``j``, in ``classes[start[j, i] : start[j, i + 1]]``; class ``c``
    has ``value[begin[c] : begin[c + 1]]``, ascending, ``count`` times each. Fills, by place in
    ``people``: ``prior`` (releases, people) and ``posterior``, how many values are possible before
    and after; ``best`` and ``stated``, the likeliest value and its tempered posterior; ``chance``,
    that of the person's ``truth`` (0: it is not among the values left).
    """
    last_stamp = np.full(len(share), -1, dtype=np.int64)
    left = np.empty(len(share), dtype=np.int32)
    occurrences = np.empty(len(share), dtype=np.int64)
    weight = np.empty(len(share), dtype=np.float64)
    stamp = 0
    for k in range(first, last):
        i, base = people[k], 0
        for j in range(len(start)):
            near = classes[start[j, i] : start[j, i + 1]]
            prior[j, k] = _distinct(near, begin, value, last_stamp, stamp)
            stamp += 1
            if prior[j, k] < prior[base, k]:
                base = j
        near = classes[start[base, i] : start[base, i + 1]]
        n = _union(near, begin, value, last_stamp, stamp, left)
        stamp += 1
        weight[:n] = share[left[:n]]
        for j in range(len(start)):
            occurrences[:n] = 0
            for c in classes[start[j, i] : start[j, i + 1]]:
                a, b = begin[c], begin[c + 1]
                _add(left[:n], value[a:b], count[a:b], occurrences)
            n = _keep(left, weight, occurrences, share, n)
        posterior[k] = n
        best[k], stated[k], chance[k] = _temper(left[:n], weight[:n], truth[i], temperature)


@njit(cache=True)
def _distinct(near, begin, value, last_stamp, stamp):
    """How many values the classes have together: those of the largest, and others' that it lacks.

    The largest is not walked through, only searched: it may be everybody's.
    """
    if len(near) == 0:
        return 0
    largest = near[0]
    for c in near:
        if begin[c + 1] - begin[c] > begin[largest + 1] - begin[largest]:
            largest = c
    has = value[begin[largest] : begin[largest + 1]]
    n = len(has)
    for c in near:
        if c != largest:
            for v in value[begin[c] : begin[c + 1]]:
                if last_stamp[v] != stamp:
                    last_stamp[v] = stamp
                    at = np.searchsorted(has, v)
                    n += at == len(has) or has[at] != v
    return n


@njit(cache=True)
def _union(near, begin, value, last_stamp, stamp, left):
    """Write the values of all the classes into ``left``, ascending; returns how many."""
    n = 0
    for c in near:
        for v in value[begin[c] : begin[c + 1]]:
            if last_stamp[v] != stamp:
                last_stamp[v] = stamp
                left[n] = v
                n += 1
    if len(near) > 1:
        left[:n].sort()
    return n


@njit(cache=True)
def _add(left, value, count, occurrences):
    """Add to ``occurrences`` how often one class has each of the values left; both lists ascend."""
    at = 0
    if len(value) > SEARCH_RATIO * len(left):
        for k in range(len(left)):
            at = np.searchsorted(value, left[k])
            if at < len(value) and value[at] == left[k]:
                occurrences[k] += count[at]
        return
    for k in range(len(left)):
        while at < len(value) and value[at] < left[k]:
            at += 1
        if at < len(value) and value[at] == left[k]:
            occurrences[k] += count[at]


@njit(cache=True)
def _keep(left, weight, occurrences, share, n):
    """Drop the values that a release does not have, and weigh the others by how often it has them.

    Weights are kept relative to the largest, so that no number of releases makes all of them 0.
    """
    n_left, largest = 0, 0.0
    for k in range(n):
        if occurrences[k] > 0:
            left[n_left] = left[k]
            weight[n_left] = weight[k] * occurrences[k] / share[left[k]]
            largest = max(largest, weight[n_left])
            n_left += 1
    for k in range(n_left):
        weight[k] = max(weight[k] / largest, TINY)
    return n_left


@njit(cache=True)
def _temper(left, weight, truth, temperature):
    """The likeliest value (the lowest of equals), its share of weight^(1/temperature), truth's."""
    total, top, true, best = 0.0, -1.0, 0.0, -1
    for k in range(len(left)):
        tempered = weight[k] if temperature == 1.0 else weight[k] ** (1.0 / temperature)
        total += tempered
        if weight[k] > top:
            top, best = weight[k], left[k]
        if left[k] == truth:
            true = max(tempered, TINY)
    if total == 0.0:
        return -1, 0.0, 0.0
    return best, 1.0 / total, true / total  # the likeliest value's own weight is 1


@njit(cache=True, nogil=True)
def find_nearest_classes(
    first,
    last,
    points,
    places,
    middle,
    null,
    scale,
    codes,
    low,
    high,
    sets,
    set_of,
    room,
    at,
    number,
    classes,
):
    """For each of the ``points`` the classes nearest to it, all of them where several are.

    ``places`` (columns, points; nan: null) are compared with ``middle`` (columns, classes; nan:
    null alone) over ``scale``, ``null`` saying where null lies in the cell; ``codes`` (columns,
    points) match ``low..high`` (columns, classes) or ``sets`` or do not. Writes how many there are
    into ``number`` and up to ``room`` of them from ``at`` on into ``classes``.
    """
    far = np.empty(middle.shape[1], dtype=np.float64)
    for k in range(first, last):
        i = points[k]
        far[:] = 0.0
        for j in range(len(places)):
            _add_numeric(places[j, i], middle[j], null[j], scale[j], far)
        for j in range(len(codes)):
            if set_of[j] < 0:
                for c in range(len(far)):
                    far[c] += codes[j, i] < low[j, c] or codes[j, i] > high[j, c]
            else:
                word, bit = set_of[j] + (codes[j, i] >> 6), np.uint64(codes[j, i] & 63)
                for c in range(len(far)):
                    far[c] += not (sets[c, word] >> bit) & np.uint64(1)
        limit, n = far.min() * (1 + TOLERANCE) + TOLERANCE * TOLERANCE, 0
        for c in range(len(far)):
            if far[c] <= limit:
                if n < room[i]:
                    classes[at[i] + n] = c
                n += 1
        number[i] = n


@njit(cache=True)
def _add_numeric(place, middle, null, scale, far):
    """Add squared scaled differences; null and a number differ by 1, as two categories do."""
    if np.isnan(place):
        for c in range(len(far)):
            far[c] += not null[c]
        return
    for c in range(len(far)):
        apart = (place - middle[c]) * scale
        far[c] += 1.0 if np.isnan(apart) else apart * apart


@njit(cache=True, nogil=True)
def intersect_joined_values(start, joined, values, combinations, l, left, narrowed):
    """What each combination leaves, and whether it exposes who is known to have the joined value.

    ``start[s, c]`` is where class ``c`` of side ``s`` begins among all parts, ``joined`` and
    ``values`` are the parts' own, ascending by ``joined`` within a class. A combination is a class
    of each side. Of each part of the last side ``narrowed`` becomes true where fewer than ``l``
    values are left beside its own joined value, and fewer than each of the parts has alone.
    """
    words = values.shape[1]
    common = np.empty(words, np.uint64)
    sides = combinations.shape[1]
    for number in range(len(combinations)):
        last = combinations[number, sides - 1]
        for part in range(start[sides - 1, last], start[sides - 1, last + 1]):
            own = 0
            for word in range(words):
                common[word] = values[part, word]
                own += count_bits(values[part, word])
            fewest, met = own, True
            for side in range(sides - 1):
                class_ = combinations[number, side]
                low, high = start[side, class_], start[side, class_ + 1]
                at = low + np.searchsorted(joined[low:high], joined[part])
                if at == high or joined[at] != joined[part]:
                    met = False
                    break
                own = 0
                for word in range(words):
                    common[word] &= values[at, word]
                    own += count_bits(values[at, word])
                fewest = min(fewest, own)
            if not met:
                continue
            number_left = 0
            for word in range(words):
                left[number, word] |= common[word]
                number_left += count_bits(common[word])
            if 0 < number_left < l and number_left < fewest:
                narrowed[part] = True
