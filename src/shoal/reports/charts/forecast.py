"""Charts of forecasts: estimates side by side, classes by their chance, and how true they came.

Numbers are shares of classes as a forecast's and a validation's JSON have them. An estimator has
the same colour and shape on every chart; the default is the darkest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shoal.reports.charts.axes import (
    bins_axis,
    colour_and_shape,
    draw_diagonal,
    names_axis,
    number_axis,
    percent_axis,
    share_axis,
    title_axis,
    value_text,
)
from shoal.reports.charts.theme import COLOUR, Spec, make_chart, make_empty_chart
from shoal.reports.format import format_brief_percent, format_percent, speak_share

DEFAULT = "simulation"
TONES = {
    "simulation": "after",
    "closed form": "before",
    "paper, at least": "quiet",
    "paper, best subset": "rest",
}
SHAPES = {
    "simulation": "circle",
    "closed form": "diamond",
    "paper, at least": "square",
    "paper, best subset": "triangle-up",
}
"""Estimators differ by colour and by shape: also on a grey printer."""
SQUARE = 400
"""The height of a chart whose two axes have the same scale."""
ROOM = 1.08
MIN_TICK_GAP = 0.06
"""Ticks of an axis are at least so far from each other, of its length."""
LEGEND = {"offset": 38}
"""Room between the legend and the title of the axis that goes up."""
FEW = 20
"""Of fewer classes than these the share that came true is chance itself, and not drawn."""

Numbers = Mapping[str, Any]


def chart_estimates(estimates: Sequence[Numbers], classes: int) -> Spec:
    """Each estimator's figure, the default first, with the interval of the one that has it."""
    values = [
        {
            "name": estimate["name"],
            "share": estimate["risk"],
            "text": format_percent(estimate["risk"], 1),
            "low": (estimate["interval"] or (estimate["risk"],))[0],
            "high": (estimate["interval"] or (estimate["risk"],))[-1],
            "range": format_interval(estimate["interval"]),
            "default": estimate["name"] == DEFAULT,
        }
        for estimate in sorted(estimates, key=lambda estimate: estimate["name"] != DEFAULT)
    ]
    longest = max(value["high"] for value in values)
    colour = {
        "condition": {"test": "datum.default", "value": COLOUR["after"]},
        "value": COLOUR["rest"],
    }
    axis = share_axis("share of our classes that would be exposed", longest)
    line = {"type": "rule", "strokeWidth": 3, "color": COLOUR["before"]}
    spread = {"x": {**axis, "field": "low"}, "x2": {"field": "high"}}
    text = value_text("x")
    return make_chart(
        f"{speak_share(format_percent(values[0]['share'], 1)).capitalize()} of {classes:,} classes "
        f"would be exposed, by {values[0]['name']}",
        "Bars: the share of classes that each estimator expects to be exposed; the line is the "
        "range of nine releases in ten.",
        values,
        {"name": "Estimator", "text": "Exposed", "range": "Nine releases in ten"},
        height={"step": 38},
        encoding={"y": names_axis("name", [value["name"] for value in values]), "x": axis},
        layer=[
            {"mark": {"type": "bar", "height": 20}, "encoding": {"color": colour}},
            {"mark": line, "transform": [{"filter": "datum.high > datum.low"}], "encoding": spread},
            # The number stands behind the bar, and behind the interval where there is one.
            {**text, "encoding": {**text["encoding"], "x": {**axis, "field": "high"}}},
        ],
    )


def format_interval(interval: Sequence[float] | None) -> str:
    """A range of shares as people read it; a dash where there is none."""
    return "–" if interval is None else " to ".join(format_percent(end, 1) for end in interval)


def chart_chances(counts: Sequence[int]) -> Spec:
    """Classes by their chance of being exposed, in ten steps."""
    total = sum(counts)
    last = max((i for i, n in enumerate(counts) if n), default=0)
    labels = ["<10%", *(f"{10 * i}–{10 * (i + 1)}%" for i in range(1, 10))][: last + 1]
    values = [
        {
            "label": label,
            "people": n,
            "share": n / total,
            "text": format_brief_percent(n, total),
            "told": format_percent(n, total),
        }
        for label, n in zip(labels, counts, strict=False)
    ]
    likely = sum(counts[5:])
    title = (
        f"{likely:,} of {total:,} classes are at least as likely exposed as not"
        if likely
        else f"No class of {total:,} is as likely exposed as not"
    )
    return make_chart(
        title,
        "Columns: the share of classes by their chance of being exposed, by simulation.",
        values,
        {"label": "Chance", "people": "Classes", "told": "Share"},
        height=190,
        encoding={
            "x": bins_axis("classes by the chance that somebody in them is exposed", labels[5:]),
            "y": share_axis("", max(counts) / total),
        },
        layer=[{"mark": {"type": "bar", "color": COLOUR["after"]}}, value_text("y")],
    )


def chart_estimated_and_true(trials: Sequence[Numbers], scores: Mapping[str, Numbers]) -> Spec:
    """Estimated against real exposure, setting by setting; on the line they agree."""
    names = list(scores)
    values = [
        {
            "name": name,
            "real": trial["real"],
            "said": trial["estimated"][name],
            "told": format_percent(trial["real"], 1),
            "text": format_percent(trial["estimated"][name], 1),
            "setting": f"k {trial['k']}, l {trial['l']}, {trial['overlap']:,} in both",
        }
        for name in reversed(names)  # the default is drawn last, in front
        for trial in trials
    ]
    if not values:
        return make_empty_chart("Nothing was tried")
    right, top = (
        ROOM * max(0.001, *(value[field] for value in values)) for field in ("real", "said")
    )
    ends = min(right, top)
    closest = min(names, key=lambda name: float(scores[name]["mae"]))
    axes = _risk_axis("real", "came true →", right, "x"), _risk_axis("said", "estimated", top, "y")
    return make_chart(
        f"{closest.capitalize()} misses by {_format_points(scores[closest]['mae'])} on average"
        f"{_add_default(closest, scores, 'mae', _format_points)}",
        "Points: the share of classes that came to be exposed (across) and that each estimator "
        "expected (up), a point for every setting; on the line both are the same.",
        values,
        {"name": "Estimator", "setting": "Setting", "text": "Estimated", "told": "Came true"},
        height=SQUARE,
        layer=[
            draw_diagonal("real", "said", ends, axes),
            {
                "mark": {"type": "point", "filled": True, "size": 62, "opacity": 0.75},
                "encoding": {"x": axes[0], "y": axes[1], **_estimator_encoding(names)},
            },
        ],
    )


def chart_reliability(scores: Mapping[str, Numbers]) -> Spec:
    """Of classes with about the same chance, how many came to be exposed."""
    values = [
        {
            "name": name,
            "chance": bin_["expected"],
            "share": bin_["exposed"],
            "classes": bin_["classes"],
            "text": format_percent(bin_["exposed"], 1),
            "told": format_percent(bin_["expected"], 1),
        }
        for name in reversed(list(scores))
        for bin_ in scores[name]["reliability"]
        if bin_["classes"] >= FEW
    ]
    if not values:
        return make_empty_chart("Too few classes to compare chances with what came true")
    axes = (
        percent_axis("chance", "chance that was told →", "x"),
        percent_axis("share", "share of these classes that came to be exposed", "y"),
    )
    sharpest = min(scores, key=lambda name: float(scores[name]["brier"]))
    return make_chart(
        f"{sharpest.capitalize()} tells chances best: a Brier score of "
        f"{scores[sharpest]['brier']:.3g}"
        f"{_add_default(sharpest, scores, 'brier', '{:.3g}'.format)}",
        "Lines: classes by the chance that an estimator told (across) and the share of them that "
        "came to be exposed (up); on the straight line chances are right.",
        values,
        {"name": "Estimator", "told": "Chance told", "text": "Came true", "classes": "Classes"},
        height=SQUARE - 60,
        layer=[
            draw_diagonal("chance", "share", 1.0, axes),
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {
                    "x": axes[0],
                    "y": axes[1],
                    "color": _estimator_encoding(scores)["color"],
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 74, "opacity": 1},
                "encoding": {"x": axes[0], "y": axes[1], **_estimator_encoding(scores)},
            },
        ],
    )


def _add_default(
    best: str, scores: Mapping[str, Numbers], field: str, format_figure: Callable[[float], str]
) -> str:
    if best == DEFAULT or DEFAULT not in scores:
        return ""
    return f"; {DEFAULT}, the default, {format_figure(scores[DEFAULT][field])}"


def _format_points(share: float) -> str:
    """A difference of shares.

    >>> _format_points(0.0044), _format_points(0.121)
    ('0.44 percentage points', '12 percentage points')
    """
    return f"{100 * share:.2g} percentage points"


def _risk_axis(field: str, title: str, end: float, channel: str) -> Spec:
    # A square root spreads the small shares and still has a zero.
    ticks = [0.0]
    for tick in (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1):
        if tick <= end and (tick / end) ** 0.5 - (ticks[-1] / end) ** 0.5 > MIN_TICK_GAP:
            ticks.append(tick)
    labels = {"values": ticks, "labelExpr": "format(100 * datum.value, '~g') + '%'"}
    return number_axis(field, (0, end), {**title_axis(title, channel), **labels}, type="sqrt")


def _estimator_encoding(names: Iterable[str]) -> Spec:
    series = [(name, TONES.get(name, "ink"), SHAPES.get(name, "cross")) for name in names]
    return colour_and_shape("name", series, LEGEND)
