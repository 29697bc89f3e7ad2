"""Where words stand in a chart so that none covers another, a point or a line.

All is in pixels of the drawing, y downwards; a box is its left, top, right and bottom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from shoal.reports.charts.theme import COLOUR, Spec

LETTER, LINE, GAP = 6.4, 15.0, 9.0
"""The width of a letter, the height of a line, and the way from point to name."""
NAME_MARKS: dict[str, Spec] = {
    "right": {"align": "left", "baseline": "middle", "dx": 9},
    "above right": {"align": "left", "baseline": "bottom", "dx": 5, "dy": -4},
    "left": {"align": "right", "baseline": "middle", "dx": -9},
    "above left": {"align": "right", "baseline": "bottom", "dx": -5, "dy": -4},
    "below right": {"align": "left", "baseline": "top", "dx": 5, "dy": 4},
    "below left": {"align": "right", "baseline": "top", "dx": -5, "dy": 4},
}
"""Where a name may stand at its point, and how it is set there."""
PLACES = ("below left", "above right", "right", "left")
"""Where the names of a falling line stand, the best first: below it there is nothing."""
LINE_MARKS: dict[Spot, Spec] = {
    ("right", "below"): {"align": "right", "baseline": "top", "dx": -4, "dy": 5},
    ("left", "below"): {"align": "left", "baseline": "top", "dx": 4, "dy": 5},
    ("right", "above"): {"align": "right", "baseline": "bottom", "dx": -4, "dy": -5},
    ("left", "above"): {"align": "left", "baseline": "bottom", "dx": 4, "dy": -5},
}
"""Where words may stand along a horizontal line, and how they are set there."""

Place = tuple[float, float]
Box = tuple[float, float, float, float]
Spot = tuple[str, str]


def place_names(
    points: Sequence[Place],
    names: Sequence[str],
    size: Place,
    lines: Sequence[Box] = (),
    order: Sequence[str] = PLACES,
) -> list[str]:
    """For each point the key of `NAME_MARKS` where its name stands; empty where there is no room.

    The drawing has ``size``; earlier points choose first, each the first free place of ``order``.

    >>> place_names([(40, 50), (44, 50), (195, 10)], ["one", "two", "three"], (200, 100))
    ['below left', 'above right', 'below left']
    """
    taken = cover_points(points)
    places = []
    for at, (point, name) in enumerate(zip(points, names, strict=True)):
        others = [*lines, *(box for i, box in enumerate(taken) if i != at)]
        boxes = [cover_name(name, point, place) for place in order]
        free = find_free_box(boxes, size, others)
        places.append("" if free is None else order[free])
        taken += [] if free is None else [boxes[free]]
    return places


def find_free_box(boxes: Iterable[Box], size: Place, others: Sequence[Box]) -> int | None:
    """The index of the first box within the drawing that covers none of the others."""
    width, height = size
    for at, (left, top, right, bottom) in enumerate(boxes):
        inside = left >= 0 and top >= 0 and right <= width and bottom <= height
        if inside and not overlaps_any((left, top, right, bottom), others):
            return at
    return None


def overlaps_any(box: Box, others: Iterable[Box]) -> bool:
    """Whether a box covers a part of any other."""
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )


def cover_name(name: str, point: Place, place: str) -> Box:
    """The box of a name at a place of its point."""
    (x, y), width = point, LETTER * len(name)
    if place in ("right", "left"):
        left = x + GAP if place == "right" else x - GAP - width
        return left, y - LINE / 2, left + width, y + LINE / 2
    left = x + GAP / 2 if place.endswith("right") else x - GAP / 2 - width
    top = y - LINE - GAP / 3 if place.startswith("above") else y + GAP / 3
    return left, top, left + width, top + LINE


def cover_points(points: Iterable[Place]) -> list[Box]:
    """The boxes of the points themselves."""
    return [(x - 4, y - 4, x + 4, y + 4) for x, y in points]


def cover_steps(points: Iterable[Place]) -> list[Box]:
    """The boxes of a line that goes from point to point, across and then down."""
    boxes = []
    for (x, y), (right, low) in pairwise(points):
        boxes += [(x, y - 1, right, y + 1), (right - 1, min(y, low), right + 1, max(y, low))]
    return boxes


def cover_words(words: str, y: float, spot: Spot, size: Place) -> Box:
    """The box of words at a spot along the line at height ``y``."""
    width, (side, way) = LETTER * len(words), spot
    left = size[0] - 4 - width if side == "right" else 4
    top = y + 4 if way == "below" else y - 4 - LINE
    return left, top, left + width, top + LINE


def find_spot_along_line(
    words: str, y: float, taken: Sequence[Box], size: Place, order: Sequence[Spot]
) -> Spot:
    """The first spot of ``order`` where words along a line cover nothing; else the first of all."""
    free = find_free_box([cover_words(words, y, spot, size) for spot in order], size, taken)
    return order[free or 0]


def draw_baseline(base: float, words: str, spot: Spot) -> list[Spec]:
    """What guessing gives, as a dashed line with words at a spot along it."""
    data = {"values": [{"guess": base, "words": words}]}
    at = {"y": {"field": "guess", "type": "quantitative"}, "color": {"value": COLOUR["quiet"]}}
    end = {"x": {"value": "width" if spot[0] == "right" else 0}}
    return [
        {
            "mark": {"type": "rule", "strokeDash": [4, 4]},
            "data": data,
            "encoding": {**at, "x": {"value": 0}, "x2": {"value": "width"}},
        },
        {
            "mark": {"type": "text", **LINE_MARKS[spot]},
            "data": data,
            "encoding": {**at, **end, "text": {"field": "words"}},
        },
    ]
