"""Every two boxes that meet, one of each side, and what their sets of values have in common.

A box has a range of codes per column, and sets of codes besides, bits over 64-bit words. Boxes of
the first side that lie near each other are put into blocks, and what does not meet a block as a
whole is not compared with its boxes. Of each box of the second side the worst pair is kept, not
the pairs, so that it takes no memory however many meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.bits import ones
from shoal.kernels.boxtree import ends
from shoal.kernels.threads import share_out

Ints = NDArray[np.int64]

BLOCK = 64
"""At most so many boxes are a block."""


class Side(NamedTuple):
    """The boxes of one side, and their values; a row of each array for a box."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    """(boxes, columns) the ranges."""
    sets: NDArray[np.uint64]
    """(boxes, words) the sets of all other columns side by side."""
    values: NDArray[np.uint64]
    """(boxes, words) the values that it has, as bits."""
    alone: Ints
    """How many they are."""
    rows: Ints


class Paired(NamedTuple):
    """What was found about each box of the second side."""

    met: Ints
    """How many boxes of the first side it meets with a value in common."""
    few: Ints
    """With how many of them it has fewer in common than ``l``, and than either has alone."""
    first: Ints
    """The worst of those it meets, one of these few if there are any; -1 where it meets none."""
    common: Ints
    """How many values it has in common with that one."""


def paired(one: Side, other: Side, words: Ints, l: int) -> Paired:
    """Compare every box of one side with every box of the other.

    ``words`` says where each column's set ends among the words, alike on both sides. Worst is the
    fewest values in common; of equals the pair whose smaller number of rows is largest.
    """
    number = len(other.low)
    order, start = _near(one, words)
    boxes = Side._make(np.ascontiguousarray(column[order]) for column in one)
    block = (
        np.minimum.reduceat(boxes.low, start[:-1]),
        np.maximum.reduceat(boxes.high, start[:-1]),
        np.bitwise_or.reduceat(boxes.sets, start[:-1]),
    )
    met, few, common = np.zeros((3, number), np.int64)
    found = Paired(met, few, np.full(number, -1), common)
    work = number * len(one.low)
    share_out(_paired, number, work, start, *block, *boxes, *other, words, l, *found)
    return found._replace(first=np.where(found.first < 0, -1, order[found.first]))


def _near(side: Side, words: Ints) -> tuple[Ints, Ints]:
    """The boxes in an order in which those of a block are near each other; where blocks start.

    They are halved again and again, each time in the column where they are furthest apart.
    """
    sets = np.split(side.sets, words[:-1], axis=1) if len(words) else []
    ranges = [*zip(side.low.T, side.high.T, strict=True)]
    ranges += [ends(np.ascontiguousarray(bits)) for bits in sets]
    middle = np.stack([np.zeros(len(side.low)), *(0.5 * low + 0.5 * high for low, high in ranges)])
    middle /= np.maximum(1, np.ptp(middle, axis=1))[:, None]
    parts, waiting = [], [np.arange(len(side.low))]
    while waiting:
        some = waiting.pop()
        if len(some) <= BLOCK:
            parts.append(some)
            continue
        widest = middle[np.argmax(np.ptp(middle[:, some], axis=1))]
        half = len(some) // 2
        waiting += np.split(some[np.argpartition(widest[some], half)], [half])
    return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])


@njit(cache=True, nogil=True)
def _paired(
    begin, end, start, least, highest, any_, low, high, sets, values, alone, rows,
    low2, high2, sets2, values2, alone2, rows2, words, l, met, few, first, common,
):  # fmt: skip
    for j in range(begin, end):
        most = -1
        for block in range(len(least)):
            if not _meet(least, highest, any_, block, low2, high2, sets2, j, words):
                continue
            for i in range(start[block], start[block + 1]):
                if not _meet(low, high, sets, i, low2, high2, sets2, j, words):
                    continue
                shared = 0
                for word in range(values.shape[1]):
                    shared += ones(values[i, word] & values2[j, word])
                if shared == 0:
                    continue
                met[j] += 1
                bad = shared < l and shared < min(alone[i], alone2[j])
                smaller = min(rows[i], rows2[j])
                if bad:
                    few[j] += 1
                elif few[j] > 0:
                    continue
                new = first[j] < 0 or (bad and few[j] == 1)
                if new or shared < common[j] or (shared == common[j] and smaller > most):
                    first[j], common[j], most = i, shared, smaller


@njit(cache=True)
def _meet(low, high, sets, i, low2, high2, sets2, j, words):
    """Whether two boxes meet in every column."""
    for column in range(low.shape[1]):
        if low[i, column] > high2[j, column] or high[i, column] < low2[j, column]:
            return False
    word = 0
    for column in range(len(words)):
        shared = np.uint64(0)
        while word < words[column]:
            shared |= sets[i, word] & sets2[j, word]
            word += 1
        if shared == 0:
            return False
    return True
