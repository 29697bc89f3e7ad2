"""The chart of both schools: loss of each guarantee against what two of its releases give away.

It is drawn from a comparison's JSON. Each guarantee is a point at its loss and the share of people
in both releases whose value is guessed right; below it a ring at that of the control, in neither of
them. What lies between is what being in the tables adds.

Where the names of a chart of both schools stand: at their points, beside two lines.

All is reckoned in pixels of the drawing, y downwards. Rules are named each; a form of noise once,
at the one of its points that has the most room, and its other points by their ε alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import dist
from typing import Any

from shoal.reports.charts.point_names import (
    GAP,
    LETTER,
    LINE,
    Box,
    Place,
    cover_points,
    find_free_box,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.pages.side_by_side_wording import (
    CAP,
    format_epsilon_each,
    format_exact_share,
    format_gain,
    format_loss,
    shorten_rule_names,
    summarise_comparison,
)

# Where the names of a chart of both schools stand: at their points, beside two lines.


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

PointValues = Mapping[str, Any]


def find_spot_along_line(
    words: str, line: float, taken: Sequence[Box], size: Place
) -> tuple[str, str]:
    """Where words stand along a line across the drawing."""
    found = find_free_box([cover_words(words, line, spot, size) for spot in ALONG], size, taken)
    return list(ALONG)[found or 0]


def cover_words(words: str, line: float, spot: tuple[str, str], size: Place) -> Box:
    """The room of words along a line."""
    width, (side, way) = LETTER * len(words), spot
    left = size[0] - 4 - width if side == "right" else 4
    top = line + 4 if way == "below" else line - 4 - LINE
    return left, top, left + width, top + LINE


def cover_stem(point: Place, ring: Place) -> Box:
    """The room of the line from a point to its ring."""
    return point[0] - 1, min(point[1], ring[1]), point[0] + 1, max(point[1], ring[1])


@dataclass
class NamePlacer:
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

    def write(self, values: Sequence[PointValues]) -> None:
        """Name every series once, and other points shortly.

        Values have ``series``, ``name`` (the whole one) and ``short``.
        """
        for some in group_series(values).values():
            order = self._by_room(some)
            if not any(self._put(i, values[i]["name"], self.lines) for i in order):
                any(self._put(i, values[i]["name"], ()) for i in order)
        for i, one in enumerate(values):
            if i not in self.chosen and one["short"]:
                self._put(i, one["short"], self.lines)

    def _by_room(self, some: Sequence[int]) -> list[int]:
        """Points of a series, the one that is farthest from all others first."""
        return sorted(
            some,
            key=lambda i: (
                -min(
                    (dist(self.full[i], other) for j, other in enumerate(self.full) if j != i),
                    default=0.0,
                )
            ),
        )

    def _put(self, i: int, words: str, lines: Sequence[Box]) -> bool:
        """Whether there is room for the words at a point; if so they stand there."""
        boxes = [_box(place, *self.full[i], LETTER * len(words)) for place in PLACES]
        found = find_free_box(boxes, self.size, [*self.taken, *lines])
        if found is None:
            return False
        self.chosen[i] = words, list(PLACES)[found]
        self.taken.append(boxes[found])
        return True


def group_series(values: Sequence[PointValues]) -> dict[str, list[int]]:
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


def cover_lines(values: Sequence[PointValues], full: Sequence[Place]) -> list[Box]:
    """The room of the lines that join the points of a series, in small steps."""
    found: list[Box] = []
    for some in group_series(values).values():
        for i, j in pairwise(sorted(some, key=lambda i: full[i][0])):
            (x, y), (right, low) = full[i], full[j]
            parts = [(x + (right - x) * s / 12, y + (low - y) * s / 12) for s in range(1, 12)]
            found += cover_points(parts)
    return found


# The chart of both schools: loss of each guarantee against what two of its releases give away.


JsonObject = Mapping[str, Any]

HEIGHT, PLOT = 430, 620
"""The size of the drawing, in which labels are placed."""
RING = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0ZM0.7,0A0.7,0.7,0,1,0,-0.7,0A0.7,0.7,0,1,0,0.7,0Z"
BAND = "M-0.45,-1L0.45,-1L0.45,1L-0.45,1Z"
KINDS = {
    "partition": ("classes", "circle", "before"),
    "randomised": ("randomised answers", "triangle-up", "after"),
    "counts": ("counts", "square", "after"),
    "synthetic": ("synthetic", "diamond", "after"),
}
"""What each form is called, its mark and its colour."""
KEYS = (
    ("the control, in neither table", RING, "quiet"),
    ("least to most of the seeds", BAND, "rest"),
)
"""What else the legend names."""


def chart_side_by_side(facts: JsonObject) -> Spec:
    """Loss across, exposure up; both schools in two colours, with names where there is room."""
    made = [one for one in facts["outcomes"] if one["loss"] is not None]
    if not made:
        return make_empty_chart("No release could be made")
    values = _values(made, facts["seeds"])
    scale = _scale(values, facts["base"])
    floor = _floor(made)
    words = _named(values, facts["base"], floor, scale)
    return make_chart(
        summarise_comparison(facts),
        "Points: guarantees by loss (across) and the share of people in two overlapping releases "
        f"whose {facts['column']} is guessed right (up). Rings: the same for people who are in "
        "neither. Bars: from the least to the most of the seeds.",
        values,
        {
            "guarantee": "Guarantee",
            "school": "School",
            "told": "Guessed right",
            "other": "Control",
            "more": "Added, in points",
            "lost": "Loss",
        },
        height=HEIGHT,
        encoding={"x": _loss_axis(scale)},
        layer=[*words, *_marks(values, scale), *map(_label, PLACES)],
    )


def _values(made: Sequence[JsonObject], seeds: int) -> list[Spec]:
    """What is drawn and told of each guarantee."""
    rules = shorten_rule_names([str(one["name"]) for one in made if not one["epsilon"]])
    return [
        {
            "guarantee": one["name"],
            "school": one["school"],
            "kind": KINDS[one["form"]][0],
            **_names(one, rules),
            "series": one["form"] if one["epsilon"] else one["name"],
            "loss": one["loss"]["mean"],
            **_ends("right", one),
            **_ends("control", one),
            "told": format_exact_share(one["right"]["mean"]),
            "other": format_exact_share(one["control"]["mean"]),
            "more": format_gain(one["added"], seeds),
            "lost": format_loss(one["loss"]),
        }
        for one in made
    ]


def _names(one: JsonObject, rules: Mapping[str, str]) -> Spec:
    """The whole name, and the short one that stands where the series is named already."""
    if not one["epsilon"]:
        return {"name": _first_words(rules[str(one["name"])]), "short": ""}
    short = format_epsilon_each(str(one["epsilon"]))
    return {"name": f"{one['form']}, {short}", "short": short.removesuffix(" each")}


def _first_words(rule: str) -> str:
    """A rule by its parts, each with its first parameter.

    >>> _first_words("+ composition l=2 alpha=0.95")
    '+ composition l=2'
    """
    sign, own = ("+ ", rule[2:]) if rule.startswith("+ ") else ("", rule)
    return sign + " & ".join(" ".join(part.split(" ")[:2]) for part in own.split(" & "))


def _ends(name: str, one: JsonObject) -> Spec:
    found = one[name]
    return {name: found["mean"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def _floor(made: Sequence[JsonObject]) -> float | None:
    """What the bins of counts and synthetic tables cost alone; None: there are none."""
    known = [one["noiseless"]["mean"] for one in made if one["form"] in ("counts", "synthetic")]
    return min(known, default=None)


# Names


def _named(values: Sequence[Spec], base: float, floor: float | None, scale: Spec) -> list[Spec]:
    """Finds places for all names, and gives the layers of the two lines."""
    size = PLOT, HEIGHT
    full = [_pixel(one["loss"], one["right"], scale) for one in values]
    rings = [_pixel(one["loss"], one["control"], scale) for one in values]
    taken, stems = cover_points(full), [*map(cover_stem, full, rings), *cover_points(rings)]
    line, words = _pixel(0, base, scale)[1], f"the most common value {format_exact_share(base)}"
    spot = find_spot_along_line(words, line, [*taken, *stems], size)
    taken.append(cover_words(words, line, spot, size))
    upright = [] if floor is None else [_upright(_pixel(floor, 0, scale)[0])]
    lines = [
        *stems,
        *cover_lines(values, full),
        (0, line - 1, PLOT, line + 1),
        *((x, 0, x + 2, HEIGHT) for x, *_ in upright),
    ]
    names = NamePlacer(full, size, [*taken, *upright], lines)
    names.write(values)
    for i, one in enumerate(values):
        one["label"], one["place"] = names.chosen.get(i, ("", ""))
    return [*_guessing(base, words, spot), *([] if floor is None else _bins(floor))]


_BINS = "bins alone"


def _upright(x: float) -> Box:
    """The room of the words at the top of the line of the bins."""
    return x, 0, x + LETTER * (len(_BINS) + 1), LINE


def _pixel(loss: float, share: float, scale: Spec) -> Place:
    (left, right), (low, high) = scale["x"], scale["y"]
    return PLOT * (loss - left) / (right - left), HEIGHT * (high - share) / (high - low)


def _scale(values: Sequence[Spec], base: float) -> Spec:
    """The ends of both axes, with some room."""
    ends = ("right_high", "right_low", "control_high", "control_low")
    shares = [float(one[key]) for one in values for key in ends] + [base]
    room = max(0.01, 0.12 * (max(shares) - min(shares)))
    widest = max(float(one["loss"]) for one in values)
    low, high = max(0.0, min(shares) - room), min(1.0, max(shares) + room)
    return {"x": (0.0, min(1.15 * widest, 1.05) or 1.0), "y": (low, high)}


# What is drawn


def _loss_axis(scale: Spec) -> Spec:
    axis = {
        "title": "loss: how far columns and pairs of columns have moved →",
        "titleAnchor": "end",
        "grid": False,
        "format": ".1~f",
        "tickCount": 6,
        "labelExpr": f"datum.value >= {CAP} ? '≥ 1' : datum.label",
    }
    bounds = {"domain": list(scale["x"]), "nice": False}
    return {"field": "loss", "type": "quantitative", "axis": axis, "scale": bounds}


def _share_axis(field: str, scale: Spec) -> Spec:
    axis: Spec = {
        "title": "↑ people whose value is guessed right",
        "domain": False,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "start",
        "titleX": 0,
        "titleY": -14,
        "format": ".0%",
        "tickCount": 6,
    }
    bounds = {"domain": list(scale["y"]), "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": bounds}


def _guessing(base: float, words: str, spot: tuple[str, str]) -> list[Spec]:
    """What the most common value alone gives, as a line with words."""
    told, ink = {"guess": base, "words": words}, {"color": {"value": COLOUR["quiet"]}}
    at = {"y": {"field": "guess", "type": "quantitative"}}
    across = {"x": {"value": 0}, "x2": {"value": "width"}}
    end = {"x": {"value": "width" if spot[0] == "right" else 0}, "text": {"field": "words"}}
    return [
        {
            "mark": {"type": "rule", "strokeDash": [4, 4]},
            "data": {"values": [told]},
            "encoding": {**at, **ink, **across},
        },
        {
            "mark": {"type": "text", **ALONG[spot]},
            "data": {"values": [told]},
            "encoding": {**at, **ink, **end},
        },
    ]


def _bins(floor: float) -> list[Spec]:
    """What bins cost without any noise, as an upright line with words at its top."""
    data, ink = {"values": [{"loss": floor, "words": _BINS}]}, {"color": {"value": COLOUR["quiet"]}}
    text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "dy": 1}
    return [
        {"mark": {"type": "rule", "strokeDash": [1, 4]}, "data": data, "encoding": ink},
        {
            "mark": text,
            "data": data,
            "encoding": {**ink, "y": {"value": 0}, "text": {"field": "words"}},
        },
    ]


def _marks(values: Sequence[Spec], scale: Spec) -> list[Spec]:
    """For each guarantee its point and the control's ring, both with the bars of the seeds."""
    used = [kind for kind in KINDS.values() if any(one["kind"] == kind[0] for one in values)]
    names, shapes, tones = zip(*(*used, *KEYS), strict=True)
    legend = {"offset": 34, "columns": 3, "symbolOpacity": 1, "symbolStrokeWidth": 0}
    kind = {"field": "kind", "type": "nominal", "sort": None, "legend": legend}
    tone = {
        "color": {**kind, "scale": {"domain": list(names), "range": [COLOUR[one] for one in tones]}}
    }
    shape = {"shape": {**kind, "scale": {"domain": list(names), "range": list(shapes)}}}
    right, ring = _share_axis("right", scale), _share_axis("control", scale)
    along_ = {"type": "line", "strokeWidth": 1.6, "opacity": 0.5}
    rule = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.45}
    open_ = {
        "type": "point",
        "size": 34,
        "strokeWidth": 1.4,
        "filled": False,
        "opacity": 0.8,
        "shape": "circle",
    }
    full = {"type": "point", "size": 95, "filled": True, "opacity": 1}
    series = {"order": {"field": "loss"}, "detail": {"field": "series"}}
    return [
        {"mark": along_, "encoding": {**tone, "y": right, **series}},
        {"mark": rule, "encoding": {**tone, "y": right, "y2": {"field": "control"}}},
        *(_band(name, width, tone, scale) for name, width in (("right", 9), ("control", 6))),
        {"mark": open_, "encoding": {**tone, "y": ring}},
        {"mark": full, "encoding": {**tone, **shape, "y": right}},
    ]


def _band(name: str, width: int, tone: Spec, scale: Spec) -> Spec:
    """From the least to the most of the seeds."""
    mark = {"type": "rule", "strokeWidth": width, "opacity": 0.25, "strokeCap": "round"}
    return {
        "mark": mark,
        "encoding": {
            **tone,
            "y": _share_axis(f"{name}_low", scale),
            "y2": {"field": f"{name}_high"},
        },
    }


def _label(place: str) -> Spec:
    """The names that stand at one place of their points."""
    return {
        "mark": {"type": "text", **PLACES[place]},
        "transform": [{"filter": {"field": "place", "equal": place}}],
        "encoding": {
            "y": {"field": "right", "type": "quantitative"},
            "text": {"field": "label"},
            "color": {"value": COLOUR["ink"]},
        },
    }
