"""The bullet chart: what each requirement reached against what it needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.pages.axes import names_axis
from shoal.pages.drawing import COLOUR, Spec, chart, clean
from shoal.pages.words import listed, number


@dataclass(frozen=True)
class Reached:
    """One requirement: what was reached and what was needed.

    ``met`` comes from the model, which compares exactly; the chart never compares floats.
    """

    label: str
    value: float
    needed: float
    met: bool
    at_least: bool = True
    strict: bool = False
    """What was needed itself is not enough."""


def reached(marks: Sequence[Reached]) -> Spec:
    """What each requirement reached against what it needed; the tinted side is the safe one."""
    values = [_bullet(mark) for mark in marks]
    missed = [clean(mark.label) for mark in marks if not mark.met]
    colour = {
        "condition": {"test": "datum.met", "value": COLOUR["after"]},
        "value": COLOUR["alarm"],
    }
    return chart(
        f"Not met: {listed(missed)}" if missed else "Every requirement is met",
        "Bullets: each bar is the value reached, the upright mark what was needed.",
        values,
        {"label": "Requirement", "text": "Reached", "need": "Needed", "verdict": "Verdict"},
        height={"step": 40},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _bullet_axis("ratio"),
        },
        layer=[
            _bullet_bar(18, COLOUR["track"], "floor", "ceiling"),
            _bullet_bar(18, COLOUR["band"], "safe_from", "safe_to"),
            {"mark": {"type": "bar", "height": 7}, "encoding": {"color": colour}},
            _bullet_needed(),
            _bullet_text(colour),
        ],
    )


def _bullet(mark: Reached) -> dict[str, Any]:
    sign = "✓" if mark.met else "✗"
    words = ("more than", "less than") if mark.strict else ("at least", "at most")
    need = f"{words[not mark.at_least]} {number(mark.needed)}"
    return {
        "label": clean(mark.label),
        "ratio": _ratio(mark.value, mark.needed),
        "text": number(mark.value),
        "need": need,
        "verdict": "met" if mark.met else "not met",
        "met": mark.met,
        "line": f"{sign} {number(mark.value)} (needs {need})",
        "one": 1,
        "floor": 0,
        "ceiling": 2,
        "safe_from": 1 if mark.at_least else 0,
        "safe_to": 2 if mark.at_least else 1,
    }


def _bullet_axis(field: str) -> Spec:
    # The bars end at 2; the rest of the scale is room for the words.
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 3.9], "nice": False},
        "axis": None,
    }


def _bullet_bar(height: int, colour: str, start: str, end: str) -> Spec:
    return {
        "mark": {"type": "bar", "height": height, "color": colour},
        "encoding": {"x": _bullet_axis(start), "x2": {"field": end}},
    }


def _bullet_needed() -> Spec:
    return {
        "mark": {"type": "tick", "size": 26, "thickness": 2.5, "color": COLOUR["ink"]},
        "encoding": {"x": _bullet_axis("one")},
    }


def _bullet_text(colour: Spec) -> Spec:
    return {
        "mark": {"type": "text", "align": "left", "dx": 12, "fontSize": 13},
        "encoding": {
            "x": _bullet_axis("ceiling"),
            "text": {"field": "line", "type": "nominal"},
            "color": colour,
        },
    }


def _ratio(value: float, needed: float) -> float:
    """Where the bar ends on a scale whose 1 is what was needed, cut at 2."""
    if math.isnan(value):
        return 0.0
    if needed <= 0:
        return 1.0 if value <= needed else 2.0
    return min(2.0, max(0.0, value / needed))
