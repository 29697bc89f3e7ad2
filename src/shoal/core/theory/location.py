"""In which class a person is whom the cells of several classes contain, and which row is theirs.

A row of a class is about one of the people whom the cells of that class contain. Where these are n
people, who are all as likely, the row is a given one's with a chance of 1 / n. Of the rows that fit
a person, those of the class that fits the fewest people are therefore the likeliest, and a class is
as likely as it has rows for the people it fits: narrow cells count more than wide ones, which fit
nearly everybody.

It does not use what else is known of classes, such as how they were made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Narrowest:
    """Of each key, the classes that fit the fewest people among those that contain it."""

    rows: NDArray[Any]
    """Per class."""
    covered: NDArray[Any]
    """Per class, the people whom its cells contain."""
    min_covered: Floats
    """Per key, the people whom its narrowest class fits; 0 where no class contains it."""
    several: NDArray[np.int64]
    """Per key, how many classes are as narrow."""
    effective_rows: Floats
    """Per key, the rows that fit, each counted as it is likely beside one of the narrowest class:
    the best of them is right with a chance of one in so many."""

    @classmethod
    def of(
        cls, start: NDArray[Any], classes: NDArray[Any], rows: NDArray[Any], covered: NDArray[Any]
    ) -> Narrowest:
        """Key ``i`` is contained by ``classes[start[i]:start[i + 1]]``; the rest is per class.

        >>> start, classes = np.array([0, 2, 3]), np.array([0, 1, 1])
        >>> narrowest = Narrowest.of(start, classes, np.array([5, 20]), np.array([10, 40]))
        >>> narrowest.min_covered.tolist(), narrowest.effective_rows.tolist()  # 5 + 20 / 4 rows; 20
        ([10.0, 40.0], [10.0, 20.0])
        """
        number = np.diff(start)
        there = number > 0
        min_covered, effective_rows = np.zeros((2, len(number)))
        several = np.zeros(len(number), np.int64)
        if there.any():
            at, people = start[:-1][there], covered[classes]
            min_covered[there] = np.minimum.reduceat(people, at)
            minimum = np.repeat(min_covered, number)
            several[there] = np.add.reduceat((people == minimum).astype(np.int64), at)
            effective_rows[there] = np.add.reduceat(rows[classes] * (minimum / people), at)
        return cls(rows, covered, min_covered, several, effective_rows)

    def chance_right(self, key: NDArray[Any], class_: NDArray[Any]) -> Floats:
        """The chance to pick the row of people with these keys, who are in these classes: any row
        of the narrowest class, or of any one of them. The classes contain the keys.
        """
        own = self.covered[class_] == self.min_covered[key]
        return np.asarray(own / (self.rows[class_] * self.several[key]))
