"""The papers' sequences of releases on a ledger: Sweeney 2002, Figures 4 and 5; Ganta 2008."""

from __future__ import annotations

import pytest

import shoal


@pytest.fixture
def given(golden):
    return golden("sweeney_fig4_5")


@pytest.fixture
def schema(given):
    return shoal.Schema.of(quasi=given["qi"], sensitive=[given["sensitive"]]).set(
        Race=shoal.quasi(shoal.tree([("black", "person"), ("white", "person")])),
        Gender=shoal.quasi(shoal.tree([("male", "human"), ("female", "human")])),
    )


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db", name="Sweeney") as made:
        yield made


@pytest.fixture
def first(ledger, given, schema, table):
    found = ledger.admit(table("GT1", given["GT1"]), schema=schema, to="the public")
    assert found.admitted
    assert found.judged_with == ()
    return found


def refused(ledger, release, schema, **more):
    with pytest.raises(shoal.Refused) as told:
        ledger.admit(release, schema=schema, **more)
    return told.value


@pytest.mark.parametrize("reverse", [False, True])
def test_the_second_table_is_refused_with_its_two_rows(
    ledger, first, given, schema, table, reverse
):
    rows = given["GT3"][::-1] if reverse else given["GT3"]
    error = refused(ledger, table("GT3", rows), schema)
    assert error.exit_code == 4
    (beside,) = error.admission.judged_with
    assert (beside.entry, beside.relation) == (first.entry.number, "same table")
    assert "Problem" in beside.how
    (found,) = [one for one in error.admission.weighed if one.finding.attack == "complementary"]
    assert (found.beyond, found.finding.people, found.exceeds) == (2, 12, True)
    assert "worst-pair" in {one.finding.attack for one in error.admission.weighed}
    linked = [given["LT"][row - 1] for row in found.finding.worst]
    expected = given["expected"]["unique_rows"]
    assert sorted(map(str, linked)) == sorted(map(str, expected))
    assert "base the second release on the first" in error.hint
    assert "--accept-risk" in error.hint
    by_order = [one for one in error.admission.weighed if one.finding.attack == "order"]
    assert [one.exceeds for one in by_order] == [not reverse]
    assert len(ledger.entries()) == 2


def test_the_first_defence_fails_as_in_the_paper(ledger, first, given, schema, table):
    told = ledger.judge(table("GT3", given["GT3"]), schema=schema)
    assert not told.admitted
    (counted,) = [one for one in told.lacking if "Counted" in one]
    assert "and Problem" in counted
    assert "smallest class has 1 row" in counted


def test_a_value_is_told_only_to_who_asked(ledger, first, given, schema, table):
    values = {row["Problem"] for row in given["GT3"]} | {"02138", "1964", "1965", "black"}
    silent = refused(ledger, table("GT3", given["GT3"]), schema)
    told = f"{silent} {silent.admission} {silent.admission.to_json()}"
    assert not [value for value in values if value in told]
    shown = refused(ledger, table("GT3", given["GT3"]), schema, show=True)
    assert "short of breath" in str(shown.admission)
    assert "short of breath" not in str(shown)


def test_based_on_the_first_it_is_admitted(ledger, first, given, schema, table):
    rows = given["GT1"] + given["temporal"]["added_released"]
    found = ledger.admit(table("later", rows), schema=schema)
    (beside,) = found.judged_with
    assert beside.relation == "over time"
    assert found.admitted
    assert not found.reasons
    beyond = {one.finding.attack: one.beyond for one in found.weighed}
    assert (beyond["temporal"], beyond["worst-pair"]) == (0, 0)
    assert found.entry.number == 3
    assert ledger.check(str(found.head)) == ()


def test_the_grown_table_anew_is_refused(ledger, first, given, schema, table):
    rows = given["GT3"] + given["temporal"]["added_released"]
    error = refused(ledger, table("GTt1", rows), schema)
    (found,) = [one for one in error.admission.weighed if one.finding.attack == "temporal"]
    assert found.beyond == 2


def test_an_accepted_risk_is_recorded_with_what_was_found(ledger, first, given, schema, table):
    release = table("GT3", given["GT3"])
    found = ledger.admit(release, schema=schema, accept_risk="the board agreed", to="a study")
    assert (found.admitted, found.overridden, found.accepted_risk) == (
        True,
        True,
        "the board agreed",
    )
    body = ledger.entry(3).body
    assert body["accepted_risk"] == "the board agreed"
    assert (body["to"], body["by"], body["rows"], body["classes"]) == ("a study", "Sweeney", 12, 5)
    recorded = {one["attack"]: (one["beyond"], one["people"]) for one in body["findings"]}
    assert recorded["complementary"] == (2, 12)
    assert body["judged_with"][0]["relation"] == "same table"
    values = {row[name] for row in given["GT3"] for name in row if name != "Gender"}
    assert not [value for value in values if f"{value!r}" in str(dict(body))]
    told = ledger.recheck()
    assert [one.admitted for one in told] == [True, True]
    assert told[1].overridden


@pytest.mark.parametrize("people", [True, False])
def test_ganta_s_second_hospital_is_refused(golden, ledger, table, people):
    given = golden("ganta_table1")
    schema = shoal.Schema.of(quasi=given["qi"], sensitive=[given["sensitive"]])
    alice = {"Zip": "13012", "Age": 28, "Nationality": "Russian"}
    known = table("people", [alice]) if people else None
    ledger.add_foreign(table("R1", given["R1"]), schema=schema, by="another hospital")
    error = refused(ledger, table("R2", given["R2"]), schema, people=known)
    *alone, worst = error.admission.weighed  # Alice is one of many: who else is in both?
    assert [(one.finding.attack, one.beyond) for one in alone] == [("intersection", 1)] * people
    assert (worst.finding.attack, worst.on, worst.exceeds) == ("worst-pair", "Condition", True)
    assert (error.admission.covered, error.admission.people_found) == (False, 1 if people else None)
    assert error.admission.judged_with[0].relation == "overlapping"
    assert "AIDS" not in f"{error} {error.admission}"
    assert "worst" in worst.finding.assumptions[0]
