"""``shoal frontier --side-by-side``: on the terminal, as a page, and what is refused."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def sides(shoal, roles):
    asked = ("--side-by-side", "-m", "k-anonymity k=5", "--seeds", "1", "--epsilons", "1/2,1")
    return lambda *more: shoal("frontier", "patients.csv", *roles, *asked, *more)


def test_it_compares_and_says_what_noise_lacks(sides, here):
    result = sides("-o", "sides", "-q")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    told = json.loads((here / "sides" / "side-by-side.json").read_text(encoding="utf-8"))["data"]
    first, *rest = told["outcomes"]
    assert first["name"] == "k-anonymity k=5"
    assert 0 < first["right"]["mean"] <= 1
    assert [one["epsilon"] for one in rest] == ["1/2", "1"] * 3
    assert all("never taken from the rows" in one["reason"] for one in rest)


def test_json_is_the_result(sides):
    result = sides("--json", "--overlap", "30")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["people"] == 30


@pytest.mark.parametrize(
    "more",
    [("--methods", "chain"), ("--strengths", "5"), ("--replace",), ("--risk", "identity")],
)
def test_what_has_no_meaning_is_refused(sides, more):
    result = sides(*more)
    assert result.exit_code == 2
    assert f"{more[0]} has no meaning with --side-by-side." in result.output


def test_noise_is_of_a_comparison_of_both_schools(shoal, roles):
    result = shoal("frontier", "patients.csv", *roles, "--epsilons", "1")
    assert result.exit_code == 2
    assert "--epsilons is of a comparison of both schools." in result.output
    assert "add --side-by-side" in result.output


def test_stopped_it_promises_nothing_that_it_does_not_keep(sides, here, monkeypatch):
    def stopped(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.verbs.side_by_side.side_by_side", stopped)
    result = sides("-o", "sides")
    assert result.exit_code == 130
    assert "kept only when all of it is finished" in result.output
    assert not (here / "sides").exists()
