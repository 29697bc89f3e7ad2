"""Charts of what somebody could believe who knows more than the table tells.

`chart_disclosure` draws the largest belief that pieces of knowledge can give anybody in anybody's
value, piece by piece; `chart_belief_by_entropy` sets each class's entropy beside it: classes that
are equally varied may be unequally safe.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007 (Figures 5 and 6).

Both show extremes of classes, so neither is for the public. They do not show what an adversary
does know: only what knowledge of that size could do at worst.

What a release promises about knowledge beyond the table, and how it is told.

(c,k)-safety: with up to k pieces of knowledge nobody's belief in anybody's value reaches c (Martin
et al., ICDE 2007). A requirement may hold several; none of them says anything about more pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.reports.charts.axes import colour_scale
from shoal.reports.charts.theme import COLOUR, Spec, make_chart
from shoal.reports.format import format_percent, speak_share

# What a release promises about knowledge beyond the table, and how it is told.


NEAR = 1e-9
"""Relative distance under which two floats may be the same number."""


@dataclass(frozen=True)
class Promise:
    """What a release promises: with up to ``k`` pieces every belief is less than ``c``."""

    c: float
    k: int
    met: bool


def find_tightest_promises(promises: Iterable[Promise]) -> tuple[Promise, ...]:
    """The promises that no other makes needless, the one about fewest pieces first.

    >>> some = Promise(0.6, 3, True), Promise(0.7, 2, True), Promise(0.4, 1, False)
    >>> [(one.c, one.k) for one in find_tightest_promises(some)]
    [(0.4, 1), (0.6, 3)]
    """
    kept: list[Promise] = []
    for one in sorted(promises, key=lambda one: (-one.k, one.c)):
        if not kept or one.c < kept[-1].c:
            kept.append(one)
    return tuple(reversed(kept))


def format_belief(belief: float, promise: Promise | None = None) -> str:
    """A belief as a share; one that is under what is promised does not read as if it were not.

    >>> format_belief(0.5995), format_belief(0.5995, Promise(0.6, 2, met=True))
    ('60%', '<60%')
    """
    text = format_percent(belief, 1)
    under = promise is not None and belief < promise.c * (1 - NEAR)
    return f"<{text}" if promise and under and text == format_percent(promise.c, 1) else text


def summarise_belief_promises(promises: Sequence[Promise]) -> str:
    """What is promised, in the chart.

    >>> summarise_belief_promises([Promise(0.6, 2, met=True)])
    'promised: less than 60%'
    >>> summarise_belief_promises([Promise(0.4, 1, met=True), Promise(0.6, 3, met=True)])
    'promised: less than 40% with up to 1, 60% with up to 3 pieces'
    """
    shares = [f"{100 * one.c:.3g}%" for one in promises]
    if len(shares) == 1:
        return f"promised: less than {shares[0]}"
    steps = (f"{c} with up to {one.k}" for c, one in zip(shares, promises, strict=True))
    return f"promised: less than {', '.join(steps)} pieces"


# Charts of what somebody could believe who knows more than the table tells.


KINDS = ("what follows from what (implications)", "what somebody does not have (negations)")
"""The two kinds of knowledge, in words."""
MAX_POINTS = 400
"""More different classes than this are drawn in bins."""
ACROSS, UP = 48, 24
"""How many bins there are by entropy and by belief: at most so many times so many marks."""
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def format_piece_count(count: int) -> str:
    """So many pieces of knowledge, in words.

    >>> format_piece_count(0), format_piece_count(1), format_piece_count(12)
    ('no further knowledge', 'one piece of knowledge', '12 pieces of knowledge')
    """
    if not count:
        return "no further knowledge"
    told = _UNITS[count - 1] if count <= len(_UNITS) else f"{count:,}"
    return f"{told} piece{'' if count == 1 else 's'} of knowledge"


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
            "text": format_belief(belief, next((one for one in promises if one.k >= k), None)),
            "numbered": i == 0 or _apart(sides[0], k, belief),
        }
        for i, (name, side) in enumerate(zip(KINDS, sides, strict=True))
        for k, belief in enumerate(side)
    ]
    last = max(1, *(len(side) - 1 for side in sides), *(one.k for one in promises))
    return make_chart(
        _disclosure_title(sides[0], what),
        f"Lines: the largest belief in anybody's {what} that pieces of knowledge can give, by how "
        "many they are." + (" The tinted area is what the requirement allows." if promises else ""),
        values,
        {"pieces": "Pieces of knowledge", "side": "Kind", "text": "Largest belief"},
        height=250,
        layer=[
            *_allowed(promises, last),
            {
                "encoding": {
                    "x": _pieces_axis(last),
                    "y": _belief_axis(f"largest belief in somebody's {what}"),
                    "color": colour_scale("side", KINDS, ("alarm", "before")),
                },
                "layer": [*_lines(), *_beliefs()],
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


def _apart(upper: Sequence[float], k: int, belief: float) -> bool:
    """Whether a point of the lower line is far enough below the upper one to have its number."""
    return k >= len(upper) or format_percent(upper[k], 1) != format_percent(belief, 1)


def _disclosure_title(curve: Sequence[float], what: str) -> str:
    if curve[-1] < 1:
        sure, known = speak_share(format_percent(curve[-1], 1)), format_piece_count(len(curve) - 1)
        return (
            f"With {known} an adversary can be {sure} sure of somebody's {what}; with none, "
            f"{speak_share(format_percent(curve[0], 1))}"
        )
    if len(curve) == 1:
        return f"Somebody's {what} is certain to whoever finds their class, and knows nothing else"
    needed = format_piece_count(len(curve) - 1)
    return f"With {needed} an adversary can be certain of somebody's {what}"


def _pieces_axis(last: int) -> Spec:
    step = 1 if last <= 15 else 5
    return {
        "field": "pieces",
        "type": "quantitative",
        # Half a step on either side is room for the numbers at the ends.
        "scale": {"domain": [-0.35, last + 0.35], "nice": False},
        "axis": {
            "title": "pieces of knowledge beyond the table",
            "values": list(range(0, last + 1, step)),
            "format": "d",
            "labelOverlap": False,
            "grid": False,
        },
    }


def _belief_axis(title: str) -> Spec:
    axis: Spec = {
        "title": title,
        "titleAnchor": "middle",
        "values": [0, 0.25, 0.5, 0.75, 1],
        "format": ".0%",
        "domain": False,
    }
    scale = {"domain": [0, 1.08], "nice": False}  # room for a number above certainty
    return {"field": "belief", "type": "quantitative", "axis": axis, "scale": scale}


def _lines() -> list[Spec]:
    """The lower line dashed, so that the upper one is seen where both are the same."""
    dash = {"condition": {"test": f"datum.side === '{KINDS[0]}'", "value": [1, 0]}, "value": [4, 4]}
    return [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"strokeDash": dash}},
        {"mark": {"type": "circle", "size": 60, "opacity": 1}},
    ]


def _beliefs() -> list[Spec]:
    """Numbers above the upper line, and below the lower one where it is apart."""
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


def _allowed(promises: Sequence[Promise], last: int) -> list[Spec]:
    """What the requirement allows: a tinted area up to its number of pieces, a line at its c.

    Further promises are steps, each from where the one before it ends.
    """
    one: Spec = {"data": {"values": [{}]}}  # else each point would draw it again
    x, y = _pieces_axis(last), _belief_axis("")
    foot = {**_datum(0), **{key: y[key] for key in ("axis", "scale")}}
    area = {"type": "rect", "color": COLOUR["band"], "opacity": 0.6}
    line = {"type": "rule", "color": COLOUR["ink"], "strokeWidth": 1.5, "strokeDash": [5, 4]}
    start = {**_datum(-0.35), **{key: x[key] for key in ("axis", "scale")}}
    layers: list[Spec] = []
    for before, promise in zip((None, *promises), promises, strict=False):
        across = {
            "x": {**start, "datum": before.k + 0.35} if before else start,
            "x2": {"datum": promise.k + 0.35},
        }
        at_c = {**foot, "datum": promise.c}
        layers += [
            {**one, "mark": area, "encoding": {**across, "y": foot, "y2": {"datum": promise.c}}},
            {**one, "mark": line, "encoding": {**across, "y": at_c}},
        ]
    words: Spec = {
        **one,
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
    return [*layers, words] if promises else []


def _datum(value: float) -> Spec:
    return {"datum": value, "type": "quantitative"}


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
    points = _points(entropy, belief, marked)
    names = _sides(promise)
    values = [
        {
            "entropy": bits,
            "belief": sure,
            "text": format_belief(sure, promise),
            "classes": classes,
            "side": names[0 if worse else 1],
        }
        for (bits, sure, worse), classes in points
    ]
    colour: Spec = {"value": COLOUR["alarm" if marked.all() else "after"]}
    if marked.any() and not marked.all():
        colour = colour_scale("side", names, ("alarm", "after"))
    return make_chart(
        _varied_title(belief, marked, k, what, promise),
        f"Circles: classes by how varied their {what} is (entropy) and the largest belief about "
        f"one of their people with {format_piece_count(k)}; larger circles are more classes.",
        values,
        {"entropy": "Entropy (bits)", "text": "Largest belief", "classes": "Classes"},
        height=250,
        layer=[
            *([] if promise is None else [_line(promise.c)]),
            {
                "mark": {"type": "circle", "opacity": 0.65},
                "encoding": {
                    "x": _entropy_axis(entropy),
                    "y": _belief_axis(f"largest belief with {format_piece_count(k)}"),
                    "size": _size(values),
                    "color": colour,
                },
            },
        ],
    )


Point = tuple[float, float, bool]


def _points(
    entropy: NDArray[np.float64], belief: NDArray[np.float64], marked: NDArray[np.bool_]
) -> list[tuple[Point, int]]:
    """The different classes with how many there are; many are drawn by bins, at their means."""
    numbers = (np.round(entropy, 6).tolist(), belief.tolist(), marked.tolist())
    different = Counter(zip(*numbers, strict=True))
    return sorted(
        different.items() if len(different) <= MAX_POINTS else _bins(entropy, belief, marked)
    )


def _bins(
    entropy: NDArray[np.float64], belief: NDArray[np.float64], marked: NDArray[np.bool_]
) -> list[tuple[Point, int]]:
    """Means keep a bin on its own side of a line; what is certain is never averaged away."""
    across = np.floor(entropy / max(float(entropy.max()), 1e-9) * (ACROSS - 1e-6))
    up = np.where(belief >= 1, UP, np.floor(belief * UP))
    key = (across * (UP + 1) + up) * 2 + marked
    _, first, at, classes = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    bits, sure = (np.bincount(at, weights=part) / classes for part in (entropy, belief))
    sure = np.where(belief[first] >= 1, 1.0, sure)
    points = zip(np.round(bits, 6).tolist(), sure.tolist(), marked[first].tolist(), strict=True)
    return list(zip(points, classes.tolist(), strict=True))


def _sides(promise: Promise | None) -> tuple[str, str]:
    if promise is None:
        return "somebody's value is certain", "nobody's is"
    return "classes that break the promise", "classes that keep it"


def _varied_title(
    belief: NDArray[np.float64],
    marked: NDArray[np.bool_],
    k: int,
    what: str,
    promise: Promise | None,
) -> str:
    classes, start = len(belief), f"With {format_piece_count(k)} an adversary can be"
    if marked.any() or promise is not None:
        sure = "certain" if promise is None else f"{100 * promise.c:.3g}% sure"
        number = f"{marked.sum():,}" if marked.any() else "none"
        where = f"{number} of {classes:,} class{'es' if classes > 1 else ''}"
        return f"{start} {sure} of somebody's {what} in {where}"
    low, high = (speak_share(format_percent(float(end), 1)) for end in (belief.min(), belief.max()))
    if low == high:
        return f"{start} {high} sure of somebody's {what} in every class"
    return f"{start} {high} sure of somebody's {what} in the worst class, {low} in the best"


def _entropy_axis(entropy: NDArray[np.float64]) -> Spec:
    widest = max(1.0, float(entropy.max()))
    return {
        "field": "entropy",
        "type": "quantitative",
        "scale": {"domain": [-0.03 * widest, 1.05 * widest], "nice": False},
        "axis": {
            "title": "entropy of the class in bits: 1 is as varied as two equally common values, "
            "2 as four",
            "values": [bits / 2 for bits in range(int(2 * widest) + 1)],
            "grid": False,
        },
    }


def _size(values: Sequence[Spec]) -> Spec:
    """Larger for more classes. Little variety means little doubt: the lower left is free."""
    most = max(int(point["classes"]) for point in values)
    scale = {"type": "sqrt", "domain": [1, max(2, most)], "range": [45, 45 if most == 1 else 420]}
    words = "datum.value + (datum.value > 1 ? ' classes' : ' class')"
    legend = {
        "orient": "bottom-left",
        "direction": "vertical",
        "values": _steps(most),
        "labelExpr": words,
        "symbolFillColor": COLOUR["rest"],
        "symbolStrokeWidth": 0,
    }
    drawn = legend if most > 1 else None
    return {"field": "classes", "type": "quantitative", "scale": scale, "legend": drawn}


def _steps(most: int) -> list[int]:
    """One, about the most, and one between, as round numbers.

    >>> _steps(2), _steps(78), _steps(4321)
    ([1, 2], [1, 10, 70], [1, 100, 4000])
    """
    power = 10 ** (len(str(most)) - 1)
    top = most // power * power
    return sorted({1, max(1, power if top < 1000 else power // 10), top})


def _line(c: float) -> Spec:
    at_c = {**_datum(c), **{key: _belief_axis("")[key] for key in ("axis", "scale")}}
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": COLOUR["ink"], "strokeWidth": 1.5, "strokeDash": [5, 4]},
        "encoding": {"y": at_c},
    }
