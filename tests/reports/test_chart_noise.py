"""What noise costs, drawn: measured points beside the line of theory."""

from __future__ import annotations

from shoal.reports.charts.noise import chart_error
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart


def point(epsilon, counts, consistent, theory):
    return {"epsilon": epsilon, "counts": counts, "consistent": consistent, "theory": theory}


POINTS = [point(10, 0.1, 0.08, 0.09), point(0.1, 10.2, 7.0, 10.0), point(1, 0.95, 0.7, 0.92)]


def test_the_headline_says_the_error_where_epsilon_is_one():
    assert join_title(chart_error(POINTS)) == (
        "At epsilon 1 a count is off by 0.95 on average, by theory 0.92; made to agree with the "
        "others, by 0.7"
    )


def test_every_measured_error_is_in_the_table_and_the_drawing():
    spec = chart_error(POINTS)
    heads, rows = tabulate_chart(spec)
    assert heads == ("Epsilon", "What", "Mean absolute error", "Theory")
    assert len(rows) == 6
    assert rows[0] == (0.1, "counts as drawn", "10.2", "10")
    assert rows[1] == (0.1, "consistent estimates", "7", "–")  # theory is of counts as drawn
    drawn = draw_svg(spec)
    assert drawn.count("<title>") == 1
    assert "consistent estimates" in drawn


def test_errors_that_are_zero_or_not_there_are_not_drawn():
    spec = chart_error([point(1, 0.95, None, 0.92), point(50, 0.0, None, 1e-9)])
    assert [row[0] for row in tabulate_chart(spec)[1]] == [1.0]
    assert "consistent estimates" not in draw_svg(spec)


def test_the_headline_is_of_what_was_measured_and_theory_goes_on_beside_it():
    spec = chart_error([point(0.5, 2.1, None, 1.9), point(1, None, None, 0.92)])
    assert join_title(spec) == "At epsilon 0.5 a count is off by 2.1 on average, by theory 1.9"
    assert len(spec["layer"][0]["data"]["values"]) == 2
    alone = chart_error([point(1, None, None, 0.92)])
    assert join_title(alone) == "Theory says how far a count is off on average"
    assert draw_svg(alone)


def test_nothing_measured_is_said():
    assert join_title(chart_error([])) == "No error was measured"
