"""Crowd: everybody hides among at least so many rows, half of which may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Mask, Rule, parse_whole_number
from shoal.core.tally import Groups


@dataclass(frozen=True)
class Crowd(Rule):
    """Every class has at least twice ``size`` rows.

    After L. Sweeney, k-anonymity: a model for protecting privacy, International Journal of
    Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002, with k = 2 ``size``.

    Does not protect: the sensitive values.

    >>> Crowd(2).holds(Groups(np.array([3, 4]))).tolist()
    [False, True]
    """

    size: int
    parameter: ClassVar[str] = "size"
    identity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", parse_whole_number(self.size, "size", 1))

    def holds(self, groups: Groups) -> Mask:
        """Which classes are large enough."""
        return np.asarray(groups.rows >= 2 * self.size)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """How large a size each class would meet."""
        return groups.rows / 2
