"""``shoal frontier``: a table on the terminal, a folder to go on with, a choice."""

from __future__ import annotations

import json

import pytest

METHODS = ("--methods", "mondrian,chain")


@pytest.fixture
def frontier(shoal, roles):
    return lambda *more: shoal("frontier", "patients.csv", *roles, *METHODS, *more)


def test_it_compares_and_chooses(frontier, here):
    asked = ("--strengths", "4,8", "-o", "found")
    result = frontier(*asked, "--max-risk", "0.2")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("4 of 4 releases can be made; *: the frontier\n")
    assert "k-anonymity k=4 & distinct-diversity l=2" in result.output
    assert 'Chosen: -m "k-anonymity k=' in result.output
    assert "The page: found/frontier.html" in result.output
    assert {path.name for path in here.iterdir()} == {"patients.csv", "found"}
    told = json.loads(frontier(*asked, "--json").stdout)
    assert told["edition"] == 1
    assert len(told["points"]) == 4
    assert told["assumptions"]
    kept = json.loads((here / "found" / "frontier.json").read_text(encoding="utf-8"))
    assert kept == told
    again = frontier(*asked, "--hold-back", "0.1")
    assert again.exit_code == 2
    assert "another hold back" in again.output
    assert "--replace" in again.output


def test_a_choice_that_nothing_meets_is_3(frontier):
    result = frontier("-m", "k-anonymity k=4", "--max-loss", "0")
    assert result.exit_code == 3
    assert "No method keeps the loss within the bound" in result.output


def test_rules_are_one_strength_each(frontier):
    rules = ("k-anonymity k=4", "k-anonymity k=6 & entropy-diversity l=1.5 on=diagnosis")
    result = frontier("-m", rules[0], "-m", rules[1], "--json", "--risk", "value")
    points = json.loads(result.stdout)["points"]
    assert {one["rule"] for one in points} == set(rules)
    assert all(one["risk_value"] > 0 for one in points)


def test_strengths_are_numbers(frontier):
    result = frontier("--strengths", "few")
    assert result.exit_code == 2
    assert "whole numbers" in result.output


def test_stopped_it_says_that_points_are_kept(frontier, monkeypatch):
    def stopped(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.flow.frontier.frontier", stopped)
    result = frontier("-o", "found")
    assert result.exit_code == 2
    assert "the points that were finished are kept" in result.output
    assert "Stopped." in frontier().output
