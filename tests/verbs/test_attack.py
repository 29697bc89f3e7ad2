"""Attack: from files to a view, and what an attack refuses to overlook."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.adversary.context import build_context
from shoal.adversary.one_attack import wilson_interval
from shoal.core.theory.adversary_view import Needs
from shoal.verbs.attack import attack

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "ganta_table1.json").read_text(encoding="utf-8")
)
ZIPS = shoal.prefixes()
R1_AGES = [[str(a), "<30" if a < 30 else "3*" if a < 40 else ">=40", "*"] for a in range(20, 60)]
R2_AGES = [[str(a), "<35" if a < 35 else ">=35", "*"] for a in range(20, 60)]
PLAIN = shoal.Schema.of(quasi=GOLDEN["qi"], sensitive=["Condition"])


def schema(ages):
    return shoal.Schema(()).set(
        who=shoal.person,
        Zip=shoal.quasi(ZIPS, kind="code"),
        Age=shoal.quasi(shoal.tree(ages), kind="number"),
        Nationality=shoal.quasi(kind="category"),
        Condition=shoal.sensitive,
    )


SCHEMAS = [schema(R1_AGES), schema(R2_AGES)]


@pytest.fixture
def releases(town):
    return [
        town.write(town.folder / f"{name}.csv", GOLDEN[name], [*GOLDEN["qi"], "Condition"])
        for name in ("R1", "R2")
    ]


def targets(town, ages, **more):
    rows = [
        {"who": f"t{i}", "Zip": "13012", "Age": str(age), "Nationality": "any", **more}
        for i, age in enumerate(ages)
    ]
    return town.write(town.folder / "targets.csv", rows)


# One schema for each, hierarchies, labels


@pytest.mark.parametrize("roles", [SCHEMAS, PLAIN], ids=["each its own", "one for all"])
@pytest.mark.parametrize("case", GOLDEN["expected"]["by_age"], ids=lambda c: str(c["age"]))
def test_every_age_of_the_golden_table(town, releases, case, roles):
    found = attack("intersection", releases, targets=targets(town, [case["age"]]), schema=roles)
    left = len(case["intersection"])
    assert found.exposed == (left == 1)
    assert found.details["candidates_after"] == {left: 1}
    assert found.details["candidates_before"] == {min(case["EA"]): 1}
    assert found.details["mean_drop"] == case["drop"]


def test_one_schema_for_each_release_or_one_for_all(town, releases):
    with pytest.raises(shoal.UsageError, match="one schema"):
        attack("intersection", releases, targets=targets(town, [28]), schema=SCHEMAS[:1])
    backwards = schema(R2_AGES[15:] + R2_AGES[:15])
    with pytest.raises(shoal.UsageError, match="'Age' order its values differently"):
        attack(
            "intersection", releases, targets=targets(town, [28]), schema=[SCHEMAS[0], backwards]
        )
    other = SCHEMAS[1].set(Age=shoal.quasi(kind="category"))
    with pytest.raises(shoal.UsageError, match="'Age' is a number in one release and a category"):
        attack("intersection", releases, targets=targets(town, [28]), schema=[SCHEMAS[0], other])


def test_labels_that_no_target_falls_under_are_read(town):
    """The targets are a few of the people: the releases have cells that none of them is in."""
    first = town.publish("k-anonymity k=4")
    second = town.publish("k-anonymity k=6", out=town.folder / "second")
    few = [{name: row[name] for name in ("age", "sex", "zip", "patient")} for row in town.rows[:3]]
    for roles in (town.schema(), town.schema(sex=shoal.quasi(shoal.flat())), None):
        found = attack(
            "intersection",
            [first, second.folder],
            targets=town.write(town.folder / "t.csv", few),
            schema=roles,
        )
        assert found.people == 3
        assert found.details["absent"] == 0


@pytest.mark.parametrize(
    "hierarchy",
    [
        shoal.ordered(),
        shoal.dates(),
        shoal.dates("day", "decade"),
    ],
)
def test_labels_of_dates_are_read(town, hierarchy):
    roles = town.schema(born=shoal.quasi(hierarchy), age=shoal.identifier)
    releases = [
        town.publish(f"k-anonymity k={k}", roles, out=town.folder / f"r{k}") for k in (4, 7)
    ]
    few = town.write(
        town.folder / "t.csv",
        [{n: row[n] for n in ("born", "sex", "zip")} for row in town.rows[:4]],
    )
    assert attack("intersection", releases, targets=few, schema=roles).people == 4
    assert attack("intersection", releases, targets=few).people == 4


def test_labels_of_intervals_are_read(town):
    roles = town.schema(age=shoal.quasi(shoal.intervals(10, 20, bottom=30, top=70)))
    releases = [
        town.publish(f"k-anonymity k={k}", roles, out=town.folder / f"r{k}") for k in (4, 7)
    ]
    few = town.write(
        town.folder / "t.csv", [{n: row[n] for n in town.quasi} for row in town.rows[:2]]
    )
    assert attack("intersection", releases, targets=few, schema=roles).people == 2
    assert attack("intersection", releases, targets=few).people == 2


def test_what_cannot_be_read_is_refused_with_column_and_count(town, releases):
    rows = [{**row, "Age": "about 30", "Zip": f"~{i % 2}"} for i, row in enumerate(GOLDEN["R2"])]
    odd = town.write(town.folder / "odd.csv", rows)
    with pytest.raises(shoal.InputError, match=r"odd\.csv: .*'Zip' has 2 .*'Age' has 1") as error:
        attack("intersection", [releases[0], odd], targets=targets(town, [28]), schema=PLAIN)
    assert "about" not in str(error.value)


# Roles


def test_tables_of_others_borrow_the_roles_of_a_release_folder(town):
    first = town.publish("k-anonymity k=4")
    town.publish("k-anonymity k=6", out=town.folder / "second")
    other = shutil.copy(town.folder / "second" / "table.csv", town.folder / "other.csv")
    found = attack("intersection", [first.folder, other], targets=town.table)
    assert found.people == len(town.rows)
    with pytest.raises(shoal.UsageError, match="Nothing says what the columns are"):
        attack("homogeneity", [other])


def test_different_roles_are_refused(town, releases):
    first = town.publish("k-anonymity k=4")
    roles = town.schema(zip=shoal.sensitive, diagnosis=shoal.keep)
    second = town.publish("k-anonymity k=4", roles, out=town.folder / "b", accept_keep=True)
    with pytest.raises(shoal.UsageError, match="'zip' is quasi in one place and sensitive"):
        attack("intersection", [first, second], targets=town.table)
    with pytest.raises(shoal.UsageError, match="'sex' is quasi in one place and identifier"):
        attack("homogeneity", [first], schema=town.schema(sex=shoal.identifier))
    swapped = PLAIN.set(Nationality=shoal.sensitive)
    with pytest.raises(shoal.UsageError, match=r"'Nationality' is quasi .* sensitive"):
        attack("order", releases, schema=[PLAIN, swapped])


def test_columns_that_nobody_speaks_of_are_left_alone(town):
    rows = [{**row, "note": "x"} for row in town.people(30)]
    table = town.write(town.folder / "raw.csv", rows)
    roles = shoal.Schema.of(quasi=["age", "sex"], sensitive=["diagnosis"])
    assert attack("homogeneity", [table], schema=roles).people == 30


# What releases and people need not have in common, and what they must


def test_a_quasi_identifier_that_a_release_lacks_is_everything_there(town, releases):
    bare = [{k: v for k, v in row.items() if k != "Age"} for row in GOLDEN["R2"]]
    second = town.write(town.folder / "bare.csv", bare)
    people = targets(town, [28])
    view = build_context([releases[0], second], PLAIN, people).view((0, 1), Needs(people=True))
    at = [axis.name for axis in view.axes].index("Age")
    assert (view.releases[1].cells.low[:, at] == 0).all()
    assert (view.releases[1].cells.high[:, at] == view.axes[at].size - 1).all()
    found = attack("intersection", [releases[0], second], targets=people, schema=PLAIN)
    assert found.details["prior"] == [3, 5]  # all the values of the second release


def test_a_flat_quasi_identifier_that_a_release_lacks_is_everything_too(town):
    rows = town.people(40)
    columns = ["age", "sex", "diagnosis"]
    whole = town.write(town.folder / "a.csv", [{c: r[c] for c in columns} for r in rows])
    lacking = town.write(
        town.folder / "b.csv", [{c: r[c] for c in columns if c != "sex"} for r in rows]
    )
    roles = shoal.Schema.of(quasi=["age", "sex"], sensitive=["diagnosis"])
    found = attack("intersection", [whole, lacking], targets=whole, schema=roles)
    assert found.details["absent"] == 0
    assert found.exposed > 0


def test_a_quasi_identifier_that_the_targets_lack_is_not_known(town, releases):
    rows = [{"Age": "28"}, {"Age": "44"}]
    few = town.write(town.folder / "few.csv", rows)
    found = attack("intersection", releases, targets=few, schema=PLAIN)
    assert found.people == 2
    nothing = town.write(town.folder / "n.csv", [{"Condition": "AIDS"}])
    with pytest.raises(shoal.InputError, match="none of the releases' quasi-identifiers"):
        attack("intersection", releases, targets=nothing, schema=PLAIN)
    nothing = town.write(town.folder / "n.csv", [{"Shoe": "43"}])
    with pytest.raises(shoal.InputError, match="none of the releases' columns"):
        attack("intersection", releases, targets=nothing, schema=PLAIN)


def test_releases_without_a_quasi_identifier_in_common_are_refused(town, releases):
    rows = [{"Zip": row["Zip"], "Condition": row["Condition"]} for row in GOLDEN["R1"]]
    ages = [{"Age": row["Age"], "Condition": row["Condition"]} for row in GOLDEN["R2"]]
    apart = [town.write(town.folder / "a.csv", rows), town.write(town.folder / "b.csv", ages)]
    with pytest.raises(shoal.InputError, match="no quasi-identifier in common"):
        attack("intersection", apart, targets=targets(town, [28]), schema=PLAIN)
    conditions = [{"Condition": row["Condition"]} for row in GOLDEN["R2"]]
    bare = town.write(town.folder / "c.csv", conditions)
    with pytest.raises(shoal.InputError, match=r"c\.csv has none of the schema's quasi"):
        attack("intersection", [releases[0], bare], targets=targets(town, [28]), schema=PLAIN)


def test_releases_without_a_sensitive_column_in_common_are_refused(town, releases):
    renamed = [
        {**{q: row[q] for q in GOLDEN["qi"]}, "Illness": row["Condition"]} for row in GOLDEN["R2"]
    ]
    other = town.write(town.folder / "other.csv", renamed)
    roles = PLAIN.set(Illness=shoal.sensitive)
    people = targets(town, [28])
    with pytest.raises(shoal.InputError, match="share no sensitive column"):
        attack("intersection", [releases[0], other], targets=people, schema=roles)
    with pytest.raises(shoal.InputError, match=r"other\.csv has no column 'Condition'"):
        attack("intersection", [releases[0], other], targets=people, schema=roles, on="Condition")
    blank = shoal.Schema.of(quasi=GOLDEN["qi"])
    with pytest.raises(shoal.UsageError, match="nothing to learn"):
        attack("intersection", releases, targets=people, schema=blank)
    several = [{**row, "Cost": "1"} for row in GOLDEN["R1"]]
    both = [town.write(town.folder / f"{i}.csv", several) for i in "xy"]
    roles = PLAIN.set(Cost=shoal.sensitive)
    found = attack("intersection", both, targets=people, schema=roles)
    assert [one.on for one in found.by_column] == ["Condition", "Cost"]
    found = attack("intersection", both, targets=people, schema=roles, on="Cost")
    assert found.exposed == found.people == 1


def test_releases_that_share_no_person_are_refused(town, releases):
    rows = [{"Zip": "99999", "Age": "28", "Nationality": "any"}]
    nobody = town.write(town.folder / "n.csv", rows)
    with pytest.raises(shoal.InputError, match="found"):
        attack("intersection", releases, targets=nobody, schema=PLAIN)


# Values


def test_numbers_are_equal_as_numbers_and_people_s_values_are_read_like_them(town):
    rows = [{"age": str(20 + i), "sex": "f", "cost": f"{50 * (i % 3)}"} for i in range(12)]
    other = [{**row, "cost": f"{float(row['cost']):.1f}"} for row in rows]
    paths = [town.write(town.folder / "a.csv", rows), town.write(town.folder / "b.csv", other)]
    for kind in ("number", "category", None):
        roles = shoal.Schema.of(quasi=["age", "sex"]).set(cost=shoal.sensitive(kind=kind))
        known = build_context(paths, roles, paths[0])
        view = known.view((0, 1), Needs(people=True))
        assert view.sensitive is not None
        assert view.sensitive.size == 3
        assert (view.releases[0].values == view.releases[1].values).all()
        assert (view.people.values == view.releases[0].values).all()
        assert (view.releases[0].shared == view.releases[1].shared).all()


def test_kept_and_sensitive_columns_of_all_releases_are_shared(town):
    rows = [
        {**row, "ward": f"0{i % 3}", "day": "2024-01-01"} for i, row in enumerate(town.people(20))
    ]
    names = ["age", "ward", "diagnosis", "day"]
    first = town.write(town.folder / "a.csv", [{n: r[n] for n in names} for r in rows])
    second = town.write(town.folder / "b.csv", [{n: r[n] for n in names[:3]} for r in rows])
    roles = shoal.Schema.of(quasi=["age"], keep=["ward", "day"], sensitive=["diagnosis"])
    view = build_context([first, second], roles).view((0, 1), Needs(sensitive=False))
    assert sorted(view.shared) == ["diagnosis", "ward"]
    one, two = (release.shared for release in view.releases)
    assert one.shape == (2, 20)
    assert (one == two).all()


def test_classes_and_values_are_those_of_the_rows(town):
    release = town.publish("k-anonymity k=4")
    rows = town.published(release)
    view = build_context([release], None).view((0,), Needs())
    (one,) = view.releases
    for row, class_, value in zip(rows, one.class_, one.values, strict=True):
        assert {**one.labels(int(class_))} == {name: row[name] for name in town.quasi}
        assert view.format_sensitive(int(value)) == row["diagnosis"]
    assert (one.rows == np.bincount(one.class_)).all()


# People


def test_people_who_are_listed_several_times_are_one_person_each(town, releases):
    rows = [{"who": f"t{i // 2}", "Zip": "13012", "Age": str(20 + i)} for i in range(6)]
    register = town.write(town.folder / "register.csv", rows)
    found = attack("linking", releases[:1], targets=register, schema=SCHEMAS[0])
    assert found.details["register"] == 3


def test_namesakes_who_share_all_quasi_identifiers_are_refused(town, releases):
    named = [{"name": "A", "Zip": "13012", "Age": age} for age in ("28", "28", "31")]
    register = town.write(town.folder / "register.csv", named)
    with pytest.raises(shoal.InputError, match=r"1 rows are about .*name, Zip, Age"):
        attack("linking", releases[:1], targets=register, schema=PLAIN.set(name=shoal.identifier))
    namesakes = town.write(town.folder / "namesakes.csv", named[1:])
    found = attack(
        "linking", releases[:1], targets=namesakes, schema=PLAIN.set(name=shoal.identifier)
    )
    assert found.people == 2


def test_people_without_a_name_are_refused(town, releases):
    rows = [{"who": who, "Zip": "13012", "Age": "28"} for who in ("", "", "a")]
    register = town.write(town.folder / "register.csv", rows)
    with pytest.raises(shoal.InputError, match=r"2 rows of the people's table do not say whom"):
        attack("linking", releases[:1], targets=register, schema=SCHEMAS[0])


def test_the_companion_tells_which_class_is_whose(town):
    """The tester's own check: a person's row is found by the diagnosis and the cells."""
    rows = [{**row, "diagnosis": f"d{i}"} for i, row in enumerate(town.people(60))]
    table = town.write(town.folder / "known.csv", rows)
    release = town.publish("k-anonymity k=4", source=table)
    published = {row["diagnosis"]: i for i, row in enumerate(town.published(release))}
    random.Random(3).shuffle(rows)
    few = town.write(town.folder / "few.csv", [*rows[:20], {**rows[0], "patient": "nobody"}])
    for source in (release, release.folder):
        view = build_context([source], town.schema(), few).view((0,), Needs(people=True))
        (one,) = view.releases
        own = [one.class_[published[row["diagnosis"]]] for row in rows[:20]]
        assert one.true_class.tolist() == [*own, -1]
    alone = build_context([release.path], town.schema(), few).view((0,), Needs(people=True))
    assert alone.releases[0].true_class is None  # a file alone has no companion
    found = attack(
        "intersection", [release] * 2, targets=few, schema=town.schema(), location="assumed"
    )
    assert found.people == 20


def test_rows_in_another_order_are_not_what_was_published(town):
    release = town.publish("k-anonymity k=4")
    lines = release.path.read_text(encoding="utf-8").splitlines(keepends=True)
    release.path.write_text("".join([lines[0], *lines[:0:-1]]), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="was changed after it was published"):
        build_context([release], town.schema(), town.table)
    view = build_context([release.path], town.schema(), town.table).view((0,), Needs(people=True))
    assert view.releases[0].true_class is None


def test_a_sample_has_an_interval_and_keeps_row_numbers(town):
    first = town.publish("k-anonymity k=4")
    second = town.publish("k-anonymity k=6", out=town.folder / "second")
    given = {"targets": town.table, "schema": town.schema()}
    everybody = attack("intersection", [first, second], **given)
    assert everybody.interval is None
    some = attack("intersection", [first, second], sample=30, seed=4, **given)
    assert some.people == 30
    assert some.interval == pytest.approx(wilson_interval(some.exposed, 30))
    low, high = some.interval
    assert low <= some.rate <= high
    again = attack("intersection", [first, second], sample=30, seed=4, **given)
    assert again == some
    assert set(some.worst) <= set(range(1, len(town.rows) + 1))
    many = attack("intersection", [first, second], sample=10_000, **given)
    assert replace(many, interval=None) == everybody
    with pytest.raises(shoal.UsageError, match="no targets to sample"):
        attack("homogeneity", [first], sample=5)
    with pytest.raises(shoal.UsageError, match="at least one person"):
        attack("intersection", [first, second], sample=0, **given)


def test_a_control_group_is_attacked_as_well(town, releases):
    everybody = targets(town, [28, 44, 45, 28])
    away = town.write(
        town.folder / "away.csv",
        [{"Zip": zip_, "Age": "28", "Nationality": "any"} for zip_ in ("13012", "99999", "99998")],
    )
    given = {"targets": everybody, "schema": PLAIN}
    assert attack("intersection", releases, **given).control is None
    found = attack("intersection", releases, control=away, **given)
    assert found.control == 1 / 3  # of all three, though one alone could be in both
    truth = town.write(
        town.folder / "truth.csv",
        [{"Zip": "13012", "Age": "28", "Nationality": "any", "Condition": "Flu"}],
    )
    assert attack("intersection", releases, control=truth, **given).control == 0  # it is wrong
    nowhere = town.write(
        town.folder / "nowhere.csv", [{"Zip": "99999", "Age": "28", "Nationality": "x"}]
    )
    assert attack("intersection", releases, control=nowhere, **given).control == 0
    bare = town.write(town.folder / "bare.csv", [{"Zip": "13012"}])
    with pytest.raises(shoal.InputError, match=r"control group lacks .*Age, Nationality"):
        attack("intersection", releases, control=bare, **given)


def test_a_control_group_that_cannot_be_used_costs_no_finding(town, releases):
    bare = town.write(town.folder / "bare.csv", [{"Zip": "13012"}])
    with pytest.raises(shoal.InputError, match="control group lacks"):
        shoal.red_team(releases, targets=targets(town, [28]), schema=PLAIN, control=bare)


def test_what_the_people_s_table_lacks_is_said(town, releases):
    everybody = targets(town, [28, 44])
    whole = attack("intersection", releases, targets=everybody, schema=PLAIN)
    assert "not_looked_up" not in whole.details
    some = town.write(town.folder / "some.csv", [{"Zip": "13012", "Age": "28"}])
    found = attack("intersection", releases, targets=some, schema=PLAIN)
    assert found.details["not_looked_up"] == {"columns": ["Nationality"]}
    assert any("does not know Nationality" in one for one in found.assumptions)
    near = town.write(town.folder / "near.csv", [{"ZIP": "13012", "Age": "28"}])
    with pytest.raises(shoal.InputError, match="'Zip', and the people's table has 'ZIP'"):
        attack("intersection", releases, targets=near, schema=PLAIN)


def test_empty_cells_of_others_are_said_to_be_suppressed(town):
    rows = [{"age": "", "d": "flu"}, {"age": "30", "d": "flu"}, {"age": "30", "d": "cold"}]
    table = town.write(town.folder / "others.csv", rows)
    people = town.write(town.folder / "people30.csv", [{"age": "30"}])
    schema = shoal.Schema.of(quasi=["age"], sensitive=["d"])
    found = attack("linking", table, targets=people, schema=schema)
    assert found.details["empty_cells"] == {"others.csv: age": 1}
    assert found.details["candidates"] == {3: 1}
    assert any("1 empty cells" in one for one in found.assumptions)
    assert found.releases == ("others.csv",)


def test_the_interval_is_wilson_s():
    assert wilson_interval(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)


# Names, needs, options


def test_what_an_attack_needs_is_asked_for(town, releases):
    with pytest.raises(shoal.UsageError, match="no attack 'magic'"):
        attack("magic", releases, schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="did you mean 'intersection'"):
        attack("intersecton", releases, schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="needs two releases"):
        attack("intersection", releases[:1], targets=targets(town, [28]), schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="complementary needs two releases of one table"):
        attack("complementary", releases[0], schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="order takes two releases, and 3 are given"):
        attack("order", [*releases, releases[0]], schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="nobody says which"):
        attack("intersection", releases, schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="how the release was made"):
        attack("minimality", releases[:1], targets=targets(town, [28]), schema=PLAIN)
    with pytest.raises(shoal.UsageError, match="no option 'speed'"):
        attack("intersection", releases, targets=targets(town, [28]), schema=PLAIN, speed=2)
    with pytest.raises(shoal.UsageError, match="leave --over-time out"):
        attack("complementary", releases, schema=PLAIN, relation="over time")
    with pytest.raises(shoal.UsageError, match="no relation 'cousins'"):
        attack("order", releases, schema=PLAIN, relation="cousins")
    with pytest.raises(shoal.InputError, match="no file or folder"):
        attack("homogeneity", [town.folder / "gone.csv"], schema=PLAIN)


def test_tables_in_memory_are_releases_too(town):
    rows = town.people(30)
    columns = {n: [row[n] for row in rows] for n in ("age", "sex", "diagnosis")}
    roles = shoal.Schema.of(quasi=["age", "sex"], sensitive=["diagnosis"])
    found = attack("linking", pa.table(columns), targets=pa.table(columns), schema=roles)
    frame = shoal.open(pa.table(columns))
    assert attack("linking", frame, targets=frame, schema=roles).exposed == found.exposed > 0
    frame.close()


def test_minimality_knows_the_method_of_a_release_folder(town):
    release = town.publish("k-anonymity k=4 & distinct-diversity l=2")
    found = attack("minimality", [release], targets=town.table, schema=town.schema(), worlds=20)
    assert found.people > 0
