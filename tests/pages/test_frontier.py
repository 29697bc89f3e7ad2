"""The page of a comparison: what is drawn and said follows from the points."""

from __future__ import annotations

import pytest

from shoal.pages.drawing import headline, svg, table
from shoal.pages.frontier import frontier_page
from shoal.pages.placing import _box, _hits, placed, stairs
from shoal.pages.releases import frontier_chart, merged

SHARED = "distinct-diversity l=2"


def point(method, k, loss=None, identity=None, value=None, **more):
    return {
        "method": method, "rule": f"k-anonymity k={k} & {SHARED}", "loss": loss,
        "risk_identity": identity, "risk_value": value, "base": None if value is None else 0.25,
        "known_identity": identity, "known_value": value, "rows": 100, "classes": 9,
        "held_back": 0, "seconds": 0.1, "on_frontier": False, "reason": "", **more,
    }  # fmt: skip


def points():
    return [
        point("mondrian", 2, 0.1, 0.4, 0.5, on_frontier=True),
        point("mondrian", 50, 0.5, 0.01, 0.3, on_frontier=True),
        point("chain", 2, 0.6, 0.4, 0.5),
        point("mu-argus", 2, reason="<it> is not met"),
    ]


def facts(some=None, **more):
    return {
        "points": points() if some is None else some, "risk": "identity", "rows": 1234,
        "settings": {"hold_back": 0.0}, "assumptions": ["honest location"], **more,
    }  # fmt: skip


def drawn(spec):
    return {one["label"]: one for one in spec["data"]["values"]}


def test_the_frontier_is_drawn_and_named():
    spec = frontier_chart(points(), "identity")
    assert headline(spec) == (
        "From mondrian k=2 to mondrian k=50 the risk falls from 1 in 2.5 to 1 in 100, and loss "
        "rises from 0.100 to 0.500"
    )
    found = drawn(spec)
    assert {label for label, one in found.items() if one["frontier"]} == {
        "mondrian k=2", "mondrian k=50",
    }  # fmt: skip
    assert all(one["place"] for one in found.values())  # there is room for every name
    assert [row[-1] for row in table(spec)[1]] == ["on the frontier", "on the frontier", ""]
    assert "mondrian k=50" in svg(spec)


def test_the_frontier_of_the_other_risk_is_its_own():
    spec = frontier_chart([*points(), point("chain", 5, 0.7, 0.9, 0.26)], "value")
    assert {label for label, one in drawn(spec).items() if one["frontier"]} == {
        "mondrian k=2", "mondrian k=50", "chain k=5",
    }  # fmt: skip
    assert headline(spec).endswith("guessing alone gives 25%")
    assert "guessing alone 25%" in svg(spec)


def test_one_point_alone_is_the_best():
    spec = frontier_chart(points()[:1], "identity")
    assert headline(spec).endswith("has the least loss and the least risk")
    assert svg(spec)
    assert headline(frontier_chart(points()[-1:], "identity")) == "No release could be made"


@pytest.mark.parametrize("risk", ["identity", "value"])
def test_extremes_can_be_drawn(risk):
    ends = [point("a", 2, 0.0, 1.0, 1.0), point("b", 3, 1.0, 1e-9, 0.25)]
    assert svg(frontier_chart(ends, risk))
    assert svg(frontier_chart([point("a", 2, 0.0, 1.0, 0.25)], risk))


def test_methods_at_one_point_are_named_together():
    same = {"loss": 0.2, "identity": 0.1}
    some = [point("a", 2, **same), point("a", 5, **same), point("b", 2, **same)]
    some += [point("c", 5, **same), point("d", 5, 0.1, 0.1)]
    found = [(one["method"], one["rule"].partition(" &")[0]) for one in merged(some)]
    assert found == [("d", "k-anonymity k=5"), ("a, c", "k-anonymity k=5")]


def test_the_page_says_what_it_found_and_on_what_it_rests():
    page = frontier_page(facts())
    assert page.lead.startswith("3 of 4 releases of 1,234 rows that were tried can be made; 2 are")
    assert page.data["public"] is False
    html = page.html()
    for said in (
        "shoal publish TABLE -s SCHEMA --method mondrian", "By value", "Not made",
        "&lt;it&gt; is not met", "Honest location.", f"k-anonymity k=50 &amp; {SHARED}",
    ):  # fmt: skip
        assert said in html
    assert "--hold-back" not in html
    assert "Held back" not in html  # nothing was
    assert "<script" not in html
    held = [point("mondrian", 2, 0.1, 0.4, on_frontier=True, held_back=3)]
    html = frontier_page(facts(held, settings={"hold_back": 0.05})).html()
    assert "--hold-back 0.05 -o release/" in html
    assert "Held back" in html
    assert "By value" not in html


def test_where_nothing_could_be_made_the_page_says_why():
    html = frontier_page(facts(points()[-1:])).html()
    assert "No method meets any of the rules" in html
    assert "Not made" in html


def test_names_cover_neither_each_other_nor_points():
    spots = [(45.0 * i, 20 + 30.0 * i) for i in range(1, 12)] + [(94.0, 81.0), (300.0, 228.0)]
    names = [f"method-{i} k={i}" for i in range(len(spots))]
    lines = stairs(spots[:11])
    places = placed(spots, names, (600, 400), lines)
    boxes = [
        _box(place, *spot, 6.4 * len(name))
        for place, spot, name in zip(places, spots, names, strict=True)
        if place
    ]
    assert len(boxes) > len(spots) // 2
    for at, box in enumerate(boxes):
        assert not _hits(box, [*boxes[:at], *lines])
