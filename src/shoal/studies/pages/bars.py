"""Bars: means side by side, with a stroke from the least run to the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec, clean_text, make_empty_chart
from shoal.studies.pages.axes import HEIGHT, LOW, across, headed, only, standing, upwards
from shoal.studies.pages.looks import INNER, Series, series
from shoal.studies.pages.printed import LINE, WORDS, folded, halo, is_known
from shoal.studies.pages.series import (
    Columns,
    Rows,
    averaged,
    differing,
    exact,
    is_number,
    names,
    panels,
    printed,
    repeated,
)

FEW = 26
"""So many bars beside each other have room for their numbers."""
APART, TOUCHING = 0.3, 0.08
"""What is free of the room of one place on the axis, and of one bar's."""


def bars(
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
    named = _named(rows, x)
    values = averaged(named, of)
    if not values:
        return make_empty_chart("Nothing was measured")
    shown, paper = names(named, of.panel, of), printed(_named(theirs, x), of, scaled=False)
    drawing = _Bars(of, values, series(named, by, of), shown, paper, _order(rows, x))
    body = (
        panels(shown, INNER, drawing.panel)
        if len(shown) > 1
        else drawing.panel("", INNER - 62, True)
    )
    return standing(title, about, drawing.values(), of.told(repeated(values)), body)


def _name(value: Any) -> str:
    """A place on the axis: a number is a name here."""
    return exact(value) if is_number(value) else clean_text(value)


def _named(rows: Rows, x: str) -> list[Spec]:
    return [{**row, x: _name(row[x])} for row in rows if row.get(x) is not None]


def _order(rows: Rows, x: str) -> list[str]:
    """The places from left to right: numbers from the least, names as they came."""
    seen = [row[x] for row in rows if row.get(x) is not None]
    if all(is_number(one) for one in seen):
        seen = sorted(seen)
    return list(dict.fromkeys(_name(one) for one in seen))


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
        return [{**one, "text": _short(one["mean"])} for one in self.means]

    def panel(self, name: str, width: float, first: bool) -> Spec:
        """One panel, or the whole chart."""
        numbers = [one[key] for one in self.means for key in ("least", "most")]
        numbers += [one["mean"] for one in self.theirs]
        height = LOW if name else HEIGHT
        up = upwards(
            numbers,
            self.of,
            log=False,
            zero=True,
            first=first,
            height=height,
            room=self._room(width),
        )
        along = across(self.order, self.of, scaled=False, log=False, width=width)
        along["scale"] = {"domain": list(self.order), "paddingInner": APART}
        here = name or self.shown[0]
        theirs = [
            self._worded(one, here, width) for one in self.theirs if one["panel"] in (None, here)
        ]
        return {
            **headed(name, self.shown, width),
            **({"width": width} if name else {}),
            "height": height,
            "encoding": {"x": along, "y": up},
            "layer": [
                *self._bars(name, up),
                *self._strokes(theirs, width),
                *self._numbers(name, up),
                *self._words(theirs, up),
            ],
        }

    def _bar(self, width: float, known: bool) -> float:
        """Pixels of one bar, or of all at one place."""
        place = width / len(self.order) * (1 - APART)
        return place / len(self.series.names) * (1 - TOUCHING) if known else place

    def _numbered(self) -> bool:
        return len(self.means) <= FEW

    def _room(self, width: float) -> float:
        """Pixels above the highest bar for its number and the paper's words."""
        lines = [len(self._folded(one, width)) for one in self.theirs]
        return 16 * self._numbered() + LINE * max(lines, default=0)

    def _folded(self, one: Spec, width: float) -> list[str]:
        return folded(one["said"], self._bar(width, is_known(one, self.series)))

    def _beside(self) -> Spec:
        if self.series.alone:
            return {}
        scale = {"domain": list(self.series.names), "paddingInner": TOUCHING}
        return {"xOffset": {"field": "by", "type": "nominal", "sort": None, "scale": scale}}

    def _bars(self, name: str, up: Spec) -> list[Spec]:
        """The bars, and how far the runs are apart."""
        here, beside = only(name), self._beside()
        made: list[Spec] = [
            {**here, "mark": "bar", "encoding": beside | self.series.looks(("color",))}
        ]
        if differing(self.means):
            ends = {"y": {**up, "field": "least"}, "y2": {"field": "most"}}
            whisker = {"type": "rule", "color": COLOUR["ink"], "strokeWidth": 1.4}
            made.append({**here, "mark": whisker, "encoding": ends | beside})
        return made

    def _numbers(self, name: str, up: Spec) -> list[Spec]:
        """The number on top of each bar, where there is room."""
        if not self._numbered():
            return []
        top = {"y": {**up, "field": "most"}, "text": {"field": "text"}} | self._beside()
        words = {"type": "text", "baseline": "bottom", "dy": -4, "fontSize": 11.5}
        marks = (halo(words), {**words, "color": COLOUR["quiet"]})
        return [{**only(name), "mark": mark, "encoding": top} for mark in marks]

    def _worded(self, one: Spec, panel: str, width: float) -> Spec:
        """A figure of the paper's with its words, and how high what they stand on is."""
        known = is_known(one, self.series)
        under = [
            bar["most"]
            for bar in self.means
            if (bar["panel"] or panel, bar["x"]) == (panel, one["x"])
            and (not known or bar["by"] == one["by"])
        ]
        lines = self._folded(one, width)
        return {
            **one,
            "lines": lines,
            "top": max([one["mean"], *under]),
            "known": known,
            "dy": -4 - 16 * self._numbered() - LINE * (len(lines) - 1),
        }

    def _sorted(self, theirs: Sequence[Spec]) -> list[tuple[bool, list[Spec], Spec]]:
        """The figures of one series each, and those of none, with where they are drawn."""
        both = [
            (known, [one for one in theirs if one["known"] == known]) for known in (True, False)
        ]
        return [(known, some, self._beside() if known else {}) for known, some in both if some]

    def _strokes(self, theirs: Sequence[Spec], width: float) -> list[Spec]:
        """The paper's figures as strokes across their bars, edged: they are seen on any colour."""
        return [
            {
                "data": {"values": some},
                "encoding": beside,
                "mark": {
                    "type": "tick",
                    "orient": "horizontal",
                    "thickness": thick,
                    "opacity": 1,
                    "bandSize": self._bar(width, known) + 6,
                    "color": COLOUR[tone],
                },
            }
            for known, some, beside in self._sorted(theirs)
            for thick, tone in ((6, "paper"), (2.4, "ink"))
        ]

    def _words(self, theirs: Sequence[Spec], up: Spec) -> list[Spec]:
        """What they are, above the bar and its number."""
        style = {**WORDS, "baseline": "bottom", "align": "center", "dy": {"expr": "datum.dy"}}
        top = {"y": {**up, "field": "top"}, "text": {"field": "lines"}}
        return [
            {"data": {"values": some}, "mark": mark, "encoding": top | beside}
            for _, some, beside in self._sorted(theirs)
            for mark in (halo(style), {**style, "color": COLOUR["ink"]})
        ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
