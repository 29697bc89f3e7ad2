"""Charts of what an adversary gains: risk against a threshold, and confidence in a value.

Every chart counts people and carries its numbers. With ``fewest`` it is fit to be published: counts
under that many people are suppressed, others are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from shoal.reports.charts.axes import (
    DRAW_ONCE,
    THRESHOLD_LINE,
    colour_scale,
    number_axis,
    value_text,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import (
    has_enough_people,
    make_share_bars,
    round_share,
    speak_share,
    state_count,
    state_share,
)

SERIES = tuple(Fraction(n, 1000) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))
"""Where bins of risk end: 1, 2, 5 in each power of ten, which are about equally wide."""
NARROW = 0.17
"""Bins narrower than this power of ten have no room for their number."""
CONFIDENCES = 10
"""The curve of confidence goes down to one in so many."""


def chart_risk(sizes: Mapping[int, int], threshold: float | Fraction, fewest: int = 1) -> Spec:
    """People by their risk, 1 / size of their class, against a threshold; size -> classes.

    A class exactly at the threshold is not above it; the comparison is exact.
    """
    limit = Fraction(str(threshold))
    people = {size: size * classes for size, classes in sizes.items() if classes}
    total = sum(people.values())
    if not has_enough_people(total, fewest):
        return make_empty_chart("Too few people to show their risk of being found")
    above = sum(n for size, n in people.items() if size * limit < 1)
    edges = _bin_edges(max(people, default=1), limit)
    values = _risk_values(edges, people, limit, fewest)
    ends = [float(edge) for edge in edges]
    count_columns = {"people": "People"} if fewest <= 1 else {}
    return make_chart(
        _risk_title(above, total, limit, fewest),
        "Columns: the share of people by the risk of being found; a line marks the threshold.",
        values,
        {"label": "Risk", **count_columns, "text": "Share", "side": "Against the threshold"},
        height=230,
        layer=[
            {
                "encoding": {"x": _risk_axis("low", ends), "y": _risk_share_axis(values)},
                "layer": [_risk_bars(), _risk_numbers(ends)],
            },
            *_threshold_line(float(limit), f"threshold {_format_limit(limit)}", ends),
        ],
    )


def _bin_edges(largest: int, limit: Fraction) -> list[Fraction]:
    # The threshold, and those of the series that leave it room.
    lowest = max((e for e in SERIES if e * largest < 1 and e < limit), default=SERIES[0])
    edges = {edge for edge in SERIES if edge >= lowest}
    if limit in edges or not lowest < limit < 1:
        return sorted(edges)
    inner = edges - {lowest, SERIES[-1]}
    return sorted(edges - {e for e in inner if abs(math.log10(e / limit)) < NARROW} | {limit})


def _risk_values(
    edges: Sequence[Fraction], people: Mapping[int, int], limit: Fraction, fewest: int
) -> list[Spec]:
    bins = list(pairwise(edges))
    counts = [
        sum(n for size, n in people.items() if _open_lowest(low) * size < 1 <= high * size)
        for low, high in bins
    ]
    return [
        {**_risk_bin(low, high), **bar, "side": "above" if low >= limit else "not above"}
        for (low, high), bar in zip(bins, make_share_bars(counts, fewest=fewest), strict=True)
    ]


def _open_lowest(low: Fraction) -> Fraction:
    # The lowest bin takes everybody below it too: no class is too large for the chart.
    return Fraction(0) if low == SERIES[0] else low


def _risk_bin(low: Fraction, high: Fraction) -> Spec:
    lowest = not _open_lowest(low)
    return {
        "low": float(low),
        "high": float(high),
        "middle": math.sqrt(low * high),
        "label": f"up to {_format_limit(high)}"
        if lowest
        else f"{_format_limit(low)} to {_format_limit(high)}",
    }


def _risk_title(above: int, total: int, limit: Fraction, fewest: int) -> str:
    if not above:
        return f"Nobody's risk of being found is above the threshold of {_format_limit(limit)}"
    part = speak_share(state_share(above, total, fewest)).capitalize()
    return (
        f"{part} of {state_count(total, fewest)} people have a risk of being found above the "
        f"threshold of {_format_limit(limit)}"
    )


def _risk_axis(field: str, ends: Sequence[float]) -> Spec:
    axis = {
        "title": "risk of being found: one in the number of people who look alike",
        "values": list(ends),
        "labelExpr": "format(datum.value, '.2~p')",
        "labelOverlap": False,
        "grid": False,
    }
    return number_axis(field, (ends[0], 1), axis, type="log")


def _risk_bars() -> Spec:
    tone = {"test": "datum.side === 'above'", "value": COLOUR["alarm"]}
    return {
        "mark": {"type": "bar", "xOffset": 1.5, "x2Offset": -1.5},
        "encoding": {
            "x2": {"field": "high"},
            "y2": {"datum": 0},
            "color": {"condition": tone, "value": COLOUR["after"]},
        },
    }


def _risk_numbers(ends: Sequence[float]) -> Spec:
    number = value_text("y", "brief")
    return {**number, "encoding": {**number["encoding"], "x": _risk_axis("middle", ends)}}


def _risk_share_axis(values: Sequence[Spec]) -> Spec:
    longest = max((float(v["share"]) for v in values), default=1.0)
    # There is room above the columns for the words of the threshold.
    return number_axis("share", (0, max(0.01, longest) * 1.32), None)


def _threshold_line(value: float, words: str, ends: Sequence[float]) -> list[Spec]:
    start = max(ends[0], min(1.0, value))
    right = math.log(start / ends[0]) < 0.75 * math.log(1 / ends[0])
    place: Spec = {"align": "left", "dx": 7} if right else {"align": "right", "dx": -7}
    x = {"datum": start, "type": "quantitative", "scale": {"type": "log"}}
    return [
        {**DRAW_ONCE, "mark": THRESHOLD_LINE, "encoding": {"x": x}},
        {
            **DRAW_ONCE,
            "mark": {
                "type": "text",
                "color": COLOUR["ink"],
                "baseline": "top",
                "fontSize": 12.5,
                **place,
            },
            "encoding": {"x": x, "y": {"value": 0}, "text": {"value": words}},
        },
    ]


def chart_confidence(
    before: Mapping[int, int] | None,
    after: Mapping[int, int],
    names: tuple[str, str] = ("one release", "releases joined"),
    what: str = "value",
    fewest: int = 1,
) -> Spec:
    """The share of people whose value is known with at least a given confidence.

    Each mapping is number of values still possible -> people; n values left are confidence 1 / n.
    """
    sides = [(name, side) for name, side in zip(names, (before, after), strict=True) if side]
    if not sides or not all(has_enough_people(sum(side.values()), fewest) for _, side in sides):
        return make_empty_chart(f"Too few people to show how sure an adversary is of the {what}")
    values = [
        {**_confidence_point(name, side, n, fewest), "numbered": side is sides[-1][1]}
        for name, side in sides
        for n in range(CONFIDENCES, 0, -1)
    ]
    count_columns = {"people": "People"} if fewest <= 1 else {}
    shown = [name for name, _ in sides]
    tones = ("before", "alarm") if len(shown) > 1 else ("alarm",)
    return make_chart(
        _confidence_title(before, after, what, fewest),
        f"Steps: the share of people whose {what} is known with at least a given confidence.",
        values,
        {"label": "Confidence at least", "side": "Seen", **count_columns, "text": "Share"},
        height=230,
        encoding={
            "x": _confidence_axis(),
            "y": _confidence_share_axis(values),
            "color": colour_scale("side", shown, tones),
        },
        layer=[
            # A confidence between 1/2 and 1 needs a single value left, as certainty does: steps
            # fall right after each 1/n.
            {"mark": {"type": "line", "interpolate": "step-before", "strokeWidth": 2.5}},
            {
                "transform": [{"filter": "datum.marked"}],
                "mark": {"type": "circle", "size": 55, "opacity": 1},
            },
            *_confidence_numbers(),
        ],
    )


def _confidence_point(name: str, side: Mapping[int, int], n: int, fewest: int) -> Spec:
    people, total = sum(c for left, c in side.items() if left <= n), sum(side.values())
    exact = {"people": people} if fewest <= 1 else {}
    return {
        "confidence": 1 / n,
        "label": f"{100 / n:.0f}%",
        "side": name,
        **exact,
        "share": round_share(people, total, fewest),
        "text": state_share(people, total, fewest),
        "marked": n in (1, 2, 3, 5, 10),
    }


def _confidence_title(
    before: Mapping[int, int] | None, after: Mapping[int, int], what: str, fewest: int
) -> str:
    total = sum(after.values())
    part = speak_share(state_share(after.get(1, 0), total, fewest)) if after.get(1, 0) else "nobody"
    people = "" if part == "nobody" else " of the people"
    finding = f"An adversary is certain of the {what} of {part}{people}"
    if not before:
        return finding
    single = state_share(before.get(1, 0), sum(before.values()), fewest)
    before_part = "nobody" if single == "0%" else speak_share(single)
    return f"{finding}; from one release alone, of {before_part}"


def _confidence_axis() -> Spec:
    axis = {
        "title": "confidence",
        "values": [1 / n for n in (10, 5, 3, 2, 1)],
        "labelExpr": "format(datum.value, '.0%')",
        "labelOverlap": False,
        "grid": False,
    }
    return number_axis("confidence", (1 / CONFIDENCES, 1), axis)


def _confidence_share_axis(values: Sequence[Spec]) -> Spec:
    longest = max((float(v["share"]) for v in values), default=1.0)
    axis = {
        "title": "share of people",
        "titleAnchor": "middle",
        "format": ".0%",
        "tickCount": 4,
        "domain": False,
    }
    return number_axis("share", (0, max(0.01, longest) * 1.13), axis)


def _confidence_numbers() -> list[Spec]:
    # The numbers of the last curve, above it; the last leaves the edge of the drawing free.
    return [
        {
            "transform": [{"filter": f"datum.marked && datum.numbered && {test}"}],
            "mark": {"type": "text", "baseline": "bottom", "dy": -7, **place},
            "encoding": {"text": {"field": "text"}, "color": {"value": COLOUR["ink"]}},
        }
        for test, place in (
            ("datum.confidence > 0.99", {"align": "right", "dx": 3}),
            ("datum.confidence < 0.99", {"align": "left", "dx": 5}),
        )
    ]


def _format_limit(limit: Fraction) -> str:
    return f"{float(100 * limit):.3g}%"
