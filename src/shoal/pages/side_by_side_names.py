"""Where the names of a chart of both schools stand: at their points, beside two lines.

All is reckoned in pixels of the drawing, y downwards. Rules are named each; a form of noise once,
at the one of its points that has the most room, and its other points by their ε alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import dist
from typing import Any

from shoal.pages.point_names import GAP, LETTER, LINE, Box, Place, free, spots

PLACES = {
    "right": {"align": "left", "baseline": "middle", "dx": 9},
    "above right": {"align": "left", "baseline": "bottom", "dx": 5, "dy": -4},
    "left": {"align": "right", "baseline": "middle", "dx": -9},
    "above left": {"align": "right", "baseline": "bottom", "dx": -5, "dy": -4},
    "below right": {"align": "left", "baseline": "top", "dx": 5, "dy": 4},
    "below left": {"align": "right", "baseline": "top", "dx": -5, "dy": 4},
}
"""Where a name may stand, the best first, and how it is set there."""
ALONG = {
    ("right", "below"): {"align": "right", "baseline": "top", "dx": -4, "dy": 5},
    ("left", "below"): {"align": "left", "baseline": "top", "dx": 4, "dy": 5},
    ("right", "above"): {"align": "right", "baseline": "bottom", "dx": -4, "dy": -5},
    ("left", "above"): {"align": "left", "baseline": "bottom", "dx": 4, "dy": -5},
}
"""Where words may be written along a line across, the best first."""

Drawn = Mapping[str, Any]


def along(words: str, line: float, taken: Sequence[Box], size: Place) -> tuple[str, str]:
    """Where words stand along a line across the drawing."""
    found = free([written(words, line, spot, size) for spot in ALONG], size, taken)
    return list(ALONG)[found or 0]


def written(words: str, line: float, spot: tuple[str, str], size: Place) -> Box:
    """The room of words along a line."""
    width, (side, way) = LETTER * len(words), spot
    left = size[0] - 4 - width if side == "right" else 4
    top = line + 4 if way == "below" else line - 4 - LINE
    return left, top, left + width, top + LINE


def stem(point: Place, ring: Place) -> Box:
    """The room of the line from a point to its ring."""
    return point[0] - 1, min(point[1], ring[1]), point[0] + 1, max(point[1], ring[1])


@dataclass
class Names:
    """Words at points, each where there is room; what is written first chooses first."""

    full: Sequence[Place]
    """The points."""
    size: Place
    taken: list[Box]
    """What no word may cover."""
    lines: Sequence[Box]
    """What a word covers only rather than to stand nowhere."""
    chosen: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The words of a point, and at which of ``PLACES`` they stand."""

    def write(self, values: Sequence[Drawn]) -> None:
        """Name every series once, and other points shortly.

        Values have ``series``, ``name`` (the whole one) and ``short``.
        """
        for some in series(values).values():
            order = self._by_room(some)
            if not any(self._put(i, values[i]["name"], self.lines) for i in order):
                any(self._put(i, values[i]["name"], ()) for i in order)
        for i, one in enumerate(values):
            if i not in self.chosen and one["short"]:
                self._put(i, one["short"], self.lines)

    def _by_room(self, some: Sequence[int]) -> list[int]:
        """Points of a series, the one that is farthest from all others first."""
        return sorted(some, key=lambda i: -min((dist(self.full[i], other) for j, other
                      in enumerate(self.full) if j != i), default=0.0))  # fmt: skip

    def _put(self, i: int, words: str, lines: Sequence[Box]) -> bool:
        """Whether there is room for the words at a point; if so they stand there."""
        boxes = [_box(place, *self.full[i], LETTER * len(words)) for place in PLACES]
        found = free(boxes, self.size, [*self.taken, *lines])
        if found is None:
            return False
        self.chosen[i] = words, list(PLACES)[found]
        self.taken.append(boxes[found])
        return True


def series(values: Sequence[Drawn]) -> dict[str, list[int]]:
    """The points of each series."""
    found: dict[str, list[int]] = {}
    for i, one in enumerate(values):
        found.setdefault(str(one["series"]), []).append(i)
    return found


def _box(place: str, x: float, y: float, width: float) -> Box:
    """The room of a name at a place."""
    if place in ("right", "left"):
        left = x + GAP if place == "right" else x - GAP - width
        return left, y - LINE / 2, left + width, y + LINE / 2
    left = x + GAP / 2 if place.endswith("right") else x - GAP / 2 - width
    top = y - LINE - GAP / 3 if place.startswith("above") else y + GAP / 3
    return left, top, left + width, top + LINE


def bends(values: Sequence[Drawn], full: Sequence[Place]) -> list[Box]:
    """The room of the lines that join the points of a series, in small steps."""
    found: list[Box] = []
    for some in series(values).values():
        for i, j in pairwise(sorted(some, key=lambda i: full[i][0])):
            (x, y), (right, low) = full[i], full[j]
            parts = [(x + (right - x) * s / 12, y + (low - y) * s / 12) for s in range(1, 12)]
            found += spots(parts)
    return found
