"""Charts: the numbers survive, the titles say the finding, the drawing is inert and labelled."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from shoal.core.errors import UsageError
from shoal.reports.charts import attacks, exposure, release
from shoal.reports.charts.attacks import AttackResult
from shoal.reports.charts.axes import names_axis
from shoal.reports.charts.release import RequirementResult
from shoal.reports.charts.theme import (
    PALETTE,
    Spec,
    clean_text,
    draw_svg,
    join_title,
    tabulate_chart,
)
from shoal.reports.format import format_brief_percent, format_percent

SPECS = {
    "risk": release.chart_unique_by_columns(["sex", "age", "zip"], [0, 3, 3421], 4812),
    "sizes": release.chart_class_sizes({1: 300, 2: 50, 7: 4}, {10: 30, 128: 1}, 10),
    "candidates": release.chart_candidates({3: 70, 12: 30}, {1: 41, 2: 59}),
    "marginals": release.chart_marginals(
        "diagnosis", ["flu", None, "a<b>&c"], [5, 3, 2], [6, 2, 2]
    ),
    "people": release.chart_people({"alone": 1, "in company": 4999}),
    "reached": release.chart_requirements(
        [
            RequirementResult("k-anonymity", 10, 10, True),
            RequirementResult("t-closeness", 0.25, 0.2, False, at_least=False),
            RequirementResult("δ-disclosure", float("inf"), 2, False, at_least=False),
        ]
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_chart_is_plain_json_with_a_finding_and_a_table(name: str) -> None:
    spec = SPECS[name]
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    assert join_title(spec)
    assert spec["description"]
    headings, rows = tabulate_chart(spec)
    assert rows
    assert all(len(row) == len(headings) for row in rows)


@pytest.mark.parametrize("name", SPECS)
def test_a_drawing_is_labelled_and_inert(name: str) -> None:
    text = draw_svg(SPECS[name])
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert join_title(SPECS[name]) in (root.get("aria-label") or "")
    assert [child.tag.rpartition("}")[2] for child in root[:2]] == ["title", "desc"]
    assert root[0].text == join_title(SPECS[name])
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "path", "text", "tspan", "line", "rect", "defs"}
    attributes = {a for element in root.iter() for a in element.attrib}
    assert not {a for a in attributes if a.startswith("on") or "href" in a}


def test_a_drawing_is_the_same_twice() -> None:
    assert draw_svg(SPECS["sizes"]) == draw_svg(SPECS["sizes"])


def test_colours_follow_the_page_or_stand_alone() -> None:
    adaptive, plain = draw_svg(SPECS["risk"]), draw_svg(SPECS["risk"], adaptive=False)
    assert f"var(--before, {PALETTE['before'][0]})" in adaptive
    assert "var(" not in plain
    assert PALETTE["before"][0] in plain


def test_the_heading_can_be_left_to_the_page() -> None:
    def words(text: str) -> str:
        drawn = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
        return " ".join("".join(element.itertext()) for element in drawn)

    assert "singles out" in words(draw_svg(SPECS["risk"]))
    assert "singles out" not in words(draw_svg(SPECS["risk"], heading=False))


def test_every_label_is_drawn_once_escaped() -> None:
    text = draw_svg(SPECS["marginals"])
    assert "a&lt;b&gt;&amp;c" in text
    assert "(missing)" in text


@pytest.mark.parametrize(
    "spec",
    [
        {"data": {"url": "http://example.org/x.csv"}, "mark": "bar"},
        {"layer": [{"data": {"url": "x.csv"}, "mark": "bar"}]},
        {"mark": {"type": "image", "url": "http://example.org/x.png"}},
    ],
)
def test_nothing_is_fetched(spec: Spec) -> None:
    with pytest.raises(UsageError, match="address"):
        draw_svg(spec)


def test_risk_counts_and_says_the_last_step() -> None:
    spec = SPECS["risk"]
    assert join_title(spec) == "Knowing sex, age and zip singles out 71% of 4,812 people"
    assert tabulate_chart(spec)[1] == (
        ("sex", 0, "0%"),
        ("+ age", 3, "<0.1%"),
        ("+ zip", 3421, "71%"),
    )
    spec = release.chart_unique_by_columns(["ssn"], [4811], 4812)
    assert join_title(spec) == "Knowing ssn alone singles out more than 99.9% of 4,812 people"


def test_class_sizes_weigh_classes_by_their_people() -> None:
    spec = SPECS["sizes"]
    people = {(label, side): n for label, side, n, _ in tabulate_chart(spec)[1]}
    assert people[("1", "original")] == 300
    assert people[("2", "original")] == 100
    assert people[("5–9", "original")] == 28
    assert people[("10–19", "published")] == 300
    assert people[("100+", "published")] == 128
    assert sum(n for (_, side), n in people.items() if side == "original") == 428
    assert "at least 9 others" in join_title(spec)


def test_class_sizes_put_an_edge_at_k_and_name_the_failure() -> None:
    spec = release.chart_class_sizes({1: 5}, {6: 1, 7: 1}, 7)
    labels = [row[0] for row in tabulate_chart(spec)[1]]
    assert "5–6" in labels
    assert "7–9" in labels
    assert join_title(spec) == "6 published people are in classes smaller than 7"
    assert join_title(release.chart_class_sizes({1: 5}, {1: 2, 3: 1})) == (
        "5 of 5 people stood alone; 2 still do"
    )


def test_empty_bins_at_the_end_are_left_out() -> None:
    assert [row[0] for row in tabulate_chart(release.chart_candidates({2: 1}, {1: 1}))[1]] == [
        "1",
        "2",
    ] * 2
    assert tabulate_chart(SPECS["candidates"])[1][8][0] == "9+"


def test_marginals_measure_total_variation_and_fold_the_tail() -> None:
    assert join_title(SPECS["marginals"]) == "The distribution of diagnosis moved by 10%"
    many = release.chart_marginals("zip", [str(i) for i in range(40)], [1] * 40, [1] * 40, most=12)
    rows = tabulate_chart(many)[1]
    assert len(rows) == 24
    assert rows[11][:3] == ("29 other values", "original", 29)
    assert join_title(many).endswith("did not move")


def test_people_rounds_nobody_away() -> None:
    dots = SPECS["people"]["layer"][0]["data"]["values"]
    assert [dot["group"] for dot in dots] == ["alone"] + ["in company"] * 99
    for groups in ({"a": 1, "b": 1, "c": 1}, {"a": 7}, {"a": 1, "b": 1, "c": 1, "d": 10**6}):
        assert len(release.chart_people(groups)["layer"][0]["data"]["values"]) == 100
    assert release.chart_people({"a": 0, "b": 0})["layer"][0]["data"]["values"] == []
    with pytest.raises(UsageError, match="5 groups"):
        release.chart_people(dict.fromkeys("abcde", 1))


def test_reached_repeats_the_models_verdict_and_never_its_own() -> None:
    spec = release.chart_requirements([RequirementResult("t", 0.2, 0.2, met=False, at_least=False)])
    assert join_title(spec) == "Not met: t"
    assert tabulate_chart(spec)[1] == (("t", "0.2", "at most 0.2", "not met"),)
    assert (
        join_title(release.chart_requirements([RequirementResult("k", 3, 3, True)]))
        == "Every requirement is met"
    )
    assert [row[1] for row in tabulate_chart(SPECS["reached"])[1]] == ["10", "0.25", "infinite"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
@pytest.mark.parametrize("needed", [0.0, 2.0])
def test_reached_draws_any_value(value: float, needed: float) -> None:
    bar = release.chart_requirements([RequirementResult("x", value, needed, False)])["data"][
        "values"
    ][0]
    assert 0 <= bar["ratio"] <= 2


@pytest.mark.parametrize("part", [1, 3, 499_999, 999_499, 999_999])
def test_a_share_is_never_rounded_to_nothing_or_everything(part: int) -> None:
    assert format_percent(part, 10**6) not in ("0%", "0.0%", "100%", "100.0%")
    assert format_brief_percent(part, 10**6) not in ("0", "0%", "100%")


def test_shares_at_the_ends_are_exact() -> None:
    assert (format_percent(0, 5), format_percent(5, 5), format_percent(0, 0)) == (
        "0%",
        "100%",
        "0%",
    )
    assert (format_brief_percent(0, 5), format_brief_percent(5, 5)) == ("0", "100%")


def test_labels_get_room_and_lose_control_characters() -> None:
    wide, narrow = names_axis("f", ["a" * 30]), names_axis("f", ["a"])
    assert wide["axis"]["minExtent"] > narrow["axis"]["minExtent"]
    assert names_axis("f", ["a" * 500])["axis"]["minExtent"] < 300
    assert clean_text("a\x00\x1b[31mb") == "a[31mb"


def test_no_control_character_reaches_a_drawing() -> None:
    evil = "di\x00ag\x1bno\udc80sis"
    results = [AttackResult(evil, 100, 3, 1.0)]
    for spec in (
        release.chart_unique_by_columns([evil], [3], 4),
        release.chart_class_sizes({1: 3}, {3: 4}, names=(evil, "published")),
        release.chart_candidates({1: 3, 4: 100}, {1: 50, 2: 53}, what=evil),
        release.chart_marginals(evil, [evil, None], [1, 2], [3, 4]),
        release.chart_people({evil: 3, "others": 4}),
        release.chart_requirements([RequirementResult(evil, 1, 2, False)]),
        exposure.chart_confidence({1: 3}, {1: 2, 2: 1}, names=(evil, f"{evil}'s"), what=evil),
        attacks.chart_attacks(results),
        attacks.chart_certainty(results),
    ):
        text = json.dumps(spec)
        assert "diagnosis" in text.lower()
        assert not any(mark in text for mark in ("\\u0000", "\\u001b", "\\udc80"))
        assert draw_svg(spec).startswith("<svg")


def test_who_is_not_drawn_stays_in_the_total() -> None:
    spec = release.chart_marginals("dx", ["flu", "hiv"], [296, 4], [296, 4], fewest=10)
    assert [row[2] for row in tabulate_chart(spec)[1]] == [">96%", ">96%"]
    assert "hiv" not in json.dumps(spec)
    two = release.chart_marginals("sex", ["f", "m"], [155, 145], [145, 155], fewest=10)
    assert [row[2] for row in tabulate_chart(two)[1]] == ["52%", "48%", "48%", "52%"]
    more = release.chart_marginals("sex", ["f", "m"], [155 + 3, 145], [145, 155 + 3], fewest=10)
    assert more == two


def test_of_too_few_people_only_that_is_told() -> None:
    for spec in (
        release.chart_marginals("sex", ["f", "m"], [40, 40], [40, 40], fewest=10),
        release.chart_class_sizes({1: 300}, {5: 9}, fewest=10),
        release.chart_candidates({1: 40, 2: 30}, {1: 70}, fewest=10),
    ):
        assert join_title(spec).startswith("Too few people to show")
        assert spec["data"]["values"] == []
        assert tabulate_chart(spec) == ((), ())
        assert draw_svg(spec).startswith("<svg")


def test_the_last_bin_of_a_public_chart_holds_enough_people() -> None:
    spec = release.chart_candidates({2: 300, 8: 1}, {1: 299, 7: 2}, fewest=10)
    assert {row[0] for row in tabulate_chart(spec)[1]} == {"1", "2"}


def test_numbers_may_come_from_numpy() -> None:
    one: Any = np.int64(1)
    ones, hist = [one, one], {one: 5 * one, 12 * one: 3 * one}
    for spec in (
        release.chart_unique_by_columns(["a", "b"], ones, 4 * one),
        release.chart_class_sizes(hist, hist, 5),
        release.chart_candidates(hist, hist),
        release.chart_marginals("a", ["x", "y"], ones, ones),
        release.chart_people({"a": one}),
        release.chart_requirements([RequirementResult("k", 3 * one, 3 * one, True)]),
    ):
        assert json.dumps(spec, allow_nan=False)


def test_nobody_can_be_drawn() -> None:
    for spec in (
        release.chart_unique_by_columns(["a"], [0], 0),
        release.chart_class_sizes({}, {}, 5),
        release.chart_candidates({}, {}),
        release.chart_marginals("a", [], [], []),
        release.chart_people({"a": 0}),
        release.chart_requirements([]),
    ):
        assert draw_svg(spec).startswith("<svg")


def test_mismatched_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="3 labels and 2 numbers"):
        release.chart_unique_by_columns(["a", "b", "c"], [1, 2], 10)
    with pytest.raises(UsageError, match="1 labels and 2 numbers"):
        release.chart_marginals("a", ["x"], [1], [1, 2])


def test_importing_the_room_loads_neither_engine() -> None:
    code = (
        "import sys, shoal.reports.charts; "
        "sys.exit(bool({'vl_convert', 'jinja2', 'markupsafe'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
