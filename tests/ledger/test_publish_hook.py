"""Publishing with a ledger: judged, recorded, then placed; refused means nothing is there."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal
from shoal.ledger.publish_hook import NOT_MOVED
from shoal.releases import folder

RULE = "k-anonymity k=4"


@pytest.fixture
def place(tmp_path):
    shoal.Ledger.init(tmp_path / "releases.db").close()
    return tmp_path / "releases.db"


@pytest.fixture
def sources(town):
    """A town's people, and twenty more."""
    rows = town.people(120, 3)
    return [town.write(town.folder / f"{n}.csv", rows[:n]) for n in (100, 120)]


def publish(town, source, name, place, **more):
    return town.publish(RULE, source=source, out=town.folder / name, ledger=place, **more)


def kinds(place):
    with shoal.Ledger(place) as ledger:
        assert ledger.check() == ()
        return [one.kind for one in ledger.entries()]


def test_a_release_is_recorded_with_its_name_and_the_people(town, sources, place):
    release = publish(town, sources[0], "first", place, admission={"to": "the city"})
    admission = release.private["admission"]
    assert admission.admitted
    assert "admission" in json.loads(json.dumps(release.to_json()))
    with shoal.Ledger(place) as ledger:
        entry = ledger.entries()[-1]
        assert ledger.position(release) == admission.position
    assert (entry.body["name"], entry.body["to"]) == ("first", "the city")
    assert entry.body["people_given"]
    assert entry.body["table"] == release.manifest["sha256"]


def test_one_that_exposes_people_is_refused_and_nothing_is_placed(town, sources, place):
    publish(town, sources[0], "first", place)
    before = sorted(path.name for path in town.folder.iterdir())
    with pytest.raises(shoal.Refused) as told:
        publish(town, sources[1], "second", place)
    assert told.value.exit_code == 4
    assert sorted(path.name for path in town.folder.iterdir()) == before
    assert kinds(place) == ["founding", "release"]


def test_one_based_on_the_first_is_admitted(town, sources, place):
    first = publish(town, sources[0], "first", place)
    second = publish(town, sources[1], "second", place, based_on=first)
    found = second.private["admission"]
    assert found.admitted
    assert not found.overridden
    assert any("equal or generalise" in one for one in found.defences)


def test_a_risk_can_be_accepted_with_a_reason(town, sources, place):
    publish(town, sources[0], "first", place)
    second = publish(town, sources[1], "second", place, admission={"accept_risk": "the board"})
    assert second.private["admission"].overridden
    assert kinds(place) == ["founding", "release", "release"]


def test_what_cannot_be_moved_was_never_out(town, sources, place, monkeypatch):
    monkeypatch.setattr(folder, "move_into_place", stopped)
    with pytest.raises(KeyboardInterrupt):
        publish(town, sources[0], "first", place)
    monkeypatch.undo()
    assert not (town.folder / "first").exists()
    with shoal.Ledger(place) as ledger:
        last = ledger.entries()[-1].body
    assert (last["kind"], last["number"], last["reason"]) == ("withdrawn", 2, NOT_MOVED)
    again = publish(town, sources[0], "first", place)
    assert again.private["admission"].judged_with == ()


def stopped(*_, **__):
    raise KeyboardInterrupt


def test_one_that_is_recorded_already_is_out_and_stays_so(town, place, monkeypatch):
    rows = [{**town.rows[0], "patient": f"P{i}"} for i in range(6)]  # in any order the same table
    alike = town.write(town.folder / "alike.csv", rows)
    first = publish(town, alike, "first", place)
    monkeypatch.setattr(folder, "move_into_place", stopped)
    with pytest.raises(KeyboardInterrupt):
        publish(town, alike, "second", place)
    monkeypatch.undo()
    assert kinds(place) == ["founding", "release"]
    with shoal.Ledger(place) as ledger:
        schema = shoal.Schema.of(quasi=["years"], sensitive=["illness"])
        theirs = pa.table({"years": ["1"], "illness": ["flu"]})
        ledger.add_foreign(theirs, schema=schema, by="Harbour")
        assert not ledger.judge(first).admitted
    with pytest.raises(shoal.Refused, match="cannot be judged together with entry 3"):
        publish(town, alike, "second", place)
    assert not (town.folder / "second").exists()


def test_what_stopped_it_is_told_where_the_ledger_fails_too(town, sources, place, monkeypatch):
    def fails(*_, **__):
        raise shoal.OutputError("The disk is full.", "make room.")

    monkeypatch.setattr(folder, "move_into_place", stopped)
    monkeypatch.setattr(shoal.Ledger, "withdraw", fails)
    with pytest.raises(KeyboardInterrupt) as told:
        publish(town, sources[0], "first", place)
    (note,) = told.value.__notes__
    assert "The disk is full" in note
    assert "withdraw 2 --never-out" in note


def test_what_was_moved_before_it_was_stopped_is_not_withdrawn(town, sources, place, monkeypatch):
    real = folder.move_into_place

    def late(*pairs, replace):
        real(*pairs, replace=replace)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "move_into_place", late)
    with pytest.raises(KeyboardInterrupt):
        publish(town, sources[0], "first", place)
    assert (town.folder / "first").exists()
    assert kinds(place) == ["founding", "release"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"dry_run": True}, "dry run"),
        ({"ledger": None, "admission": {"to": "you"}}, "no ledger"),
        ({"admission": {"typo": 1}}, "not told 'typo'"),
        ({"admission": {"people": "few.csv"}}, "not told 'people'"),
        ({"admission": {"limit": 2}}, "limit"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(town, place, more, told):
    asked = {"ledger": place, "source": "nowhere.csv", "out": town.folder / "first", **more}
    with pytest.raises(shoal.UsageError, match=told):
        town.publish(RULE, **asked)
    assert not (town.folder / "first").exists()


def test_without_its_key_nothing_is_made(town, sources, place):
    place.with_suffix(".key").unlink()
    with pytest.raises(shoal.InputError, match="key"):
        publish(town, sources[0], "first", place)
    assert not (town.folder / "first").exists()


def test_people_who_grew_older_are_found_in_the_class_that_held_them(town, place):
    """By today's age nobody is found rightly in last year's release; its publisher knows where."""
    rows = town.people(100, 3)
    older = [{**row, "age": str(int(row["age"]) + 7)} for row in rows]
    sources = [town.write(town.folder / f"{i}.csv", some) for i, some in enumerate((rows, older))]
    first = publish(town, sources[0], "first", place)
    second = publish(town, sources[1], "second", place, admission={"limit": 1.0})
    findings = second.private["admission"].findings
    (found,) = [one for one in findings if one.attack == "intersection"]
    assert found.details["location"] == "assumed"
    assert (found.people, found.details["absent"]) == (100, 0)
    given = {"targets": sources[1], "schema": town.schema()}
    today = shoal.attack("intersection", [first, second], **given)
    assert today.people < 100
