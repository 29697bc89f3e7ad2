"""A tree of boxes: which boxes a point lies in, or another box meets, without asking them all.

A box has a range ``low..high`` of codes per column; a column may hold a set of codes besides, bits
over 64-bit words, and then its range goes from the smallest member to the largest.

Each node divides its boxes in two by one column and knows the highest code of the first half there
and the lowest of the second; the halves may overlap (a bounding interval hierarchy; Wächter and
Keller: Instant ray tracing, EGSR 2006). Whole boxes, sets included, are compared at the leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.threads import share_out

LEAF_BOXES = 8
"""A node with at most so many boxes is not divided."""
BINS = 64
"""So many places to divide a node are weighed in each column."""
MIN_SHARE = 16
"""A half has at least one box in so many, so that no tree is deep."""
MAX_DEPTH = 512
"""More than a tree of 2^31 boxes can be deep then."""
ABOVE_EVERY_CODE = 2**31
"""Above every code."""

Bits = NDArray[np.uint64]
Ranges = NDArray[np.int32]


class BoxTree(NamedTuple):
    """Boxes in the order of the leaves, and nodes: after each its first half, then its second."""

    box: NDArray[np.int64]
    """The number of each box; boxes that are empty in some column are not in the tree."""
    node: NDArray[np.int32]
    """(nodes, 4): column, highest code of the first half, lowest of the second, where the second
    is; of a leaf -1, then its boxes, from and up to."""
    span: NDArray[np.int32]
    """(boxes, columns, 2): the ranges."""
    bits: Bits
    """(boxes, words): the sets of all columns side by side."""
    words: NDArray[np.int64]
    """(columns, 2): which words are a column's set; none where it has a range only."""


def build_box_tree(low: Ranges, high: Ranges, sets: Bits, words: NDArray[np.int64]) -> BoxTree:
    """The tree of boxes with these ranges (boxes, columns) and sets; empty ones are left out."""
    box = np.flatnonzero((low <= high).all(axis=1))
    span = np.stack((low[box], high[box]), axis=2).astype(np.int32)
    node = _build_nodes(span, box)
    return BoxTree(box, node, span, sets[box], words)


def find_met_boxes(
    tree: BoxTree, low: Ranges, high: Ranges, sets: Bits
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each query the boxes it meets: start (queries + 1), boxes ascending.

    A query has ranges (queries, columns) and ``sets`` (queries, words) as boxes have; points have
    ``low`` equal to ``high`` and no sets at all, (0, words).
    """
    start = np.zeros(len(low) + 1, dtype=np.int64)
    first = np.empty(len(low), dtype=np.int64)
    query = *tree[1:], low, high, sets  # one by one: numba is slow with a tuple of arrays
    share_out(_count_met, len(low), len(low), *query, start[1:], first)
    np.cumsum(start, out=start)
    met = np.empty(start[-1], dtype=np.int64)
    share_out(_fill_met, len(low), len(low), *query, start, first, tree.box, met)
    return start, met


@njit(cache=True, nogil=True)
def _count_met(begin, end, node, span, bits, words, low, high, sets, number, first):
    """How many boxes each query meets, and where one of them is: nearly always the only one."""
    waiting, met = np.empty(MAX_DEPTH, dtype=np.int64), np.empty(1, dtype=np.int64)
    for query in range(begin, end):
        number[query] = _walk(node, span, bits, words, low, high, sets, query, waiting, met)
        first[query] = met[0]


@njit(cache=True, nogil=True)
def _fill_met(begin, end, node, span, bits, words, low, high, sets, start, first, box, met_boxes):
    waiting = np.empty(MAX_DEPTH, dtype=np.int64)
    for query in range(begin, end):
        met = met_boxes[start[query] : start[query + 1]]
        if len(met) == 1:
            met[0] = box[first[query]]
        elif len(met) > 1:
            _walk(node, span, bits, words, low, high, sets, query, waiting, met)
            met[:] = box[met]
            met.sort()


@njit(cache=True)
def _walk(node, span, bits, words, low, high, sets, query, waiting, met):
    """The number of boxes that one query meets; ``met`` takes as many of them as it has room for.

    ``waiting`` is room for the halves that are yet to be looked at.
    """
    n, at, top, waiting[0] = 0, 0, 1, -1
    while at >= 0:
        column = node[at, 0]
        if column >= 0:
            in_first, in_second = (
                low[query, column] <= node[at, 1],
                high[query, column] >= node[at, 2],
            )
            if in_first and in_second:
                waiting[top] = node[at, 3]
                top += 1
            if in_first or in_second:
                at = at + 1 if in_first else node[at, 3]
                continue
        else:
            for i in range(node[at, 1], node[at, 2]):
                if _ranges_meet(span, i, low, high, query) and _sets_meet(
                    bits, i, words, low, sets, query
                ):
                    if n < len(met):
                        met[n] = i
                    n += 1
        top -= 1
        at = waiting[top]
    return n


@njit(cache=True, inline="always")
def _ranges_meet(span, i, low, high, query):
    for j in range(low.shape[1]):
        if low[query, j] > span[i, j, 1] or high[query, j] < span[i, j, 0]:
            return False
    return True


@njit(cache=True)
def _sets_meet(bits, i, words, low, sets, query):
    """Whether the sets of a box hold a point, or meet those of a query."""
    for j in range(len(words)):
        if words[j, 0] == words[j, 1]:
            continue
        if len(sets) == 0:
            code = low[query, j]
            shared = bits[i, words[j, 0] + (code >> 6)] & np.uint64(1) << np.uint64(code & 63)
        else:
            shared = np.uint64(0)
            for word in range(words[j, 0], words[j, 1]):
                shared |= bits[i, word] & sets[query, word]
        if shared == 0:
            return False
    return True


# Growing


@njit(cache=True, nogil=True)
def find_set_ends(sets):
    """The smallest and largest member of each set (sets, words); 0 and -1 where it has none."""
    low, high = np.zeros(len(sets), dtype=np.int32), np.full(len(sets), -1, dtype=np.int32)
    for i in range(len(sets)):
        first, last = 0, sets.shape[1] - 1
        while first <= last and sets[i, first] == 0:
            first += 1
        while last > first and sets[i, last] == 0:
            last -= 1
        if first <= last:
            low[i] = 64 * first + _lowest_bit(sets[i, first])
            high[i] = 64 * last + _highest_bit(sets[i, last])
    return low, high


@njit(cache=True, inline="always")
def _lowest_bit(word):
    bit = 0
    while not (word >> np.uint64(bit)) & np.uint64(1):
        bit += 1
    return bit


@njit(cache=True, inline="always")
def _highest_bit(word):
    bit = 63
    while not (word >> np.uint64(bit)) & np.uint64(1):
        bit -= 1
    return bit


@njit(cache=True, nogil=True)
def _build_nodes(span, box):
    """The nodes; the boxes are put into the order of the leaves."""
    node = np.empty((2 * len(box) + 1, 4), dtype=np.int32)
    waiting = [(0, len(box), -1)]
    nodes = 0
    while len(waiting) > 0:
        begin, end, before = waiting.pop()
        if before >= 0:
            node[before, 3] = nodes
        if end - begin > LEAF_BOXES:
            column, left = _halve(span[begin:end], box[begin:end])
            middle = begin + left
            node[nodes, 0] = column
            node[nodes, 1] = span[begin:middle, column, 1].max()
            node[nodes, 2] = span[middle:end, column, 0].min()
            waiting.append((middle, end, nodes))
            waiting.append((begin, middle, -1))
        else:
            node[nodes, 0], node[nodes, 1], node[nodes, 2] = -1, begin, end
        nodes += 1
    return node[:nodes].copy()


@njit(cache=True)
def _halve(span, box):
    """Order some boxes so that a column divides them well: which, and where the second half is.

    Boxes are told apart by their middles; where that is not possible, by their upper ends in the
    widest column.
    """
    min_cost, column, last, widest, wide = np.inf, -1, 0, 0, -1
    for j in range(span.shape[1]):
        low, high = span[:, j, 0].min(), span[:, j, 1].max()
        if high - low > wide:
            widest, wide = j, high - low
        if low < high:
            cost, bin_ = _find_cheapest(span[:, j], low, _scale(low, high))
            if cost < min_cost:
                min_cost, column, last = cost, j, bin_
    if column < 0:
        order = np.argsort(span[:, widest, 1])
        span[:], box[:] = span[order], box[order]
        return widest, len(box) // 2
    low, high = span[:, column, 0].min(), span[:, column, 1].max()
    return column, _part(span, box, column, low, _scale(low, high), last)


@njit(cache=True)
def _part(span, box, column, low, scale, last):
    """Put the boxes up to a bin of a column first; how many they are."""
    left = 0
    for i in range(len(box)):
        if _middle(span[i, column], low, scale) <= last:
            for j in range(span.shape[1]):
                for end in range(2):
                    span[left, j, end], span[i, j, end] = span[i, j, end], span[left, j, end]
            box[left], box[i] = box[i], box[left]
            left += 1
    return left


@njit(cache=True)
def _find_cheapest(span, low, scale):
    """The smallest cost of dividing a column, and the last bin of the first half then.

    Searches are taken to be where the boxes are. The cost is what they would have to look at: each
    half for its own boxes, and twice for all in the zone where the halves overlap, because that
    is left to be divided further down.
    """
    number, lows, highs = np.zeros((3, BINS), dtype=np.int64)
    start, stop = np.full(BINS, ABOVE_EVERY_CODE), np.full(BINS, -1)
    for i in range(len(span)):
        b = _middle(span[i], low, scale)
        number[b] += 1
        lows[_bin(span[i, 0], low, scale)] += 1
        highs[_bin(span[i, 1], low, scale)] += 1
        start[b], stop[b] = min(start[b], span[i, 0]), max(stop[b], span[i, 1])
    number, lows, highs = np.cumsum(number), np.cumsum(lows), np.cumsum(highs)
    for b in range(1, BINS):
        stop[b] = max(stop[b], stop[b - 1])
        start[-b - 1] = min(start[-b - 1], start[-b])
    min_cost, last = np.inf, 0
    for b in range(BINS - 1):
        left, right, zone = number[b], len(span) - number[b], 0
        if start[b + 1] <= stop[b]:
            before = _bin(start[b + 1], low, scale) - 1
            zone = lows[_bin(stop[b], low, scale)] - (highs[before] if before >= 0 else 0)
        cost = left * (left + 2.0 * zone) + right * (right + 2.0 * zone)
        if cost < min_cost and min(left, right) * MIN_SHARE >= len(span):
            min_cost, last = cost, b
    return min_cost, last


@njit(cache=True, inline="always")
def _scale(low, high):
    return BINS / (np.float64(high) - low + 1)


@njit(cache=True, inline="always")
def _bin(code, low, scale):
    return int((np.int64(code) - low) * scale)


@njit(cache=True, inline="always")
def _middle(ends, low, scale):
    return int(((np.int64(ends[0]) + ends[1]) * 0.5 - low) * scale)
