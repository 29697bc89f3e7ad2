"""A release's recoding, applied to other people: the same cells, counted, judged and verified."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal import InputError, KAnonymity, NotMetError, SchemaError, UsageError
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Tally
from shoal.methods._shared.placement import place_in_cells

QUASI = ("age", "sex", "zip")


def table(path: Path, head: str, rows) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(head.split(","))
        out.writerows(rows)
    return path


def labels(release) -> Counter:
    with release.path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle))
    return Counter(map(tuple, rows[1:]))


def lies_in(row, cells) -> bool:
    """Whether somebody's (age, sex, zip) lies under labels, read by the test itself."""
    ends = re.fullmatch(r"\[(\d+)-(\d+)\]", cells[0])
    low, high = (int(ends[1]), int(ends[2])) if ends else (cells[0], cells[0])
    age = cells[0] == "*" or (
        (ends is not None and low <= int(row["age"]) <= high) or row["age"] == low
    )
    sex = cells[1] in ("*", row["sex"], "{f, m}")
    return age and sex and row["zip"].startswith(cells[2].rstrip("*"))


# By the classes' cells


@pytest.fixture(scope="module")
def cut(standing):
    """A release of Mondrian's, its cells, and 300 other people with whom they are filled."""
    release = standing.publish(out=standing.folder / "cut")
    cells = {tuple(row[name] for name in QUASI) for row in standing.published(release)}
    rows = [dict(row) | {"patient": f"N{i}"} for i, row in enumerate(standing.people(300, seed=2))]
    return release, cells, rows


def test_rows_get_the_cells_of_the_class_they_lie_in(standing, cut):
    """Mondrian's classes do not overlap, so that plain Python knows where everybody goes."""
    release, cells, rows = cut
    home = [next((one for one in cells if lies_in(row, one)), None) for row in rows]
    expected = Counter(one for one in home if one is not None)
    expected = {one: n for one, n in expected.items() if n >= 4}
    new = standing.write(standing.folder / "covered.csv", rows)
    again = shoal.publish(new, like=release, hold_back=0.6, out=standing.folder / "covered")
    found = Counter(tuple(row[name] for name in QUASI) for row in standing.published(again))
    assert found == expected
    assert again.private["rows_not_covered"] == home.count(None)
    assert again.private["held_back"] == 300 - sum(expected.values())
    assert shoal.verify(again.folder).holds
    told, about = standing.manifest(again), standing.manifest(release)
    assert (told["like"], told["method"]) == (about["sha256"], "mondrian")
    assert told["rule"] == about["rule"]
    assert "like" not in about
    assert standing.companion(again)["schema"] == standing.companion(release)["schema"]


def test_what_is_not_covered_is_counted_by_column_and_refused(standing, cut):
    release, cells, rows = cut
    ages = {row["age"] for row in rows if not any(lies_in(row, (c[0], "*", "*")) for c in cells)}
    strange = [row for row in rows if row["age"] in ages]
    apart = sum(not any(lies_in(row, one) for one in cells) for row in rows) - len(strange)
    home = Counter(next((c for c in cells if lies_in(row, c)), None) for row in rows)
    few = sum(n for one, n in home.items() if one is not None and n < 4)
    assert ages
    assert min(apart, few) > 0
    new = standing.write(standing.folder / "refused.csv", rows)
    with pytest.raises(InputError) as refused:
        shoal.publish(new, like=release, out=standing.folder / "refused")
    assert refused.value.fact.endswith(
        f"does not cover {len(strange) + apart} of 300 rows: {len(ages)} values of column 'age' "
        f"({len(strange)} rows); {apart} rows with values that no class has together. "
        f"Of the others, {few} do not meet the rule."
    )
    whole = re.search(r"let (\d+) rows be held back with --hold-back (0\.\d+)", refused.value.hint)
    assert int(whole[1]) == len(strange) + apart + few
    done = shoal.publish(new, like=release, hold_back=float(whole[2]))
    assert done.private["held_back"] == int(whole[1]), "one hint is enough"
    assert not (standing.folder / "refused").exists()
    share = (len(strange) + apart - 1) / 300
    with pytest.raises(InputError, match="does not cover"):
        shoal.publish(new, like=release, hold_back=share)
    with pytest.raises(NotMetError, match="too few people share their cells") as failed:
        shoal.publish(new, like=release, hold_back=(len(strange) + apart + 0.5) / 300)
    assert failed.value.hint == refused.value.hint


def test_nobody_whom_the_recoding_covers_is_an_error_whatever_may_be_held_back(standing, cut):
    rows = [row | {"zip": "99999"} for row in cut[2][:30]]
    new = standing.write(standing.folder / "nobody.csv", rows)
    with pytest.raises(InputError, match=r"30 of 30 rows: .*1 values of column 'zip' \(30 rows\)"):
        shoal.publish(new, like=cut[0], hold_back=1.0)


def test_rows_held_back_may_be_starred(standing, cut):
    new = standing.write(standing.folder / "starred.csv", cut[2])
    out = standing.folder / "starred"
    again = shoal.publish(new, like=cut[0], hold_back=0.6, held_back_as="starred", out=out)
    assert again.verdict.rows == 300
    cells = {tuple(row[name] for name in QUASI) for row in standing.published(again)}
    assert ("*", "*", "*") in cells
    assert cells <= cut[1] | {("*", "*", "*")}
    lost = again.private["starred"]
    with pytest.raises(InputError, match=f"does not cover {lost} of 300 rows"):
        shoal.publish(new, like=again)
    how = {"hold_back": 0.6, "held_back_as": "starred"}
    third = shoal.publish(new, like=again, out=standing.folder / "third", **how)
    assert third.private["rows_not_covered"] == third.private["starred"] == lost
    assert labels(third) == labels(again)


def test_a_release_of_one_class_of_stars_is_a_recoding_too(standing):
    first = standing.publish("k-anonymity k=80", out=standing.folder / "all")
    assert {row[:3] for row in labels(first)} == {("*", "*", "*")}
    assert shoal.publish(standing.table, like=first).private["rows_not_covered"] == 0


def test_of_several_classes_the_narrowest_has_the_row(tmp_path):
    schema = shoal.Schema.of(quasi="age", sensitive="ill")
    then = table(tmp_path / "then.csv", "age,ill", [(a, "flu") for a in (20, 30, 30, 30, 30, 60)])
    first = shoal.publish(then, schema, "k-anonymity k=3", relaxed=True, out=tmp_path / "first")
    assert labels(first) == {("[20-30]", "flu"): 3, ("[30-60]", "flu"): 3}
    ages = (22, 30, 30, 30, 31, 40, 50)
    now = table(tmp_path / "now.csv", "age,ill", [(age, "gout") for age in ages])
    again = shoal.publish(now, like=first, out=tmp_path / "again")
    assert labels(again) == {("[20-30]", "gout"): 4, ("[30-60]", "gout"): 3}
    assert again.manifest["parameters"] == {"relaxed": True}


AXIS = Axis("age", "number", "ordered", tuple(map(float, range(10))), positions=np.arange(10.0))


def people_at(ages) -> Tally:
    codes, count = np.unique(ages, return_counts=True)
    nothing = np.zeros((0, len(codes)), np.int32)
    return Tally((AXIS,), (), codes[np.newaxis].astype(np.uint8), nothing, count)


def ranges(*ends) -> Cells:
    low, high = np.array(ends, np.int32).T[:, :, np.newaxis]
    return Cells(low, high)


@pytest.mark.parametrize(
    ("ages", "rows"),
    [
        ([2, 2, 2, 3, 8, 8], {(2, 3): 4, (0, 9): 2}),
        ([2, 2, 2, 3, 3, 8], {(0, 9): 6}),  # the wide class takes everybody who lies in it
        ([2, 8, 8, 8, 8, 8], {(0, 9): 6}),  # the narrow one is given up
    ],
)
def test_a_wide_class_is_not_left_with_few(ages, rows):
    tally = people_at(ages)
    cut = place_in_cells(tally, tally.keys.astype(np.int32), ranges((2, 3), (0, 9)), KAnonymity(2))
    sizes = np.bincount(cut.class_, weights=cut.count).astype(int).tolist()
    ends = zip(cut.cells.low[:, 0].tolist(), cut.cells.high[:, 0].tolist(), strict=True)
    assert dict(zip(ends, sizes, strict=True)) == rows


def test_everybody_is_in_cells_that_contain_them_and_no_more_fail_than_in_the_narrowest():
    rng = np.random.default_rng(3)
    better = 0
    for _ in range(60):
        ends = np.sort(rng.integers(0, 10, (6, 2)), axis=1)
        ends = np.unique(ends, axis=0)[np.argsort(np.diff(np.unique(ends, axis=0))[:, 0])]
        tally = people_at(rng.integers(0, 10, 20))
        cut = place_in_cells(tally, tally.keys.astype(np.int32), ranges(*ends), KAnonymity(4))
        narrow = Counter()
        for age, count in zip(tally.keys[0].tolist(), tally.count.tolist(), strict=True):
            home = next((i for i, (low, high) in enumerate(ends) if low <= age <= high), None)
            narrow[home] += count
        now = Counter()
        for entry, class_, count in zip(cut.entry, cut.class_, cut.count, strict=True):
            now[int(class_)] += int(count)
            age = tally.keys[0, entry]
            assert class_ < 0 or cut.cells.low[class_, 0] <= age <= cut.cells.high[class_, 0]
        assert now.pop(-1, 0) == narrow.pop(None, 0) == cut.suppressed
        failing = [sum(n for n in one.values() if n < 4) for one in (now, narrow)]
        assert failing[0] <= failing[1]
        better += failing[0] < failing[1]
    assert better > 10


def test_bins_of_the_old_data_are_kept(tmp_path):
    schema = shoal.Schema.of(sensitive="ill").set(age=shoal.quasi(shoal.equal_frequency(4, 2)))
    then = table(tmp_path / "then.csv", "age,ill", [(age, "flu") for age in range(20, 40)])
    first = shoal.publish(then, schema, "k-anonymity k=5", method="chain", out=tmp_path / "first")
    assert len(labels(first)) == 4
    ages = [20, 21, 22, 23, 24] * 9 + [30, 31, 32, 33, 34]
    now = table(tmp_path / "now.csv", "age,ill", [(age, "flu") for age in ages])
    again = shoal.publish(now, like=first, out=tmp_path / "again")
    assert labels(again) == {("[20-24]", "flu"): 45, ("[30-34]", "flu"): 5}


# By levels

TOWNS = {"Bern": "Swiss", "Basel": "Swiss", "Graz": "Austrian", "Wien": "Austrian"}


def levelled(folder: Path):
    """A release of one level for each column, from people with few codes."""
    schema = shoal.Schema.of(quasi="zip", sensitive="ill").set(
        town=shoal.quasi(shoal.tree([(*pair, "*") for pair in TOWNS.items()])),
        born=shoal.quasi(shoal.dates("month", "year"), kind="date"),
        zip=shoal.quasi(kind="code"),
    )
    codes = ["13053", "13068", "14850", "14853"]
    rows = [
        (code, town, f"196{i % 2}-0{1 + i % 3}-07", "flu")
        for code in codes
        for town in TOWNS
        for i in range(8)
    ]
    then = table(folder / "then.csv", "zip,town,born,ill", rows)
    how = {"method": "chain", "order": ("born", "zip"), "out": folder / "then"}
    return shoal.publish(then, schema, "k-anonymity k=12", **how)


@pytest.fixture(scope="module")
def by_level(tmp_path_factory):
    release = levelled(tmp_path_factory.mktemp("levels"))
    assert release.private["levels"] == {"zip": 2, "town": 0, "born": 3}
    assert {row[0] for row in labels(release)} == {"130**", "148**"}
    return release


def test_levels_are_applied_to_values_and_combinations_that_were_not_there(by_level, tmp_path):
    """Of the codes that come now two digits would be the second level, and one the third."""
    codes = ["13053", "13054", "13153", "24001"]
    rows = [(code, town, "1999-01-01", "flu") for code in codes for town in TOWNS] * 12
    again = shoal.publish(
        table(tmp_path / "now.csv", "zip,town,born,ill", rows), like=by_level, out=tmp_path / "now"
    )
    shown = {(row[0], row[2]) for row in labels(again)}
    assert {one for one, _ in shown} >= {"130**"}
    assert {one[:3] for one, _ in shown} == {"130", "131", "240"}
    assert {born for _, born in shown} == {"*"}, "one day is left, and it stays hidden"
    assert {row[1] for row in labels(again)} == set(TOWNS)
    assert again.verdict.rows == 192
    assert again.private["levels"] == by_level.private["levels"]
    assert shoal.verify(again.folder).holds
    third = shoal.publish(tmp_path / "now.csv", like=again, out=tmp_path / "third")
    assert labels(third) == labels(again)


def test_a_value_that_its_hierarchy_does_not_know_is_counted_and_never_named(by_level, tmp_path):
    rows = [("13053", town, "1960-01-01", "flu") for town in TOWNS] * 12
    rows += [("13053", "Atlantis", "1960-01-01", "flu"), ("13053", "", "1960-01-01", "flu")]
    now = table(tmp_path / "now.csv", "zip,town,born,ill", rows)
    with pytest.raises(InputError) as refused:
        shoal.publish(now, like=by_level)
    assert "1 of 50 rows: 1 values of column 'town' (1 rows)." in refused.value.fact
    assert "Atlantis" not in str(refused.value)
    with pytest.raises(NotMetError, match="2 of 50 rows"):
        shoal.publish(now, like=by_level, hold_back=0.02)
    again = shoal.publish(now, like=by_level, hold_back=0.04, out=tmp_path / "now")
    assert (again.private["rows_not_covered"], again.private["held_back"]) == (1, 2)
    assert {row[1] for row in labels(again)} == set(TOWNS)


def test_a_tree_that_has_grown_may_be_given(by_level, tmp_path):
    rows = [("13053", town, "1960-01-01", "flu") for town in (*TOWNS, "Linz")] * 12
    now = table(tmp_path / "now.csv", "zip,town,born,ill", rows)
    more = [*((*pair, "*") for pair in TOWNS.items()), ("Linz", "Austrian", "*")]
    schema = shoal.Schema.of(quasi=["zip", "town", "born"], sensitive="ill")
    schema = schema.set(town=shoal.quasi(shoal.tree(more)))
    assert shoal.publish(now, schema, like=by_level).verdict.rows == 60
    fewer = schema.set(town=shoal.quasi(shoal.tree(more[1:])))
    with pytest.raises(SchemaError, match=r"town \(hierarchy\)"):
        shoal.publish(now, fewer, like=by_level)


def test_bounds_and_domains_are_part_of_the_recoding(tmp_path):
    schema = shoal.Schema.of(sensitive="ill").set(
        age=shoal.quasi(shoal.intervals(10, 20), bounds=(0, 99)),
        sex=shoal.quasi(domain=["f", "m"]),
    )
    head, people = "age,sex,ill", [(20 + i % 20, "fm"[i % 2], "flu") for i in range(40)]
    then = table(tmp_path / "then.csv", head, people)
    first = shoal.publish(then, schema, "k-anonymity k=9", method="chain", out=tmp_path / "first")
    now = table(tmp_path / "now.csv", head, [*people, (120, "m", "flu"), (21, "x", "flu")])
    with pytest.raises(InputError) as refused:
        shoal.publish(now, like=first)
    assert "2 of 42 rows: 1 values of column 'age' (1 rows); 1 values of" in refused.value.fact
    again = shoal.publish(now, like=first, hold_back=0.05, out=tmp_path / "again")
    assert labels(again) == labels(first)


def test_part_of_a_release_that_was_based_on_another_has_levels_and_cells_are_used(town):
    town.publish("k-anonymity k=9", method="chain")
    first = town.folder / "release"
    second = town.publish(
        "k-anonymity k=9", method="chain", based_on=first, out=town.folder / "second"
    )
    again = town.publish(like=second, out=town.folder / "again")
    assert "levels" not in again.private
    assert town.sizes(again) == town.sizes(second)


# What is asked, and what cannot be


def test_a_requirement_may_be_given_and_is_judged_on_the_new_people(by_level, tmp_path):
    rows = [("13053", "Bern", "1960-01-01", ill) for ill in ("flu", "gout")] * 6
    now = table(tmp_path / "now.csv", "zip,town,born,ill", rows)
    rule = "k-anonymity k=12 & distinct-diversity l=2"
    assert shoal.publish(now, None, rule, like=by_level).verdict.holds
    with pytest.raises(NotMetError) as failed:
        shoal.publish(now, rule="k-anonymity k=13", like=by_level)
    assert failed.value.hint == "weaken the rule, or make a new release without --like."


def test_the_quasi_identifiers_must_be_those_of_the_release(standing, cut):
    other = standing.schema(zip=shoal.sensitive, born=shoal.quasi)
    with pytest.raises(SchemaError, match=r"asked for: born, zip\.") as refused:
        shoal.publish(standing.table, other, like=cut[0])
    assert "leave the schema out" in refused.value.hint
    wrong = standing.schema(age=shoal.quasi(shoal.prefixes(), kind="code"))
    with pytest.raises(SchemaError, match=r"age \(kind\), age \(hierarchy\)"):
        shoal.publish(standing.table, wrong, like=cut[0])
    lacking = [{k: v for k, v in row.items() if k != "zip"} for row in standing.rows]
    table = standing.write(standing.folder / "lacking.csv", lacking)
    with pytest.raises(SchemaError, match='lacks columns of the schema: "zip"'):
        shoal.publish(table, like=cut[0])
    roles = standing.schema(diagnosis=shoal.identifier)
    assert "diagnosis" not in shoal.publish(standing.table, roles, like=cut[0]).manifest["columns"]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"method": "mondrian"}, "--method"),
        ({"relaxed": True}, "--relaxed"),
        ({"based_on": "release"}, "--based-on"),
        ({"after": ["release"]}, "--after"),
        ({"form": "buckets"}, "--form buckets"),
        ({"auto_hierarchies": True}, "--auto-hierarchies"),
    ],
)
def test_what_decides_about_classes_cannot_be_combined_with_it(standing, settings, word):
    with pytest.raises(UsageError, match=f"cannot be combined with {word}") as refused:
        shoal.publish(standing.table, like=standing.folder / "nowhere", **settings)
    assert "--based-on" in refused.value.hint


def test_what_has_no_recoding_is_refused(standing, cut, tmp_path):
    with pytest.raises(UsageError, match="Only a release's folder"):
        shoal.publish(standing.table, like=standing.table)
    with pytest.raises(InputError, match="There is no file or folder"):
        shoal.publish(standing.table, like=tmp_path / "nowhere")
    out = tmp_path / "buckets"
    standing.publish("distinct-diversity l=2", form="buckets", out=out, accept_keep=True)
    with pytest.raises(UsageError, match="no generalised cells"):
        shoal.publish(standing.table, like=out)
    with pytest.raises(InputError, match=r"private companion of .* is missing"):
        shoal.publish(standing.table, like=replace(cut[0], companion=tmp_path / "gone"))
    with pytest.raises(UsageError, match="needs a schema and a rule"):
        shoal.publish(standing.table)


def changed(release, folder: Path, manifest=None, companion=None) -> Path:
    """A copy of a release with other words in its records."""
    out = folder / "copy"
    shutil.copytree(release.folder, out)
    shutil.copytree(release.companion, folder / "copy.private")
    files = out / "manifest.json", folder / "copy.private" / "companion.json"
    for path, more in zip(files, (manifest, companion), strict=True):
        told = json.loads(path.read_text(encoding="utf-8")) | (more or {})
        path.write_text(json.dumps({k: v for k, v in told.items() if v is not None}))
    return out


LEVELS = {"zip": 2, "town": 0, "born": 3}


@pytest.mark.parametrize(
    ("levels", "wrong"),
    [
        (LEVELS | {"town": 1}, "town"),
        (LEVELS | {"town": 7}, "town"),
        (LEVELS | {"town": 1, "zip": 0}, "zip, town"),
        (LEVELS | {"born": 0}, None),  # every label is *: the level says nothing
    ],
)
def test_levels_must_be_able_to_give_the_labels(by_level, tmp_path, levels, wrong):
    copy = changed(by_level, tmp_path, companion={"levels": levels})
    rows = [("13053", "Bern", "1960-01-01", "flu")] * 12
    now = table(tmp_path / "now.csv", "zip,town,born,ill", rows)
    if wrong is None:
        assert shoal.publish(now, like=copy).verdict.holds
        return
    with pytest.raises(InputError, match=f"do not give the labels of the table: {wrong}\\."):
        shoal.publish(now, like=copy)


NUMBERS, DAYS = (21, 24, 33, 38, 61), ("1960-01-07", "1960-02-03", "1961-03-04", "1961-08-09")
RANGES = {
    "intervals": (shoal.quasi(shoal.intervals(10, 20), kind="number"), NUMBERS),
    "bounded": (shoal.quasi(shoal.intervals(10, 20), kind="number", bounds=(0, 99)), NUMBERS),
    "open": (shoal.quasi(shoal.intervals(10, 20, bottom=25), kind="number"), NUMBERS),
    "dates": (shoal.quasi(shoal.dates("year", "decade"), kind="date"), DAYS),
}


@pytest.mark.parametrize("hierarchy", RANGES)
def test_levels_of_ranges_are_checked_too(tmp_path, hierarchy):
    role, values = RANGES[hierarchy]
    schema = shoal.Schema.of(sensitive="ill").set(x=role)
    rows = [(value, "flu") for value in (*values, values[-1])]
    then = table(tmp_path / "then.csv", "x,ill", rows)
    how = {"method": "chain", "out": tmp_path / "release"}
    release = shoal.publish(then, schema, "k-anonymity k=2", **how)
    assert release.private["levels"] == {"x": 1}
    for level in range(4):
        folder = tmp_path / str(level)
        folder.mkdir()
        copy = changed(release, folder, companion={"levels": {"x": level}})
        if level == 1:
            assert shoal.publish(then, like=copy).verdict.holds
            continue
        with pytest.raises(InputError, match="do not give the labels of the table: x"):
            shoal.publish(then, like=copy)


@pytest.mark.parametrize(
    ("manifest", "companion", "word"),
    [
        ({"method": "chain"}, {}, "do not agree on: method"),
        ({"parameters": {"relaxed": True}}, {}, "do not agree on: parameters"),
        ({"parameters": "x"}, {}, "do not agree on: parameters"),
        ({"parameters": "x"}, {"parameters": None}, "manifest is damaged"),
        ({}, {"key": "00" * 31}, "cannot be read"),
        ({}, {"key": None}, "cannot be read"),
    ],
)
def test_records_that_were_changed_are_refused(standing, cut, tmp_path, manifest, companion, word):
    copy = changed(cut[0], tmp_path, manifest, companion)
    with pytest.raises(InputError, match=word):
        shoal.publish(standing.table, like=copy)


def test_who_is_in_both_is_not_known_without_a_column_of_people(standing, cut):
    without = standing.schema(patient=shoal.identifier)
    again = shoal.publish(standing.table, without, like=cut[0])
    assert again.private["people_in_both"] is None
    assert [note for note in again.private["notes"] if "is not known" in note]
    bare = standing.publish(schema=without, out=standing.folder / "bare")
    assert shoal.publish(standing.table, like=bare).private["people_in_both"] is None
    (note,) = shoal.publish(standing.table, like=cut[0]).private["notes"]
    assert note.startswith("no requirement is about diagnosis")


def test_people_who_are_in_both_are_counted(standing, cut):
    same = shoal.publish(standing.table, like=cut[0])
    assert (same.private["people_in_both"], same.private["rows_not_covered"]) == (80, 0)
    rows = [*standing.rows[:70], *(row | {"patient": "X" + row["patient"]} for row in cut[2][:9])]
    new = standing.write(standing.folder / "both.csv", rows)
    assert shoal.publish(new, like=cut[0], hold_back=0.9).private["people_in_both"] == 70


def test_providers_and_populations_are_judged_as_ever(standing, cut):
    rule = "m-privacy m=1 (k-anonymity k=2)"
    found = shoal.publish(standing.table, rule=rule, like=cut[0], hold_back=0.9)
    assert found.verdict.holds
    assert found.private["held_back"] > 0, "some classes have few of one hospital"
    mapped = {"rule": "k-map k=4", "like": cut[0], "population": standing.table}
    assert shoal.publish(standing.table, **mapped).verdict.holds


def test_how_it_was_made_cannot_be_replayed(standing, cut):
    again = shoal.publish(standing.table, like=cut[0], out=standing.folder / "replayed")
    with pytest.raises(UsageError, match="how the release was made"):
        shoal.attack("minimality", again, targets=standing.table, on="diagnosis")
