"""What an attack could not evaluate is named with its reason, and minimality knows its columns."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.attacks import load_attacks
from shoal.cli.main import main

ROWS = [
    # Two people of one age have one disease: a cut between the ages would break the rule.
    {"age": "1", "disease": "flu", "hiv": "positive"},
    {"age": "1", "disease": "flu", "hiv": "positive"},
    {"age": "2", "disease": "ulcer", "hiv": "positive"},
    {"age": "2", "disease": "ulcer", "hiv": "positive"},
    {"age": "2", "disease": "cold", "hiv": "negative"},
]
RULE = "k-anonymity k=2 & distinct-diversity l=2 on=disease"


def write(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    return path


def run(*arguments: object):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def would_be_cut(diseases: tuple[str, ...]) -> bool:
    """Whether both ages could be published apart: two people at least, of two diseases."""
    ages = [row["age"] for row in ROWS]
    parts = [
        [disease for own, disease in zip(ages, diseases, strict=True) if own == age] for age in "12"
    ]
    return all(len(part) >= 2 and len(set(part)) >= 2 for part in parts)


def posterior(column: str) -> list[dict[str, Fraction]]:
    """An oracle in plain Python: every way to hand the published rows out, and what each has."""
    possible = [
        world
        for world in permutations(ROWS)
        if not would_be_cut(tuple(row["disease"] for row in world))
    ]
    return [
        {
            value: Fraction(count, len(possible))
            for value, count in Counter(world[person][column] for world in possible).items()
        }
        for person in range(len(ROWS))
    ]


@pytest.fixture
def release(tmp_path) -> Path:
    roles = shoal.Schema.of(quasi=["age"], sensitive=["disease", "hiv"])
    made = shoal.publish(write(tmp_path / "people.csv"), roles, RULE, out=tmp_path / "release")
    assert made.verdict.classes == 1
    return tmp_path / "release"


@pytest.mark.parametrize("column", ["disease", "hiv"])
def test_minimality_learns_a_column_that_the_rule_is_not_about(release, column):
    """Which row a person has decides what the method did, and what every value of theirs is."""
    found = shoal.attack("minimality", [release], targets=release.parent / "people.csv", on=column)
    before = max(Counter(row[column] for row in ROWS).values())
    likeliest = [max(one.values()) for one in posterior(column)]
    exposed = [one for one in likeliest if one > Fraction(before, len(ROWS))]
    assert (found.people, found.exposed) == (len(ROWS), len(exposed))
    assert found.exposed == 2
    assert found.sure == pytest.approx(float(max(likeliest)))
    assert found.on == column


def test_minimality_of_a_kept_column_judges_the_rule_on_its_own_column(tmp_path):
    roles = shoal.Schema.of(quasi=["age"], sensitive=["disease"], keep=["hiv"])
    people = write(tmp_path / "people.csv")
    rule = "k-anonymity k=2 & distinct-diversity l=2"
    shoal.publish(people, roles, rule, out=tmp_path / "release", accept_keep=True)
    found = shoal.attack("minimality", [tmp_path / "release"], targets=people, on="hiv")
    assert (found.exposed, found.sure) == (2, 1.0)


def test_minimality_runs_on_every_sensitive_column(release):
    found = shoal.red_team([release], targets=release.parent / "people.csv")
    minimality = next(one for one in found.findings if one.attack == "minimality")
    assert {one.on for one in minimality.by_column} == {"disease", "hiv"}
    assert not [why for _, why in found.skipped if "no sensitive column" in why]


def test_everything_that_did_not_run_is_listed_by_name_with_its_reason(release):
    told = run("attack", "red-team", release)
    found = shoal.red_team([release])
    assert len(found.skipped) > 7
    ran = {one.attack for one in found.findings}
    names = {name for name, _ in found.skipped}
    assert ran | names == set(load_attacks())
    for name, why in found.skipped:
        assert why.endswith(".")
        assert f"\n{name} " in told.stdout
        assert " ".join(why.split()) in told.stdout


@pytest.mark.parametrize("public", [False, True])
def test_the_report_lists_all_that_did_not_run(release, public):
    page = shoal.report(release, public=public, **({"fewest": 2} if public else {}))
    skipped = [(one["attack"], one["why"]) for one in page.data["skipped"]]
    assert len(skipped) > 6
    text = json.dumps(page.to_json(), ensure_ascii=False)
    for name, why in skipped:
        assert why
        assert " ".join(why.split()) in text
        assert name in text
    untested = next(line for line in text.split('"') if line.startswith("Not tested: "))
    assert all(name in untested for name, _ in skipped)
    assert not any(word in untested for word in (" more", "…"))


def test_methods_of_a_frontier_that_made_nothing_are_all_named(tmp_path):
    roles = shoal.Schema.of(quasi=["age"], sensitive=["disease"], identifier=["hiv"])
    names = ["mondrian", "greedy", "hilbert", "tree-order", "k-similar"]
    found = shoal.frontier(
        write(tmp_path / "people.csv"), roles, ["k-anonymity k=50"], methods=names
    )
    assert found.made == ()
    told = str(found)
    assert all(name in told for name in names)
    assert " more" not in told
