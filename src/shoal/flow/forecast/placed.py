"""Where in a release people are: points drawn inside cells, and people seated in its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from shoal.cells import Cells
from shoal.tally import Population

Codes = NDArray[np.int32]
MOST = 20_000_000
"""So many offers of a row to a person are made at the most."""


def inside(
    cells: Cells, class_: NDArray[Any], population: Population | None, rng: np.random.Generator
) -> tuple[Codes, int]:
    """A point (columns, rows) inside the cells of each row's class.

    Where somebody of a population is in the cells, one of them is drawn; else every leaf is as
    likely. Tells too how many rows are drawn from the population.
    """
    keys = _anywhere(cells, class_, rng)
    if population is None:
        return keys, 0
    start, classes = cells.contains(population.keys)
    point = np.repeat(np.arange(len(population.count)), np.diff(start))
    order = np.argsort(classes, kind="stable")
    point, classes = point[order], classes[order]
    upto = np.concatenate(([0], np.cumsum(population.count[point])))
    ends = np.searchsorted(classes, np.arange(len(cells) + 1))
    low, high = upto[ends[:-1]][class_], upto[ends[1:]][class_]
    there = np.flatnonzero(high > low)
    place = rng.integers(low[there], high[there])
    keys[:, there] = population.keys[:, point[np.searchsorted(upto, place, side="right") - 1]]
    return keys, len(there)


def _anywhere(cells: Cells, class_: NDArray[Any], rng: np.random.Generator) -> Codes:
    """One of the leaves of each cell, all as likely."""
    keys = np.empty((cells.low.shape[1], len(class_)), np.int32)
    for j in range(len(keys)):
        if j in cells.sets:
            keys[j] = _members(cells.sets[j], class_, rng)
        else:
            keys[j] = rng.integers(cells.low[class_, j], cells.high[class_, j] + 1)
    return keys


def _members(bits: NDArray[np.uint64], class_: NDArray[Any], rng: np.random.Generator) -> Codes:
    """A member of each row's set, which is never empty."""
    raw = np.ascontiguousarray(bits, "<u8").view(np.uint8)
    of, member = np.nonzero(np.unpackbits(raw, axis=1, bitorder="little"))
    start = np.searchsorted(of, np.arange(len(bits) + 1))
    chosen = rng.integers(start[class_], start[class_ + 1])
    return np.asarray(member[chosen], np.int32)


def held(cells: Cells, class_: NDArray[Any], keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each point (columns, points) lies in the cells of its own class."""
    found = np.ones(len(class_), np.bool_)
    for j, code in enumerate(keys):
        if j in cells.sets:
            word = cells.sets[j][class_, np.maximum(code, 0) >> 6]
            bit = (word >> (code & 63).astype(np.uint64)) & np.uint64(1)
            found &= (code >= 0) & (bit == 1)
        else:
            found &= (cells.low[class_, j] <= code) & (code <= cells.high[class_, j]) & (code >= 0)
    return found


def seated(
    keys: NDArray[Any],
    values: Codes,
    cells: Cells,
    class_: NDArray[Any],
    published: Codes,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], int]:
    """A row of the release for each person (-1: none), no row for two; and how many had a choice.

    A person may be any row with its value in a class whose cells hold it. As many as possible are
    seated (Hopcroft and Karp: An n^5/2 algorithm for maximum matchings in bipartite graphs, 1973);
    of the ways to do so one is drawn.
    """
    size = 1 + int(max(values.max(initial=0), published.max(initial=0)))
    rows, first, free = _by_group(class_, published, len(cells), size)
    person, group = _choices(keys, values, cells, size)
    fits = free[group] > 0
    person, group = person[fits], group[fits]
    several = int((np.bincount(person, minlength=len(values)) > 1).sum())
    # Of very large groups everybody is offered only some rows, all round alike.
    offered = np.minimum(free[group], max(1, MOST // max(len(group), 1)))
    begin = np.repeat(rng.integers(0, free[group]) if len(group) else group, offered)
    each, among = np.repeat(person, offered), np.repeat(group, offered)
    row = rows[first[among] + (begin + _rank(offered)) % free[among]]
    drawn = rng.permutation(len(class_))  # the first that is free is then any of them
    ones = np.ones(len(row), np.bool_)
    graph = csr_array((ones, (each, drawn[row])), shape=(len(values), len(class_)))
    graph.sort_indices()
    seat = maximum_bipartite_matching(graph, perm_type="column")
    back = np.append(np.argsort(drawn), -1)  # nobody's row is the last, which -1 finds
    return np.asarray(back[seat], np.int64), several


def _by_group(
    class_: NDArray[Any], values: Codes, classes: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows by class and value, where those of each pair begin, and how many it has."""
    group = class_.astype(np.int64) * size + values
    free = np.bincount(group, minlength=classes * size).astype(np.int64)
    return np.argsort(group, kind="stable"), np.cumsum(free) - free, free


def _choices(
    keys: NDArray[Any], values: Codes, cells: Cells, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a person, and a class that holds it together with its value."""
    start, classes = cells.contains(keys)
    person = np.repeat(np.arange(len(values)), np.diff(start))
    known = values[person] >= 0
    person, classes = person[known], classes[known]
    return person, classes * size + values[person]


def _rank(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, … for each of so many times.

    >>> _rank(np.array([2, 1, 3])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    begins = np.cumsum(times) - times
    return np.arange(int(times.sum())) - np.repeat(begins, times)
