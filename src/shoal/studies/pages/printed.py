"""What a paper prints, beside what was measured: hollow marks with their words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.reports.charts.theme import COLOUR, Spec
from shoal.studies.pages.looks import LETTER, Series

AWAY = 11
"""Pixels from a mark to its words."""
LINE = 15
"""Pixels a line of them."""
HALO = {"stroke": COLOUR["paper"], "strokeWidth": 4, "strokeJoin": "round"}
WORDS = {"type": "text", "fontSize": 12, "fontStyle": "italic", "lineHeight": LINE}


@dataclass(frozen=True)
class Place:
    """Where a panel draws: how far from the left an x is, from 0 to 1, and pixels from the top."""

    across: Callable[[Any], float]
    below: Callable[[float], float]
    width: float


def paper_marks(
    theirs: Sequence[Spec], series: Series, place: Place
) -> tuple[list[Spec], list[Spec]]:
    """Marks in their series' colour where that is known; words on the side that has more room.

    First the words' edge, behind the measured marks, which stay in sight; then what goes before.
    """
    told = _moved([_worded(one, place) for one in theirs], place)
    behind, before = [], []
    for known in (True, False):
        for right in (True, False):
            some = [
                one
                for one in told
                if is_known(one, series) == known and (place.across(one["x"]) <= 0.5) == right
            ]
            if some:
                made = _layers(some, series if known else None, right)
                behind += made[:1]
                before += made[1:]
    return behind, before


def is_known(one: Spec, series: Series) -> bool:
    """Whether the paper's figure is of one of the series."""
    return one["by"] in series.names and one["by"] != ""


def halo(mark: Spec) -> Spec:
    """The same words in the page's colour, broader: for behind, so that lines do not cross."""
    return {**mark, **HALO, "color": COLOUR["paper"]}


def folded(said: str, room: float) -> list[str]:
    """Words in lines that have so many pixels."""
    return textwrap.wrap(said, max(8, int(room / LETTER))) or [""]


def _worded(one: Spec, place: Place) -> Spec:
    at = place.across(one["x"])
    return {**one, "lines": folded(one["said"], max(at, 1 - at) * place.width - AWAY), "dy": 0}


def _moved(theirs: Sequence[Spec], place: Place) -> list[Spec]:
    """Words that would lie on other words go below them."""
    done: list[Spec] = []
    for one in sorted(theirs, key=lambda one: place.below(one["mean"])):
        top, bottom = _extent(one, place)
        for other in (other for other in done if _beside(one, other, place)):
            under = _extent(other, place)[1] - top
            if under > 0 and bottom > _extent(other, place)[0]:
                one = {**one, "dy": one["dy"] + under}
                top, bottom = _extent(one, place)
        done.append(one)
    return done


def _extent(one: Spec, place: Place) -> tuple[float, float]:
    """The pixels from the top where the words begin and end."""
    middle, half = place.below(one["mean"]) + one["dy"], LINE * len(one["lines"]) / 2
    return middle - half, middle + half


def _beside(one: Spec, other: Spec, place: Place) -> bool:
    """Whether the words of two share a part of the panel's width."""
    (left, right), (first, last) = _reach(one, place), _reach(other, place)
    return left < last and first < right


def _reach(one: Spec, place: Place) -> tuple[float, float]:
    at, long = place.across(one["x"]), LETTER * max(map(len, one["lines"]))
    start = at * place.width
    return (start, start + AWAY + long) if at <= 0.5 else (start - AWAY - long, start)


def _layers(some: Sequence[Spec], series: Series | None, right: bool) -> list[Spec]:
    """The edge of the words, that of the marks, and then both themselves."""
    colour = series.looks(("color",)) if series else {"color": {"value": COLOUR["ink"]}}
    data = {"data": {"values": list(some)}}
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
    said = {"text": {"field": "lines"}}
    return [
        {**data, "mark": halo(words), "encoding": said},
        {**data, "mark": behind, "encoding": {}},
        {**data, "mark": mark, "encoding": colour},
        {**data, "mark": {**words, "color": COLOUR["ink"]}, "encoding": said},
    ]
