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
