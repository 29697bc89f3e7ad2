"""The distinct combinations of quasi-identifiers, and people in random order among equals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.tally import Tally
from shoal.methods._shared.refusals import check_quasi


@dataclass(frozen=True)
class Points:
    """The distinct combinations of quasi-identifiers, ascending, and the people of each."""

    keys: NDArray[Any]
    """(columns, points): codes."""
    count: NDArray[np.int64]
    of_entry: NDArray[np.int64]
    """The point of each of the tally's entries."""

    @classmethod
    def of(cls, tally: Tally) -> Points:
        """Those of a tally, whatever the order of its entries."""
        check_quasi(tally)
        keys = tally.keys.astype(np.int32)
        words = _pack_columns(keys, [axis.size for axis in tally.quasi])
        order = np.lexsort(words[::-1])
        new = np.append(True, np.any([np.diff(word[order]) != 0 for word in words], axis=0))
        first = np.flatnonzero(new[: len(order)])
        of_entry = np.empty(len(order), np.int64)
        of_entry[order] = np.cumsum(new[: len(order)]) - 1
        count = np.add.reduceat(tally.count[order], first)
        return cls(np.ascontiguousarray(keys[:, order[first]]), count, of_entry)


def select_entries(tally: Tally, entries: NDArray[Any]) -> Tally:
    """Some of the entries, as a tally of their own."""
    return replace(
        tally,
        keys=np.ascontiguousarray(tally.keys[:, entries]),
        values=np.ascontiguousarray(tally.values[:, entries]),
        count=tally.count[entries],
        providers=None if tally.providers is None else tally.providers[entries],
    )


def order_people(tally: Tally, rng: np.random.Generator) -> NDArray[np.int32]:
    """Every person's entry, in an order that depends on the codes and the seed alone.

    People with equal quasi-identifiers are mixed: were they sorted by their sensitive values, a
    cut that divides them would gather equal values in one class.
    """
    columns = [*tally.keys, *tally.values]
    if tally.providers is not None:
        columns.append(tally.providers)
    order = np.lexsort(tuple(columns[::-1]))
    return rng.permutation(np.repeat(order, tally.count[order])).astype(np.int32)


def _pack_columns(keys: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """The columns in as few as hold them: sorting takes as long as there are columns."""
    words, size_so_far = [np.zeros(keys.shape[1], np.int64)], 1
    for codes, size in zip(keys, sizes, strict=True):
        if size_so_far > 2**62 // size:
            words.append(np.zeros(keys.shape[1], np.int64))
            size_so_far = 1
        words[-1] = words[-1] * size + codes
        size_so_far *= size
    return words
