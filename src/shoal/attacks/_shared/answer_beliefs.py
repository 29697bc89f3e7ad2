"""Beliefs by Bayes' rule where published values are answers that may have been exchanged.

A release publishes an answer y in place of a value s with a known chance P(y | s): randomised
response, or the values as they are, where P is the identity. Of the person behind row i, which
shows y_i, the answers of others foretell the value s with chance f_i(s), and so the answer y with
Q_i(y) = Σ_s f_i(s) P(y | s). What is known without the person's own answer is f_i, and what that
adds is P(y_i | s) / Q_i(y_i).

Two adversaries differ in what is foretold. To one everybody is alike: f_i = π, the likeliest
distribution of all published answers. The other foretells by the answers of the n − 1 others of the
class and α people like everybody: their counts put through the inverse of P (Wang, Blocki, Li, Jha:
Locally differentially private protocols for frequency estimation, 2017). α is what foretells
answers best from the rest of their classes.

A person is equally likely to be any of the rows i of the classes that they could be in. With P_j
the chances of release j, the answers of one person being drawn independently,

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
could be surer. It does not see what other columns foretell, nor what somebody knows besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from shoal.attacks._shared.candidate_classes import Located
from shoal.core.axis import Axis
from shoal.core.theory.adversary_view import ReleaseView
from shoal.core.theory.odds import move_belief

# What is foretold, class by class.


Floats = NDArray[np.float64]

MAX_ROUNDS, TOLERANCE = 2_000, 1e-10
"""The prior is settled after so many rounds, or when none of its chances moves by more."""
CHANCES_AT_ONCE = 1 << 22
"""So many chances are worked out at once."""
PRIOR_WEIGHTS = tuple(2.0**power for power in range(-4, 21))
"""How many people like everybody may stand beside a class's own."""


@dataclass(frozen=True)
class Channel:
    """How one release's answers come about: counts (classes, values) and P(answer | true)."""

    counts: csr_matrix
    chance: Floats
    stated_epsilon: float | None = None
    """What the release says that a person's answers spend, in all of its columns."""

    @classmethod
    def of(cls, release: ReleaseView, axis: Axis) -> Channel:
        """A release on the axis of values."""
        histogram = release.histogram(axis)
        shape = len(release.cells), axis.size
        counts = csr_matrix(
            (histogram.count.astype(float), (histogram.class_, histogram.value)), shape
        )
        chance = np.eye(axis.size) if release.response is None else release.response
        return cls(counts, chance, release.spent_epsilon)

    @property
    def epsilon(self) -> float:
        """The most that a person's answers say: what is stated, or ln of the largest ratio here."""
        return (
            self._own_epsilon
            if self.stated_epsilon is None
            else max(self._own_epsilon, self.stated_epsilon)
        )

    @property
    def answers_other_columns(self) -> bool:
        """Whether other columns were answered for too: of n each spends one n-th of epsilon."""
        return self.stated_epsilon is not None and self.stated_epsilon > 1.5 * self._own_epsilon

    @cached_property
    def _own_epsilon(self) -> float:
        possible = self.chance[self.chance.any(axis=1)]
        shown = possible[:, possible.any(axis=0)]
        with np.errstate(divide="ignore"):
            return float(np.log(shown.max(axis=0) / shown.min(axis=0)).max(initial=0.0))

    @cached_property
    def rows(self) -> Floats:
        """How many rows each class has."""
        return np.asarray(self.counts.sum(axis=1)).ravel()


def estimate_prior(channels: Sequence[Channel]) -> Floats:
    """The distribution of the values behind all published answers: the likeliest, as far as it is.

    Drawn together by as much as the draws of answers may have driven it apart (James, Stein 1961).
    """
    likeliest = _maximise_likelihood(channels)
    even = (likeliest > 0) / np.count_nonzero(likeliest)
    distance = float(((likeliest - even) ** 2).sum())
    precision = sum(
        1 / max(_sampling_variance(channel, likeliest), np.finfo(float).tiny)
        for channel in channels
    )
    weight = max(0.0, 1 - 1 / (precision * distance)) if distance > 0 else 1.0
    return np.asarray(even + weight * (likeliest - even))


def _maximise_likelihood(channels: Sequence[Channel]) -> Floats:
    """By expectation and maximisation."""
    answers = [np.asarray(channel.counts.sum(axis=0)).ravel() for channel in channels]
    prior = np.any([channel.chance.any(axis=1) for channel in channels], axis=0).astype(float)
    prior /= prior.sum()
    for _ in range(MAX_ROUNDS):
        weights = [
            count @ weigh_answers(channel, prior)
            for channel, count in zip(channels, answers, strict=True)
        ]
        updated = prior * np.sum(weights, axis=0)
        updated /= updated.sum()
        if np.abs(updated - prior).max() < TOLERANCE:
            return np.asarray(updated)
        prior = updated
    return np.asarray(prior)


def _sampling_variance(channel: Channel, prior: Floats) -> float:
    """The variance of estimated shares that comes from drawing answers, summed over the values."""
    answer_chances, inverse = prior @ channel.chance, np.linalg.pinv(channel.chance)
    answer_variance = float(
        answer_chances @ (inverse**2).sum(axis=1) - ((answer_chances @ inverse) ** 2).sum()
    )
    value_variance = 1 - float((prior**2).sum())
    return max(0.0, answer_variance - value_variance) / max(float(channel.rows.sum()), 1.0)


def weigh_answers(channel: Channel, prior: Floats) -> Floats:
    """P(y | s) / Q(y): a row for each answer, a column for each value."""
    return np.asarray(channel.chance.T * invert_or_zero(prior @ channel.chance)[:, np.newaxis])


def invert_or_zero(chance: Floats) -> Floats:
    """One over each, and 0 over 0."""
    return np.divide(1.0, chance, out=np.zeros_like(chance), where=chance > 0)


@dataclass(frozen=True)
class ClassEvidence:
    """What a release says of the people of each class, (classes, values), summed over its rows."""

    own: Floats
    """P(y_i | s) / Q_i(y_i): by the answer that may be the person's own."""
    others: Floats
    """f_i(s): by the answers of others."""


def predict_by_everybody(channel: Channel, prior: Floats) -> ClassEvidence:
    """By an adversary to whom everybody is alike."""
    return ClassEvidence(
        channel.counts @ weigh_answers(channel, prior), np.outer(channel.rows, prior)
    )


def predict_by_class(channel: Channel, prior: Floats) -> ClassEvidence:
    """By an adversary who foretells from the answers of the others of a class."""
    others = _Others(channel, prior)
    prior_people = math.inf if math.isinf(channel.epsilon) else others.prior_people
    if math.isinf(prior_people):  # values as they are, or classes that foretell nothing
        return predict_by_everybody(channel, prior)
    evidence = ClassEvidence(*np.zeros((2, *channel.counts.shape)))
    for classes, pairs in others.blocks():
        count = others.count[pairs, np.newaxis]
        predicted = others.predicted(pairs, prior_people)
        chance = channel.chance[:, others.answer[pairs]].T
        answer_chance = (predicted * chance).sum(axis=1, keepdims=True)
        filled = classes[np.diff(others.start[np.append(classes, classes[-1] + 1)]) > 0]
        first = others.start[filled] - pairs.start
        evidence.own[filled] = np.add.reduceat(
            count * chance * invert_or_zero(answer_chance), first
        )
        evidence.others[filled] = np.add.reduceat(count * predicted, first)
    return evidence


class _Others:
    """The others of each class, once for every answer that may be the person's own."""

    def __init__(self, channel: Channel, prior: Floats) -> None:
        counts = channel.counts
        counts.sort_indices()
        self._prior, self._inverse = prior, np.linalg.pinv(channel.chance)
        self._estimated = counts @ self._inverse
        self.start = counts.indptr.astype(np.int64)
        self.answer, self.count = counts.indices, counts.data
        self._class = np.repeat(np.arange(counts.shape[0]), np.diff(self.start))
        self._number = channel.rows[self._class] - 1
        self._channel = channel

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], slice]]:
        """Classes, and the pairs of a class and an answer that are theirs, not too many at once."""
        for here in slice_by_size(self.start, max(1, CHANCES_AT_ONCE // len(self._prior))):
            pairs = slice(int(self.start[here.start]), int(self.start[here.stop]))
            yield np.arange(here.start, here.stop), pairs

    def predicted(self, pairs: slice, prior_people: float) -> Floats:
        """The chance of each value by the others and so many people like everybody.

        An estimate may be below 0; no value is given less than one such person would give it.
        """
        estimate = self._estimated[self._class[pairs]] - self._inverse[self.answer[pairs]]
        estimate = np.maximum(estimate + prior_people * self._prior, self._prior)
        return np.asarray(estimate / estimate.sum(axis=1, keepdims=True))

    @cached_property
    def prior_people(self) -> float:
        """How many people like everybody, beside the others, foretell the answers best."""
        overall = (self._prior @ self._channel.chance)[self.answer]
        fits = [
            self.count @ np.log((self.count - 1 + people * overall) / (self._number + people))
            for people in PRIOR_WEIGHTS
        ]
        best = int(np.argmax(fits))
        return PRIOR_WEIGHTS[best] if fits[best] > self.count @ np.log(overall) else math.inf


def slice_by_size(start: NDArray[Any], max_size: int) -> Iterator[slice]:
    """Parts of what starts at these places, of at most so many places (one of them at the least).

    >>> [(one.start, one.stop) for one in slice_by_size(np.array([0, 2, 4, 9, 10]), 4)]
    [(0, 2), (2, 3), (3, 4)]
    """
    first, end = 0, len(start) - 1
    while first < end:
        last = int(np.searchsorted(start, start[first] + max_size, side="right")) - 1
        yield slice(first, max(first + 1, last))
        first = max(first + 1, last)


# What is believed of each person.


CONFIDENT = 0.9
"""From this belief on an adversary is said to be sure."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed of each key: the likeliest value, its belief, and how many are possible."""

    likeliest: NDArray[np.int64]
    """-1 where no value is possible."""
    stated: Floats
    values_left: NDArray[np.int32]
    values_left_by_release: NDArray[np.int32]
    """(releases, keys): how many values each release leaves by itself."""
    belief_by_release: Floats
    """(releases, keys): the largest belief by each release itself."""
    predicted: Floats
    """The most that the answers of others foretell any value with."""


def compute_beliefs(
    evidence: Sequence[ClassEvidence], located: Sequence[Located], prior: Floats
) -> Beliefs:
    """What the releases together make of the prior, for everybody who was looked for."""
    keys, values = len(located[0][0]) - 1, len(prior)
    likeliest, stated, predicted = np.full(keys, -1), np.zeros(keys), np.zeros(keys)
    values_left, by_release = np.zeros(keys, np.int32), np.zeros((len(evidence), keys), np.int32)
    belief_by_release = np.zeros((len(evidence), keys))
    pairs = list(zip(evidence, located, strict=True))
    keys_at_once = max(1, CHANCES_AT_ONCE // values)
    for first in range(0, keys, keys_at_once):
        block_keys = slice(first, min(first + keys_at_once, keys))
        own = np.array(
            [sum_over_classes(release.own, *where, block_keys) for release, where in pairs]
        )
        others = np.array(
            [sum_over_classes(release.others, *where, block_keys) for release, where in pairs]
        )
        others *= invert_or_zero(others.sum(axis=2, keepdims=True))
        strongest = others.max(axis=2).argmax(axis=0)
        by_others = others[strongest, np.arange(others.shape[1])]
        possible = (own > 0) & (prior > 0)
        by_release[:, block_keys] = possible.sum(axis=2)
        values_left[block_keys] = possible.all(axis=0).sum(axis=1)
        belief_by_release[:, block_keys] = [
            compute_posterior(weight[np.newaxis], by).max(axis=1)
            for weight, by in zip(own, others, strict=True)
        ]
        joined = compute_posterior(own, by_others)
        is_found = values_left[block_keys] > 0
        likeliest[block_keys] = np.where(is_found, joined.argmax(axis=1), -1)
        stated[block_keys] = np.where(is_found, joined.max(axis=1), 0.0)
        predicted[block_keys] = np.where(is_found, by_others.max(axis=1), 0.0)
    return Beliefs(likeliest, stated, values_left, by_release, belief_by_release, predicted)


def sum_over_classes(
    weight: Floats, start: NDArray[Any], classes: NDArray[Any], keys: slice
) -> Floats:
    """(keys, values): the sum over the classes that each could be in."""
    first, last = int(start[keys.start]), int(start[keys.stop])
    shape, own = (keys.stop - keys.start, len(weight)), start[keys.start : keys.stop + 1] - first
    membership = csr_matrix((np.ones(last - first), classes[first:last], own), shape)
    return np.asarray(membership @ weight)


def compute_posterior(weight: Floats, prior: Floats) -> Floats:
    """(keys, values): the prior times all of the weights (…, keys, values), adding up to 1.

    The prior is everybody's, (values), or each one's own.
    """
    with np.errstate(divide="ignore"):  # what is impossible is minus infinity
        log = np.log(weight).sum(axis=0) + np.log(prior)
    top = log.max(axis=1, keepdims=True)
    raised = np.exp(log - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(raised * invert_or_zero(raised.sum(axis=1, keepdims=True)))


def find_max_predicted(evidence: Sequence[ClassEvidence]) -> float:
    """The most that others may foretell in any classes, one of each release, whichever meet."""
    shares = (
        release.others * invert_or_zero(release.others.sum(axis=1, keepdims=True))
        for release in evidence
    )
    return max(float(each.max()) for each in shares)


def bound_belief(epsilon: float, prior: float) -> float:
    """The most that a belief of so much can become by answers that together spend epsilon.

    >>> round(bound_belief(1.0, 0.5), 6), bound_belief(float("inf"), 0.5)
    (0.731059, 1.0)
    """
    return move_belief(prior, epsilon)[1]
