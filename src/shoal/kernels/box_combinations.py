"""The smallest number of values that boxes of several sides leave together, one of each at most.

A box has a range of codes per column, and sets of codes besides, bits over 64-bit words.

**Pairs** (``search_pairs``): every two boxes that meet, one of each side, and what their sets of
values have in common. Boxes of the first side that lie near each other are put into blocks, and
what does not meet a block as a whole is not compared with its boxes. Of each box of the second side
the worst pair is kept, not the pairs, so that it takes no memory however many meet.

**Combinations** (``search_combinations``): a box of the last side and boxes of earlier sides that
all meet in one point of every column and have a value in common. Of each box of the last side the
combination is sought that leaves fewest values, fewer than each of its boxes has alone.

For each set of values that may be left, of growing size, the others must be excluded one by one.
The value that the fewest boxes exclude is taken first, and every box that excludes it is tried
(branch and bound): what is known on the way is the meet of the boxes, and the values still there.

- Where no box excludes a value any more, the search turns back.
- A box that was tried is not tried again beside the later ones.
- Nor is one that excludes no more than it and meets no more (dominance), unless the two could be
  in a combination with different boxes of one side.

That is exact. In the worst case it takes exponential time, so that the work is counted, and the
search ends where there is too much of it: then what is not found may still be there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.bits import count_bits
from shoal.kernels.box_tree import find_set_ends
from shoal.kernels.threads import share_out

# Pairs

Ints = NDArray[np.int64]

BLOCK_BOXES = 64
"""At most so many boxes are a block."""


class BoxSide(NamedTuple):
    """The boxes of one side, and their values; a row of each array for a box."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    """(boxes, columns) the ranges."""
    sets: NDArray[np.uint64]
    """(boxes, words) the sets of all other columns side by side."""
    values: NDArray[np.uint64]
    """(boxes, words) the values that it has, as bits."""
    value_count: Ints
    """How many they are."""
    rows: Ints


class PairSearch(NamedTuple):
    """What was found about each box of the second side."""

    met: Ints
    """How many boxes of the first side it meets with a value in common."""
    few: Ints
    """With how many of them it has fewer in common than ``l``, and than either has alone."""
    first: Ints
    """The worst of those it meets, one of these few if there are any; -1 where it meets none."""
    common: Ints
    """How many values it has in common with that one."""


def search_pairs(one: BoxSide, other: BoxSide, words: Ints, l: int) -> PairSearch:
    """Compare every box of one side with every box of the other.

    ``words`` says where each column's set ends among the words, alike on both sides. Worst is the
    fewest values in common; of equals the pair whose smaller number of rows is largest.
    """
    number = len(other.low)
    order, start = _order_in_blocks(one, words)
    boxes = BoxSide._make(np.ascontiguousarray(column[order]) for column in one)
    block = (
        np.minimum.reduceat(boxes.low, start[:-1]),
        np.maximum.reduceat(boxes.high, start[:-1]),
        np.bitwise_or.reduceat(boxes.sets, start[:-1]),
    )
    met, few, common = np.zeros((3, number), np.int64)
    worst = PairSearch(met, few, np.full(number, -1), common)
    work = number * len(one.low)
    share_out(_compare_pairs, number, work, start, *block, *boxes, *other, words, l, *worst)
    return worst._replace(first=np.where(worst.first < 0, -1, order[worst.first]))


def _order_in_blocks(side: BoxSide, words: Ints) -> tuple[Ints, Ints]:
    """The boxes in an order in which those of a block are near each other; where blocks start.

    They are halved again and again, each time in the column where they are furthest apart.
    """
    sets = np.split(side.sets, words[:-1], axis=1) if len(words) else []
    ranges = [*zip(side.low.T, side.high.T, strict=True)]
    ranges += [find_set_ends(np.ascontiguousarray(bits)) for bits in sets]
    middle = np.stack([np.zeros(len(side.low)), *(0.5 * low + 0.5 * high for low, high in ranges)])
    middle /= np.maximum(1, np.ptp(middle, axis=1))[:, None]
    parts, waiting = [], [np.arange(len(side.low))]
    while waiting:
        some = waiting.pop()
        if len(some) <= BLOCK_BOXES:
            parts.append(some)
            continue
        widest = middle[np.argmax(np.ptp(middle[:, some], axis=1))]
        half = len(some) // 2
        waiting += np.split(some[np.argpartition(widest[some], half)], [half])
    return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])


@njit(cache=True, nogil=True)
def _compare_pairs(
    begin,
    end,
    start,
    lowest,
    highest,
    union,
    low,
    high,
    sets,
    values,
    value_count,
    rows,
    low2,
    high2,
    sets2,
    values2,
    value_count2,
    rows2,
    words,
    l,
    met,
    few,
    first,
    common,
):
    for j in range(begin, end):
        most_rows = -1
        for block in range(len(lowest)):
            if not _meet(lowest, highest, union, block, low2, high2, sets2, j, words):
                continue
            for i in range(start[block], start[block + 1]):
                if not _meet(low, high, sets, i, low2, high2, sets2, j, words):
                    continue
                shared = 0
                for word in range(values.shape[1]):
                    shared += count_bits(values[i, word] & values2[j, word])
                if shared == 0:
                    continue
                met[j] += 1
                bad = shared < l and shared < min(value_count[i], value_count2[j])
                smaller = min(rows[i], rows2[j])
                if bad:
                    few[j] += 1
                elif few[j] > 0:
                    continue
                new = first[j] < 0 or (bad and few[j] == 1)
                if new or shared < common[j] or (shared == common[j] and smaller > most_rows):
                    first[j], common[j], most_rows = i, shared, smaller


@njit(cache=True)
def _meet(low, high, sets, i, low2, high2, sets2, j, words):
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


# Combinations


Bits = NDArray[np.uint64]

MAX_STEPS_PER_BOX = 100_000_000
"""So often boxes are compared for one box of the last side, at most: less than a second or so."""
MAX_STACK = 1 << 25
"""So many places a search may keep boxes in; with more it is cut short."""


class Boxes(NamedTuple):
    """Boxes with their values; a row of each array for a box."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    """(boxes, columns) the ranges."""
    sets: Bits
    """(boxes, words) the sets of all other columns side by side."""
    values: Bits
    """(boxes, words) the values that it has, as bits."""
    value_count: Ints
    """How many they are."""
    side: Ints
    """Which of the earlier sides it is of."""


class SearchStack(NamedTuple):
    """The way to where a search stands: a row of each array for a step."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    sets: Bits
    """The meet of the boxes chosen so far."""
    still: Bits
    """The values that all of them have, as bits among those of the last side's box."""
    listed: NDArray[np.int32]
    """The boxes that may be chosen next; -1 for one that need not be tried any more."""
    size: Ints
    branch: NDArray[np.int32]
    """The places, in the list, of those that exclude the value in turn."""
    branches: Ints
    at: Ints
    """The next branch."""
    tried: Ints
    """The place of the box that is being tried."""


class CombinationSearch(NamedTuple):
    """What was found about each box of the last side."""

    left: Ints
    """How many values the worst combination leaves; 0 where none leaves fewer than asked."""
    chosen: NDArray[np.int32]
    """(boxes, sides) its boxes, by their places among all earlier ones; -1: none of that side."""
    unfinished: NDArray[np.bool_]
    """Whether the search was cut short."""


def search_combinations(
    boxes: Boxes,
    sides: int,
    last: Boxes,
    near: tuple[Ints, Ints],
    words: Ints,
    below: Ints,
    work: int,
) -> tuple[CombinationSearch, int]:
    """The worst combination of each box of the last side, and how much of ``work`` is left.

    ``near`` says which earlier boxes each meets: ``near[1][near[0][i] : near[0][i + 1]]``.
    ``words`` says where each column's set ends among the words. ``below``: only combinations that
    leave fewer values than this are sought, of each box. One box takes at most a part of the work,
    and after so much Python has its turn, for somebody may want to stop.
    """
    number = len(last.low)
    left, unfinished = np.zeros(number, np.int64), np.zeros(number, np.bool_)
    chosen = np.full((number, sides), -1, np.int32)
    begin, worst = 0, CombinationSearch(left, chosen, unfinished)
    while begin < number:
        begin, work = _combine(
            begin, boxes, last, *near, words, below, work, MAX_STEPS_PER_BOX, *worst
        )
    return worst, work


@njit(cache=True, nogil=True)
def _combine(begin, boxes, last, start, near, words, below, work, each, left, chosen, unfinished):
    """Search for some of the boxes: where to go on, and how much work is left."""
    spent = 0
    for j in range(begin, len(below)):
        if spent > each:
            return j, work
        budget = np.array([min(work, each)])
        _search_box(j, boxes, last, start, near, words, below, budget, left, chosen, unfinished)
        used = min(work, each) - budget[0]
        work, spent = max(0, work - used), spent + used
    return len(below), work


@njit(cache=True)
def _search_box(j, boxes, last, start, near, words, below, budget, left, chosen, unfinished):
    listed, local, size = _useful(boxes, near[start[j] : start[j + 1]], last.values[j])
    budget[0] -= start[j + 1] - start[j]
    depth = min(size, chosen.shape[1], len(listed)) + 1
    if below[j] < 2 or len(listed) == 0:
        return
    unfinished[j] = depth * len(listed) > MAX_STACK or budget[0] < 0
    if unfinished[j]:
        return
    stack = _stack(depth, len(listed), last, local.shape[1])
    stack.low[0], stack.high[0], stack.sets[0] = last.low[j], last.high[j], last.sets[j]
    for value in range(size):
        stack.still[0, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
    for few in range(1, min(below[j], size)):
        depth_found = _search_leaving(few, size, stack, boxes, listed, local, words, budget)
        if depth_found < 0:
            unfinished[j] = True
        if depth_found > 0:
            left[j] = few
            for level in range(depth_found):
                box = listed[stack.listed[level, stack.tried[level]]]
                chosen[j, boxes.side[box]] = box
        if depth_found != 0:
            return


@njit(cache=True)
def _useful(boxes, near, values):
    """The boxes that have some of the values, not all; and which of them, numbered anew."""
    members = np.empty(64 * len(values), np.int64)
    size = 0
    for value in range(len(members)):
        if values[value >> 6] >> np.uint64(value & 63) & np.uint64(1):
            members[size] = value
            size += 1
    listed = np.empty(len(near), np.int64)
    local = np.zeros((len(near), max(1, (size + 63) // 64)), np.uint64)
    number = 0
    for box in near:
        shared = 0
        local[number] = 0
        for i in range(size):
            value = members[i]
            if boxes.values[box, value >> 6] >> np.uint64(value & 63) & np.uint64(1):
                local[number, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
                shared += 1
        if 0 < shared < size:
            listed[number] = box
            number += 1
    return listed[:number], local[:number], size


@njit(cache=True)
def _stack(depth, number, last, words):
    return SearchStack(
        np.empty((depth, last.low.shape[1]), np.int32),
        np.empty((depth, last.low.shape[1]), np.int32),
        np.empty((depth, last.sets.shape[1]), np.uint64),
        np.zeros((depth, words), np.uint64),
        np.empty((depth, number), np.int32),
        np.zeros(depth, np.int64),
        np.empty((depth, number), np.int32),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
    )


@njit(cache=True)
def _search_leaving(few, size, stack, boxes, listed, local, words, budget):
    """Search a combination that leaves just ``few`` values, for every choice of them.

    How many boxes it has; 0 where there is none, -1 where the search was cut short.
    """
    left_values = np.arange(few)
    bits = np.empty(local.shape[1], np.uint64)
    while True:
        bits[:] = 0
        for value in left_values:
            bits[value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        boxes_used = _search(bits, few, size, stack, boxes, listed, local, words, budget)
        if boxes_used != 0:
            return boxes_used
        at = few - 1
        while at >= 0 and left_values[at] == size - few + at:
            at -= 1
        if at < 0:
            return 0
        left_values[at] += 1
        for i in range(at + 1, few):
            left_values[i] = left_values[i - 1] + 1


@njit(cache=True)
def _search(wanted, few, size, stack, boxes, listed, local, words, budget):
    """Search a combination that leaves just these values: how many boxes it has, 0 or -1."""
    _begin(wanted, few, stack, boxes, listed, local)
    budget[0] -= len(listed)
    level = 0 if _branch(0, wanted, size, stack, local, budget) else -1
    while level >= 0:
        if budget[0] < 0:
            return -1
        if stack.at[level] == stack.branches[level]:
            level -= 1
            if level >= 0:
                _drop(level, stack, boxes, listed, local, words, budget)
            continue
        place = stack.branch[level, stack.at[level]]
        stack.at[level] += 1
        if stack.listed[level, place] < 0:
            continue
        stack.tried[level] = place
        if _descend(level, wanted, stack, boxes, listed, local):
            return level + 1
        _narrow(level + 1, stack, boxes, listed, local, words, budget)
        if _branch(level + 1, wanted, size, stack, local, budget):
            level += 1
        else:
            _drop(level, stack, boxes, listed, local, words, budget)
    return 0


@njit(cache=True)
def _begin(wanted, few, stack, boxes, listed, local):
    """List the boxes that have all values to be left, and more."""
    number = 0
    for i in range(len(listed)):
        if boxes.value_count[listed[i]] > few and _has(local[i], wanted):
            stack.listed[0, number] = i
            number += 1
    stack.size[0] = number


@njit(cache=True)
def _has(values, some):
    lacking = np.uint64(0)
    for word in range(len(some)):
        lacking |= some[word] & ~values[word]
    return lacking == 0


@njit(cache=True)
def _branch(level, wanted, size, stack, local, budget):
    """Take the value that the fewest boxes exclude; False where none excludes one of them."""
    still, listed = stack.still[level], stack.listed[level, : stack.size[level]]
    fewest, taken, open_ = len(listed) + 1, -1, 0
    for value in range(size):
        word, bit = value >> 6, np.uint64(1) << np.uint64(value & 63)
        if not still[word] & ~wanted[word] & bit:
            continue
        open_ += 1
        count = 0
        for i in listed:
            if not local[i, word] & bit:
                count += 1
        if count < fewest:
            fewest, taken = count, value
        if count == 0:
            break
    budget[0] -= len(listed) * (1 + open_ // 8)
    if fewest == 0:
        return False
    excluded = np.empty(fewest, np.int64)
    number, word, bit = 0, taken >> 6, np.uint64(1) << np.uint64(taken & 63)
    for place in range(len(listed)):
        i = listed[place]
        if not local[i, word] & bit:
            stack.branch[level, number] = place
            excluded[number] = 0
            for w in range(len(still)):
                excluded[number] -= count_bits(still[w] & ~local[i, w])
            number += 1
    order = np.argsort(excluded, kind="mergesort")
    stack.branch[level, :number] = stack.branch[level, :number][order]
    stack.branches[level], stack.at[level] = number, 0
    return True


@njit(cache=True)
def _descend(level, wanted, stack, boxes, listed, local):
    """Choose the box that is tried; whether only the values to be left are."""
    i = stack.listed[level, stack.tried[level]]
    box, done = listed[i], True
    for word in range(len(wanted)):
        stack.still[level + 1, word] = stack.still[level, word] & local[i, word]
        done = done and stack.still[level + 1, word] == wanted[word]
    for column in range(stack.low.shape[1]):
        stack.low[level + 1, column] = max(stack.low[level, column], boxes.low[box, column])
        stack.high[level + 1, column] = min(stack.high[level, column], boxes.high[box, column])
    for word in range(stack.sets.shape[1]):
        stack.sets[level + 1, word] = stack.sets[level, word] & boxes.sets[box, word]
    return done


@njit(cache=True)
def _narrow(level, stack, boxes, listed, local, words, budget):
    """List the boxes that may be chosen besides: of another side, meeting, and excluding more."""
    before, number = stack.listed[level - 1], 0
    side = boxes.side[listed[before[stack.tried[level - 1]]]]
    for place in range(stack.size[level - 1]):
        i = before[place]
        if i < 0 or boxes.side[listed[i]] == side or _has(local[i], stack.still[level]):
            continue
        if _meets(listed[i], boxes, stack, level, words):
            stack.listed[level, number] = i
            number += 1
    stack.size[level] = number
    budget[0] -= stack.size[level - 1]


@njit(cache=True)
def _meets(box, boxes, stack, level, words):
    """Whether a box meets all that are chosen, in every column."""
    for column in range(stack.low.shape[1]):
        if boxes.low[box, column] > stack.high[level, column]:
            return False
        if boxes.high[box, column] < stack.low[level, column]:
            return False
    word = 0
    for column in range(len(words)):
        shared = np.uint64(0)
        while word < words[column]:
            shared |= boxes.sets[box, word] & stack.sets[level, word]
            word += 1
        if shared == 0:
            return False
    return True


@njit(cache=True)
def _drop(level, stack, boxes, listed, local, words, budget):
    """Strike the box that was tried in vain off the list, and all that it dominates."""
    rows = stack.listed[level, : stack.size[level]]
    tried = rows[stack.tried[level]]
    rows[stack.tried[level]] = -1
    for place in range(len(rows)):
        i = rows[place]
        if i < 0 or not _excludes(local[tried], local[i], stack.still[level]):
            continue
        if not _inside(listed[i], listed[tried], boxes, stack, level):
            continue
        same = boxes.side[listed[i]] == boxes.side[listed[tried]]
        if same or not _conflicts(i, tried, level, stack, boxes, listed, words, budget):
            rows[place] = -1
    budget[0] -= len(rows)


@njit(cache=True)
def _excludes(one, other, still):
    """Whether a box excludes all of the values that another does."""
    more = np.uint64(0)
    for word in range(len(still)):
        more |= one[word] & ~other[word] & still[word]
    return more == 0


@njit(cache=True)
def _inside(inner, outer, boxes, stack, level):
    """Whether, within the meet of those chosen, a box lies in another."""
    for column in range(stack.low.shape[1]):
        low = max(boxes.low[inner, column], stack.low[level, column])
        high = min(boxes.high[inner, column], stack.high[level, column])
        if low < boxes.low[outer, column] or high > boxes.high[outer, column]:
            return False
    for word in range(stack.sets.shape[1]):
        if boxes.sets[inner, word] & stack.sets[level, word] & ~boxes.sets[outer, word]:
            return False
    return True


@njit(cache=True)
def _conflicts(i, tried, level, stack, boxes, listed, words, budget):
    """Whether a box could be combined with another of the side of the one that was tried."""
    rows, side = stack.listed[level, : stack.size[level]], boxes.side[listed[tried]]
    budget[0] -= len(rows)
    for other in rows:
        if other < 0 or boxes.side[listed[other]] != side:
            continue
        if _touch(listed[i], listed[other], boxes, stack, level, words):
            return True
    return False


@njit(cache=True)
def _touch(one, other, boxes, stack, level, words):
    """Whether two boxes meet within the meet of those chosen."""
    for column in range(stack.low.shape[1]):
        low = max(boxes.low[one, column], boxes.low[other, column], stack.low[level, column])
        high = min(boxes.high[one, column], boxes.high[other, column], stack.high[level, column])
        if low > high:
            return False
    word = 0
    for column in range(len(words)):
        shared = np.uint64(0)
        while word < words[column]:
            shared |= boxes.sets[one, word] & boxes.sets[other, word] & stack.sets[level, word]
            word += 1
        if shared == 0:
            return False
    return True
