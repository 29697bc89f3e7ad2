"""Count values per class: the one group-by that everything behind the door needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def tabulate(
    class_: NDArray[Any], value: NDArray[Any], count: NDArray[Any], classes: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Sum ``count`` per (class, value): start (classes + 1), values ascending in a class, counts.

    Negative classes do not count. Two counting sorts, so linear in entries, classes and size.
    """
    return _tabulate(  # type: ignore[no-any-return]
        np.ascontiguousarray(class_, dtype=np.int32),
        np.ascontiguousarray(value, dtype=np.int32),
        np.ascontiguousarray(count, dtype=np.int64),
        classes,
        size,
    )


@njit(cache=True)
def _tabulate(class_, value, count, classes, size):
    by_value = _sorted_by(value, np.arange(len(value)), size)
    kept = by_value[class_[by_value] >= 0]
    order = _sorted_by(class_, kept, classes)
    values = np.empty(len(order), dtype=np.int32)
    counts = np.empty(len(order), dtype=np.int64)
    start = np.zeros(classes + 1, dtype=np.int64)
    pairs = 0
    last_class, last_value = -1, -1
    for i in order:
        if count[i] == 0:
            continue
        if class_[i] != last_class or value[i] != last_value:
            last_class, last_value = class_[i], value[i]
            values[pairs] = last_value
            counts[pairs] = 0
            start[last_class + 1] += 1
            pairs += 1
        counts[pairs - 1] += count[i]
    for c in range(classes):
        start[c + 1] += start[c]
    return start, values[:pairs].copy(), counts[:pairs].copy()


@njit(cache=True)
def _sorted_by(key, index, size):
    """``index`` in the order of ``key[index]``, stable."""
    begin = np.zeros(size + 1, dtype=np.int64)
    for i in index:
        begin[key[i] + 1] += 1
    for k in range(size):
        begin[k + 1] += begin[k]
    out = np.empty(len(index), dtype=np.int64)
    for i in index:
        out[begin[key[i]]] = i
        begin[key[i]] += 1
    return out


@njit(cache=True)
def extents(keys, entry, class_, classes):
    """The lowest and highest code of each column in each class: two (classes, columns) arrays."""
    columns = keys.shape[0]
    low = np.full((classes, columns), 2**31 - 1, dtype=np.int32)
    high = np.full((classes, columns), -1, dtype=np.int32)
    for i in range(len(entry)):
        c = class_[i]
        if c < 0:
            continue
        for j in range(columns):
            code = keys[j, entry[i]]
            low[c, j] = min(low[c, j], code)
            high[c, j] = max(high[c, j], code)
    return low, high


@njit(cache=True)
def members(codes, entry, class_, classes, words):
    """The set of codes in each class as bits: a (classes, words) array of 64-bit words."""
    bits = np.zeros((classes, words), dtype=np.uint64)
    for i in range(len(entry)):
        c = class_[i]
        if c >= 0:
            code = codes[entry[i]]
            bits[c, code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return bits
