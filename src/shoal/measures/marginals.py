"""Marginals: how far each column, and each pair of columns, has moved.

The distance is the total variation ½ Σ |original - release| between the two distributions, where a
generalised cell spreads its rows evenly over its leaves. Suppressed rows are missing from the
release: their share counts as one more value, which the original does not have.
Sensitive columns are in, so that the pairs say what is left of their relation to the others.

In pairs a column of more than ``BINS`` leaves is counted in at most ``BINS`` equal bins of
neighbouring leaves; marginals are never binned. Ranges are added at their ends only and summed up
afterwards, so a wide cell costs no more than a narrow one.

A release need not be made of cells: measured in the same way are a ``Cut``, ``EstimatedRows``
(classes whose rows are estimates, each a count of any size with its codes) and ``CountTables``
(counts of columns and pairs over bins of their leaves). Estimates and counts below none are taken
as none, in each column and pair, and the others scaled to the original's rows.

It does not see relations of three columns or more, nor which person has which value.

D. Kifer, J. Gehrke, Injecting utility into anonymized datasets, SIGMOD 2006 (a release is as
useful as its marginals are close to the original's).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Tally
from shoal.measures._counting import unpack_members

BINS = 128
"""The largest number of values that a column has in a pair."""
BLOCK = 1 << 15
"""How many cells are spread at once."""

Floats = NDArray[np.float64]
Ints = NDArray[Any]


@dataclass(frozen=True)
class Distances:
    """Total variation of each column and of each pair, 0 the same … 1 nothing in common."""

    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]

    def to_dict(self) -> dict[str, Any]:
        """The distances for JSON."""
        pairs = [{"columns": list(names), "distance": d} for names, d in self.pairs.items()]
        return {"columns": dict(self.columns), "pairs": pairs}

    @property
    def total(self) -> float:
        """All of them together."""
        return sum(self.columns.values()) + sum(self.pairs.values())

    def share(self, max_lost: Distances) -> float:
        """All of them together, as a share of what can be lost at most: 0 … 1."""
        if self.total == 0:
            return 0.0
        return min(1.0, self.total / max_lost.total) if max_lost.total > 0 else 1.0


@dataclass(frozen=True)
class EstimatedRows:
    """Classes whose rows are estimated: ``count`` of them, of any size, have these values."""

    cells: Cells
    class_: Ints
    values: Ints
    """Codes of the tally's sensitive columns: (columns, rows)."""
    count: Ints

    @classmethod
    def of(cls, cells: Cells, counts: Floats) -> EstimatedRows:
        """Classes of one sensitive column, of which each has so many rows: (classes, values)."""
        classes, values = counts.shape
        code = np.tile(np.arange(values), classes)[np.newaxis]
        return cls(cells, np.repeat(np.arange(classes), values), code, counts.ravel())


@dataclass(frozen=True)
class CountTables:
    """Counts over bins of leaves, of single columns and of pairs; counts may be of any size.

    ``bins`` has for each column the bin of every leaf, in the order of the axis, null last; -1
    where a leaf is in none. A column that is in no table is known by its leaves alone, and two
    columns that are in none together as if they were independent.
    """

    bins: Mapping[str, NDArray[Any]]
    counts: Mapping[tuple[str, ...], Floats]


Released = Cut | EstimatedRows | CountTables


def marginals(tally: Tally, released: Released) -> float:
    """All distances together, as a share of those of a release whose every cell is the root."""
    lost, max_lost = _compare(tally, [released, cut_to_root(tally)])
    return lost.share(max_lost)


def raw(tally: Tally, released: Released) -> Distances:
    """The distance of each column and of each pair."""
    return _compare(tally, [released])[0]


def distributions(tally: Tally, cut: Cut) -> dict[str, tuple[Floats, Floats]]:
    """Rows on each leaf of each column: those of the original, and those of the release."""
    columns = zip(_list_columns(tally, None), _list_columns(tally, cut), strict=True)
    return {old.axis.name: (_count_by_leaf(old), _count_by_leaf(new)) for old, new in columns}


def _compare(tally: Tally, releases: Sequence[Released]) -> list[Distances]:
    distances = [Distances({}, {}) for _ in releases]
    if not tally.rows:
        return distances
    before = _Cells(_list_columns(tally, None))
    after = [_read_distributions(tally, release) for release in releases]
    names = [column.axis.name for column in before.columns]
    for i, name in enumerate(names):
        old, _ = before.column(i)
        for result, new in zip(distances, after, strict=True):
            result.columns[name] = _total_variation(old, *new.column(i), tally.rows)
    for i, j in combinations(range(len(names)), 2):
        old, _ = before.pair(i, j)
        for result, new in zip(distances, after, strict=True):
            result.pairs[names[i], names[j]] = _total_variation(old, *new.pair(i, j), tally.rows)
    return distances


class _Distributions(Protocol):
    """What a release shows: rows on values, and rows that are on none of the original's."""

    def column(self, i: int) -> tuple[Floats, float]: ...

    def pair(self, i: int, j: int) -> tuple[Floats, float]: ...


def _read_distributions(tally: Tally, released: Released) -> _Distributions:
    if isinstance(released, CountTables):
        axes = (*tally.quasi, *tally.sensitive)
        return _BinnedTables(axes, released, tally.rows)
    cells = _Cells(_list_columns(tally, released))
    if isinstance(released, EstimatedRows):
        return _Estimated(cells, tally.rows)
    return replace(cells, suppressed=released.suppressed)


@dataclass(frozen=True)
class _Cells:
    columns: Sequence[_Column]
    suppressed: int = 0

    def column(self, i: int) -> tuple[Floats, float]:
        return _count_by_leaf(self.columns[i]), self.suppressed

    def pair(self, i: int, j: int) -> tuple[Floats, float]:
        return _count_by_pair(self.columns[i], self.columns[j]), self.suppressed


@dataclass(frozen=True)
class _Estimated:
    """Estimates as distributions of so many ``rows``, as tables are: nothing below none.

    Rows that are on no value of the original are counted apart.
    """

    cells: _Cells
    rows: int

    def column(self, i: int) -> tuple[Floats, float]:
        return self._scale(self.cells.column(i)[0])

    def pair(self, i: int, j: int) -> tuple[Floats, float]:
        return self._scale(self.cells.pair(i, j)[0])

    def _scale(self, estimates: Floats) -> tuple[Floats, float]:
        elsewhere = round(self.rows - float(estimates.sum()), 6)  # what adding up leaves is nobody
        scaled = scale_counts(np.append(estimates, elsewhere), self.rows)
        return scaled[:-1].reshape(estimates.shape), float(scaled[-1])


@dataclass(frozen=True)
class _BinnedTables:
    """Tables as distributions of so many ``rows``: nothing below none, evenly within a bin."""

    axes: Sequence[Axis]
    released: CountTables
    rows: int

    def column(self, i: int) -> tuple[Floats, float]:
        """Rows on each leaf, and rows in bins that have none."""
        axis = self.axes[i]
        counts = self._counts((axis.name,))
        if counts is None:
            return np.full(axis.size, self.rows / axis.size), 0.0
        return self._with_remainder(counts @ self._spread(axis, len(counts), axis.size))

    def pair(self, i: int, j: int) -> tuple[Floats, float]:
        """The same of each two values, or groups of neighbouring values where they are many."""
        first, second = self.axes[i], self.axes[j]
        counts = self._counts((first.name, second.name))
        if counts is None:
            both = [_sum_in_bins(self.column(k)[0]) for k in (i, j)]
            return self._with_remainder(np.outer(*both) / self.rows)
        rows, columns = counts.shape
        return self._with_remainder(
            self._spread(first, rows, BINS).T @ counts @ self._spread(second, columns, BINS)
        )

    def _counts(self, names: tuple[str, ...]) -> Floats | None:
        counts = self.released.counts
        table = counts.get(names)
        if table is None and names[::-1] in counts:
            table = counts[names[::-1]].T
        if table is None:
            return None
        return scale_counts(table, self.rows)

    def _spread(self, axis: Axis, size: int, max_size: int) -> Floats:
        # The share of each of ``size`` bins that each value, or group of values, has.
        width = _divide_up(axis.size, max_size)
        shares = np.zeros((size, _divide_up(axis.size, width)))
        bins, value = self.released.bins[axis.name], np.arange(axis.size) // width
        np.add.at(shares, (bins[bins >= 0], value[bins >= 0]), 1.0)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0))

    def _with_remainder(self, counts: Floats) -> tuple[Floats, float]:
        # The rest is in bins that have no value of the original.
        return counts, max(0.0, self.rows - float(counts.sum()))


def scale_counts(estimated: Floats, rows: float) -> Floats:
    """Counts of any size as those of so many rows: nothing below none, and scaled to the sum."""
    positive = np.maximum(estimated, 0.0)
    positive = positive if positive.any() else np.ones_like(positive)
    return np.asarray(positive * (rows / positive.sum()))


def _divide_up(size: int, parts: int) -> int:
    return -(-size // parts)


def _sum_in_bins(leaves: Floats) -> Floats:
    group = np.arange(len(leaves)) // _divide_up(len(leaves), BINS)
    return np.bincount(group, weights=leaves).astype(np.float64)


@dataclass(frozen=True)
class _Spans:
    """Cells as runs of values, ``mass`` on each value: cell i has runs start[i] … start[i+1]-1."""

    start: Ints
    low: Ints
    high: Ints
    mass: Floats
    size: int


@dataclass(frozen=True)
class _Column:
    """One column of a table: rows (``count``), each in a cell (``unit``) of ``cells``."""

    axis: Axis
    unit: Ints
    count: Ints
    cells: Cells | None
    index: int

    def spans(self, bins: int) -> _Spans:
        """The cells over the leaves, or over bins where the leaves are too many."""
        width, units = _divide_up(self.axis.size, bins), self.axis.size
        unit: Ints = np.arange(units)
        low, high = unit, unit
        if self.cells is not None:
            units = len(self.cells)
            unit, low, high = _list_runs(self.cells, self.index)
        return _bin_runs(unit, low, high, units, self.axis.size, width)


def _list_columns(tally: Tally, released: Cut | EstimatedRows | None) -> list[_Column]:
    """Quasi-identifiers, then sensitive columns: the original's (None), or a release's."""
    if released is None:
        quasi = _list_exact_columns(tally.quasi, tally.keys, tally.count)
        return quasi + _list_exact_columns(tally.sensitive, tally.values, tally.count)
    if isinstance(released, Cut):
        is_published = released.class_ >= 0
        values = tally.values[:, released.entry[is_published]]
        released = EstimatedRows(
            released.cells, released.class_[is_published], values, released.count[is_published]
        )
    unit, count, cells = released.class_, released.count, released.cells
    quasi = [_Column(axis, unit, count, cells, j) for j, axis in enumerate(tally.quasi)]
    return quasi + _list_exact_columns(tally.sensitive, released.values, count)


def _list_exact_columns(axes: Sequence[Axis], codes: Ints, count: Ints) -> list[_Column]:
    return [_Column(axis, own, count, None, -1) for axis, own in zip(axes, codes, strict=True)]


def _list_runs(cells: Cells, column: int) -> tuple[Ints, Ints, Ints]:
    if column in cells.sets:
        return _split_in_runs(cells.sets[column])
    return np.arange(len(cells)), cells.low[:, column], cells.high[:, column]


def _split_in_runs(bits: NDArray[np.uint64]) -> tuple[Ints, Ints, Ints]:
    """Sets as runs of neighbouring codes: set, first code, last code."""
    blocks = list(unpack_members(bits)) or [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    row, code = (np.concatenate(part) for part in zip(*blocks, strict=True))
    if not len(row):
        return row, code, code
    is_break = (row[1:] != row[:-1]) | (code[1:] != code[:-1] + 1)
    first = np.concatenate(([True], is_break))
    last = np.concatenate((is_break, [True]))
    return row[first], code[first], code[last]


def _bin_runs(unit: Ints, low: Ints, high: Ints, units: int, size: int, width: int) -> _Spans:
    """Runs of leaves as runs of bins of ``width`` leaves; a run's ends may fill a bin partly."""
    low, high = low.astype(np.int64), high.astype(np.int64)
    share = 1.0 / np.bincount(unit, weights=high - low + 1, minlength=units)[unit]
    first, last = low // width, high // width
    if width == 1:
        parts = [(unit, low, high, share)]
    else:
        inner, longer = last > first + 1, last > first
        head = np.minimum(high + 1, (first + 1) * width) - low
        tail = high + 1 - last * width
        parts = [
            (unit, first, first, share * head),
            (unit[inner], first[inner] + 1, last[inner] - 1, share[inner] * width),
            (unit[longer], last[longer], last[longer], (share * tail)[longer]),
        ]
    unit, low, high, mass = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(unit, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(unit, minlength=units))))
    return _Spans(start, low[order], high[order], mass[order], _divide_up(size, width))


def _count_by_leaf(column: _Column) -> Floats:
    spans = column.spans(column.axis.size)
    rows = np.bincount(column.unit, weights=column.count, minlength=len(spans.start) - 1)
    mass = np.repeat(rows, np.diff(spans.start)) * spans.mass
    change = np.bincount(spans.low, weights=mass, minlength=spans.size + 1)
    change -= np.bincount(spans.high + 1, weights=mass, minlength=spans.size + 1)
    return np.cumsum(change)[:-1].astype(np.float64)


def _count_by_pair(first_column: _Column, second_column: _Column) -> Floats:
    """Rows on each pair of values (or bins): every run of one cell with every run of the other."""
    a, b = first_column.spans(BINS), second_column.spans(BINS)
    shape = (a.size + 1, b.size + 1)
    change = np.zeros(shape[0] * shape[1])
    for first, second, rows in _iterate_cell_pairs(first_column, second_column):
        runs_a, runs_b = np.diff(a.start)[first], np.diff(b.start)[second]
        pairs = runs_a * runs_b
        item = np.repeat(np.arange(len(rows)), pairs)
        place = np.arange(len(item)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        i = a.start[first[item]] + place // runs_b[item]
        j = b.start[second[item]] + place % runs_b[item]
        mass = rows[item] * a.mass[i] * b.mass[j]
        for row, column, sign in (
            (a.low[i], b.low[j], 1),
            (a.high[i] + 1, b.high[j] + 1, 1),
            (a.high[i] + 1, b.low[j], -1),
            (a.low[i], b.high[j] + 1, -1),
        ):
            corner = row * shape[1] + column
            change += sign * np.bincount(corner, weights=mass, minlength=len(change))
    return np.cumsum(np.cumsum(change.reshape(shape), axis=0), axis=1)[:-1, :-1]


def _iterate_cell_pairs(
    first_column: _Column, second_column: _Column
) -> Iterator[tuple[Ints, Ints, Floats]]:
    units = _count_units(second_column)
    if (
        first_column.unit is second_column.unit
    ):  # both the class: a class has one cell in each column
        pair = np.arange(units) * (units + 1)
        rows = np.bincount(first_column.unit, weights=first_column.count, minlength=units)
    else:
        key = first_column.unit.astype(np.int64) * units + second_column.unit
        pair, key = _number_keys(key, _count_units(first_column) * units)
        rows = np.bincount(key, weights=first_column.count, minlength=len(pair))
    for begin in range(0, len(pair), BLOCK):
        part = pair[begin : begin + BLOCK]
        yield part // units, part % units, rows[begin : begin + BLOCK].astype(np.float64)


def _count_units(column: _Column) -> int:
    return int(column.unit.max()) + 1 if len(column.unit) else 0


def _number_keys(key: Ints, domain: int) -> tuple[Ints, Ints]:
    # Sorted only where the keys that may occur are many.
    if domain <= max(4 * len(key), 1 << 16):
        return np.arange(domain), key
    return np.unique(key, return_inverse=True)


def _total_variation(before: Floats, after: Floats, elsewhere: float, rows: int) -> float:
    return min(1.0, (float(np.abs(before - after).sum()) + elsewhere) / (2 * rows))


def cut_to_root(tally: Tally) -> Cut:
    """The cut whose only class publishes nothing but roots."""
    entry = np.arange(tally.entries, dtype=np.int32)
    high = np.array([[axis.size - 1 for axis in tally.quasi]], dtype=np.int32)
    return Cut(entry, np.zeros_like(entry), tally.count, Cells(np.zeros_like(high), high))
