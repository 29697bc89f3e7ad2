"""Distinct l-diversity: every class holds at least l different sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.collusion import Collusion, fewest_values
from shoal.model import Mask, Rule, whole
from shoal.tally import Groups


@dataclass(frozen=True)
class DistinctDiversity(Rule):
    """Every class has at least l distinct sensitive values.

    The simplest reading of "well represented" in A. Machanavajjhala, D. Kifer, J. Gehrke and
    M. Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ACM Transactions on Knowledge
    Discovery from Data 1(1), 2007; named in N. Li, T. Li and S. Venkatasubramanian, t-closeness,
    ICDE 2007.

    Does not protect: against probable inference. One value may fill nearly the whole class, and
    distinct values may mean the same thing.

    >>> from shoal.testing import groups
    >>> DistinctDiversity(2).per_class(groups([["flu", "flu", "ulcer"], ["flu"]])).tolist()
    [2.0, 1.0]
    """

    l: int
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "l"
    growing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole(self.l, "l", 1))

    @property
    def least(self) -> int:
        """One row for each value."""
        return self.l

    def holds(self, groups: Groups) -> Mask:
        """Which classes have at least l distinct values."""
        return np.asarray(groups.concentrated(self.on).distinct >= self.l)

    def broken_by(self, groups: Groups, most: NDArray[np.int64]) -> Collusion:
        """The coalitions that leave fewer than l distinct values.

        Rows whose value nobody knows may all be like others, so they count for no value.
        """
        shares = groups.shared(self.on)
        if self.l == 1:  # somebody is left, who has a value
            return Collusion.none(len(shares))
        return fewest_values(shares.known, most, self.l)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """Distinct values per class."""
        return groups.concentrated(self.on).distinct.astype(np.float64)
