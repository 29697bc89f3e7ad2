"""β-likeness: no sensitive value becomes much more likely by knowing somebody's class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.collusion import Collusion
from shoal.collusion.linear import Counts, caps, heaviest, search
from shoal.errors import UsageError
from shoal.histogram import Histogram
from shoal.model import EXACT, Mask, Number, Rule, below, fraction, logarithm, near, ratio
from shoal.tally import Groups


@dataclass(frozen=True)
class BetaLikeness(Rule):
    """In every class the relative gain (p − q) / q of each value is at most β.

    p is a value's frequency in the class and q > 0 in the published table. Basic:
    max (p − q)/q <= β. Enhanced: each gain is at most min(β, −ln q), which also bounds what is
    learned about frequent values. (J. Cao and P. Karras, Publishing microdata with a robust
    privacy guarantee, PVLDB 5(11), 2012.) The bound on each p is an upper
    one, which a mixture keeps: monotone. The reached β of the enhanced kind is infinite where a
    gain exceeds −ln q, since no β helps there. A coalition of providers makes a value more likely
    by taking its rows with other values away.

    Does not protect: against learning that somebody does *not* have a value (negative gain).

    >>> from shoal.testing import groups
    >>> table = groups([["flu", "flu", "cold", "cold"], ["flu", "flu", "flu", "cold"]])
    >>> BetaLikeness(0.2).reached(table)
    0.3333333333333333
    """

    beta: Number
    on: str | None = None
    kind: str = "basic"
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "total"})
    parameter: ClassVar[str] = "beta"
    strongest: ClassVar[str] = "smallest"
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"kind": "basic"}, {"kind": "enhanced"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", fraction(self.beta, "beta", 0, above=True))
        if self.kind not in ("basic", "enhanced"):
            raise UsageError(
                f"β-likeness has no kind {self.kind!r}.", "write kind=basic or kind=enhanced."
            )

    def holds(self, groups: Groups) -> Mask:
        """Which classes keep every value's gain within its bound."""
        h = groups.on(self.on)
        kept = below(*_likelihood(h), 1 + Fraction(self.beta))
        if self.kind == "enhanced":
            kept &= ~_over_logarithm(h)
        return ~h.largest(~kept).astype(bool)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest gain of each class."""
        h = groups.on(self.on)
        gain = _gain(h)
        if self.kind == "enhanced":
            gain[_over_logarithm(h)] = np.inf
        return np.asarray(np.maximum(h.largest(gain), 0))

    def broken_by(self, groups: Groups, most: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``most`` of each class's providers that breaks it."""
        shares = groups.shared(self.on)
        total, everybody = shares.total.tolist(), int(shares.total.sum())
        bound = cache(lambda rows: self._most_likely(rows, everybody).as_integer_ratio())

        def find(values: NDArray[np.int32], counts: Counts, most: int) -> list[int] | None:
            over, under = zip(*(bound(total[value]) for value in values.tolist()), strict=True)
            return heaviest(caps(list(over), list(under)), counts, most)

        return search(shares, most, ~self.holds(groups), find)

    def _most_likely(self, rows: int, everybody: int) -> Fraction:
        """The largest p that a value of so many rows may have; of a logarithm sixty digits."""
        q, gain = Fraction(rows, everybody), Fraction(self.beta)
        if self.kind == "enhanced":
            gain = min(gain, -Fraction(logarithm(q)))
        return q * (1 + gain)


_Factors = tuple[NDArray[np.int64] | int, ...]


def _likelihood(h: Histogram) -> tuple[_Factors, _Factors]:
    """p / q of each pair as factors above and below the line."""
    return (h.count, int(h.total.sum())), (h.rows[h.class_], h.total[h.value])


def _gain(h: Histogram) -> NDArray[np.float64]:
    """(p − q) / q of each pair, subtracted before it is divided: less is lost to rounding."""
    p = h.count * float(h.total.sum())
    q = h.rows[h.class_] * h.total[h.value].astype(np.float64)
    return ratio([p - q], [q])


def _over_logarithm(h: Histogram) -> Mask:
    """The pairs whose gain exceeds −ln q; a logarithm is never a fraction, so ties need digits."""
    everybody = int(h.total.sum())
    gain, bound = _gain(h), -np.log(ratio([h.total[h.value]], [everybody]))
    over = np.asarray(gain > bound)
    for i in np.flatnonzero(near(gain, bound)):
        q = Fraction(int(h.total[h.value[i]]), everybody)
        exact = Fraction(int(h.count[i]), int(h.rows[h.class_[i]])) / q - 1
        with localcontext(EXACT):
            over[i] = exact.numerator > -logarithm(q) * exact.denominator
    return over
