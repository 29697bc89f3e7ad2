"""Axes, panels and titles that the charts of studies share."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from shoal.reports.charts.theme import Spec, clean_text, make_chart
from shoal.studies.pages.series import Columns, format_exactly
from shoal.studies.pages.series_style import BOLD, LETTER, PADDING

HEIGHT, LOW = 300, 210
"""Of a chart alone, and of one of several panels."""
TITLE = 68
"""Letters of a title that stand beside each other in the widest of the usual fonts."""
EDGE, DIGIT, GAP = 14, 8.0, 3.0
"""Pixels before the first tick, of a digit at it, and between two."""


def find_scale_ends(numbers: Sequence[float], zero: bool = False) -> tuple[float, float]:
    """Where a scale begins and ends: at nothing, unless all is far from it.

    >>> find_scale_ends([3.0, 9.0]), find_scale_ends([98.0, 99.0])
    ((0.0, 9.36), (97.94, 99.06))
    """
    low, high = min(numbers), max(numbers)
    if high == low:
        return (0.0, 1.04 * high) if high > 0 else (1.04 * low, 0.0) if low < 0 else (0.0, 1.0)
    if low >= 0 and (zero or low < 0.75 * high):
        return 0.0, 1.04 * high
    room = 0.06 * (high - low)
    return (min(0.0, low - room) if zero else low - room), high + room


def choose_log_ticks(numbers: Sequence[float]) -> list[float]:
    """Ticks of a logarithmic scale, from under the least to above the largest.

    Where something is nothing, which has no logarithm, the first tick is a place for it.

    >>> choose_log_ticks([3, 40]), choose_log_ticks([1, 5000])
    ([2.0, 5.0, 10.0, 20.0, 50.0], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    >>> choose_log_ticks([0, 30, 4000])
    [1.0, 10.0, 100.0, 1000.0, 10000.0]
    """
    above = [number for number in numbers if number > 0] or [1.0]
    low, high = min(above), max(above)
    fine = math.log10(high / low) < 2
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 2)
    ticks = [float(f"{step}e{i}") for i in exponents for step in ((1, 2, 5) if fine else (1,))]
    first = max(i for i, tick in enumerate(ticks) if tick <= low)
    last = min(i for i, tick in enumerate(ticks) if tick >= high)
    if min(numbers) <= 0:
        return [float(f"{ticks[first] / 10:.0e}"), *ticks[first : max(last, first + 1) + 1]]
    return ticks[first : max(last, first + 1) + 1]


def make_x_axis(
    values: Sequence[Any], of: Columns, *, scaled: bool, log: bool, width: float
) -> Spec:
    """The axis of x: its own values where they are few."""
    distinct = sorted(set(values)) if scaled else list(dict.fromkeys(values))
    axis: Spec = {"title": of.word(of.x), "titleAnchor": "middle", "grid": False, "labelAngle": 0}
    if not scaled:
        axis |= {"labelExpr": _folded(distinct, width)}
        return {"field": "x", "type": "ordinal", "sort": None, "axis": axis}
    log = log and distinct[0] > 0
    axis |= {"format": ",~r", **_ticks(distinct, log, width)}
    scale: Spec = {
        "zero": False,
        "nice": False,
        "padding": EDGE,
        "domain": [distinct[0], distinct[-1]],
    }
    if len(distinct) == 1:
        scale |= {"domain": [distinct[0] * 0.9 - 0.1, distinct[0] * 1.1 + 0.1]}
    kind = {"type": "log"} if log else {}
    return {"field": "x", "type": "quantitative", "axis": axis, "scale": scale | kind}


def _ticks(values: Sequence[float], log: bool, width: float) -> Spec:
    """Few values have a tick each, in two lines where one is too short for them."""
    if len(values) > 14:
        return {"tickCount": 6, "labelOverlap": "greedy", "labelSeparation": 5}
    lines = arrange_in_two_lines(format_shortly(values), compute_positions(values, log), width)
    labels = {
        repr(value).removesuffix(".0"): line for value, line in zip(values, lines, strict=True)
    }
    expression = f"({json.dumps(labels)})[datum.value] || datum.label"
    return {"values": list(values), "labelOverlap": False, "labelExpr": expression}


def format_shortly(numbers: Sequence[float]) -> list[str]:
    """Numbers in as few digits as tell them apart, and in three at the least.

    >>> format_shortly([4.30304972, 4.38250431]), format_shortly([0.5, 1, 45222.25])
    (['4.3', '4.38'], ['0.5', '1', '45,222'])
    >>> format_shortly([1.0001, 1.0002])
    ['1.0001', '1.0002']
    """
    for digits in range(3, 17):
        texts = [_rounded(number, digits) for number in numbers]
        if len(set(texts)) == len(set(numbers)):
            return texts
    return [format_exactly(number) for number in numbers]


def _rounded(number: float, digits: int) -> str:
    if isinstance(number, int):
        return format_exactly(number)
    return f"{number:,.{digits}g}" if abs(number) < 10**digits else f"{number:,.0f}"


def compute_positions(numbers: Sequence[float], log: bool) -> list[float]:
    """How far each of some numbers is from the least to the most, from 0 to 1.

    >>> compute_positions([1, 10, 100], log=True), compute_positions([0, 10, 40], log=False)
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    >>> compute_positions([3], log=False)
    [0.5]
    """
    scaled = (
        [math.log(number) for number in numbers] if log else [float(number) for number in numbers]
    )
    low, high = min(scaled), max(scaled)
    return [(value - low) / (high - low) if high > low else 0.5 for value in scaled]


def arrange_in_two_lines(
    words: Sequence[str], at: Sequence[float], width: float
) -> list[list[str]]:
    """The words at ticks, those that have no room in the first line in a second, or nowhere.

    >>> arrange_in_two_lines(["20", "25", "33"], [0, 0.1, 1], 150)
    [['20'], [' ', '25'], ['33']]
    """
    ends, lines = [-math.inf, -math.inf], []
    for word, place in zip(words, at, strict=True):
        middle, half = EDGE + place * (width - 2 * EDGE), len(word) * DIGIT / 2
        free = [i for i, end in enumerate(ends) if middle - half >= end + GAP]
        if free:
            ends[free[0]] = middle + half
        lines.append([*[" "] * free[0], word] if free else [" "])
    return lines


def _folded(names: Sequence[str], width: float) -> str:
    letters = max(6, int(width / max(1, len(names)) / LETTER) - 1)
    lines = {name: textwrap.wrap(name, letters) for name in names}
    return f"({json.dumps(lines)})[datum.label] || datum.label"


def make_y_axis(
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
    words = textwrap.wrap(of.name_measure(), int(height / LETTER))
    axis: Spec = {"domain": False, "titleAnchor": "middle", "title": words}
    axis |= {"tickCount": 6, "format": ",~r"} | _unit(of.unit.strip())
    low, high = find_scale_ends(numbers, zero)
    if all(float(number).is_integer() for number in numbers):
        axis |= {"tickMinStep": 1}
    scale: Spec = {"domain": [low, low + (high - low) * height / (height - room)], "nice": not zero}
    if log:
        ticks = choose_log_ticks(numbers)
        axis |= {"values": ticks}
        if min(numbers) <= 0:
            other = axis.get("labelExpr", "datum.label")
            axis |= {"labelExpr": f"datum.value < {1.5 * ticks[0]} ? '0' : ({other})"}
        scale = {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False}
    if not first:
        axis |= {"title": None, "labelExpr": "' '"}  # as high as a label: panels stay level
    return {"field": "mean", "type": "quantitative", "axis": axis, "scale": scale}


def make_pixel_scale(up: Spec, height: float) -> Callable[[float], float]:
    """How many pixels below the top a number is, on the axis that `make_y_axis` made."""
    log = up["scale"].get("type") == "log"
    low, high = up["scale"]["domain"]

    def place(number: float) -> float:
        part = compute_positions([low, number, high], log and number > 0)[1] if high > low else 0.0
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


def make_panel_title(name: str, names: Sequence[str], width: float) -> Spec:
    """The words above a panel, in as many lines as the longest of them all needs."""
    if not name:
        return {}
    letters = max(8, int(width / BOLD))
    most = max(len(textwrap.wrap(title, letters)) for title in names)
    lines = textwrap.wrap(name, letters)
    text = [*[" "] * (most - len(lines)), *lines]
    return {
        "title": {"text": text, "fontSize": 13, "lineHeight": 17, "offset": 10, "frame": "group"}
    }


def filter_panel(panel: str) -> Spec:
    """The values of one panel."""
    return {"transform": [{"filter": {"field": "panel", "equal": panel}}]} if panel else {}


def make_standalone_chart(
    title: str, about: str, values: list[Spec], headings: dict[str, str], body: Spec
) -> Spec:
    """A chart that also stands by itself in a file: on white, with an edge.

    ``headings`` are those of the table behind it, ``body`` what is drawn: one panel, which gets
    all the width there is, or several, which have widths of their own.
    """
    spec = make_chart(title, about, values, headings, padding=PADDING, background="white")
    spec |= {"title": textwrap.wrap(clean_text(title), TITLE) or ""}
    if "concat" in body:
        return {k: v for k, v in spec.items() if k not in ("width", "autosize")} | body
    return {**body, **spec} | {key: body[key] for key in ("width", "autosize") if key in body}
