"""(α,k)-anonymity: k rows in every class, and no sensitive value too frequent in one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

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
    cap_weights,
    find_heaviest,
    find_row_breaches,
    search_classes,
)


@dataclass(frozen=True)
class AlphaK(Rule):
    """Every class has at least k rows, and no value is more frequent in it than α.

    Parameters
    ----------
    alpha : Number
        The largest frequency of a sensitive value in a class, above 0 and at most 1.
    k : int
        The smallest number of rows that a class may have, 1 or more.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where alpha or k is out of its bounds.

    Notes
    -----
    (α,k)-anonymity is k-anonymity together with α-deassociation for every sensitive value: the
    relative frequency of the value in every equivalence class is at most α. The reached parameter
    is α. A mixture is no more concentrated than its most concentrated part: monotone.

    A coalition of providers spares the value that it wants to be frequent and takes its rows with
    other values away: the worst is max n(s) / (n − the most of the providers' rows without s); or
    it takes all its rows away, to leave fewer than k.

    Does not protect: a rare value that is much more frequent in a class than in the table, as
    long as it stays below α.

    References
    ----------
    R. Wong, J. Li, A. Fu and K. Wang, (α,k)-anonymity: an enhanced k-anonymity model for privacy
    preserving data publishing, KDD 2006.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> AlphaK(0.5, 2).holds(groups([["flu", "cold"], ["flu", "flu", "cold"]])).tolist()
    [True, False]
    """

    alpha: Number
    k: int
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "alpha"
    identity: ClassVar[bool] = True
    strongest: ClassVar[str] = "smallest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", parse_fraction(self.alpha, "alpha", 0, 1, above=True))
        object.__setattr__(self, "k", parse_whole_number(self.k, "k", 1))

    @property
    def min_rows(self) -> int:
        """k rows, and enough that one of them is at most α of the class."""
        return max(self.k, math.ceil(1 / Fraction(self.alpha)))

    def holds(self, groups: Groups) -> Mask:
        """Which classes have k rows and no value above α."""
        h = groups.on(self.on, sets=True)
        rare = is_at_most([h.max_same_value], [groups.rows], Fraction(self.alpha))
        return rare & (groups.rows >= self.k)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The frequency of each class's most frequent value."""
        return divide_products([groups.on(self.on, sets=True).max_same_value], [groups.rows])

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """A coalition of at most ``max_members`` of each class's providers that breaks it."""
        over, under = Fraction(self.alpha).as_integer_ratio()

        def find(
            values: NDArray[np.int32], counts: ProviderCounts, max_members: int
        ) -> list[int] | None:
            return find_heaviest(
                cap_weights([over] * len(values), [under] * len(values)), counts, max_members
            )

        contributed = groups.contributed_on(self.on)
        too_few = find_row_breaches(contributed, max_members, self.k)
        return search_classes(
            contributed, max_members, ~self.holds(groups), find, too_few.broken
        ).or_else(too_few)
