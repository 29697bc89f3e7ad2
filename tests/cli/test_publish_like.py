"""``shoal publish --like``: next month's table, recoded as this month's was."""

from __future__ import annotations

import json

import pytest

from shoal.data import bundled

RULE = ("-m", "k-anonymity k=5")
ZIPS = ("--method", "chain", "--order", "age", "--order", "admitted")


@pytest.fixture
def release(shoal, here, roles):
    """A release by levels, and the table of the month after."""
    lines = bundled.path("st_anna.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (here / "next.csv").write_text("".join((lines[0], *lines[401:801])), encoding="utf-8")
    done = shoal("publish", "patients.csv", *roles, *RULE, *ZIPS, "-o", "first")
    assert done.exit_code == 0, done.output
    return here / "first"


def test_schema_and_requirement_are_those_of_the_release(shoal, here, release):
    done = shoal("publish", "next.csv", "--like", "first", "-o", "second")
    assert done.exit_code == 0, done.output
    told, before = (
        json.loads((here / name / "manifest.json").read_text(encoding="utf-8"))
        for name in ("second", "first")
    )
    assert told["like"] == before["sha256"]
    assert told["rule"] == before["rule"] == "k-anonymity k=5"
    assert shoal("verify", "second").exit_code == 0


def test_as_json_with_a_requirement_and_reading_options_of_its_own(shoal, here, release):
    text = (here / "next.csv").read_text(encoding="utf-8").replace(",", ";")
    (here / "semicolons.csv").write_text(text, encoding="utf-8")
    line = ("--like", "first", "--delimiter", ";", "-m", "k-anonymity k=4", "--dry-run", "--json")
    done = shoal("publish", "semicolons.csv", *line)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["manifest"]["rule"] == "k-anonymity k=4"
    assert told["rows_not_covered"] == 0
    assert told["people_in_both"] is None
    assert sum("is not known" in note for note in told["notes"]) == 1
    assert "Note: How many people are in the other release too is not known" in done.stderr


def test_exit_codes_tell_what_is_wrong(shoal, here, roles, release):
    lost = shoal("publish", "next.csv", "--like", "first", "-m", "k-anonymity k=400", "--dry-run")
    assert lost.exit_code == 3, lost.output
    assert "without --like" in lost.output
    both = shoal("publish", "next.csv", "--like", "first", "--method", "chain", "--dry-run")
    assert both.exit_code == 2
    assert "cannot be combined with --method" in both.output
    for more in (("--based-on", "first"), ("--form", "buckets"), ("--order", "age")):
        done = shoal("publish", "next.csv", "--like", "first", *more, "--dry-run")
        assert done.exit_code == 2, done.output
    schema = shoal("publish", "next.csv", "--like", "first", "--quasi", "age", "--dry-run")
    assert schema.exit_code == 5
    assert "asked for: admitted, sex, zip." in schema.output


def test_what_is_not_covered_is_counted_and_may_be_held_back(shoal, here, roles):
    roles = [*roles[:4], *"--quasi age --quasi sex --identifier zip".split(), *roles[10:]]
    roles[roles.index("admitted") - 1] = "--identifier"
    assert shoal("publish", "patients.csv", *roles, *RULE, "-o", "cells").exit_code == 0
    rows = (here / "patients.csv").read_text(encoding="utf-8").splitlines()
    odd = rows[1].split(",")
    odd[rows[0].split(",").index("age")] = "199"
    (here / "more.csv").write_text("\n".join([*rows, ",".join(odd), ""]), encoding="utf-8")
    refused = shoal("publish", "more.csv", "--like", "cells", "--dry-run")
    assert refused.exit_code == 5
    assert "does not cover 1 of 401 rows: 1 values of column 'age' (1 rows)." in refused.output
    assert "199" not in refused.output
    line = ("--like", "cells", "--hold-back", "0.01", "--dry-run", "--json")
    allowed = shoal("publish", "more.csv", *line)
    assert allowed.exit_code == 0, allowed.output
    assert json.loads(allowed.stdout)["rows_not_covered"] == 1


def test_the_same_people_again_are_pointed_to_the_other_option(shoal, roles):
    people = [word if word != "--identifier" else "--person" for word in roles[:2]]
    named = (*people, *roles[2:])
    assert shoal("publish", "patients.csv", *named, *RULE, "-o", "first").exit_code == 0
    done = shoal("publish", "patients.csv", "--like", "first", "--hold-back", ".05", "--dry-run")
    assert "Warning: 400 people are in the other release too" in done.output
    assert "--based-on" in done.output


def test_automatic_hierarchies_are_offered_on_standard_error(shoal, roles):
    line = ("publish", "patients.csv", *roles, *RULE, "--method", "chain", "--dry-run")
    done = shoal(*line, "--json")
    note = 'Column "age" has no levels between its values and *'
    assert f"Note: {note}" in done.stderr
    assert sum(one.startswith(note) for one in json.loads(done.stdout)["notes"]) == 1
    assert shoal(*line, "--quiet").stderr == ""
    given = shoal(*line, "--auto-hierarchies", "--json")
    assert "was given automatic ones" in given.stderr
    assert json.loads(given.stdout)["levels"]["age"] <= 5
