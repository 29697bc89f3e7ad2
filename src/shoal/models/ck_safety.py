"""(c,k)-safety: whatever k pieces of knowledge somebody has, nobody's value becomes too sure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal import disclosure
from shoal.attained import Signature, attained, refuted
from shoal.disclosure import Floats, Signed
from shoal.kernels import disclose
from shoal.model import NEAR, Mask, Number, Rule, fraction, near, settle
from shoal.tally import Groups, Histogram


class State(NamedTuple):
    """The classes of a table as far as they matter: signatures, and what follows from them."""

    rows: NDArray[np.int64]
    least: Floats
    odds: Floats

    @classmethod
    def of(cls, h: Histogram, atoms: int) -> State:
        """Those of a histogram."""
        rows = disclosure.signatures(h.start, h.count, atoms)
        return cls(rows, disclosure.least(rows), disclosure.odds(rows))

    def cut(self, class_: NDArray[np.int64], halves: State, made: Mask) -> State:
        """The state after the cuts that were made: left halves stay, right ones come last."""
        at = np.flatnonzero(made)
        after = []
        for old, new in zip(self, halves, strict=True):
            joined = np.concatenate((old, new[2 * at + 1]))
            joined[class_[at]] = new[2 * at]
            after.append(joined)
        return State(*after)


@dataclass(frozen=True)
class CkSafety(Rule):
    """No k basic implications make anybody's belief in anybody's value reach c.

    "Given a bound k on the attacker's background knowledge and a threshold c, a bucketization B
    is (c,k)-safe if the maximum disclosure of B with respect to L^k_basic is less than c." (D. J.
    Martin, D. Kifer, A. Machanavajjhala, J. Gehrke and J. Y. Halpern, Worst-case background
    knowledge for privacy-preserving data publishing, ICDE 2007.) The maximum is taken over all
    people, values and conjunctions of k implications (``shoal.disclosure``). The inequality is
    strict; the reached c is the maximum disclosure itself, which every larger c keeps.

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

    >>> from shoal.testing import groups
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
        object.__setattr__(self, "c", fraction(self.c, "c", 0, 1, above=True))
        object.__setattr__(self, "k", disclosure.pieces(self.k))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", fraction(self.gamma, "gamma", 0, 1, above=True))

    @property
    def local(self) -> bool:  # type: ignore[override]
        """With ``gamma`` a class can be judged alone."""
        return self.gamma is not None

    @property
    def least(self) -> int:
        """Fewer values than k + 2 can be told by k negations, and one in n must be under c."""
        return max(self.k + 2, math.floor(1 / Fraction(self.c)) + 1)

    @property
    def bound(self) -> Fraction:
        """What the ratio r of maximum disclosure 1 / (1 + r) must exceed."""
        return 1 / Fraction(self.c) - 1

    def holds(self, groups: Groups) -> Mask:
        """Which classes have nobody whose value can be told with c or more."""
        if not len(groups):
            return np.zeros(0, bool)
        found = disclosure.signed(groups.on(self.on), self.k)
        holds = self._apart_holds(found) if self.local else self._together(found)
        return holds[found.number]

    def per_class(self, groups: Groups) -> Floats:
        """The largest belief about somebody of each class; with ``gamma`` a bound of it."""
        found = disclosure.signed(groups.on(self.on), self.k)
        ratio = found.ratio if self.gamma is None else self._apart(found)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (1 + ratio))[found.number]

    def alone(self, groups: Groups) -> Mask:
        """Which classes would be safe if each were the whole table."""
        state = State.of(groups.on(self.on), self.k + 1)
        ratio = state.least[:, -1] * state.odds
        return self._settled(ratio, lambda i: self._exact(state.rows[i : i + 1]))

    def start(self, groups: Groups) -> State:
        """The table's classes as far as they matter."""
        return State.of(groups.on(self.on), self.k + 1)

    def admit(self, state: State, class_: NDArray[np.int64], halves: Groups) -> tuple[State, Mask]:
        """Make each cut after which the whole table is still safe, in turn."""
        new = State.of(halves.on(self.on), self.k + 1)
        classes, cuts = len(state.rows), len(class_)
        places = 1 << (classes + len(np.unique(class_))).bit_length()
        tree = disclose.plant(state.least, state.odds, places)
        decided = np.full(cuts, disclose.CLOSE, np.int64)
        taken, bound = np.zeros(classes, bool), float(self.bound)
        at, used = 0, classes
        while True:
            at, used = disclose.admit(
                tree, class_, new.least, new.odds, bound, NEAR, decided, taken, at, used
            )
            if at == cuts:
                made = decided == disclose.MADE
                return state.cut(class_, new, made), made
            pair = new.rows[2 * at : 2 * at + 2]
            safe = all(self._exact(row[np.newaxis]) for row in pair)  # nearly always tells
            if safe:
                tried = (decided == disclose.MADE) & (np.arange(cuts) < at)
                tried[at] = True
                safe = self._exact(state.cut(class_, new, tried).rows)
            decided[at] = disclose.MADE if safe else disclose.REFUSED

    def _exact(self, rows: NDArray[np.int64]) -> bool:
        """Whether classes with these signatures are safe together."""
        if len(rows) == 1:
            found = attained([tuple(rows[0].tolist())], self.k + 1)
        else:
            distinct, number = np.unique(rows, axis=0, return_inverse=True)
            found = Signed(distinct, number.ravel()).attained()
        return found[-1].ratio > self.bound

    def _together(self, found: Signed) -> Mask:
        return self._settled(found.ratio, lambda i: found.attained(i)[-1].ratio > self.bound)

    def _settled(self, ratio: Floats, exact: Callable[[int], bool]) -> Mask:
        return settle(ratio, float(self.bound), ratio > float(self.bound), exact)

    def _apart(self, found: Signed) -> Floats:
        """Per signature a bound of the ratio, whatever the others are; −1: there is none."""
        shares = _powers(float(self.gamma or 1), self.k + 1)
        own = (found.least * shares[::-1])[:, 1:].min(axis=1) * found.odds
        helps = (found.least < shares * (1 - NEAR))[:, :-1].any(axis=1)
        return np.where(helps, -1.0, own)

    def _apart_holds(self, found: Signed) -> Mask:
        ratio, bound = self._apart(found), float(self.bound)
        shares = _powers(float(self.gamma or 1), self.k + 1)
        close = near(ratio, bound) | near(found.least, shares)[:, 1:-1].any(axis=1)
        holds = ratio > bound
        for i in np.flatnonzero(close):
            holds[i] = self._apart_exact(tuple(found.rows[i].tolist()))
        return np.asarray(holds)

    def _apart_exact(self, row: Signature) -> bool:
        gamma, atoms = Fraction(self.gamma or 1), self.k + 1
        chance = [refuted(row, j)[0] for j in range(atoms + 1)]
        own = min(chance[j] * gamma ** (atoms - j) for j in range(1, atoms + 1))
        helps = any(chance[j] < gamma**j for j in range(1, atoms))
        return not helps and own * Fraction(row[0], row[1]) > self.bound


def _powers(gamma: float, atoms: int) -> Floats:
    return np.asarray(gamma ** np.arange(atoms + 1))
