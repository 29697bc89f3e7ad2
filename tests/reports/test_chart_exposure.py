"""Charts of risk, confidence and attacks: exact against the threshold, silent about a few."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.reports.charts import attacks as tested
from shoal.reports.charts import exposure
from shoal.reports.charts.attacks import AttackResult
from shoal.reports.charts.theme import draw_svg, join_title, tabulate_chart
from shoal.reports.format import (
    UNDISCLOSED_SHARE,
    make_share_bars,
    round_count,
    round_share,
    state_count,
    state_share,
)

SIZES = {1: 40, 2: 30, 3: 40, 5: 100, 7: 50, 12: 60, 30: 20, 90: 5}
BEFORE = {1: 3, 2: 20, 3: 60, 4: 300, 6: 500, 12: 80}
AFTER = {1: 203, 2: 260, 3: 250, 4: 100, 6: 110, 12: 40}
ATTACKS = [
    AttackResult("intersection", 4812, 1312, 1.0, 0.18, 0.02),
    AttackResult("homogeneity", 12000, 4, 1.0, 0.18),
    AttackResult("skewness", 12000, 0, 0.43, 0.18),
]


def values(spec):
    return spec["data"]["values"]


@pytest.mark.parametrize("threshold", [0.002, 0.05, 0.09, 0.2, 0.3333, 0.5, 0.9, 1.0])
def test_every_person_is_in_one_bin_on_the_right_side_of_the_threshold(threshold):
    rng = np.random.default_rng(int(1000 * threshold))
    for _ in range(20):
        drawn = zip(rng.integers(1, 3000, 9), rng.integers(1, 9, 9), strict=True)
        sizes = {int(size): int(classes) for size, classes in drawn}
        spec = exposure.chart_risk(sizes, threshold)
        bars, limit = values(spec), Fraction(str(threshold))
        assert sum(bar["people"] for bar in bars) == sum(s * n for s, n in sizes.items())
        above = sum(bar["people"] for bar in bars if bar["side"] == "above")
        assert above == sum(s * n for s, n in sizes.items() if Fraction(1, s) > limit)
        assert ("Nobody" in join_title(spec)) == (above == 0)
        assert all(bar["low"] < bar["high"] for bar in bars)


def test_a_class_at_the_threshold_is_not_above_it():
    assert join_title(exposure.chart_risk({5: 1, 50: 1}, 0.2)).startswith("Nobody's risk")
    assert join_title(exposure.chart_risk({4: 1, 46: 1}, 0.2)).startswith("8.0% of 50 people")


def test_bins_have_room_for_their_numbers():
    for threshold in (0.09, 0.11, 0.19, 0.21, 0.45, 0.6):
        bars = values(exposure.chart_risk(SIZES, threshold))
        widths = [np.log10(bar["high"] / bar["low"]) for bar in bars]
        assert min(widths) > 0.15, threshold


def test_the_curve_counts_whose_value_is_known_with_at_least_a_confidence():
    points = values(exposure.chart_confidence(BEFORE, AFTER, what="diagnosis"))
    joined = {p["label"]: p["people"] for p in points if p["side"] == "releases joined"}
    assert (joined["100%"], joined["50%"], joined["33%"], joined["25%"]) == (203, 463, 713, 813)
    assert joined["10%"] == sum(AFTER.values()) - AFTER[12]
    shares = [p["share"] for p in points if p["side"] == "one release"]
    assert shares == sorted(shares, reverse=True)
    title = join_title(exposure.chart_confidence(BEFORE, AFTER, what="diagnosis"))
    assert title.startswith("An adversary is certain of the diagnosis of 21% of the people")


def test_attacks_are_told_with_their_numbers():
    spec = tested.chart_attacks(ATTACKS)
    assert join_title(spec) == "Intersection succeeds on 27% of the people it was tried on"
    assert [bar["line"] for bar in values(spec)][2] == "nobody of 12,000"
    assert join_title(tested.chart_attacks(ATTACKS[2:])) == "The attack fails"
    assert join_title(tested.chart_certainty(ATTACKS)).startswith("2 of 3 attacks leave no doubt")
    nobody = [replace(attack, exposed=0) for attack in ATTACKS]
    assert not join_title(tested.chart_certainty(nobody)).startswith("2 of 3")
    assert join_title(tested.chart_certainty(ATTACKS[2:])) == "No attack is certain about anybody"


def test_to_be_published_no_chart_holds_a_count_or_a_few():
    for spec in (
        exposure.chart_risk({1: 3, 20: 40}, 0.2, fewest=10),
        exposure.chart_risk({1: 55, 7: 40, 20: 40}, 0.2, fewest=10),
        exposure.chart_confidence({1: 3, 2: 500}, {1: 9, 2: 494}, fewest=10),
        tested.chart_attacks(ATTACKS, fewest=10),
    ):
        assert not {"people", "exposed"} & {key for bar in values(spec) for key in bar}
        text = json.dumps([values(spec), spec["title"], tabulate_chart(spec)])
        for few in ("3 of", "9 of", "4 of", "0.0037", "0.018"):
            assert few not in text
        shares = [bar["share"] for bar in values(spec)]
        assert shares == [round(part, 2) for part in shares]


def test_what_may_be_published_of_a_count():
    for count in range(200):
        rounded = round_count(count, 10)
        assert rounded % 10 == 0
        assert abs(rounded - count) <= 5 or count < 10
        assert (state_count(count, 10) == "fewer than 10") == (0 < count < 10)
        assert round_count(count) == count
    assert state_share(3, 400, 10) == "<3%"
    assert state_share(397, 400, 10) == ">97%"
    assert (state_share(0, 400, 10), state_share(400, 400, 10), state_share(0, 0, 10)) == (
        "0%",
        "100%",
        "0%",
    )


def test_a_share_to_be_published_tells_no_more_than_two_rounded_counts():
    for part in range(1, 400):
        text = state_share(part, 400, 10)
        assert text == state_share(part, 403, 10)
        near = 10 * (part // 10) + (0 if part % 10 < 5 else 9)
        assert part < 10 or text == state_share(min(399, near), 400, 10)
        assert round_share(part, 400, 10) == round_share(part, 403, 10)
        assert "100%" not in text
    for part in range(1, 60):
        assert state_share(part, 60, 10) == UNDISCLOSED_SHARE
        assert round_share(part, 60, 10) == 0


def test_shares_to_be_published_add_up():
    for total in range(100, 420, 7):
        for part in range(total + 1):
            bars = make_share_bars([part, total - part], fewest=10)
            if 10 <= part <= total - 10:
                assert 99 <= sum(int(bar["text"][:-1]) for bar in bars) <= 101
            texts = [bar["text"] for bar in bars]
            assert ("100%" in texts) == (part in (0, total))
            assert all(0 <= bar["share"] <= 1 for bar in bars)


def test_people_who_are_not_drawn_stay_in_the_whole():
    few = make_share_bars([200, 9, 9, 9, 9, 9, 9, 9, 9, 9], fewest=10)
    assert few[0]["text"] == "71%"  # of 280, not of 200
    assert {bar["text"] for bar in few[1:]} == {"<4%"}
    assert [bar["text"] for bar in make_share_bars([150, 50], 400, 10)] == ["38%", "13%"]
    assert [bar["text"] for bar in make_share_bars([150, 50], 400)] == ["38%", "12%"]


def test_of_too_few_people_nothing_is_drawn():
    for spec in (
        exposure.chart_risk({5: 12}, 0.2, fewest=10),
        exposure.chart_confidence({1: 30, 2: 30}, {1: 60}, what="diagnosis", fewest=10),
    ):
        assert values(spec) == []
        assert join_title(spec).startswith("Too few people")
    (bar,) = values(tested.chart_attacks([AttackResult("linking", 60, 31)], fewest=10))
    assert (bar["share"], bar["text"], bar["line"]) == (0, "–", "tried on too few people")


@pytest.mark.parametrize("fewest", [1, 10])
def test_the_curve_and_its_title_round_alike(fewest):
    spec = exposure.chart_confidence(BEFORE, AFTER, what="diagnosis", fewest=fewest)
    certain = {p["side"]: p["text"] for p in values(spec) if p["confidence"] == 1}
    title = join_title(spec).replace("less than ", "<")
    assert f"of {certain['releases joined']} of the people" in title
    assert title.endswith(f"alone, of {certain['one release']}")
    axes = spec["encoding"]
    assert axes["x"]["axis"]["title"] == "confidence"
    assert axes["y"]["axis"]["title"] == "share of people"


def test_the_title_names_the_attack_that_comes_first():
    ranked = [AttackResult("order", 500, 200), AttackResult("skewness", 500, 400), ATTACKS[2]]
    assert join_title(tested.chart_attacks(ranked)).startswith("Order succeeds on 40%")


@pytest.mark.parametrize("fewest", [1, 10])
def test_they_can_be_drawn_of_nobody_and_of_somebody(fewest):
    for spec in (
        exposure.chart_risk({}, 0.2, fewest),
        exposure.chart_risk(SIZES, 0.2, fewest),
        exposure.chart_confidence(None, AFTER, fewest=fewest),
        exposure.chart_confidence(BEFORE, AFTER, fewest=fewest),
        tested.chart_attacks([], fewest),
        tested.chart_attacks(ATTACKS, fewest),
        tested.chart_certainty([]),
        tested.chart_certainty(ATTACKS),
    ):
        assert json.dumps(spec, allow_nan=False)
        assert draw_svg(spec).startswith("<svg")
