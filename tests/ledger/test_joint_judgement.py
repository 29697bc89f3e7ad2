"""What a release is judged by: which attacks decide, which defences answer, what stays unjudged."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.ledger import joint_judgement
from shoal.ledger.admission import summarise_for_entry
from shoal.ledger.budget import Account
from shoal.ledger.joint_judgement import find_accepted_reason
from shoal.ledger.pair_judgement import JudgedFinding
from shoal.ledger.related_entries import has_unrecorded_base, trace_lineage

XY = shoal.Schema.of(quasi=["x", "y"], sensitive=["d"])
X = shoal.Schema.of(quasi=["x"], sensitive=["d"])
JOB = shoal.Schema.of(quasi=["x"], sensitive=["d", "job"])
KEPT = shoal.Schema.of(quasi=["x"], sensitive=["d"], keep=["job"])
FOUR = [(x, y, v) for x, y, v in ((0, 0, "A"), (0, 1, "B"), (1, 0, "C"), (1, 1, "D")) for _ in "ab"]


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        yield made


def table(names, rows):
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def by_x(rows):
    return table(("x", "y", "d"), [(str(x), "*", v) for x, _, v in rows])


def by_y(rows):
    return table(("x", "y", "d"), [("*", str(y), v) for _, y, v in rows])


def one_class(*columns, names=("d",)):
    """All rows in one class."""
    return table(("x", *names), [("1", *row) for row in zip(*columns, strict=True)])


def after(ledger, first, second, schema, **asked):
    """What is said of a second table after a first; ``by``: somebody else's."""
    ledger.add_foreign(first, schema=schema, by="another")
    return ledger.judge(second, schema=schema, **asked)


def found(told):
    return {(one.finding.attack, one.on): one.beyond for one in told.weighed}


# Values are intersected whatever the relation


@pytest.mark.parametrize("relation", [None, "same table", "overlapping"])
def test_values_of_one_table_are_intersected_without_people(ledger, relation):
    """No row is alone once joined, but every two classes have one value in common."""
    told = after(ledger, by_x(FOUR), by_y(FOUR), XY, relation=relation)
    assert told.judged_with[0].relation == (relation or "same table")
    assert not told.admitted
    assert [key for key, beyond in found(told).items() if beyond] == [("worst-pair", "d")]
    assert found(told)["worst-pair", "d"] == 8


def test_values_are_intersected_over_time_without_people(ledger):
    first = [(i, 0, v) for i, some in enumerate(("AABBCC", "DDEEFF")) for v in some]
    then = [(i, 0, v) for i, some in enumerate(("AAGGHH", "DDIIJJ")) for v in some]
    told = after(ledger, by_x(first), by_x(then), XY, relation="over time")
    assert told.judged_with[0][1:3] == ("over time", "declared")
    assert (found(told)["temporal", ""], found(told)["worst-pair", "d"]) == (0, 12)


def test_a_guessed_relation_exposes_no_fewer_than_an_overlap(ledger):
    first = [(i, 0, v) for i, some in enumerate(("AABB", "CCDD")) for v in some]
    grown = [(0, i, v) for i, some in enumerate(("AAAACCCC", "BBBBDDDD")) for v in some]
    told = after(ledger, by_x(first), by_y(grown), XY)
    other = ledger.judge(by_y(grown), schema=XY, relation="overlapping")
    assert told.judged_with[0].relation == "over time"
    assert found(told)["worst-pair", "d"] == found(other)["worst-pair", "d"] == 16


def test_a_guessed_relation_does_not_judge_what_cannot_be_compared(ledger):
    """Joined by a kept column nobody is alone, and the rule holds; but values cannot be told."""
    schemas = [shoal.Schema.of(quasi=["x"], sensitive=[name], keep=["c"]) for name in ("d", "e")]
    one = table(("x", "c", "d"), [("1-2", v, v) for v in "ppqq"])
    two = table(("x", "c", "e"), [("1" if v == "p" else "2", v, v) for v in "ppqq"])
    ledger.add_foreign(one, schema=schemas[0], by="another")
    told = ledger.judge(two, schema=schemas[1])
    assert (told.judged_with[0].relation, len(told.defences)) == ("same table", 1)
    assert "share no sensitive column" in told.unjudged[0][1]
    assert ledger.judge(two, schema=schemas[1], relation="same table").admitted


# Defences


def test_a_rule_over_what_was_released_answers_no_finding(ledger):
    """Every class of the second has one value, so its rule holds; joined, everybody is alone."""
    rows = [(0, 0, "A"), (0, 1, "B"), (1, 0, "A"), (1, 1, "B")]
    told = after(ledger, by_x(rows), by_y(rows[::-1]), XY, relation="same table")
    assert any("holds over the quasi-identifiers and d" in one for one in told.defences)
    (joined,) = [one for one in told.weighed if one.finding.attack == "complementary"]
    assert (joined.beyond, joined.defence, joined.exceeds) == (4, "", True)
    assert not told.admitted


def test_a_rule_over_what_was_released_settles_what_no_attack_could_judge(ledger):
    """A suppressed value may be any, so that nothing can be joined or intersected."""
    first = table(("x", "d"), [("1", "A"), ("1", "*"), ("2", "B"), ("2", "B")])
    second = table(("x", "d"), [("1", "A"), ("1", "A"), ("2", "B"), ("2", "B")])
    told = after(ledger, first, second, X, relation="same table")
    assert (told.admitted, told.weighed, len(told.defences)) == (True, (), 1)
    guessed = ledger.judge(second, schema=X)
    assert (guessed.admitted, [number for number, _ in guessed.unjudged]) == (False, [2])


# People


@pytest.fixture(scope="module")
def town(standing):
    rows = standing.people(120, 3)
    standing.lists = {
        name: standing.write(standing.folder / f"{name}.csv", some)
        for name, some in {"all": rows, "few": rows[60:63], "first": rows[:80]}.items()
    }
    standing.ages = standing.write(
        standing.folder / "ages.csv", [{n: row[n] for n in ("patient", "age")} for row in rows]
    )
    for name, some in {"first": rows[:80], "other": rows[50:]}.items():
        source = standing.write(standing.folder / f"{name} rows.csv", some)
        setattr(standing, name, standing.publish(source=source, out=standing.folder / name))
    return standing


def test_some_of_the_people_do_not_switch_the_worst_pair_off(ledger, town):
    ledger.admit(town.first)
    told = {name: ledger.judge(town.other, people=one) for name, one in town.lists.items()}
    assert {name: (one.covered, one.people_found) for name, one in told.items()} == {
        "all": (True, 70),
        "few": (False, 3),
        "first": (True, 30),
    }
    assert set(found(told["all"])) == {("intersection", "diagnosis")}
    assert found(told["first"]) == found(told["all"])
    worst = found(ledger.judge(town.other))["worst-pair", "diagnosis"]
    assert found(told["few"])["worst-pair", "diagnosis"] == worst > 0
    assert told["few"].to_json()["people_found"] == 3


def test_people_of_whom_a_column_is_not_told_do_not_either(ledger, town):
    ledger.admit(town.first)
    told = ledger.judge(town.other, people=town.ages)
    assert (told.covered, told.people_found) == (False, 70)
    assert ("worst-pair", "diagnosis") in found(told)


@pytest.mark.parametrize(
    ("ages", "covered"),
    [
        ([1, 1, 2, 3], True),  # as many as each class of the first has rows
        ([1, 1, 1, 3], False),
        ([1, 2, 3], False),
        ([1, 1, 2, 3, 9], True),
    ],
)
def test_people_without_names_cover_a_release_by_its_classes(ledger, ages, covered):
    rows = [("1", "A"), ("1", "B"), ("2-3", "A"), ("2-3", "B")]
    one, two = table(("x", "d"), rows), table(("x", "d"), [*rows, ("1", "C")])
    told = after(ledger, one, two, X, people=pa.table({"x": ages}), relation="overlapping")
    assert told.covered == covered
    assert (("worst-pair", "d") in found(told)) != covered


def test_one_person_does_not_cover_two_classes(ledger):
    """Both could be in either class, which have two rows each."""
    rows = [("1-4", "A"), ("1-4", "B"), ("1-9", "A"), ("1-9", "B")]
    one, two = table(("x", "d"), rows), table(("x", "d"), [*rows, ("1-4", "C")])
    told = after(ledger, one, two, X, people=pa.table({"x": [2, 3]}))
    assert (told.covered, told.people_found) == (False, 2)


# Columns


@pytest.mark.parametrize("on", [None, "d", "job"])
def test_naming_a_column_leaves_none_out(ledger, on):
    names = ("d", "job")
    first, then = one_class("ABCD", "pqpq", names=names), one_class("AXYZ", "pqpp", names=names)
    told = after(ledger, first, then, JOB, on=on)
    assert found(told) == {("worst-pair", "d"): 4, ("worst-pair", "job"): 0}
    assert not told.admitted
    people = ledger.judge(then, schema=JOB, on=on, people=pa.table({"x": ["1"] * 4}))
    assert found(people) == {("intersection", "d"): 4, ("intersection", "job"): 0}


def test_a_kept_column_may_be_asked_for_besides(ledger):
    names = ("d", "job")
    first, then = one_class("ABCD", "pqrs", names=names), one_class("ABCD", "pxyz", names=names)
    told = after(ledger, first, then, KEPT, relation="overlapping")
    assert found(told) == {("worst-pair", "d"): 4}  # A alone has the same job in both
    assert told.weighed[0].joined_by == ("job",)
    asked = ledger.judge(then, schema=KEPT, relation="overlapping", on="job")
    assert found(asked) == {("worst-pair", "d"): 4, ("worst-pair", "job"): 4}


def test_a_column_that_the_earlier_release_lacks_is_said_to_be(ledger):
    ledger.add_foreign(one_class("ABCD"), schema=X, by="another")
    then = one_class("AXYZ", "pqrs", names=("d", "job"))
    told = ledger.judge(then, schema=JOB, on="job", relation="overlapping")
    assert found(told) == {("worst-pair", "d"): 4}
    assert told.skipped == ((2, "intersection", "They do not both publish 'job' as it is."),)


def test_each_column_is_left_by_the_correspondence(ledger):
    names = ("d", "job")
    first, then = one_class("AB", "pq", names=names), one_class("ABC", "pqr", names=names)
    told = after(ledger, first, then, JOB)
    assert {on for attack, on in found(told) if attack == "forward"} == {"d", "job"}


# Lineage


def recorded(number, table, based_on=None):
    body = {"table": table, **({"based_on": based_on} if based_on else {})}
    return SimpleNamespace(number=number, body=body)


def test_lineage_is_followed_to_its_end_and_what_is_missing_shows():
    entries = [recorded(2, "a"), recorded(3, "b", "a"), recorded(4, "a"), recorded(5, "c", "z")]
    assert trace_lineage({"based_on": "b"}, entries) == {2, 3, 4}
    assert [name for name in "abcz" if has_unrecorded_base({"based_on": name}, entries)] == [
        "c",
        "z",
    ]
    assert not has_unrecorded_base(None, entries)
    assert not has_unrecorded_base({}, entries)
    around = [recorded(2, "a", "b"), recorded(3, "b", "a")]
    assert trace_lineage({"based_on": "a"}, around) == {2, 3}
    assert not has_unrecorded_base({"based_on": "a"}, around)


def test_what_it_is_based_on_is_judged_with_whomever_it_is_about(ledger, town):
    based = town.publish(source=town.lists["first"], out=town.folder / "based", based_on=town.first)
    told = ledger.judge(based, people=town.lists["all"])
    ((number, why),) = told.unjudged
    assert (number, told.admitted) == (0, False)
    assert "Record that one first" in why
    assert told.reasons == (why,)
    assert "entry 0" not in str(told)
    ledger.admit(town.first, about="patients")
    told = ledger.judge(based, people=town.lists["all"], about="staff")
    assert [(one.entry, one.relation) for one in told.judged_with] == [(2, "same table")]
    ((_, why),) = told.unjudged  # by two names the same people would have the budget twice
    assert not told.admitted
    assert 'Write --about "patients"' in why
    told = ledger.judge(based, people=town.lists["all"], about="patients")
    assert [(one.entry, one.relation) for one in told.judged_with] == [(2, "same table")]
    assert (told.admitted, told.unjudged) == (True, ())


# Several at once


def test_some_of_many_releases_say_together_what_no_two_do(ledger):
    """a is in three; the other four are of somebody else."""
    here = [table(("x", "d"), [("1", v) for v in some]) for some in ("abc", "abd", "acd")]
    for i, one in enumerate(here[:2]):
        ledger.add_foreign(one, schema=X, by=f"hospital {i}")
    for i in range(4):
        away = table(("x", "d"), [("2", v) for v in "efg" + "e" * i])
        ledger.add_foreign(away, schema=X, by=f"hospital {i}")
    both = pa.concat_tables([here[2], table(("x", "d"), [("2", v) for v in "efg"])])
    told = ledger.judge(both, schema=X, people=pa.table({"x": ["1", "2"]}))
    exposing = {one.finding.attack: one.entries for one in told.weighed if one.exceeds}
    assert exposing == {"intersection": (2, 3), "worst-pair": (2, 3, 4, 5, 6, 7)}
    worst = next(one for one in told.weighed if one.exceeds and one.finding.attack == "worst-pair")
    assert len(worst.finding.witness["releases"]) == 3
    assert not told.skipped


@pytest.mark.parametrize(("limit", "value"), [("MAX_COMBINATIONS", 3), ("MAX_LOOKUPS", 15)])
def test_combinations_that_are_too_many_to_be_tried_are_worked_out_at_once(
    ledger, monkeypatch, limit, value
):
    """Of one person and five releases 15 steps are three combinations."""
    monkeypatch.setattr(joint_judgement, limit, value)
    for i in range(4):
        ledger.add_foreign(one_class("abc" + "a" * i), schema=X, by=f"hospital {i}")
    told = ledger.judge(one_class("abcb"), schema=X, people=pa.table({"x": ["1"]}))
    learnt = [one for one in told.weighed if one.finding.attack == "intersection"]
    assert [one.entries for one in learnt if len(one.entries) > 1] == [
        (2, 3),
        (2, 4),
        (2, 5),
        (2, 3, 4, 5),
        (2, 3, 4, 5),
    ]
    assert learnt[-1].finding.details["exposed_by_any_combination"] == 0
    assert not told.skipped


@pytest.mark.parametrize(
    ("releases", "tried", "all_of_them"),
    [(2, 1, True), (7, 120, True), (8, 201, False), (10, 201, False)],
)
def test_combinations_grow_up_to_a_number(releases, tried, all_of_them):
    tries, complete = joint_judgement._combinations_by_size(
        range(releases), joint_judgement.MAX_COMBINATIONS
    )
    assert len(set(tries)) == len(tries) == tried
    assert tries[-1] == tuple(range(releases))
    assert complete == all_of_them


def test_where_people_are_known_just_their_combinations_are_tried():
    membership = np.array(
        [[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 1, 0], [1, 1, 1, 0, 1]], bool
    )
    assert joint_judgement._combinations_of_people(membership, range(4), 3) == (
        [(0, 1, 3), (1, 2), (0, 2, 3)],
        True,
    )
    assert joint_judgement._combinations_of_people(membership, [0, 2], 3) == ([(0, 2)], True)
    assert joint_judgement._combinations_of_people(membership, range(4), 1) == ([(0, 1, 3)], False)


def test_people_who_are_known_are_followed_through_all_releases(ledger, town):
    """All are in the first; of every three, two in the second, and one of these in the third."""
    rows = town.people(30, 5)
    for i in range(3):
        some = [row for j, row in enumerate(rows) if j % 3 >= i]
        source = town.write(town.folder / f"third {i} rows.csv", some)
        ledger.admit(town.publish(source=source, out=town.folder / f"third {i}"), accept_risk="so")
    every = town.write(town.folder / "every rows.csv", rows)
    last = town.publish("k-anonymity k=5", source=every, out=town.folder / "every")
    told = ledger.judge(last, people=every)
    at_once = {one.entries: one.finding.people for one in told.weighed if len(one.entries) > 1}
    assert at_once == {(2, 3): 20, (2, 3, 4): 10}


def test_people_who_are_known_are_followed_where_combinations_are_too_many(
    ledger, town, monkeypatch
):
    """All are in the first two, half of them in the third: each is in one combination."""
    rows = town.people(60, 7)
    for i, step in enumerate((1, 1, 2)):
        source = town.write(town.folder / f"many {i} rows.csv", rows[::step])
        made = town.publish(f"k-anonymity k={i + 2}", source=source, out=town.folder / f"many {i}")
        ledger.admit(made, accept_risk="so")
    every = town.write(town.folder / "many rows.csv", rows)
    last = town.publish(source=every, out=town.folder / "many", method="hilbert")
    tried = [one for one in ledger.judge(last, people=every).weighed if len(one.entries) > 1]
    monkeypatch.setattr(joint_judgement, "MAX_COMBINATIONS", 0)
    (worked_out,) = [
        one for one in ledger.judge(last, people=every).weighed if len(one.entries) > 1
    ]
    assert worked_out.beyond == sum(one.beyond for one in tried) > 0
    assert worked_out.finding.people == 60


# What was accepted


def saying(*weighed, own=0.0, budget=None):
    spend = Account(shoal.Spend(own), (shoal.Spend(own),), budget)
    return SimpleNamespace(weighed=weighed, unjudged=(), spend=spend)


def exposing(beyond, on="d", limit=0.0):
    finding = shoal.Finding(
        attack="worst-pair", people=10, exposed=beyond, sure=1, guessing=0, sentence="", defence=""
    )
    return JudgedFinding(finding, (2,), beyond, limit, on=on)


def test_accepted_is_what_exceeded_then_in_that_column():
    body = {"accepted_risk": "agreed", "findings": [summarise_for_entry(exposing(4))]}
    assert find_accepted_reason(saying(exposing(4)), body) == "agreed"
    assert find_accepted_reason(saying(exposing(5)), body) == ""
    assert find_accepted_reason(saying(exposing(1, on="job")), body) == ""
    within = {**body, "findings": [summarise_for_entry(exposing(4, limit=0.5))]}
    assert find_accepted_reason(saying(exposing(4)), within) == ""


def test_a_budget_that_is_exceeded_must_have_been_accepted_itself():
    over = saying(own=2.0, budget=shoal.Spend(1.0))
    assert find_accepted_reason(over, {"accepted_risk": "agreed"}) == ""
    assert (
        find_accepted_reason(over, {"accepted_risk": "agreed", "budget_exceeded": True}) == "agreed"
    )
