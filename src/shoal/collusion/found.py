"""Which classes a coalition breaks, and one that does: what every test of a rule answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOBODY = -1


@dataclass(frozen=True)
class Collusion:
    """For each class whether a coalition breaks it, and one that does."""

    broken: NDArray[np.bool_]
    members: NDArray[np.int32]
    """(classes, widest): providers of the coalition that was found; ``NOBODY`` beyond its end."""

    def of(self, class_: int) -> tuple[int, ...] | None:
        """The coalition that breaks a class; empty: the class fails by itself."""
        members = self.members[class_]
        return tuple(members[members >= 0].tolist()) if self.broken[class_] else None

    def also(self, other: Collusion) -> Collusion:
        """This, and where nothing was found the other."""
        widest = max(self.members.shape[1], other.members.shape[1])
        own, more = (_widened(one.members, widest) for one in (self, other))
        broken = self.broken | other.broken
        return Collusion(broken, np.where(self.broken[:, np.newaxis], own, more))

    @classmethod
    def none(cls, classes: int) -> Collusion:
        """Nothing is broken."""
        return cls(np.zeros(classes, bool), np.zeros((classes, 0), np.int32))

    @classmethod
    def found(cls, coalitions: list[tuple[int, ...] | None]) -> Collusion:
        """Of each class the coalition that breaks it, or None."""
        widest = max((len(one) for one in coalitions if one is not None), default=0)
        members = np.full((len(coalitions), widest), NOBODY, np.int32)
        for row, one in zip(members, coalitions, strict=True):
            row[: len(one or ())] = one or ()
        return cls(np.array([one is not None for one in coalitions], bool), members)


def _widened(members: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    gap = width - members.shape[1]
    return np.pad(members, ((0, 0), (0, gap)), constant_values=NOBODY)
