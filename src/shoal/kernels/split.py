"""Cut many segments of rows at once: their spans, balanced cuts, both halves, and the parting.

Rows lie column by column (``keys`` (columns, rows)); a segment is ``start[i]..stop[i]``. A cut of
a segment on a column compares *places*: the code itself, or the number of the node that holds it
on a level of the column's tree (``lift``: from the coarsest level to the finest). Rows with a
place up to ``cut`` go left; of those exactly at it only the first ``quota`` people.

Each kernel works on the segments or candidates ``first..last``, so that threads can share them
(``threads.share_out``); scratch memory is made once per call, and loops run over slices, which the
compiler vectorises where it could not with indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.grouping import write_counts

BUCKETS = 256
SCAN_ROWS = 4096
"""After so many rows a scan asks whether there is anything left to find."""
NO_QUOTA = np.int64(2**62)
"""A quota that no segment exceeds: everybody at the cut goes left."""


class PlacedCuts(NamedTuple):
    """Candidates whose cuts are found; a row of each array for a candidate, but of ``lift``."""

    segment: NDArray[Any]
    column: NDArray[Any]
    begin: NDArray[Any]
    """Where in ``lift`` the places of its level begin; -1: codes are places."""
    lift: NDArray[Any]
    cut: NDArray[Any]
    quota: NDArray[Any]


@njit(cache=True, nogil=True)
def fill_spans(first, last, keys, start, stop, set_at, had, low, high, bits):
    """Fill the lowest and highest code per segment and column, and the sets of set columns.

    ``low``, ``high`` and ``had`` (the sets) come in as those of the parents: a column with one
    code is not read, and no column further than until all that its parent had has been seen.
    """
    for s in range(first, last):
        for j in range(keys.shape[0]):
            codes, at = keys[j, start[s] : stop[s]], set_at[j]
            if low[s, j] == high[s, j]:
                if at >= 0:
                    _add(bits, s, at, low[s, j])
            elif at < 0:
                low[s, j], high[s, j] = _extent(codes, low[s, j], high[s, j])
            else:
                if high[s, j] < 64:
                    bits[s, at] = _small_set(codes, had[s, at])
                else:
                    for code in codes:
                        _add(bits, s, at, np.int64(code))
                low[s, j], high[s, j] = _set_ends(bits[s, at:], low[s, j], high[s, j])


@njit(cache=True)
def _extent(codes, low, high):
    smallest = largest = codes[0]
    for begin in range(0, len(codes), SCAN_ROWS):
        for code in codes[begin : begin + SCAN_ROWS]:
            smallest = min(smallest, code)
            largest = max(largest, code)
        if smallest == low and largest == high:
            break
    return smallest, largest


@njit(cache=True)
def _small_set(codes, had):
    word = np.uint64(0)
    for begin in range(0, len(codes), SCAN_ROWS):
        for code in codes[begin : begin + SCAN_ROWS]:
            word |= np.uint64(1) << np.uint64(code)
        if word == had:
            break
    return word


@njit(cache=True, inline="always")
def _add(bits, row, begin, code):
    bits[row, begin + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)


@njit(cache=True)
def _set_ends(bits, first, last):
    """The lowest and the highest member of a set, inside the bounds given."""
    while not (bits[first >> 6] >> np.uint64(first & 63)) & np.uint64(1):
        first += 1
    while not (bits[last >> 6] >> np.uint64(last & 63)) & np.uint64(1):
        last -= 1
    return first, last


@njit(cache=True)
def _find_level(low, high, lift, lift_at, levels, size):
    """Where the places begin that tell low from high apart on the coarsest level; -1: the codes."""
    for level in range(levels):
        begin = lift_at + level * size
        if lift[begin + low] != lift[begin + high]:
            return begin
    return -1


@njit(cache=True, inline="always")
def _place(code, begin, lift):
    return np.int64(code) if begin < 0 else np.int64(lift[begin + code])


@njit(cache=True)
def _find_median(codes, count, begin, lift, counter, first, last, half):
    """The place that holds the ``half``-th person, the people before it and the people at it."""
    before = np.int64(0)
    buckets = 16
    while buckets < 2 * len(codes) and buckets < BUCKETS:
        buckets *= 2
    while True:
        shift = 0
        while (last - first) >> shift >= buckets:
            shift += 1
        counter[: ((last - first) >> shift) + 1] = 0
        if begin < 0:
            for r in range(len(codes)):
                at = np.int64(codes[r]) - first
                if 0 <= at <= last - first:
                    counter[at >> shift] += count[r]
        else:
            for r in range(len(codes)):
                at = np.int64(lift[begin + codes[r]]) - first
                if 0 <= at <= last - first:
                    counter[at >> shift] += count[r]
        bucket = 0
        while before + counter[bucket] < half:
            before += counter[bucket]
            bucket += 1
        if shift == 0:
            return first + bucket, before, counter[bucket]
        first += bucket << shift
        last = min(last, first + (1 << shift) - 1)


@njit(cache=True, nogil=True)
def find_balanced_cuts(
    first,
    last,
    keys,
    count,
    start,
    stop,
    people,
    low,
    high,
    segment,
    column,
    free,
    relaxed,
    lift,
    lift_at,
    levels,
    sizes,
    begin,
    cut,
    quota,
    left,
):
    """For each candidate (segment, column) the cut nearest to half of the people.

    Cuts fall between nodes of the coarsest level that tells the segment's codes apart; where
    ``free``, between any two codes. Fills ``begin`` (of the places), ``cut``, ``quota`` and the
    people ``left`` of the cut (0: there is none).
    """
    counter = np.empty(BUCKETS, dtype=np.int64)
    for c in range(first, last):
        s, j = segment[c], column[c]
        lowest, highest = np.int64(low[s, j]), np.int64(high[s, j])
        at = np.int64(-1)
        if not free[c]:
            at = _find_level(lowest, highest, lift, lift_at[j], levels[j], sizes[j])
        begin[c] = at
        n = people[s]
        place, before, here = _find_median(
            keys[j, start[s] : stop[s]],
            count[start[s] : stop[s]],
            at,
            lift,
            counter,
            _place(lowest, at, lift),
            _place(highest, at, lift),
            (n + 1) // 2,
        )
        quota[c] = NO_QUOTA
        if relaxed:
            cut[c], quota[c], left[c] = place, n // 2 - before, n // 2
        elif before > 0 and n - 2 * before <= abs(2 * (before + here) - n):
            cut[c], left[c] = place - 1, before
        else:
            cut[c], left[c] = place, before + here
        if left[c] == n:
            left[c] = 0


@njit(cache=True)
def _count_longest(segment, start, stop):
    """The rows of the longest segment."""
    rows = 0
    for s in segment:
        rows = max(rows, stop[s] - start[s])
    return rows


@njit(cache=True)
def _mark_right(codes, count, begin, lift, cut, quota, right):
    """Mark the rows that go right; returns how many go left."""
    n = len(codes)
    left = 0
    if quota == NO_QUOTA and begin < 0:
        for r in range(n):
            right[r] = codes[r] > cut
            left += codes[r] <= cut
        return left
    used = np.int64(0)
    for r in range(n):
        place = _place(codes[r], begin, lift)
        goes_left = place < cut or (place == cut and used < quota)
        if place == cut:
            used += count[r]
        right[r] = not goes_left
        left += goes_left
    return left


@njit(cache=True, nogil=True)
def count_halves(
    first, last, keys, values, count, start, stop, cuts, size, room, value, number, pairs
):
    """The sparse histograms of ``values`` in both halves of each candidate.

    Half ``2 c`` (left) and ``2 c + 1`` (right) write up to ``room[h + 1] - room[h]`` pairs at
    ``room[h]``, ascending by value: ``value``, ``number``, and in ``pairs`` how many.
    """
    segment, column, begin, lift, cut, quota = cuts
    longest = _count_longest(segment[first:last], start, stop)
    counter = np.zeros((2, size), dtype=np.int64)
    touched = np.empty((2, size), dtype=np.int32)
    right = np.empty(longest, dtype=np.uint8)
    for c in range(first, last):
        s = segment[c]
        a, b = start[s], stop[s]
        _mark_right(keys[column[c], a:b], count[a:b], begin[c], lift, cut[c], quota[c], right)
        n = _count_sides(values[a:b], count[a:b], right, counter, touched)
        for side in range(2):
            write_counts(counter[side], touched[side, : n[side]], value, number, room[2 * c + side])
            pairs[2 * c + side] = n[side]


@njit(cache=True)
def _count_sides(values, count, right, counter, touched):
    """Count the values of both sides; returns how many values each has."""
    lefts, rights = 0, 0
    for r in range(len(values)):
        v, side = values[r], right[r]
        before = counter[side, v]
        counter[side, v] = before + count[r]
        if before == 0:
            if side:
                touched[1, rights] = v
                rights += 1
            else:
                touched[0, lefts] = v
                lefts += 1
    return lefts, rights


@njit(cache=True, nogil=True)
def fill_half_spans(first, last, keys, count, start, stop, cuts, set_at, low, high, bits):
    """As ``fill_spans``, for both halves of each candidate: fills rows ``2 c`` and ``2 c + 1``."""
    segment, column, begin, lift, cut, quota = cuts
    longest = _count_longest(segment[first:last], start, stop)
    right = np.empty(longest, dtype=np.uint8)
    for c in range(first, last):
        a, b = start[segment[c]], stop[segment[c]]
        _mark_right(keys[column[c], a:b], count[a:b], begin[c], lift, cut[c], quota[c], right)
        for i in range(keys.shape[0]):
            for r in range(b - a):
                half, code = 2 * c + right[r], np.int64(keys[i, a + r])
                low[half, i] = min(low[half, i], code)
                high[half, i] = max(high[half, i], code)
                if set_at[i] >= 0:
                    _add(bits, half, set_at[i], code)


@njit(cache=True, nogil=True)
def partition_segments(first, last, keys, values, count, entry, start, stop, cuts, middle):
    """Order each cut segment's rows in place, left half first; ``middle``: where right begins."""
    segment, column, begin, lift, cut, quota = cuts
    longest = _count_longest(segment[first:last], start, stop)
    right = np.empty(longest, dtype=np.uint8)
    swap = np.empty((2, longest), dtype=np.int32)
    for c in range(first, last):
        a, b = start[segment[c]], stop[segment[c]]
        codes = keys[column[c], a:b]
        if quota[c] == NO_QUOTA and begin[c] < 0:
            left, wrong = _pair_misplaced_codes(codes, cut[c], swap)
        else:
            left = _mark_right(codes, count[a:b], begin[c], lift, cut[c], quota[c], right)
            wrong = _pair_misplaced(right[: b - a], left, swap)
        for i in range(keys.shape[0]):
            _swap(keys[i, a:b], swap, wrong)
        for i in range(values.shape[0]):
            _swap(values[i, a:b], swap, wrong)
        _swap(count[a:b], swap, wrong)
        _swap(entry[a:b], swap, wrong)
        middle[c] = a + left


@njit(cache=True)
def _pair_misplaced_codes(codes, cut, swap):
    """As ``_pair_misplaced``, straight from the codes: the common case, with no row marked."""
    left = wrong = other = 0
    for code in codes:
        left += code <= cut
    for r in range(left):
        swap[0, wrong] = r
        wrong += codes[r] > cut
    for r in range(left, len(codes)):
        swap[1, other] = r
        other += codes[r] <= cut
    return left, wrong


@njit(cache=True)
def _pair_misplaced(right, left, swap):
    """Pair the rows on the wrong side, found without a branch; returns how many pairs."""
    wrong = other = 0
    for r in range(left):
        swap[0, wrong] = r
        wrong += right[r]
    for r in range(left, len(right)):
        swap[1, other] = r
        other += 1 - right[r]
    return wrong


@njit(cache=True)
def _swap(column, swap, wrong):
    for w in range(wrong):
        a, b = swap[0, w], swap[1, w]
        column[a], column[b] = column[b], column[a]
