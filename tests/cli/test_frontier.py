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
    assert result.stdout.startswith("4 of 4 releases can be made; *: the frontier\n")
    assert "k-anonymity k=4 & distinct-diversity l=2" in result.output
    assert "the least loss with a risk of anybody of at most 0.2." in result.output
    assert "To publish it: shoal publish TABLE -s SCHEMA --method" in result.output
    assert "The page: found/frontier.html" in result.output
    assert {path.name for path in here.iterdir()} == {"patients.csv", "found"}
    told = json.loads(frontier(*asked, "--json").stdout)
    assert told["edition"] == 1
    assert len(told["points"]) == 4
    assert told["assumptions"]
    kept = json.loads((here / "found" / "frontier.json").read_text(encoding="utf-8"))
    secret = {"key", "table", "schema"}
    assert secret.isdisjoint(told["settings"])
    assert {k: v for k, v in kept.pop("settings").items() if k not in secret} == told["settings"]
    assert kept == {k: v for k, v in told.items() if k != "settings"}
    again = frontier(*asked, "--hold-back", "0.1")
    assert again.exit_code == 2
    assert "another hold back" in again.output
    assert "--replace" in again.output


def test_the_choice_is_in_the_json_and_among_what_was_asked(frontier):
    kept = ("-o", "found", "--json")
    (mondrian, _) = json.loads(frontier(*kept, "--strengths", "4").stdout)["points"]
    result = frontier(*kept, "--strengths", "8", "--max-loss", "1", "--max-risk", "1")
    told = json.loads(result.stdout)
    assert len(told["points"]) == 4
    assert told["chosen"]["rule"] == "k-anonymity k=8 & distinct-diversity l=2"
    assert told["chosen"]["loss"] > mondrian["loss"]  # k=4 has less, and was not asked for
    assert json.loads(frontier(*kept, "--strengths", "8").stdout)["chosen"] is None


def test_a_choice_that_nothing_meets_is_3(frontier):
    result = frontier("-m", "k-anonymity k=4", "--max-loss", "0", "--json")
    assert result.exit_code == 3
    assert len(json.loads(result.stdout)["points"]) == 2
    assert "No release has a loss of at most 0: the least loss is" in result.stderr
    both = frontier("-m", "k-anonymity k=4", "--max-loss", "0", "--max-risk", "1", "--json")
    assert both.exit_code == 3
    assert json.loads(both.stdout)["chosen"] is None
    assert "a risk of anybody of at most 1 and a loss of at most 0" in both.stderr
    assert "best(" not in both.stderr


def test_where_nothing_can_be_made_it_is_3(frontier):
    result = frontier("-m", "k-anonymity k=1000", "-m", "k-anonymity k=2000")
    assert result.exit_code == 3
    reasons = [line for line in result.stdout.splitlines() if line.startswith("not made:")]
    assert len(reasons) == 2  # of two methods each
    assert "To publish" not in result.stdout


def test_levels_are_noted_and_given(frontier):
    rule = ("-m", "k-anonymity k=4")
    bare, given = frontier(*rule), frontier(*rule, "--auto-hierarchies")
    assert 'Note: Column "age" has no levels' in bare.stderr
    assert "--auto-hierarchies -o release/" in given.stdout
    assert "Note:" not in frontier(*rule, "-q").stderr


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


def test_stopped_it_says_what_is_kept(frontier, here, monkeypatch):
    def stopped(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.verbs.frontier.frontier", stopped)
    result = frontier("-o", "found")
    assert result.exit_code == 130
    assert "before any point was finished: nothing was written" in result.output
    assert not (here / "found").exists()
    assert "Stopped." in frontier().output
    monkeypatch.undo()
    monkeypatch.chdir(here)
    rule = ("-m", "k-anonymity k=4", "-o", "found")
    frontier(*rule)
    monkeypatch.setattr("shoal.verbs.frontier.frontier", stopped)
    assert "what was kept before is unchanged" in frontier(*rule).output

    def later(*given, **more):
        (here / "found" / "frontier.json").write_text("{}", encoding="utf-8")
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.verbs.frontier.frontier", later)
    assert "are kept.\nHint: run it again to go on." in frontier(*rule).output
    assert "without --replace, to go on." in frontier(*rule, "--replace").output


def test_a_share_may_be_a_percentage(frontier, shoal):
    rule = ("-m", "k-anonymity k=4", "--methods", "mondrian")
    result = frontier(*rule, "--hold-back", "5%", "--max-risk", "30%", "--auto-hierarchies")
    assert result.exit_code == 0, result.output
    assert "--hold-back 0.05 --auto-hierarchies -o release/" in result.stdout
    assert "a risk of anybody of at most 0.3." in result.stdout
    for arguments in (("--hold-back", "5"), ("--max-loss", "few")):
        assert "is no share: write for example 0.05 or 5%." in frontier(*arguments).output
    assert "is no share" in shoal("pool", "init", "p", "--hold-back", "101%").output


def test_a_file_with_a_wrong_point_is_5(frontier, here):
    rule = ("-m", "k-anonymity k=4", "-o", "found")
    frontier(*rule)
    file = here / "found" / "frontier.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    told["points"][0]["loss"] = "abc"
    file.write_text(json.dumps(told), encoding="utf-8")
    result = frontier(*rule)
    assert result.exit_code == 5
    assert "start anew with --replace" in result.stderr
    assert frontier(*rule, "--replace").exit_code == 0
