"""Recursive (c,l)-diversity: the most frequent sensitive value is not too frequent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import (
    Mask,
    Number,
    Rule,
    divide_products,
    is_at_most,
    parse_fraction,
    parse_whole_number,
)
from shoal.core.tally import Groups
from shoal.core.theory.collusion import (
    Collusion,
    ProviderCounts,
    Weights,
    cap_weights,
    find_heaviest,
    find_largest_contributors,
    search_classes,
    sum_largest,
    undecided_error,
    weight_type,
)

SETS = 1 << 18
"""How many sets of values of one class are tried against coalitions."""


@dataclass(frozen=True)
class RecursiveDiversity(Rule):
    """In every class r_1 < c (r_l + r_{l+1} + … + r_m).

    Parameters
    ----------
    c : Number
        How many times the tail the most frequent value stays below, above 0.
    l : int
        With which value, by frequency, the tail begins, 1 or more.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where c or l is out of its bounds.

    Notes
    -----
    r_i is the count of the i-th most frequent of the m sensitive values of the class. The
    inequality is strict; the reached c is r_1 / (r_l + … + r_m), which every larger c keeps, and
    infinite where a class has fewer than l values. On merging, r_1 grows by at most the sum and
    the tail by at least the sum, so it is monotone. A coalition of providers spares l − 1 values
    and takes its rows with the others, the tail, away.

    Does not protect: values that mean the same thing, or a rare value that is more frequent in a
    class than in the table.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, l-diversity: privacy beyond
    k-anonymity, ACM Transactions on Knowledge Discovery from Data 1(1), 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
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
        object.__setattr__(self, "c", parse_fraction(self.c, "c", 0, above=True))
        object.__setattr__(self, "l", parse_whole_number(self.l, "l", 1))

    @property
    def min_rows(self) -> int:
        """The tail is not empty, so there are l values."""
        return self.l

    def holds(self, groups: Groups) -> Mask:
        """Which classes meet the inequality."""
        first, tail = self._first_and_tail(groups)
        return is_at_most([first], [tail], Fraction(self.c), strict=True)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """r_1 / (r_l + … + r_m) per class; infinite where the tail is empty."""
        first, tail = self._first_and_tail(groups)
        return divide_products([first], [tail])

    def _first_and_tail(self, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        h = groups.concentrated(self.on)
        descending = h.count[np.lexsort((-h.count, h.class_))]
        rank = np.arange(len(descending)) - h.start[h.class_]
        return h.largest(h.count), h.sum(np.where(rank >= self.l - 1, descending, 0))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it.

        Each row that goes takes at most one from the tail, so a tail that stays long is safe.
        """
        contributed = groups.contributed_on(self.on)
        first, tail = self._first_and_tail(groups)
        left = np.maximum(tail - find_largest_contributors(contributed, max_members)[0], 0)
        safe = is_at_most([first], [left], Fraction(self.c), strict=True)

        def find(
            _: NDArray[np.int32], counts: ProviderCounts, max_members: int
        ) -> list[int] | None:
            return find_heaviest(
                self._weights(counts, max_members), counts, max_members, strict=True
            )

        return search_classes(contributed, max_members, ~self.holds(groups), find, safe)

    def _weights(self, counts: ProviderCounts, max_members: int) -> Weights:
        """x_s − c (|x| − x(B)) for the sets B of l − 1 values, s the most frequent of them.

        Only values that may be among the l − 1 most frequent once the coalition has gone.
        """
        over, under = Fraction(self.c).as_integer_ratio()
        if self.l == 1:
            return cap_weights([over] * counts.shape[1], [under] * counts.shape[1])
        rows = counts.sum(axis=0)
        threshold = np.sort(rows - sum_largest(counts.T, max_members))[-(self.l - 1)]
        values = np.argsort(-rows, kind="stable")[: np.count_nonzero(rows >= threshold)]
        if math.comb(len(values), self.l - 1) > SETS:
            raise undecided_error(self)
        sets = np.array(list(combinations(values.tolist(), self.l - 1)))
        weights = np.full((len(sets), len(rows)), -over, dtype=weight_type(max(over, under)))
        np.put_along_axis(weights, sets, 0, axis=1)
        np.put_along_axis(weights, sets[:, :1], under, axis=1)
        return weights
