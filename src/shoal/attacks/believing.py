"""Beliefs by Bayes' rule where published values are answers that may have been exchanged.

A person is equally likely to be any of the rows i of the classes that they could be in. With f_i
what the answers of others foretell of row i, and P_j(y | s) the chance of its answer in release j
(``shoal.attacks.foretelling``), the answers of one person being drawn independently,

    foretold(s)   =  the mean of f_i(s) over rows, in the release that foretells a value most
    posterior(s)  ∝  foretold(s) Π_j Σ_i P_j(y_i | s) / Q_i(y_i)

Where P_j(y | s) <= e^ε_j P_j(y | t) for all values, as ε_j-differential privacy says, the answers
of one person move the odds of a value by at most e^E, E = Σ ε_j, so that with p = foretold(s)

    posterior(s)  <=  e^E p / (1 + (e^E − 1) p)

(Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, KDD
2008, section 4; Dwork, Roth 2014, theorem 3.14 for the sum).

It does not bound p itself: where quasi-identifiers foretell the value, others give it away, with or
without this person's answers. What two releases foretell is not multiplied: the same others may be
in both, and counting them twice would make beliefs too sure. Where they are others, an adversary
could be surer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from shoal.attacks.foretelling import BLOCK, Floats, Said, inverse
from shoal.attacks.locate import Located
from shoal.odds import moved

SURE = 0.9
"""From this belief on an adversary is said to be sure."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed of each key: the likeliest value, its belief, and how many are possible."""

    best: NDArray[np.int64]
    """-1 where no value is possible."""
    stated: Floats
    left: NDArray[np.int32]
    each: NDArray[np.int32]
    """(releases, keys): how many values each release leaves by itself."""
    single: Floats
    """(releases, keys): the largest belief by each release itself."""
    foretold: Floats
    """The most that the answers of others foretell any value with."""


def believed(said: Sequence[Said], located: Sequence[Located], prior: Floats) -> Beliefs:
    """What the releases together make of the prior, for everybody who was looked for."""
    keys, values = len(located[0][0]) - 1, len(prior)
    best, stated, foretold = np.full(keys, -1), np.zeros(keys), np.zeros(keys)
    left, each = np.zeros(keys, np.int32), np.zeros((len(said), keys), np.int32)
    single = np.zeros((len(said), keys))
    pairs = list(zip(said, located, strict=True))
    block = max(1, BLOCK // values)
    for first in range(0, keys, block):
        here = slice(first, min(first + block, keys))
        own = np.array([summed(one.own, *where, here) for one, where in pairs])
        others = np.array([summed(one.others, *where, here) for one, where in pairs])
        others *= inverse(others.sum(axis=2, keepdims=True))
        most = others.max(axis=2).argmax(axis=0)
        alone = others[most, np.arange(others.shape[1])]
        possible = (own > 0) & (prior > 0)
        each[:, here] = possible.sum(axis=2)
        left[here] = possible.all(axis=0).sum(axis=1)
        single[:, here] = [posterior(one[np.newaxis], by).max(axis=1)
                           for one, by in zip(own, others, strict=True)]  # fmt: skip
        joined = posterior(own, alone)
        found = left[here] > 0
        best[here] = np.where(found, joined.argmax(axis=1), -1)
        stated[here] = np.where(found, joined.max(axis=1), 0.0)
        foretold[here] = np.where(found, alone.max(axis=1), 0.0)
    return Beliefs(best, stated, left, each, single, foretold)


def summed(weight: Floats, start: NDArray[Any], classes: NDArray[Any], here: slice) -> Floats:
    """(keys, values): the sum over the classes that each could be in."""
    first, last = int(start[here.start]), int(start[here.stop])
    shape, own = (here.stop - here.start, len(weight)), start[here.start : here.stop + 1] - first
    near = csr_matrix((np.ones(last - first), classes[first:last], own), shape)
    return np.asarray(near @ weight)


def posterior(weight: Floats, prior: Floats) -> Floats:
    """(keys, values): the prior times all of the weights (…, keys, values), adding up to 1.

    The prior is everybody's, (values), or each one's own.
    """
    with np.errstate(divide="ignore"):  # what is impossible is minus infinity
        log = np.log(weight).sum(axis=0) + np.log(prior)
    top = log.max(axis=1, keepdims=True)
    raised = np.exp(log - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised * inverse(raised.sum(axis=1, keepdims=True)))


def at_worst(said: Sequence[Said]) -> float:
    """The most that others may foretell in any classes, one of each release, whichever meet."""
    shares = (one.others * inverse(one.others.sum(axis=1, keepdims=True)) for one in said)
    return max(float(each.max()) for each in shares)


def bound(epsilon: float, prior: float) -> float:
    """The most that a belief of so much can become by answers that together spend epsilon.

    >>> round(bound(1.0, 0.5), 6), bound(float("inf"), 0.5)
    (0.731059, 1.0)
    """
    return moved(prior, epsilon)[1]
