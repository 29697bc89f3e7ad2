"""Distances that are sums of absolute differences, as linear rules: the signs that matter.

The distance of a class with counts x from a table with counts T of N rows, over sets f of values,

    Σ |N x(f) − T(f) |x|| / (scale N |x|)

exceeds t where Σ ± (N x(f) − T(f) |x|) > t scale N |x| for some signs: one vector of weights for
each pattern of signs, which ``shoal.collusion.linear`` can ask about coalitions of providers.
There are 2 to the number of sets of them, and few matter:

* a set whose difference no coalition can turn has one sign;
* sets that hold the same values of the class turn in the order of their totals (a *chain*);
* chains are added one after the other, and a pattern is left out as soon as it could not exceed t
  even if the chains to come added the most that any coalition lets them.

Exact: all weights are whole numbers. Where more than ``PATTERNS`` are left it may find a coalition,
and cannot tell that there is none.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.collusion.linear import Counts, Weights, heaviest, largest, peaks, weight_type
from shoal.histogram import Histogram
from shoal.model import NEAR

Codes = NDArray[np.int64]
FEW, PATTERNS = 1 << 6, 1 << 17
"""So many patterns of signs of one class are looked at together."""


class Sums(NamedTuple):
    """The sets of values whose |p − q| add up to a distance: ranges low … high − 1 of codes."""

    low: Codes
    high: Codes
    total: NDArray[np.int64]
    """Rows of each set in the table."""
    scale: int
    everybody: int

    @classmethod
    def of(cls, h: Histogram, low: Codes, high: Codes, scale: int) -> Sums:
        """Without the sets in which nobody or everybody is: their share cannot change."""
        running = np.concatenate(([0], np.cumsum(h.total)))
        total, everybody = running[high] - running[low], int(running[-1])
        some = (total > 0) & (total < everybody)
        return cls(low[some], high[some], total[some], scale, everybody)


class Chain(NamedTuple):
    """Sets that hold the same values of a class: the larger their totals, the sooner negative."""

    weights: Weights
    """(patterns, values): Σ ± (N 1_f − T(f)), the first so many of the sets with +."""
    most: float
    """The most that the chain can add, whatever the coalition."""


def exceeding(
    sums: Sums, t: Fraction, values: NDArray[np.int32], counts: Counts, most: int
) -> tuple[list[int] | None, bool]:
    """Providers of one class who make its distance exceed t, and whether that is certain.

    First with few patterns, which often find them; only all of them can tell that there are none.
    """
    chains = sorted(_chains(sums, values, counts, most), key=_quickest)
    found, all_ = None, False
    for keep in (FEW, PATTERNS):
        weights, all_ = _patterns(sums, t, chains, counts, most, keep)
        found = heaviest(weights, counts, most)
        if found is not None or all_:
            return found, True
    return None, False


def _patterns(
    sums: Sums, t: Fraction, chains: list[Chain], counts: Counts, most: int, keep: int
) -> tuple[Weights, bool]:
    """The weights that may exceed t, those with the highest peaks, and whether these are all."""
    over, under = t.as_integer_ratio()
    bound = over * sums.scale * sums.everybody
    kind = weight_type(bound + 2 * under * sums.everybody * (len(sums.total) + 1))
    weights, all_ = np.full((1, counts.shape[1]), -bound, dtype=kind), True
    keep //= max((len(chain.weights) for chain in chains), default=1)
    to_come = sum(chain.most for chain in chains) * under
    slack = NEAR * to_come
    for chain in chains:
        more = chain.weights.astype(kind) * under
        weights = (weights[:, np.newaxis] + more).reshape(-1, counts.shape[1])
        to_come -= chain.most * under
        if len(more) == 1:
            continue
        value, doubt = peaks(weights, counts, most)
        able = np.flatnonzero(value + to_come > -doubt - slack)
        if len(able) > keep:
            able, all_ = able[np.argsort(-value[able])[: max(keep, 1)]], False
        weights = weights[able]
    return weights, all_


def _quickest(chain: Chain) -> tuple[int, float]:
    """Few patterns first, so that there are few as long as possible; then what counts most."""
    return len(chain.weights), -chain.most


def _chains(sums: Sums, values: NDArray[np.int32], counts: Counts, most: int) -> list[Chain]:
    """The chains of one class, without the signs that no coalition can turn."""
    kind = weight_type(4 * int(counts.sum()) * sums.everybody)
    first, last = np.searchsorted(values, sums.low), np.searchsorted(values, sums.high)
    order = np.lexsort((sums.total, last, first))
    first, last, total = first[order], last[order], sums.total[order].astype(kind)
    running = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))).astype(kind)
    inside = (running[:, last] - running[:, first]).T
    outside = running[:, -1] - inside
    within, without = inside.sum(axis=1), outside.sum(axis=1)
    others = sums.everybody - total
    low = others * (within - largest(inside, most)) - total * without
    high = others * within - total * (without - largest(outside, most))
    begins = np.flatnonzero(np.diff(first, prepend=-1) | np.diff(last, prepend=-1))
    column = np.arange(len(values))
    chains = []
    for a, b in pairwise([*begins.tolist(), len(order)]):
        plus, size = np.count_nonzero(low[a:b] >= 0), b - a
        signs = np.arange(plus, max(plus, size - np.count_nonzero(high[a:b] <= 0)) + 1)
        of = np.concatenate(([0], np.cumsum(total[a:b])))
        held = ((column >= first[a]) & (column < last[a])) * sums.everybody
        weights = (2 * signs - size)[:, np.newaxis] * held - (2 * of[signs] - of[-1])[:, np.newaxis]
        chains.append(Chain(weights, float(np.maximum(high[a:b], -low[a:b]).sum())))
    return chains
