"""A release after others: what they have published is known, and judged like a quasi-identifier."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import shoal
from shoal.cli.publish import _describe_after as told_after
from shoal.cli.publish import _describe_based_on as told_based
from shoal.cli.publish import command
from shoal.data import bundled

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/sweeney_fig4_5.json").read_text("utf-8"))
SWEENEY = shoal.Schema.of(quasi=GOLDEN["qi"], sensitive=GOLDEN["sensitive"])
GT1, GT3 = (bundled.path(f"sweeney_fig4_{name}.csv") for name in ("gt1", "gt3"))


def test_sweeney_s_second_table_falls_with_the_first():
    expected = GOLDEN["expected"]
    alone = shoal.verify(GT3, SWEENEY, "k-anonymity k=2")
    assert alone.holds
    assert alone.judgements[0].reached == expected["k_GT3"]
    together = shoal.verify(GT3, SWEENEY, "k-anonymity k=2", after=[GT1])
    assert not together.holds
    k = expected["defence_QI_plus_Problem"]["k_GT3_over_QI_plus_Problem"]
    assert together.judgements[0].reached == k == 1


def test_a_table_without_the_linking_column_adds_nothing(town):
    rows = [{name: row[name] for name in GOLDEN["qi"]} for row in GOLDEN["GT1"]]
    earlier = town.write(town.folder / "gt1.csv", rows)
    assert shoal.verify(GT3, SWEENEY, "k-anonymity k=2", after=earlier).holds


def test_what_an_earlier_release_has_is_generalised(town):
    first = town.publish()
    release = town.publish(out=town.folder / "second", after=[first.folder])
    quasi = (*town.quasi, "diagnosis")
    assert town.sizes(release, quasi)[0] >= 4
    assert town.manifest(release)["columns"]["diagnosis"] == "quasi"
    assert any(row["diagnosis"].startswith(("{", "*")) for row in town.published(release))
    assert shoal.verify(release.folder).holds
    assert shoal.verify(release.folder, after=first).holds


def test_a_careless_second_release_does_not_verify_after_the_first(town):
    first = town.publish("k-anonymity k=2")
    second = town.publish("k-anonymity k=2", out=town.folder / "second", relaxed=True)
    assert shoal.verify(second).holds
    found = shoal.verify(second, after=[first])
    sizes = Counter(tuple(row.values()) for row in town.published(second))
    assert found.judgements[0].reached == min(sizes.values()) == 1
    assert not found.holds
    assert found.classes == len(sizes)


def test_a_release_that_holds_after_another_must_still_be_the_published_one(town):
    first = town.publish()
    second = town.publish("k-anonymity k=2", out=town.folder / "second", after=first)
    assert shoal.verify(second, after=[first]).holds
    lines = second.path.read_text(encoding="utf-8").splitlines(keepends=True)
    second.path.write_text("".join([*lines, lines[1], lines[1]]), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="changed after it was published"):
        shoal.verify(second, after=[first])


def test_kept_columns_that_are_public_are_judged_and_need_not_be_accepted(town):
    first = town.publish(schema=town.schema(born=shoal.keep), accept_keep=True)
    schema = town.schema(born=shoal.keep, diagnosis=shoal.identifier)
    release = town.publish(schema=schema, out=town.folder / "second", after=first)
    assert town.manifest(release)["columns"]["born"] == "quasi"
    assert town.sizes(release, (*town.quasi, "born"))[0] >= 4


def test_the_column_s_own_hierarchy_is_used(town):
    tree = shoal.tree({"lungs": ["cold", "flu", "asthma"], "heart": ["angina"]})
    schema = town.schema(diagnosis=shoal.sensitive(tree))
    first = town.publish(schema=schema)
    release = town.publish(schema=schema, out=town.folder / "second", after=[first])
    labels = {row["diagnosis"] for row in town.published(release)}
    assert "lungs" in labels
    assert labels <= {"lungs", "angina", "cold", "flu", "asthma", "*"}


def test_columns_of_other_roles_stay_what_they_are(town):
    """The original table as the earlier release: names and people are not published for that."""
    release = town.publish(after=town.table)
    assert set(town.manifest(release)["columns"]) == {*town.quasi, "diagnosis"}


@pytest.mark.parametrize("rule", ["distinct-diversity l=2", "t-closeness t=0.5 on=diagnosis"])
def test_a_rule_about_a_column_that_is_public_is_refused(town, rule):
    first = town.publish()
    with pytest.raises(shoal.UsageError, match=r"quasi-identifiers now: diagnosis") as error:
        town.publish(f"k-anonymity k=2 & {rule}", out=town.folder / "second", after=first)
    assert "--based-on" in error.value.hint
    with pytest.raises(shoal.UsageError, match="diagnosis"):
        shoal.verify(first, rule=rule, after=first)


def test_a_rule_about_another_column_is_judged(town):
    first = town.publish(schema=town.schema(hospital=shoal.identifier))
    schema = town.schema(hospital=shoal.sensitive)
    release = town.publish(
        "distinct-diversity l=2 on=hospital", schema, out=town.folder / "second", after=first
    )
    assert town.manifest(release)["columns"]["hospital"] == "sensitive"
    rows = town.published(release)
    classes = {tuple(row[n] for n in (*town.quasi, "diagnosis")) for row in rows}
    for labels in classes:
        here = [r for r in rows if tuple(r[n] for n in (*town.quasi, "diagnosis")) == labels]
        assert {r["hospital"] for r in here} == {"North", "South"}


def test_the_two_defences_are_alternatives(town):
    first = town.publish()
    with pytest.raises(shoal.UsageError, match="alternatives"):
        town.publish(out=town.folder / "second", based_on=first, after=[first])


def test_a_table_of_something_else_is_an_error(town):
    other = town.write(town.folder / "other.csv", [{"colour": "red"}, {"colour": "blue"}])
    with pytest.raises(shoal.InputError, match="no column of this one"):
        town.publish(after=[other])
    with pytest.raises(shoal.InputError, match="no file or folder"):
        town.publish(after=[town.folder / "nowhere"])
    assert town.names() == {"people.csv", "other.csv"}


@pytest.mark.parametrize("name", ["Diagnosis", "diag_nosis", "DIAG NOSIS"])
def test_a_column_of_nearly_the_same_name_is_refused(town, name):
    """It may be the same, and would be published as it is, unnoticed."""
    first = town.publish()
    rows = [{name if k == "diagnosis" else k: v for k, v in row.items()} for row in town.rows]
    table = town.write(town.folder / "renamed.csv", rows)
    roles = shoal.Schema(tuple(c for c in town.schema().columns if c.name != "diagnosis"))
    for role in (shoal.sensitive, shoal.keep):
        with pytest.raises(shoal.UsageError, match=f"nearly the same name.*{name}"):
            town.publish(
                schema=roles.set({name: role}),
                source=table,
                out=town.folder / "second",
                after=first,
                accept_keep=True,
            )
    assert not (town.folder / "second").exists()


def test_the_publisher_sees_what_was_public_already(town):
    first = town.publish()
    assert "public_before" not in first.private
    second = town.publish(out=town.folder / "second", after=first)
    assert second.private["public_before"] == ["diagnosis"]
    schema = town.schema(diagnosis=shoal.identifier, born=shoal.keep)
    third = town.publish(
        schema=schema, out=town.folder / "third", after=[first, second], accept_keep=True
    )
    assert third.private["public_before"] == []


def test_the_command_line_says_what_was_public_and_how_strong_each_defence_is():
    assert told_after(["diagnosis", "job"]).endswith("generalised too: diagnosis, job.")
    assert "no column" in told_after([])
    counts = {f"rows_{what}": 5 for what in ("frozen", "widened", "new", "gone")}
    plain, warned = (told_based(counts | {"rows_new_few": few}) for few in (0, 3))
    assert "Base the next release on this one" in plain[-1] == warned[-1]
    assert len(plain) == 2
    assert warned[1].startswith("Warning: 3 new rows")
    help_ = {option.name: option.help for option in command.params}
    assert "--based-on is stronger" in help_["after"]
