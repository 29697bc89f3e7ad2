"""The chart of both schools: loss of each guarantee against what two of its releases give away.

It is drawn from a comparison's JSON. Each guarantee is a point at its loss and the share of people
in both releases whose value is guessed right; below it a ring at that of the control, in neither of
them. What lies between is what being in the tables adds.

Each rule is named; a form of noise once, at the point of its series that has the most room, and its
other points by their ε alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import dist
from operator import itemgetter
from typing import Any

from shoal.reports.charts.axes import colour_and_shape, number_axis, title_axis
from shoal.reports.charts.point_names import (
    LETTER,
    LINE,
    LINE_MARKS,
    NAME_MARKS,
    Box,
    Place,
    cover_name,
    cover_points,
    cover_words,
    draw_baseline,
    find_free_box,
    find_spot_along_line,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import format_percent, join_all_names

JsonObject = Mapping[str, Any]

CAP = 1 - 1e-9
"""From this loss on it is cut off at 1: what was worse than nothing counts as 1."""
HEIGHT, PLOT = 430, 620
"""The height and width of the drawing, in which labels are placed."""
RING = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0ZM0.7,0A0.7,0.7,0,1,0,-0.7,0A0.7,0.7,0,1,0,0.7,0Z"
BAND = "M-0.45,-1L0.45,-1L0.45,1L-0.45,1Z"
KINDS = {
    "partition": ("classes", "before", "circle"),
    "randomised": ("randomised answers", "after", "triangle-up"),
    "counts": ("counts", "after", "square"),
    "synthetic": ("synthetic", "after", "diamond"),
}
"""The name, the tone and the shape of each form."""
KEYS = (
    ("the control, in neither table", "quiet", RING),
    ("least to most of the seeds", "rest", BAND),
)
"""The further entries of the legend, likewise."""
_BINS = "bins alone"


def chart_side_by_side(facts: JsonObject) -> Spec:
    """Loss across, exposure up; both schools in two colours, with names where there is room."""
    outcomes = list_outcomes_with_release(facts)
    if not outcomes:
        return make_empty_chart("No release could be made")
    values = _values(outcomes, facts["seeds"])
    scale = _scale(values, facts["base"])
    # What bins cost alone, without any noise.
    floor = min(
        (
            outcome["noiseless"]["mean"]
            for outcome in outcomes
            if outcome["form"] in ("counts", "synthetic")
        ),
        default=None,
    )
    reference_lines = _place_words(values, facts["base"], floor, scale)
    return make_chart(
        summarise_comparison(facts),
        "Points: guarantees by loss (across) and the share of people in two overlapping releases "
        f"whose {facts['column']} is guessed right (up). Rings: the same for people who are in "
        "neither. Bars: from the least to the most of the seeds.",
        values,
        {
            "guarantee": "Guarantee",
            "school": "School",
            "told": "Guessed right",
            "other": "Control",
            "more": "Added, in points",
            "lost": "Loss",
        },
        height=HEIGHT,
        encoding={"x": _loss_axis(scale)},
        layer=[*reference_lines, *_marks(values, scale), *map(_label, NAME_MARKS)],
    )


def list_outcomes_with_release(facts: JsonObject) -> list[JsonObject]:
    """The outcomes of guarantees under which a release could be made."""
    return [outcome for outcome in facts["outcomes"] if outcome["loss"] is not None]


def shorten_outcome_rules(outcomes: Sequence[JsonObject]) -> dict[str, str]:
    """The short name of each outcome without noise, by its whole one."""
    return shorten_rule_names(
        [str(outcome["name"]) for outcome in outcomes if not outcome["epsilon"]]
    )


def _values(outcomes: Sequence[JsonObject], seeds: int) -> list[Spec]:
    rules = shorten_outcome_rules(outcomes)
    return [
        {
            "guarantee": outcome["name"],
            "school": outcome["school"],
            "kind": KINDS[outcome["form"]][0],
            **_names(outcome, rules),
            "series": outcome["form"] if outcome["epsilon"] else outcome["name"],
            "loss": outcome["loss"]["mean"],
            **_ends("right", outcome),
            **_ends("control", outcome),
            "told": format_exact_share(outcome["right"]["mean"]),
            "other": format_exact_share(outcome["control"]["mean"]),
            "more": format_gain(outcome["added"], seeds),
            "lost": format_loss(outcome["loss"]),
        }
        for outcome in outcomes
    ]


def _names(outcome: JsonObject, rules: Mapping[str, str]) -> Spec:
    """The whole name, and the short one that stands where the series is named already."""
    if not outcome["epsilon"]:
        return {"name": _first_words(rules[str(outcome["name"])]), "short": ""}
    short = format_epsilon_each(str(outcome["epsilon"]))
    return {"name": f"{outcome['form']}, {short}", "short": short.removesuffix(" each")}


def _first_words(rule: str) -> str:
    """A rule by its parts, each with its first parameter.

    >>> _first_words("+ composition l=2 alpha=0.95")
    '+ composition l=2'
    """
    sign, own = ("+ ", rule[2:]) if rule.startswith("+ ") else ("", rule)
    return sign + " & ".join(" ".join(part.split(" ")[:2]) for part in own.split(" & "))


def _ends(name: str, outcome: JsonObject) -> Spec:
    figure = outcome[name]
    return {name: figure["mean"], f"{name}_low": figure["low"], f"{name}_high": figure["high"]}


def _place_words(
    values: Sequence[Spec], base: float, floor: float | None, scale: Spec
) -> list[Spec]:
    """Place the names in ``values``; return the layers of the two lines with their words."""
    size = PLOT, HEIGHT
    points = [_pixel(value["loss"], value["right"], scale) for value in values]
    rings = [_pixel(value["loss"], value["control"], scale) for value in values]
    stems = [
        (x - 1, min(y, ring_y), x + 1, max(y, ring_y))
        for (x, y), (_, ring_y) in zip(points, rings, strict=True)
    ]
    taken, soft = cover_points(points), [*stems, *cover_points(rings)]
    line, words = _pixel(0, base, scale)[1], f"the most common value {format_exact_share(base)}"
    spot = find_spot_along_line(words, line, [*taken, *soft], size, list(LINE_MARKS))
    taken.append(cover_words(words, line, spot, size))
    soft += [*_cover_series(values, points), (0, line - 1, PLOT, line + 1)]
    if floor is not None:
        x = _pixel(floor, 0, scale)[0]
        taken.append((x, 0, x + LETTER * (len(_BINS) + 1), LINE))
        soft.append((x, 0, x + 2, HEIGHT))
    names = NamePlacer(points, size, taken, soft)
    names.write(values)
    for i, value in enumerate(values):
        value["label"], value["place"] = names.chosen.get(i, ("", ""))
    return [*draw_baseline(base, words, spot), *([] if floor is None else _bins(floor))]


def _pixel(loss: float, share: float, scale: Spec) -> Place:
    (left, right), (low, high) = scale["x"], scale["y"]
    return PLOT * (loss - left) / (right - left), HEIGHT * (high - share) / (high - low)


def _scale(values: Sequence[Spec], base: float) -> Spec:
    ends = ("right_high", "right_low", "control_high", "control_low")
    shares = [float(value[key]) for value in values for key in ends] + [base]
    room = max(0.01, 0.12 * (max(shares) - min(shares)))
    widest = max(float(value["loss"]) for value in values)
    low, high = max(0.0, min(shares) - room), min(1.0, max(shares) + room)
    return {"x": (0.0, min(1.15 * widest, 1.05) or 1.0), "y": (low, high)}


def _loss_axis(scale: Spec) -> Spec:
    axis = {
        **title_axis("loss: how far columns and pairs of columns have moved →", "x"),
        "format": ".1~f",
        "tickCount": 6,
        "labelExpr": f"datum.value >= {CAP} ? '≥ 1' : datum.label",
    }
    return number_axis("loss", scale["x"], axis)


def _share_axis(field: str, scale: Spec) -> Spec:
    title = title_axis("people whose value is guessed right", "y")
    axis = {**title, "format": ".0%", "tickCount": 6}
    return number_axis(field, scale["y"], axis, zero=False)


def _bins(floor: float) -> list[Spec]:
    # An upright line with words at its top.
    data, ink = {"values": [{"loss": floor, "words": _BINS}]}, {"color": {"value": COLOUR["quiet"]}}
    text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "dy": 1}
    return [
        {"mark": {"type": "rule", "strokeDash": [1, 4]}, "data": data, "encoding": ink},
        {
            "mark": text,
            "data": data,
            "encoding": {**ink, "y": {"value": 0}, "text": {"field": "words"}},
        },
    ]


def _marks(values: Sequence[Spec], scale: Spec) -> list[Spec]:
    used = [kind for kind in KINDS.values() if any(value["kind"] == kind[0] for value in values)]
    legend = {"offset": 34, "columns": 3, "symbolOpacity": 1, "symbolStrokeWidth": 0}
    encoding = colour_and_shape("kind", [*used, *KEYS], legend)
    tone = {"color": encoding["color"]}
    right, ring = _share_axis("right", scale), _share_axis("control", scale)
    series_line = {"type": "line", "strokeWidth": 1.6, "opacity": 0.5}
    stem = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.45}
    open_ring = {
        "type": "point",
        "size": 34,
        "strokeWidth": 1.4,
        "filled": False,
        "opacity": 0.8,
        "shape": "circle",
    }
    full_point = {"type": "point", "size": 95, "filled": True, "opacity": 1}
    series = {"order": {"field": "loss"}, "detail": {"field": "series"}}
    return [
        {"mark": series_line, "encoding": {**tone, "y": right, **series}},
        {"mark": stem, "encoding": {**tone, "y": right, "y2": {"field": "control"}}},
        *(_band(name, width, tone, scale) for name, width in (("right", 9), ("control", 6))),
        {"mark": open_ring, "encoding": {**tone, "y": ring}},
        {"mark": full_point, "encoding": {**encoding, "y": right}},
    ]


def _band(name: str, width: int, tone: Spec, scale: Spec) -> Spec:
    mark = {"type": "rule", "strokeWidth": width, "opacity": 0.25, "strokeCap": "round"}
    return {
        "mark": mark,
        "encoding": {
            **tone,
            "y": _share_axis(f"{name}_low", scale),
            "y2": {"field": f"{name}_high"},
        },
    }


def _label(place: str) -> Spec:
    return {
        "mark": {"type": "text", **NAME_MARKS[place]},
        "transform": [{"filter": {"field": "place", "equal": place}}],
        "encoding": {
            "y": {"field": "right", "type": "quantitative"},
            "text": {"field": "label"},
            "color": {"value": COLOUR["ink"]},
        },
    }


@dataclass
class NamePlacer:
    """Words at points, each where there is room; what is written first chooses first."""

    points: Sequence[Place]
    size: Place
    taken: list[Box]
    """What no word may cover."""
    lines: Sequence[Box]
    """What a word covers only where it would have no place otherwise."""
    chosen: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The words of a point, and at which of `NAME_MARKS` they stand."""

    def write(self, values: Sequence[Spec]) -> None:
        """Name every series once, and other points shortly.

        Values have ``series``, ``name`` (the whole one) and ``short``.
        """
        for series in _group_series(values).values():
            order = self._sort_by_room(series)
            if not any(self._put(i, values[i]["name"], self.lines) for i in order):
                any(self._put(i, values[i]["name"], ()) for i in order)
        for i, value in enumerate(values):
            if i not in self.chosen and value["short"]:
                self._put(i, value["short"], self.lines)

    def _sort_by_room(self, series: Sequence[int]) -> list[int]:
        """The point that is farthest from all others first."""

        def nearest(i: int) -> float:
            others = (other for j, other in enumerate(self.points) if j != i)
            return min((dist(self.points[i], other) for other in others), default=0.0)

        return sorted(series, key=nearest, reverse=True)

    def _put(self, i: int, words: str, lines: Sequence[Box]) -> bool:
        """Whether there is room for the words at a point; if so they stand there."""
        boxes = [cover_name(words, self.points[i], place) for place in NAME_MARKS]
        free = find_free_box(boxes, self.size, [*self.taken, *lines])
        if free is None:
            return False
        self.chosen[i] = words, list(NAME_MARKS)[free]
        self.taken.append(boxes[free])
        return True


def _group_series(values: Sequence[Spec]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for i, value in enumerate(values):
        groups.setdefault(str(value["series"]), []).append(i)
    return groups


def _cover_series(values: Sequence[Spec], points: Sequence[Place]) -> list[Box]:
    """The boxes of the lines that join the points of a series, in small steps."""
    boxes: list[Box] = []
    for series in _group_series(values).values():
        ordered = sorted((points[i] for i in series), key=itemgetter(0))
        for (x, y), (right, low) in pairwise(ordered):
            steps = [(x + (right - x) * s / 12, y + (low - y) * s / 12) for s in range(1, 12)]
            boxes += cover_points(steps)
    return boxes


def format_exact_share(share: float) -> str:
    """A share with one digit, which says nobody and everybody only where it is so.

    >>> format_exact_share(0.1234), format_exact_share(0), format_exact_share(0.9999)
    ('12.3%', '0%', '>99.9%')
    """
    return format_percent(share, 1) if share < 0.0995 or share > 0.995 else f"{share:.1%}"


def format_loss(loss: JsonObject) -> str:
    """A loss; at 1 it may be more.

    >>> format_loss({"mean": 0.25}), format_loss({"mean": 1.0})
    ('0.250', '≥ 1')
    """
    return "≥ 1" if loss["mean"] >= CAP else f"{loss['mean']:.3f}"


def format_gain(added: JsonObject, seeds: int) -> str:
    """A difference of shares in points, give or take half of the way from least to most.

    >>> format_gain({"mean": 0.123, "low": 0.1, "high": 0.14}, seeds=3)
    '12.3 ± 2.0'
    >>> format_gain({"mean": -0.01}, seeds=1)
    '−1.0'
    """
    mean = f"{100 * added['mean']:.1f}".replace("-", "−")
    return f"{mean} ± {50 * (added['high'] - added['low']):.1f}" if seeds > 1 else mean


def format_epsilon_each(epsilon: str) -> str:
    """The ε of each of the two releases.

    >>> format_epsilon_each("1/2")
    'ε = 0.5 each'
    """
    return f"ε = {float(Fraction(epsilon)):.6g} each"


def summarise_comparison(facts: JsonObject) -> str:
    """The finding in a sentence: the rule that adds most, and noise at about its loss."""
    comparisons = facts["compared"]
    if not comparisons:
        return f"{facts['column']} guessed right from two overlapping releases, and what they lose"
    first, seeds = comparisons[0], facts["seeds"]
    same_rule = [pair for pair in comparisons if pair["rule"] == first["rule"]]
    return (
        f"{first['rule']}, loss {first['losses'][0]:.3f}: being in both tables adds "
        f"{format_gain(first['added'][0], seeds)} points to {facts['column']} guessed right; at "
        f"about that loss {describe_noise_at_equal_loss(same_rule, seeds)}"
    )


def describe_noise_at_equal_loss(comparisons: Sequence[JsonObject], seeds: int) -> str:
    """What each form of noise adds, with its loss."""
    return ", ".join(
        f"{pair['form']} at {format_epsilon_each(pair['epsilon'])} "
        f"(loss {format_loss({'mean': pair['losses'][1]})}) "
        f"{format_gain(pair['added'][1], seeds)}"
        for pair in comparisons
    )


def shorten_rule_names(rules: Sequence[str]) -> dict[str, str]:
    """Rules by the parts that not all of them share.

    >>> list(shorten_rule_names(["k-anonymity k=5", "k-anonymity k=5 & alpha-k k=5"]).values())
    ['k-anonymity k=5', '+ alpha-k k=5']
    """
    parts = {rule: rule.split(" & ") for rule in rules}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    own = {rule: [part for part in parts[rule] if part not in shared] for rule in parts}
    return {
        rule: f"+ {' & '.join(left)}" if left and left != parts[rule] else rule
        for rule, left in own.items()
    }


def join_rules(rules: Sequence[str]) -> str:
    """Rules in a sentence, each as it is typed."""
    return join_all_names([f"`{rule}`" for rule in rules])
