"""Sweeney's figures and examples as studies: against the golden tables, and by plain counting."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import shoal
from shoal.studies import experiments
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, FOUND, compute_mean
from shoal.studies.sweeney import examples, figure_3
from shoal.studies.sweeney.printed_tables import (
    CAME,
    audit_table,
    count_alike,
    judge_after,
    judge_count,
    link_releases,
    match_unsorted,
    read_printed_rows,
)

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name):
    return json.loads((GOLDEN / f"sweeney_{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    names = ("figure-2", "figure-3", "figure-4", "figure-5", "examples")
    return {name: shoal.study(f"sweeney-{name}", seeds=2) for name in names}


def verdicts(study):
    return [claim.verdict for claim in study.claims]


def test_every_claim_has_the_verdict_that_the_printed_tables_give(found):
    assert {name: verdicts(one) for name, one in found.items()} == {
        "figure-2": [AGREES, FOUND],
        "figure-3": [CORRECTED, AGREES, AGREES],
        "figure-4": [AGREES, AGREES],
        "figure-5": [AGREES, AGREES, FOUND],
        "examples": [CORRECTED, AGREES, AGREES, CORRECTED, *[AGREES] * 3, FOUND, FOUND],
    }


def test_a_sentence_says_what_is_printed(found):
    claim = found["examples"].claims[3]
    assert claim.says == "In figure 2 six rows are m and five f."
    assert (claim.theirs, claim.why) == ("m 6, f 5", "Counted in the printed table: m 7, f 4.")
    for one in found.values():
        assert all((claim.verdict == FOUND) <= (not claim.theirs) for claim in one.claims)


def test_every_number_is_found_again_in_the_rows(found):
    for one in found.values():
        numbers = [n for claim in one.claims for n in (*claim.ours, *claim.because)]
        assert numbers
        assert [n.again(one.rows) for n in numbers] == numbers
        assert one.charts
        json.dumps(one.to_json(), allow_nan=False)


def test_figure_2_counts_as_the_golden_table_does(found):
    given, rows = golden("fig2"), found["figure-2"].rows
    assert compute_mean(rows, "k", part="table").mean == given["expected"]["k"]
    assert Counter(count_alike("fig2")) == Counter(
        n for n in given["expected"]["class_sizes"] for _ in range(n)
    )
    known = [row["id"] for row in rows if row.get("problem_known")]
    assert known == ["t3", "t4", "t10", "t11"]


@pytest.mark.parametrize("name", ["PT", "GT1", "GT2"])
def test_figure_3_has_the_golden_k(name):
    table = figure_3.TABLES[name]
    assert read_printed_rows(table) == golden("fig3")[name]
    assert (
        audit_table(table)["k"]
        == golden("fig3")["expected"][f"k_{name}"]
        == min(count_alike(table))
    )


def test_figure_3_side_by_side_is_the_private_table(found):
    rows = [row for row in found["figure-3"].rows if row["part"] == "row"]
    private = [f"{row['Race']} {row['ZIP']}" for row in golden("fig3")["PT"]]
    assert [row["side by side"] for row in rows] == private
    assert all(row["alone"] for row in rows)


def test_a_random_order_differs_from_seed_to_seed_and_tells_nothing():
    told = [match_unsorted("random", seed) for seed in range(3)]
    assert [one["exposed"] for one in told] == [0, 0, 0]
    assert len({one["comparable"] for one in told}) > 1


def test_the_two_rows_of_figure_5_are_the_golden_ones(found):
    given, lines = golden("fig4_5"), [r for r in found["figure-5"].rows if r["part"] == "row"]
    alone = [{key: row[key] for key in given["LT"][0]} for row in lines if row["alone"]]
    assert alone == given["expected"]["unique_rows"]
    assert [row["alike"] == 1 for row in lines] == [row["alone"] for row in lines]


def test_who_came_is_as_released():
    added = golden("fig4_5")["temporal"]["added_released"]
    assert [tuple(row.values()) for row in added] == list(CAME)


@pytest.mark.parametrize(("second", "alone"), [("GT3 and two more", 2), ("GT1 and two more", 0)])
def test_a_grown_table_gives_away_the_same_two_or_nobody(second, alone):
    row = link_releases("temporal", second)
    assert (row["exposed"], row["resolved"]) == (alone, 12)
    assert row["alone_in"] == [7, 8][:alone]


def test_judged_after_the_first_the_second_table_falls():
    expected = golden("fig4_5")["expected"]
    assert judge_after("", "fig4_gt3") == {"part": "defence", "holds": True, "k": expected["k_GT3"]}
    after = expected["defence_QI_plus_Problem"]["k_GT3_over_QI_plus_Problem"]
    assert judge_after("fig4_gt1", "fig4_gt3") == {"part": "defence", "holds": False, "k": after}


def test_example_4_counts_as_the_golden_table_does():
    told = {row["what"]: row["found"] for row in examples.count_occurrences()}
    expected = golden("fig2")["expected"]["value_counts"]
    assert told == {
        f"rows with {column} {value}": count
        for column, counts in expected.items()
        for value, count in counts.items()
    }


def test_a_difference_is_settled_by_a_plain_count_and_by_nothing_else():
    assert judge_count(2, 2, 2) == AGREES
    assert judge_count(3, 2, 3) == CORRECTED
    assert judge_count(3, 2, 4) == DIFFERS


CHANGED = {
    "figure-2": ("k", {"part": "table"}, 3, 0),
    "figure-3": ("exposed", {"order": "random"}, 12, 2),
    "figure-4": ("k", {"part": "defence", "first": "fig4_gt1"}, 2, 1),
    "figure-5": ("exposed", {"second": "GT3"}, 1, 1),
    "examples": ("found", {"what": "rows with Gender m"}, 9, 3),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_numbers_would_differ(found, name):
    column, where, value, at = CHANGED[name]
    rows = [
        {**row, column: value} if where.items() <= row.items() else row for row in found[name].rows
    ]
    assert rows != found[name].rows
    claims = experiments()[f"sweeney-{name}"][1].claims(rows)
    assert claims[at].verdict == DIFFERS
    assert claims[at].why
