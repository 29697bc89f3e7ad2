"""Lines of points: along a Hilbert curve, by a binary tree; and cutting a line into segments.

``compute_hilbert_keys`` follows the Hilbert curve through a grid of any number of columns.

``order_by_tree`` cuts each node of a binary tree where its two halves lose least together. Points
lie column by column (``keys`` (columns, points)), distinct, with the people ``count`` at each. A
cut of a node parts the points with codes up to some code of a column from the others. All cuts of
all columns are tried: the points are sorted by each column, and for the first of them, the first
two, … and for the last, the last two, … the cells that cover them are kept up to date.

``cut_into_segments`` cuts a sequence of people at the least total cost: a dynamic programme.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.cell_width import SET, find_next_equal, measure_width

# The Hilbert curve

WORD = 64


@njit(cache=True, nogil=True)
def compute_hilbert_keys(grid, bits):
    """How far along the curve each point lies: (words, points) of 64 bits, the highest first.

    ``grid`` (columns, points) holds coordinates below 2^bits. J. Skilling, Programming the
    Hilbert curve, AIP Conference Proceedings 707, 2004.
    """
    columns, points = grid.shape
    keys = np.zeros(((columns * bits + WORD - 1) // WORD, points), dtype=np.uint64)
    at = np.empty(columns, dtype=np.int64)
    for i in range(points):
        at[:] = grid[:, i]
        _unfold(at, bits)
        place = len(keys) * WORD - columns * bits
        for level in range(bits - 1, -1, -1):
            for j in range(columns):
                bit = np.uint64((at[j] >> level) & 1)
                keys[place // WORD, i] |= bit << np.uint64(WORD - 1 - place % WORD)
                place += 1
    return keys


@njit(cache=True)
def _unfold(at, bits):
    """Turn and mirror coordinates so that their bits, level by level, are those of the key."""
    columns = len(at)
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for j in range(columns):
            if (at[j] >> level) & 1:
                at[0] ^= below
            else:
                swap = (at[0] ^ at[j]) & below
                at[0] ^= swap
                at[j] ^= swap
    for j in range(1, columns):
        at[j] ^= at[j - 1]
    mirror = 0
    for level in range(bits - 1, 0, -1):
        if (at[columns - 1] >> level) & 1:
            mirror ^= (1 << level) - 1
    for j in range(columns):
        at[j] ^= mirror


# Segments of least total cost


@njit(cache=True, nogil=True)
def cut_into_segments(keys, reach, min_people, max_people):
    """Where the segments begin that cost least, each of ``min_people`` to ``max_people``.

    ``keys`` (columns, people) are the people in their order; a segment costs its people × the
    weighted width of its cells. With ``max_people`` ≥ 2 ``min_people`` − 1 any number of people
    from ``min_people`` on can be cut; fewer are one segment. Returns the cost too.
    """
    columns, people = keys.shape
    following = np.empty((columns, people), dtype=np.int32)
    for j in range(columns):
        if reach.kind[j] == SET:
            following[j] = find_next_equal(keys[j], reach.size[j])
    total = np.full(people + 1, np.inf)
    total[0] = 0.0
    length = np.zeros(people + 1, dtype=np.int32)
    widths = np.empty(max_people + 1)
    for end in range(min_people, people + 1):
        longest = min(max_people, end)
        widths[:] = 0.0
        for j in range(columns):
            _widen(keys[j], following[j], reach, j, end, longest, widths)
        for n in range(min_people, longest + 1):
            cost = total[end - n] + n * widths[n]
            if cost < total[end]:
                total[end], length[end] = cost, n
    return _begins(length, people), total[people]


@njit(cache=True)
def _widen(codes, following, reach, column, end, longest, widths):
    """Add a column's width to that of each segment which ends here."""
    low = high = codes[end - 1]
    members, width, weight = 1, 0.0, reach.weight[column]
    is_set = reach.kind[column] == SET
    for n in range(2, longest + 1):
        code = codes[end - n]
        new = following[end - n] >= end if is_set else code < low or code > high
        if new:
            members += 1
            low, high = min(low, code), max(high, code)
            width = weight * measure_width(reach, column, low, high, members)
        widths[n] += width


@njit(cache=True)
def _begins(length, people):
    """The first person of each segment, ascending."""
    begins = np.empty(people + 1, dtype=np.int64)
    segments, end = 0, people
    while end > 0:
        end -= length[end] if length[end] > 0 else end
        begins[segments] = end
        segments += 1
    return begins[:segments][::-1].copy()


# The order of a binary tree


FEW_POINTS = 24
"""So few points are sorted by insertion."""
MAX_POWERS = 1 << 16
"""The powers of so many numbers of people are looked up."""
BUCKETS = 256


class TreeWorkspace(NamedTuple):
    """Memory that is made once; (points,) unless said otherwise."""

    places: NDArray[Any]
    """Places of points, while they are sorted and swapped; and ``spare_places``."""
    spare_places: NDArray[Any]
    below: NDArray[Any]
    above: NDArray[Any]
    low: NDArray[Any]
    """(columns,) The lowest code in a node."""
    high: NDArray[Any]
    members: NDArray[Any]
    """(columns,) How many different codes a node has; counted for sets only."""
    stamp: NDArray[Any]
    """(codes of the largest axis, and 1) The last pass that saw each code; the number of passes."""
    powers: NDArray[Any]
    """(``MAX_POWERS`` at most) A number of people to the power by which halves are weighed."""


@njit(cache=True, nogil=True)
def order_by_tree(keys, count, reach, power, even):
    """The points' numbers in the order of the tree's leaves; ``keys`` and ``count`` follow it.

    A cut costs, for both halves added up, their people to the ``power`` × the weighted width of
    their cells: with 1 what the halves lose, and the more above it the more even the cuts. Nodes
    of more than ``even`` people are cut on their widest column nearest to the median instead.
    Of two halves the one comes first in which the point before the node would lie by the column
    that was cut: so neighbours stay alike from one branch to the next.
    """
    columns, points = keys.shape
    order = np.arange(points).astype(np.int32)
    room = TreeWorkspace(
        np.empty(points, np.int32),
        np.empty(points, np.int32),
        np.empty(points),
        np.empty(points),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(reach.size.max() + 1, np.int64),
        np.arange(min(MAX_POWERS, count.sum() + 1)) ** power,
    )
    # where the nodes that wait end, the next one last: each begins where the one before it ended
    ends, waiting, a = np.empty(points + 1, np.int64), 1, 0
    ends[0] = points
    while waiting > 0:
        b = ends[waiting - 1]
        if b - a < 2:
            a, waiting = b, waiting - 1
            continue
        people = _measure_node(keys[:, a:b], count[a:b], reach, room)
        if people > even:
            column, cut, first = _find_middle_cut(keys[:, a:b], count[a:b], people, reach, room)
        else:
            column, cut, first = _find_best_cut(
                keys[:, a:b], count[a:b], people, reach, room, power
            )
        up = a == 0 or keys[column, a - 1] <= cut
        middle = first if up else b - a - first
        _part(keys[:, a:b], count[a:b], order[a:b], column, cut, up, middle, room)
        ends[waiting] = a + middle
        waiting += 1
    return order


@njit(cache=True)
def _find_best_cut(keys, count, people, reach, room, power):
    """The column and the code to cut after, and how many points lie up to it.

    The cut that costs least; of equals the most even one.
    """
    columns, points = keys.shape
    best, even, column, cut, first = np.inf, np.int64(0), 0, np.int64(0), 0
    for j in range(columns):
        if room.low[j] == room.high[j]:
            continue
        index = _sort_places(keys[j], room.low[j], room.high[j], room)
        _sweep(keys, index, reach, room, room.below[:points])
        _reverse(index)
        _sweep(keys, index, reach, room, room.above[:points])
        _reverse(index)
        left = np.int64(0)
        for i in range(points - 1):
            left += count[index[i]]
            if keys[j, index[i]] == keys[j, index[i + 1]]:
                continue
            cost = _raise(left, room.powers, power) * room.below[i]
            cost += _raise(people - left, room.powers, power) * room.above[points - 2 - i]
            uneven = abs(2 * left - people)
            if cost < best or (cost == best and uneven < even):
                best, even, column, first = cost, uneven, j, i + 1
                cut = np.int64(keys[j, index[i]])
    return column, cut, first


@njit(cache=True)
def _find_middle_cut(keys, count, people, reach, room):
    """As ``_find_best_cut``: on the widest column the cut nearest to half of the people.

    It falls between nodes of the coarsest level of a tree that tells the points apart.
    """
    widest, column = -1.0, 0
    for j in range(keys.shape[0]):
        low, high = room.low[j], room.high[j]
        width = reach.weight[j] * measure_width(reach, j, low, high, room.members[j])
        if low < high and width > widest:
            widest, column = width, j
    codes, left = keys[column], np.int64(0)
    index = _sort_places(codes, room.low[column], room.high[column], room)
    begin = _level(reach, column, room.low[column], room.high[column])
    even, cut, first = np.int64(2**62), np.int64(0), 0
    for i in range(len(index) - 1):
        left += count[index[i]]
        here, there = codes[index[i]], codes[index[i + 1]]
        apart = (
            here != there if begin < 0 else reach.node[begin + here] != reach.node[begin + there]
        )
        if apart and abs(2 * left - people) < even:
            even, cut, first = abs(2 * left - people), np.int64(here), i + 1
    return column, cut, first


@njit(cache=True)
def _level(reach, column, low, high):
    """Where the nodes begin of the coarsest level that tells two codes apart; -1: only codes do."""
    for level in range(reach.levels[column] - 1, -1, -1):
        begin = reach.node_at[column] + level * reach.size[column]
        if reach.node[begin + low] != reach.node[begin + high]:
            return begin
    return -1


@njit(cache=True)
def _raise(people, powers, power):
    return powers[people] if people < len(powers) else float(people) ** power


@njit(cache=True)
def _measure_node(keys, count, reach, room):
    """The spans of all columns of a node; returns its people."""
    for j in range(keys.shape[0]):
        _measure_column(keys[j], reach, j, room)
    return count.sum()


@njit(cache=True)
def _measure_column(codes, reach, column, room):
    """The lowest and the highest code of a node in one column, and the members of its set."""
    low = high = codes[0]
    for code in codes:
        low, high = min(low, code), max(high, code)
    room.low[column], room.high[column] = low, high
    if low < high and reach.kind[column] == SET:
        this_pass, members = _start_pass(room.stamp), 0
        for code in codes:
            members += room.stamp[code] != this_pass
            room.stamp[code] = this_pass
        room.members[column] = members


@njit(cache=True)
def _start_pass(stamp):
    stamp[-1] += 1
    return stamp[-1]


@njit(cache=True)
def _sweep(keys, index, reach, room, loss):
    """The weighted width of the cells around the first point, the first two, …"""
    loss[:] = 0.0
    for j in range(keys.shape[0]):
        if room.low[j] == room.high[j]:
            continue
        if reach.kind[j] == SET:
            _sweep_set(keys[j], index, reach, j, room, loss)
        else:
            _sweep_line(keys[j], index, reach, j, room.low[j], room.high[j], loss)


@njit(cache=True)
def _sweep_line(codes, index, reach, column, lowest, highest, loss):
    """Add the widths of ranges; once all of the node is covered they stay as they are."""
    low = high = codes[index[0]]
    weight, width = reach.weight[column], 0.0
    for i in range(1, len(index)):
        code = codes[index[i]]
        if code < low or code > high:
            low, high = min(low, code), max(high, code)
            width = weight * measure_width(reach, column, low, high, 0)
            if low == lowest and high == highest:
                loss[i:] += width
                break
        loss[i] += width


@njit(cache=True)
def _sweep_set(codes, index, reach, column, room, loss):
    """Add the widths of sets; once all of the node is covered they stay as they are."""
    low = high = codes[index[0]]
    weight, width, members = reach.weight[column], 0.0, 1
    stamp, all_ = room.stamp, room.members[column]
    this_pass = _start_pass(stamp)
    stamp[low] = this_pass
    for i in range(1, len(index)):
        code = codes[index[i]]
        if stamp[code] != this_pass:
            stamp[code] = this_pass
            members += 1
            low, high = min(low, code), max(high, code)
            width = weight * measure_width(reach, column, low, high, members)
            if members == all_:
                loss[i:] += width
                break
        loss[i] += width


@njit(cache=True)
def _sort_places(codes, low, high, room):
    """The places of the codes, ascending; equal codes stay as they are."""
    points = len(codes)
    index, other = room.places[:points], room.spare_places[:points]
    if points <= FEW_POINTS:
        for i in range(points):
            k = i
            while k > 0 and codes[index[k - 1]] > codes[i]:
                index[k] = index[k - 1]
                k -= 1
            index[k] = i
        return index
    for i in range(points):
        index[i] = i
    shift = 0
    while (high - low) >> shift > 0:
        _sort_by_digit(codes, low, shift, index, other)
        index, other = other, index
        shift += 8
    return index


@njit(cache=True)
def _reverse(index):
    for i in range(len(index) // 2):
        index[i], index[-1 - i] = index[-1 - i], index[i]


@njit(cache=True)
def _sort_by_digit(codes, low, shift, index, other):
    """Sort by one digit of 8 bits, stable."""
    at = np.zeros(BUCKETS + 1, dtype=np.int64)
    for code in codes:
        at[((code - low) >> shift & (BUCKETS - 1)) + 1] += 1
    for digit in range(BUCKETS):
        at[digit + 1] += at[digit]
    for i in index:
        digit = (codes[i] - low) >> shift & (BUCKETS - 1)
        other[at[digit]] = i
        at[digit] += 1


@njit(cache=True)
def _part(keys, count, order, column, cut, up, middle, room):
    """Swap points so that those up to the cut come first (``up``), or last."""
    codes, left_wrong, right_wrong = keys[column], room.places, room.spare_places
    wrong = other = 0
    for i in range(middle):
        left_wrong[wrong] = i
        wrong += (codes[i] <= cut) != up
    for i in range(middle, len(codes)):
        right_wrong[other] = i
        other += (codes[i] <= cut) == up
    for j in range(keys.shape[0]):
        _swap(keys[j], left_wrong[:wrong], right_wrong)
    _swap(count, left_wrong[:wrong], right_wrong)
    _swap(order, left_wrong[:wrong], right_wrong)


@njit(cache=True)
def _swap(column, first, second):
    for w in range(len(first)):
        column[first[w]], column[second[w]] = column[second[w]], column[first[w]]
