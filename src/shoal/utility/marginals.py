"""Marginals: how far each column, and each pair of columns, has moved.

The distance is the total variation ½ Σ |original - release| between the two distributions, where a
generalised cell spreads its rows evenly over its leaves. Rows held back are missing from the
release: their share stands beside the leaves as one more value the original does not have.
Sensitive columns are in, so that the pairs say what is left of their relation to the others.

In pairs a column of more than ``BINS`` leaves is counted in at most ``BINS`` equal bins of
neighbouring leaves; marginals are never binned. Ranges are added at their ends only and summed up
afterwards, so a wide cell costs no more than a narrow one.

It does not see relations of three columns or more, nor which person has which value.

D. Kifer, J. Gehrke, Injecting utility into anonymized datasets, SIGMOD 2006 (a release is as
useful as its marginals are close to the original's).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.tally import Cut, Tally
from shoal.utility._counting import members

BINS = 128
"""The most values a column has in a pair."""
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


def marginals(tally: Tally, cut: Cut) -> float:
    """All distances together, as a share of those of a release whose every cell is the root."""
    lost, most = (_total(found) for found in _compare(tally, [cut, _root(tally)]))
    if lost == 0:
        return 0.0
    return min(1.0, lost / most) if most > 0 else 1.0


def raw(tally: Tally, cut: Cut) -> Distances:
    """The distance of each column and of each pair."""
    return _compare(tally, [cut])[0]


def distributions(tally: Tally, cut: Cut) -> dict[str, tuple[Floats, Floats]]:
    """Rows on each leaf of each column: those of the original, and those of the release."""
    columns = zip(_columns(tally, None), _columns(tally, cut), strict=True)
    return {old.axis.name: (_marginal(old), _marginal(new)) for old, new in columns}


def _compare(tally: Tally, cuts: Sequence[Cut]) -> list[Distances]:
    """The distances of several releases from their one original."""
    found = [Distances({}, {}) for _ in cuts]
    if not tally.rows:
        return found
    before, after = _columns(tally, None), [_columns(tally, cut) for cut in cuts]
    names = [column.axis.name for column in before]
    for i, name in enumerate(names):
        old = _marginal(before[i])
        for result, new, cut in zip(found, after, cuts, strict=True):
            result.columns[name] = _distance(old, _marginal(new[i]), cut.held_back, tally.rows)
    for i, j in combinations(range(len(names)), 2):
        old = _joint(before[i], before[j])
        for result, new, cut in zip(found, after, cuts, strict=True):
            joint = _joint(new[i], new[j])
            result.pairs[names[i], names[j]] = _distance(old, joint, cut.held_back, tally.rows)
    return found


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
        width, units = -(-self.axis.size // bins), self.axis.size
        unit: Ints = np.arange(units)
        low, high = unit, unit
        if self.cells is not None:
            units = len(self.cells)
            unit, low, high = _ranges(self.cells, self.index)
        return _binned(unit, low, high, units, self.axis.size, width)


def _columns(tally: Tally, cut: Cut | None) -> list[_Column]:
    """Quasi-identifiers, then sensitive columns: original (no cut), or published by a cut."""
    kept = slice(None) if cut is None else cut.class_ >= 0
    count = tally.count if cut is None else cut.count[kept]
    entry = np.arange(tally.entries) if cut is None else cut.entry[kept]
    class_ = None if cut is None else cut.class_[kept]
    found = []
    for j, axis in enumerate(tally.quasi):
        unit = tally.keys[j] if class_ is None else class_
        found.append(_Column(axis, unit, count, None if cut is None else cut.cells, j))
    for axis, codes in zip(tally.sensitive, tally.values, strict=True):
        found.append(_Column(axis, codes[entry], count, None, -1))
    return found


def _ranges(cells: Cells, column: int) -> tuple[Ints, Ints, Ints]:
    """Cells as runs of neighbouring codes: class, first code, last code."""
    if column in cells.sets:
        return _runs(cells.sets[column])
    return np.arange(len(cells)), cells.low[:, column], cells.high[:, column]


def _runs(bits: NDArray[np.uint64]) -> tuple[Ints, Ints, Ints]:
    """Sets as runs of neighbouring codes: set, first code, last code."""
    blocks = list(members(bits)) or [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    row, code = (np.concatenate(part) for part in zip(*blocks, strict=True))
    if not len(row):
        return row, code, code
    apart = (row[1:] != row[:-1]) | (code[1:] != code[:-1] + 1)
    first = np.concatenate(([True], apart))
    last = np.concatenate((apart, [True]))
    return row[first], code[first], code[last]


def _binned(unit: Ints, low: Ints, high: Ints, units: int, size: int, width: int) -> _Spans:
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
    return _Spans(start, low[order], high[order], mass[order], -(-size // width))


def _marginal(column: _Column) -> Floats:
    """Rows on each leaf."""
    spans = column.spans(column.axis.size)
    rows = np.bincount(column.unit, weights=column.count, minlength=len(spans.start) - 1)
    mass = np.repeat(rows, np.diff(spans.start)) * spans.mass
    change = np.bincount(spans.low, weights=mass, minlength=spans.size + 1)
    change -= np.bincount(spans.high + 1, weights=mass, minlength=spans.size + 1)
    return np.cumsum(change)[:-1].astype(np.float64)


def _joint(one: _Column, two: _Column) -> Floats:
    """Rows on each pair of values (or bins): every run of one cell with every run of the other."""
    a, b = one.spans(BINS), two.spans(BINS)
    shape = (a.size + 1, b.size + 1)
    change = np.zeros(shape[0] * shape[1])
    for first, second, rows in _grouped(one, two):
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


def _grouped(one: _Column, two: _Column) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Rows of each pair of cells that occurs together, block by block."""
    units = int(two.unit.max(initial=-1)) + 1
    if one.unit is two.unit:  # both the class: a class has one cell in each column
        pair = np.arange(units) * (units + 1)
        rows = np.bincount(one.unit, weights=one.count, minlength=units)
    else:
        key = one.unit.astype(np.int64) * units + two.unit
        pair, key = _numbered(key, (int(one.unit.max(initial=-1)) + 1) * units)
        rows = np.bincount(key, weights=one.count, minlength=len(pair))
    for begin in range(0, len(pair), BLOCK):
        part = pair[begin : begin + BLOCK]
        yield part // units, part % units, rows[begin : begin + BLOCK].astype(np.float64)


def _numbered(key: Ints, domain: int) -> tuple[Ints, Ints]:
    """Keys that may occur, and each key's number among them; sorted only where they are many."""
    if domain <= max(4 * len(key), 1 << 16):
        return np.arange(domain), key
    return np.unique(key, return_inverse=True)


def _distance(before: Floats, after: Floats, held: int, rows: int) -> float:
    return min(1.0, (float(np.abs(before - after).sum()) + held) / (2 * rows))


def _root(tally: Tally) -> Cut:
    """The cut whose only class publishes nothing but roots."""
    entry = np.arange(tally.entries, dtype=np.int32)
    high = np.array([[axis.size - 1 for axis in tally.quasi]], dtype=np.int32)
    return Cut(entry, np.zeros_like(entry), tally.count, Cells(np.zeros_like(high), high))


def _total(distances: Distances) -> float:
    return sum(distances.columns.values()) + sum(distances.pairs.values())
