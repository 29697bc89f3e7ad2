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

from shoal.core.errors import UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import (
    EXACT,
    Mask,
    Number,
    Rule,
    compute_logarithm,
    divide_products,
    is_at_most,
    is_near,
    parse_fraction,
)
from shoal.core.tally import Groups
from shoal.core.theory.collusion import (
    Collusion,
    ProviderCounts,
    cap_weights,
    find_heaviest,
    search_classes,
)


@dataclass(frozen=True)
class BetaLikeness(Rule):
    """In every class the relative gain (p − q) / q of each value is at most β.

    Parameters
    ----------
    beta : Number
        The largest relative gain, above 0.
    on : str, optional
        The sensitive column; not needed where the table has only one.
    kind : str, default "basic"
        "basic" bounds each gain by β; "enhanced" by min(β, −ln q), which also bounds what is
        learned about frequent values.

    Raises
    ------
    UsageError
        Where beta is out of its bounds or there is no such kind.

    Notes
    -----
    p is a value's frequency in the class and q > 0 in the published table. The bound on each p is
    an upper one, which a mixture keeps: monotone. The reached β of the enhanced kind is infinite
    where a gain exceeds −ln q, since no β helps there.

    Where values are unknown, each value in turn is that of all unknown rows of the class and of
    none outside it; for the enhanced bound also of all outside it, since p / q − 1 + ln q grows
    towards either end. A coalition of providers makes a value more likely by taking its rows with
    other values away.

    Does not protect: against learning that somebody does *not* have a value (negative gain).

    References
    ----------
    J. Cao and P. Karras, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), 2012.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
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
        object.__setattr__(self, "beta", parse_fraction(self.beta, "beta", 0, above=True))
        if self.kind not in ("basic", "enhanced"):
            raise UsageError(
                f"β-likeness has no kind {self.kind!r}.", "write kind=basic or kind=enhanced."
            )

    def holds(self, groups: Groups) -> Mask:
        """Which classes keep every value's gain within its bound."""
        worst, bound = Likelihoods.of(groups.on(self.on)), 1 + Fraction(self.beta)
        holds = is_at_most((worst.count, worst.everybody), (worst.rows, worst.total), bound)
        if self.kind == "enhanced":
            holds &= ~worst.over_logarithm()
        return ~worst.largest((~holds).astype(np.float64)).astype(bool)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest gain of each class."""
        worst = Likelihoods.of(groups.on(self.on))
        gain = worst.gain(worst.total)
        if self.kind == "enhanced":
            gain[worst.over_logarithm()] = np.inf
        return np.asarray(np.maximum(worst.largest(gain), 0))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it."""
        contributed = groups.contributed_on(self.on)
        total, everybody = contributed.total.tolist(), int(contributed.total.sum())
        bound = cache(lambda rows: self._max_frequency(rows, everybody).as_integer_ratio())

        def find(
            values: NDArray[np.int32], counts: ProviderCounts, max_members: int
        ) -> list[int] | None:
            over, under = zip(*(bound(total[value]) for value in values.tolist()), strict=True)
            return find_heaviest(cap_weights(list(over), list(under)), counts, max_members)

        return search_classes(contributed, max_members, ~self.holds(groups), find)

    def _max_frequency(self, rows: int, everybody: int) -> Fraction:
        # The largest p that a value of so many rows may have; of a logarithm sixty digits.
        q, gain = Fraction(rows, everybody), Fraction(self.beta)
        if self.kind == "enhanced":
            gain = min(gain, -Fraction(compute_logarithm(q)))
        return q * (1 + gain)


@dataclass(frozen=True)
class Likelihoods:
    """The values of each class that may be too likely, with unknown values at their worst.

    A value has ``count`` of its class's ``rows``, and ``total`` of ``everybody`` in the table;
    ``max_total`` where all unknown values outside the class are this one too.
    """

    classes: int
    class_: NDArray[np.int64]
    count: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: NDArray[np.int64]
    max_total: NDArray[np.int64]
    everybody: int

    @classmethod
    def of(cls, h: Histogram) -> Likelihoods:
        """Of a histogram; where values are unknown, of values that a class lacks as well."""
        everybody, blanks = int(h.total.sum()), h.blanks
        known = ~h.is_blank
        class_, value, count = h.class_[known], h.value[known], h.count[known]
        if h.all_blanks and len(h.occurring_values) > 1:
            absent_pairs = [
                (c, v)
                for c in np.flatnonzero(blanks).tolist()
                for v in _extreme_absent_values(h, c)
            ]
            more = np.array(absent_pairs, dtype=np.int64).reshape(-1, 2)
            class_ = np.concatenate((class_, more[:, 0]))
            value = np.concatenate((value, more[:, 1]))
            count = np.concatenate((count, np.zeros(len(more), np.int64))) + blanks[class_]
        total = h.total[value]
        max_total = total + h.all_blanks
        if len(h.occurring_values) < 2:  # the only value, in every row of the class and the table
            count, total = h.rows[class_], np.full(len(class_), everybody)
            return cls(len(h.rows), class_, count, h.rows[class_], total, total, everybody)
        low = total + blanks[class_]
        return cls(len(h.rows), class_, count, h.rows[class_], low, max_total, everybody)

    def largest(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest number of each class."""
        largest = np.full(self.classes, -np.inf)
        np.maximum.at(largest, self.class_, pairs)
        return np.where(np.isneginf(largest), 0.0, largest)

    def gain(self, total: NDArray[np.int64]) -> NDArray[np.float64]:
        """(p − q) / q of each pair, subtracted before it is divided: less is lost to rounding."""
        p = self.count * float(self.everybody)
        q = self.rows * total.astype(np.float64)
        return divide_products([p - q], [q])

    def over_logarithm(self) -> Mask:
        """The pairs whose gain exceeds −ln q, with no unknown value outside the class or with all.

        A logarithm is never a fraction, so that ties need digits.
        """
        over = np.zeros(len(self.count), np.bool_)
        for total in (self.total, self.max_total):
            gain, bound = self.gain(total), -np.log(divide_products([total], [self.everybody]))
            exceeds = np.asarray(gain > bound)
            for i in np.flatnonzero(is_near(gain, bound)):
                q = Fraction(int(total[i]), self.everybody)
                exact = Fraction(int(self.count[i]), int(self.rows[i])) / q - 1
                with localcontext(EXACT):
                    exceeds[i] = exact.numerator > -compute_logarithm(q) * exact.denominator
            over |= exceeds
        return over


def _extreme_absent_values(h: Histogram, class_: int) -> list[int]:
    """The rarest and the most common of the values that a class lacks."""
    present = set(h.of_class(class_)[0])
    by_rows = h.occurring_values[np.argsort(h.total[h.occurring_values], kind="stable")].tolist()
    rarest = next((value for value in by_rows if value not in present), None)
    if rarest is None:
        return []
    return [rarest, next(value for value in reversed(by_rows) if value not in present)]
