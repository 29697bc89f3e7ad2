"""Charts of a release: requirements, class sizes, candidates, marginals, people.

Plain numbers in, a Vega-Lite specification out, its title the finding. Every chart counts *people*,
every bar carries its number, and the data stands inside the specification: nothing is fetched to
draw it. ``fewest`` makes a chart fit to be published: counts under it are suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.core.errors import UsageError
from shoal.reports.charts.axes import (
    bins_axis,
    colour_scale,
    draw_track,
    names_axis,
    number_axis,
    share_axis,
    value_text,
)
from shoal.reports.charts.theme import (
    COLOUR,
    Spec,
    clean_text,
    make_chart,
    make_empty_chart,
)
from shoal.reports.format import (
    format_percent,
    format_real,
    has_enough_people,
    list_names,
    make_share_bars,
    round_count,
    speak_share,
    state_count,
    state_share,
)


@dataclass(frozen=True)
class RequirementResult:
    """One requirement: what was reached and what was needed.

    ``met`` comes from the model, which compares exactly; the chart never compares floats.
    """

    label: str
    value: float
    needed: float
    met: bool
    at_least: bool = True
    strict: bool = False
    """What was needed itself is not enough."""


def chart_requirements(marks: Sequence[RequirementResult]) -> Spec:
    """What each requirement reached against what it needed; the tinted side is the safe one."""
    values = [_bullet(mark) for mark in marks]
    missed = [clean_text(mark.label) for mark in marks if not mark.met]
    colour = {
        "condition": {"test": "datum.met", "value": COLOUR["after"]},
        "value": COLOUR["alarm"],
    }
    return make_chart(
        f"Not met: {list_names(missed)}" if missed else "Every requirement is met",
        "Bullets: each bar is the value reached, the upright mark what was needed.",
        values,
        {"label": "Requirement", "text": "Reached", "need": "Needed", "verdict": "Verdict"},
        height={"step": 40},
        encoding={
            "y": names_axis("label", [str(v["label"]) for v in values]),
            "x": _bullet_axis("ratio"),
        },
        layer=[
            _bullet_bar(18, COLOUR["track"], "floor", "ceiling"),
            _bullet_bar(18, COLOUR["band"], "safe_from", "safe_to"),
            {"mark": {"type": "bar", "height": 7}, "encoding": {"color": colour}},
            {
                "mark": {"type": "tick", "size": 26, "thickness": 2.5, "color": COLOUR["ink"]},
                "encoding": {"x": _bullet_axis("one")},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 12, "fontSize": 13},
                "encoding": {
                    "x": _bullet_axis("ceiling"),
                    "text": {"field": "line", "type": "nominal"},
                    "color": colour,
                },
            },
        ],
    )


def _bullet(mark: RequirementResult) -> dict[str, Any]:
    sign = "✓" if mark.met else "✗"
    words = ("more than", "less than") if mark.strict else ("at least", "at most")
    need = f"{words[not mark.at_least]} {format_real(mark.needed)}"
    return {
        "label": clean_text(mark.label),
        "ratio": _ratio(mark.value, mark.needed),
        "text": format_real(mark.value),
        "need": need,
        "verdict": "met" if mark.met else "not met",
        "met": mark.met,
        "line": f"{sign} {format_real(mark.value)} (needs {need})",
        "one": 1,
        "floor": 0,
        "ceiling": 2,
        "safe_from": 1 if mark.at_least else 0,
        "safe_to": 2 if mark.at_least else 1,
    }


def _bullet_axis(field: str) -> Spec:
    # The bars end at 2; the rest of the scale is room for the words.
    return number_axis(field, (0, 3.9), None)


def _bullet_bar(height: int, colour: str, start: str, end: str) -> Spec:
    return {
        "mark": {"type": "bar", "height": height, "color": colour},
        "encoding": {"x": _bullet_axis(start), "x2": {"field": end}},
    }


def _ratio(value: float, needed: float) -> float:
    # Where the bar ends on a scale whose 1 is what was needed, cut at 2.
    if math.isnan(value):
        return 0.0
    if needed <= 0:
        return 1.0 if value <= needed else 2.0
    return min(2.0, max(0.0, value / needed))


def chart_unique_by_columns(columns: Sequence[str], unique: Sequence[int], rows: int) -> Spec:
    """How many of ``rows`` people are unique as each column joins those before it.

    ``unique[i]`` counts the people alone with their values of ``columns[: i + 1]``.
    """
    _check_lengths(columns, unique)
    values = [
        {
            "column": name if i == 0 else f"+ {name}",
            "unique": int(count),
            "share": count / rows if rows else 0.0,
            "text": format_percent(count, rows),
        }
        for i, (name, count) in enumerate(zip(columns, unique, strict=True))
    ]
    names = f"{list_names(columns)}{' alone' if len(columns) == 1 else ''}"
    share = speak_share(str(values[-1]["text"])) if values else "nobody"
    return make_chart(
        f"Knowing {names} singles out {share} of {rows:,} people",
        "Bars: the share of people who are unique, growing as each column is added.",
        values,
        {"column": "Known columns", "unique": "Unique people", "text": "Share"},
        height={"step": 32},
        encoding={
            "y": names_axis("column", [str(v["column"]) for v in values]),
            "x": share_axis("share of people who are unique"),
        },
        layer=[
            draw_track(18),
            {"mark": {"type": "bar", "height": 18, "color": COLOUR["before"]}},
            value_text("x"),
        ],
    )


def chart_class_sizes(
    before: Mapping[int, int] | None,
    after: Mapping[int, int],
    k: int = 1,
    names: tuple[str, str] = ("original", "published"),
    fewest: int = 1,
) -> Spec:
    """People by the size of their class, before and after; each mapping is size -> classes."""
    k = max(k, fewest)
    edges = sorted({n for n in (1, 2, 3, 5, 10, 20, 50, 100) if n >= fewest} | {1, k})
    labels = [_bin(low, high) for low, high in zip(edges, [*edges[1:], 0], strict=True)]
    sides = [side for side in (before, after) if side is not None]
    folded = [
        _fold({size: size * classes for size, classes in side.items()}, edges) for side in sides
    ]
    small = [label for label, low in zip(labels, edges, strict=True) if low < k]
    note = f" (red: fewer than {k})" if small else ""
    if not _enough(folded, fewest):
        return make_empty_chart("Too few people to show how many of them look alike")
    return _chart_sides(
        _class_title(before, after, k, fewest),
        "Columns: the share of people by how many people share their values.",
        labels,
        folded,
        names[-len(sides) :],
        axis=f"share of people, by how many look alike{note}",
        alarm=small,
        fewest=fewest,
    )


def chart_candidates(
    before: Mapping[int, int],
    after: Mapping[int, int],
    names: tuple[str, str] = ("one release", "both releases joined"),
    what: str = "diagnosis",
    fewest: int = 1,
) -> Spec:
    """People by the number of sensitive values still possible; each mapping is number -> people."""
    edges = list(range(1, 10))
    labels = [*map(str, edges[:-1]), "9+"]
    exposed, total = after.get(1, 0), sum(after.values())
    sides = [_fold(before, edges), _fold(after, edges)]
    if not _enough(sides, fewest):
        return make_empty_chart(f"Too few people to show how many values of {what} remain possible")
    return _chart_sides(
        f"Joined, the releases leave {state_count(exposed, fewest)} of "
        f"{state_count(total, fewest)} people "
        f"with a single possible {what}; one release alone left "
        f"{state_count(before.get(1, 0), fewest)}",
        f"Paired columns: the share of people by how many values of {what} remain possible.",
        labels,
        sides,
        names,
        axis=f"share of people, by how many values of {what} remain possible",
        alarm=["1"],
        fewest=fewest,
    )


def chart_marginals(
    column: str,
    labels: Sequence[str | None],
    before: Sequence[float],
    after: Sequence[float],
    names: tuple[str, str] = ("original", "published"),
    most: int = 12,
    ordered: bool = False,
    fewest: int = 1,
    moved: float | None = None,
) -> Spec:
    """The distribution of one column before and after; the title gives the distance between them.

    The distance is total variation: half the sum of the differences of the shares, which is the
    share of people who would have to change value; ``moved`` where it was measured more finely
    than is drawn, unless that is to be published. ``ordered`` values stay in their order, others
    go by how many people have them.
    """
    _check_lengths(labels, before)
    _check_lengths(labels, after)
    counts = (list(before), list(after))
    if not _enough(counts, fewest):
        return make_empty_chart(f"Too few people to show the distribution of {column}")
    order = list(range(len(labels)))
    if not ordered:
        order.sort(key=lambda i: -round_count(before[i], fewest))
    shown = [i for i in order if min(before[i], after[i]) >= fewest or fewest <= 1]
    shown = shown if len(shown) <= most else shown[: most - 1]
    rest = [i for i in order if i not in set(shown)]
    has_rest = bool(rest) and all(sum(side[i] for i in rest) >= fewest for side in counts)
    drawn = [[side[i] for i in shown] + [sum(side[i] for i in rest)] * has_rest for side in counts]
    others = f"{len(rest)} other values" if fewest <= 1 else "other values"
    totals = [sum(side) for side in counts]
    return _chart_sides(
        f"The distribution of {column}{_describe_move(counts, drawn, moved, fewest)}",
        f"Paired bars: the share of people with each value of {column}.",
        [clean_text(None) if labels[i] is None else str(labels[i]) for i in shown]
        + [others] * has_rest,
        drawn,
        names,
        axis="share of people",
        totals=totals,
        upright=False,
        fewest=fewest,
    )


def _describe_move(
    counts: Sequence[Sequence[float]],
    drawn: Sequence[Sequence[float]],
    moved: float | None,
    fewest: int,
) -> str:
    """How far it moved; to be published, by the bars alone: that reveals no more than is drawn."""
    totals = [sum(side) for side in counts]
    if fewest > 1:
        far = _distance(
            [
                [bar["share"] for bar in make_share_bars(side, total, fewest)]
                for side, total in zip(drawn, totals, strict=True)
            ]
        )
        floor = math.ceil(100 * fewest / round_count(min(totals), fewest))
        about = f"less than {floor}%" if 100 * far < floor else f"about {100 * far:.0f}%"
        return f", as drawn here, moved by {about}"
    if moved is None:
        moved = _distance(
            [[n / (total or 1) for n in side] for side, total in zip(counts, totals, strict=True)]
        )
    return f" moved by {speak_share(format_percent(moved, 1))}" if moved else " did not move"


def _distance(sides: Sequence[Sequence[float]]) -> float:
    old, new = sides
    return sum(abs(a - b) for a, b in zip(old, new, strict=True)) / 2


def chart_people(groups: Mapping[str, int], title: str = "") -> Spec:
    """A hundred dots for all people, worst-off group first; nobody's group is rounded away.

    ``groups`` maps a description to a number of people, at most four, from most to least exposed.
    """
    if not 1 <= len(groups) <= 4:
        raise UsageError(f"{len(groups)} groups of people cannot be drawn.", "Give one to four.")
    total = sum(groups.values())
    names = list(groups)
    dots = _dots(list(groups.values()))
    values = [
        {"group": name, "people": count, "text": format_percent(count, total)}
        for name, count in zip(names, groups.values(), strict=True)
    ]
    owner = [name for name, number in zip(names, dots, strict=True) for _ in range(number)]
    marks = [{"x": i % 25, "y": i // 25, "group": name} for i, name in enumerate(owner)]
    share = speak_share(str(values[0]["text"]))
    return make_chart(
        title or f"{share.capitalize()} of {total:,} people: {names[0]}",
        f"A hundred dots, each for about {max(1, round(total / 100)):,} people, coloured by group.",
        values,
        {"group": "Group", "people": "People", "text": "Share"},
        height=104,
        layer=[
            {
                "data": {"values": marks},
                "mark": {"type": "circle", "size": 280, "opacity": 1},
                "encoding": {
                    "x": {"field": "x", "type": "ordinal", "axis": None},
                    "y": {"field": "y", "type": "ordinal", "axis": None},
                    "color": {
                        **colour_scale("group", names, ("alarm", "before", "after", "rest")),
                        "legend": {"columns": 1 if sum(map(len, names)) > 60 else len(names)},
                    },
                },
            }
        ],
    )


def _chart_sides(
    title: str,
    about: str,
    labels: Sequence[str],
    sides: Sequence[Sequence[float]],
    names: Sequence[str],
    *,
    axis: str,
    alarm: Sequence[str] = (),
    totals: Sequence[float] = (),
    upright: bool = True,
    fewest: int = 1,
) -> Spec:
    """Distributions side by side, as shares of their own totals, which may be more than drawn."""
    totals = totals or [sum(side) for side in sides]
    if upright:
        # Bins at the end that hold nobody, or too few to be published, are left out.
        shown = (i for side in sides for i, n in enumerate(side) if round_count(n, fewest))
        end = max(shown, default=0) + 1
        labels, sides = labels[:end], [side[:end] for side in sides]
    values = [
        {"label": label, "side": name, **bar}
        for name, side, total in zip(names, sides, totals, strict=True)
        for label, bar in zip(labels, make_share_bars(side, total, fewest), strict=True)
    ]
    place, across = ("x", "y") if upright else ("y", "x")
    longest = max((float(v["share"]) for v in values), default=1.0)
    counts = {"people": "People"} if fewest <= 1 else {}
    tones = ("before", "after") if len(names) > 1 else ("after",)
    return make_chart(
        title,
        about,
        values,
        {"label": "Value", "side": "Table", **counts, "text": "Share"},
        height=220 if upright else {"step": 15 if len(names) > 1 else 22},
        encoding={
            place: bins_axis(axis, alarm) if upright else names_axis("label", labels),
            f"{place}Offset": {"field": "side", "sort": None, "scale": {"paddingInner": 0.08}},
            across: share_axis("" if upright else axis, longest),
            "color": colour_scale("side", names, tones),
        },
        layer=[{"mark": {"type": "bar"}}, value_text(across, "brief")],
    )


def _enough(sides: Sequence[Sequence[float]], fewest: int) -> bool:
    return all(has_enough_people(sum(side), fewest) for side in sides)


def _dots(counts: Sequence[int]) -> list[int]:
    """A hundred dots by largest remainder, at least one for every group that has anybody.

    >>> _dots([1, 4999])
    [1, 99]
    """
    total = sum(counts)
    if total == 0:
        return [0] * len(counts)
    dots = [max(1, 100 * n // total) if n else 0 for n in counts]
    remainder = sorted(range(len(counts)), key=lambda i: -(100 * counts[i] % total))
    for i in (j for j in remainder if counts[j]):
        dots[i] += 1 if sum(dots) < 100 else 0
    dots[max(range(len(dots)), key=dots.__getitem__)] -= sum(dots) - 100
    return dots


def _class_title(
    before: Mapping[int, int] | None, after: Mapping[int, int], k: int, fewest: int
) -> str:
    below = sum(size * n for size, n in after.items() if size < k)
    people = sum(size * n for size, n in after.items())
    if fewest > 1:
        alike = speak_share(state_share(people - below, people, fewest)) if below else "Everybody"
        return f"{alike.capitalize()} of the published people are in classes of {k:,} or more"
    if below:
        return f"{below:,} published people are in classes smaller than {k}"
    smallest = min((size for size, n in after.items() if n), default=0)
    others = f"{smallest - 1:,} other{'s' if smallest > 2 else ''}"
    if before is None:
        return f"Everyone published looks like at least {others}"
    unique, total = before.get(1, 0), sum(size * n for size, n in before.items())
    if smallest < 2:
        return f"{unique:,} of {total:,} people stood alone; {after.get(1, 0):,} still do"
    return (
        f"{unique:,} of {total:,} people stood alone; now everyone published "
        f"looks like at least {others}"
    )


def _fold(histogram: Mapping[int, int], edges: Sequence[int]) -> list[int]:
    tops = [*edges[1:], math.inf]
    return [
        sum(int(n) for key, n in histogram.items() if low <= key < high)
        for low, high in zip(edges, tops, strict=True)
    ]


def _bin(low: int, after: int) -> str:
    if not after:
        return f"{low}+"
    return str(low) if after - low == 1 else f"{low}–{after - 1}"


def _check_lengths(left: Sequence[Any], right: Sequence[Any]) -> None:
    if len(left) != len(right):
        raise UsageError(
            f"A chart got {len(left)} labels and {len(right)} numbers.", "Give one for each."
        )
