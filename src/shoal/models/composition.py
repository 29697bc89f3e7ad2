"""Composition: whoever is in another's release too most likely keeps several values in both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.core.histogram import Contributions, Histogram
from shoal.core.model import (
    EXACT,
    Mask,
    Number,
    Rule,
    decide_near_ties,
    parse_fraction,
    parse_whole_number,
)
from shoal.core.tally import Groups
from shoal.core.theory.collusion import Collusion, try_all_coalitions
from shoal.kernels.combinatorics import compute_chance_of_fewer, find_likeliest_event

WEIGHT = 20
"""How many rows of the whole table are added to a class's own to estimate a share."""
MAX_ALPHA = Fraction(999_999, 1_000_000)
"""The largest α: beyond it the model's assumptions err by more than the remaining chance."""
_Pairs = tuple[tuple[int, int], ...]
"""Of each value of one class: its rows in the class, and in the table."""


@dataclass(frozen=True)
class Composition(Rule):
    """Everybody keeps l values with probability α when another's release is intersected.

    Parameters
    ----------
    l : int
        How many values everybody keeps, 2 or more.
    alpha : Number
        The probability of that, above 0 and at most 0.999999.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where l or alpha is out of its bounds.

    Notes
    -----
    An adversary who finds a person in two releases keeps the sensitive values that both of the
    person's classes hold [1]. The other release is not there yet, so its class is supposed: as
    many rows as ours, M, the person's own and M − 1 drawn from what is known of people like them,

        θ(s) = (n(s) + 20 P(s)) / (M + 20)      n(s): rows of the class; P(s): share of the table
        p(s) = 1 − (1 − θ(s))^(M − 1)           value s is there too

    The person's own value is certainly in both. A class meets the rule when for everybody in it at
    least l − 1 of its other values are there too with probability α or more, values taken as
    independent. The aim is that of (d, α)-linkable [2]; the estimate is Shoal's own.

    Whoever has the likeliest value is worst off: to lose the event of the largest p instead of
    another leaves that other one in its place, which happens less often, so fewer happen. One sum
    per class is enough.

    Monotone: merging only adds rows. With c = n + 20 P, (M − 1) · −log(1 − c / (M + 20)) grows in
    c, and in M too for all values but the likeliest, except where p is above 1 − 5e-15 (c > 33),
    which α's upper limit makes harmless; and a value that was not in the class adds an event.

    Does not protect: people whom a careless partner gives away. What the other release does to
    its classes is not ours to say; if its classes are small, ours hardly help. Nor does it protect
    the identity of a person, against more than one other release, or against two of one's own.

    References
    ----------
    [1] S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary
    information in data privacy, KDD 2008.

    [2] A. H. M. S. Sattar, J. Li, J. Liu, R. Heatherly and B. Malin, A probabilistic approach to
    mitigate composition attacks on privacy in non-coordinated environments, Knowledge-Based
    Systems 67, 2014.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> table = groups([["flu"] * 4 + ["cold"] * 4, ["flu"] * 7 + ["cold"]])
    >>> Composition(2, 0.9).holds(table).tolist(), round(Composition(2, 0.9).reached(table), 3)
    ([True, False], 0.877)
    """

    l: int
    alpha: Number
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "total"})
    parameter: ClassVar[str] = "alpha"
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"l": 2}, {"l": 3})

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", parse_whole_number(self.l, "l", 2))
        alpha = parse_fraction(self.alpha, "alpha", -math.inf, example="0.95")
        object.__setattr__(self, "alpha", alpha)
        if not 0 < alpha <= MAX_ALPHA:
            raise UsageError(
                f"alpha must be above 0 and at most {float(MAX_ALPHA)}.",
                "write for example alpha=0.95.",
            )

    @classmethod
    def probes(cls, axis: Axis | None) -> list[tuple[Mapping[str, Any], Self]]:
        """Each variant; what a table reaches does not depend on the required α."""
        name = axis.name if axis else None
        return [(variant, cls(alpha=0.5, on=name, **variant)) for variant in cls.variants]

    @property
    def min_rows(self) -> int:
        """One row for each value."""
        return self.l

    def holds(self, groups: Groups) -> Mask:
        """Which classes leave everybody l values with probability α."""
        return self._holds(self._completed(groups))

    def _completed(self, groups: Groups) -> Histogram:
        """The classes with unknown values taken for the likeliest, which is the worst.

        No other value is then likelier than its known rows make it, here or in the table.
        """
        h = groups.on(self.on)
        return h.completed(h.count * int(h.total.sum()) + WEIGHT * h.total[h.value])

    def _holds(self, h: Histogram) -> Mask:
        risk, bound = self._risk(h), float(1 - Fraction(self.alpha))
        return decide_near_ties(risk, bound, risk <= bound, lambda i: self._holds_exactly(h, i))

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest α of each class; 0 where it has fewer than l values."""
        return 1 - self._risk(self._completed(groups))

    def _risk(self, h: Histogram) -> NDArray[np.float64]:
        likeness = WEIGHT / max(int(h.total.sum()), 1)
        rows = h.rows[h.class_].astype(np.float64)
        share = (h.count + likeness * h.total[h.value]) / (rows + WEIGHT)
        with np.errstate(divide="ignore", invalid="ignore"):  # a class of the table's only value
            chance = -np.expm1((rows - 1) * np.log1p(-share))
        need = min(self.l - 1, int(h.distinct.max(initial=1)))  # no class has more other values
        out: NDArray[np.float64] = compute_chance_of_fewer(
            h.start, chance, find_likeliest_event(h.start, share), need
        )
        return out

    def _holds_exactly(self, h: Histogram, class_: int) -> bool:
        values, counts = h.of_class(class_)
        pairs = tuple(sorted(zip(counts, h.total[values].tolist(), strict=True)))
        return keeps_values(pairs, int(h.total.sum()), self.l, Fraction(self.alpha))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it.

        More rows never break a class as long as the table's shares stay, so the worst is to take
        all that may be. A class is safe if it meets the rule even when every value has lost the
        most that so many providers contributed; for the other classes all coalitions are tried.
        """
        failed, safe = (
            ~self.holds(groups),
            self._holds(_min_left(groups.contributed_on(self.on), max_members)),
        )
        coalitions: list[tuple[int, ...] | None] = [() if bad else None for bad in failed.tolist()]
        for class_ in np.flatnonzero(~failed & ~safe & (max_members > 0)).tolist():
            single = np.array([class_])
            coalitions[class_] = try_all_coalitions(
                self, groups.take(single), max_members[single]
            ).of(0)
        return Collusion.from_coalitions(coalitions)


def _min_left(shares: Contributions, max_members: NDArray[np.int64]) -> Histogram:
    """The smallest count of each value that any ``max_members`` of the providers could leave."""
    assert shares.axis is not None, "the rule names a sensitive column"
    order = np.lexsort((-shares.count, shares.value, shares.class_))
    class_, value, count = shares.class_[order], shares.value[order], shares.count[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (class_[1:] != class_[:-1]) | (value[1:] != value[:-1])
    rank = np.arange(len(order)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    counted = rank >= max_members[class_]
    pairs = class_[counted], value[counted], count[counted]
    return Histogram.of(shares.axis, *pairs, len(shares), shares.total)


@lru_cache(maxsize=4096)
def keeps_values(pairs: _Pairs, everybody: int, l: int, alpha: Fraction) -> bool:
    """Whether a class leaves everybody l values with probability α, exactly.

    Sixty digits decide unless the two are equal, where fractions do.

    >>> keeps_values(((1, 1), (1, 1)), 2, 2, Fraction(1, 2))
    True
    """
    if len(pairs) < l:
        return False
    rows = sum(count for count, _ in pairs)
    of = (rows + WEIGHT) * everybody
    other = [of - count * everybody - WEIGHT * total for count, total in pairs]
    with localcontext(EXACT):
        absent = [(Decimal(number) / of) ** (rows - 1) for number in other]
        gap = 1 - Decimal(alpha.numerator) / alpha.denominator - _chance_of_fewer(absent, l - 1)
        if abs(gap) > 1e-40:
            return bool(gap > 0)
    exact = [Fraction(number, of) ** (rows - 1) for number in other]
    return bool(_chance_of_fewer(exact, l - 1) <= 1 - alpha)


def _chance_of_fewer(absent: Sequence[Any], need: int) -> Any:
    """The chance that fewer than ``need`` events happen, the likeliest left out.

    ``absent``: of each event the chance that it does not happen.
    """
    chance = [1, *[0] * (need - 1)]
    for no in sorted(absent)[1:]:
        before = [0, *chance]
        chance = [own * no + less * (1 - no) for own, less in zip(chance, before, strict=False)]
    return sum(chance)
