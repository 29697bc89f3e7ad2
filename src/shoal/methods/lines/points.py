"""The distinct combinations of quasi-identifiers: what methods that gather people begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.methods.cutting.topdown import check_quasi
from shoal.tally import Tally


@dataclass(frozen=True)
class Points:
    """The distinct combinations of quasi-identifiers, ascending, and the people of each."""

    keys: NDArray[Any]
    """(columns, points): codes."""
    count: NDArray[np.int64]
    of_entry: NDArray[np.int64]
    """The point of each of the tally's entries."""

    @classmethod
    def of(cls, tally: Tally, *, by_frequency: bool = False) -> Points:
        """Those of a tally, whatever the order of its entries.

        ``by_frequency``: codes of flat columns are numbered from the most common value to the
        rarest, null always last.
        """
        check_quasi(tally)
        keys = tally.keys
        if by_frequency:
            columns = zip(tally.quasi, keys, strict=True)
            keys = np.stack([_by_frequency(axis, codes, tally.count) for axis, codes in columns])
        words = _words(keys, [axis.size for axis in tally.quasi])
        order = np.lexsort(words[::-1])
        new = np.append(True, np.any([np.diff(word[order]) != 0 for word in words], axis=0))
        first = np.flatnonzero(new[: len(order)])
        of_entry = np.empty(len(order), np.int64)
        of_entry[order] = np.cumsum(new[: len(order)]) - 1
        count = np.add.reduceat(tally.count[order], first)
        return cls(np.ascontiguousarray(keys[:, order[first]]), count, of_entry)


def _by_frequency(axis: Axis, codes: NDArray[Any], count: NDArray[np.int64]) -> NDArray[np.int32]:
    """The codes; of a flat axis by how many people have them."""
    if axis.shape != "flat":
        return codes.astype(np.int32)
    people = np.bincount(codes, count, axis.size)[: len(axis.leaves)]
    number = np.arange(axis.size, dtype=np.int32)
    number[np.argsort(-people, kind="stable")] = np.arange(len(people))
    return np.asarray(number[codes])


def _words(keys: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """The columns in as few as hold them: sorting takes as long as there are columns."""
    words, top = [np.zeros(keys.shape[1], np.int64)], 1
    for codes, size in zip(keys, sizes, strict=True):
        if top > 2**62 // size:
            words.append(np.zeros(keys.shape[1], np.int64))
            top = 1
        words[-1] = words[-1] * size + codes
        top *= size
    return words
