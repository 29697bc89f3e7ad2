"""How far a differentially private release can move a belief about one person.

Somebody believes a statement about a person with probability p before a release. The release is as
probable where the statement is true as where it is false, up to the factor e^ε; so by Bayes the
odds p / (1 − p) move by at most that factor, up or down, and the belief after it lies within

    p / (p + (1 − p) e^ε)   and   p / (p + (1 − p) e^−ε)

(Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, 2006;
both are attained by randomised response of two values). With δ > 0 the odds may move further, for
outputs that are improbable (lemma 18 of Ganta, Kasiviswanathan, Smith: Composition attacks and
auxiliary information in data privacy, 2008, takes e^2ε; here it is e^1.1ε, which is nearer): see
`bound_improbable`.

Where neighbours add or remove a person, ε is for being in the table or not; from one value to
another it takes two steps, and the odds of a value move by at most e^2ε.

It does not bound what the *other* rows say about a person. It is for somebody who knows those, or
to whom they say nothing about this one; against everybody else, `shoal.dp.semantics` compares
what is believed with what would be believed if the person's row were another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.core.errors import UsageError
from shoal.core.release import to_json_value
from shoal.core.spend import Number, Spend, to_exact
from shoal.core.theory.odds import MAX_EXPONENT, move_belief

Prior = Number | Mapping[str, Number]
"""A belief before a release: a probability, or one for each value."""

CHANGE, PRESENCE = "change", "add or remove"
"""How neighbouring tables differ: in one person's values, or in whether the person is there."""
SUM_TOLERANCE = Fraction(1, 10**6)
"""Probabilities of values may miss 1 by so much: thirds are written with a few digits."""
OTHERS, STEPS = (0.1, 0.5, 1.0, 2.0), 20
"""The ε whose curves stand beside the requested one, and the steps of a curve."""
CLOSE, FAR = 0.05, 4.0
"""Not drawn: an ε this near to the requested one, in parts of it, or with a larger exponent."""
MIN_DOUBT = 1e-9
"""A belief nearer than this to certainty is written as if it were so near."""
EXTRA_EPSILON = 0.1
"""With δ > 0 the odds are said to move by a factor whose ε is larger by this part of it."""


@dataclass(frozen=True)
class BeliefBounds:
    """What is believed before a release, and between what after it."""

    about: str
    before: float
    at_least: float
    at_most: float
    exponent: float
    """The odds move by at most e to this."""
    failing: float
    """The chance of an output of which that is not so; 0 under pure differential privacy."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: to_json_value(value) for name, value in vars(self).items()}

    def __str__(self) -> str:
        low, high = self.at_least, self.at_most
        if 0 < self.before < 1:  # nor is anybody certain after, whatever a float says
            low, high = max(low, MIN_DOUBT), min(high, 1 - MIN_DOUBT)
        within = f"between {format_share(low)} and {format_share(high)}"
        but = f", except with a chance of at most {self.failing:.3g}" if self.failing else ""
        return (
            f"{self.about}: believed with {format_share(self.before)} before, {within} after{but}"
        )


def format_share(share: float) -> str:
    """A share as a person reads it; what is not certain is never written as if it were.

    >>> [format_share(share) for share in (0, 0.0393, 0.4, 0.99995, 1)]
    ['0 %', '3.93 %', '40 %', '>99.9 %', '100 %']
    """
    if 0 < share < 0.001:
        return "<0.1 %"
    return ">99.9 %" if 0.999 < share < 1 else f"{100 * share:.3g} %"


def bound_improbable(epsilon: float, delta: float, more: float | None = None) -> float:
    """How probable are outputs whose two probabilities differ by more than the factor e^(ε + η).

    For P and Q with P(S) ≤ e^ε Q(S) + δ and Q(S) ≤ e^ε P(S) + δ for every event S, and an output
    drawn from either; η is ``more``, and ε unless given. Let S be the outputs where P is larger
    by more than the factor: P(S) ≤ e^ε Q(S) + δ < e^−η P(S) + δ, so P(S) ≤ δ / (1 − e^−η), and Q(S)
    is below e^−(ε + η) of that. The same holds with P and Q exchanged; returned is the sum of both,
    δ (1 + e^−(ε + η)) / (1 − e^−η). No pair attains it, for Q(S) is strictly below; but pairs come
    as near to it as one likes, so that no smaller bound holds for all.

    >>> round(bound_improbable(0.1, 1e-6) * 1e6, 4)
    19.1118
    """
    if not delta:
        return 0.0
    eta = epsilon if more is None else more
    return min(1.0, delta * (1 + math.exp(-epsilon - eta)) / -math.expm1(-eta))


def bound_improbable_in_paper(epsilon: float, delta: float) -> float:
    """The constant of lemma 18 as the paper has it: 2 δ / (ε e^ε).

    It is below `bound_improbable`, the least that holds for outputs drawn from either distribution.
    Theorem 15 needs less than the lemma, and stands (docs/theory/most-databases.md).
    """
    return min(1.0, 2 * delta / (epsilon * math.exp(min(epsilon, 700.0))))


def compute_belief_curves(epsilon: float, exponent: float) -> list[dict[str, Any]]:
    """Belief after against belief before, for charts: of this ε first, and of a few others.

    Each has the ``exponent`` that its ε makes, and points: before, and the ends of the range after.
    They are dense along both, where a steep curve leaves one of the two no room.
    """
    factor = exponent / epsilon
    others = [
        other
        for other in OTHERS
        if abs(other - epsilon) > CLOSE * epsilon and other * factor <= FAR
    ]
    return [
        {
            "epsilon": curve_epsilon,
            "exponent": curve_epsilon * factor,
            "points": _points(curve_epsilon * factor),
        }
        for curve_epsilon in (epsilon, *others)
    ]


def _points(exponent: float) -> list[dict[str, float]]:
    even = {step / STEPS for step in range(STEPS + 1)}
    places = sorted(even.union(*(move_belief(belief, exponent) for belief in even)))
    ends = ((before, *move_belief(before, exponent)) for before in places)
    return [{"before": before, "low": low, "high": high} for before, low, high in ends]


def bound_beliefs(spend: Spend, prior: Prior, neighbours: str = CHANGE) -> tuple[BeliefBounds, ...]:
    """What is believed of one person after a release, for what was believed before."""
    if neighbours == CHANGE:
        return tuple(_belief(about, p, spend, 1) for about, p in _priors(prior, "a statement"))
    there = [] if isinstance(prior, Mapping) else _priors(prior, "being in the table")
    return (
        *(_belief(about, p, spend, 1) for about, p in there),
        *(_belief(about, p, spend, 2) for about, p in _priors(prior, "a value")),
    )


def _belief(about: str, before: Fraction, spend: Spend, steps: int) -> BeliefBounds:
    """One belief; two steps are (2ε, (1 + e^ε) δ)-indistinguishable (group privacy)."""
    epsilon, delta = min(float(spend.epsilon), MAX_EXPONENT), float(spend.delta)
    if steps == 2 and delta:
        delta = min(1.0, delta * (1 + math.exp(min(epsilon, 700.0))))
    more = EXTRA_EPSILON * steps * epsilon if delta else 0.0
    exponent = steps * epsilon + more
    ends = move_belief(float(before), exponent)
    failing = bound_improbable(steps * epsilon, delta, more)
    return BeliefBounds(about, float(before), *ends, exponent, failing)


def _priors(prior: Prior, about: str) -> list[tuple[str, Fraction]]:
    if not isinstance(prior, Mapping):
        return [(about, _probability(prior))]
    priors = [(str(value), _probability(p)) for value, p in prior.items()]
    if not priors or abs(sum((p for _, p in priors), Fraction(-1))) > SUM_TOLERANCE:
        raise UsageError(
            "The probabilities of the values do not add up to 1.",
            "name every value, or give the probability of one statement.",
        )
    return priors


def _probability(number: Number) -> Fraction:
    try:
        probability = to_exact(number)
    except UsageError:
        probability = Fraction(-1)
    if not 0 <= probability <= 1:
        raise UsageError(
            "A belief before the release is a probability.", "write a number from 0 to 1: prior=0.1"
        )
    return probability
