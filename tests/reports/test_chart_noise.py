"""What noise costs, drawn: measured points beside the line of theory."""

from __future__ import annotations

from shoal.reports.charts.noise import error_chart
from shoal.reports.charts.theme import headline, svg, table


def point(epsilon, counts, consistent, theory):
    return {"epsilon": epsilon, "counts": counts, "consistent": consistent, "theory": theory}


POINTS = [point(10, 0.1, 0.08, 0.09), point(0.1, 10.2, 7.0, 10.0), point(1, 0.95, 0.7, 0.92)]


def test_the_headline_says_the_error_where_epsilon_is_one():
    assert headline(error_chart(POINTS)) == (
        "At epsilon 1 a count is off by 0.95 on average, by theory 0.92; made to agree with the "
        "others, by 0.7"
    )


def test_every_measured_error_is_in_the_table_and_the_drawing():
    spec = error_chart(POINTS)
    heads, rows = table(spec)
    assert heads == ("Epsilon", "What", "Mean absolute error", "Theory")
    assert len(rows) == 6
    assert rows[0] == (0.1, "counts as drawn", "10.2", "10")
    assert rows[1] == (0.1, "consistent estimates", "7", "–")  # theory is of counts as drawn
    drawn = svg(spec)
    assert drawn.count("<title>") == 1
    assert "consistent estimates" in drawn


def test_errors_that_are_zero_or_not_there_are_not_drawn():
    spec = error_chart([point(1, 0.95, None, 0.92), point(50, 0.0, None, 1e-9)])
    assert [row[0] for row in table(spec)[1]] == [1.0]
    assert "consistent estimates" not in svg(spec)


def test_the_headline_is_of_what_was_measured_and_theory_goes_on_beside_it():
    spec = error_chart([point(0.5, 2.1, None, 1.9), point(1, None, None, 0.92)])
    assert headline(spec) == "At epsilon 0.5 a count is off by 2.1 on average, by theory 1.9"
    assert len(spec["layer"][0]["data"]["values"]) == 2
    alone = error_chart([point(1, None, None, 0.92)])
    assert headline(alone) == "Theory says how far a count is off on average"
    assert svg(alone)


def test_nothing_measured_is_said():
    assert headline(error_chart([])) == "No error was measured"
