"""``shoal meaning``: as a person types it."""

from __future__ import annotations

import json

import pytest


def test_it_says_what_an_epsilon_means(shoal):
    result = shoal("meaning", "--epsilon", 1, "--prior", "10%")
    assert result.exit_code == 0, result.output
    first, *_ = result.stdout.splitlines()
    assert first.startswith(
        "Because of one person's row no statement becomes likelier by more than 46.2 percentage "
        "points, whatever else anybody knows (ε 1)"
    )
    assert "tight bound: at most 46.2 %" in result.stdout
    assert "which says nothing" in result.stdout
    assert "between 3.93 % and 23.2 % after" in result.stdout


def test_nobody_becomes_certain_however_large_epsilon_is(shoal):
    told = shoal("meaning", "--epsilon", 30, "--prior", "10%", "--presence").stdout
    assert told.startswith("Next to nothing is promised")
    assert "between <0.1 % and >99.9 % after" in told
    assert "100 %" not in told


def test_a_bound_that_fails_often_is_called_weak(shoal):
    weak = shoal("meaning", "--epsilon", 1, "--delta", "1e-6", "--people", 1000).stdout
    assert "but for a chance of 14.9 %, which makes it weak" in weak
    assert "weak" not in shoal("meaning", "--epsilon", 1, "--delta", "1e-9", "--people", 100).stdout


def test_json_has_the_exact_promise_and_the_numbers(shoal):
    result = shoal(
        "meaning",
        "--epsilon",
        "1/10",
        "--delta",
        "1e-10",
        "--people",
        1000,
        "--prior",
        "flu=70%",
        "--prior",
        "other=30%",
        "--presence",
        "--json",
    )
    found = json.loads(result.stdout)
    assert (found["epsilon"], found["delta"]) == ("1/10", "1/10000000000")
    assert round(found["paper"]["epsilon"], 6) == 0.349879
    assert [belief["about"] for belief in found["beliefs"]] == ["flu", "other"]
    assert found["neighbours"] == "add or remove"


def test_a_value_has_one_share(shoal):
    result = shoal("meaning", "--epsilon", 1, "--prior", "a=50%", "--prior", "a=50%")
    assert result.exit_code == 2
    assert "a is given twice." in result.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("--epsilon", 0),
        ("--epsilon", 1, "--delta", 1),
        ("--epsilon", 1, "--prior", "much"),
        ("--epsilon", 1, "--prior", "10%", "--prior", "20%"),
        (),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_hint(shoal, wrong):
    result = shoal("meaning", *wrong)
    assert result.exit_code == 2
    assert "Hint:" in result.stderr
