"""The chart of a comparison: releases by loss and risk, the frontier in front, with names.

Points are dicts as in a comparison's JSON, those at one place joined into one, with
``on_frontier`` by the risk that is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.axes import number_axis, title_axis
from shoal.reports.charts.point_names import (
    LINE_MARKS,
    NAME_MARKS,
    PLACES,
    Box,
    Place,
    Spot,
    cover_points,
    cover_steps,
    cover_words,
    draw_baseline,
    find_spot_along_line,
    place_names,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import format_percent

Point = Mapping[str, Any]

WORDS = {
    "identity": "chance to pick a person's row",
    "value": "share of people whose value is guessed right",
}
"""Each risk in the words of its axis."""
HEIGHT, PLOT = 400, 600
"""The height and width of the drawing, in which labels are placed."""
MIN_RISK = 1e-6
"""No risk is drawn below: a logarithm has no zero."""


def format_risk(point: Point, name: str) -> str:
    """The risk ``name`` of a point: odds for identity, a share for a value, a dash for none."""
    risk = point[f"risk_{name}"]
    if risk is None:
        return "–"
    return format_odds(risk) if name == "identity" else format_percent(risk, 1)


def format_odds(risk: float) -> str:
    """A chance as one in so many.

    >>> format_odds(0.356), format_odds(0.0123), format_odds(1)
    ('1 in 2.8', '1 in 81', '1 in 1')
    """
    among = 1 / max(risk, MIN_RISK)
    return f"1 in {among:.2g}" if among < 10 else f"1 in {among:,.0f}"


def chart_frontier(points: Sequence[Point], risk: str) -> Spec:
    """Each release by loss and risk; the frontier in front, with names where there is room."""
    points = [point for point in points if point[f"risk_{risk}"] is not None]
    if not points:
        return make_empty_chart("No release could be made")
    values = _values(points, risk)
    base = None if risk == "identity" else points[0]["base"]
    scale = _scale(values, risk, base)
    pixels, line = _place_points(values, scale)
    baseline: list[Spec] = []
    taken = line
    if base is not None:
        words, y, spot = _place_baseline(base, scale, pixels, line)
        baseline = draw_baseline(base, words, spot)
        taken = [*line, cover_words(words, y, spot, (PLOT, HEIGHT)), (0, y - 1, PLOT, y + 1)]
    labels = [str(value["label"]) for value in values]
    places = place_names(pixels, labels, (PLOT, HEIGHT), taken)
    for value, place in zip(values, places, strict=True):
        value["place"] = place
    return make_chart(
        _headline(values, risk, base),
        f"Points: releases by loss of detail (across) and {WORDS[risk]} (up). The frontier is a "
        "line from the least loss to the least risk.",
        values,
        {"method": "Method", "rule": "Rule", "told": "Risk", "loss": "Loss", "where": "Frontier"},
        height=HEIGHT,
        encoding={"x": _loss_axis(scale), "y": _risk_axis(scale, risk)},
        layer=[*baseline, *_marks(), *map(_label, PLACES)],
    )


def _values(points: Sequence[Point], risk: str) -> list[Spec]:
    names = shorten_rules([str(point["rule"]) for point in points])
    values = [
        {
            "method": point["method"],
            "rule": point["rule"],
            "loss": point["loss"],
            "risk": max(point[f"risk_{risk}"], MIN_RISK),
            "told": format_risk(point, risk),
            "label": f"{str(point['method']).partition(',')[0]} {name}".strip(),
            "frontier": bool(point["on_frontier"]),
            "where": "on the frontier" if point["on_frontier"] else "",
        }
        for point, name in zip(points, names, strict=True)
    ]
    return sorted(values, key=lambda value: (not value["frontier"], value["loss"], -value["risk"]))


def shorten_rules(rules: Sequence[str]) -> list[str]:
    """Rules without the parts that all of them share.

    >>> shorten_rules(["k-anonymity k=2 & alpha-k", "k-anonymity k=5 & alpha-k"])
    ['k=2', 'k=5']
    """
    parts = [rule.split(" & ") for rule in rules]
    shared = set.intersection(*map(set, parts)) if len(set(rules)) > 1 else set()
    own = [[part for part in rule_parts if part not in shared] for rule_parts in parts]
    models = {part.partition(" ")[0] for rule_parts in own for part in rule_parts}
    if len(models) == 1:
        own = [[part.partition(" ")[2] or part for part in rule_parts] for rule_parts in own]
    return [" & ".join(rule_parts) for rule_parts in own]


_FRONT = {"filter": "datum.frontier"}


def _scale(values: Sequence[Spec], risk: str, base: float | None) -> Spec:
    risks = [float(value["risk"]) for value in values] + ([] if base is None else [base])
    low, high = min(risks), max(risks)
    if risk == "identity":
        ends = (low / 1.5, min(1.0, high * 1.5))
    else:
        room = max(0.01, 0.12 * (high - low))
        ends = (max(0.0, low - room), min(1.0, high + room))
    widest = max(float(value["loss"]) for value in values)
    return {"x": (0.0, 1.1 * widest or 1.0), "y": ends, "log": risk == "identity"}


def _pixel(loss: float, risk: float, scale: Spec) -> Place:
    (left, right), (low, high) = scale["x"], scale["y"]
    transform = math.log if scale["log"] else float
    down = (transform(high) - transform(risk)) / (transform(high) - transform(low))
    return PLOT * (loss - left) / (right - left), HEIGHT * down


def _place_points(values: Sequence[Spec], scale: Spec) -> tuple[list[Place], list[Box]]:
    """Where the points are, and what the frontier's line covers."""
    pixels = [_pixel(value["loss"], value["risk"], scale) for value in values]
    front = [pixel for pixel, value in zip(pixels, values, strict=True) if value["frontier"]]
    return pixels, cover_steps(front)


def _place_baseline(
    base: float, scale: Spec, pixels: Sequence[Place], line: Sequence[Box]
) -> tuple[str, float, Spot]:
    """The words of the baseline, its height, and where along it they cover no point."""
    words, y = f"guessing alone {format_percent(base, 1)}", _pixel(0, base, scale)[1]
    order = sorted(LINE_MARKS, reverse=True)  # the right end first
    taken = [*cover_points(pixels), *line]
    return words, y, find_spot_along_line(words, y, taken, (PLOT, HEIGHT), order)


def _loss_axis(scale: Spec) -> Spec:
    axis = {**title_axis("loss of detail →", "x"), "format": ".2~f", "tickCount": 6}
    return number_axis("loss", scale["x"], axis)


def _risk_axis(scale: Spec, risk: str) -> Spec:
    title = title_axis(WORDS[risk], "y")
    if not scale["log"]:
        axis = {**title, "format": ".0%", "tickCount": 6}
        return number_axis("risk", scale["y"], axis, zero=False)
    labels = "'1 in ' + format(1/datum.value, ',.0f')"
    low, high = scale["y"]
    among = [factor * 10**power for power in range(7) for factor in (1, 2, 5)]
    axis = {
        **title,
        "values": [1 / n for n in among if low <= 1 / n <= high],
        "labelExpr": labels,
    }
    return number_axis("risk", scale["y"], axis, zero=False, type="log")


def _marks() -> list[Spec]:
    # Points on the frontier are full, the others small and open.
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
    tones = {
        "condition": {"test": "datum.frontier", "value": COLOUR["ink"]},
        "value": COLOUR["quiet"],
    }
    return {
        "mark": {"type": "text", **NAME_MARKS[place]},
        "transform": [{"filter": {"field": "place", "equal": place}}],
        "encoding": {"text": {"field": "label"}, "color": tones},
    }


def _headline(values: Sequence[Spec], risk: str, base: float | None) -> str:
    front = [value for value in values if value["frontier"]]
    first, last = front[0], front[-1]
    if len({value["told"] for value in front}) == 1:
        return f"{first['label']} has the least loss and the least risk"
    headline = (
        f"From {first['label']} to {last['label']} the risk falls from {first['told']} to "
        f"{last['told']}, and loss rises from {first['loss']:.3f} to {last['loss']:.3f}"
    )
    if base is None:
        return headline
    return f"{headline}; guessing alone gives {format_percent(base, 1)}"
