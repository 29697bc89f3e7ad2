"""What an adversary has: published classes, and what it knows of the people it looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.tally import Histogram


@dataclass(frozen=True)
class Published:
    """One release as it stands: the cells of its classes and the sensitive values in each."""

    cells: Cells
    values: Histogram

    def value_sets(self, people: NDArray[Any]) -> NDArray[np.bool_]:
        """For each person (columns, people) every value of every class that could be theirs.

        Honest location: all classes whose cells contain the person count, not the true one alone.
        """
        start, classes = self.cells.contains(people)
        holds = np.zeros((len(self.cells), self.values.axis.size), dtype=bool)
        holds[self.values.class_, self.values.value] = True
        found = np.zeros((people.shape[1], holds.shape[1]), dtype=bool)
        person = np.repeat(np.arange(people.shape[1]), np.diff(start))
        np.logical_or.at(found, person, holds[classes])
        return found


@dataclass(frozen=True)
class View:
    """Releases about overlapping people on common axes, and the people the adversary looks for.

    ``people`` (columns, people) are codes on ``axes``; ``who`` names them, where they have names.
    """

    axes: tuple[Axis, ...]
    releases: tuple[Published, ...]
    people: NDArray[Any]
    who: tuple[Any, ...] = ()
