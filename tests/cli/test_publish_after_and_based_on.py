"""The two defences of a second release, on the command line."""

from __future__ import annotations

import json

import pytest

from shoal.data import bundled

QUASI = "--quasi Race --quasi BirthDate --quasi Gender --quasi ZIP --sensitive Problem".split()
GT1, GT3 = (bundled.path(f"sweeney_fig4_{name}.csv") for name in ("gt1", "gt3"))
RULE = ("-m", "k-anonymity k=4")


@pytest.fixture
def people(roles):
    """The roles with the patients as the people."""
    at = roles.index("patient")
    return [*roles[: at - 1], "--person", "patient", *roles[at + 1 :]]


@pytest.fixture
def grown(here):
    """The table some weeks later: ten patients are gone and forty are new."""
    lines = bundled.path("st_anna.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (here / "later.csv").write_text("".join([lines[0], *lines[11:441]]), encoding="utf-8")
    return "later.csv"


def test_sweeney_s_second_table_is_refused_after_the_first(shoal):
    asked = ("verify", GT3, *QUASI, "-m", "k-anonymity k=2")
    assert shoal(*asked).exit_code == 0
    done = shoal(*asked, "--after", GT1, "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert not found["holds"]
    assert found["judgements"][0]["reached"] == 1


def test_a_release_based_on_another_tells_what_became_of_the_rows(shoal, people, grown, here):
    assert shoal("publish", "patients.csv", *people, *RULE, "-o", "first").exit_code == 0
    done = shoal("publish", grown, *people, *RULE, "-o", "second", "--based-on", "first")
    assert done.exit_code == 0, done.output
    assert "40 are new, 10 are gone." in done.stdout
    first, second = (
        json.loads((here / name / "manifest.json").read_text(encoding="utf-8"))
        for name in ("first", "second")
    )
    assert second["based_on"] == first["sha256"]
    assert shoal("verify", "second").exit_code == 0
    more = ("--based-on", "first", "--dry-run", "--explain", "--json")
    told = json.loads(shoal("publish", grown, *people, *RULE, *more).stdout)
    assert told["rows_new"] == 40
    assert told["rows_frozen"] + told["rows_widened"] == 390


def test_without_people_it_says_what_to_type(shoal, roles):
    shoal("publish", "patients.csv", *roles, *RULE, "-o", "first")
    done = shoal("publish", "patients.csv", *roles, *RULE, "-o", "x", "--based-on", "first")
    assert done.exit_code == 5
    assert "--person" in done.stderr


def test_a_release_after_others_generalises_what_they_have(shoal, roles):
    shoal("publish", "patients.csv", *roles, *RULE, "-o", "first")
    after = ("--after", "first", "--after", "patients.csv")
    done = shoal("publish", "patients.csv", *roles, *RULE, "-o", "second", *after, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["manifest"]["columns"]["diagnosis"] == "quasi"
    assert shoal("verify", "second", "--after", "first").exit_code == 0
    assert shoal("verify", "first", "--after", "second").exit_code == 3


def test_both_at_once_are_wrong_usage(shoal, people):
    shoal("publish", "patients.csv", *people, *RULE, "-o", "first")
    both = ("--based-on", "first", "--after", "first")
    done = shoal("publish", "patients.csv", *people, *RULE, "-o", "second", *both)
    assert done.exit_code == 2
    assert "alternatives" in done.stderr
