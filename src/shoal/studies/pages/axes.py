"""Axes, panels and titles that the charts of studies share."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from shoal.reports.charts.theme import Spec, clean_text, make_chart
from shoal.studies.pages.looks import BOLD, LETTER, PADDING
from shoal.studies.pages.series import Columns, exact

HEIGHT, LOW = 300, 210
"""Of a chart alone, and of one of several panels."""
TITLE = 68
"""Letters of a title that stand beside each other in the widest of the usual fonts."""
EDGE, DIGIT, GAP = 14, 8.0, 3.0
"""Pixels before the first tick, of a digit at it, and between two."""


def ends(numbers: Sequence[float], zero: bool = False) -> tuple[float, float]:
    """Where a scale begins and ends: at nothing, unless all is far from it.

    >>> ends([3.0, 9.0]), ends([98.0, 99.0])
    ((0.0, 9.36), (97.94, 99.06))
    """
    low, high = min(numbers), max(numbers)
    if high == low:
        return (0.0, 1.04 * high) if high > 0 else (1.04 * low, 0.0) if low < 0 else (0.0, 1.0)
    if low >= 0 and (zero or low < 0.75 * high):
        return 0.0, 1.04 * high
    room = 0.06 * (high - low)
    return (min(0.0, low - room) if zero else low - room), high + room


def powers(numbers: Sequence[float]) -> list[float]:
    """Ticks of a logarithmic scale, from under the least to above the largest.

    Where something is nothing, which has no logarithm, the first tick is a place for it.

    >>> powers([3, 40]), powers([1, 5000])
    ([2.0, 5.0, 10.0, 20.0, 50.0], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    >>> powers([0, 30, 4000])
    [1.0, 10.0, 100.0, 1000.0, 10000.0]
    """
    above = [one for one in numbers if one > 0] or [1.0]
    low, high = min(above), max(above)
    fine = math.log10(high / low) < 2
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 2)
    ticks = [float(f"{step}e{i}") for i in exponents for step in ((1, 2, 5) if fine else (1,))]
    first = max(i for i, tick in enumerate(ticks) if tick <= low)
    last = min(i for i, tick in enumerate(ticks) if tick >= high)
    if min(numbers) <= 0:
        return [float(f"{ticks[first] / 10:.0e}"), *ticks[first : max(last, first + 1) + 1]]
    return ticks[first : max(last, first + 1) + 1]


def across(values: Sequence[Any], of: Columns, *, scaled: bool, log: bool, width: float) -> Spec:
    """The axis of x: its own values where they are few."""
    seen = sorted(set(values)) if scaled else list(dict.fromkeys(values))
    axis: Spec = {"title": of.word(of.x), "titleAnchor": "middle", "grid": False, "labelAngle": 0}
    if not scaled:
        axis |= {"labelExpr": _folded(seen, width)}
        return {"field": "x", "type": "ordinal", "sort": None, "axis": axis}
    log = log and seen[0] > 0
    axis |= {"format": ",~r", **_ticks(seen, log, width)}
    scale: Spec = {"zero": False, "nice": False, "padding": EDGE, "domain": [seen[0], seen[-1]]}
    if len(seen) == 1:
        scale |= {"domain": [seen[0] * 0.9 - 0.1, seen[0] * 1.1 + 0.1]}
    kind = {"type": "log"} if log else {}
    return {"field": "x", "type": "quantitative", "axis": axis, "scale": scale | kind}


def _ticks(seen: Sequence[float], log: bool, width: float) -> Spec:
    """Few values have a tick each, in two lines where one is too short for them."""
    if len(seen) > 14:
        return {"tickCount": 6, "labelOverlap": "greedy", "labelSeparation": 5}
    lines = two_lines(shortly(seen), between(seen, log), width)
    named = {repr(one).removesuffix(".0"): line for one, line in zip(seen, lines, strict=True)}
    said = f"({json.dumps(named)})[datum.value] || datum.label"
    return {"values": list(seen), "labelOverlap": False, "labelExpr": said}


def shortly(numbers: Sequence[float]) -> list[str]:
    """Numbers in as few digits as tell them apart, and in three at the least.

    >>> shortly([4.30304972, 4.38250431]), shortly([0.5, 1, 45222.25]), shortly([1.0001, 1.0002])
    (['4.3', '4.38'], ['0.5', '1', '45,222'], ['1.0001', '1.0002'])
    """
    for digits in range(3, 17):
        found = [_rounded(number, digits) for number in numbers]
        if len(set(found)) == len(set(numbers)):
            return found
    return [exact(number) for number in numbers]


def _rounded(number: float, digits: int) -> str:
    if isinstance(number, int):
        return exact(number)
    return f"{number:,.{digits}g}" if abs(number) < 10**digits else f"{number:,.0f}"


def between(seen: Sequence[float], log: bool) -> list[float]:
    """How far each of some numbers is from the least to the most, from 0 to 1.

    >>> between([1, 10, 100], log=True), between([0, 10, 40], log=False), between([3], log=False)
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0], [0.5])
    """
    turned = [math.log(one) for one in seen] if log else [float(one) for one in seen]
    low, high = min(turned), max(turned)
    return [(one - low) / (high - low) if high > low else 0.5 for one in turned]


def two_lines(words: Sequence[str], at: Sequence[float], width: float) -> list[list[str]]:
    """The words at ticks, those that have no room in the first line in a second, or nowhere.

    >>> two_lines(["20", "25", "33"], [0, 0.1, 1], 150)
    [['20'], [' ', '25'], ['33']]
    """
    ends, found = [-math.inf, -math.inf], []
    for word, place in zip(words, at, strict=True):
        middle, half = EDGE + place * (width - 2 * EDGE), len(word) * DIGIT / 2
        free = [i for i, end in enumerate(ends) if middle - half >= end + GAP]
        if free:
            ends[free[0]] = middle + half
        found.append([*[" "] * free[0], word] if free else [" "])
    return found


def _folded(names: Sequence[str], width: float) -> str:
    """Long names under a narrow place, in several lines."""
    letters = max(6, int(width / max(1, len(names)) / LETTER) - 1)
    lines = {name: textwrap.wrap(name, letters) for name in names}
    return f"({json.dumps(lines)})[datum.label] || datum.label"


def upwards(
    numbers: Sequence[float],
    of: Columns,
    *,
    log: bool,
    zero: bool,
    first: bool,
    height: float,
    room: float = 0,
) -> Spec:
    """The axis of y, alike in all panels; words and ticks in the first of a row.

    ``room`` are pixels that stay free above everything.
    """
    words = textwrap.wrap(of.measured(), int(height / LETTER))
    axis: Spec = {"domain": False, "titleAnchor": "middle", "title": words}
    axis |= {"tickCount": 6, "format": ",~r"} | _unit(of.unit.strip())
    low, high = ends(numbers, zero)
    if all(float(one).is_integer() for one in numbers):
        axis |= {"tickMinStep": 1}
    scale: Spec = {"domain": [low, low + (high - low) * height / (height - room)], "nice": not zero}
    if log:
        ticks = powers(numbers)
        axis |= {"values": ticks}
        if min(numbers) <= 0:
            other = axis.get("labelExpr", "datum.label")
            axis |= {"labelExpr": f"datum.value < {1.5 * ticks[0]} ? '0' : ({other})"}
        scale = {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False}
    if not first:
        axis |= {"title": None, "labelExpr": "' '"}  # as high as a label: panels stay level
    return {"field": "mean", "type": "quantitative", "axis": axis, "scale": scale}


def rise(up: Spec, height: float) -> Callable[[float], float]:
    """How many pixels below the top a number is, on the axis that `upwards` made."""
    log = up["scale"].get("type") == "log"
    low, high = up["scale"]["domain"]

    def place(number: float) -> float:
        part = between([low, number, high], log and number > 0)[1] if high > low else 0.0
        return height * (1 - part)

    return place


def _unit(unit: str) -> Spec:
    if unit == "s":
        return {"labelExpr": _DURATION}
    return {"labelExpr": "datum.label + ' %'"} if unit == "%" else {}


_DURATION = (
    "datum.value === 0 ? '0' : datum.value >= 1 ? format(datum.value, ',~r') + ' s' : "
    "datum.value >= 0.001 ? format(1e3 * datum.value, '~r') + ' ms' : "
    "format(1e6 * datum.value, '~r') + ' µs'"
)


def headed(name: str, names: Sequence[str], width: float) -> Spec:
    """The words above a panel, in as many lines as the longest of them all needs."""
    if not name:
        return {}
    letters = max(8, int(width / BOLD))
    most = max(len(textwrap.wrap(one, letters)) for one in names)
    lines = textwrap.wrap(name, letters)
    text = [*[" "] * (most - len(lines)), *lines]
    return {
        "title": {"text": text, "fontSize": 13, "lineHeight": 17, "offset": 10, "frame": "group"}
    }


def only(panel: str) -> Spec:
    """The values of one panel."""
    return {"transform": [{"filter": {"field": "panel", "equal": panel}}]} if panel else {}


def standing(title: str, about: str, values: list[Spec], told: dict[str, str], body: Spec) -> Spec:
    """A chart that also stands by itself in a file: on white, with an edge.

    ``told`` are the headings of the table behind it, ``body`` what is drawn: one panel, which gets
    all the width there is, or several, which have widths of their own.
    """
    made = make_chart(title, about, values, told, padding=PADDING, background="white")
    made |= {"title": textwrap.wrap(clean_text(title), TITLE) or ""}
    if "concat" in body:
        return {k: v for k, v in made.items() if k not in ("width", "autosize")} | body
    return {**body, **made} | {key: body[key] for key in ("width", "autosize") if key in body}
