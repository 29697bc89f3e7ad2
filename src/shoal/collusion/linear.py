"""Coalitions that may take away any of their own rows: the exact worst for rules that may heal.

A rule is not *growing* where taking rows away can mend it: a class with half its rows the same
value is mended when these rows go. Against such a rule a coalition of providers takes away the
rows that hurt most and leaves the rest: "for every coalition I and every T' with T \\ T_I ⊆ T' ⊆ T"
the rule must hold (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data
publishing, CollaborateCom 2011; the ending of definition 2.1 as meant).

Many such rules are *linear*: with x the counts of a class's values, the class fails where w · x > 0
for some w of a family of weights (≥ 0 where the rule is a strict inequality). For one w a provider
with counts c is worth Σ c(s) max(−w(s), 0) to the coalition, whoever else is in it, so that

    max w · x  =  Σ n(s) w(s)  +  the largest so many of the providers' worths

is reached by the providers that are worth most. ``heaviest`` asks that for each w. Weights are
whole numbers (``weight_type``), so that the comparison is exact: floats decide where they cannot
err or the distance is large, and whole numbers of any length else.

Does not see: what a coalition knows beside its own rows; nor rows of other classes, since the
table that a class is compared with (t-closeness and its kin) stays the published one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.collusion.found import Collusion
from shoal.errors import UndecidedError
from shoal.histogram import Shares
from shoal.model import NEAR, Mask

Counts = NDArray[np.int64]
"""Of one class (providers, values): the rows that each provider brought with each value."""
Weights = NDArray[Any]
"""(vectors, values): whole numbers, 64 bits wide or Python's own."""
Find = Callable[[NDArray[np.int32], Counts, int], list[int] | None]
"""Of a class's values, counts and most members: the providers, from 0, that break it, if any."""

SURE = 2.0**53
"""Floats hold all whole numbers up to here."""
AT_ONCE = 1 << 12


def search(
    shares: Shares, most: NDArray[np.int64], failed: Mask, find: Find, safe: Mask | None = None
) -> Collusion:
    """What ``find`` says of each class; those that failed by themselves need no coalition.

    ``safe`` marks the classes of which it is known that no coalition breaks them.
    """
    found: list[tuple[int, ...] | None] = [() if bad else None for bad in failed.tolist()]
    left = ~failed & (most > 0)
    for class_ in np.flatnonzero(left if safe is None else left & ~safe).tolist():
        who, values, counts = shares.matrix(class_)
        members = find(values, counts, int(most[class_]))
        if members is not None:
            found[class_] = tuple(who[members].tolist())
    return Collusion.found(found)


def heaviest(
    weights: Weights, counts: Counts, most: int, *, strict: bool = False
) -> list[int] | None:
    """The providers of one class that reach w · x > 0 (``strict``: ≥ 0) for some w, if any can.

    >>> counts = np.array([[1, 2], [2, 0], [0, 1]])
    >>> heaviest(np.array([[1, -1]]), counts, 1)  # without the first provider's 2 it is 3 to 1
    [0]
    """
    if not len(weights):
        return None
    value, doubt = peaks(weights, counts, most)
    if weights.dtype != object and doubt.max() < NEAR * SURE:  # whole numbers that floats hold
        doubt[:] = 0
    best = int((value - doubt).argmax())
    if value[best] > doubt[best]:
        rows = [best]
    else:
        rows = np.flatnonzero((value >= -doubt) & ((doubt > 0) | strict)).tolist()
    tried = (_members(weights[row].tolist(), counts.tolist(), most, strict) for row in rows)
    return next((found for found in tried if found is not None), None)


def peaks(
    weights: Weights, counts: Counts, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest w · x of each w, and by how much it may be wrong: safely more than rounding."""
    value, size = np.empty(len(weights)), np.empty(len(weights))
    rows = counts.sum(axis=0).astype(np.float64)
    for first in range(0, len(weights), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        w = weights[part].astype(np.float64)
        value[part] = w @ rows + largest(np.maximum(-w, 0) @ counts.T, most)
        size[part] = np.abs(w) @ rows
    return value, NEAR * size


def largest(numbers: NDArray[Any], most: int) -> NDArray[Any]:
    """The sum of the ``most`` largest numbers of each row.

    >>> largest(np.array([[3, 1, 2], [5, 5, 0]]), 2).tolist()
    [5, 10]
    """
    first = numbers.shape[1] - most
    if most == 0:
        return np.zeros_like(numbers[:, 0])
    return np.asarray(np.partition(numbers, first, axis=1)[:, first:].sum(axis=1))


def _members(w: list[int], counts: list[list[int]], most: int, strict: bool) -> list[int] | None:
    """The fewest providers that are worth enough for one w, in whole numbers."""
    worth = [sum(c * -u for c, u in zip(own, w, strict=True) if u < 0) for own in counts]
    value = sum(u * c for own in counts for c, u in zip(own, w, strict=True))
    members = sorted(range(len(counts)), key=lambda p: -worth[p])[:most]
    for number, p in enumerate(members, start=1):
        value += worth[p]
        if value > 0 or (strict and value == 0):
            return members[:number]
    return None


def weight_type(largest: int) -> np.dtype[Any]:
    """The type of whole numbers up to ``largest``: 64 bits, or Python's own where those are few."""
    return np.dtype(np.int64 if largest < 2**62 else object)


def caps(share: list[int], of: list[int]) -> Weights:
    """Weights of "value i is at most share[i] / of[i] of the class", for each value.

    >>> caps([1, 2], [2, 3]).tolist()
    [[1, -1], [-2, 1]]
    """
    kind = weight_type(max((abs(number) for number in (*share, *of)), default=0))
    bound = np.array(share, dtype=kind)
    weights = np.repeat(-bound[:, np.newaxis], len(bound), axis=1)
    np.fill_diagonal(weights, np.array(of, dtype=kind) - bound)
    return weights


def too_many(model: object) -> UndecidedError:
    """What to raise where an exact verdict would take too long; nothing is approximated."""
    return UndecidedError(
        f"A class has too many values and coalitions to judge {model} exactly against them.",
        "ask for fewer members (m), or use a coarser sensitive column.",
    )
