"""The speed limit: a bare strict Mondrian on codes, k only, and nothing else.

No models, no cells, no trees, no counts: the same cuts as ``shoal.methods.mondrian`` on ordered
axes (widest column by codes over its domain, first column where equal; cut nearest to half), depth
first so that small segments stay in the processor's cache, on one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

BUCKETS = 256


def bare(keys: NDArray[Any], sizes: NDArray[np.int64], k: int) -> tuple[Any, Any]:
    """Classes of rows of codes (columns, rows): the rows' order, and where in it classes begin."""
    widest = np.maximum(sizes - 1, 1).astype(np.float64)
    order, start = _mondrian(np.ascontiguousarray(keys).copy(), widest, k)
    return order, start


@njit(cache=True)
def _mondrian(keys, widest, k):  # type: ignore[no-untyped-def]
    columns, rows = keys.shape
    order = np.arange(rows).astype(np.int32)
    out = np.empty((rows, 2), np.int32)  # rows that lie on the wrong side of a cut
    seen = np.empty(BUCKETS, np.int64)
    low, high = np.empty(columns, np.int64), np.empty(columns, np.int64)
    width = np.empty(columns)
    starts = np.empty(rows // k + 1, np.int64)
    classes, depth = 0, 1
    stack = np.empty((4096, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, rows
    while depth:
        depth -= 1
        start, stop = stack[depth, 0], stack[depth, 1]
        middle = start
        if stop - start >= 2 * k:
            for j in range(columns):
                low[j], high[j] = _extent(keys[j, start:stop])
                width[j] = (high[j] - low[j]) / widest[j]
            middle = _cut(keys, order, out, seen, low, high, width, start, stop, k)
        if middle == start:
            starts[classes] = start
            classes += 1
        else:
            stack[depth, 0], stack[depth, 1] = middle, stop
            stack[depth + 1, 0], stack[depth + 1, 1] = start, middle
            depth += 2
    return order, starts[:classes]


@njit(cache=True)
def _extent(codes):  # type: ignore[no-untyped-def]
    smallest = largest = codes[0]
    for code in codes:
        smallest = min(smallest, code)
        largest = max(largest, code)
    return smallest, largest


@njit(cache=True)
def _cut(keys, order, out, seen, low, high, width, start, stop, k):  # type: ignore[no-untyped-def]
    """Cut on the widest column where both halves keep k; returns where the right half begins."""
    n = stop - start
    for _ in range(len(width)):
        j = np.argmax(width)
        if width[j] <= 0:
            break
        place, before, here = _median(keys[j, start:stop], seen, low[j], high[j], (n + 1) // 2)
        left = before + here
        if before > 0 and n - 2 * before <= abs(2 * left - n):
            place, left = place - 1, before
        if k <= left <= n - k:
            _part(keys, order, out, j, start, stop, start + left, place)
            return start + left
        width[j] = 0.0
    return start


@njit(cache=True)
def _median(codes, seen, first, last, half):  # type: ignore[no-untyped-def]
    """The code of the ``half``-th row, the rows before that code and those at it."""
    before = 0
    while True:
        shift = 0
        while (last - first) >> shift >= BUCKETS:
            shift += 1
        seen[: ((last - first) >> shift) + 1] = 0
        for code in codes:
            at = np.int64(code) - first
            if 0 <= at <= last - first:
                seen[at >> shift] += 1
        bucket = 0
        while before + seen[bucket] < half:
            before += seen[bucket]
            bucket += 1
        if shift == 0:
            return first + bucket, before, seen[bucket]
        first += bucket << shift
        last = min(last, first + (1 << shift) - 1)


@njit(cache=True)
def _part(keys, order, out, j, start, stop, middle, place):  # type: ignore[no-untyped-def]
    """Swap the rows that lie on the wrong side; found without a branch, then column by column."""
    codes = keys[j]
    wrong = 0
    for r in range(start, middle):
        out[wrong, 0] = r
        wrong += codes[r] > place
    other = 0
    for r in range(middle, stop):
        out[other, 1] = r
        other += codes[r] <= place
    for i in range(keys.shape[0]):
        column = keys[i]
        for w in range(wrong):
            a, b = out[w, 0], out[w, 1]
            column[a], column[b] = column[b], column[a]
    for w in range(wrong):
        a, b = out[w, 0], out[w, 1]
        order[a], order[b] = order[b], order[a]
