"""What every estimator answers: the share of our classes that would be exposed, and which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.release import EDITION, to_json_value


@dataclass(frozen=True, eq=False)
class ExposureEstimate:
    """One estimator's answer; a class is exposed where somebody in it has too few values left.

    >>> print(ExposureEstimate("closed form", 0.125, np.array([0.25, 0.0])))
    closed form: 12.50 % of 2 classes
    """

    name: str
    risk: float
    """The expected share of our classes that become exposed, 0 to 1."""
    classes: NDArray[np.float64]
    """Per class the probability of becoming exposed."""
    interval: tuple[float, float] | None = None
    """Where enough releases were drawn: one more lies in it nine times in ten."""
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; the classes are listed by their numbers."""
        return {
            "edition": EDITION,
            "name": self.name,
            "risk": self.risk,
            "interval": to_json_value(self.interval),
            "classes": np.round(self.classes, 6).tolist(),
            "assumptions": list(self.assumptions),
            "details": to_json_value(self.details),
        }

    def __str__(self) -> str:
        sentence = f"{self.name}: {100 * self.risk:.2f} % of {len(self.classes):,} classes"
        if self.interval is None:
            return sentence
        low, high = (100 * end for end in self.interval)
        return f"{sentence} (one release in ten lies outside {low:.2f} to {high:.2f} %)"
