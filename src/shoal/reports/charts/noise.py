"""The chart of what noise costs: the mean error of a count against epsilon, with theory.

Points are dicts with "epsilon", "counts" (the mean absolute error of the counts as they were
drawn), "consistent" (of the estimates that agree with each other) and "theory" (what the noise's
distribution says of one count); None where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.axes import colour_and_shape, number_axis, title_axis
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
TICKS = [factor * 10.0**power for power in range(-4, 9) for factor in (1, 2, 5)]

Point = Mapping[str, Any]


def chart_error(points: Sequence[Point]) -> Spec:
    """Mean absolute error of a count by epsilon: measured as points, theory as a line.

    >>> chart_error([{"epsilon": 1, "counts": 0.95, "consistent": None, "theory": 0.92}])["title"]
    ['At epsilon 1 a count is off by 0.95 on average, by theory 0.92']
    """
    drawable = (point for point in points if point["epsilon"] > 0)
    points = sorted(drawable, key=lambda point: float(point["epsilon"]))
    values = [value for point in points for value in _measured_rows(point)]
    if not points:
        return make_empty_chart("No error was measured")
    epsilons = [float(point["epsilon"]) for point in points]
    errors = [value["error"] for value in values] + [float(point["theory"]) for point in points]
    axes = {
        "x": _axis("epsilon", "epsilon, less privacy →", epsilons, "x"),
        "y": _axis("error", "mean absolute error of a count", errors, "y"),
    }
    return make_chart(
        _headline(points),
        "Points: the mean absolute error of a count, as drawn and after the counts were made to "
        "agree, by epsilon; the dashed line is what theory says of the noise alone. Both axes are "
        "logarithmic.",
        values or [_theory_row(point) for point in points],
        {"epsilon": "Epsilon", "name": "What", "told": "Mean absolute error", "theory": "Theory"},
        height=HEIGHT,
        layer=[_line(points, axes), *([_marks(axes, values)] if values else [])],
    )


def _measured_rows(point: Point) -> list[Spec]:
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


def _theory_row(point: Point) -> Spec:
    # For the table behind a chart without anything measured.
    theory = format_real(float(point["theory"]))
    return {"epsilon": float(point["epsilon"]), "name": THEORY, "told": theory, "theory": theory}


def _axis(field: str, title: str, numbers: Sequence[float], channel: str) -> Spec:
    low, high = min(n for n in numbers if n > 0) / ROOM, max(numbers) * ROOM
    ticks = {"values": [tick for tick in TICKS if low <= tick <= high], "format": "~g"}
    return number_axis(field, (low, high), {**ticks, **title_axis(title, channel)}, type="log")


def _line(points: Sequence[Point], axes: Mapping[str, Spec]) -> Spec:
    # Dashed: it differs from what was measured also without colour.
    theory = [
        {"epsilon": float(point["epsilon"]), "error": float(point["theory"]), "name": THEORY}
        for point in points
        if point["theory"] > 0
    ]
    mark = {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.8, "color": COLOUR["quiet"]}
    return {"data": {"values": theory}, "mark": mark, "encoding": dict(axes)}


def _marks(axes: Mapping[str, Spec], values: Sequence[Spec]) -> Spec:
    names = {value["name"] for value in values}
    measured = [series for series in SERIES.values() if series[0] in names]
    mark = {"type": "point", "filled": True, "size": 85, "opacity": 1}
    series_encoding = colour_and_shape("name", measured, {"offset": 38})
    return {"mark": mark, "encoding": {**axes, **series_encoding}}


def _headline(points: Sequence[Point]) -> str:
    """The error at the measured epsilon nearest to 1, and what theory says of it."""
    measured = [point for point in points if point.get("counts") is not None]
    if not measured:
        return "Theory says how far a count is off on average"
    nearest = min(measured, key=lambda point: abs(float(point["epsilon"]) - 1))
    headline = (
        f"At epsilon {format_real(float(nearest['epsilon']))} a count is off by "
        f"{format_real(float(nearest['counts']))} on average, by theory "
        f"{format_real(float(nearest['theory']))}"
    )
    if nearest.get("consistent") is None:
        return headline
    consistent = format_real(float(nearest["consistent"]))
    return f"{headline}; made to agree with the others, by {consistent}"
