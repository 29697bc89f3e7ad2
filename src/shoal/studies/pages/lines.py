"""Lines: a mean against x for each series, with a band from the least run to the most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import Spec, make_empty_chart
from shoal.studies.pages.axes import (
    HEIGHT,
    LOW,
    across,
    between,
    headed,
    only,
    powers,
    rise,
    standing,
    upwards,
)
from shoal.studies.pages.looks import INNER, Series, series
from shoal.studies.pages.printed import Place, paper_marks
from shoal.studies.pages.series import (
    Columns,
    Rows,
    averaged,
    differing,
    names,
    on_scale,
    panels,
    placed,
    printed,
    repeated,
)


def lines(
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
    values = averaged(rows, of)
    if not values:
        return make_empty_chart("Nothing was measured")
    shown, scaled = names(rows, of.panel, of), on_scale(rows, of)
    drawing = _Lines(
        of, values, series(rows, by, of), shown, printed(theirs, of, scaled), scaled, log_x, log_y
    )
    body = (
        panels(shown, INNER, drawing.panel)
        if len(shown) > 1
        else drawing.panel("", INNER - 62, True)
    )
    return standing(title, about, drawing.values(), of.told(repeated(values)), body)


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
        own = [one[key] for one in self.means for key in ("least", "most")]
        return [*own, *(one["mean"] for one in self.theirs)]

    def values(self) -> list[Spec]:
        """With what is drawn: never below the foot of a logarithmic scale."""
        foot = powers(self.numbers())[0] if self.log_y else float("-inf")
        return [
            {
                **one,
                "at": max(one["mean"], foot),
                "low": max(one["least"], foot),
                "high": max(one["most"], foot),
            }
            for one in self.means
        ]

    def panel(self, name: str, width: float, first: bool) -> Spec:
        """One panel, or the whole chart."""
        height = LOW if name else HEIGHT
        up = upwards(
            self.numbers(), self.of, log=self.log_y, zero=False, first=first, height=height
        )
        xs = [one["x"] for one in (*self.means, *self.theirs)]
        place = Place(self._places(xs), rise(up, height), width)
        along = across(xs, self.of, scaled=self.scaled, log=self.log_x, width=width)
        behind, before = paper_marks(self._printed(name), self.series, place)
        line, points = self._line(name, up)
        return {
            **headed(name, self.shown, width),
            **({"width": width} if name else {}),
            "height": height,
            "encoding": {"x": along, "y": up},
            "layer": [*self._spread(name, up), line, *behind, points, *before],
        }

    def _printed(self, panel: str) -> list[Spec]:
        foot = powers(self.numbers())[0] if self.log_y else float("-inf")
        return [
            {**one, "mean": max(one["mean"], foot)}
            for one in self.theirs
            if one["panel"] in (None, panel or self.shown[0])
        ]

    def _spread(self, name: str, up: Spec) -> list[Spec]:
        """From the least to the most: a band, or a stroke where x is no number."""
        if not differing(self.means):
            return []
        mark: Any = {"type": "area", "opacity": 0.16} if self.scaled else {"type": "rule"}
        ends = {"y": {**up, "field": "low"}, "y2": {"field": "high"}, **self._beside()}
        coloured = self.series.looks(("color",))
        return [{**only(name), "mark": mark, "encoding": ends | coloured}]

    def _line(self, name: str, up: Spec) -> tuple[Spec, Spec]:
        y = {"y": {**up, "field": "at"}, **self._beside()}
        colour = self.series.looks(("color", "strokeDash"))
        colour["strokeDash"]["legend"] = None
        marks = {"type": "point", "filled": True, "opacity": 1}
        looks = self.series.looks() | self.series.sizes()
        return (
            {**only(name), "mark": {"type": "line", "strokeWidth": 2.2}, "encoding": y | colour},
            {**only(name), "mark": marks, "encoding": y | looks},
        )

    def _beside(self) -> Spec:
        """Where x is no number, series stand a little apart, so that their strokes do."""
        if self.scaled or len(self.series.names) == 1:
            return {}
        scale = {"domain": list(self.series.names), "paddingOuter": 3}
        return {"xOffset": {"field": "by", "type": "nominal", "sort": None, "scale": scale}}

    def _places(self, xs: Sequence[Any]) -> Callable[[Any], float]:
        """How far from the left an x is, of all."""
        if not self.scaled:
            return placed(list(dict.fromkeys(xs)))
        seen = sorted(set(xs))
        at = dict(zip(seen, between(seen, self.log_x and seen[0] > 0), strict=True))
        return lambda x: at[x]
