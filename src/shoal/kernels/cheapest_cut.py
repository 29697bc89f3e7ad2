"""Where to cut segments of rows so that the published cells of both halves are least wide.

As in ``split``: rows lie column by column, a segment is ``start[i]..stop[i]``, and rows with a code
up to ``cut`` go left. The codes of a segment on the column to be cut are numbered as *places*; for
each place a scan from the left knows the cells of all rows up to it, and one from the right those
of all rows behind it, so that every cut of a column is weighed in one pass over the rows for each
other column.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.cell_width import SET, measure_width

ABOVE_EVERY_CODE = np.int64(2**31 - 1)
MAX_SPREAD = 2
"""Codes are their own places where they spread over at most so many times the rows (and a few)."""
FEW_CODES = 16


@njit(cache=True, nogil=True)
def find_cheapest_cuts(
    first,
    last,
    keys,
    count,
    start,
    stop,
    low,
    high,
    segment,
    column,
    min_people,
    reach,
    lean,
    cut,
    left,
    cost,
):
    """For each candidate (segment, column) the cut of least cost, in each of some bins.

    A half costs people ** ``lean`` × the widths of its cells. The bins (``cut``, ``left`` and
    ``cost``: (candidates, bins)) divide the cuts by the share of people left of them. At least
    ``min_people`` must be in either half; ``left`` is 0 where no cut is. Of cuts that cost the same
    the more balanced one is taken, then the lower one.
    """
    longest = 0
    for c in range(first, last):
        longest = max(longest, stop[segment[c]] - start[segment[c]])
    room = MAX_SPREAD * longest + FEW_CODES
    place, value = np.empty(longest, np.int64), np.empty(room, np.int64)
    number, before, behind = np.empty(room, np.int64), np.empty(room), np.empty(room)
    ends = np.empty((2, room), np.int64)
    places_of_code = np.full((2, reach.size.max()), -1, dtype=np.int64)
    for c in range(first, last):
        s, j = segment[c], column[c]
        a, b = start[s], stop[s]
        n = _number_codes(keys[j, a:b], count[a:b], low[s, j], high[s, j], place, value, number)
        before[:n], behind[:n] = 0.0, 0.0
        for i in range(keys.shape[0]):
            if low[s, i] < high[s, i]:
                codes, weight = keys[i, a:b], reach.weight[i]
                if reach.kind[i] == SET:
                    _add_sets(
                        reach, i, codes, place, n, ends, places_of_code, weight, before, behind
                    )
                else:
                    _add_ranges(reach, i, codes, place, n, ends, weight, before, behind)
        _choose_cuts(
            n, number, value, before, behind, min_people[c], lean, cut[c], left[c], cost[c]
        )


@njit(cache=True)
def _number_codes(codes, count, low, high, place, value, number):
    """Number the codes of a segment, ascending: each row's place, each place's code and people."""
    n = np.int64(high) - low + 1
    if n <= MAX_SPREAD * len(codes) + FEW_CODES:
        for r in range(len(codes)):
            place[r] = np.int64(codes[r]) - low
        for v in range(n):
            value[v] = low + v
    else:
        ordered = np.sort(codes)
        n = 0
        for r in range(len(ordered)):
            if r == 0 or ordered[r] != ordered[r - 1]:
                value[n] = ordered[r]
                n += 1
        place[: len(codes)] = np.searchsorted(value[:n], codes)
    number[:n] = 0
    for r in range(len(codes)):
        number[place[r]] += count[r]
    return n


@njit(cache=True)
def _add_ranges(reach, column, codes, place, n, ends, weight, before, behind):
    """Add the widths of an ordered column or a tree up to each place, and behind it."""
    lows, highs = ends[0], ends[1]
    lows[:n], highs[:n] = ABOVE_EVERY_CODE, -1
    for r in range(len(codes)):
        v, code = place[r], np.int64(codes[r])
        lows[v] = min(lows[v], code)
        highs[v] = max(highs[v], code)
    low, high, width = lows[0], highs[0], 0.0
    for v in range(n - 1):
        if lows[v] < low or highs[v] > high or v == 0:
            low, high = min(low, lows[v]), max(high, highs[v])
            width = weight * measure_width(reach, column, low, high, 0)
        before[v] += width
    low, high = lows[n - 1], highs[n - 1]
    width = weight * measure_width(reach, column, low, high, 0)
    for v in range(n - 2, -1, -1):
        behind[v] += width
        if lows[v] < low or highs[v] > high:
            low, high = min(low, lows[v]), max(high, highs[v])
            width = weight * measure_width(reach, column, low, high, 0)


@njit(cache=True)
def _add_sets(reach, column, codes, place, n, ends, places_of_code, weight, before, behind):
    """Add the widths of a flat column's sets: a code is in them from its first place to its last.

    ``places_of_code`` holds those two places by code; it comes in and is left at -1.
    """
    starts, stops = ends[0], ends[1]
    starts[:n], stops[:n] = 0, 0
    for r in range(len(codes)):
        v, code = place[r], codes[r]
        if places_of_code[0, code] < 0 or v < places_of_code[0, code]:
            places_of_code[0, code] = v
        places_of_code[1, code] = max(places_of_code[1, code], v)
    null, null_first, null_last = reach.null[column], n, np.int64(-1)
    if null >= 0 and places_of_code[0, null] >= 0:
        null_first, null_last = places_of_code[0, null], places_of_code[1, null]
    for code in codes:
        if places_of_code[0, code] >= 0:
            starts[places_of_code[0, code]] += 1
            stops[places_of_code[1, code]] += 1
            places_of_code[0, code] = places_of_code[1, code] = -1
    members = 0
    for v in range(n - 1):
        members += starts[v]
        before[v] += weight * _set_width(reach, column, members, v >= null_first)
    members = 0
    for v in range(n - 2, -1, -1):
        members += stops[v + 1]
        behind[v] += weight * _set_width(reach, column, members, v < null_last)


@njit(cache=True)
def _set_width(reach, column, members, null):
    if members <= 1:
        return 0.0
    return 1.0 if null else (members - 1.0) / (reach.size[column] - 1.0)


@njit(cache=True)
def _choose_cuts(n, number, value, before, behind, min_people, lean, cut, left, cost):
    """The cheapest cut of each bin among those that leave enough people on either side."""
    people = number[:n].sum()
    bins = len(cut)
    left[:], cost[:] = 0, np.inf
    here = np.int64(0)
    for v in range(n - 1):
        here += number[v]
        if number[v] == 0 or here < min_people or people - here < min_people:
            continue
        bin_ = min(here * bins // people, bins - 1)
        lost = here**lean * before[v] + (people - here) ** lean * behind[v]
        even = min(here, people - here) > min(left[bin_], people - left[bin_])
        if lost < cost[bin_] or (lost == cost[bin_] and even):
            cut[bin_], left[bin_], cost[bin_] = value[v], here, lost
