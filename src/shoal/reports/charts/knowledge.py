"""Charts of background knowledge: what pieces of it could reveal at worst, and what is promised.

`chart_disclosure` draws the largest belief in anybody's value, piece by piece;
`chart_belief_by_entropy` draws it against each class's entropy: classes that are equally varied may
be unequally safe. Both show extremes of classes, so neither is for the public. A `Promise` is that
of (c,k)-safety: with up to k pieces of knowledge nobody's belief in anybody's value reaches c.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007 (Figures 5 and 6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.reports.charts.axes import DRAW_ONCE, THRESHOLD_LINE, colour_scale, number_axis
from shoal.reports.charts.theme import COLOUR, Spec, make_chart
from shoal.reports.format import format_percent, speak_share

NEAR = 1e-9
"""Relative distance under which two floats may be the same number."""
KINDS = ("what follows from what (implications)", "what somebody does not have (negations)")
"""The two kinds of knowledge, in words."""
MAX_POINTS = 400
"""More different classes than this are drawn in bins."""
ACROSS, UP = 48, 24
"""The largest number of bins by entropy and by belief."""
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Promise:
    """With up to ``k`` pieces of knowledge every belief is less than ``c``."""

    c: float
    k: int
    met: bool


def find_tightest_promises(promises: Iterable[Promise]) -> tuple[Promise, ...]:
    """The promises that no other implies, by their number of pieces.

    >>> promises = Promise(0.6, 3, True), Promise(0.7, 2, True), Promise(0.4, 1, False)
    >>> [(promise.c, promise.k) for promise in find_tightest_promises(promises)]
    [(0.4, 1), (0.6, 3)]
    """
    tightest: list[Promise] = []
    for promise in sorted(promises, key=lambda promise: (-promise.k, promise.c)):
        if not tightest or promise.c < tightest[-1].c:
            tightest.append(promise)
    return tuple(reversed(tightest))


def format_belief(belief: float, promise: Promise | None = None) -> str:
    """A belief as a share; one that is under the promised limit never reads as if it reached it.

    >>> format_belief(0.5995), format_belief(0.5995, Promise(0.6, 2, met=True))
    ('60%', '<60%')
    """
    text = format_percent(belief, 1)
    if promise is None or belief >= promise.c * (1 - NEAR):
        return text
    return f"<{text}" if text == format_percent(promise.c, 1) else text


def summarise_belief_promises(promises: Sequence[Promise]) -> str:
    """The words of the promises in the chart.

    >>> summarise_belief_promises([Promise(0.6, 2, met=True)])
    'promised: less than 60%'
    >>> summarise_belief_promises([Promise(0.4, 1, met=True), Promise(0.6, 3, met=True)])
    'promised: less than 40% with up to 1, 60% with up to 3 pieces'
    """
    shares = [f"{100 * promise.c:.3g}%" for promise in promises]
    if len(shares) == 1:
        return f"promised: less than {shares[0]}"
    steps = (f"{c} with up to {promise.k}" for c, promise in zip(shares, promises, strict=True))
    return f"promised: less than {', '.join(steps)} pieces"


def format_piece_count(count: int) -> str:
    """A number of pieces of knowledge, in words.

    >>> format_piece_count(0), format_piece_count(1), format_piece_count(12)
    ('no further knowledge', 'one piece of knowledge', '12 pieces of knowledge')
    """
    if not count:
        return "no further knowledge"
    number = _UNITS[count - 1] if count <= len(_UNITS) else f"{count:,}"
    return f"{number} piece{'' if count == 1 else 's'} of knowledge"


def chart_disclosure(
    implications: Sequence[float],
    negations: Sequence[float],
    what: str = "value",
    promises: Sequence[Promise] = (),
) -> Spec:
    """The largest belief with 0, 1, … pieces of either kind; a line ends where it is certainty.

    ``promises`` are the `find_tightest_promises`; each is drawn up to its number of pieces.
    """
    sides = [cut_when_certain(implications), cut_when_certain(negations)]
    values = [
        {
            "pieces": k,
            "side": name,
            "belief": belief,
            "text": format_belief(belief, next((p for p in promises if p.k >= k), None)),
            "numbered": i == 0 or _differs_from_upper(sides[0], k, belief),
        }
        for i, (name, side) in enumerate(zip(KINDS, sides, strict=True))
        for k, belief in enumerate(side)
    ]
    last = max(1, *(len(side) - 1 for side in sides), *(promise.k for promise in promises))
    return make_chart(
        _disclosure_title(sides[0], what),
        f"Lines: the largest belief in anybody's {what} that pieces of knowledge can give, by how "
        "many they are." + (" The tinted area is what the requirement allows." if promises else ""),
        values,
        {"pieces": "Pieces of knowledge", "side": "Kind", "text": "Largest belief"},
        height=250,
        layer=[
            *_allowed_area(promises, last),
            {
                "encoding": {
                    "x": _pieces_axis(last),
                    "y": _belief_axis(f"largest belief in somebody's {what}"),
                    "color": colour_scale("side", KINDS, ("alarm", "before")),
                },
                "layer": [*_belief_lines(), *_belief_numbers()],
            },
        ],
    )


def cut_when_certain(curve: Sequence[float]) -> list[float]:
    """A curve up to where it reaches 1: more knowledge adds nothing.

    >>> cut_when_certain([0.4, 0.5, 1.0, 1.0])
    [0.4, 0.5, 1.0]
    """
    end = next((k for k, belief in enumerate(curve) if belief >= 1), len(curve) - 1)
    return [float(belief) for belief in curve[: end + 1]]


def _differs_from_upper(upper: Sequence[float], k: int, belief: float) -> bool:
    return k >= len(upper) or format_percent(upper[k], 1) != format_percent(belief, 1)


def _disclosure_title(curve: Sequence[float], what: str) -> str:
    pieces = format_piece_count(len(curve) - 1)
    if curve[-1] < 1:
        first, last = (speak_share(format_percent(curve[i], 1)) for i in (0, -1))
        start = f"With {pieces} an adversary can be"
        return f"{start} {last} sure of somebody's {what}; with none, {first}"
    if len(curve) == 1:
        return f"Somebody's {what} is certain to whoever finds their class, and knows nothing else"
    return f"With {pieces} an adversary can be certain of somebody's {what}"


def _pieces_axis(last: int) -> Spec:
    axis = {
        "title": "pieces of knowledge beyond the table",
        "values": list(range(0, last + 1, 1 if last <= 15 else 5)),
        "format": "d",
        "labelOverlap": False,
        "grid": False,
    }
    # A third of a step on either side is room for the numbers at the ends.
    return number_axis("pieces", (-0.35, last + 0.35), axis)


def _belief_axis(title: str) -> Spec:
    axis = {
        "title": title,
        "titleAnchor": "middle",
        "values": [0, 0.25, 0.5, 0.75, 1],
        "format": ".0%",
        "domain": False,
    }
    return number_axis("belief", (0, 1.08), axis)  # room for a number above certainty


def _belief_lines() -> list[Spec]:
    # The lower line is dashed, so that the upper one is visible where both are the same.
    dash = {"condition": {"test": f"datum.side === '{KINDS[0]}'", "value": [1, 0]}, "value": [4, 4]}
    return [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"strokeDash": dash}},
        {"mark": {"type": "circle", "size": 60, "opacity": 1}},
    ]


def _belief_numbers() -> list[Spec]:
    return [
        {
            "transform": [{"filter": f"datum.numbered && datum.side {sign} '{KINDS[0]}'"}],
            "mark": {"type": "text", **place},
            "encoding": {"text": {"field": "text"}, "color": {"value": COLOUR[tone]}},
        }
        for sign, place, tone in (
            ("===", {"baseline": "bottom", "dy": -8}, "ink"),
            ("!==", {"baseline": "top", "dy": 9}, "quiet"),
        )
    ]


def _allowed_area(promises: Sequence[Promise], last: int) -> list[Spec]:
    """A tinted area up to each promise's number of pieces, a line at its c, as steps."""
    if not promises:
        return []
    foot, start = _at(0, _belief_axis("")), _at(-0.35, _pieces_axis(last))
    area = {"type": "rect", "color": COLOUR["band"], "opacity": 0.6}
    layers: list[Spec] = []
    for before, promise in zip((None, *promises), promises, strict=False):
        across = {
            "x": {**start, "datum": before.k + 0.35} if before else start,
            "x2": {"datum": promise.k + 0.35},
        }
        layers += [
            {
                **DRAW_ONCE,
                "mark": area,
                "encoding": {**across, "y": foot, "y2": {"datum": promise.c}},
            },
            {
                **DRAW_ONCE,
                "mark": THRESHOLD_LINE,
                "encoding": {**across, "y": {**foot, "datum": promise.c}},
            },
        ]
    words: Spec = {
        **DRAW_ONCE,
        "mark": {
            "type": "text",
            "color": COLOUR["ink"],
            "align": "left",
            "fontSize": 12.5,
            "baseline": "bottom",
            "dx": 8,
            "dy": -6,
        },
        # The foot is free: nobody's belief in the likeliest of a few values is near nothing.
        "encoding": {"x": start, "y": foot, "text": {"value": summarise_belief_promises(promises)}},
    }
    return [*layers, words]


def _at(value: float, axis: Spec) -> Spec:
    return {"datum": value, "type": "quantitative", "axis": axis["axis"], "scale": axis["scale"]}


def chart_belief_by_entropy(
    entropy: NDArray[np.float64],
    belief: NDArray[np.float64],
    k: int,
    what: str = "value",
    promise: Promise | None = None,
    beyond: NDArray[np.bool_] | None = None,
) -> Spec:
    """Each class by its entropy in bits and the largest belief about its people with k pieces.

    ``beyond`` marks the classes that break the promise, as its model decides; without one those
    where somebody's value is certain are marked.
    """
    marked = np.asarray(belief >= 1 if beyond is None else beyond)
    points = _class_points(entropy, belief, marked)
    names = (
        ("somebody's value is certain", "nobody's is")
        if promise is None
        else ("classes that break the promise", "classes that keep it")
    )
    values = [
        {
            "entropy": bits,
            "belief": largest,
            "text": format_belief(largest, promise),
            "classes": classes,
            "side": names[0 if worse else 1],
        }
        for (bits, largest, worse), classes in points
    ]
    colour: Spec = {"value": COLOUR["alarm" if marked.all() else "after"]}
    if marked.any() and not marked.all():
        colour = colour_scale("side", names, ("alarm", "after"))
    promised: list[Spec] = []
    if promise is not None:
        y = _at(promise.c, _belief_axis(""))
        promised = [{**DRAW_ONCE, "mark": THRESHOLD_LINE, "encoding": {"y": y}}]
    return make_chart(
        _varied_title(belief, marked, k, what, promise),
        f"Circles: classes by how varied their {what} is (entropy) and the largest belief about "
        f"one of their people with {format_piece_count(k)}; larger circles are more classes.",
        values,
        {"entropy": "Entropy (bits)", "text": "Largest belief", "classes": "Classes"},
        height=250,
        layer=[
            *promised,
            {
                "mark": {"type": "circle", "opacity": 0.65},
                "encoding": {
                    "x": _entropy_axis(entropy),
                    "y": _belief_axis(f"largest belief with {format_piece_count(k)}"),
                    "size": _circle_size(values),
                    "color": colour,
                },
            },
        ],
    )


Point = tuple[float, float, bool]


def _class_points(
    entropy: NDArray[np.float64], belief: NDArray[np.float64], marked: NDArray[np.bool_]
) -> list[tuple[Point, int]]:
    """The different classes with how many there are; if they are many, by bins at their means."""
    numbers = (np.round(entropy, 6).tolist(), belief.tolist(), marked.tolist())
    different = Counter(zip(*numbers, strict=True))
    return sorted(
        different.items() if len(different) <= MAX_POINTS else _bin_classes(entropy, belief, marked)
    )


def _bin_classes(
    entropy: NDArray[np.float64], belief: NDArray[np.float64], marked: NDArray[np.bool_]
) -> list[tuple[Point, int]]:
    """Means keep a bin on its own side of a line; what is certain is never averaged away."""
    across = np.floor(entropy / max(float(entropy.max()), 1e-9) * (ACROSS - 1e-6))
    up = np.where(belief >= 1, UP, np.floor(belief * UP))
    key = (across * (UP + 1) + up) * 2 + marked
    _, first, at, classes = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    bits, mean_belief = (np.bincount(at, weights=part) / classes for part in (entropy, belief))
    mean_belief = np.where(belief[first] >= 1, 1.0, mean_belief)
    columns = (np.round(bits, 6), mean_belief, marked[first])
    points = zip(*(column.tolist() for column in columns), strict=True)
    return list(zip(points, classes.tolist(), strict=True))


def _varied_title(
    belief: NDArray[np.float64],
    marked: NDArray[np.bool_],
    k: int,
    what: str,
    promise: Promise | None,
) -> str:
    classes, start = len(belief), f"With {format_piece_count(k)} an adversary can be"
    if marked.any() or promise is not None:
        confidence = "certain" if promise is None else f"{100 * promise.c:.3g}% sure"
        number = f"{marked.sum():,}" if marked.any() else "none"
        where = f"{number} of {classes:,} class{'es' if classes > 1 else ''}"
        return f"{start} {confidence} of somebody's {what} in {where}"
    low, high = (speak_share(format_percent(float(end), 1)) for end in (belief.min(), belief.max()))
    if low == high:
        return f"{start} {high} sure of somebody's {what} in every class"
    return f"{start} {high} sure of somebody's {what} in the worst class, {low} in the best"


def _entropy_axis(entropy: NDArray[np.float64]) -> Spec:
    widest = max(1.0, float(entropy.max()))
    axis = {
        "title": "entropy of the class in bits: 1 is as varied as two equally common values, "
        "2 as four",
        "values": [bits / 2 for bits in range(int(2 * widest) + 1)],
        "grid": False,
    }
    return number_axis("entropy", (-0.03 * widest, 1.05 * widest), axis)


def _circle_size(values: Sequence[Spec]) -> Spec:
    largest = max(int(point["classes"]) for point in values)
    sizes = [45, 45 if largest == 1 else 420]
    scale = {"type": "sqrt", "domain": [1, max(2, largest)], "range": sizes}
    # Little variety means little doubt: the lower left is free for the legend.
    words = "datum.value + (datum.value > 1 ? ' classes' : ' class')"
    legend = {
        "orient": "bottom-left",
        "direction": "vertical",
        "values": _legend_steps(largest),
        "labelExpr": words,
        "symbolFillColor": COLOUR["rest"],
        "symbolStrokeWidth": 0,
    }
    return {
        "field": "classes",
        "type": "quantitative",
        "scale": scale,
        "legend": legend if largest > 1 else None,
    }


def _legend_steps(largest: int) -> list[int]:
    """One, about the largest, and one between, as round numbers.

    >>> _legend_steps(2), _legend_steps(78), _legend_steps(4321)
    ([1, 2], [1, 10, 70], [1, 100, 4000])
    """
    power = 10 ** (len(str(largest)) - 1)
    top = largest // power * power
    return sorted({1, max(1, power if top < 1000 else power // 10), top})
