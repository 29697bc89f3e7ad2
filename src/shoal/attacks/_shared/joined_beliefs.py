"""Beliefs about each person, joined over releases of any kind: how often the likeliest is right.

Of a person with quasi-identifiers q, release j says how much likelier it is to look as it does
where the person's value is s, up to a factor: L_j(s). With π(s) the value's share of everybody,

    belief(s)  ∝  π(s) Π_j L_j(s)

which is the product of what each release alone would make one believe, over π^(J-1): Bayes' rule,
where the releases are independent given the value. What L_j is depends on the release's form:

    classes              n(s) / π(s)                     n: the rows of all classes q could be in
    randomised answers   Σ_y n(y) P(y | s) / Q(y)        Q(y) = Σ_s π(s) P(y | s)
    tables of counts     Π_a P(q_a | s)                  each column a with the value (naive Bayes)

The first two are one (``shoal.attacks._shared.answer_beliefs``; values as they are have P the
identity), and the first is the intersection attack of Ganta, Kasiviswanathan and Smith (KDD 2008)
with counts: a value that one of the releases excludes has no belief left. Tables are read in
another way than classes, so that people whom no release is about are guessed right more or less
often too: compare shares with those of such a control, not with each other.

It does not say that the beliefs are calibrated: people who are in several releases make them depend
on each other, and they are too sure. Shares of right guesses do not suffer from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from shoal.attacks._shared.answer_beliefs import (
    CONFIDENT,
    Channel,
    Floats,
    compute_posterior,
    sum_over_classes,
    weigh_answers,
)
from shoal.core.cells import Cells

TIED = 1e-12
"""Beliefs that are nearer to each other than this are the same."""


class LikelihoodSource(Protocol):
    """What a release says of people."""

    def likelihoods(self, keys: NDArray[Any]) -> Floats:
        """L(s) of each person, up to a factor of their own: (people, values)."""


@dataclass(frozen=True, eq=False)
class ClassLikelihoods:
    """A release of classes: published values in each, true or answered."""

    cells: Cells
    weight: Floats
    """What each class says of each value: (classes, values)."""

    @classmethod
    def of(
        cls, cells: Cells, counts: NDArray[np.int64], chance: Floats, prior: Floats
    ) -> ClassLikelihoods:
        """With counts (classes, published values), and P(published | true)."""
        channel = Channel(csr_matrix(counts.astype(np.float64)), chance)
        return cls(cells, np.asarray(channel.counts @ weigh_answers(channel, prior)))

    def likelihoods(self, keys: NDArray[Any]) -> Floats:
        """From the rows of all classes whose cells fit; whoever fits none is told nothing of."""
        start, classes = self.cells.contains(keys)
        likelihood = sum_over_classes(self.weight, start, classes, slice(0, len(start) - 1))
        likelihood[np.diff(start) == 0] = 1.0
        return likelihood


@dataclass(frozen=True, eq=False)
class NaiveBayesTables:
    """Tables of counts, of each quasi-identifier with the sensitive value, over their bins."""

    bins: Sequence[NDArray[Any]]
    """For each quasi-identifier, and last for the value: the bin of every leaf."""
    pairs: Sequence[Floats]
    """For each quasi-identifier: (its bins, the value's bins)."""

    def likelihoods(self, keys: NDArray[Any]) -> Floats:
        """By naive Bayes; one more in every cell, so that noise excludes nothing."""
        *columns, value = self.bins
        logs = np.zeros((keys.shape[1], self.pairs[0].shape[1]))
        for codes, bins, pair in zip(keys, columns, self.pairs, strict=True):
            whole = np.maximum(pair, 0.0) + 1.0
            logs += np.log(whole / whole.sum(axis=0))[bins[codes]]
        likelihood: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
        return likelihood[:, value]


@dataclass(frozen=True)
class JoinedSuccess:
    """How an adversary fares: shares of people."""

    right: float
    """Whose likeliest value is theirs; of several that are alike one is picked."""
    settled: float
    """Who have one value left, and it is theirs: the paper's perfect breach."""
    sure: float
    """Whose own value has a belief of at least ``CONFIDENT``."""


def join_beliefs(releases: Sequence[LikelihoodSource], keys: NDArray[Any], prior: Floats) -> Floats:
    """The belief in each value of each person, (people, values); π where no value is left."""
    likelihoods = np.array([release.likelihoods(keys) for release in releases])
    posterior = compute_posterior(likelihoods.reshape(-1, keys.shape[1], len(prior)), prior)
    return np.where(posterior.any(axis=1, keepdims=True), posterior, prior)


def measure_success(
    releases: Sequence[LikelihoodSource], keys: NDArray[Any], values: NDArray[Any], prior: Floats
) -> JoinedSuccess:
    """The attack on some people, whose quasi-identifiers (columns, people) are known.

    >>> ends = np.array([[0], [1]], np.int32)
    >>> prior, keys = np.full(2, 0.5), np.array([[0, 1]])
    >>> counts = np.array([[2, 0], [1, 1]])
    >>> release = ClassLikelihoods.of(Cells(ends, ends), counts, np.eye(2), prior)
    >>> join_beliefs([release, release], keys, prior).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    >>> measure_success([release, release], keys, np.array([0, 0]), prior)
    JoinedSuccess(right=0.75, settled=0.5, sure=0.5)
    """
    belief = join_beliefs(releases, keys, prior)
    own_belief, largest = belief[np.arange(len(values)), values], belief.max(axis=1)
    tied = (belief >= largest[:, np.newaxis] * (1 - TIED)).sum(axis=1)
    right = np.where(own_belief >= largest * (1 - TIED), 1 / tied, 0.0)
    settled = ((belief > 0).sum(axis=1) == 1) & (own_belief > 0)
    return JoinedSuccess(
        float(right.mean()), float(settled.mean()), float((own_belief >= CONFIDENT).mean())
    )
