"""Every verb looks at every sensitive column; its headline is the worst of all of them."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main

QUASI = ("age", "sex", "zip")
SENSITIVE = ("disease", "hiv", "income", "ward")
RULE = "k-anonymity k=5 & distinct-diversity l=2 on=disease"


def write_table(path: Path, rows: int, seed: int = 7) -> Path:
    """People with four sensitive columns, of which age nearly gives away the ward."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", *QUASI, *SENSITIVE))
        for i in range(rows):
            age = rng.randrange(18, 90)
            ward = "north" if age < 40 else rng.choice(("east", "south", "west"))
            hiv = "positive" if rng.random() < 0.1 else "negative"
            disease = rng.choice(("flu", "cold", "asthma", "ulcer"))
            income = rng.choice(("low", "middle", "high"))
            zip_code = f"13{rng.randrange(12):03d}"
            writer.writerow((i, age, rng.choice("fm"), zip_code, disease, hiv, income, ward))
    return path


ROLES = shoal.Schema.of(identifier=["id"], quasi=list(QUASI), sensitive=list(SENSITIVE))


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    table = write_table(folder / "people.csv", 300)
    shoal.publish(table, ROLES, RULE, out=folder / "release")
    return folder


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def count_in_homogeneous_classes(folder: Path, column: str) -> int:
    """An oracle in plain Python: the rows of classes with one value."""
    classes = defaultdict(list)
    for row in read(folder / "release" / "table.csv"):
        classes[tuple(row[name] for name in QUASI)].append(row[column])
    return sum(len(values) for values in classes.values() if len(set(values)) == 1)


def run(*arguments: object):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_homogeneity_is_counted_on_each_column_and_the_worst_is_the_headline(standing):
    found = shoal.attack("homogeneity", [standing / "release"])
    counted = {column: count_in_homogeneous_classes(standing, column) for column in SENSITIVE}
    assert {one.on: one.exposed for one in found.by_column} == counted
    assert counted["ward"] > counted["disease"]
    assert found.exposed == max(counted.values())
    assert counted[found.on] == found.exposed
    assert found.on in found.sentence


def test_linking_learns_every_sensitive_column(standing):
    found = shoal.attack("linking", [standing / "release"], targets=standing / "people.csv")
    assert [one.on for one in found.by_column] == list(SENSITIVE)
    ward = next(one for one in found.by_column if one.on == "ward")
    alone = shoal.attack(
        "linking", [standing / "release"], targets=standing / "people.csv", on="ward"
    )
    assert ward.exposed == alone.exposed > 0
    assert found.exposed == max(one.exposed for one in found.by_column)


def test_on_narrows_an_attack_to_one_column_or_to_several(standing):
    release = [standing / "release"]
    one = shoal.attack("homogeneity", release, on="income")
    assert (one.on, one.by_column) == ("income", ())
    two = shoal.attack("homogeneity", release, on=["income", "hiv"])
    assert [each.on for each in two.by_column] == ["income", "hiv"]
    told = run("attack", "homogeneity", *release, "--on", "income", "--on", "hiv", "--json")
    assert [each["on"] for each in json.loads(told.stdout)["by_column"]] == ["income", "hiv"]


def test_one_sensitive_column_has_no_list_by_column(standing):
    roles = shoal.Schema.of(
        identifier=["id", "hiv", "income", "ward"], quasi=list(QUASI), sensitive=["disease"]
    )
    out = standing / "single"
    shoal.publish(standing / "people.csv", roles, "k-anonymity k=5", out=out)
    told = shoal.attack("homogeneity", [out]).to_json()
    assert (told["on"], told["by_column"], told["not_evaluated"]) == ("disease", [], [])


def test_the_limit_is_held_against_the_worst_column(standing):
    release = standing / "release"
    worst = shoal.attack("homogeneity", [release]).rate
    safe = shoal.attack("homogeneity", [release], on="disease").rate
    assert safe == 0 < worst
    assert run("attack", "homogeneity", release, "--on", "disease", "--limit", "0").exit_code == 0
    assert run("attack", "homogeneity", release, "--limit", "0").exit_code == 4
    people = standing / "people.csv"
    assert run("attack", "red-team", release, "--targets", people, "--limit", "0").exit_code == 4


def test_the_red_team_tells_every_attack_on_every_column(standing):
    release, people = standing / "release", standing / "people.csv"
    found = shoal.red_team([release], targets=people)
    by_attack = {one.attack: {each.on for each in one.each} for one in found.findings}
    assert set(by_attack) == {"homogeneity", "skewness", "linking", "minimality"}
    assert all(columns == set(SENSITIVE) for columns in by_attack.values())
    assert {one.on for one in found.columns} == set(SENSITIVE)
    assert found.columns[0].rate == found.rate
    told = run("attack", "red-team", release, "--targets", people)
    assert told.exit_code == 0
    assert "Exposed, by sensitive column:" in told.stdout
    assert all(f"\n{column}" in told.stdout for column in SENSITIVE)


def test_a_column_that_cannot_be_attacked_is_named_with_its_reason(standing, tmp_path):
    rows = read(standing / "release" / "table.csv")
    path = tmp_path / "foreign.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([{**row, "hiv": "*"} for row in rows])
    roles = shoal.Schema.of(quasi=list(QUASI), sensitive=["disease", "hiv"])
    found = shoal.attack("homogeneity", [path], schema=roles)
    assert [one.on for one in found.by_column] == ["disease"]
    ((column, reason),) = found.not_evaluated
    assert column == "hiv"
    assert "suppressed" in reason
    assert "Not evaluated: hiv" in found.sentence
    everything = shoal.red_team([path], schema=roles)
    assert "suppressed" in dict(everything.skipped)["homogeneity on hiv"]


def test_knowledge_about_a_column_is_asked_of_that_column(standing):
    release = [standing / "release"]
    value = read(standing / "release" / "table.csv")[0]["ward"]
    found = shoal.attack("background", release, about=shoal.Atom("#1", "ward", value))
    assert (found.on, found.by_column) == ("ward", ())
    assert {one.on for one in shoal.attack("background", release).by_column} == set(SENSITIVE)
