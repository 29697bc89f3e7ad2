"""Verify: the file is counted again; neither labels nor manifest are taken on trust."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import shoal


@pytest.fixture
def release(town):
    return town.publish("k-anonymity k=4 & distinct-diversity l=2")


def test_a_release_verifies_as_it_was_published(release):
    verdict = shoal.verify(release.folder)
    assert verdict == shoal.verify(str(release.folder)) == shoal.verify(release) == release.verdict
    assert verdict.how == "counted"
    assert verdict.holds


def rewritten(town, release, rows):
    town.write(release.path, rows, list(rows[0]))
    return shoal.verify(release.folder)


def test_an_edited_label_is_caught(town, release):
    rows = town.published(release)
    rows[0]["age"] = "[1-2]"
    verdict = rewritten(town, release, rows)
    assert not verdict.holds
    assert verdict.judgements[0].reached == 1
    assert verdict.judgements[0].failing_rows >= 1


def smallest_class(town, rows):
    labels = Counter(tuple(row[name] for name in town.quasi) for row in rows)
    least = min(labels, key=labels.get)
    return [i for i, row in enumerate(rows) if tuple(row[n] for n in town.quasi) == least]


def test_a_dropped_row_is_caught(town, release):
    rows = town.published(release)
    inside = smallest_class(town, rows)
    for i in reversed(inside[: len(inside) - 3]):
        del rows[i]
    verdict = rewritten(town, release, rows)
    assert not verdict.holds
    assert verdict.judgements[0].reached == 3


def test_a_row_dropped_from_a_large_class_is_caught_too(town, release):
    rows = town.published(release)
    rows.append(dict(rows[0]))
    with pytest.raises(shoal.InputError, match="changed after it was published"):
        rewritten(town, release, rows)


def test_an_added_row_is_caught(town, release):
    rows = town.published(release)
    rows.append({**rows[0], "sex": "x"})
    assert not rewritten(town, release, rows).holds


def test_an_edited_value_is_caught(town, release):
    rows = town.published(release)
    for i in smallest_class(town, rows):
        rows[i]["diagnosis"] = "flu"
    verdict = rewritten(town, release, rows)
    assert not verdict.holds
    assert [part.holds for part in verdict.judgements] == [True, False]


def test_the_manifest_is_not_trusted(town, release):
    rows = town.published(release)
    rows[0]["age"] = "[1-2]"
    town.write(release.path, rows, list(rows[0]))
    manifest = town.manifest(release)
    manifest |= {"rows": 80, "classes": 1, "holds": True}
    (release.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    verdict = shoal.verify(release.folder)
    assert not verdict.holds
    assert verdict.classes > 1


def test_a_damaged_manifest_is_an_error(release):
    path = release.folder / "manifest.json"
    whole = path.read_text(encoding="utf-8")
    elsewhere = whole.replace('"table.csv"', '"../people.csv"')
    newer = whole.replace('"edition": 1,', '"edition": 99,', 1)
    for text in ("", "[]", whole[:50], elsewhere, newer):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(shoal.InputError):
            shoal.verify(release.folder)


def test_another_rule_may_be_asked(release):
    assert not shoal.verify(release.folder, rule="k-anonymity k=60").holds
    verdict = shoal.verify(release.folder, rule=shoal.KAnonymity(2))
    assert verdict.holds
    assert len(verdict.judgements) == 1


def test_any_table_is_verified_by_schema_and_rule(town):
    with pytest.raises(shoal.UsageError, match="does not say what it promises"):
        shoal.verify(town.table)
    verdict = shoal.verify(*raw(town), "k-anonymity k=2")
    assert not verdict.holds
    assert verdict.judgements[0].reached == 1


def raw(town):
    """The town's people without the columns that are never published, and their roles."""
    names = [*town.quasi, "diagnosis"]
    rows = [{name: row[name] for name in names} for row in town.rows]
    schema = shoal.Schema(tuple(town.schema().column(name) for name in names))
    return town.write(town.folder / "raw.csv", rows), schema


@pytest.mark.parametrize("role", ["identifier", "person", "provider", "weight"])
def test_a_table_that_still_holds_private_columns_is_refused(town, role):
    rows = [{"who": str(i), "age": "*", "d": "ab"[i % 2]} for i in range(6)]
    table = town.write(town.folder / "named.csv", rows)
    schema = shoal.Schema.of(quasi="age", sensitive="d", **{role: "who"})
    with pytest.raises(shoal.NotMetError, match="never published: who"):
        shoal.verify(table, schema, "k-anonymity k=2")


@pytest.mark.parametrize("labels", [("NA", "?"), ("a ", "a"), ("20", "20.0"), ("", "null")])
def test_labels_that_differ_are_never_one(town, labels):
    rows = [{"age": label, "d": "a"} for label in (*labels, "x", "x")]
    table = town.write(town.folder / "labels.csv", rows)
    found = shoal.verify(table, shoal.Schema.of(quasi="age", sensitive="d"), "k-anonymity k=2")
    assert not found.holds
    assert found.classes == 3


def test_a_manifest_that_contradicts_its_table_is_noticed(town):
    release = town.publish()
    path = release.folder / "manifest.json"
    good = json.loads(path.read_text(encoding="utf-8"))
    for change in ({"rows": 9}, {"classes": 1}, {"columns": good["columns"] | {"age": "keep"}}):
        path.write_text(json.dumps(good | change), encoding="utf-8")
        with pytest.raises(shoal.InputError, match="was changed after"):
            shoal.verify(release.folder)


def test_a_weaker_promise_than_the_companion_has_is_noticed(town, release):
    manifest = town.manifest(release) | {"rule": "k-anonymity k=2"}
    (release.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for given in (release, release.folder):
        with pytest.raises(shoal.InputError, match="do not agree on: rule"):
            shoal.verify(given)
    (release.companion / "companion.json").write_text("{}", encoding="utf-8")
    with pytest.raises(shoal.InputError, match="cannot be read"):
        shoal.verify(release.folder)
    (release.companion / "companion.json").unlink()
    assert shoal.verify(release.folder).holds  # without it nobody can tell


def test_the_worst_class_is_named_only_when_asked(town):
    rule = "k-anonymity k=2"
    assert "class" not in shoal.verify(*raw(town), rule).judgements[0].worst
    worst = shoal.verify(*raw(town), rule, show=True).judgements[0].worst
    assert worst["rows"] == 1
    labels = Counter(tuple(row[name] for name in town.quasi) for row in town.rows)
    assert labels[tuple(worst["class"][name] for name in town.quasi)] == 1


def test_a_kept_column_is_reported(town):
    schema = town.schema(born=shoal.keep)
    with pytest.raises(shoal.NotMetError, match="kept"):
        town.publish(schema=schema)
    coarse = [{**row, "year": "a" if int(row["age"]) < 50 else "b"} for row in town.rows]
    town.write(town.table, coarse)
    schema = town.schema(year=shoal.keep, age=shoal.identifier)
    verdict = town.publish("k-anonymity k=2", schema, accept_keep=True).verdict
    rows = town.read(town.folder / "release" / "table.csv")
    found = Counter((row["sex"], row["zip"], row["year"]) for row in rows)
    assert verdict.kept_columns_k == min(found.values())


def test_null_in_a_published_table_is_a_label(town):
    rows = [{"age": "", "d": "a"}, {"age": "?", "d": "b"}, {"age": "*", "d": "b"}]
    table = town.write(town.folder / "n.csv", rows)
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    verdict = shoal.verify(table, schema, "k-anonymity k=1")
    assert (verdict.rows, verdict.classes) == (3, 3)


def test_reading_options_are_passed_on(town):
    table = town.folder / "s.txt"
    table.write_text("age|d\n*|a\n*|b\n", encoding="utf-8")
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    assert shoal.verify(table, schema, "k-anonymity k=2", delimiter="|").holds
