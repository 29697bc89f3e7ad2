"""Attack: Ganta's table through CSV files, and what an attack refuses to overlook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.flow.attack import attack

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "ganta_table1.json").read_text(encoding="utf-8")
)
ZIPS = shoal.prefixes()
R1_AGES = [[str(a), "<30" if a < 30 else "3*" if a < 40 else ">=40", "*"] for a in range(20, 60)]
R2_AGES = [[str(a), "<35" if a < 35 else ">=35", "*"] for a in range(20, 60)]


def schema(ages):
    return shoal.Schema(()).set(
        who=shoal.person,
        Zip=shoal.quasi(ZIPS, kind="code"),
        Age=shoal.quasi(shoal.tree(ages), kind="number"),
        Nationality=shoal.quasi(kind="category"),
        Condition=shoal.sensitive,
    )  # fmt: skip


SCHEMAS = [schema(R1_AGES), schema(R2_AGES)]


@pytest.fixture
def releases(town):
    return [
        town.write(town.folder / f"{name}.csv", GOLDEN[name], [*GOLDEN["qi"], "Condition"])
        for name in ("R1", "R2")
    ]


def targets(town, ages):
    rows = [
        {"who": f"t{age}", "Zip": "13012", "Age": str(age), "Nationality": "any"} for age in ages
    ]
    return town.write(town.folder / "targets.csv", rows)


def test_alice_has_aids(town, releases):
    found = attack("intersection", releases, targets=targets(town, [28]), schema=SCHEMAS)
    assert (found.people, found.exposed) == (1, 1)
    assert found.witness == ("t28",)
    assert found.sure == 1
    assert found.details["candidates_before"] == {3: 1}
    assert found.details["candidates_after"] == {1: 1}
    assert found.details["mean_drop"] == GOLDEN["expected"]["anon_drop"]


@pytest.mark.parametrize("case", GOLDEN["expected"]["by_age"], ids=lambda c: str(c["age"]))
def test_every_age_of_the_golden_table(town, releases, case):
    found = attack("intersection", releases, targets=targets(town, [case["age"]]), schema=SCHEMAS)
    left = len(case["intersection"])
    assert found.exposed == (left == 1)
    assert found.details["candidates_after"] == {left: 1}
    assert found.details["candidates_before"] == {min(case["EA"]): 1}
    assert found.details["mean_drop"] == case["drop"]


def test_one_schema_for_each_release_or_one_for_all(town, releases):
    with pytest.raises(shoal.UsageError, match="one schema"):
        attack("intersection", releases, targets=targets(town, [28]), schema=SCHEMAS[:1])
    backwards = schema(R2_AGES[15:] + R2_AGES[:15])
    with pytest.raises(shoal.UsageError, match="order its values differently"):
        attack(
            "intersection", releases, targets=targets(town, [28]), schema=[SCHEMAS[0], backwards]
        )


def test_labels_that_no_target_falls_under_are_read(town):
    """The targets are a few of the people: the releases have cells that none of them is in."""
    first = town.publish("k-anonymity k=4")
    second = town.publish("k-anonymity k=6", out=town.folder / "second")
    few = [{"age": row["age"], "sex": row["sex"], "zip": row["zip"], "patient": row["patient"]}
           for row in town.rows[:3]]  # fmt: skip
    for schema in (town.schema(), town.schema(sex=shoal.quasi(shoal.flat()))):
        found = attack(
            "intersection", [first, second.folder],
            targets=town.write(town.folder / "t.csv", few), schema=schema,
        )  # fmt: skip
        assert found.people == 3
        assert found.details["absent"] == 0


@pytest.mark.parametrize("hierarchy", [
    shoal.ordered(), shoal.dates(), shoal.dates("day", "decade"),
])  # fmt: skip
def test_labels_of_dates_are_read(town, hierarchy):
    schema = town.schema(born=shoal.quasi(hierarchy), age=shoal.identifier)
    releases = [
        town.publish(f"k-anonymity k={k}", schema, out=town.folder / f"r{k}") for k in (4, 7)
    ]
    few = town.write(
        town.folder / "t.csv",
        [{n: row[n] for n in ("born", "sex", "zip")} for row in town.rows[:4]],
    )
    found = attack("intersection", releases, targets=few, schema=schema)
    assert found.people == 4
    assert found.witness == ()


def test_labels_of_intervals_are_read(town):
    schema = town.schema(age=shoal.quasi(shoal.intervals(10, 20, bottom=30, top=70)))
    releases = [
        town.publish(f"k-anonymity k={k}", schema, out=town.folder / f"r{k}") for k in (4, 7)
    ]
    few = town.write(
        town.folder / "t.csv", [{n: row[n] for n in town.quasi} for row in town.rows[:2]]
    )
    assert attack("intersection", releases, targets=few, schema=schema).people == 2


def test_an_attack_that_cannot_run_raises(town, releases):
    with pytest.raises(shoal.InputError, match="two releases"):
        attack("intersection", releases[:1], targets=targets(town, [28]), schema=SCHEMAS[:1])
    rows = [{"Zip": "99999", "Age": "28", "Nationality": "any"}]
    nobody = town.write(town.folder / "n.csv", rows)
    with pytest.raises(shoal.InputError, match="No person can be found"):
        attack("intersection", releases, targets=nobody, schema=SCHEMAS)
    with pytest.raises(shoal.UsageError, match="no attack"):
        attack("magic", releases, targets=targets(town, [28]), schema=SCHEMAS)
    plain = [one.set(Condition=shoal.identifier) for one in SCHEMAS]
    with pytest.raises(shoal.UsageError, match="nothing to learn"):
        attack("intersection", releases, targets=targets(town, [28]), schema=plain)
    with pytest.raises(shoal.InputError, match="no column 'Name'"):
        attack("intersection", releases, targets=targets(town, [28]), schema=SCHEMAS, on="Name")
    rows = [{**row, "Age": "about 30"} for row in GOLDEN["R2"]]
    odd = town.write(town.folder / "odd.csv", rows)
    with pytest.raises(shoal.InputError, match="'Age' has 1 labels"):
        attack("intersection", [releases[0], odd], targets=targets(town, [28]), schema=SCHEMAS)
