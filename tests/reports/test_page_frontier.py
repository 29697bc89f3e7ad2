"""The page of a comparison: what is drawn and said follows from the points."""

from __future__ import annotations

import pytest

from shoal.reports.charts.frontier import (
    HEIGHT,
    PLOT,
    _place_baseline,
    _place_points,
    _scale,
    chart_frontier,
)
from shoal.reports.charts.point_names import (
    cover_name,
    cover_points,
    cover_steps,
    cover_words,
    overlaps_any,
    place_names,
)
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart
from shoal.reports.pages.frontier import render_frontier

SHARED = "distinct-diversity l=2"


def point(method, k, loss=None, identity=None, value=None, **more):
    return {
        "method": method,
        "rule": f"k-anonymity k={k} & {SHARED}",
        "loss": loss,
        "risk_identity": identity,
        "risk_value": value,
        "base": None if value is None else 0.25,
        "known_identity": identity,
        "known_value": value,
        "rows": 100,
        "classes": 9,
        "held_back": 0,
        "seconds": 0.1,
        "on_frontier": False,
        "reason": "",
        **more,
    }


def points():
    return [
        point("mondrian", 2, 0.1, 0.4, 0.5, on_frontier=True),
        point("mondrian", 50, 0.5, 0.01, 0.3, on_frontier=True),
        point("chain", 2, 0.6, 0.4, 0.5),
        point("mu-argus", 2, reason="<it> is not met"),
    ]


def releasable():
    return points()[:-1]


def page(tried=None, reasons=(), **more):
    tried = points() if tried is None else tried
    facts = {
        "points": tried,
        "risk": "identity",
        "rows": 1234,
        "settings": {},
        "notes": [],
        "assumptions": ["honest location"],
        "wanted": "",
        "chosen": None,
        "command": 'shoal publish TABLE -s SCHEMA --method METHOD -m "RULE" -o release/',
        **more,
    }
    there = [tried_point for tried_point in tried if tried_point["loss"] is not None]
    return render_frontier(facts, {"identity": there, "value": there}, reasons)


def drawn(spec):
    return {value["label"]: value for value in spec["data"]["values"]}


def test_the_frontier_is_drawn_and_named():
    spec = chart_frontier(releasable(), "identity")
    assert join_title(spec) == (
        "From mondrian k=2 to mondrian k=50 the risk falls from 1 in 2.5 to 1 in 100, and loss "
        "rises from 0.100 to 0.500"
    )
    by_label = drawn(spec)
    assert {label for label, value in by_label.items() if value["frontier"]} == {
        "mondrian k=2",
        "mondrian k=50",
    }
    assert all(value["place"] for value in by_label.values())  # there is room for every name
    assert [row[-1] for row in tabulate_chart(spec)[1]] == [
        "on the frontier",
        "on the frontier",
        "",
    ]
    assert "mondrian k=50" in draw_svg(spec)


def test_by_value_stands_what_guessing_gives():
    spec = chart_frontier(
        [*releasable(), point("chain", 5, 0.7, 0.9, 0.26, on_frontier=True)], "value"
    )
    assert {label for label, value in drawn(spec).items() if value["frontier"]} == {
        "mondrian k=2",
        "mondrian k=50",
        "chain k=5",
    }
    assert join_title(spec).endswith("guessing alone gives 25%")
    assert "guessing alone 25%" in draw_svg(spec)


def test_one_point_alone_is_the_best():
    spec = chart_frontier(points()[:1], "identity")
    assert join_title(spec).endswith("has the least loss and the least risk")
    assert draw_svg(spec)
    assert join_title(chart_frontier([], "identity")) == "No release could be made"


@pytest.mark.parametrize("risk", ["identity", "value"])
def test_extremes_can_be_drawn(risk):
    ends = [
        point("a", 2, 0.0, 1.0, 1.0, on_frontier=True),
        point("b", 3, 1.0, 1e-9, 0.25, on_frontier=True),
    ]
    assert draw_svg(chart_frontier(ends, risk))
    assert draw_svg(chart_frontier([{**ends[0], "risk_value": 0.25}], risk))


def test_the_page_says_what_it_found_and_on_what_it_rests():
    comparison = page(reasons=[("mu-argus", "k=2", "<it> is not met")], notes=["Mind the levels."])
    assert comparison.lead.startswith(
        "3 of 4 releases of 1,234 rows that were tried can be made; 2 are"
    )
    assert comparison.data["public"] is False
    html = comparison.html()
    for text in (
        "By value",
        "Not made",
        "&lt;it&gt; is not met",
        "Honest location.",
        f"k-anonymity k=50 &amp; {SHARED}",
        "Mind the levels.",
    ):
        assert text in html
    assert "Held back" not in html  # nothing was
    assert "<script" not in html
    held = [point("mondrian", 2, 0.1, 0.4, on_frontier=True, held_back=3)]
    html = page(held).html()
    assert "Held back" in html
    assert "By value" not in html


def test_no_release_is_recommended_that_nobody_asked_to_choose():
    html = page().html()
    assert "--method METHOD" in html
    assert "by what you must promise" in html
    assert "--method mondrian" not in html


def test_what_was_chosen_is_told_with_why():
    wanted = "the least loss with a risk of at most 0.05"
    line = "shoal publish TABLE -s SCHEMA --method mondrian -m RULE -o release/"
    html = page(chosen=points()[1], wanted=wanted, command=line).html()
    assert f"of what was asked for it has {wanted}" in html
    assert "To publish what was chosen" in html
    assert "--method mondrian" in html
    html = page(wanted=wanted).html()
    assert f"is within the bounds: wanted was {wanted}" in html
    assert "shoal publish" not in html


def test_where_nothing_could_be_made_the_page_says_why():
    html = page(points()[-1:], [("mu-argus", "k=2", "too small")]).html()
    assert "No method meets any of the rules" in html
    assert "Not made" in html
    assert "too small" in html


@pytest.mark.parametrize("far", [0.2, 0.6])
def test_what_guessing_gives_covers_neither_points_nor_names(far):
    """Safe releases lie near the line of guessing, at its right end or at its left."""
    ends = [point("mondrian", 2, 0.1 * far, 0.4, 0.9, on_frontier=True)]
    near = [point("chain", k, far - k / 1000, 0.1, 0.249 - k / 5000) for k in range(10)]
    wide = [point("local", 50, 0.6, 0.1, 0.8)]
    values = chart_frontier([*ends, *near, *wide], "value")["data"]["values"]
    scale = _scale(values, "value", 0.25)
    pixels, line = _place_points(values, scale)
    words, y, spot = _place_baseline(0.25, scale, pixels, line)
    baseline = cover_words(words, y, spot, (PLOT, HEIGHT))
    assert not overlaps_any(baseline, cover_points(pixels))
    boxes = [
        cover_name(value["label"], pixel, value["place"])
        for pixel, value in zip(pixels, values, strict=True)
        if value["place"]
    ]
    assert boxes
    line = (0, y - 1, PLOT, y + 1)
    assert not any(overlaps_any(box, [baseline, line]) for box in boxes)


def test_names_cover_neither_each_other_nor_points():
    points = [(45.0 * i, 20 + 30.0 * i) for i in range(1, 12)] + [(94.0, 81.0), (300.0, 228.0)]
    names = [f"method-{i} k={i}" for i in range(len(points))]
    lines = cover_steps(points[:11])
    places = place_names(points, names, (600, 400), lines)
    boxes = [
        cover_name(name, point, place)
        for place, point, name in zip(places, points, names, strict=True)
        if place
    ]
    assert len(boxes) > len(points) // 2
    for at, box in enumerate(boxes):
        assert not overlaps_any(box, [*boxes[:at], *lines])
