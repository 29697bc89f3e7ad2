"""k-anonymity: everybody hides among at least k rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Mask, Rule, parse_whole_number
from shoal.core.tally import Groups
from shoal.core.theory.collusion import Collusion, find_row_breaches


@dataclass(frozen=True)
class KAnonymity(Rule):
    """Every combination of quasi-identifying cells occurs in at least k rows.

    Parameters
    ----------
    k : int
        The smallest number of rows that a class may have, 1 or more.

    Raises
    ------
    UsageError
        Where k is not a whole number of 1 or more.

    Notes
    -----
    A table is k-anonymous if and only if each sequence of values of its quasi-identifier appears
    with at least k occurrences in it (definition 3). More rows never break it: monotone, and
    row-monotone.

    Does not protect: the sensitive values. All k people of a class may share one diagnosis, and
    a second release about the same people may tell them apart.

    References
    ----------
    L. Sweeney, k-anonymity: a model for protecting privacy, International Journal of Uncertainty,
    Fuzziness and Knowledge-Based Systems 10(5), 2002.

    Examples
    --------
    >>> groups = Groups(np.array([3, 2, 5]))
    >>> KAnonymity(3).holds(groups).tolist()
    [True, False, True]
    >>> KAnonymity(3).reached(groups), KAnonymity(3).worst_class(groups)
    (2.0, 1)
    """

    k: int
    parameter: ClassVar[str] = "k"
    identity: ClassVar[bool] = True
    row_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", parse_whole_number(self.k, "k", 1))

    @property
    def min_rows(self) -> int:
        """k rows."""
        return self.k

    def holds(self, groups: Groups) -> Mask:
        """Which classes have at least k rows."""
        return np.asarray(groups.rows >= self.k)

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """The coalitions that leave fewer than k rows."""
        return find_row_breaches(groups.contributed, max_members, self.k)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """Rows per class."""
        return groups.rows.astype(np.float64)
