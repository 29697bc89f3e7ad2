"""δ-presence: whether somebody is in the table stays uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import NEAR, Mask, Number, Rule, divide_products, is_at_most, parse_fraction
from shoal.core.tally import Groups


@dataclass(frozen=True)
class DeltaPresence(Rule):
    """In every class low <= rows / population <= high.

    Parameters
    ----------
    low, high : Number
        The smallest and the largest share of a class's population that is in the table, 0 to 1.

    Raises
    ------
    UsageError
        Where low or high is out of its bounds; when judged, where there is no population.

    Notes
    -----
    δ-presence holds for a generalisation T* of a private table T with respect to a public table
    P if δ_min <= P(t in T | T*) <= δ_max for all t in P. The population of a class is everybody
    its cells cover. A merged class may cover people whom neither part did, which can fall below
    ``low``: not monotone. The reached parameter is ``high``, the largest share.

    Does not protect: people whom no class covers, who are known to be absent, nor the sensitive
    values.

    References
    ----------
    M. E. Nergiz, M. Atzori and C. Clifton, Hiding the presence of individuals from shared
    databases, SIGMOD 2007.

    Examples
    --------
    >>> groups = Groups(np.array([1, 3]), population=np.array([4, 4]))
    >>> DeltaPresence(0.1, 0.5).holds(groups).tolist()
    [True, False]
    """

    low: Number
    high: Number
    needs: ClassVar[frozenset[str]] = frozenset({"population"})
    monotone: ClassVar[bool] = False
    parameter: ClassVar[str] = "high"
    identity: ClassVar[bool] = True
    strongest: ClassVar[str] = "smallest"
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({"low": 0},)

    def __post_init__(self) -> None:
        low = parse_fraction(self.low, "low", 0, 1)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", parse_fraction(self.high, "high", low, 1))

    def holds(self, groups: Groups) -> Mask:
        """Which classes have a share of their population between low and high."""
        people = _population(groups)
        rare = is_at_most([groups.rows], [people], Fraction(self.low), strict=True)
        holds = ~rare & is_at_most([groups.rows], [people], Fraction(self.high))
        if groups.max_presence is not None:  # cells overlap: a person may be in any of several
            holds &= groups.max_presence < float(self.high) * (1 - NEAR)
        return holds & (groups.uncovered == 0 or not self.low)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """Rows per person of the population that a class covers."""
        return divide_products([groups.rows], [_population(groups)])

    def worst_class(self, groups: Groups) -> int:
        """The class that lies furthest outside low … high, else nearest to an end."""
        if not len(groups):
            return super().worst_class(groups)
        share, low = self.per_class(groups), float(self.low)
        beyond = share - float(self.high)
        return int((np.maximum(beyond, low - share) if low else beyond).argmax())


def _population(groups: Groups) -> NDArray[np.int64]:
    if groups.population is None:
        raise UsageError("δ-presence needs a population table.", "give one with the table.")
    return groups.population
