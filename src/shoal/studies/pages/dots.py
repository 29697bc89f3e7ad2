"""Dots: a dot for every row, two measures against each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shoal.reports.charts.theme import COLOUR, Spec, make_empty_chart
from shoal.studies.pages.axes import choose_log_ticks, find_scale_ends, make_standalone_chart
from shoal.studies.pages.series import Columns, Rows, is_number
from shoal.studies.pages.series_style import find_series


def draw_dots(
    rows: Rows,
    *,
    x: str,
    y: str,
    by: str,
    title: str,
    about: str,
    labels: Mapping[str, str] | None = None,
    diagonal: bool = False,
    log_x: bool = False,
    log_y: bool = False,
) -> Spec:
    """Every row by ``x`` and ``y``; ``diagonal`` draws the line on which the two are the same."""
    of = Columns(x, y, by, "", labels or {})
    values = [
        {"by": of.name_value(by, row.get(by)), "x": float(row[x]), "mean": float(row[y])}
        for row in rows
        if is_number(row.get(x)) and is_number(row.get(y))
    ]
    if not values:
        return make_empty_chart("Nothing was measured")
    scales = _choose_scales(values, diagonal, log_x, log_y)
    # Full colour, for contrast; a fine edge keeps dots that touch apart.
    marks = {
        "type": "point",
        "filled": True,
        "size": 46,
        "opacity": 1,
        "stroke": COLOUR["paper"],
        "strokeWidth": 0.7,
    }
    encoding = {
        "x": _make_axis("x", of.word(x), scales[0]),
        "y": _make_axis("mean", of.word(y), scales[1]),
    }
    looks = find_series(rows, by, of).looks()
    return make_standalone_chart(
        title,
        about,
        values,
        of.list_headings(many=False),
        {
            "height": 400,
            "encoding": encoding,
            "layer": [
                *(_equality_layers(scales) if diagonal else ()),
                {"mark": marks, "encoding": looks},
            ],
        },
    )


def _choose_scales(
    values: Sequence[Spec], same: bool, log_x: bool, log_y: bool
) -> tuple[Spec, Spec]:
    """The scales of both; alike where both are to be read together and fill them."""
    xs, ys = ([value[key] for value in values] for key in ("x", "mean"))
    if same and log_x == log_y and _is_alike(xs, ys, log_x):
        both = [*xs, *ys]
        return _choose_scale(both, log_x), _choose_scale(both, log_y)
    return _choose_scale(xs, log_x), _choose_scale(ys, log_y)


def _is_alike(xs: Sequence[float], ys: Sequence[float], log: bool) -> bool:
    """Whether the dots would fill a third of each of two like scales at the least."""
    if log and min(*xs, *ys) > 0:
        xs, ys = ([math.log(number) for number in some] for some in (xs, ys))
    small, large = sorted(max(some) - min(some) for some in (xs, ys))
    return 3 * small >= large


def _choose_scale(numbers: Sequence[float], log: bool) -> Spec:
    if log and min(numbers) > 0:
        ticks = choose_log_ticks(numbers)
        return {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False, "ticks": ticks}
    return {"domain": list(find_scale_ends(numbers)), "nice": True}


def _make_axis(field: str, words: str, scale: Spec) -> Spec:
    scale = dict(scale)
    own = {"values": scale.pop("ticks")} if "ticks" in scale else {"tickCount": 6}
    axis = {"title": words, "titleAnchor": "middle", "format": ",~r", **own}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def _equality_layers(scales: tuple[Spec, Spec]) -> list[Spec]:
    low = max(scale["domain"][0] for scale in scales)
    high = min(scale["domain"][1] for scale in scales)
    if low >= high:
        return []
    data = {"values": [{"x": low, "mean": low}, {"x": high, "mean": high, "said": "the same"}]}
    line = {"type": "line", "strokeDash": [5, 4], "color": COLOUR["quiet"], "strokeWidth": 1.5}
    words = {"type": "text", "align": "right", "dx": -14, "dy": 2, "color": COLOUR["quiet"]}
    text = {"text": {"field": "said"}}
    return [
        {"data": data, "mark": line, "encoding": {}},
        {"data": {"values": data["values"][1:]}, "mark": words, "encoding": text},
    ]
