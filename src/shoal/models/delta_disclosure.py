"""δ-disclosure privacy: knowing the class changes every value's likelihood by less than e^δ."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.histogram import Histogram
from shoal.core.model import (
    EXACT,
    Mask,
    Number,
    Rule,
    compute_logarithm,
    decide_near_ties,
    divide_products,
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

DIGITS = 10**60
"""The scale of powers of e where coalitions are searched."""


@dataclass(frozen=True)
class DeltaDisclosure(Rule):
    """In every class |ln(p / q)| < δ for every sensitive value of the table.

    Parameters
    ----------
    delta : Number
        What the logarithm stays below, above 0.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where delta is not above 0.

    Notes
    -----
    p is a value's frequency in the class and q in the published table. An equivalence class t is
    δ-disclosure-private with regard to the sensitive attribute S if |log(p(t,s) / p(T,s))| < δ for
    all s in S; the logarithm is natural. A value of the table that is missing from a class has
    p = 0, so the class meets no δ: infinite, as the definition says; so it is where a value may be
    missing because the unknown ones are others. Each p lies in an interval, which a mixture keeps:
    monotone.

    A coalition of providers makes a value more likely by taking its rows with other values away,
    or less likely by taking its rows with that value away.

    Does not protect: beyond one release. It is so strict that tables with rare values usually
    cannot meet it.

    References
    ----------
    J. Brickell and V. Shmatikov, The cost of privacy: destruction of data-mining utility in
    anonymized data publishing, KDD 2008.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> table = groups([["flu", "flu", "cold", "cold"], ["flu", "flu", "cold", "cold"], ["flu"]])
    >>> DeltaDisclosure(1).holds(table).tolist()
    [True, True, False]
    """

    delta: Number
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "total"})
    parameter: ClassVar[str] = "delta"
    strongest: ClassVar[str] = "smallest"
    strict: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", parse_fraction(self.delta, "delta", 0, above=True))

    def holds(self, groups: Groups) -> Mask:
        """Which classes keep every value's likelihood within e^±δ."""
        delta, h = Fraction(self.delta), groups.on(self.on)
        value = _per_class(h)

        def exact(i: int) -> bool:
            everybody, rows, blanks = int(h.total.sum()), int(h.rows[i]), int(h.blanks[i])
            for v, count in zip(*h.of_class(i), strict=True):
                if h.axis.unknown and v == h.axis.null_code:
                    continue
                total = int(h.total[v])
                highest = Fraction((count + blanks) * everybody, rows * (total + blanks))
                lowest = Fraction(count * everybody, rows * (total + h.all_blanks - blanks))
                with localcontext(EXACT):
                    change = max(abs(compute_logarithm(highest)), abs(compute_logarithm(lowest)))
                    if change * delta.denominator >= delta.numerator:
                        return False
            return True

        return decide_near_ties(value, float(delta), np.asarray(value < float(delta)), exact)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest |ln(p / q)| of each class; infinite where a value is missing."""
        return _per_class(groups.on(self.on))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it."""
        contributed = groups.contributed_on(self.on)
        everybody, (low, high) = int(contributed.total.sum()), self._factors()

        def find(
            values: NDArray[np.int32], counts: ProviderCounts, max_members: int
        ) -> list[int] | None:
            total, of = contributed.total[values].tolist(), [everybody * DIGITS] * len(values)
            more = cap_weights([high * rows for rows in total], of)
            less = -cap_weights([low * rows for rows in total], of)
            return find_heaviest(np.concatenate((more, less)), counts, max_members, strict=True)

        return search_classes(contributed, max_members, ~self.holds(groups), find)

    def _factors(self) -> tuple[int, int]:
        """e^−δ and e^δ times ``DIGITS``, cut off: no ratio of counts comes so close to them."""
        delta = min(Fraction(self.delta), Fraction(100))  # no ratio of counts reaches e^±100
        with localcontext(EXACT) as context:
            context.prec = 120
            power = (Decimal(delta.numerator) / delta.denominator).exp()
            return int(DIGITS / power), int(DIGITS * power)


def _per_class(h: Histogram) -> NDArray[np.float64]:
    """With unknown values: all of the class are one value and none outside it, or the reverse."""
    everybody, blanks = int(h.total.sum()), h.blanks[h.class_]
    if h.all_blanks and len(h.occurring_values) < 2:  # there is one value, in every row
        return np.zeros(len(h.rows))
    rows, total, known = h.rows[h.class_], h.total[h.value], ~h.is_blank
    highest = divide_products([h.count + blanks, everybody], [rows, total + blanks])
    lowest = divide_products([h.count, everybody], [rows, total + h.all_blanks - blanks])
    change = np.maximum(np.abs(np.log(highest)), np.abs(np.log(lowest)))
    has_all = h.sum(known.astype(np.int64)) == len(h.occurring_values)
    return np.where(has_all, h.largest(np.where(known, change, 0.0)), np.inf)
