"""(c,k)-safety: k pieces of knowledge, whatever they are, give no belief of c in any value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import NEAR, Mask, Number, Rule, is_near, parse_fraction
from shoal.core.tally import Groups
from shoal.core.theory import worst_case_disclosure as disclosure
from shoal.core.theory.worst_case_disclosure import (
    IMPLICATIONS,
    ClassSignatures,
    Floats,
    Signature,
    exact_inverse_odds,
    min_refutation,
)
from shoal.kernels import disclosure as disclose

MIN_SHARE = Fraction(1, 10**9)
"""The smallest c or gamma: floats could not distinguish a smaller one from 0."""


class SignatureState(NamedTuple):
    """All classes that there are or were: signatures, and what follows from them.

    Those that were cut stay: their halves attain what they attain.
    """

    rows: NDArray[np.int64]
    min_rows: Floats
    odds: Floats

    @classmethod
    def of(cls, h: Histogram, atoms: int) -> SignatureState:
        """The state of a histogram."""
        rows = disclosure.compute_signatures(h.start, h.count, atoms)
        return cls(rows, disclosure.min_chances(rows), disclosure.inverse_odds(rows))

    def joined(self, halves: SignatureState, admitted: Mask) -> SignatureState:
        """The state after the admitted cuts."""
        new = np.repeat(admitted, 2)
        return SignatureState(
            *(np.concatenate((a, b[new])) for a, b in zip(self, halves, strict=True))
        )


@dataclass(frozen=True)
class CkSafety(Rule):
    """No k basic implications make anybody's belief in anybody's value reach c.

    Parameters
    ----------
    c : Number
        The belief that must not be reached, above 0 and at most 1.
    k : int
        How many pieces of knowledge (basic implications) an adversary may have.
    on : str, optional
        The sensitive column; not needed where the table has only one.
    gamma : Number, optional
        Judge each class alone, by a stronger condition; above 0 and at most 1.

    Raises
    ------
    UsageError
        Where c, k or gamma is out of its bounds.

    Notes
    -----
    "Given a bound k on the attacker's background knowledge and a threshold c, a bucketization B
    is (c,k)-safe if the maximum disclosure of B with respect to L^k_basic is less than c." The
    maximum is taken over all people, values and conjunctions of k implications
    (``shoal.core.theory.worst_case_disclosure``). The inequality is strict; the reached c is the
    maximum disclosure itself, which every larger c keeps.

    A class cannot be judged alone: knowledge about people of other classes adds up, so classes
    that are safe one by one may be unsafe together. Merging classes never raises the maximum
    (theorem 14): monotone.

    ``gamma`` asks for more than is needed, and can be judged class by class, so that a table can
    be published in parts. With K = k + 1, p_j the smallest chance that j atoms in the class are
    all false and h_0 / n that of its most common value, every class has p_j ≥ γ^j for j ≤ k and
    p_j n / h_0 > (1 − c) / c · γ^(j − K) for j ≤ K. Whatever atoms are shared out over classes,
    the products then stay above (1 − c) / c.

    Does not protect: identity, presence, or values that mean the same; nor against more than k
    pieces. It supposes that without them every assignment of a class's values is equally likely.

    References
    ----------
    D. J. Martin, D. Kifer, A. Machanavajjhala, J. Gehrke and J. Y. Halpern, Worst-case background
    knowledge for privacy-preserving data publishing, ICDE 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> figure = groups([["flu", "flu", "lung", "lung", "mumps"],
    ...                  ["flu", "flu", "breast", "ovarian", "heart"]])
    >>> CkSafety(0.7, 1).holds(figure).all(), CkSafety("2/3", 1).holds(figure).all()
    (np.True_, np.False_)
    """

    c: Number
    k: int
    on: str | None = None
    gamma: Number | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "c"
    strongest: ClassVar[str] = "smallest"
    strict: ClassVar[bool] = True
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"k": 1}, {"k": 2}, {"k": 3})

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", _parse_share(self.c, "c", "0.6"))
        object.__setattr__(self, "k", disclosure.parse_pieces(self.k))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", _parse_share(self.gamma, "gamma", "0.7"))

    @property
    def local(self) -> bool:  # type: ignore[override]
        """With ``gamma`` a class can be judged alone."""
        return self.gamma is not None

    @property
    def min_rows(self) -> int:
        """k negations settle a value among fewer than k + 2, and one in n must be under c."""
        return max(self.k + 2, math.floor(1 / Fraction(self.c)) + 1)

    @property
    def bound(self) -> Fraction:
        """What the ratio r of maximum disclosure 1 / (1 + r) must exceed."""
        return 1 / Fraction(self.c) - 1

    def holds(self, groups: Groups) -> Mask:
        """Which classes have nobody in whose value a belief can reach c."""
        if not len(groups):
            return np.zeros(0, bool)
        signatures = disclosure.sign_classes(groups.concentrated(self.on), self.k)
        if self.local:
            return self._holds_singly(signatures)[signatures.number]
        return ~signatures.reaching(Fraction(self.c), IMPLICATIONS)[signatures.number]

    def per_class(self, groups: Groups) -> Floats:
        """The largest belief about somebody of each class; with ``gamma`` a bound of it."""
        signatures = disclosure.sign_classes(groups.concentrated(self.on), self.k)
        ratio = signatures.ratio if self.gamma is None else self._single_disclosure(signatures)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (1 + ratio))[signatures.number]

    def advice(self, groups: Groups) -> str:
        """The range of ``gamma`` in which these classes pass, or that there is none."""
        if self.gamma is None:
            too_much = "k pieces tell somebody's value for certain: ask for a smaller k."
            return too_much if self.reached(groups) >= 1 else ""
        signatures = disclosure.sign_classes(groups.concentrated(self.on), self.k)
        atoms = np.arange(1, self.k + 1)
        highest = (signatures.min_chance[:, 1:-1] ** (1 / atoms)).min(initial=1.0)
        own = (signatures.min_chance[:, 1:] * signatures.odds[:, np.newaxis]).min(axis=0)
        with np.errstate(divide="ignore"):
            lowest = (float(self.bound) / own[:-1]) ** (1 / (self.k + 1 - atoms))
        low = lowest.max(initial=0.0)
        if own[-1] <= self.bound or low >= highest:
            return "no gamma lets the table pass: weaken c or k."
        return (
            f"write a gamma between {low:.3f} and {highest:.3f}: the lower, the "
            "less a class may tell of its own people, the higher, the less of others'."
        )

    def holds_alone(self, groups: Groups) -> Mask:
        """Which classes would be safe if each were the whole table."""
        state = SignatureState.of(groups.concentrated(self.on), self.k + 1)
        ratio = state.min_rows[:, -1] * state.odds
        return disclosure.is_above(ratio, self.bound, lambda i: self._is_safe_alone(state.rows[i]))

    def start(self, groups: Groups) -> SignatureState:
        """The signatures of the table's classes."""
        return SignatureState.of(groups.concentrated(self.on), self.k + 1)

    def admit(
        self, state: SignatureState, class_: NDArray[np.int64], halves: Groups
    ) -> tuple[SignatureState, Mask]:
        """Make each cut after which the whole table is still safe, in turn."""
        new = SignatureState.of(halves.concentrated(self.on), self.k + 1)
        decided = np.full(len(class_), disclose.CLOSE, np.int64)
        taken, bound = np.zeros(class_.max(initial=-1) + 1, bool), float(self.bound)
        best = state.min_rows.min(axis=0)
        own = (state.min_rows * state.odds[:, np.newaxis]).min(axis=0)
        at = 0
        while True:
            at = disclose.admit_cuts(
                best, own, class_, new.min_rows, new.odds, bound, NEAR, decided, taken, at
            )
            admitted = decided == disclose.MADE
            if at == len(class_):
                return state.joined(new, admitted), admitted
            safe = self._is_safe_alone(new.rows[2 * at]) and self._is_safe_alone(
                new.rows[2 * at + 1]
            )
            if safe:  # nearly always one of them alone is not
                admitted[at] = True
                rows = state.joined(new, admitted).rows
                safe = ClassSignatures(rows, np.arange(len(rows))).attained()[-1].ratio > self.bound
            decided[at] = disclose.MADE if safe else disclose.REFUSED

    def _is_safe_alone(self, row: NDArray[np.int64]) -> bool:
        signature = tuple(row.tolist())
        return min_refutation(signature, self.k + 1)[0] * exact_inverse_odds(signature) > self.bound

    def _single_disclosure(self, signatures: ClassSignatures) -> Floats:
        # A bound of the ratio, whatever the other classes are; −1: there is none.
        shares = _powers(float(self.gamma or 1), self.k + 1)
        own = (signatures.min_chance * shares[::-1])[:, 1:].min(axis=1) * signatures.odds
        helps = (signatures.min_chance < shares * (1 - NEAR))[:, :-1].any(axis=1)
        return np.where(helps, -1.0, own)

    def _holds_singly(self, signatures: ClassSignatures) -> Mask:
        ratio, bound = self._single_disclosure(signatures), float(self.bound)
        shares = _powers(float(self.gamma or 1), self.k + 1)
        close = is_near(ratio, bound) | is_near(signatures.min_chance, shares)[:, 1:-1].any(axis=1)
        holds = ratio > bound
        for i in np.flatnonzero(close):
            holds[i] = self._holds_singly_exact(tuple(signatures.rows[i].tolist()))
        return np.asarray(holds)

    def _holds_singly_exact(self, row: Signature) -> bool:
        gamma, atoms = Fraction(self.gamma or 1), self.k + 1
        chance = [min_refutation(row, j)[0] for j in range(atoms + 1)]
        own = min(chance[j] * gamma ** (atoms - j) for j in range(1, atoms + 1))
        helps = any(chance[j] < gamma**j for j in range(1, atoms))
        return not helps and own * exact_inverse_odds(row) > self.bound


def _parse_share(value: Number, name: str, example: str) -> Fraction:
    fraction = parse_fraction(value, name, 0, 1, above=True, example=example)
    if fraction < MIN_SHARE:
        raise UsageError(f"{name} is less than one in a billion.", f"write {name}={example}.")
    return fraction


def _powers(gamma: float, atoms: int) -> Floats:
    return np.asarray(gamma ** np.arange(atoms + 1))
