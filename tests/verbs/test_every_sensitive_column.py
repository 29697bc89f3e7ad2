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
    by_attack = {one.attack: {each.on for each in one.per_column} for one in found.findings}
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


def test_the_forecast_is_the_worst_of_every_column(standing):
    found = shoal.forecast(standing / "release", repeats=2)
    assert {one.on for one in found.by_column} == set(SENSITIVE)
    assert found.risk == max(one.risk for one in found.by_column)
    assert found.risk == shoal.forecast(standing / "release", on=found.on, repeats=2).risk
    assert found.on in found.sentence
    told = run("forecast", standing / "release", "--repeats", 2, "--limit", "0")
    assert told.exit_code == 4
    assert all(f"\n{column} " in told.stdout for column in SENSITIVE)


def test_a_rule_of_others_about_one_column_does_not_stop_the_forecast_of_another(standing):
    rule = "k-anonymity k=5 & distinct-diversity l=2 on=ward"
    found = shoal.forecast(standing / "release", rule=rule, repeats=2)
    rules = {one.on: one.settings["rule"] for one in found.by_column}
    assert rules == {**dict.fromkeys(SENSITIVE, "k-anonymity k=5"), "ward": rule}
    with pytest.raises(shoal.UsageError, match="another column than 'hiv'"):
        shoal.forecast(standing / "release", rule=rule, on="hiv", repeats=2)


def test_a_validation_tries_every_column(standing):
    asked = {"overlaps": [20], "ks": [5], "ls": [2], "size": 100, "seeds": 1, "repeats": 2}
    found = shoal.validate_forecast(standing / "people.csv", ROLES, **asked)
    assert {one.on for one in found.by_column} == set(SENSITIVE)
    errors = [one.scores["simulation"].mae for one in found.by_column]
    assert errors == sorted(errors, reverse=True)
    assert found.on == found.by_column[0].on


def test_the_frontier_is_of_the_column_guessed_right_most_often(standing):
    found = shoal.frontier(
        standing / "people.csv", ROLES, ["k-anonymity k=5"], methods="mondrian", risk="value"
    )
    (point,) = found.points
    assert set(point.by_column) == set(SENSITIVE)
    rates = {name: one["risk_value"] for name, one in point.by_column.items()}
    assert point.risk_value == max(rates.values()) == rates[point.column]
    alone = shoal.frontier(
        standing / "people.csv", ROLES, ["k-anonymity k=5"], methods="mondrian", on="disease"
    )
    assert alone.points[0].risk_value == rates["disease"]
    usual = shoal.frontier(standing / "people.csv", ROLES, methods="mondrian", strengths=[3])
    assert all(f"on={name}" in usual.points[0].rule for name in SENSITIVE)


def test_both_schools_are_compared_on_every_column(standing):
    found = shoal.side_by_side(
        standing / "people.csv", ROLES, rules=["k-anonymity k=5"], forms=[], overlap=50, seeds=1
    )
    assert {one.column for one in found.by_column} == set(SENSITIVE)
    added = [one.most_added for one in found.by_column]
    assert found.column == found.by_column[0].column
    assert added == sorted(added, reverse=True)


@pytest.fixture(scope="module")
def page(standing):
    return shoal.report(standing / "release", original=standing / "people.csv")


def text_of(page) -> str:
    return json.dumps(page.to_json(), ensure_ascii=False)


def test_the_report_tells_each_column_and_its_headline_is_the_worst(page):
    by_column = {one["on"]: one for one in page.data["sensitive"]}
    assert set(by_column) == set(SENSITIVE)
    rates = [one["rate"] for one in page.data["sensitive"]]
    assert rates == sorted(rates, reverse=True)
    assert page.data["sensitive"][0]["rate"] == max(one["rate"] for one in page.data["findings"])
    worst = page.data["findings"][0]
    assert worst["on"] in page.lead
    assert "Each sensitive column" in text_of(page)


def test_no_attack_is_called_certain_of_nobody_where_one_column_is_given_away(page):
    """The headline of certainty is that of the column with the least doubt."""
    certain = [
        one["on"]
        for found in page.data["findings"]
        for one in found["by_column"]
        if one["sure"] >= 1 and one["exposed"]
    ]
    assert "ward" in certain
    assert "No attack is certain about anybody" not in text_of(page)


def test_what_no_requirement_is_about_is_in_the_headline_and_in_what_remains(page):
    assert page.data["unjudged"] == ["hiv", "income", "ward"]
    assert "NO requirement is about hiv, income and ward" in page.lead
    remains = next(one for one in page.sections if one.heading == "Mitigation")
    assert "No requirement is about hiv, income and ward" in str(remains)
    assert "Without a requirement" in text_of(page)


def test_the_public_report_tells_each_column_in_rounded_numbers(standing):
    public = shoal.report(standing / "release", original=standing / "people.csv", public=True)
    assert {one["on"] for one in public.data["sensitive"]} == set(SENSITIVE)
    assert "NO requirement is about hiv, income and ward" in public.lead
    assert all(
        set(one) == {"on", "judged", "attack", "exposed"} for one in public.data["sensitive"]
    )
    sure = [key for one in public.data["sensitive"] for key in one if key in ("sure", "rate")]
    assert sure == []


def test_on_narrows_the_report_and_it_says_what_was_not_tried(standing):
    made = shoal.report(standing / "release", on=["disease", "hiv"])
    learnt = {one["on"] for found in made.data["findings"] for one in found["by_column"]}
    assert learnt == {"disease", "hiv"}
    assert "No attack tried to learn income and ward" in text_of(made)


def test_every_attack_that_did_not_run_is_named_with_its_reason(page):
    told = text_of(page)
    assert " more" not in next(line for line in told.split('"') if line.startswith("Not tested: "))
    for one in page.data["skipped"]:
        assert one["attack"] in told
        assert one["why"]


@pytest.mark.parametrize("rule", ["k-anonymity k=5", RULE])
def test_publish_says_loudly_which_columns_no_requirement_is_about(standing, tmp_path, rule):
    roles = [f"--sensitive={name}" for name in SENSITIVE] + [f"--quasi={name}" for name in QUASI]
    line = ("publish", standing / "people.csv", "--identifier", "id", *roles, "-m", rule)
    told = run(*line, "-o", tmp_path / "release")
    bare = [name for name in SENSITIVE if f"on={name}" not in rule]
    assert f"WARNING: no requirement is about {', '.join(bare)}" in told.stdout
    plain = json.loads(run(*line, "--dry-run", "--json").stdout)
    assert plain["unjudged"] == bare
    assert any("no requirement is about" in note.lower() for note in plain["notes"])
