"""What is left of a class without some of its providers: how few rows, how few values.

Classes lie side by side: class ``i`` has the pairs ``start[i]:start[i+1]`` of provider and value,
ascending by provider. Each class may lose all rows of up to ``max_members[i]`` providers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.bits import count_bits

SAFE, BROKEN, UNDECIDED = 0, 1, 2
MAX_NODES = 1 << 17
"""After so many steps the search for one class gives up."""


@njit(cache=True, nogil=True)
def find_largest_providers(first, last, start, provider, count, max_members, taken, members):
    """Per class the ``max_members`` largest providers, and how many rows they have."""
    for c in range(first, last):
        a, b = start[c], start[c + 1]
        order = np.argsort(-count[a:b], kind="mergesort")
        total = np.int64(0)
        for i in range(max_members[c]):
            members[c, i] = provider[a + order[i]]
            total += count[a + order[i]]
        taken[c] = total


@njit(cache=True, nogil=True)
def search_value_coalitions(
    first, last, start, provider, value, max_members, l, values, state, members
):
    """Per class whether its providers can leave fewer than ``l`` values, and which of them do.

    A value is gone when all its providers are: of d values some d − l + 1 must have at most
    ``max_members`` providers together. Seen from the other side, of n providers some
    n − ``max_members`` must stay that have fewer than ``l`` values together. Both are the same
    problem (minimum q-union), and where one search is long the other is often short. ``state`` is
    SAFE, BROKEN with the coalition in ``members``, or UNDECIDED where both were given up.
    """
    number = np.full(values, -1, dtype=np.int64)
    for c in range(first, last):
        a, b = start[c], start[c + 1]
        d = _number_values(value[a:b], number)
        if d < l:
            state[c] = BROKEN
        elif max_members[c] > 0:
            what = number[value[a:b]]
            size = np.bincount(what, minlength=d)  # pairs are distinct
            if np.sum(size <= max_members[c]) > d - l:  # else too few values can be gone at all
                state[c] = _search_both_sides(
                    provider[a:b], what, size, d, max_members[c], l, members[c]
                )
        for i in range(a, b):
            number[value[i]] = -1


@njit(cache=True)
def _number_values(value, number):
    """Number the values of a class by first appearance; returns how many there are."""
    d = 0
    for v in value:
        if number[v] < 0:
            number[v] = d
            d += 1
    return d


@njit(cache=True)
def _search_both_sides(provider, what, size, d, max_members, l, members):
    """Search for the values that are gone, then for the providers that stay."""
    code = np.empty(len(provider), dtype=np.int64)
    n = 0
    for i in range(len(provider)):
        n += i == 0 or provider[i] != provider[i - 1]
        code[i] = n - 1
    state_found, gone = _search_cover(what, code, size, n, max_members, d - l + 1)
    if state_found == UNDECIDED:
        state_found, remaining = _search_cover(
            code, what, np.bincount(code, minlength=n), d, l - 1, n - max_members
        )
        if state_found == BROKEN:
            gone[:] = 0
            for i in range(len(provider)):  # who has a value beside those that are kept is gone
                if not _has(remaining, what[i]):
                    _put(gone, code[i])
    if state_found == BROKEN:
        m = 0
        for i in range(len(provider)):
            if (i == 0 or provider[i] != provider[i - 1]) and _has(gone, code[i]):
                members[m] = provider[i]
                m += 1
    return state_found


@njit(cache=True)
def _search_cover(set_, element, size, elements, max_elements, need):
    """Whether ``need`` of the sets have at most ``max_elements`` together, and these elements.

    Pairs say which set has which element; ``size`` how many each set has.
    """
    words = (elements + 63) // 64
    small = np.sum(size <= max_elements)
    spare = small - need
    if spare < 0:
        return SAFE, np.zeros(words, dtype=np.uint64)
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.argsort(np.where(size <= max_elements, -size, size), kind="mergesort")] = np.arange(
        len(size)
    )
    sets = np.zeros((small, words), dtype=np.uint64)
    rest = np.zeros((small + 1, elements), dtype=np.int32)
    for i in range(len(set_)):
        if rank[set_[i]] < small:
            _put(sets[rank[set_[i]]], element[i])
            rest[rank[set_[i]], element[i]] = 1
    for s in range(small - 1, -1, -1):
        rest[s] += rest[s + 1]
    union = np.zeros((small + 1, words), dtype=np.uint64)
    if _add_forced(union[0], rest[0], spare) > max_elements:
        return SAFE, union[0]
    at = _search_union(sets, union, spare, max_elements, rest)
    return (BROKEN if at >= 0 else UNDECIDED if at == -2 else SAFE), union[max(at, 0)]


@njit(cache=True, inline="always")
def _put(bits, e):
    bits[e >> 6] |= np.uint64(1) << np.uint64(e & 63)


@njit(cache=True, inline="always")
def _has(bits, e):
    return (bits[e >> 6] >> np.uint64(e & 63)) & np.uint64(1) == np.uint64(1)


@njit(cache=True)
def _search_union(sets, union, spare, max_elements, rest):
    """Take or skip each set in turn, at most ``spare`` skipped; the row of ``union`` that does it.

    ``rest`` counts the sets from each one on that have an element: one that is in more of them
    than may be skipped is taken at once. −1: there is no such row; −2: given up.
    """
    skipped = np.zeros(len(sets) + 1, dtype=np.int64)
    weight = np.empty(rest.shape[1])
    tried = np.zeros(len(sets) + 1, dtype=np.uint8)  # 0: nothing yet, 1: taken, 2: skipped too
    i = nodes = 0
    while i >= 0:
        if i == len(sets):
            return i
        nodes += 1
        if nodes > MAX_NODES:
            return -2
        tried[i] += 1
        go = False
        if tried[i] == 1:
            union[i + 1] = union[i] | sets[i]
            if (union[i + 1] == union[i]).all():
                tried[i] = 2  # costs nothing, so skipping it cannot help
            skipped[i + 1] = skipped[i]
            go = True
        elif tried[i] == 2 and skipped[i] < spare:
            union[i + 1] = union[i]
            skipped[i + 1] = skipped[i] + 1
            go = True
        left = spare - skipped[i + 1]
        if go and _add_forced(union[i + 1], rest[i + 1], left) <= max_elements:
            go = (
                _bound_taken(sets[i + 1 :], union[i + 1], max_elements, weight)
                >= len(sets) - i - 1 - left
            )
        else:
            go = False
        if go:
            i += 1
            tried[i] = 0
        elif tried[i] >= 2:
            i -= 1
    return -1


@njit(cache=True)
def _add_forced(union, rest, spare):
    """Add the elements that more than ``spare`` of the sets to come have; how many there are."""
    for e in range(len(rest)):
        if rest[e] > spare:
            _put(union, e)
    return _count_members(union)


@njit(cache=True)
def _bound_taken(sets, union, max_elements, weight):
    """No more of the sets than this can be taken together.

    One that adds nothing always can. Of the others each that fits by itself is shared out evenly
    to the elements that it adds: with so many elements to add as there is room for, no more can
    be taken than the heaviest of them weigh.
    """
    weight[:] = 0
    free = 0
    for s in range(len(sets)):
        size = added = 0
        for w in range(len(union)):
            size += count_bits(sets[s, w] | union[w])
            added += count_bits(sets[s, w] & ~union[w])
        free += added == 0
        if added > 0 and size <= max_elements:
            for w in range(len(union)):
                word = sets[s, w] & ~union[w]
                while word:
                    lowest = word & (~word + np.uint64(1))
                    weight[w * 64 + count_bits(lowest - np.uint64(1))] += 1 / added
                    word ^= lowest
    room = min(max_elements - _count_members(union), len(weight))
    return free + np.int64(np.sort(weight)[len(weight) - room :].sum() + 1e-6)


@njit(cache=True)
def _count_members(words):
    n = 0
    for word in words:
        n += count_bits(word)
    return n
