"""The frontier: honest risks, by hand on small tables; kept points; nothing published."""

from __future__ import annotations

import json
import stat
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import shoal
from shoal import testing
from shoal.core.cells import Cells
from shoal.core.tally import Cut
from shoal.releases.folder import lock_folder
from shoal.reports.document import Page
from shoal.verbs.frontier import verb
from shoal.verbs.frontier.comparison import (
    Frontier,
    Point,
    list_failures,
    mark_frontier,
    merge_equal_points,
)
from shoal.verbs.frontier.saved_points import (
    LOCK,
    EarlierComparison,
    check_comparison_folder,
    open_comparison,
)
from shoal.verbs.frontier.tables import CountedTable

METHODS = ("mondrian", "chain")


@pytest.fixture
def undrawn(monkeypatch):
    """The page without its charts: only what is kept is looked at."""
    monkeypatch.setattr(verb, "render_frontier", lambda *facts: Page("Frontier", ()))


# The frontier


def point(loss, identity, **more):
    return Point("m", "r", loss, identity, **more)


def test_the_frontier_has_whom_nobody_beats():
    points = [point(0.1, 0.5), point(0.2, 0.3), point(0.2, 0.4), point(0.3, 0.3), point(0.2, 0.3)]
    points += [Point("m", "r", reason="it cannot be")]
    assert [one.on_frontier for one in mark_frontier(points, "identity")] == [
        True,
        True,
        False,
        False,
        True,
        False,
    ]


def test_the_best_within_a_bound():
    points = [point(0.1, 0.5), point(0.2, 0.3), point(0.4, 0.1), point(0.5, 0.2)]
    found = Frontier(mark_frontier(points, "identity"), 100)
    assert found.best(loss=0.3).risk_identity == 0.3
    assert found.best(average_risk=0.2).loss == 0.4
    assert found.best(average_risk=0.4, loss=0.45).loss == 0.2
    for bounds, said in (
        (
            {"average_risk": 0.05},
            "No release has an average risk of at most 0.05: the least average risk is 0.1.",
        ),
        ({"loss": 0.05}, "No release has a loss of at most 0.05: the least loss is 0.1."),
        (
            {"loss": 0.3, "average_risk": 0.2},
            "risk of at most 0.2 and a loss of at most 0.3: the least loss at that risk is 0.4.",
        ),
        (
            {"loss": 0.3, "average_risk": 0.05},
            "and a loss of at most 0.3: the least average risk is 0.1.",
        ),
    ):
        with pytest.raises(shoal.NotMetError) as error:
            found.best(**bounds)
        assert error.value.fact.endswith(said)
    with pytest.raises(shoal.UsageError):
        found.best()
    with pytest.raises(shoal.NotMetError, match="No release could be made"):
        Frontier((), 100).best(loss=1)


def test_ties_within_a_bound_go_to_what_is_better_otherwise():
    """A point that another beats is not chosen, though both are within the bound."""
    points = [point(0.3, 0.1, rows=1), point(0.2, 0.1, rows=2), point(0.2, 0.15)]
    found = Frontier(mark_frontier(points, "identity"), 100)
    assert found.best(loss=0.5).rows == 2
    assert found.best(average_risk=0.5).rows == 2


def test_it_is_chosen_among_what_was_asked_for():
    kept, asked = Point("other", "r", 0.1, 0.1), Point("m", "r", 0.3, 0.2)
    found = Frontier(
        mark_frontier([kept, asked], "identity"), 100, asked={("m", "r")}, max_average_risk=0.5
    )
    assert found.chosen == found.points[1]
    assert found.best(average_risk=0.5) == found.points[1]
    assert replace(found, asked=None).chosen == found.points[0]
    assert "1 of earlier runs" in str(found)
    with pytest.raises(shoal.NotMetError):
        replace(found, max_average_risk=0.15).check()
    bare = replace(found, max_average_risk=None)
    assert bare.chosen is None
    bare.check()
    with pytest.raises(shoal.NotMetError, match="No release could be made"):
        replace(bare, asked={("none", "r")}).check()


def test_the_line_to_publish_is_the_chosen_one_s():
    rule = "t-closeness t=0.2 on=diagnosis"
    found = Frontier((Point("chain", rule, 0.1, 0.1),), 100, options=("--hold-back 0.05",))
    ending = "--hold-back 0.05 -o release/"
    assert found.command == f'shoal publish TABLE -s SCHEMA --method METHOD -m "RULE" {ending}'
    chosen = replace(found, max_loss=0.2)
    assert chosen.command == f'shoal publish TABLE -s SCHEMA --method chain -m "{rule}" {ending}'
    assert chosen.wanted == "the least risk with a loss of at most 0.2"
    odd = replace(chosen, points=(Point("chain", 'r on="$x"', 0.1, 0.1),))
    assert """-m 'r on="$x"' """ in odd.command


def test_methods_at_one_point_are_named_together():
    same = {"loss": 0.2, "risk_identity": 0.1}
    some = [Point("a", "k=2", **same), Point("a", "k=5", **same), Point("b", "k=2", **same)]
    some += [Point("c", "k=5", **same), Point("d", "k=5", 0.1, 0.1), Point("e", "k=5")]
    assert [(one.method, one.rule) for one in merge_equal_points(some)] == [
        ("d", "k=5"),
        ("a, c", "k=5"),
    ]
    many = [Point(f"method-{i}", "k=5", **same) for i in range(12)]
    assert [one.method for one in merge_equal_points(many)] == ["method-0, method-1 and 10 more"]


def test_a_reason_is_told_once():
    some = [Point(name, rule, reason="small") for name in "abcd" for rule in ("k=5", "k=9")]
    some += [Point("e", "k=9", reason="no levels"), Point("f", "k=2", reason="small")]
    assert list_failures([*some, Point("g", "k=2", 0.1, 0.1)]) == [
        ("a, b, c, d", "k=5; k=9", "small"),
        ("f", "k=2", "small"),
        ("e", "k=9", "no levels"),
    ]


def compare(town, rules=("k-anonymity k=2", "k-anonymity k=8"), **more):
    asked = {"methods": METHODS, "out": town.folder / "frontier", **more}
    source, schema = asked.pop("source", town.table), asked.pop("schema", town.schema())
    return shoal.frontier(source, schema, rules, **asked)


def test_points_are_what_a_dry_run_publishes(town, undrawn):
    found = compare(town)
    assert [(one.method, one.rule) for one in found.points] == [
        (name, f"k-anonymity k={k}") for name in METHODS for k in (2, 8)
    ]
    for one in found.points:
        release = town.publish(one.rule, method=one.method, dry_run=True)
        assert one.loss == pytest.approx(release.private["loss"])
        assert (one.classes, one.rows) == (release.verdict.classes, release.verdict.rows)
        assert 0 < one.risk_identity <= one.known_identity + 1e-12
        assert 0 <= one.risk_value <= 1
        assert 0 < one.base < 1
    assert found.frontier
    assert town.names() == {"people.csv", "frontier"}  # nothing was published
    names = {path.name for path in found.folder.iterdir()}
    assert names == {"frontier.json", "frontier.html", LOCK}


def test_it_holds_no_cell_and_is_for_its_owner(town):
    found = compare(town)
    cells = {row[name] for row in town.rows for name in ("name", "patient", "zip", "diagnosis")}
    for path in found.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text(encoding="utf-8")
        assert [cell for cell in cells if cell in text] == []
    assert "Person" not in str(found)


def test_without_rules_k_grows_and_values_differ(town):
    found = compare(town, None, methods="mondrian", out=None)
    assert [one.rule for one in found.points] == [
        f"k-anonymity k={k} & distinct-diversity l=2" for k in (2, 5, 10, 25, 50)
    ]
    risks = [one.risk_identity for one in found.points]
    assert risks == sorted(risks, reverse=True)
    plain = compare(
        town,
        None,
        schema=town.schema(diagnosis=shoal.identifier),
        strengths=[4],
        methods="mondrian",
        out=None,
    )
    (one,) = plain.points
    assert (one.rule, one.risk_value, one.base) == ("k-anonymity k=4", None, None)
    assert "mondrian" in str(plain)


def test_what_is_not_met_is_listed_with_its_reason(town):
    found = compare(town, ["k-anonymity k=4", "k-anonymity k=1000"], methods=["mondrian"])
    good, bad = found.points
    assert good.on_frontier
    assert bad.loss is None
    assert not bad.on_frontier
    assert bad.reason
    assert f"not made: mondrian, k-anonymity k=1000: {bad.reason}" in str(found)
    assert "Not made" in (found.folder / "frontier.html").read_text(encoding="utf-8")
    nothing = compare(town, ["k-anonymity k=1000"], methods=["mondrian"], out=None)
    assert str(nothing).startswith("0 of 1 releases")


def test_all_methods_are_compared_unless_some_are_named(town, monkeypatch):
    monkeypatch.setattr(verb, "known_methods", lambda: list(METHODS))
    found = compare(town, ["k-anonymity k=4"], methods=None, out=None)
    assert {one.method for one in found.points} == set(METHODS)


# Going on


@pytest.fixture
def made(undrawn, monkeypatch):
    """The methods that were run, in their order."""
    ran = []
    make = verb.make_cut
    monkeypatch.setattr(verb, "is_compiled", lambda *asked: True)

    def counted(tally, request):
        ran.append((request.method, str(request.rule)))
        return make(tally, request)

    monkeypatch.setattr(verb, "make_cut", counted)
    return ran


def test_a_stopped_run_keeps_its_points_and_goes_on(town, made):
    def stop(step, done, total):
        if step == verb.STEP and done >= 2 * verb.STEPS_PER_POINT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(town, progress=stop)
    kept = json.loads((town.folder / "frontier" / "frontier.json").read_text(encoding="utf-8"))
    assert len(kept["points"]) == len(made) == 2
    found = compare(town)
    assert len(made) == 4
    assert len(found.points) == 4
    assert [one.to_json() for one in found.points[:2]] == [
        {**one, "on_frontier": found.points[i].on_frontier} for i, one in enumerate(kept["points"])
    ]


def test_a_later_run_adds_methods_and_rules(town, made):
    compare(town, ["k-anonymity k=2"], methods=["mondrian"])
    found = compare(town, ["k-anonymity k=2", "k-anonymity k=4"], risk="value")
    assert len(made) == len(found.points) == 4
    again = compare(town, ["k-anonymity k=4"], source=_shuffled(town))
    assert len(made) == 4  # the same people in another order are the same table
    assert {one.rule for one in again.points} == {"k-anonymity k=2", "k-anonymity k=4"}


def _shuffled(town):
    return town.write(town.folder / "other.csv", town.rows[::-1])


def test_another_setting_is_refused(town, made):
    asked = {"rules": ["k-anonymity k=2"], "methods": ["mondrian"]}
    compare(town, **asked)
    with pytest.raises(shoal.UsageError, match="another hold back") as error:
        compare(town, **asked, hold_back=0.1)
    assert "--replace" in error.value.hint
    assert len(made) == 1
    assert len(compare(town, **asked, hold_back=0.1, replace=True).points) == 1


def test_another_table_or_schema_is_known():
    tally, _ = testing.sample(1)
    plain = {"on": None, "hold_back": 0.0, "auto_hierarchies": False}
    first = open_comparison(None, None, tally, "schema", plain)
    before = EarlierComparison(first.settings, bytes.fromhex(first.settings["key"]), {})
    assert open_comparison(None, before, tally, "schema", plain).settings == first.settings
    more = replace(tally, count=tally.count + 1)
    for given, said in (
        ((more, "schema", plain), "another table"),
        ((tally, "other", plain), "another schema"),
        ((tally, "schema", {**plain, "auto_hierarchies": True}), "another auto hierarchies"),
        ((more, "other", plain), "another schema and table"),
    ):
        with pytest.raises(shoal.UsageError, match=said):
            open_comparison(None, before, *given)


@pytest.mark.parametrize("begun", [False, True])
def test_runs_at_once_keep_each_other_s_points(town, made, begun):
    """The second run begins and ends while the first is at work; nobody's point is lost."""
    rules = ["k-anonymity k=2", "k-anonymity k=4"]
    if begun:
        compare(town, rules[:1], methods=["hilbert"])
    others = iter([{"rules": ["k-anonymity k=8"]}, {"rules": rules[1:], "methods": ["chain"]}])

    def meanwhile(step, done, total):
        if step == verb.STEP and done % verb.STEPS_PER_POINT == 0 and (asked := next(others, None)):
            compare(town, **asked)

    found = compare(town, rules, progress=meanwhile)
    there = {(one.method, one.rule) for one in found.points}
    assert {(name, f"k-anonymity k={k}") for name in METHODS for k in (2, 4, 8)} <= there
    assert len(there) == len(made) == 6 + begun  # what the other run made is not made again
    told = json.loads((found.folder / "frontier.json").read_text(encoding="utf-8"))
    assert {(one["method"], one["rule"]) for one in told["points"]} == there


def test_a_run_with_other_settings_does_not_mix_in(town, made):
    others = iter([{"hold_back": 0.1}])

    def meanwhile(step, done, total):
        if step == verb.STEP and (asked := next(others, None)):
            compare(town, ["k-anonymity k=8"], **asked)

    with pytest.raises(shoal.UsageError, match="another hold back"):
        compare(town, progress=meanwhile)
    told = json.loads((town.folder / "frontier" / "frontier.json").read_text(encoding="utf-8"))
    assert {one["rule"] for one in told["points"]} == {"k-anonymity k=8"}


def test_two_do_not_write_at_once(tmp_path):
    order = []

    def other():
        with lock_folder(tmp_path, LOCK):
            order.append("other")

    with lock_folder(tmp_path, LOCK):
        waiting = threading.Thread(target=other)
        waiting.start()
        waiting.join(0.1)
        order.append("one")
    waiting.join()
    assert order == ["one", "other"]


def test_nothing_is_written_or_replaced_before_a_point_is_finished(town, made):
    def stop(step, done, total):
        if step == verb.STEP:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(town, progress=stop)
    assert town.names() == {"people.csv"}
    file = compare(town, ["k-anonymity k=2"]).folder / "frontier.json"
    before = file.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        compare(town, hold_back=0.1, replace=True, progress=stop)
    assert file.read_bytes() == before


def test_what_a_killed_run_left_is_no_hindrance(town, made):
    place = town.folder / "frontier"
    place.mkdir()
    for name in (LOCK, ".frontier.json.0a1b2c3d.part"):
        (place / name).touch()
    assert compare(town, ["k-anonymity k=2"]).made
    assert {path.name for path in place.iterdir()} == {LOCK, "frontier.json", "frontier.html"}


def test_a_stopped_run_s_file_has_the_whole_line_to_publish(town, made):
    def stop(step, done, total):
        if step == verb.STEP and done >= verb.STEPS_PER_POINT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(town, hold_back=0.05, auto_hierarchies=True, progress=stop)
    told = json.loads((town.folder / "frontier" / "frontier.json").read_text(encoding="utf-8"))
    assert told["command"].endswith('-m "RULE" --hold-back 0.05 --auto-hierarchies -o release/')


# Levels


def test_columns_without_levels_are_noted_once(town, undrawn):
    found = compare(town, ["k-anonymity k=4"], methods=["datafly", "chain", "mondrian"])
    said = 'Column "age" has no levels between its values and *, and datafly works by levels'
    assert [note.startswith(said) for note in found.notes] == [True, False]
    assert found.notes[-1] == "These methods work by levels: datafly, chain."
    assert found.to_json()["notes"] == list(found.notes)
    assert compare(town, ["k-anonymity k=4"], methods=["mondrian"], out=None).notes == ()


def test_automatic_levels_are_for_the_methods_that_need_them(town, undrawn):
    found = compare(town, ["k-anonymity k=4"], auto_hierarchies=True)
    assert "was given automatic ones" in found.notes[0]
    assert "--auto-hierarchies" in found.command
    bare = compare(town, ["k-anonymity k=4"], out=None)
    for one, other in zip(found.points, bare.points, strict=True):
        asked = {"method": one.method, "dry_run": True, "auto_hierarchies": True}
        assert one.loss == pytest.approx(town.publish(one.rule, **asked).private["loss"])
        assert (one.loss == other.loss) is (one.method == "mondrian")


# Memory and compiling


def test_a_method_that_lacks_memory_does_not_end_the_run(town, undrawn, monkeypatch):
    make = verb.make_cut

    def hungry(tally, request):
        if request.method == "mondrian":
            raise MemoryError
        return make(tally, request)

    monkeypatch.setattr(verb, "make_cut", hungry)
    first, second = compare(town, ["k-anonymity k=4"]).points
    assert (first.reason, first.loss) == ("There is not enough memory.", None)
    assert second.loss is not None
    monkeypatch.setattr(verb, "make_cut", make)
    again = compare(town, ["k-anonymity k=4"]).points  # another time there may be enough
    assert [one.loss is None for one in again] == [False, False]


def test_compiling_is_told_and_not_timed(town, monkeypatch):
    told, made = [], []
    monkeypatch.setattr(verb, "is_compiled", lambda *asked: bool(made))
    monkeypatch.setattr(verb, "COMPILE_ENTRIES", 10)
    make = verb.make_cut

    def counted(tally, request):
        made.append(tally.entries)
        return make(tally, request)

    monkeypatch.setattr(verb, "make_cut", counted)
    found = compare(
        town, methods=["mondrian"], out=None, progress=lambda step, done, total: told.append(step)
    )
    assert told.count(verb.COMPILING) == 1
    assert made[0] == 10  # a part of the table first, then the whole for each rule
    assert len(made) == 3
    assert made[1] == made[2] > 10
    assert all(one.rows == len(town.rows) for one in found.points)


def test_a_folder_of_others_is_left_alone(town, undrawn):
    (town.folder / "frontier").mkdir()
    compare(town, ["k-anonymity k=2"], methods=["mondrian"])  # an empty one will do
    (town.folder / "frontier" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="not a comparison's"):
        compare(town, replace=True)
    release = town.publish()
    with pytest.raises(shoal.UsageError, match="is not a comparison"):
        compare(town, out=release.folder)
    with pytest.raises(shoal.UsageError, match="release, which is public"):
        compare(town, out=release.folder / "frontier")
    with pytest.raises(shoal.UsageError, match="is not a comparison"):
        compare(town, out=release.companion)
    for inside in ("frontier", "some/frontier"):
        with pytest.raises(shoal.UsageError, match="of a private companion"):
            compare(town, out=release.companion / inside)


def test_a_damaged_file_is_not_gone_on_with(town, undrawn):
    found = compare(town, ["k-anonymity k=2"], methods=["mondrian"])
    (found.folder / "frontier.json").write_text("{", encoding="utf-8")
    with pytest.raises(shoal.InputError, match="cannot be read"):
        compare(town)
    assert compare(town, ["k-anonymity k=2"], replace=True).made


def test_every_point_of_a_file_is_looked_at(town, undrawn):
    found = compare(town, ["k-anonymity k=2"], methods=["mondrian"])
    file = found.folder / "frontier.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    (point,) = whole["points"]
    odd = {
        "loss": ["abc", float("nan"), float("inf"), True, 1.5, -0.1, None, 10**400],
        "method": [["x"], None, "\ud800"],
        "rule": [5],
        "risk_identity": [None, "0.1"],
        "known_identity": [None, 2],
        "risk_value": [None, [0.1]],
        "base": [None, "x"],
        "classes": ["x", 1.5, -1, True],
        "rows": [None],
        "held_back": [{}],
        "seconds": [None, "1", float("inf"), -1, 10**400],
        "on_frontier": [1, None],
        "reason": [5, None, "it was made, though"],
        "unheard_of": [1],
    }
    bad = [{"points": [{**point, name: value}]} for name, some in odd.items() for value in some]
    bad += [{"points": some} for some in ({}, None, "x", [5], [[]], [{}], [point, point])]
    bad += [{"edition": some} for some in ("1", True, 1.0, 0, None)]
    bad += [{"settings": some} for some in (None, [], "x", {}, {"key": 5}, {"key": "x"})]
    for change in bad:
        file.write_text(json.dumps(whole | change), encoding="utf-8")
        with pytest.raises(shoal.InputError, match="cannot be read") as error:
            check_comparison_folder(found.folder, False)
        assert "--replace" in error.value.hint, change
    for text in ("[]", "5", "null", "[" * 100_000):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(shoal.InputError, match="cannot be read"):
            check_comparison_folder(found.folder, False)
    file.write_text(json.dumps(whole | {"edition": 99, "points": {}}), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="edition 99"):
        check_comparison_folder(found.folder, False)
    file.write_text(json.dumps(whole), encoding="utf-8")
    assert check_comparison_folder(found.folder, False).points == {
        ("mondrian", "k-anonymity k=2"): found.points[0]
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"methods": "mondrain"}, "no method 'mondrain'"),
        ({"methods": []}, "No method"),
        ({"risk": "harm"}, "no risk 'harm'"),
        ({"max_risk": 5}, "between 0 and 1"),
        ({"on": "age"}, "no sensitive column 'age'"),
        ({"strengths": [3]}, "alternatives"),
        ({"rules": ["t-closeness t=0.2 on=job"]}, "job"),
        ({"rules": ["k-map k=2"]}, "population"),
        ({"on": "zip"}, "no sensitive column 'zip'"),
        ({"schema": "none", "risk": "value"}, "no sensitive value"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(town, made, asked, said):
    schemas = {
        "none": town.schema(diagnosis=shoal.identifier),
    }
    asked = {k: schemas.get(v, v) if k == "schema" else v for k, v in asked.items()}
    with pytest.raises(shoal.UsageError, match=said):
        compare(town, asked.pop("rules", ["k-anonymity k=2"]), **asked)
    assert made == []
    assert town.names() == {"people.csv"}


def test_kept_columns_must_be_accepted(town, undrawn):
    schema = town.schema(born=shoal.keep)
    with pytest.raises(shoal.NotMetError, match="born"):
        compare(town, schema=schema)
    assert compare(town, schema=schema, accept_keep=True).made


# Kept columns


@pytest.mark.parametrize("column", ["hospital", "name"])
def test_kept_columns_are_known_to_the_adversary(town, undrawn, column):
    """A class in which everybody has a name of their own hides nobody."""
    schema = town.schema(**{column: shoal.keep})
    asked = {"method": "chain", "accept_keep": True}
    rows = town.published(town.publish("k-anonymity k=4", schema, **asked))
    found = compare(town, ["k-anonymity k=4"], schema=schema, accept_keep=True, methods=["chain"])
    (one,) = found.points
    sizes = Counter(tuple(row[name] for name in (*town.quasi, column)) for row in rows)
    assert one.risk_identity == pytest.approx(len(sizes) / len(rows))  # cells do not overlap
    best = Counter()
    for row in rows:
        seen = tuple(row[name] for name in (*town.quasi, column))
        best[seen] = max(
            best[seen],
            sum(
                other["diagnosis"] == row["diagnosis"]
                and tuple(other[name] for name in (*town.quasi, column)) == seen
                for other in rows
            ),
        )
    assert one.risk_value == pytest.approx(best.total() / len(rows))
    assert one.classes == len(Counter(tuple(row[name] for name in town.quasi) for row in rows))
    assert f"of everybody it knows the kept columns too: {column}" in found.to_json()["assumptions"]
    assert found.notes[0].endswith(f"whoever knows them: {column}.")
    assert "--accept-keep" in found.command


def test_another_kept_column_is_another_table(town, undrawn):
    asked = {"schema": town.schema(name=shoal.keep), "accept_keep": True, "methods": ["chain"]}
    compare(town, ["k-anonymity k=4"], **asked)
    compare(town, ["k-anonymity k=4"], **asked, source=_shuffled(town))
    rows = [{**row, "name": "Somebody"} for row in town.rows]
    other = town.write(town.folder / "renamed.csv", rows)
    with pytest.raises(shoal.UsageError, match="another table"):
        compare(town, ["k-anonymity k=4"], **asked, source=other)


def test_divided_entries_are_divided_with_their_kept_columns():
    """Every class keeps its rows, and every kept value its people, wherever chance sends them."""
    tally, _ = testing.sample(3)
    entry = np.repeat(np.arange(tally.entries, dtype=np.int32), 2)
    half = tally.count // 2
    count = np.stack((half, tally.count - half), axis=1).ravel()
    class_ = np.tile(np.array([0, 1], np.int32), tally.entries)
    class_[-1] = -1
    cut = replace(two_classes(tally, entry, class_), count=count)
    part_of = np.repeat(np.arange(tally.entries, dtype=np.int32), 2)
    kept = np.tile(np.array([[0, 1]]), tally.entries)
    known = replace(
        tally,
        quasi=(*tally.quasi, tally.quasi[0].numbered("kept", 2)),
        keys=np.concatenate((tally.keys[:, part_of], kept)),
        values=tally.values[:, part_of],
        count=np.stack((tally.count - half, half), axis=1).ravel(),
        providers=None,
    )
    seen, fine = CountedTable(tally, known, part_of).view(cut)
    assert seen is known
    assert fine.suppressed == cut.suppressed > 0
    assert np.array_equal(np.bincount(fine.entry, fine.count, known.entries), known.count)
    into = fine.cells.low[:, -1]
    assert np.array_equal(into, fine.cells.high[:, -1])
    for at in np.flatnonzero(fine.class_ >= 0):
        assert kept[0, fine.entry[at]] == into[fine.class_[at]]
    coarse = np.array(
        [
            next(
                c
                for c in range(2)
                if np.array_equal(cut.cells.low[c], low) and np.array_equal(cut.cells.high[c], high)
            )
            for low, high in zip(fine.cells.low[:, :-1], fine.cells.high[:, :-1], strict=True)
        ]
    )
    there = fine.class_ >= 0
    rows = np.bincount(coarse[fine.class_[there]], fine.count[there], 2)
    own = cut.class_ >= 0
    assert np.array_equal(rows, np.bincount(cut.class_[own], cut.count[own], 2))


def two_classes(tally, entry, class_):
    """A cut whose two classes publish different cells, so that they can be told apart."""
    low = np.zeros((2, len(tally.quasi)), np.int32)
    return Cut(entry, class_, tally.count[entry], Cells(low, low + np.array([[1], [2]], np.int32)))
