"""Tables of codes as shoal's tallies: what its methods are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data import QUASI, SENSITIVE, Codes
from shoal.core.axis import Axis
from shoal.core.tally import Tally


def axis(name: str, size: int, shape: str) -> Axis:
    """An axis of bare codes: ``ordered`` (any range) or ``flat`` (any set)."""
    leaves = tuple(float(code) for code in range(size))
    if shape == "flat":
        return Axis(name, "category", "flat", tuple(map(str, range(size))))
    return Axis(name, "number", "ordered", leaves, positions=np.arange(size, dtype=np.float64))


def keys(table: Codes) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The quasi-identifiers' codes (columns, rows) in the smallest type, and their domains."""
    sizes = np.array([len(table.values[name]) for name in QUASI])
    small = np.uint8 if sizes.max() <= 256 else np.uint16
    return np.stack([table.codes[name].astype(small) for name in QUASI]), sizes


def by_frequency(table: Codes) -> Codes:
    """Categories coded by falling frequency, as shoal codes columns without an order."""
    values, codes = dict(table.values), dict(table.codes)
    for name, column in table.codes.items():
        if values[name].dtype.kind == "U":
            order = np.argsort(-np.bincount(column, minlength=len(values[name])), kind="stable")
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            values[name], codes[name] = values[name][order], rank[column].astype(np.int32)
    return Codes(values, codes)


def tally(table: Codes, *, sets: bool = False, sensitive: str = SENSITIVE) -> Tally:
    """Distinct rows with counts, in no order; ``sets``: columns of categories are flat."""
    names = (*QUASI, sensitive)
    table = by_frequency(table) if sets else table
    sizes = [len(table.values[name]) for name in names]
    packed = np.zeros(table.rows, dtype=np.int64)
    for name, size in zip(names, sizes, strict=True):
        packed = packed * size + table.codes[name]
    packed, count = np.unique(packed, return_counts=True)
    order = np.random.default_rng(0).permutation(len(packed))
    packed, count = packed[order], count[order]
    columns = []
    for size in reversed(sizes):
        packed, code = np.divmod(packed, size)
        columns.append(code)
    small = np.uint8 if max(sizes[:-1]) <= 256 else np.uint16
    quasi = tuple(
        axis(n, s, "flat" if sets and table.values[n].dtype.kind == "U" else "ordered")
        for n, s in zip(QUASI, sizes, strict=False)
    )
    return Tally(
        quasi,
        (axis(sensitive, sizes[-1], "flat"),),
        np.stack(columns[:0:-1]).astype(small),
        columns[0][None].astype(np.int32),
        count.astype(np.int64),
    )
