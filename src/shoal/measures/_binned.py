"""Tables of counts, over bins of leaves, as distributions on the leaves of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis

BINS = 128
"""The most values a column has in a pair."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tables:
    """Counts over bins of leaves, of single columns and of pairs; counts may be of any size.

    ``bins`` has for each column the bin of every leaf, in the order of the axis, null last; -1
    where a leaf is in none. A column that is in no table is known by its leaves alone, and two
    columns that are in none together as if they were independent.
    """

    bins: Mapping[str, NDArray[Any]]
    counts: Mapping[tuple[str, ...], Floats]


@dataclass(frozen=True)
class Binned:
    """Tables as distributions of so many ``rows``: nothing below none, evenly within a bin."""

    axes: Sequence[Axis]
    released: Tables
    rows: int

    def column(self, i: int) -> tuple[Floats, float]:
        """Rows on each leaf, and rows in bins that have none."""
        axis = self.axes[i]
        known = self._counts((axis.name,))
        if known is None:
            return np.full(axis.size, self.rows / axis.size), 0.0
        return self._beside(known @ self._spread(axis, len(known), axis.size))

    def pair(self, i: int, j: int) -> tuple[Floats, float]:
        """The same of each two values, or groups of neighbouring values where they are many."""
        one, two = self.axes[i], self.axes[j]
        known = self._counts((one.name, two.name))
        if known is None:
            both = [_in_bins(self.column(k)[0]) for k in (i, j)]
            return self._beside(np.outer(*both) / self.rows)
        rows, columns = known.shape
        return self._beside(
            self._spread(one, rows, BINS).T @ known @ self._spread(two, columns, BINS)
        )

    def _counts(self, names: tuple[str, ...]) -> Floats | None:
        """The table of these columns, in this order; None where there is none."""
        counts = self.released.counts
        found = counts.get(names)
        if found is None and names[::-1] in counts:
            found = counts[names[::-1]].T
        if found is None:
            return None
        return whole(found, self.rows)

    def _spread(self, axis: Axis, size: int, most: int) -> Floats:
        """The share of each of ``size`` bins that each value, or group of values, has."""
        found = np.zeros((size, -(-axis.size // _width(axis.size, most))))
        bins, value = self.released.bins[axis.name], np.arange(axis.size) // _width(axis.size, most)
        np.add.at(found, (bins[bins >= 0], value[bins >= 0]), 1.0)
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1.0))

    def _beside(self, found: Floats) -> tuple[Floats, float]:
        """What is on values, and what is left: in bins that have no value of the original."""
        return found, max(0.0, self.rows - float(found.sum()))


def whole(estimated: Floats, rows: float) -> Floats:
    """Counts of any size as those of so many rows: nothing below none, and scaled to the sum."""
    some = np.maximum(estimated, 0.0)
    some = some if some.any() else np.ones_like(some)
    return np.asarray(some * (rows / some.sum()))


def _width(size: int, most: int) -> int:
    return -(-size // most)


def _in_bins(leaves: Floats) -> Floats:
    """Rows on each group of neighbouring leaves, as pairs have them."""
    group = np.arange(len(leaves)) // _width(len(leaves), BINS)
    return np.bincount(group, weights=leaves).astype(np.float64)
