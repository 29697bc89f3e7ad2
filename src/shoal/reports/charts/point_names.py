"""Where names stand beside points so that none covers another, or a point."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

PLACES = ("below left", "above right", "right", "left")
"""Where a name may stand, the best first: below a falling line there is nothing."""
LETTER, LINE, GAP = 6.4, 15.0, 9.0
"""In pixels: the width of a letter, the height of a line, and the way from point to name."""

Place = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def place_names(
    points: Sequence[Place], names: Sequence[str], size: Place, lines: Sequence[Box] = ()
) -> list[str]:
    """For each point where its name stands; empty where there is no room.

    Points are in pixels, y downwards, in a drawing of ``size``; earlier ones choose first.

    >>> place_names([(40, 50), (44, 50), (195, 10)], ["one", "two", "three"], (200, 100))
    ['below left', 'above right', 'below left']
    """
    taken = cover_points(points)
    chosen = []
    for at, (point, name) in enumerate(zip(points, names, strict=True)):
        others = [*lines, *(box for i, box in enumerate(taken) if i != at)]
        boxes = [_box(place, *point, LETTER * len(name)) for place in PLACES]
        found = find_free_box(boxes, size, others)
        chosen.append("" if found is None else PLACES[found])
        taken += [] if found is None else [boxes[found]]
    return chosen


def cover_points(points: Sequence[Place]) -> list[Box]:
    """The room of the points themselves."""
    return [(x - 4, y - 4, x + 4, y + 4) for x, y in points]


def find_free_box(boxes: Sequence[Box], size: Place, others: Sequence[Box]) -> int | None:
    """Which box is the first within the drawing that covers none of the others; None: none is."""
    clear = (at for at, box in enumerate(boxes) if _inside(box, size) and not _hits(box, others))
    return next(clear, None)


def cover_steps(points: Sequence[Place]) -> list[Box]:
    """The room of a line that goes from point to point, across and then down."""
    found = []
    for (x, y), (right, low) in pairwise(points):
        found += [(x, y - 1, right, y + 1), (right - 1, min(y, low), right + 1, max(y, low))]
    return found


def _box(place: str, x: float, y: float, width: float) -> Box:
    """The room of a name at a place."""
    if place in ("right", "left"):
        left = x + GAP if place == "right" else x - GAP - width
        return left, y - LINE / 2, left + width, y + LINE / 2
    if place == "above right":
        return x + GAP / 2, y - LINE - GAP / 3, x + GAP / 2 + width, y - GAP / 3
    return x - GAP / 2 - width, y + GAP / 3, x - GAP / 2, y + LINE + GAP / 3


def _inside(box: Box, size: Place) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]


def _hits(box: Box, others: Sequence[Box]) -> bool:
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )
