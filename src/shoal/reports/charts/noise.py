"""The chart of what noise costs: the mean error of a count against epsilon, beside theory.

Points are dicts with "epsilon", "counts" (the mean absolute error of the counts as they were
drawn), "consistent" (of the estimates that agree with each other) and "theory" (what the noise's
distribution says of one count); None where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import format_real

SERIES = {
    "counts": ("counts as drawn", "before", "circle"),
    "consistent": ("consistent estimates", "after", "square"),
}
"""What is measured: its name, tone and shape."""
THEORY = "theory: the mean size of the noise"
NO_VALUE = "–"
"""In place of what theory says of a count, which does not hold for an estimate."""
HEIGHT = 320
ROOM = 1.35
"""How far both axes go beyond what is drawn, as a factor."""
TICKS = [one * 10.0**power for power in range(-4, 9) for one in (1, 2, 5)]

Point = Mapping[str, Any]


def chart_error(points: Sequence[Point]) -> Spec:
    """Mean absolute error of a count by epsilon: measured as points, theory as a line.

    >>> chart_error([{"epsilon": 1, "counts": 0.95, "consistent": None, "theory": 0.92}])["title"]
    ['At epsilon 1 a count is off by 0.95 on average, by theory 0.92']
    """
    drawn = sorted((one for one in points if one["epsilon"] > 0), key=lambda one: one["epsilon"])
    values = [value for one in drawn for value in _measured(one)]
    if not drawn:
        return make_empty_chart("No error was measured")
    epsilons = [float(one["epsilon"]) for one in drawn]
    errors = [value["error"] for value in values] + [float(one["theory"]) for one in drawn]
    axes = {
        "x": _axis("epsilon", "epsilon, less privacy →", epsilons, across=True),
        "y": _axis("error", "mean absolute error of a count", errors, across=False),
    }
    return make_chart(
        _headline(drawn),
        "Points: the mean absolute error of a count, as drawn and after the counts were made to "
        "agree, by epsilon; the dashed line is what theory says of the noise alone. Both axes are "
        "logarithmic.",
        values or [_foretold(one) for one in drawn],
        {"epsilon": "Epsilon", "name": "What", "told": "Mean absolute error", "theory": "Theory"},
        height=HEIGHT,
        layer=[_line(drawn, axes), *([_marks(axes, values)] if values else [])],
    )


def _measured(point: Point) -> list[Spec]:
    """What was measured at one epsilon, an entry for each series that has an error to draw."""
    return [
        {
            "epsilon": float(point["epsilon"]),
            "name": name,
            "error": float(point[key]),
            "told": format_real(float(point[key])),
            "theory": format_real(float(point["theory"])) if key == "counts" else NO_VALUE,
        }
        for key, (name, _, _) in SERIES.items()
        if point.get(key)  # measured, and a logarithm has no zero
    ]


def _foretold(point: Point) -> Spec:
    """What theory says at one epsilon, for the table behind a chart without anything measured."""
    told = format_real(float(point["theory"]))
    return {"epsilon": float(point["epsilon"]), "name": THEORY, "told": told, "theory": told}


def _axis(field: str, title: str, numbers: Sequence[float], *, across: bool) -> Spec:
    """A logarithmic axis with 1, 2, 5, 10, … as far as it goes."""
    low, high = min(n for n in numbers if n > 0) / ROOM, max(numbers) * ROOM
    shown: Spec = {"values": [tick for tick in TICKS if low <= tick <= high], "format": "~g"}
    if across:
        shown |= {"title": title, "titleAnchor": "end", "grid": False}
    else:
        shown |= {
            "title": f"↑ {title}",
            "domain": False,
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "start",
            "titleX": 0,
            "titleY": -14,
        }
    scale = {"type": "log", "domain": [low, high], "nice": False}
    return {"field": field, "type": "quantitative", "axis": shown, "scale": scale}


def _line(drawn: Sequence[Point], axes: Mapping[str, Spec]) -> Spec:
    """What theory says, dashed: told apart from what was measured also without colour."""
    theory = [
        {"epsilon": float(one["epsilon"]), "error": float(one["theory"]), "name": THEORY}
        for one in drawn
        if one["theory"] > 0
    ]
    mark = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.8, "color": COLOUR["quiet"]}
    return {"data": {"values": theory}, "mark": mark, "encoding": dict(axes)}


def _marks(axes: Mapping[str, Spec], values: Sequence[Spec]) -> Spec:
    """The measured points, by colour and by shape."""
    there = {one["name"] for one in values}
    shown = [series for series in SERIES.values() if series[0] in there]
    one = {"field": "name", "type": "nominal", "sort": None, "legend": {"offset": 38}}
    domain = [name for name, _, _ in shown]
    told_apart = {
        "color": {**one, "scale": {"domain": domain, "range": [COLOUR[t] for _, t, _ in shown]}},
        "shape": {**one, "scale": {"domain": domain, "range": [shape for *_, shape in shown]}},
    }
    mark = {"type": "point", "filled": True, "size": 85, "opacity": 1}
    return {"mark": mark, "encoding": {**axes, **told_apart}}


def _headline(drawn: Sequence[Point]) -> str:
    """The error at the measured epsilon nearest to 1, beside theory; and what agreeing gains."""
    there = [point for point in drawn if point.get("counts") is not None]
    if not there:
        return "Theory says how far a count is off on average"
    one = min(there, key=lambda point: abs(float(point["epsilon"]) - 1))
    told = (
        f"At epsilon {format_real(float(one['epsilon']))} a count is off by "
        f"{format_real(float(one['counts']))} on average, by theory "
        f"{format_real(float(one['theory']))}"
    )
    if one.get("consistent") is None:
        return told
    return f"{told}; made to agree with the others, by {format_real(float(one['consistent']))}"
