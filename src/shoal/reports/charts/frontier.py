"""The chart of a comparison: releases by loss and risk, the frontier in front, with names.

Points are dicts as a comparison's JSON has them, those at one place as one, and ``on_frontier``
by the risk that is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.point_names import (
    LETTER,
    LINE,
    Box,
    Place,
    cover_points,
    cover_steps,
    find_free_box,
    place_names,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import format_percent

Point = Mapping[str, Any]

WORDS = {
    "identity": "chance to pick a person's row",
    "value": "share of people whose value is guessed right",
}
"""What each risk is, as an axis says it."""
HEIGHT, PLOT = 400, 600
"""The size of the drawing, in which labels are placed."""
MIN_RISK = 1e-6
"""No risk is drawn below: a logarithm has no zero."""


def format_risk(one: Point, of: str) -> str:
    """A risk as it is read."""
    risk = one[f"risk_{of}"]
    if risk is None:
        return "–"
    return format_odds(risk) if of == "identity" else format_percent(risk, 1)


def format_odds(risk: float) -> str:
    """A chance as one in so many.

    >>> format_odds(0.356), format_odds(0.0123), format_odds(1)
    ('1 in 2.8', '1 in 81', '1 in 1')
    """
    among = 1 / max(risk, MIN_RISK)
    return f"1 in {among:.2g}" if among < 10 else f"1 in {among:,.0f}"


def chart_frontier(points: Sequence[Point], risk: str) -> Spec:
    """Each release by loss and risk; the frontier in front, with names where there is room."""
    drawn = [one for one in points if one[f"risk_{risk}"] is not None]
    if not drawn:
        return make_empty_chart("No release could be made")
    values = _values(drawn, risk)
    base = None if risk == "identity" else drawn[0]["base"]
    scale = _scale(values, risk, base)
    pixels = [_pixel(one["loss"], one["risk"], scale) for one in values]
    line = cover_steps([at for at, one in zip(pixels, values, strict=True) if one["frontier"]])
    guess = None if base is None else _Guess.of(base, _pixel(0, base, scale)[1], pixels, line)
    taken = line if guess is None else [*line, *guess.boxes]
    names = place_names(pixels, [str(one["label"]) for one in values], (PLOT, HEIGHT), taken)
    for one, place in zip(values, names, strict=True):
        one["place"] = place
    return make_chart(
        _headline(values, risk, base),
        f"Points: releases by loss of detail (across) and {WORDS[risk]} (up). The frontier is a "
        "line from the least loss to the least risk.",
        values,
        {"method": "Method", "rule": "Rule", "told": "Risk", "loss": "Loss", "where": "Frontier"},
        height=HEIGHT,
        encoding={"x": _loss_axis(scale), "y": _risk_axis(scale, risk)},
        layer=[*(() if guess is None else guess.layers()), *_marks(), *map(_label, _LABELS)],
    )


def _values(drawn: Sequence[Point], risk: str) -> list[Spec]:
    """What is drawn and told of each point, the frontier first."""
    names = shorten_rules([str(one["rule"]) for one in drawn])
    values = [
        {
            "method": one["method"],
            "rule": one["rule"],
            "loss": one["loss"],
            "risk": max(one[f"risk_{risk}"], MIN_RISK),
            "told": format_risk(one, risk),
            "label": f"{str(one['method']).partition(',')[0]} {name}".strip(),
            "frontier": bool(one["on_frontier"]),
            "where": "on the frontier" if one["on_frontier"] else "",
        }
        for one, name in zip(drawn, names, strict=True)
    ]
    return sorted(values, key=lambda one: (not one["frontier"], one["loss"], -one["risk"]))


def shorten_rules(rules: Sequence[str]) -> list[str]:
    """Rules without what all of them say.

    >>> shorten_rules(["k-anonymity k=2 & alpha-k", "k-anonymity k=5 & alpha-k"])
    ['k=2', 'k=5']
    """
    parts = [rule.split(" & ") for rule in rules]
    shared = set.intersection(*map(set, parts)) if len(set(rules)) > 1 else set()
    own = [[part for part in some if part not in shared] for some in parts]
    first = {part.partition(" ")[0] for some in own for part in some}
    if len(first) == 1:
        own = [[part.partition(" ")[2] or part for part in some] for some in own]
    return [" & ".join(some) for some in own]


_LABELS = {
    "below left": {"align": "right", "baseline": "top", "dx": -5, "dy": 4},
    "above right": {"align": "left", "baseline": "bottom", "dx": 5, "dy": -4},
    "right": {"align": "left", "baseline": "middle", "dx": 9},
    "left": {"align": "right", "baseline": "middle", "dx": -9},
}
"""How a name is set at each of its places."""
_FRONT = {"filter": "datum.frontier"}


def _scale(values: Sequence[Spec], risk: str, base: float | None) -> Spec:
    """The ends of both axes, with some room."""
    risks = [float(one["risk"]) for one in values] + ([] if base is None else [base])
    low, high = min(risks), max(risks)
    if risk == "identity":
        ends = (low / 1.5, min(1.0, high * 1.5))
    else:
        room = max(0.01, 0.12 * (high - low))
        ends = (max(0.0, low - room), min(1.0, high + room))
    widest = max(float(one["loss"]) for one in values)
    return {"x": (0.0, 1.1 * widest or 1.0), "y": ends, "log": risk == "identity"}


def _pixel(loss: float, risk: float, scale: Spec) -> Place:
    """Where a point is in the drawing, y downwards."""
    (left, right), (low, high) = scale["x"], scale["y"]
    turn = math.log if scale["log"] else float
    down = (turn(high) - turn(risk)) / (turn(high) - turn(low))
    return PLOT * (loss - left) / (right - left), HEIGHT * down


def _loss_axis(scale: Spec) -> Spec:
    axis = {
        "title": "loss of detail →",
        "titleAnchor": "end",
        "grid": False,
        "format": ".2~f",
        "tickCount": 6,
    }
    bounds = {"domain": list(scale["x"]), "nice": False}
    return {"field": "loss", "type": "quantitative", "axis": axis, "scale": bounds}


def _risk_axis(scale: Spec, risk: str) -> Spec:
    bounds: Spec = {"domain": list(scale["y"]), "nice": False, "zero": False}
    axis: Spec = {
        "title": f"↑ {WORDS[risk]}",
        "domain": False,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "start",
        "titleX": 0,
        "titleY": -14,
    }
    if scale["log"]:
        bounds["type"] = "log"
        axis |= {
            "values": _chances(*scale["y"]),
            "labelExpr": "'1 in ' + format(1/datum.value, ',.0f')",
        }
    else:
        axis |= {"format": ".0%", "tickCount": 6}
    return {"field": "risk", "type": "quantitative", "axis": axis, "scale": bounds}


def _chances(low: float, high: float) -> list[float]:
    """One in 1, 2, 5, 10, … as far as the axis goes."""
    among = [one * 10**power for power in range(7) for one in (1, 2, 5)]
    return [1 / n for n in among if low <= 1 / n <= high]


_SPOTS = {
    ("right", "below"): {"align": "right", "baseline": "top", "dx": -4, "dy": 5},
    ("right", "above"): {"align": "right", "baseline": "bottom", "dx": -4, "dy": -5},
    ("left", "below"): {"align": "left", "baseline": "top", "dx": 4, "dy": 5},
    ("left", "above"): {"align": "left", "baseline": "bottom", "dx": 4, "dy": -5},
}
"""Where what guessing gives may be written along its line, the best first."""


@dataclass(frozen=True)
class _Guess:
    """What guessing gives, as a line with words, where they cover no point if there is room."""

    base: float
    y: float
    spot: tuple[str, str] = ("right", "below")

    @classmethod
    def of(cls, base: float, y: float, points: Sequence[Place], line: Sequence[Box]) -> _Guess:
        """The line at a height, in a drawing with points and the frontier's line."""
        ways = [cls(base, y, spot) for spot in _SPOTS]
        clear = find_free_box(
            [one.written for one in ways], (PLOT, HEIGHT), [*cover_points(points), *line]
        )
        return ways[0 if clear is None else clear]

    @property
    def words(self) -> str:
        return f"guessing alone {format_percent(self.base, 1)}"

    @property
    def written(self) -> Box:
        """The room of the words."""
        width, (side, way) = LETTER * len(self.words), self.spot
        left = PLOT - 4 - width if side == "right" else 4
        top = self.y + 4 if way == "below" else self.y - 4 - LINE
        return left, top, left + width, top + LINE

    @property
    def boxes(self) -> list[Box]:
        """What names of points must not cover."""
        return [self.written, (0, self.y - 1, PLOT, self.y + 1)]

    def layers(self) -> list[Spec]:
        told = {"guess": self.base, "words": self.words}
        at = {"y": {"field": "guess", "type": "quantitative"}}
        ink = {"color": {"value": COLOUR["quiet"]}}
        end = {"x": {"value": "width" if self.spot[0] == "right" else 0}}
        return [
            {
                "mark": {"type": "rule", "strokeDash": [4, 4]},
                "data": {"values": [told]},
                "encoding": {**at, **ink, "x": {"value": 0}, "x2": {"value": "width"}},
            },
            {
                "mark": {"type": "text", **_SPOTS[self.spot]},
                "data": {"values": [told]},
                "encoding": {**at, **ink, **end, "text": {"field": "words"}},
            },
        ]


def _marks() -> list[Spec]:
    """The line of the frontier, and the points: those on it full, the others small and open."""
    step = {
        "type": "line",
        "interpolate": "step-after",
        "strokeWidth": 2,
        "color": COLOUR["after"],
        "opacity": 0.55,
    }
    rest = {
        "type": "point",
        "size": 34,
        "strokeWidth": 1.4,
        "color": COLOUR["quiet"],
        "opacity": 0.6,
    }
    front = {"type": "point", "filled": True, "size": 95, "opacity": 1, "color": COLOUR["after"]}
    return [
        {"mark": step, "transform": [_FRONT], "encoding": {"order": {"field": "loss"}}},
        {"mark": rest, "transform": [{"filter": "!datum.frontier"}]},
        {"mark": front, "transform": [_FRONT]},
    ]


def _label(place: str) -> Spec:
    """The names that stand at one place of their points."""
    tones = {
        "condition": {"test": "datum.frontier", "value": COLOUR["ink"]},
        "value": COLOUR["quiet"],
    }
    return {
        "mark": {"type": "text", **_LABELS[place]},
        "transform": [{"filter": {"field": "place", "equal": place}}],
        "encoding": {"text": {"field": "label"}, "color": tones},
    }


def _headline(values: Sequence[Spec], risk: str, base: float | None) -> str:
    front = [one for one in values if one["frontier"]]
    first, last = front[0], front[-1]
    if len({one["told"] for one in front}) == 1:
        return f"{first['label']} has the least loss and the least risk"
    told = (
        f"From {first['label']} to {last['label']} the risk falls from {first['told']} to "
        f"{last['told']}, and loss rises from {first['loss']:.3f} to {last['loss']:.3f}"
    )
    return told if base is None else f"{told}; guessing alone gives {format_percent(base, 1)}"
