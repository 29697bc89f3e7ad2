"""What the studies of m-privacy say of rows: every verdict and every reason follows the numbers."""

from __future__ import annotations

import pytest

from shoal.studies.claims import AGREES, DIFFERS, FOUND, PARTLY, select_rows
from shoal.studies.m_privacy import (
    adaptive_rule,
    anonymisation,
    baseline_comparison,
    figure_6,
    table_2,
)

# Figure 6

ORDERS = {  # direct, top-down, bottom-up, binary
    "binary": (8, 5, 9, 1),
    "top-down": (8, 1, 9, 5),
    "direct": (1, 5, 9, 2),
}


def verified(small, large, quick="binary", held=9):
    """Rows in which these are first by checks on the two classes, and by time on both."""
    rows = []
    for size, first in ((150, small), (750, large)):
        for kind in ("uniform", "exponential"):
            for seed in (0, 1):
                same = {"class_rows": size, "split": kind, "seed": seed}
                first_here = first[kind] if isinstance(first, dict) else first
                checks = dict(zip(figure_6.PLAIN, ORDERS[first_here], strict=True))
                times = dict(zip(figure_6.PLAIN, ORDERS[quick], strict=True))
                taken = "binary" if size == 150 else "top-down"
                for name in figure_6.ALL:
                    asked = checks.get(name, checks[taken] if name == "adaptive" else 1)
                    took = times.get(name, 1)
                    row = {**same, "verifier": name}
                    rows.append({**row, "m": 5, "checks": asked, "milliseconds": took})
                    rows.append(
                        {
                            **row,
                            "mean_checks": asked,
                            "mean_checks_held": asked,
                            "mean_milliseconds": took,
                            "held_to": held,
                            "microseconds_a_check": 1000 * took / asked,
                        }
                    )
                rows.append({**same, "one_by_one": 9.0, "at_once": 1.0, "score": size / 50})
    return rows


MIXED = {"uniform": "binary", "exponential": "direct"}


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        ("binary", "top-down", [AGREES, AGREES, AGREES]),
        ("binary", "binary", [AGREES, DIFFERS, PARTLY]),
        ("top-down", "binary", [DIFFERS, DIFFERS, DIFFERS]),
        ("direct", "top-down", [DIFFERS, AGREES, AGREES]),
        (MIXED, "top-down", [PARTLY, AGREES, AGREES]),
    ],
)
def test_figure_6_s_claims_follow_the_rows(small, large, expected):
    found = figure_6.claims(verified(small, large))
    assert [one.verdict for one in found[:3]] == expected
    assert [one.verdict for one in found[3:]] == [FOUND] * 4


def test_figure_6_says_why_from_the_rows():
    small, large, choice, time, *_, holding = figure_6.claims(verified(MIXED, "binary"))
    assert "first in 3 of 6 readings" in small.why
    assert "direct, binary, top-down, bottom-up (m = 5, exponential; " in small.why
    assert "no class" not in small.why
    assert "binary, top-down, direct, bottom-up in all of them" in large.why
    assert "0 of 6 readings at 150 rows and in 6 of 6 readings at 750 rows" in choice.why
    assert "Binary needs no more than top-down in any of the 12 readings" in choice.why
    assert "score 3 and 15" in choice.why
    assert "direct by checks and binary by time (150 rows, exponential)" in time.says
    assert "on 1 of 4 classes" in time.says
    assert "150 rows, uniform: 9" in holding.says
    breaking = figure_6.claims(verified(MIXED, "binary", held=3))[0]
    assert "At m = 5 no class drawn under the exponential split holds" in breaking.why


def test_time_that_follows_checks_is_not_said_to_part():
    time = adaptive_rule.claims(verified("binary", "binary"))[3]
    assert time.says.startswith("The verifier with the fewest checks is the quickest")
    assert "Binary, which" not in time.says  # a check costs all the same


# Table II


def scores(small, large):
    """Rows of table II in which every reading scores so much."""
    return [
        {
            "class_rows": size,
            "alpha": alpha,
            "k": k,
            "split": kind,
            "seed": 0,
            "score": mean,
            "score_bounded": mean,
        }
        for size, mean in ((150, small), (750, large))
        for alpha, k in table_2.SETTINGS["readings"]
        for kind in table_2.SETTINGS["splits"]
    ]


@pytest.mark.parametrize(
    ("small", "large", "verdict"),
    [(0.867, 2.307, AGREES), (0.867, 1.5, PARTLY), (0.5, 1.5, DIFFERS)],
)
def test_printed_scores_are_judged_by_both_classes(small, large, verdict):
    assert table_2._scores_claim(scores(small, large)).verdict == verdict


def test_one_reading_of_the_scores_that_fits_is_not_enough():
    rows = scores(0.5, 1.5)
    for row in rows:
        if row["split"] == "uniform":
            row["score"] = table_2.SCORES[row["class_rows"]]
    found = table_2._scores_claim(rows)
    assert found.verdict == PARTLY
    assert "for verification 2 of 8 means" in found.why
    assert "for anonymisation, which are not said to be used here, 2 of 8" in found.why


# Anonymisation

MS = anonymisation.SETTINGS["against_m"]


def compared(literal, seconds, classes=7, aware=0.9, last=1.0):
    """Rows in which the paper's rule has these multiples of the baseline's loss and time."""
    usual = {name: anonymisation.SETTINGS[name] for name in ("n", "k")}
    ways = {
        "provider-aware": (aware, 1.3, 9),
        "mondrian": (1, 1, 5),
        "providers last": (last, 1.1, 6),
        "the paper's rule": (literal, seconds, classes),
    }
    return [
        {
            **usual,
            "m": m,
            "table_rows": 9,
            "split": kind,
            "way": way,
            "seed": 0,
            "classes": made,
            "loss": loss / 10,
            "loss_to_base": loss,
            "seconds": took,
            "seconds_to_base": took,
        }
        for m in MS
        for kind in ("uniform", "exponential")
        for way, (loss, took, made) in ways.items()
    ]


@pytest.mark.parametrize(
    ("literal", "seconds", "expected"),
    [(1.2, 1.2, [AGREES, AGREES]), (3.0, 1.2, [DIFFERS, AGREES]), (0.9, 1.3, [AGREES, DIFFERS])],
)
def test_anonymisation_s_claims_follow_the_rows(literal, seconds, expected):
    found = anonymisation.claims(compared(literal, seconds))
    assert [one.verdict for one in found] == [*expected, FOUND, FOUND]


def test_one_split_that_is_comparable_is_agreement_in_part():
    rows = compared(3.0, 1.3)
    for row in rows:
        if row["split"] == "uniform" and row["way"] == "the paper's rule":
            row["loss_to_base"] = row["seconds_to_base"] = 1.0
    assert [one.verdict for one in anonymisation.claims(rows)[:2]] == [PARTLY, PARTLY]
    assert f"comparable for {len(MS)} (m = 1, uniform" in anonymisation.claims(rows)[0].why


def test_anonymisation_says_why_from_the_rows():
    loss, time, better, _ = anonymisation.claims(compared(3.0, 1.3))
    assert "loses more under either split, though it makes more classes" in loss.why
    assert "it is the choice by score that loses" in loss.why
    assert "comparable for none" in loss.why
    assert "the rest is the choice by score" in time.why
    assert "it cannot lose more. It loses 10 % (uniform) and 10 % (exponential) less" in better.says
    coarse, quick, *_ = anonymisation.claims(compared(3.0, 1.05, classes=4, last=2.0))
    assert "more classes" not in coarse.why
    assert "choice by score" not in coarse.why
    assert quick.verdict == AGREES
    odd = compared(3.0, 1.3)
    for row in select_rows(odd, way=baseline_comparison.LAST):
        row["seconds_to_base"] = 2.0
    assert "The reason was not found" in anonymisation.claims(odd)[1].why
    assert "has lost more" in anonymisation.claims(compared(3.0, 1.3, aware=1.1))[2].says


def test_numbers_of_claims_can_be_counted_again():
    rows, six = compared(3.0, 1.3), verified(MIXED, "binary", held=3)
    for claims, behind in ((anonymisation.claims(rows), rows), (figure_6.claims(six), six)):
        for claim in claims:
            for one in (*claim.ours, *claim.because):
                assert one.again(behind) == one
