"""What a paper prints, beside what was measured: hollow marks with their words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec
from shoal.studies.pages.series_style import LETTER, Series

AWAY = 11
"""Pixels from a mark to its words."""
LINE = 15
"""Pixels a line of them."""
HALO = {"stroke": COLOUR["paper"], "strokeWidth": 4, "strokeJoin": "round"}
WORDS = {"type": "text", "fontSize": 12, "fontStyle": "italic", "lineHeight": LINE}


@dataclass(frozen=True)
class PanelPlace:
    """Where a panel draws: how far from the left an x is, from 0 to 1, and pixels from the top."""

    across: Callable[[Any], float]
    below: Callable[[float], float]
    width: float


def make_paper_marks(
    theirs: Sequence[Spec], series: Series, place: PanelPlace
) -> tuple[list[Spec], list[Spec]]:
    """Marks in their series' colour where that is known; words on the side that has more room.

    First the words' edge, behind the measured marks, which stay in sight; then what goes before.
    """
    figures = _move_apart([_add_words(figure, place) for figure in theirs], place)
    behind, before = [], []
    for known in (True, False):
        for right in (True, False):
            group = [
                figure
                for figure in figures
                if is_known(figure, series) == known and (place.across(figure["x"]) <= 0.5) == right
            ]
            if group:
                layers = _make_layers(group, series if known else None, right)
                behind += layers[:1]
                before += layers[1:]
    return behind, before


def is_known(figure: Spec, series: Series) -> bool:
    """Whether the paper's figure is of one of the series."""
    return figure["by"] in series.names and figure["by"] != ""


def add_halo(mark: Spec) -> Spec:
    """The same words in the page's colour, broader: for behind, so that lines do not cross."""
    return {**mark, **HALO, "color": COLOUR["paper"]}


def fold_words(text: str, room: float) -> list[str]:
    """Words in lines that have so many pixels."""
    return textwrap.wrap(text, max(8, int(room / LETTER))) or [""]


def _add_words(figure: Spec, place: PanelPlace) -> Spec:
    at = place.across(figure["x"])
    return {
        **figure,
        "lines": fold_words(figure["said"], max(at, 1 - at) * place.width - AWAY),
        "dy": 0,
    }


def _move_apart(theirs: Sequence[Spec], place: PanelPlace) -> list[Spec]:
    """Words that would lie on other words go below them."""
    done: list[Spec] = []
    for figure in sorted(theirs, key=lambda figure: place.below(figure["mean"])):
        top, bottom = _vertical_extent(figure, place)
        for other in (other for other in done if _is_overlapping(figure, other, place)):
            under = _vertical_extent(other, place)[1] - top
            if under > 0 and bottom > _vertical_extent(other, place)[0]:
                figure = {**figure, "dy": figure["dy"] + under}
                top, bottom = _vertical_extent(figure, place)
        done.append(figure)
    return done


def _vertical_extent(figure: Spec, place: PanelPlace) -> tuple[float, float]:
    middle, half = place.below(figure["mean"]) + figure["dy"], LINE * len(figure["lines"]) / 2
    return middle - half, middle + half


def _is_overlapping(figure: Spec, other: Spec, place: PanelPlace) -> bool:
    (left, right), (first, last) = (
        _horizontal_extent(figure, place),
        _horizontal_extent(other, place),
    )
    return left < last and first < right


def _horizontal_extent(figure: Spec, place: PanelPlace) -> tuple[float, float]:
    at, long = place.across(figure["x"]), LETTER * max(map(len, figure["lines"]))
    start = at * place.width
    return (start, start + AWAY + long) if at <= 0.5 else (start - AWAY - long, start)


def _make_layers(figures: Sequence[Spec], series: Series | None, right: bool) -> list[Spec]:
    """The edge of the words, that of the marks, and then both themselves."""
    colour = series.looks(("color",)) if series else {"color": {"value": COLOUR["ink"]}}
    data = {"data": {"values": list(figures)}}
    mark = {
        "type": "point",
        "filled": False,
        "size": 130,
        "strokeWidth": 2.2,
        "opacity": 1,
        "shape": "diamond",
    }
    behind = {**mark, "strokeWidth": 5, "color": COLOUR["paper"]}
    side = {"align": "left", "dx": AWAY} if right else {"align": "right", "dx": -AWAY}
    words = {**WORDS, "baseline": "middle", "dy": {"expr": "datum.dy"}, **side}
    text = {"text": {"field": "lines"}}
    return [
        {**data, "mark": add_halo(words), "encoding": text},
        {**data, "mark": behind, "encoding": {}},
        {**data, "mark": mark, "encoding": colour},
        {**data, "mark": {**words, "color": COLOUR["ink"]}, "encoding": text},
    ]
