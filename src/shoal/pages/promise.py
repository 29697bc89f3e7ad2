"""What a release promises about knowledge beyond the table, and how it is told.

(c,k)-safety: with up to k pieces of knowledge nobody's belief in anybody's value reaches c (Martin
et al., ICDE 2007). A requirement may hold several; none of them says anything about more pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.pages.words import percent

NEAR = 1e-9
"""Relative distance under which two floats may be the same number."""


@dataclass(frozen=True)
class Promise:
    """What a release promises: with up to ``k`` pieces every belief is less than ``c``."""

    c: float
    k: int
    met: bool


def tightest(promises: Iterable[Promise]) -> tuple[Promise, ...]:
    """The promises that no other makes needless, the one about fewest pieces first.

    >>> some = Promise(0.6, 3, True), Promise(0.7, 2, True), Promise(0.4, 1, False)
    >>> [(one.c, one.k) for one in tightest(some)]
    [(0.4, 1), (0.6, 3)]
    """
    kept: list[Promise] = []
    for one in sorted(promises, key=lambda one: (-one.k, one.c)):
        if not kept or one.c < kept[-1].c:
            kept.append(one)
    return tuple(reversed(kept))


def told(belief: float, promise: Promise | None = None) -> str:
    """A belief as a share; one that is under what is promised does not read as if it were not.

    >>> told(0.5995), told(0.5995, Promise(0.6, 2, met=True))
    ('60%', '<60%')
    """
    text = percent(belief, 1)
    under = promise is not None and belief < promise.c * (1 - NEAR)
    return f"<{text}" if promise and under and text == percent(promise.c, 1) else text


def in_short(promises: Sequence[Promise]) -> str:
    """What is promised, in the chart.

    >>> in_short([Promise(0.6, 2, met=True)])
    'promised: less than 60%'
    >>> in_short([Promise(0.4, 1, met=True), Promise(0.6, 3, met=True)])
    'promised: less than 40% with up to 1, 60% with up to 3 pieces'
    """
    shares = [f"{100 * one.c:.3g}%" for one in promises]
    if len(shares) == 1:
        return f"promised: less than {shares[0]}"
    steps = (f"{c} with up to {one.k}" for c, one in zip(shares, promises, strict=True))
    return f"promised: less than {', '.join(steps)} pieces"
