"""A model that judges all classes together, small enough to be seen through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AtMost:
    """A model that no class can be judged by alone: the table has at most so many classes."""

    classes: int
    needs = frozenset()
    monotone = True
    local = False

    def holds(self, groups):
        return np.full(len(groups), len(groups) <= self.classes)

    def reached(self, groups):
        return float(len(groups))

    def start(self, groups):
        return len(groups)

    def admit(self, state, class_, halves):
        assert len(halves) == 2 * len(class_)
        first = np.unique(class_, return_index=True)[1]
        made = np.zeros(len(class_), bool)
        made[np.sort(first)[: self.classes - state]] = True
        return state + int(made.sum()), made

    def holds_alone(self, groups):
        return np.full(len(groups), self.classes > 0)
