"""δ-disclosure privacy: knowing the class changes every value's likelihood by less than e^δ."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import EXACT, Mask, Number, Rule, fraction, logarithm, ratio, settle
from shoal.tally import Groups, Histogram


@dataclass(frozen=True)
class DeltaDisclosure(Rule):
    """In every class |ln(p / q)| < δ for every sensitive value of the table.

    p is a value's frequency in the class and q in the published table. An equivalence class t is
    δ-disclosure-private with regard to the sensitive attribute S if |log(p(t,s) / p(T,s))| < δ for
    all s in S. (J. Brickell and V. Shmatikov, The cost of privacy: destruction of data-mining
    utility in anonymized data publishing, KDD 2008.) The logarithm is natural. A value of the
    table that is missing from a class has p = 0, so the class meets no δ: infinite, as the
    definition says. Each p lies in an interval, which a mixture keeps: monotone.

    Does not protect: beyond one release. It is so strict that tables with rare values usually
    cannot meet it.

    >>> from shoal.testing import groups
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
        object.__setattr__(self, "delta", fraction(self.delta, "delta", 0, above=True))

    def holds(self, groups: Groups) -> Mask:
        """Which classes keep every value's likelihood within e^±δ."""
        delta, h = Fraction(self.delta), groups.on(self.on)
        value = _per_class(h)

        def exact(i: int) -> bool:
            everybody = int(h.total.sum())
            for v, count in zip(*h.of_class(i), strict=True):
                gain = Fraction(count * everybody, int(h.rows[i]) * int(h.total[v]))
                with localcontext(EXACT):
                    if abs(logarithm(gain)) * delta.denominator >= delta.numerator:
                        return False
            return True

        return settle(value, float(delta), np.asarray(value < float(delta)), exact)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest |ln(p / q)| of each class; infinite where a value is missing."""
        return _per_class(groups.on(self.on))


def _per_class(h: Histogram) -> NDArray[np.float64]:
    gain = ratio([h.count, int(h.total.sum())], [h.rows[h.class_], h.total[h.value]])
    change = h.largest(np.abs(np.log(gain)))
    return np.where(h.distinct == np.count_nonzero(h.total), change, np.inf)
