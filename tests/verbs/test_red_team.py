"""Red team: all attacks that apply, the worst first; the others say why they did not run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.attacks import load_attacks
from shoal.core.errors import UsageError
from shoal.core.release import Finding
from shoal.verbs.red_team import RedTeam, measure_harm, red_team


@pytest.fixture(scope="module")
def pair(standing):
    return [standing.publish(f"k-anonymity k={k}", out=standing.folder / f"r{k}") for k in (3, 5)]


def names(found):
    return {one.attack for one in found.findings}


def test_without_targets_only_what_needs_none_runs(pair):
    found = red_team(pair[:1])
    assert names(found) == {"coalition", "homogeneity", "skewness"}
    reasons = dict(found.skipped)
    assert names(found) | set(reasons) == set(load_attacks())
    assert "--targets" in reasons["linking"]
    assert "second release" in reasons["order"]
    assert "second release" in reasons["complementary"]


SUPPOSED = {"background", "worst-pair"}
OVER_TIME = {"backward", "cross", "forward", "temporal"}


def test_with_everything_all_run(town, pair):
    found = red_team(
        pair, targets=town.table, schema=town.schema(), relation="same table", worlds=20
    )
    assert names(found) == set(load_attacks()) - SUPPOSED - OVER_TIME
    skipped = dict(found.skipped)
    assert "--pieces" in skipped.pop("background")  # it supposes knowledge, and none was named
    assert "--l" in skipped.pop("worst-pair")
    assert skipped == {
        name: f"{name} needs an earlier and a later release of one table. If they are, add "
        "--over-time."
        for name in OVER_TIME
    }
    over_time = red_team(pair, targets=town.table, schema=town.schema(), relation="over time")
    assert "temporal" in names(over_time)
    assert "complementary" in dict(over_time.skipped)


def test_the_largest_share_of_people_comes_first(town, pair):
    found = red_team(pair, targets=town.table, schema=town.schema())
    ranks = [(one.rate, measure_harm(one)) for one in found.findings]
    assert ranks == sorted(ranks, reverse=True)
    assert min(ranks[0]) > 0
    assert found.rate == found.findings[0].rate == max(one.rate for one in found.findings)


def finding(name="a", exposed=10, sure=1.0, guessing=0.25, control=None):
    return Finding(
        attack=name,
        people=20,
        exposed=exposed,
        sure=sure,
        guessing=guessing,
        sentence="s",
        defence="d",
        control=control,
    )


def test_harm_is_what_an_attack_adds():
    assert measure_harm(finding()) == 0.5 * 0.75
    assert measure_harm(finding(control=0.5)) == 0
    assert measure_harm(finding(control=0.4)) == pytest.approx(0.1 * 0.75)
    assert measure_harm(finding(sure=0.2)) == 0


def test_each_release_and_each_pair_is_tried(town, pair):
    third = town.publish("k-anonymity k=8", out=town.folder / "r8")
    found = red_team([*pair, third], targets=town.table, schema=town.schema())
    orders = [one.sentence.partition(":")[0] for one in found.findings if one.attack == "order"]
    assert sorted(orders) == ["r3 and r5", "r3 and r8", "r5 and r8"]
    alone = {
        one.sentence.partition(":")[0]: one for one in found.findings if one.attack == "homogeneity"
    }
    assert set(alone) == {"r3", "r5", "r8"}
    assert [alone[name].table for name in ("r3", "r5", "r8")] == [
        "release 1",
        "release 2",
        "release 3",
    ]
    assert sum(one.attack == "intersection" for one in found.findings) == 1


def test_an_attack_that_this_data_gives_nothing_is_skipped_with_its_reason(town, pair):
    fewer = town.write(town.folder / "fewer.csv", town.rows[:40])
    other = town.publish("k-anonymity k=3", source=fewer, out=town.folder / "fewer")
    found = red_team([pair[0], other])
    assert "80 and 40 rows" in dict(found.skipped)["order"]
    nobody = town.write(
        town.folder / "n.csv", [{"age": "55", "sex": "x", "zip": "99999", "patient": "P"}]
    )
    found = red_team(pair, targets=nobody, schema=town.schema())
    assert {"intersection", "linking"} <= set(dict(found.skipped))
    assert names(found) == {"coalition", "homogeneity", "order", "skewness"}


def test_errors_of_reading_are_not_swallowed(town, pair):
    rows = [{**row, "age": "some"} for row in town.published(pair[0])]
    odd = town.write(town.folder / "odd.csv", rows)
    with pytest.raises(shoal.InputError, match=r"odd\.csv: .*'age'"):
        red_team([pair[0], odd])


def test_where_nothing_can_run_that_is_an_error(town):
    rows = [{"age": row["age"]} for row in town.rows]
    bare = town.write(town.folder / "bare.csv", rows)
    with pytest.raises(shoal.ShoalError, match="No attack can run"):
        red_team([bare], schema=shoal.Schema.of(quasi=["age"]))


def test_every_sensitive_column_is_attacked_unless_one_is_chosen(town):
    roles = town.schema(sex=shoal.sensitive)
    release = town.publish("k-anonymity k=4", roles)
    found = red_team([release])
    assert {one.on for one in found.columns} == {"sex", "diagnosis"}
    assert {one.on for one in red_team([release], on="sex").columns} == {"sex"}


def test_options_go_to_the_attacks_that_have_them(town, pair):
    given = {"targets": town.table, "schema": town.schema()}
    found = red_team(pair, location="assumed", **given)
    (one,) = (one for one in found.findings if one.attack == "intersection")
    assert one.details["location"] == "assumed"
    with pytest.raises(shoal.UsageError, match="red-team has no option 'speed'"):
        red_team(pair, speed=3, **given)


def test_what_was_asked_of_one_attack_is_not_lost_among_the_others(town, pair):
    value = town.published(pair[0])[0]["diagnosis"]
    with pytest.raises(shoal.UsageError, match="Nobody says who"):
        red_team(pair[:1], about=shoal.Atom("Nobody", "diagnosis", value))
    with pytest.raises(shoal.UsageError, match="minimality"):
        red_team(pair, worlds=20)  # it needs people
    assert "background" in dict(red_team(pair, about=None).skipped)


def test_a_sample_and_a_control_group_complete_the_findings_about_people(town, pair):
    away = town.write(town.folder / "away.csv", town.people(30, seed=9))
    roles = town.schema()
    found = red_team(
        pair, targets=town.table, control=away, sample=40, schema=roles, relation="same table"
    )
    for one in found.findings:
        about_people = one.attack in ("intersection", "linking")
        assert (one.interval is not None) == about_people
        assert (one.control is not None) == about_people


def test_it_is_an_attack_by_name_and_reads_as_json(town, pair):
    given = {"targets": town.table, "schema": town.schema()}
    found = shoal.attack("red-team", pair, **given)
    assert isinstance(found, RedTeam)
    assert found == shoal.red_team(pair, **given)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["attack"] == "red-team"
    assert [one["attack"] for one in told["findings"]] == [one.attack for one in found.findings]
    assert all(one["harm"] >= 0 for one in told["findings"])
    assert {one["attack"] for one in told["skipped"]} == {"complementary", *SUPPOSED, *OVER_TIME}
    assert "complementary: did not run." in str(found)


def frames(*columns):
    return [pd.DataFrame(one) for one in columns]


def test_what_one_attack_cannot_do_with_this_data_does_not_stop_the_others():
    """Nobody knows which of two overlapping classes holds a person; the rest can run."""
    one = {"zip": ["[1-3]", "[2-4]", "[1-3]", "[2-4]"], "d": list("abcd")}
    (table, people) = frames(one, {"zip": [2, 3]})
    schema = shoal.Schema.of(quasi=["zip"], sensitive=["d"])
    given = {"targets": people, "schema": schema}
    found = red_team([table, table], location="assumed", **given)
    assert {"homogeneity", "linking", "order", "skewness"} <= names(found)
    assert "not known" in dict(found.skipped)["intersection"]
    with pytest.raises(shoal.UsageError, match="not known"):
        shoal.attack("intersection", [table, table], location="assumed", **given)


@pytest.mark.parametrize(
    "options", [{"location": "nearby"}, {"sure": 0}, {"worlds": 0}, {"classes": "many"}]
)
def test_an_option_that_no_data_would_allow_is_refused_before_anything_is_read(options):
    for name in ("red-team", "intersection", "linking", "minimality", "skewness"):
        with pytest.raises(shoal.UsageError):
            shoal.attack(name, ["no such file"], **options)
    with pytest.raises(shoal.UsageError):
        red_team(["no such file"], **options)


def test_true_values_that_no_release_has_are_wrong_guesses():
    """One person's value was written otherwise, one person's is not known."""
    rows = {"zip": ["1", "1", "2", "2", "3", "3"], "d": ["flu"] * 6}
    people = {"zip": [1, 2, 3], "d": ["flu", "gout", None]}
    table, targets = frames(rows, people)
    schema = shoal.Schema.of(quasi=["zip"], sensitive=["d"])
    found = shoal.attack("intersection", [table, table], targets=targets, schema=schema)
    assert (found.exposed, found.details["right"], found.details["exposed_known"]) == (3, 1, 2)
    found = shoal.attack("linking", [table], targets=targets, schema=schema)
    assert (found.exposed, found.details["settled_right"]) == (3, 1)
    assert found.details["settled_known"] == 2


def test_a_microaggregated_release_says_that_people_were_not_found():
    ages = np.sort(np.random.default_rng(0).integers(20, 60, 60))
    values = np.random.default_rng(1).choice(list("abcdef"), 60)
    table, people = frames(
        {"age": ages.reshape(12, 5).mean(axis=1).repeat(5), "d": values}, {"age": ages}
    )
    given = {"targets": people, "schema": shoal.Schema.of(quasi=["age"], sensitive=["d"])}
    found = shoal.attack("linking", [table], **given)
    assert found.details["asked"] == 60
    assert f"{60 - found.people} of the 60 people asked for fit no row" in found.sentence
    assert "--location centroid" in found.sentence
    assert shoal.attack("linking", [table], location="centroid", **given).people == 60
    both = red_team([table, table], location="centroid", **given)
    assert [one.people for one in both.findings if one.attack == "intersection"] == [60]


@pytest.mark.parametrize(
    ("rule", "method"), [("ck-safety c=0.99 k=0", "mondrian"), ("k-anonymity k=2", "chain")]
)
def test_minimality_does_not_make_classes_again_that_were_made_together(town, rule, method):
    made = town.publish(rule, method=method)
    with pytest.raises(UsageError, match="here more decided"):
        shoal.attack("minimality", made, targets=town.table)
    assert "more decided" in dict(red_team(made, targets=town.table).skipped)["minimality"]
