"""How many people each subset of columns singles out, so that no quasi-identifier is overlooked.

A column left out of the quasi-identifier is noticed by what it adds (L. Sweeney, k-anonymity: a
model for protecting privacy, 2002: the misjudged quasi-identifier). Each subset is rolled up from
a superset's distinct combinations, never from the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL_UP_TO = 12
"""With more columns only subsets of up to ``SMALL`` columns, all but one, and all are counted."""
SMALL = 3
WORK = 150_000_000
"""Subsets × distinct combinations above which the same restriction applies."""

Codes = NDArray[Any]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Subset:
    """How far one subset of columns (their indices, ascending) distinguishes people."""

    columns: tuple[int, ...]
    uniques: int
    classes: int
    rows: int

    @property
    def unique_share(self) -> float:
        """The share of people that nobody else equals in these columns."""
        return self.uniques / self.rows if self.rows else 0.0

    @property
    def average_class(self) -> float:
        """How many people share a combination, on average over combinations."""
        return self.rows / self.classes if self.classes else 0.0

    @property
    def marketer(self) -> float:
        """The share of people an adversary who tries everybody gets right, on average."""
        return self.classes / self.rows if self.rows else 0.0


def subset_risks(
    keys: Codes, sizes: Sequence[int], count: Counts, also: Iterable[Sequence[int]] = ()
) -> list[Subset]:
    """Uniques and classes of the subsets of columns, by number of columns, then by index.

    ``keys`` (columns, entries) are codes below ``sizes`` (columns,), ``count`` (entries,) people.
    All 2^q - 1 subsets are counted where that is not too much work (``ALL_UP_TO``, ``WORK``);
    those in ``also`` are counted in any case.

    >>> found = subset_risks(np.array([[0, 0, 1], [0, 1, 1]]), (2, 2), np.array([1, 1, 1]))
    >>> [(s.columns, s.uniques, s.classes) for s in found]
    [((0,), 1, 2), ((1,), 1, 2), ((0, 1), 3, 3)]
    """
    columns = tuple(range(len(sizes)))
    if not columns or not len(count):
        return []
    codes, number = _roll_up(np.asarray(keys), sizes, np.asarray(count, dtype=np.int64))
    is_small = len(columns) <= ALL_UP_TO and len(number) << len(columns) <= WORK
    walk = _walk_all if is_small else _walk_small
    subsets = {subset.columns: subset for subset in walk(columns, codes, tuple(sizes), number)}
    for chosen in {tuple(sorted(subset)) for subset in also} - set(subsets) - {()}:
        part = _project(columns, codes, tuple(sizes), number, chosen)
        subsets[chosen] = _subset(part[0], part[3])
    return sorted(subsets.values(), key=lambda subset: (len(subset.columns), subset.columns))


def rank_revealing_columns(
    keys: Codes, sizes: Sequence[int], count: Counts, among: Sequence[int]
) -> list[Subset]:
    """Columns added one by one, each time the one that makes most people unique."""
    chosen: tuple[int, ...] = ()
    steps: list[Subset] = []
    while len(chosen) < len(among):
        candidates = [tuple(sorted((*chosen, column))) for column in among if column not in chosen]
        subsets = [
            _subset(columns, _roll_up(keys[list(columns)], [sizes[i] for i in columns], count)[1])
            for columns in candidates
        ]
        steps.append(max(subsets, key=lambda subset: (subset.uniques, subset.classes)))
        chosen = steps[-1].columns
    return steps


def _walk_all(
    columns: tuple[int, ...], codes: Codes, sizes: tuple[int, ...], count: Counts, first: int = 0
) -> Iterator[Subset]:
    """This subset and every one made by dropping columns from position ``first`` on."""
    yield _subset(columns, count)
    if len(columns) == 1:
        return
    for drop in range(first, len(columns)):
        remaining = [i for i in range(len(columns)) if i != drop]
        yield from _walk_all(*_project(columns, codes, sizes, count, remaining), drop)


def _walk_small(
    columns: tuple[int, ...], codes: Codes, sizes: tuple[int, ...], count: Counts
) -> Iterator[Subset]:
    """All columns, all but one, and the small subsets, each of these from one of ``SMALL``."""
    yield _subset(columns, count)
    everything = range(len(columns))
    for chosen in combinations(everything, len(columns) - 1):
        if chosen:
            part = _project(columns, codes, sizes, count, chosen)
            yield _subset(part[0], part[3])
    for chosen in combinations(everything, min(SMALL, len(columns))):
        yield from _walk_all(*_project(columns, codes, sizes, count, chosen))


def _project(
    columns: tuple[int, ...],
    codes: Codes,
    sizes: tuple[int, ...],
    count: Counts,
    chosen: Sequence[int],
) -> tuple[tuple[int, ...], Codes, tuple[int, ...], Counts]:
    chosen_sizes = tuple(sizes[i] for i in chosen)
    codes, count = _roll_up(codes[list(chosen)], chosen_sizes, count)
    return tuple(columns[i] for i in chosen), codes, chosen_sizes, count


def _subset(columns: tuple[int, ...], count: Counts) -> Subset:
    return Subset(columns, int((count == 1).sum()), len(count), int(count.sum()))


def _roll_up(codes: Codes, sizes: Sequence[int], count: Counts) -> tuple[Codes, Counts]:
    key, domain = _pack_codes(codes, sizes)
    if domain <= max(4 * len(key), 1 << 12):  # so few possible keys need no sorting
        total = np.bincount(key, weights=count, minlength=domain).astype(np.int64)
        last = np.zeros(domain, dtype=np.int64)
        last[key] = np.arange(len(key))
        present = np.flatnonzero(total)
        return codes[:, last[present]], total[present]
    order = np.argsort(key)
    key = key[order]
    start = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return codes[:, order[start]], np.add.reduceat(count[order], start)


def _pack_codes(codes: Codes, sizes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """One number for each combination, and a bound above all of them."""
    key, domain = codes[0].astype(np.int64), int(sizes[0])
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        if domain * size >= 1 << 62:  # number what occurs, so that the product fits again
            present, key = np.unique(key, return_inverse=True)
            domain = len(present)
        key, domain = key * size + code, domain * size
    return key, domain
