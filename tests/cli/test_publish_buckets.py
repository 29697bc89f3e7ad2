"""Buckets on the command line."""

from __future__ import annotations

import json

RULE = ("-m", "entropy-diversity l=3")


def test_buckets_in_two_tables_are_published_and_verified(shoal, roles, here):
    asked = ("publish", "patients.csv", *roles, *RULE, "-o", "out", "--form", "buckets")
    done = shoal(*asked, "--two-tables", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["manifest"]["form"] == "buckets"
    assert told["loss"] == 0
    names = ["manifest.json", "table.csv", "values.csv"]
    assert sorted(path.name for path in (here / "out").iterdir()) == names
    assert shoal("verify", "out").exit_code == 0
    assert shoal("attack", "linking", "out", "--targets", "patients.csv").exit_code == 5
    (here / "out/values.csv").write_text("bucket,diagnosis,count\n1,flu,400\n", encoding="utf-8")
    assert shoal("verify", "out").exit_code == 5


def test_a_rule_about_looking_alike_is_refused(shoal, roles):
    asked = ("publish", "patients.csv", *roles, "--dry-run", "--form", "buckets")
    done = shoal(*asked, "-m", "k-anonymity k=10")
    assert done.exit_code == 2
    assert "says nothing" in done.stderr
    assert "entropy-diversity" in done.stderr


def test_a_release_in_buckets_is_replaced_by_another_form_and_back(shoal, roles, here):
    """Two tables, then one, then two in another format: no file of the release before stays."""
    asked = ("publish", "patients.csv", *roles, *RULE, "-o", "out", "--form", "buckets")
    for more, names in (
        (("--two-tables",), ["manifest.json", "table.csv", "values.csv"]),
        ((), ["manifest.json", "table.csv"]),
        (("--two-tables", "--format", "xlsx"), ["manifest.json", "table.xlsx", "values.xlsx"]),
    ):
        assert shoal(*asked, *more, "--replace", "-q").exit_code == 0
        assert sorted(path.name for path in (here / "out").iterdir()) == names
    assert shoal("verify", "out", "-q").exit_code == 0


def test_each_of_several_sensitive_columns_is_judged(shoal, roles):
    asked = ["publish", "patients.csv", *roles, "-o", "out", "--form", "buckets"]
    asked[asked.index("sex") - 1] = "--sensitive"
    done = shoal(*asked, "-m", "entropy-diversity l=2 on=diagnosis*sex")
    assert done.exit_code == 2
    assert "themselves: sex, diagnosis." in done.stderr
    assert '-m "entropy-diversity l=3 on=sex"' in done.stderr
    both = ("-m", "entropy-diversity l=2 on=diagnosis", "-m", "distinct-diversity l=2 on=sex")
    done = shoal(*asked, *both)
    assert done.exit_code == 0, done.output
    assert shoal("verify", "out").exit_code == 0
    assert shoal("verify", "out", *both[:2]).exit_code == 2


def test_hints_are_for_the_command_line(shoal, roles):
    asked = ("publish", "patients.csv", *roles, *RULE, "--dry-run")
    assert "--form buckets" in shoal(*asked, "--two-tables").stderr
    done = shoal(*asked, "--form", "buckets", "--held-back-as", "starred")
    assert "--held-back-as absent" in done.stderr
