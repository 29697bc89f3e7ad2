"""Charts and tables about providers who work together: what they say follows from the numbers."""

from __future__ import annotations

import json

import pytest

from shoal.reports.charts.collusion import (
    chart_survival,
    describe_m_privacy,
    describe_survival,
    tabulate_attackers,
)
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart

RULE = "k-anonymity k=5 & distinct-diversity l=3"


def values(spec):
    return spec["data"]["values"]


def text(spec) -> str:
    return json.dumps(spec, ensure_ascii=False)


# Classes that survive


@pytest.mark.parametrize(
    ("counts", "title"),
    [
        ([9, 9, 9, 4], "Any 2 providers can be withstood in every class; 3 working together"),
        ([9, 9, 4], "Any one provider can be withstood in every class; 2 working together"),
        ([9, 2, 0], "A single provider, without any other, breaks 7 of 9 classes"),
        ([8, 2, 0], "By itself, with no coalition, the rule fails in 1 of 9 classes"),
        ([9, 9, 9], "However many of the 3 providers work together, every class survives"),
    ],
)
def test_the_title_says_how_many_can_be_withstood(counts, title):
    assert describe_survival(counts, 9).startswith(title)
    assert join_title(chart_survival(counts, 9)).startswith(title)


def test_every_column_has_its_number_and_the_table_behind_has_both():
    spec = chart_survival([120, 120, 106, 90], 120, 1, RULE)
    assert [value["text"] for value in values(spec)] == ["120", "120", "106", "90"]
    heads, rows = tabulate_chart(spec)
    assert heads == ("Members", "Classes that survive", "Classes that break")
    assert rows == ((0, 120, 0), (1, 120, 0), (2, 106, 14), (3, 90, 30))
    assert draw_svg(spec).startswith("<svg")


def test_what_is_promised_is_tinted_and_only_then():
    assert "promised: up to m = 2" in text(chart_survival([5, 5, 5, 1], 5, 2))
    assert '"datum": 2.5' in text(chart_survival([5, 5, 5, 1], 5, 2))
    assert "promised" not in text(chart_survival([5, 5, 5, 1], 5))
    assert len(values(chart_survival([5] * 9, 5, 6))) >= 7  # drawn up to what is promised


def test_two_hundred_providers_are_drawn_to_where_nothing_changes():
    spec = chart_survival([50, 50, 40, *[30] * 197], 50)
    assert [value["survive"] for value in values(spec)] == [50, 50, 40, 30, 30]
    long = chart_survival([200 - i for i in range(200)], 200, 3)
    assert sum(bool(value["text"]) for value in values(long)) <= 15
    assert draw_svg(long).startswith("<svg")


def test_where_nothing_is_published_nothing_is_drawn():
    assert join_title(chart_survival([], 0)) == "No class was published"


# Scenarios


def test_three_attackers_and_what_protects_against_each():
    outside, making, together = tabulate_attackers(RULE, [(2, RULE)]).rows
    assert RULE in outside[2]
    assert "trusted third party" in making[2]
    assert "secure multi-party" in making[2]
    assert together[2] == describe_m_privacy(2, RULE)
    assert "NOT" not in text([outside, making, together])


def test_what_is_not_promised_or_not_kept_is_said():
    nothing = tabulate_attackers(
        RULE, [], "Measured: a single provider breaks 3 of 9 classes."
    ).rows[2][2]
    assert nothing == "Nothing is promised. Measured: a single provider breaks 3 of 9 classes."
    for outside, inside in ((True, True), (True, False), (False, True), (False, False)):
        rows = tabulate_attackers(
            RULE, [(1, RULE)], outside_holds=outside, inside_holds=inside
        ).rows
        assert ["NOT hold" in row[2] for row in rows] == [not outside, False, not inside]
