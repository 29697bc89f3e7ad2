"""m-invariance: at least m values in every class, all equally frequent; and the same ever after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.model import Mask, Rule, parse_whole_number
from shoal.core.tally import Groups

NO_BLANKS = (
    'leave out the rows without a sensitive value, or write missing = "value" in the schema if '
    "an empty cell is a value of its own: a class with a missing value has no signature."
)


@dataclass(frozen=True)
class MInvariance(Rule):
    """Every class has at least m sensitive values, 2 or more, each as often as the others.

    Parameters
    ----------
    m : int
        The smallest number of values of a class, 2 or more.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where m is not a whole number of 2 or more.

    Notes
    -----
    A group of rows is m-unique when it has at least m rows and no two with the same sensitive
    value; the set of its values is its signature. Releases of a table over time are m-invariant
    when each is cut into m-unique groups and everybody is, in every release from the first to the
    last that has them, in a group of one and the same signature. Where there is nobody to stand
    for a value of it, a counterfeit row does. Whoever knows who is in which release, and all
    releases, then gives each value of the signature the same chance, at most 1/m: if all orders of
    the values within a group are as likely, and counterfeits do not depend on which values
    newcomers have (the method invariant's ``newcomers="apart"``).

    Classes here are the rows that share their cells. The paper numbers its groups; several groups
    of one signature that have the same cells are one class here, in which every value occurs as
    often as there are groups. A class judged alone shows whether it is made of m-unique groups;
    that signatures stay is judged when a release is based on another (``publish(based_on=...)``).
    Merging classes of different values breaks it: not monotone.

    Does not protect: against somebody who knows that a person lacks some of the values, or who
    knows others' values, or works back from how the method made the first groups (minimality); a
    person whose value changes, or who leaves and comes back; who is in the table, nor the
    quasi-identifiers, of which two releases may say more than either.

    References
    ----------
    X. Xiao and Y. Tao, m-invariance: towards privacy preserving re-publication of dynamic
    datasets, SIGMOD 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> MInvariance(2).holds(groups([["flu", "gout"], ["flu", "flu", "gout"]])).tolist()
    [True, False]
    """

    m: int
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    monotone: ClassVar[bool] = False
    parameter: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", parse_whole_number(self.m, "m", 2))

    @classmethod
    def probes(cls, axis: Axis | None) -> list[tuple[Mapping[str, Any], Self]]:
        """One; what a table reaches does not depend on the required m."""
        return [({}, cls(2, axis.name if axis else None))]

    @property
    def min_rows(self) -> int:
        """One row for each value."""
        return self.m

    def holds(self, groups: Groups) -> Mask:
        """Which classes have at least m values, all equally often."""
        return np.asarray(self.per_class(groups) >= self.m)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """How many values each class has; 0 where one is more frequent than another.

        0 where a value is missing too: whichever it is, a class in which all others occur equally
        often has one too many of it, or one value only.
        """
        h = groups.on(self.on)
        even = (h.largest(h.count) * h.distinct == h.rows) & (h.blanks == 0)
        return np.where(even, h.distinct, 0).astype(np.float64)

    def advice(self, groups: Groups) -> str:
        """The method that makes such classes."""
        if groups.on(self.on).all_blanks:
            return NO_BLANKS
        return "use the method invariant (--method invariant)."
