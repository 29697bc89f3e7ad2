"""What the estimators read and answer: a table's class sizes, and an estimate of uniqueness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError

NO_UNIQUES = "no row of the table is unique, so nobody in it is unique in the population"


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """How many classes (``number``) have each ``size``; sizes ascend and number is positive.

    >>> sizes = ClassSizes.of([1, 3, 1, 2])
    >>> sizes.rows, sizes.classes, sizes.having(1), sizes.having(9)
    (7, 4, 2, 0)
    """

    size: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Any) -> ClassSizes:
        """Count the classes by their rows; classes without rows do not exist."""
        rows = np.asarray(rows, dtype=np.int64)
        if (rows < 0).any():
            raise UsageError("A class has a negative number of rows.", "give counts of rows.")
        size, number = np.unique(rows[rows > 0], return_counts=True)
        return cls(size, number.astype(np.int64))

    @cached_property
    def rows(self) -> int:
        """How many people there are."""
        return int((self.size * self.number).sum())

    @cached_property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.number.sum())

    def having(self, size: int) -> int:
        """How many classes have exactly this size."""
        return int(self.number[self.size == size].sum())

    def population(self, fraction: float) -> int:
        """How many people the table is a sample of."""
        if not 0 < fraction <= 1:
            raise UsageError(
                "The sampling fraction lies outside 0 to 1.",
                "write the share of the population that is in the table, for example 0.01.",
            )
        return max(self.rows, round(self.rows / fraction))


@dataclass(frozen=True)
class UniquenessEstimate:
    """How many people are unique in the population, by one estimator.

    ``share`` is of the population. Both are nan where there is no estimate; ``reason`` says why.
    """

    estimator: str
    uniques: float
    share: float
    assumptions: str
    reason: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_available(self) -> bool:
        """Whether there is an estimate at all."""
        return not math.isnan(self.uniques)

    def to_dict(self) -> dict[str, Any]:
        """The estimate for JSON; what could not be estimated is null."""
        return {
            "estimator": self.estimator,
            "uniques": finite_or_none(self.uniques),
            "share": finite_or_none(self.share),
            "reason": self.reason,
            "assumptions": self.assumptions,
            "parameters": {name: finite_or_none(value) for name, value in self.parameters.items()},
        }


def without_estimate(estimator: str, assumptions: str, reason: str) -> UniquenessEstimate:
    """There is no estimate, and why."""
    return UniquenessEstimate(estimator, math.nan, math.nan, assumptions, reason)


def without_uniques(estimator: str, assumptions: str) -> UniquenessEstimate:
    """No estimate is needed: a table without unique rows has nobody who is unique outside it."""
    return UniquenessEstimate(estimator, 0.0, 0.0, assumptions, NO_UNIQUES)


def finite_or_none(value: float) -> float | None:
    """A number JSON can hold: null for what is not finite."""
    return float(value) if math.isfinite(value) else None
