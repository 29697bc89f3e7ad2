"""Ganta et al., the headline: what is said of settings follows from the numbers."""

from __future__ import annotations

import math

import pytest
from tests.studies.test_ganta_figures_5_to_8 import traced

from shoal.reports.charts.theme import draw_svg
from shoal.studies.claims import FOUND, compute_mean
from shoal.studies.ganta import headline, printed_figures


def tried_rows(basis, opened, fixed):
    """Rows of the headline: so many times what is printed, as in the figures and by two changes."""
    settings = [
        (printed_figures.OPEN, "nothing", printed_figures.BASIS, basis),
        (printed_figures.OPEN, "ties", "divided", opened),
        (printed_figures.FIXED, "k", "one fewer", fixed),
    ]
    rows = [
        {
            "part": question.part,
            "table": question.table,
            "asked": one.asked,
            "group": group,
            "changed": change,
            "to": to,
            "seed": 0,
            **dict.fromkeys([one.of] if one.of else printed_figures.AVERAGES, times * one.theirs),
        }
        for question in printed_figures.QUESTIONS
        for one in question.printed
        for group, change, to, times in settings
    ]
    about = {"none": 43.0, "none_of_given_away": 80.0, "pvp_100_some": 17.0, "pvp_100_none": 99.0}
    return [*rows, {"part": headline.NONE, "table": "IPUMS", "k": 5, "seed": 0, **about}]


def test_a_setting_that_the_paper_rules_out_is_told_apart():
    rows = tried_rows(basis=0.5, opened=0.6, fixed=1.0)
    claims = headline.claims(rows)
    assert {claim.verdict for claim in claims} == {FOUND}
    for claim, many in zip(claims[:3], (2, 2, 4), strict=True):
        assert "no setting that the paper leaves open brings all of ours within" in claim.says
        assert f" {many} were tried" in claim.says
        assert f"{many // 2} would: k: one fewer" in claim.why
        assert "The nearest that is left open is ties: divided" in claim.why
    assert "hierarchies/adult is not in the data folder" in claims[0].why
    assert traced(claims, rows)


def test_a_setting_left_open_that_comes_near_is_named():
    rows = tried_rows(basis=0.5, opened=1.0, fixed=0.5)
    adult, _, sizes, _ = headline.claims(rows)
    assert "1 of 2 settings that the paper leaves open brings all of ours within" in adult.says
    assert "none would" in adult.why
    assert "about 45 rows (average class, k = 10)" in sizes.says
    assert "2 of 4 settings that the paper leaves open (2 by either average) bring" in sizes.says
    assert "about 40 rows by 2 of 4, about 45 rows by 2 of 4, about 450 rows by 2 of 4" in sizes.why


def test_what_changes_one_rule_leaves_the_other_figures_as_they_were():
    rows = tried_rows(basis=1.0, opened=0.5, fixed=0.5)
    change = {"group": printed_figures.OPEN, "changed": "logarithm", "to": "of another base"}
    rows.append(
        {
            "part": printed_figures.SIZE,
            "table": "IPUMS",
            "asked": "l = 5",
            "seed": 0,
            **change,
            "own_class_size": 7.0,
            "class_size": 8.0,
        }
    )
    found = headline.collect_figures(rows, printed_figures.QUESTIONS[2])
    numbers = found[printed_figures.OPEN, "logarithm", "of another base", "own_class_size"]
    assert [one.mean for one in numbers] == [40, 45, 7, 1300]
    *_, sizes, _ = headline.claims(rows)
    assert "about 40 rows by 2 of 4" in sizes.why  # not counted where it changes nothing
    assert "about 450 rows by 2 of 6" in sizes.why


@pytest.mark.parametrize(("none", "word"), [(80, "Mostly"), (20, "Partly"), (0, "Never")])
def test_whom_the_headline_is_about_follows_the_number(none, word):
    rows = tried_rows(1.0, 1.0, 1.0)
    rows[-1]["none_of_given_away"] = none
    claim = headline.claims(rows)[-1]
    assert claim.says.startswith(f"{word}, IPUMS gives away people who have no occupation")
    assert f"give away, {none} % have none; among those who have one, 17 % are" in claim.says


def test_more_than_counts_as_reached_above_it():
    _, more = printed_figures.QUESTIONS[0].printed
    far, near, below = (compute_mean([{"n": n, "seed": 0}], "n", unit=" %") for n in (99, 58, 50))
    assert more.met(far)
    assert more.off(far) == 0
    assert more.met(near)  # within 3 points
    assert not more.met(below)
    assert more.off(below) == pytest.approx(math.log(60 / 50))


def test_the_headline_is_drawn():
    drawn = headline.charts(tried_rows(basis=2.0, opened=1.0, fixed=3.0))
    sizes = {f"ipums_size_{size}" for size in (40, 45, 450, 1300)}
    assert set(drawn) == {
        "adult_pvp_100",
        "adult_pvp_25",
        "ipums_pvp_100",
        "ipums_pvp_25",
        "whom",
        *sizes,
    }
    made = draw_svg(drawn["adult_pvp_25"])
    assert "one fewer" in made
    title = " ".join(drawn["adult_pvp_25"]["title"])
    assert "more than 60 % in the paper; 2 of 2 settings left open agree" in title
