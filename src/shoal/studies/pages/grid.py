"""A small printed table as a picture, with the rows that matter set off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec, clean_text, make_empty_chart
from shoal.studies.pages.axes import make_standalone_chart
from shoal.studies.pages.series import Rows
from shoal.studies.pages.series_style import INNER

LINE = 27
"""Pixels a row."""
EDGE = 14
"""Before the first column."""


def draw_grid(
    rows: Rows,
    *,
    columns: Sequence[str] | Mapping[str, str],
    title: str,
    about: str,
    marked: str | None = None,
) -> Spec:
    """Rows × columns of text; ``columns`` may map a column to its heading.

    The specification says in ``usermeta`` that it is ``printed``: a text is to stand beside it.
    Rows for which the column ``marked`` is true are set off: by a ground, a stroke and bold type.
    """
    if not rows:
        return make_empty_chart("The table has no rows")
    heads = (
        dict(columns)
        if isinstance(columns, Mapping)
        else {name: _format_heading(name) for name in columns}
    )
    texts = [[_format_cell(row.get(name)) for name in heads] for row in rows]
    places = _place_columns(list(heads.values()), texts)
    off = [bool(marked and row.get(marked)) for row in rows]
    values = [
        {
            **{f"c{j}": text for j, text in enumerate(line)},
            "row": i,
            "marked": mark,
            "set": "yes" if mark else "",
        }
        for i, (line, mark) in enumerate(zip(texts, off, strict=True))
    ]
    behind = {f"c{j}": head for j, head in enumerate(heads.values())}
    headings = behind | ({"set": "Set off"} if marked else {})
    spec = make_standalone_chart(
        title,
        about,
        values,
        headings,
        {
            "width": INNER,
            "height": LINE * (len(rows) + 1),
            "autosize": {"type": "pad"},
            "layer": [
                *_ground_layers(),
                *_heading_layers(list(heads.values()), places),
                *_cell_layers(places),
            ],
        },
    )
    return {**spec, "usermeta": {**spec["usermeta"], "printed": True}}


def _format_heading(name: str) -> str:
    return clean_text(name.replace("_", " "))


def _format_cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return clean_text(value)


def _place_columns(
    heads: Sequence[str], texts: Sequence[Sequence[str]]
) -> list[tuple[float, float]]:
    """Where each column begins, and how wide it is: by its longest text."""
    longest = [
        max(len(head), *(len(line[j]) for line in texts)) + 3 for j, head in enumerate(heads)
    ]
    unit = min(12.0, (INNER - EDGE) / sum(longest))
    starts = [EDGE + unit * sum(longest[:j]) for j in range(len(longest))]
    return [(start, unit * size - 6) for start, size in zip(starts, longest, strict=True)]


def _row_pixel(shift: float) -> Spec:
    return {"expr": f"{LINE} * (datum.row + 1 + {shift})"}


def _ground_layers() -> list[Spec]:
    only: Spec = {"transform": [{"filter": "datum.marked"}], "encoding": {}}
    whole = {"x": 0, "x2": INNER, "y": _row_pixel(0), "y2": _row_pixel(1)}
    line = {"type": "rect", **whole, "y": _row_pixel(0.96), "color": COLOUR["line"], "opacity": 1}
    return [
        {**only, "mark": {"type": "rect", **whole, "color": COLOUR["band"], "opacity": 1}},
        {
            **only,
            "mark": {"type": "rect", **whole, "x2": 4, "color": COLOUR["alarm"], "opacity": 1},
        },
        {"mark": line, "encoding": {}},
    ]


def _heading_layers(heads: Sequence[str], places: Sequence[tuple[float, float]]) -> list[Spec]:
    style = {
        "type": "text",
        "align": "left",
        "baseline": "middle",
        "color": COLOUR["quiet"],
        "fontSize": 12.5,
        "y": LINE / 2,
    }
    data: Spec = {"data": {"values": [{"row": 0}]}, "encoding": {}}
    layers: list[Spec] = [
        {**data, "mark": {**style, "x": x, "limit": room, "text": head}}
        for head, (x, room) in zip(heads, places, strict=True)
    ]
    rule = {"type": "rect", "x": 0, "x2": INNER, "y": LINE - 1.5, "y2": LINE, "opacity": 1}
    return [*layers, {**data, "mark": {**rule, "color": COLOUR["quiet"]}}]


def _cell_layers(places: Sequence[tuple[float, float]]) -> list[Spec]:
    style = {
        "type": "text",
        "align": "left",
        "baseline": "middle",
        "fontSize": 13,
        "color": COLOUR["ink"],
        "y": _row_pixel(0.5),
    }
    return [
        {
            "transform": [{"filter": "datum.marked" if bold else "!datum.marked"}],
            "mark": {**style, "x": x, "limit": room, "fontWeight": 650 if bold else 400},
            "encoding": {"text": {"field": f"c{j}", "type": "nominal"}},
        }
        for j, (x, room) in enumerate(places)
        for bold in (False, True)
    ]
