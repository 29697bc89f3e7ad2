"""What comes of one guarantee: what its releases cost, and what two of them joined give away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

PARTITIONS, PRIVATE = "classes", "differential privacy"
"""The two schools."""


@dataclass(frozen=True)
class Figure:
    """A number over the seeds: its mean, the least and the most.

    >>> Figure.of([0.25, 0.5])
    Figure(mean=0.375, low=0.25, high=0.5)
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Figure:
        """Of one number for each seed."""
        return cls(math.fsum(numbers) / len(numbers), min(numbers), max(numbers))


@dataclass(frozen=True)
class Outcome:
    """One guarantee.

    ``right``, ``settled`` and ``sure`` are shares of the people who are in both releases,
    ``control`` and ``control_sure`` the shares guessed right, and surely, of people who are in
    neither.
    """

    name: str
    form: str
    epsilon: str | None = None
    """For each of the two releases."""
    loss: Figure | None = None
    """How far columns and pairs of columns have moved; None: no release was made."""
    noiseless: Figure | None = None
    """The loss without the noise: what its bins, or classes, cost alone."""
    width: Figure | None = None
    right: Figure | None = None
    control: Figure | None = None
    settled: Figure | None = None
    sure: Figure | None = None
    control_sure: Figure | None = None
    gains: tuple[float, ...] = ()
    """For each seed the share guessed right, beyond that of the control of the same seed."""
    bound: float | None = None
    """Under differential privacy: the largest share that could be guessed right."""
    seconds: float = 0.0
    """For all seeds together."""
    reason: str = ""
    """Why no release was made."""

    @property
    def school(self) -> str:
        """Which of the two schools it belongs to."""
        return PARTITIONS if self.epsilon is None else PRIVATE

    @property
    def added(self) -> Figure | None:
        """The share guessed right of people in both releases, beyond that of the control."""
        return Figure.of(self.gains) if self.gains else None

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        added = None if self.added is None else asdict(self.added)
        return {"school": self.school, **asdict(self), "added": added}
