"""Lines: a mean against x for each series, with a band from the least run to the most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import Spec, make_empty_chart
from shoal.studies.pages.axes import (
    HEIGHT,
    LOW,
    choose_log_ticks,
    compute_positions,
    filter_panel,
    make_panel_title,
    make_pixel_scale,
    make_standalone_chart,
    make_x_axis,
    make_y_axis,
)
from shoal.studies.pages.paper_marks import PanelPlace, make_paper_marks
from shoal.studies.pages.series import (
    Columns,
    Rows,
    arrange_panels,
    average_rows,
    has_differing_runs,
    has_repeated_runs,
    is_on_scale,
    list_printed_values,
    list_series_names,
    make_name_scale,
)
from shoal.studies.pages.series_style import INNER, Series, find_series


def draw_lines(
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
    log_x: bool = False,
    log_y: bool = False,
    theirs: Rows = (),
) -> Spec:
    """The mean of ``y`` against ``x``, a line for each value of ``by``, a panel for each ``panel``.

    ``theirs`` are the paper's own figures: rows with the same columns and the words ``said``. On a
    logarithmic scale what is nothing is drawn at its foot; the table behind tells it as it is.
    """
    of = Columns(x, y, by, panel or "", labels or {}, unit)
    values = average_rows(rows, of)
    if not values:
        return make_empty_chart("Nothing was measured")
    shown, scaled = list_series_names(rows, of.panel, of), is_on_scale(rows, of)
    drawing = _Lines(
        of,
        values,
        find_series(rows, by, of),
        shown,
        list_printed_values(theirs, of, scaled),
        scaled,
        log_x,
        log_y,
    )
    body = (
        arrange_panels(shown, INNER, drawing.panel)
        if len(shown) > 1
        else drawing.panel("", INNER - 62, True)
    )
    return make_standalone_chart(
        title, about, drawing.values(), of.list_headings(has_repeated_runs(values)), body
    )


@dataclass(frozen=True)
class _Lines:
    of: Columns
    means: Sequence[Spec]
    series: Series
    shown: Sequence[str]
    theirs: Sequence[Spec]
    scaled: bool
    log_x: bool
    log_y: bool

    def numbers(self) -> list[float]:
        """Everything that the scale must hold."""
        own = [mean[key] for mean in self.means for key in ("least", "most")]
        return [*own, *(figure["mean"] for figure in self.theirs)]

    def values(self) -> list[Spec]:
        """With what is drawn: never below the foot of a logarithmic scale."""
        foot = choose_log_ticks(self.numbers())[0] if self.log_y else float("-inf")
        return [
            {
                **mean,
                "at": max(mean["mean"], foot),
                "low": max(mean["least"], foot),
                "high": max(mean["most"], foot),
            }
            for mean in self.means
        ]

    def panel(self, name: str, width: float, first: bool) -> Spec:
        """One panel, or the whole chart."""
        height = LOW if name else HEIGHT
        up = make_y_axis(
            self.numbers(), self.of, log=self.log_y, zero=False, first=first, height=height
        )
        xs = [value["x"] for value in (*self.means, *self.theirs)]
        place = PanelPlace(self._x_scale(xs), make_pixel_scale(up, height), width)
        along = make_x_axis(xs, self.of, scaled=self.scaled, log=self.log_x, width=width)
        behind, before = make_paper_marks(self._panel_figures(name), self.series, place)
        line, points = self._line_layers(name, up)
        return {
            **make_panel_title(name, self.shown, width),
            **({"width": width} if name else {}),
            "height": height,
            "encoding": {"x": along, "y": up},
            "layer": [*self._spread_layers(name, up), line, *behind, points, *before],
        }

    def _panel_figures(self, panel: str) -> list[Spec]:
        foot = choose_log_ticks(self.numbers())[0] if self.log_y else float("-inf")
        return [
            {**figure, "mean": max(figure["mean"], foot)}
            for figure in self.theirs
            if figure["panel"] in (None, panel or self.shown[0])
        ]

    def _spread_layers(self, name: str, up: Spec) -> list[Spec]:
        """From the least to the most: a band, or a stroke where x is no number."""
        if not has_differing_runs(self.means):
            return []
        mark: Any = {"type": "area", "opacity": 0.16} if self.scaled else {"type": "rule"}
        ends = {"y": {**up, "field": "low"}, "y2": {"field": "high"}, **self._offset()}
        coloured = self.series.looks(("color",))
        return [{**filter_panel(name), "mark": mark, "encoding": ends | coloured}]

    def _line_layers(self, name: str, up: Spec) -> tuple[Spec, Spec]:
        y = {"y": {**up, "field": "at"}, **self._offset()}
        colour = self.series.looks(("color", "strokeDash"))
        colour["strokeDash"]["legend"] = None
        marks = {"type": "point", "filled": True, "opacity": 1}
        looks = self.series.looks() | self.series.sizes()
        return (
            {
                **filter_panel(name),
                "mark": {"type": "line", "strokeWidth": 2.2},
                "encoding": y | colour,
            },
            {**filter_panel(name), "mark": marks, "encoding": y | looks},
        )

    def _offset(self) -> Spec:
        """Where x is no number, series stand a little apart, so that their strokes do."""
        if self.scaled or len(self.series.names) == 1:
            return {}
        scale = {"domain": list(self.series.names), "paddingOuter": 3}
        return {"xOffset": {"field": "by", "type": "nominal", "sort": None, "scale": scale}}

    def _x_scale(self, xs: Sequence[Any]) -> Callable[[Any], float]:
        if not self.scaled:
            return make_name_scale(list(dict.fromkeys(xs)))
        distinct = sorted(set(xs))
        at = dict(
            zip(distinct, compute_positions(distinct, self.log_x and distinct[0] > 0), strict=True)
        )
        return lambda x: at[x]
