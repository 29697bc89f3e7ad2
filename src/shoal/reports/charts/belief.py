"""A chart of what differential privacy means: belief after a release against belief before it.

Numbers are those of ``semantic_privacy``'s JSON. Curves are those of ``shoal.dp.beliefs``, the
requested ε first: ``epsilon``, ``exponent``, ``points``. The requested ε is a band in the main
colour; thin lines show other ε under the same neighbours and δ, so that a reader can choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.axes import draw_diagonal, percent_axis
from shoal.reports.charts.theme import COLOUR, Spec, make_chart
from shoal.reports.format import format_percent, speak_share

SQUARE = 420
TABULATED = tuple(step / 10 for step in range(11))
"""The beliefs in the table behind the chart."""
FAR = 4.0
"""The largest exponent whose place still has room for a name to its left."""

Numbers = Mapping[str, Any]


def chart_beliefs(meaning: Numbers, curves: Sequence[Numbers]) -> Spec:
    """Belief after against belief before, for the requested ε and a few others."""
    requested, *others = curves
    stated = meaning["beliefs"][-1] if meaning["beliefs"] else meaning["even"]
    axes = (
        percent_axis("before", "belief before the release →", "x"),
        percent_axis("high", "belief after", "y"),
    )
    failing = float(stated["failing"])
    exception = f", but for a chance of {failing:.2g}" if failing else ""
    texts = {"told": "before", "least": "low", "most": "high"}
    values = [
        {**point, **{name: _share(point[key]) for name, key in texts.items()}}
        for point in requested["points"]
        if point["before"] in TABULATED
    ]
    return make_chart(
        f"By a person's own row, whoever believes {_share(stated['before'])} before believes at "
        f"least {_share(stated['at_least'])} and at most {_share(stated['at_most'])} after"
        f"{exception}",
        "Band: where a belief about one person can lie after the release (up), for each belief "
        "before it (across); on the dashed line nothing is learnt. Thin lines: the most that is "
        "believed after, for other ε.",
        values,
        {"told": "Belief before", "least": "After, at least", "most": "After, at most"},
        height=SQUARE,
        layer=[
            _band(requested["points"], axes),
            _thin_lines(others, axes),
            _names(others, "ink", axes),
            _names([requested], "after", axes),
            draw_diagonal("before", "high", 1, axes),
            _mark_stated(stated, axes),
        ],
    )


def _share(value: float) -> str:
    return speak_share(format_percent(value, 1))


def _band(curve: Sequence[Numbers], axes: tuple[Spec, Spec]) -> Spec:
    line = {"type": "line", "color": COLOUR["after"], "strokeWidth": 2.5}
    encoding = {"x": axes[0], "y": axes[1]}
    return {
        "data": {"values": curve},
        "layer": [
            {
                "mark": {"type": "area", "fill": COLOUR["band"]},
                "encoding": {**encoding, "y2": {"field": "low"}},
            },
            {"mark": line, "encoding": encoding},
            {"mark": line, "encoding": {**encoding, "y": {**axes[1], "field": "low"}}},
        ],
    }


def _thin_lines(curves: Sequence[Numbers], axes: tuple[Spec, Spec]) -> Spec:
    lines = [
        {**point, "name": f"ε {curve['epsilon']:g}"}
        for curve in curves
        for point in curve["points"]
    ]
    mark = {"type": "line", "color": COLOUR["quiet"], "strokeWidth": 1}
    encoding = {"x": axes[0], "y": axes[1], "detail": {"field": "name"}}
    return {"data": {"values": lines}, "mark": mark, "encoding": encoding}


def _names(curves: Sequence[Numbers], tone: str, axes: tuple[Spec, Spec]) -> Spec:
    """Each line's ε where it is furthest from the diagonal: there before and after add up to 1.

    The name of a line at the very edge stands a little further in.
    """
    places = [(c["epsilon"], 1 / (1 + math.exp(min(c["exponent"], FAR) / 2))) for c in curves]
    values = [{"before": at, "high": 1 - at, "name": f"ε {epsilon:.3g}"} for epsilon, at in places]
    mark = {
        "type": "text",
        "align": "right",
        "dx": -5,
        "dy": -5,
        "color": COLOUR[tone],
        "fontWeight": "bold" if tone == "after" else "normal",
    }
    encoding = {"x": axes[0], "y": axes[1], "text": {"field": "name"}}
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _mark_stated(belief: Numbers, axes: tuple[Spec, Spec]) -> Spec:
    # The belief that the title states, as an upright line through the band.
    value = {"before": belief["before"], "low": belief["at_least"], "high": belief["at_most"]}
    mark = {"type": "rule", "color": COLOUR["before"], "strokeWidth": 3}
    encoding = {"x": axes[0], "y": axes[1], "y2": {"field": "low"}}
    return {"data": {"values": [value]}, "mark": mark, "encoding": encoding}
