"""Bars: means side by side, with a stroke from the least run to the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec, clean_text, make_empty_chart
from shoal.studies.pages.axes import (
    HEIGHT,
    LOW,
    filter_panel,
    make_panel_title,
    make_standalone_chart,
    make_x_axis,
    make_y_axis,
)
from shoal.studies.pages.paper_marks import LINE, WORDS, add_halo, fold_words, is_known
from shoal.studies.pages.series import (
    Columns,
    Rows,
    arrange_panels,
    average_rows,
    format_exactly,
    has_differing_runs,
    has_repeated_runs,
    is_number,
    list_printed_values,
    list_series_names,
)
from shoal.studies.pages.series_style import INNER, Series, find_series

FEW = 26
"""So many bars beside each other have room for their numbers."""
APART, TOUCHING = 0.3, 0.08
"""What is free of the room of one place on the axis, and of one bar's."""


def draw_bars(
    rows: Rows,
    *,
    x: str,
    y: str,
    by: str,
    title: str,
    about: str,
    labels: Mapping[str, str] | None = None,
    panel: str | None = None,
    unit: str = "",
    theirs: Rows = (),
) -> Spec:
    """The mean of ``y`` for each ``x``, a bar for each value of ``by``, a panel for each ``panel``.

    ``theirs`` are the paper's own figures: rows with the same columns and the words ``said``.
    """
    of = Columns(x, y, by, panel or "", labels or {}, unit)
    named_rows = _name_places(rows, x)
    values = average_rows(named_rows, of)
    if not values:
        return make_empty_chart("Nothing was measured")
    shown, paper = (
        list_series_names(named_rows, of.panel, of),
        list_printed_values(_name_places(theirs, x), of, scaled=False),
    )
    drawing = _Bars(
        of, values, find_series(named_rows, by, of), shown, paper, _order_places(rows, x)
    )
    body = (
        arrange_panels(shown, INNER, drawing.panel)
        if len(shown) > 1
        else drawing.panel("", INNER - 62, True)
    )
    return make_standalone_chart(
        title, about, drawing.values(), of.list_headings(has_repeated_runs(values)), body
    )


def _name_place(value: Any) -> str:
    """A place on the axis: a number is a name here."""
    return format_exactly(value) if is_number(value) else clean_text(value)


def _name_places(rows: Rows, x: str) -> list[Spec]:
    return [{**row, x: _name_place(row[x])} for row in rows if row.get(x) is not None]


def _order_places(rows: Rows, x: str) -> list[str]:
    """The places from left to right: numbers from the least, names as they came."""
    values = [row[x] for row in rows if row.get(x) is not None]
    if all(is_number(value) for value in values):
        values = sorted(values)
    return list(dict.fromkeys(_name_place(value) for value in values))


@dataclass(frozen=True)
class _Bars:
    of: Columns
    means: Sequence[Spec]
    series: Series
    shown: Sequence[str]
    theirs: Sequence[Spec]
    order: Sequence[str]

    def values(self) -> list[Spec]:
        """With the number that stands on the bar."""
        return [{**mean, "text": _format_short(mean["mean"])} for mean in self.means]

    def panel(self, name: str, width: float, first: bool) -> Spec:
        """One panel, or the whole chart."""
        numbers = [mean[key] for mean in self.means for key in ("least", "most")]
        numbers += [figure["mean"] for figure in self.theirs]
        height = LOW if name else HEIGHT
        up = make_y_axis(
            numbers,
            self.of,
            log=False,
            zero=True,
            first=first,
            height=height,
            room=self._headroom(width),
        )
        along = make_x_axis(self.order, self.of, scaled=False, log=False, width=width)
        along["scale"] = {"domain": list(self.order), "paddingInner": APART}
        here = name or self.shown[0]
        theirs = [
            self._add_words(figure, here, width)
            for figure in self.theirs
            if figure["panel"] in (None, here)
        ]
        return {
            **make_panel_title(name, self.shown, width),
            **({"width": width} if name else {}),
            "height": height,
            "encoding": {"x": along, "y": up},
            "layer": [
                *self._bar_layers(name, up),
                *self._stroke_layers(theirs, width),
                *self._number_layers(name, up),
                *self._word_layers(theirs, up),
            ],
        }

    def _bar_width(self, width: float, known: bool) -> float:
        """Pixels of one bar, or of all at one place."""
        place = width / len(self.order) * (1 - APART)
        return place / len(self.series.names) * (1 - TOUCHING) if known else place

    def _has_numbers(self) -> bool:
        return len(self.means) <= FEW

    def _headroom(self, width: float) -> float:
        """Pixels above the highest bar for its number and the paper's words."""
        lines = [len(self._fold(figure, width)) for figure in self.theirs]
        return 16 * self._has_numbers() + LINE * max(lines, default=0)

    def _fold(self, figure: Spec, width: float) -> list[str]:
        return fold_words(figure["said"], self._bar_width(width, is_known(figure, self.series)))

    def _offset(self) -> Spec:
        if self.series.is_unnamed:
            return {}
        scale = {"domain": list(self.series.names), "paddingInner": TOUCHING}
        return {"xOffset": {"field": "by", "type": "nominal", "sort": None, "scale": scale}}

    def _bar_layers(self, name: str, up: Spec) -> list[Spec]:
        here, offset = filter_panel(name), self._offset()
        layers: list[Spec] = [
            {**here, "mark": "bar", "encoding": offset | self.series.looks(("color",))}
        ]
        if has_differing_runs(self.means):
            ends = {"y": {**up, "field": "least"}, "y2": {"field": "most"}}
            whisker = {"type": "rule", "color": COLOUR["ink"], "strokeWidth": 1.4}
            layers.append({**here, "mark": whisker, "encoding": ends | offset})
        return layers

    def _number_layers(self, name: str, up: Spec) -> list[Spec]:
        if not self._has_numbers():
            return []
        top = {"y": {**up, "field": "most"}, "text": {"field": "text"}} | self._offset()
        words = {"type": "text", "baseline": "bottom", "dy": -4, "fontSize": 11.5}
        marks = (add_halo(words), {**words, "color": COLOUR["quiet"]})
        return [{**filter_panel(name), "mark": mark, "encoding": top} for mark in marks]

    def _add_words(self, figure: Spec, panel: str, width: float) -> Spec:
        """A figure of the paper's with its words, and how high what they stand on is."""
        known = is_known(figure, self.series)
        under = [
            bar["most"]
            for bar in self.means
            if (bar["panel"] or panel, bar["x"]) == (panel, figure["x"])
            and (not known or bar["by"] == figure["by"])
        ]
        lines = self._fold(figure, width)
        return {
            **figure,
            "lines": lines,
            "top": max([figure["mean"], *under]),
            "known": known,
            "dy": -4 - 16 * self._has_numbers() - LINE * (len(lines) - 1),
        }

    def _group_figures(self, theirs: Sequence[Spec]) -> list[tuple[bool, list[Spec], Spec]]:
        """The figures of one series each, and those of none, with where they are drawn."""
        groups = [
            (known, [figure for figure in theirs if figure["known"] == known])
            for known in (True, False)
        ]
        return [
            (known, figures, self._offset() if known else {})
            for known, figures in groups
            if figures
        ]

    def _stroke_layers(self, theirs: Sequence[Spec], width: float) -> list[Spec]:
        """The paper's figures as strokes across their bars, edged: they are seen on any colour."""
        return [
            {
                "data": {"values": figures},
                "encoding": offset,
                "mark": {
                    "type": "tick",
                    "orient": "horizontal",
                    "thickness": thick,
                    "opacity": 1,
                    "bandSize": self._bar_width(width, known) + 6,
                    "color": COLOUR[tone],
                },
            }
            for known, figures, offset in self._group_figures(theirs)
            for thick, tone in ((6, "paper"), (2.4, "ink"))
        ]

    def _word_layers(self, theirs: Sequence[Spec], up: Spec) -> list[Spec]:
        style = {**WORDS, "baseline": "bottom", "align": "center", "dy": {"expr": "datum.dy"}}
        top = {"y": {**up, "field": "top"}, "text": {"field": "lines"}}
        return [
            {"data": {"values": figures}, "mark": mark, "encoding": top | offset}
            for _, figures, offset in self._group_figures(theirs)
            for mark in (add_halo(style), {**style, "color": COLOUR["ink"]})
        ]


def _format_short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
