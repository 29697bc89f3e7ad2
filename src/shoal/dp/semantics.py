"""What differential privacy means to anybody, whatever else they know.

The adversary's knowledge is a belief b over tables. In game 0 they see the output of the mechanism
on the table; in game i they see its output on the table with row i replaced by a fixed one (or
left out). By Bayes they come to believe b_0(x | t) and b_i(x | t). A mechanism is (ε', δ')-
semantically private if for every b, with a chance of at least 1 − δ' over the table drawn from b
and the output t, and for every person i at once, the statistical distance (total variation) of
b_0(· | t) and b_i(· | t) is at most ε'. So nobody learns much *because of one's own row*.

    ε:       ε' = e^ε − 1                the paper's proposition 14;    ε' = tanh(ε / 2)     tight
    (ε, δ):  ε' = e^3ε − 1 + 2 √δ        the paper's theorem 15
             δ' = n (√δ + 2 δ / (ε e^ε))
    (ε, δ):  ε' = tanh(ε / 2) + √(nδ)    proved below, for n people
             δ' = (2 + e^ε) √(nδ)

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, 2008,
section 4. Kasiviswanathan, Smith: On the 'semantics' of differential privacy: a Bayesian
formulation, 2014, the journal version, announces strengthened results; they are not used here.

**The tight bound for ε.** For each table the two games' probabilities of t differ by a factor in
[e^−ε, e^ε]. Weights whose largest is e^2ε times their smallest move a distribution by at most
(e^ε − 1) / (e^ε + 1) = tanh(ε / 2). Randomised response on the exclusive or of two bits attains it.

**The bound for (ε, δ).** Let P(x, t) and P'(x, t) be the joint probabilities in games 0 and i, and
D(t) the sum over x of what P exceeds e^ε P' by, D'(t) with the two exchanged: each adds up to at
most δ over t. Cut both excesses off: what is left is within e^±ε, so its two conditional
distributions are within tanh(ε / 2), and each is within D(t) / P(t) and D'(t) / P'(t) of the
uncut one. From P ≤ e^ε P' + D, and D' ≤ P', the mean over t of the second is at most
e^ε δ + δ, that of the first δ. By Markov's inequality their sum exceeds √(nδ) with a chance of at
most (2 + e^ε) δ / √(nδ), and for any of n people with at most n times that.

It does not say that nothing is learnt about a person: what the other rows say is in both games.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shoal.core.errors import UsageError
from shoal.core.release import EDITION, to_json_value
from shoal.core.spend import Number, Spend, parse_spend, to_exact
from shoal.dp.beliefs import CHANGE, PRESENCE, BeliefBounds, Prior, bound_beliefs, format_share

EVEN = 0.5
MAX_FAILURE = 0.05
"""A bound that fails with a larger chance than this is weak."""
NEARLY_UNBOUNDED = 0.999
"""A belief that may move by more than this is as good as unbounded."""


@dataclass(frozen=True)
class Bound:
    """Semantic privacy as one theorem has it: ε' and δ', which say nothing from 1 on."""

    name: str
    epsilon: float
    delta: float

    @property
    def distance(self) -> float:
        """The statistical distance that is not exceeded: ε', and 1 where that is larger."""
        return min(1.0, self.epsilon)

    @property
    def chance(self) -> float:
        """The chance that it is exceeded for anybody: δ', and 1 where that is larger."""
        return min(1.0, self.delta)

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: every distance, and every chance, is at most 1."""
        return self.epsilon >= 1 or self.delta >= 1

    @property
    def weak(self) -> bool:
        """Whether it says something, and fails too often to be relied on."""
        return not self.vacuous and self.chance > MAX_FAILURE

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON: ε' and δ' as computed, and what they say."""
        names = ("distance", "chance", "vacuous", "weak")
        derived = {name: getattr(self, name) for name in names}
        return {name: to_json_value(value) for name, value in {**vars(self), **derived}.items()}

    def __str__(self) -> str:
        if self.vacuous:
            but = f" and δ' = {self.delta:.4g}" if self.delta else ""
            return f"{self.name}: ε' = {self.epsilon:.4g}{but}, which says nothing"
        return f"{self.name}: at most {format_share(self.distance)}{self.failing}"

    @property
    def failing(self) -> str:
        """By what chance it is exceeded, to end a sentence with; empty: it never is."""
        if not self.delta:
            return ""
        weak = ", which makes it weak" if self.weak else ""
        return f", but for a chance of {format_share(self.chance)}{weak}"


@dataclass(frozen=True)
class SemanticPrivacy:
    """What a promise of differential privacy means for what anybody believes."""

    spend: Spend
    people: int | None
    neighbours: str
    paper: Bound
    """As Ganta et al. 2008 state it."""
    tight: Bound
    """The smallest that is proved here."""
    beliefs: tuple[BeliefBounds, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether no bound says anything."""
        return self.paper.vacuous and self.tight.vacuous

    @property
    def even(self) -> BeliefBounds:
        """What becomes of an even belief in a statement about a person's values."""
        return bound_beliefs(self.spend, EVEN, self.neighbours)[-1]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        facts = {
            "edition": EDITION,
            **self.spend.to_json(),
            "people": self.people,
            "neighbours": self.neighbours,
            "paper": self.paper.to_json(),
            "tight": self.tight.to_json(),
            "vacuous": self.vacuous,
            "even": self.even.to_json(),
            "beliefs": [belief.to_json() for belief in self.beliefs],
        }
        return {name: to_json_value(value) for name, value in facts.items()}

    @property
    def best(self) -> Bound:
        """The bound to go by: the tightest that says anything."""
        return self.paper if self.tight.vacuous else self.tight

    def __str__(self) -> str:
        lines = [self._in_short()]
        if self.beliefs:
            lines.append("To whom the other rows say nothing about this one, or who knows them:")
            lines += [f"- {belief}" for belief in self.beliefs]
        other = "were another" if self.neighbours == CHANGE else "were not there"
        lines += [
            "How far what anybody believes can be from what they would believe if one person's "
            f"row {other}, by the tightest bound and by the paper's:",
            f"- {self.tight}",
            f"- {self.paper}",
        ]
        if self.spend.delta:
            whom = "one person" if self.people is None else f"each of {self.people:,} people"
            lines.append(f"The chances are over the release, for {whom} at once.")
        return "\n".join(lines)

    def _in_short(self) -> str:
        """What a steward has to know: the distance bounds how much likelier anything becomes."""
        best, condition = self.best, f"whatever else anybody knows ({self.spend})"
        if best.vacuous:
            return f"No bound says how much likelier a statement becomes by one row, {condition}."
        if best.distance > NEARLY_UNBOUNDED:
            return (
                "Next to nothing is promised: because of one person's row a statement may become "
                f"likelier by more than {100 * NEARLY_UNBOUNDED:g} percentage points, {condition}."
            )
        return (
            "Because of one person's row no statement becomes likelier by more than "
            f"{100 * best.distance:.3g} percentage points, {condition}{best.failing}."
        )


def semantic_privacy(
    epsilon: Number,
    delta: Number = 0,
    people: int | None = None,
    prior: Prior | None = None,
    neighbours: str = CHANGE,
) -> SemanticPrivacy:
    """What (ε, δ)-differential privacy means for a number of people, and for a belief.

    Parameters
    ----------
    epsilon, delta : number
        The promise; ``"1/10"`` is exact.
    people : int, optional
        How many people the table is about; without it the bounds are about one.
    prior : number or mapping, optional
        What is believed of a person before: a probability, or one for each value.
    neighbours : str
        As a release's manifest states them: tables in which one person's values ``change``, or
        which ``add or remove`` a person.

    Returns
    -------
    SemanticPrivacy
        The bounds by Ganta et al. 2008 and the tightest ones, and the beliefs after the release.

    Raises
    ------
    UsageError
        Where a number is out of its range, or the probabilities do not add up to 1.

    Examples
    --------
    >>> print(semantic_privacy(0.5, prior=0.1))  # doctest: +NORMALIZE_WHITESPACE
    Because of one person's row no statement becomes likelier by more than 24.5 percentage points,
    whatever else anybody knows (ε 0.5).
    To whom the other rows say nothing about this one, or who knows them:
    - a statement: believed with 10 % before, between 6.31 % and 15.5 % after
    How far what anybody believes can be from what they would believe if one person's row were
    another, by the tightest bound and by the paper's:
    - tight bound: at most 24.5 %
    - proposition 14: at most 64.9 %
    """
    spend, kind = parse_spend(epsilon, delta), _neighbours(neighbours)
    if people is not None and (isinstance(people, bool) or people < 1):
        raise UsageError("There is at least one person.", "write for example people=1000.")
    paper, tight = _bounds(float(spend.epsilon), float(spend.delta), people or 1)
    beliefs = () if prior is None else bound_beliefs(spend, prior, kind)
    return SemanticPrivacy(spend, people, kind, paper, tight, beliefs)


def semantic_privacy_for_most(
    epsilon: Number, delta: Number = 0, exceptions: Number = 0, people: int | None = None
) -> SemanticPrivacy:
    """What it means where only *most* tables are promised (ε, δ): all but ``exceptions`` of b.

    A mechanism that is (ε, δ)-indistinguishable on every x of a set E and all its neighbours, with
    b(E) ≥ 1 − γ, has joint distributions of table and output in games 0 and i that are
    (ε, δ + γ)-indistinguishable; nothing else is used of δ, so it is replaced by δ + γ.

    >>> semantic_privacy_for_most(0.1, 0, 1e-10, 1000).paper == semantic_privacy(
    ...     0.1, 1e-10, 1000).paper
    True
    """
    return semantic_privacy(epsilon, to_exact(delta) + to_exact(exceptions), people)


def _neighbours(text: str) -> str:
    for kind in (CHANGE, PRESENCE):
        if text.startswith(kind):
            return kind
    raise UsageError(
        "Neighbouring tables differ by a change, or by a person who is there or not.",
        f'write neighbours="{CHANGE}" or "{PRESENCE}".',
    )


def _bounds(epsilon: float, delta: float, people: int) -> tuple[Bound, Bound]:
    tight = math.tanh(epsilon / 2)
    if not delta:
        paper = Bound("proposition 14", _less_one(epsilon), 0.0)
        return paper, Bound("tight bound", tight, 0.0)
    root, joint = math.sqrt(delta), math.sqrt(people * delta)
    person = root + 2 * delta / (epsilon * (_less_one(epsilon) + 1))
    return (
        Bound("theorem 15", _less_one(3 * epsilon) + 2 * root, people * person),
        Bound("tighter bound", tight + joint, (3 + _less_one(epsilon)) * joint),
    )


def _less_one(exponent: float) -> float:
    """e^x − 1; infinite where no float is large enough."""
    return math.expm1(exponent) if exponent < 700 else math.inf
