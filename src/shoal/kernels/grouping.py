"""Count values per class: the one group-by that everything behind the door needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def tabulate(
    class_: NDArray[Any], value: NDArray[Any], count: NDArray[Any], classes: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Sum ``count`` per (class, value): start (classes + 1), values ascending in a class, counts.

    Negative classes do not count. Linear in entries, classes and size; the only memory beyond the
    result is one counter per value.
    """
    assert len(class_) == len(value) == len(count), "columns of one table are equally long"
    start, value, count = _gather(
        np.ascontiguousarray(class_, dtype=np.int32),
        np.ascontiguousarray(value, dtype=np.int32),
        np.ascontiguousarray(count, dtype=np.int64),
        classes,
    )
    pairs = _sum_equal(start, value, count, size)
    return start, value[:pairs].copy(), count[:pairs].copy()


@njit(cache=True)
def _gather(class_, value, count, classes):
    """Values and counts class by class, and where each class begins."""
    start = np.zeros(classes + 1, dtype=np.int64)
    for i in range(len(class_)):
        if class_[i] >= 0 and count[i] > 0:
            start[class_[i] + 1] += 1
    for c in range(classes):
        start[c + 1] += start[c]
    at = start[:-1].copy()
    values = np.empty(start[-1], dtype=np.int32)
    counts = np.empty(start[-1], dtype=np.int64)
    for i in range(len(class_)):
        c = class_[i]
        if c >= 0 and count[i] > 0:
            values[at[c]], counts[at[c]] = value[i], count[i]
            at[c] += 1
    return start, values, counts


@njit(cache=True)
def _sum_equal(start, value, count, size):
    """Add up equal values of a class, ascending, in place; ``start`` is moved along."""
    counter = np.zeros(size, dtype=np.int64)
    touched = np.empty(size, dtype=np.int32)
    pairs = begin = 0
    for c in range(len(start) - 1):
        n = 0
        for i in range(begin, start[c + 1]):
            if counter[value[i]] == 0:
                touched[n] = value[i]
                n += 1
            counter[value[i]] += count[i]
        begin = start[c + 1]
        write_counts(counter, touched[:n], value, count, pairs)
        pairs += n
        start[c + 1] = pairs
    return pairs


@njit(cache=True)
def write_counts(counter, touched, value, number, at):
    """Write the counted values from ``at`` on in ascending order, and forget their counts."""
    if len(touched) < 32:
        for i in range(1, len(touched)):  # few values: insertion beats a general sort
            v, k = touched[i], i
            while k > 0 and touched[k - 1] > v:
                touched[k] = touched[k - 1]
                k -= 1
            touched[k] = v
    else:
        touched.sort()
    for i in range(len(touched)):
        v = touched[i]
        value[at + i], number[at + i] = v, counter[v]
        counter[v] = 0


def number_combinations(
    keys: Iterable[NDArray[Any]], sizes: Iterable[int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the entries alike that agree in every column of codes, and find each number's first.

    ``keys`` (columns, entries) are codes below ``sizes`` (columns,).
    """
    columns = list(keys)
    key = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    top = 1
    for column, size in zip(columns, sizes, strict=True):
        if top > 2**63 // max(size, 1):  # the next column would overflow: renumber what there is
            number, first = number_keys(key)
            key, top = number.astype(np.uint64), len(first)
        key *= np.uint64(size)
        # Signed codes would else be added as doubles, which are exact to 2**53 only.
        np.add(key, column, out=key, dtype=np.uint64, casting="unsafe")
        top *= size
    numbers_and_firsts: tuple[NDArray[np.int32], NDArray[np.int64]] = number_keys(key)
    return numbers_and_firsts


@njit(cache=True)
def number_keys(key):
    """Number equal keys alike, by first appearance: the number of each, and each number's first.

    An open hash table on 64-bit keys, because sorting them takes several times as long.
    """
    bits = 4
    while (1 << bits) < 2 * len(key):
        bits += 1
    mask = (1 << bits) - 1
    slot = np.full(1 << bits, -1, dtype=np.int32)
    number = np.empty(len(key), dtype=np.int32)
    first = np.empty(len(key), dtype=np.int64)
    n = 0
    for i in range(len(key)):
        mixed = np.uint64(key[i]) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(mixed >> np.uint64(64 - bits))
        while slot[at] >= 0 and key[first[slot[at]]] != key[i]:
            at = (at + 1) & mask
        if slot[at] < 0:
            slot[at] = n
            first[n] = i
            n += 1
        number[i] = slot[at]
    return number, first[:n].copy()


@njit(cache=True)
def find_extents(keys, entry, class_, classes):
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
def collect_code_sets(codes, entry, class_, classes, words):
    """The set of codes in each class as bits: a (classes, words) array of 64-bit words."""
    bits = np.zeros((classes, words), dtype=np.uint64)
    for i in range(len(entry)):
        c = class_[i]
        if c >= 0:
            code = codes[entry[i]]
            bits[c, code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return bits
