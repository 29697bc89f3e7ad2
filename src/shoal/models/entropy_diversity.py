"""Entropy l-diversity: a class is as uncertain as l equally frequent sensitive values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import (
    EXACT,
    Mask,
    Number,
    Rule,
    compute_logarithm,
    decide_near_ties,
    parse_fraction,
)
from shoal.core.tally import Groups
from shoal.core.theory.collusion import Collusion, ProviderCounts, search_classes, undecided_error
from shoal.kernels.entropy_vertices import BROKEN, GIVEN_UP, search_worst_coalition

MAX_CLOSE = 256
"""How many remainders of one class that are close to log l are judged exactly."""


@dataclass(frozen=True)
class EntropyDiversity(Rule):
    """The entropy of the sensitive values in every class is at least log l.

    Parameters
    ----------
    l : Number
        How many equally frequent values a class is as uncertain as, 1 or more; may be fractional.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where l is below 1.

    Notes
    -----
    A table is entropy l-diverse if for every q*-block −Σ p(q*,s) log p(q*,s) >= log(l). The
    reached l is exp(entropy). Entropy is concave, so a merged class has at least the entropy of
    its lesser part: monotone. A coalition of providers spares fewer than l values and takes its
    rows with all others away (``shoal.kernels.entropy_vertices``).

    Does not protect: values that mean the same thing, or a class that is far from the table as
    a whole although its values are even.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, l-diversity: privacy beyond
    k-anonymity, ACM Transactions on Knowledge Discovery from Data 1(1), 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> table = groups([["flu", "ulcer", "cold"], ["flu", "flu", "ulcer", "ulcer"]])
    >>> EntropyDiversity(3).holds(table).tolist()
    [True, False]
    >>> EntropyDiversity(3).reached(table)
    2.0
    """

    l: Number
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", parse_fraction(self.l, "l", 1))

    @property
    def min_rows(self) -> int:
        """Entropy log l takes l values, so as many rows."""
        return math.ceil(Fraction(self.l))

    def holds(self, groups: Groups) -> Mask:
        """Which classes have entropy of at least log l."""
        l, h = Fraction(self.l), groups.concentrated(self.on)
        value = self.per_class(groups)
        even = h.largest(h.count) * h.distinct == h.rows
        holds = np.asarray(np.where(even, h.distinct >= math.ceil(l), value >= float(l)))
        value = np.where(even, np.inf, value)  # even classes are decided: exp(entropy) is whole
        return decide_near_ties(
            value, float(l), holds, lambda i: entropy_reaches(tuple(sorted(h.of_class(i)[1])), l)
        )

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """exp(entropy) per class; the whole number itself where all values are equally frequent."""
        h = groups.concentrated(self.on)
        rows = h.rows.astype(np.float64)
        entropy = np.log(rows) - h.sum(h.count * np.log(h.count)) / rows
        even = h.largest(h.count) * h.distinct == h.rows
        return np.asarray(np.where(even, h.distinct, np.exp(entropy)))

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it."""
        return search_classes(
            groups.contributed_on(self.on), max_members, ~self.holds(groups), self._find_coalition
        )

    def _find_coalition(
        self, values: NDArray[np.int32], counts: ProviderCounts, max_members: int
    ) -> list[int] | None:
        """A coalition that breaks one class; what floats cannot decide is judged exactly."""
        l, d = Fraction(self.l), counts.shape[1]
        order = np.argsort(-counts.sum(axis=1), kind="stable")  # those with most rows first
        columns = np.argsort(-counts.sum(axis=0), kind="stable")
        ordered = np.ascontiguousarray(counts[order][:, columns])
        members, close = (
            np.zeros(max_members, np.int64),
            np.empty((MAX_CLOSE, d + max_members), np.int64),
        )
        state, filled = search_worst_coalition(
            ordered, max_members, float(l), math.ceil(l), members, close
        )
        if state == BROKEN:
            return [int(p) for p in order[members]]
        for row in close[:filled].tolist():
            if not entropy_reaches(tuple(sorted(filter(None, row[:d]))), l):
                return [int(p) for p in order[row[d:]]]
        if state == GIVEN_UP:
            raise undecided_error(self)
        return None


@lru_cache(maxsize=4096)
def entropy_reaches(counts: tuple[int, ...], l: Fraction) -> bool:
    """Whether exp(entropy) >= l, exactly: n^n >= l^n times the product of c^c over the counts.

    Sixty digits decide unless the two sides are equal, where whole numbers do.

    >>> entropy_reaches((4, 1, 1, 1, 1), Fraction(4))
    True
    """
    common = math.gcd(*counts)
    counts = tuple(count // common for count in counts)
    n = sum(counts)
    with localcontext(EXACT):
        gap = n * compute_logarithm(n / l) - sum(c * compute_logarithm(Fraction(c)) for c in counts)
        if abs(gap) > 1e-40:
            return bool(gap > 0)
    right = l.numerator**n * math.prod(c**c for c in counts)
    return bool((n * l.denominator) ** n >= right)
