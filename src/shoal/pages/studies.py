"""Charts of studies: what verifying costs in checks and time, and what privacy costs, against m.

`checks_chart` draws what each verifier needs for a class, `loss_chart` what each method loses for
the same guarantee.

Goryczka, Xiong, Fung: m-Privacy for collaborative data publishing, CollaborateCom 2011 (Figure 6
for the checks). They show means over the runs they are given, and not how far these are apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from shoal.pages.drawing import COLOUR, Spec, chart, nothing
from shoal.pages.words import listed

TONES = ("before", "alarm", "quiet", "after", "rest", "ink")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
"""Lines are told apart by colour and by shape: also on a grey printer."""
PANEL = 286


def checks_chart(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """What each verifier needs against m: checks above, seconds below; a panel a class size.

    A row is {"verifier", "class_rows", "m", "checks", "seconds"}; repeated ones are averaged. The
    scales are logarithmic, so that what needs no check at all is drawn at one.
    """
    values = _averaged(rows, ("verifier", "class_rows", "m"), ("checks", "seconds"))
    if not values:
        return nothing("No verifier was run")
    names = list(dict.fromkeys(str(one["verifier"]) for one in values))
    for one in values:
        one |= {"drawn": max(one["checks"], 1), "took": max(one["seconds"], 1e-6)}
    sizes = sorted({int(one["class_rows"]) for one in values})
    measures = (("drawn", "checks of the rule"), ("took", "time"))
    panels = [
        {"hconcat": [_panel(names, size, *measure, powers) for size in sizes], "spacing": 34}
        for measure in measures
        for powers in [_powers(values, measure[0])]
    ]
    return _several(
        _checks_title(values),
        "Lines: checks of the rule and seconds that each verifier needs (logarithmic), by the "
        "providers who may work together, for classes of "
        f"{listed([f'{size:,}' for size in sizes])} rows.",
        values,
        {"verifier": "Verifier", "class_rows": "Rows of the class", "m": "m",
         "checks": "Checks", "seconds": "Seconds"},
        vconcat=panels,
    )  # fmt: skip


def _powers(values: Sequence[Mapping[str, Any]], field: str) -> list[float]:
    """The powers of ten from under the least to above the largest: alike in all panels."""
    logs = [math.log10(one[field]) for one in values]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return [10.0**i for i in range(low, max(low + 1, high) + 1)]


def _panel(
    names: Sequence[str], size: int, field: str, words: str, powers: Sequence[float]
) -> Spec:
    """One class size and one measure; the first row has the titles, the last the axis's."""
    first = field == "drawn"
    title = {"text": f"a class of {size:,} rows", "fontSize": 13, "offset": 10}
    labels = {"format": ",d"} if first else {"labelExpr": _DURATION}
    axis = {"title": words, "titleAnchor": "middle", "values": powers, "domain": False, **labels}
    scale = {"type": "log", "domain": [powers[0], powers[-1]], "nice": False}
    return {
        **({"title": title} if first else {}),
        "width": PANEL,
        "height": 170,
        "transform": [{"filter": f"datum.class_rows === {size}"}],
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 36, "opacity": 1}},
        "encoding": {
            "x": _m_axis(titled=not first),
            "y": {"field": field, "type": "quantitative", "scale": scale, "axis": axis},
            **_told_apart("verifier", names),
        },
    }


_DURATION = (
    "datum.value >= 1 ? format(datum.value, ',~g') + ' s' : datum.value >= 0.001 ? "
    "format(1e3 * datum.value, '~g') + ' ms' : format(1e6 * datum.value, '~g') + ' µs'"
)


def duration(seconds: float) -> str:
    """A time as it is read.

    >>> duration(0.00012), duration(0.0163), duration(12.34)
    ('0.12 ms', '16.3 ms', '12.3 s')
    """
    return f"{seconds:,.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _m_axis(titled: bool = True) -> Spec:
    words = "m: providers who work together" if titled else None
    axis = {"title": words, "format": "d", "tickMinStep": 1, "grid": False}
    return {"field": "m", "type": "quantitative", "axis": axis, "scale": {"zero": False}}


def _told_apart(field: str, names: Sequence[str]) -> Spec:
    """Colour and shape by name, in one legend."""
    tones = ("after", "before") if len(names) == 2 else TONES
    one = {"field": field, "type": "nominal", "sort": None}
    ranges = {
        "color": [COLOUR[tones[i % len(tones)]] for i in range(len(names))],
        "shape": [SHAPES[i % len(SHAPES)] for i in range(len(names))],
    }
    return {
        channel: {**one, "scale": {"domain": list(names), "range": chosen}}
        for channel, chosen in ranges.items()
    }


def _checks_title(values: Sequence[Mapping[str, Any]]) -> str:
    worst: dict[str, float] = {}
    for one in values:
        name = str(one["verifier"])
        worst[name] = max(worst.get(name, 0), one["seconds"])
    best, slow = min(worst, key=worst.__getitem__), max(worst, key=worst.__getitem__)
    told = f"For one class {best} takes {duration(worst[best])} at the most"
    return told if best == slow else f"{told}, {slow} {duration(worst[slow])}"


def loss_chart(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Loss of detail against m, a line for each method and a panel for each split.

    A row is {"method", "split", "m", "loss", "classes"}; those of several seeds are averaged. The
    first method is the one that the title compares with the last.
    """
    values = _averaged(rows, ("method", "split", "m"), ("loss", "classes"))
    if not values:
        return nothing("No release was made")
    methods, splits = (list(dict.fromkeys(str(one[key]) for one in values))
                       for key in ("method", "split"))  # fmt: skip
    top = 1.08 * max(one["loss"] for one in values)
    panels = [_loss_panel(methods, split, top, split == splits[0]) for split in splits]
    return _several(
        _loss_title(values, methods),
        "Lines: the loss of detail of each method, by the providers who may work together; a "
        "panel for each way in which rows are split over providers.",
        values,
        {"split": "Split", "method": "Method", "m": "m", "loss": "Loss", "classes": "Classes"},
        hconcat=panels,
    )


def _loss_panel(methods: Sequence[str], split: str, top: float, first: bool) -> Spec:
    axis = {"title": "loss of detail" if first else None, "titleAnchor": "middle",
            "format": ".2~f", "tickCount": 5, "domain": False}  # fmt: skip
    return {
        "title": {"text": f"{split} split", "fontSize": 13, "offset": 10},
        "width": PANEL,
        "height": 220,
        "transform": [{"filter": {"field": "split", "equal": split}}],
        "mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 60, "opacity": 1}},
        "encoding": {
            "x": _m_axis(),
            "y": {"field": "loss", "type": "quantitative", "axis": axis,
                  "scale": {"domain": [0, top], "nice": False}},
            **_told_apart("method", methods),
        },
    }  # fmt: skip


def _loss_title(values: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> str:
    """By how much the first method's loss is below the last's where most providers collude."""
    at = {(str(one["method"]), str(one["split"]), one["m"]): float(one["loss"]) for one in values}
    first, last, most = methods[0], methods[-1], max(one["m"] for one in values)
    less = [
        1 - loss / at[last, split, m]
        for (method, split, m), loss in at.items()
        if m == most and method == first and first != last and at.get((last, split, m))
    ]
    if not less:
        return f"Loss of detail of {first} by the providers who may work together"
    return f"Against {most} providers {first} loses {_span(min(less), max(less))} than {last}"


def _span(low: float, high: float) -> str:
    """From the least to the most that is saved; what is below nothing is more.

    >>> _span(0.12, 0.14), _span(0.1, 0.1), _span(-0.03, 0.2), _span(-0.2, -0.1)
    ('12% to 14% less', '10% less', 'between 3% more and 20% less', '10% to 20% more')
    """
    if high < 0:
        return _span(-high, -low).replace("less", "more")
    least, most = f"{abs(100 * low):.0f}%", f"{100 * high:.0f}%"
    if low < 0:
        return f"between {least} more and {most} less"
    return f"{most} less" if least == most else f"{least} to {most} less"


def _averaged(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], of: Sequence[str]
) -> list[dict[str, Any]]:
    """One row for each combination of ``by``, in the order in which they came, of means."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in by), []).append(row)
    return [
        {**dict(zip(by, key, strict=True)),
         **{name: fmean(float(row[name]) for row in some) for name in of}}
        for key, some in found.items()
    ]  # fmt: skip


def _several(title: str, about: str, values: list[Spec], columns: Spec, **panels: Any) -> Spec:
    """A chart of several panels, which have widths of their own; it stands by itself in a file."""
    made = chart(title, about, values, columns, padding=18, background="white", **panels)
    return {key: part for key, part in made.items() if key not in ("width", "autosize")}
