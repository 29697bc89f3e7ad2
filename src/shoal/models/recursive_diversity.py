"""Recursive (c,l)-diversity: the most frequent sensitive value is not too frequent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Mask, Number, Rule, below, fraction, ratio, whole
from shoal.tally import Groups


@dataclass(frozen=True)
class RecursiveDiversity(Rule):
    """In every class r_1 < c (r_l + r_{l+1} + … + r_m).

    r_i is the count of the i-th most frequent of the m sensitive values of the class. (A.
    Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, l-diversity: privacy beyond
    k-anonymity, ACM Transactions on Knowledge Discovery from Data 1(1), 2007.) The inequality is
    strict; the reached c is r_1 / (r_l + … + r_m), which every larger c keeps, and infinite where
    a class has fewer than l values. On merging, r_1 grows by at most the sum and the tail by at
    least the sum, so it is monotone.

    Does not protect: values that mean the same thing, or a rare value that is more frequent in a
    class than in the table.

    >>> from shoal.testing import groups
    >>> RecursiveDiversity(3, 2).reached(groups([["flu", "flu", "ulcer"], ["flu", "cold"]]))
    2.0
    """

    c: Number
    l: int
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "c"
    strongest: ClassVar[str] = "smallest"
    strict: ClassVar[bool] = True
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"l": 2}, {"l": 3})

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", fraction(self.c, "c", 0, above=True))
        object.__setattr__(self, "l", whole(self.l, "l", 1))

    @property
    def least(self) -> int:
        """The tail is not empty, so there are l values."""
        return self.l

    def holds(self, groups: Groups) -> Mask:
        """Which classes meet the inequality."""
        first, tail = self._first_and_tail(groups)
        return below([first], [tail], Fraction(self.c), strict=True)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """r_1 / (r_l + … + r_m) per class; infinite where the tail is empty."""
        first, tail = self._first_and_tail(groups)
        return ratio([first], [tail])

    def _first_and_tail(self, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        h = groups.on(self.on)
        descending = h.count[np.lexsort((-h.count, h.class_))]
        rank = np.arange(len(descending)) - h.start[h.class_]
        return h.largest(h.count), h.sum(np.where(rank >= self.l - 1, descending, 0))
