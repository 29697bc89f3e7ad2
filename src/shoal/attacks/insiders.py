"""Which providers to suppose working together: the named ones, or the worst of a number.

What is worst: to whom most rows of others are exposed, then most left alone, then who is surest
of anybody. All coalitions are tried where they are few enough; else one provider is added after
the other, and members are swapped while that tells more. That does not give the worst for sure,
and what is found says how many were tried (``Chosen``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import pairs_at
from shoal.collusion import strongest
from shoal.errors import UsageError
from shoal.histogram import Shares
from shoal.labels import many, text

TRIED = 20_000
"""Up to so many coalitions are all tried."""
WORK = 1_000_000_000
"""As long as they look at no more values of classes than this, all of them together."""


Score = tuple[int, int, float]
"""Rows exposed, rows left alone, and how sure the coalition is of the surest."""
Scoring = Callable[[Iterable[int]], Score]


@dataclass(frozen=True)
class Chosen:
    """A coalition, as codes of providers, and how many were tried of how many to find it."""

    members: tuple[int, ...]
    tried: int
    possible: int
    named: bool = False

    @property
    def caveat(self) -> tuple[str, ...]:
        """What it means that not all were tried."""
        most = f"the worst of {self.tried:,} tried of {self.possible:,} coalitions"
        return () if self.tried == self.possible else (f"{most}: another may learn more",)


def named_ones(shares: Shares, names: Sequence[str]) -> tuple[int, ...]:
    """The named providers; they may not be all there are."""
    there, leaves = shares.contributors.tolist(), shares.provider.leaves
    known = {text(leaves[code]).strip(): code for code in there}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"{many(len(unknown), 'provider')} of the coalition provided no row of "
            f"the release: {', '.join(map(repr, unknown))}.",
            "write each name as the provider column does, in a --coalition of its own.",
        )
    check_fewer(shares, len(names))
    return tuple(sorted(known[name] for name in names))


def check_fewer(shares: Shares, members: int) -> int:
    """So many members, where somebody is left to learn about."""
    there = len(shares.contributors)
    if members >= there:
        raise UsageError(
            f"A coalition of {members:,} of {many(there, 'provider')} leaves "
            "nobody to learn about.",
            "take fewer, of a release for which several provided rows.",
        )
    return members


def worst(shares: Shares, members: int, least: Fraction) -> Chosen:
    """The worst of all coalitions of a size, or of those that can be tried.

    Classes that no coalition of the size can be as sure of as one of them already is, nor as
    ``least`` asks, decide nothing.
    """
    there, sizes = shares.contributors.tolist(), shares.providers.total
    largest = frozenset(sorted(there, key=lambda one: -sizes[one])[:members])
    floor = min(float(least), _scoring(shares, least)(largest)[2])
    some = shares.take(np.flatnonzero(_surest(shares, members) >= floor))
    most = min(TRIED, WORK // max(1, len(some.values.count)))
    score, possible = _scoring(some, least), math.comb(len(there), members)
    if possible <= most:
        return Chosen(max(combinations(there, members), key=score), possible, possible)
    found, tried = _climbed(score, there, largest, most)
    return Chosen(tuple(sorted(found)), tried, possible)


def _scoring(shares: Shares, least: Fraction) -> Scoring:
    """What the rows of a coalition, taken away, leave it to learn.

    Only the order of coalitions rests on floats: the finding itself is counted exactly.
    """
    values, order = shares.values, np.argsort(shares.who, kind="stable")
    pair = pairs_at(values, shares.class_[order], shares.value[order])
    rows = shares.count[order]
    start = np.searchsorted(shares.who[order], range(shares.provider.size + 1))

    def score(members: Iterable[int]) -> Score:
        count = values.count.copy()
        for one in members:
            part = slice(start[one], start[one + 1])
            count[pair[part]] -= rows[part]  # a provider has a pair once
        left = values.sum(count)
        belief = count / np.maximum(left, 1)[values.class_]
        exposed = count[belief >= float(least)].sum()
        return int(exposed), int((left == 1).sum()), float(belief.max())

    return score


def _surest(shares: Shares, members: int) -> NDArray[np.float64]:
    """How sure of a value in each class so many providers could become at most.

    No rows of the most common value are taken away, and of the others as many as the providers
    with the most rows provided in all.
    """
    top = shares.values.largest(shares.values.count)
    taken, _ = strongest(shares, np.minimum(members, shares.present))
    others = np.maximum(shares.rows - top - taken, 0)
    return np.asarray(top / np.maximum(top + others, 1))


def _climbed(
    score: Scoring, there: Sequence[int], largest: frozenset[int], most: int
) -> tuple[frozenset[int], int]:
    """Add the provider who tells most, again and again; then swap members while that tells more.

    The coalition with the most rows, ``largest``, is tried too; no swaps after ``most`` trials.
    """
    seen: dict[frozenset[int], Score] = {}

    def best(some: Sequence[frozenset[int]]) -> frozenset[int]:
        seen.update((one, score(one)) for one in some if one not in seen)
        return max(some, key=seen.__getitem__)

    here: frozenset[int] = frozenset()
    for _ in largest:
        here = best([here | {one} for one in there if one not in here])
    here, before = best([here, largest]), here - here
    while here != before and len(seen) < most:
        others = [one for one in there if one not in here]
        swaps = [here - {out} | {one} for out in sorted(here) for one in others]
        before, here = here, best([here, *swaps])  # among equals the one at hand
    return here, sum(len(one) == len(largest) for one in seen)
