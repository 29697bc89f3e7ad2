"""k-map: everybody hides among at least k people of the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import Mask, Rule, parse_whole_number
from shoal.core.tally import Groups


@dataclass(frozen=True)
class KMap(Rule):
    """The cells of every class cover at least k people of the population table.

    Parameters
    ----------
    k : int
        The smallest number of people of the population that a class may cover, 1 or more.

    Raises
    ------
    UsageError
        Where k is not a whole number of 1 or more; when judged, where there is no population.

    Notes
    -----
    Each row of the release can be matched to at least k entities of the population. A merged
    class's cells cover those of its parts: monotone.

    Does not protect: against somebody who knows that a person is in the table; against that,
    k-anonymity of the table itself is needed. The population table must be complete.

    References
    ----------
    L. Sweeney, Computational disclosure control: a primer on data privacy protection, PhD thesis,
    MIT, 2001 (k-map).

    Examples
    --------
    >>> groups = Groups(np.array([1, 2]), population=np.array([40, 3]))
    >>> KMap(5).holds(groups).tolist()
    [True, False]
    """

    k: int
    needs: ClassVar[frozenset[str]] = frozenset({"population"})
    parameter: ClassVar[str] = "k"
    identity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", parse_whole_number(self.k, "k", 1))

    def holds(self, groups: Groups) -> Mask:
        """Which classes cover at least k people."""
        return np.asarray(require_population(groups) >= self.k)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """People of the population per class."""
        return require_population(groups).astype(np.float64)


def require_population(groups: Groups) -> NDArray[np.int64]:
    """The people of the population that each class covers; an error where there is none."""
    if groups.population is None:
        raise UsageError(
            "k-map needs a population table.", "give one, or ask for k-anonymity instead."
        )
    return groups.population
