"""The parts that charts share: axes, colours, lines, and the number at the end of each bar."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec

DRAW_ONCE: Spec = {"data": {"values": [{}]}}
"""For a layer with constants alone: with the chart's data it would be drawn once for each row."""
THRESHOLD_LINE: Spec = {
    "type": "rule",
    "color": COLOUR["ink"],
    "strokeWidth": 1.5,
    "strokeDash": [5, 4],
}
_LETTER = 7.2  # pixels a letter, in the widest of the usual system fonts


def names_axis(field: str, names: Sequence[str]) -> Spec:
    """Labels flush left, in line with the title; the room they need is counted in letters.

    The reader's system font may be wider than the one vl-convert measures with.
    """
    room = min(260.0, _LETTER * max(map(len, names), default=0)) + 14
    axis = {"labelAlign": "left", "labelPadding": room, "minExtent": room, "labelLimit": 260}
    plain = {"title": None, "domain": False, "labelColor": COLOUR["ink"]}
    scale = {"paddingInner": 0.24}
    return {"field": field, "type": "nominal", "sort": None, "axis": axis | plain, "scale": scale}


def bins_axis(title: str, alarm: Sequence[str]) -> Spec:
    """Bins under upright bars; the ones in ``alarm`` in red."""
    test = " || ".join(f"datum.value === {json.dumps(label)}" for label in alarm) or "false"
    colour = {"condition": {"test": test, "value": COLOUR["alarm"]}, "value": COLOUR["ink"]}
    return {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "scale": {"paddingInner": 0.24},
        "axis": {"title": title, "labelAngle": 0, "labelColor": colour},
    }


def share_axis(title: str, longest: float = 1.0) -> Spec:
    """No grid and no labels: every bar carries its number, for which some room is left."""
    axis = {"labels": False, "grid": False, "domain": False, "title": title} if title else None
    return number_axis("share", (0, max(0.01, longest) * 1.13), axis)


def number_axis(field: str, domain: Sequence[float], axis: Spec | None, **scale: Any) -> Spec:
    """A number on a scale with exactly the ends of ``domain``; ``scale`` adds settings of it."""
    return {
        "field": field,
        "type": "quantitative",
        "axis": axis,
        "scale": {**scale, "domain": list(domain), "nice": False},
    }


def percent_axis(field: str, title: str, channel: str) -> Spec:
    """A share or a chance, from 0% to 100%."""
    return number_axis(
        field, (0, 1), {**title_axis(title, channel), "format": ".0%", "tickCount": 6}
    )


def title_axis(title: str, channel: str) -> Spec:
    """The title of a horizontal axis at its end, of a vertical one above it."""
    if channel == "x":
        return {"title": title, "titleAnchor": "end", "grid": False}
    return {
        "title": f"↑ {title}",
        "domain": False,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "start",
        "titleX": 0,
        "titleY": -14,
    }


def draw_diagonal(x: str, y: str, end: float, axes: tuple[Spec, Spec]) -> Spec:
    """The line on which the fields ``x`` and ``y`` are equal, up to ``end``."""
    line = {"type": "line", "strokeDash": [5, 4], "color": COLOUR["quiet"], "strokeWidth": 1.5}
    return {
        "data": {"values": [{x: 0, y: 0}, {x: end, y: end}]},
        "mark": line,
        "encoding": {"x": axes[0], "y": axes[1]},
    }


def draw_track(height: int) -> Spec:
    """A pale bar from nobody to everybody, behind the bars."""
    return {
        "mark": {"type": "bar", "height": height, "color": COLOUR["track"]},
        "encoding": {"x": {"datum": 0}, "x2": {"datum": 1}},
    }


def value_text(along: str, field: str = "text") -> Spec:
    """The number at the end of each bar."""
    place = {"align": "left", "dx": 6} if along == "x" else {"baseline": "bottom", "dy": -4}
    return {
        "mark": {"type": "text", **place},
        "encoding": {"text": {"field": field}, "color": {"value": COLOUR["quiet"]}},
    }


def colour_scale(field: str, names: Sequence[str], tones: Sequence[str]) -> Spec:
    """A tone for each name; the last, safest group always gets the calm tone at the end."""
    chosen = [*tones[: len(names) - 1], tones[-1]] if len(names) > 1 else [tones[0]]
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(names), "range": [COLOUR[tone] for tone in chosen]},
        "sort": None,
    }


def colour_and_shape(
    field: str, series: Sequence[tuple[str, str, str]], legend: Mapping[str, object]
) -> Spec:
    """One legend for both channels; each series is its name, its tone and its shape."""
    names, tones, shapes = zip(*series, strict=True)
    ranges = {"color": [COLOUR[tone] for tone in tones], "shape": list(shapes)}
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "sort": None,
            "legend": dict(legend),
            "scale": {"domain": list(names), "range": values},
        }
        for channel, values in ranges.items()
    }
