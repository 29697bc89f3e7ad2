"""Corners that people ran into: each was wrong once."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

import shoal


def write(path: Path, names: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([names, *rows])
    return path


def test_look_counts_all_of_sixteen_quasi_identifiers(tmp_path):
    draw = random.Random(5)
    names = [f"q{i}" for i in range(16)]
    rows = [[draw.choice("ab") * 3 for _ in names] for _ in range(400)]
    found = shoal.look(write(tmp_path / "t.csv", names, rows), shoal.Schema.of(quasi=names))
    assert found.unique == sum(n == 1 for n in Counter(map(tuple, rows)).values())
    assert len(found.growth()) == 16


def test_replacing_keeps_its_hands_off_foreign_files(tmp_path):
    table = write(tmp_path / "t.csv", ["age", "d"], [[20, "ab"[i % 2]] for i in range(8)])
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "r")
    (tmp_path / "r" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="not a release's"):
        shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "r", replace=True)
    assert (tmp_path / "r" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_original_and_population_are_measured_together(tmp_path):
    rows = [[20 + i % 9, f"04{i % 7}1", "abc"[i % 3]] for i in range(90)]
    table = write(tmp_path / "t.csv", ["age", "zip", "d"], rows)
    schema = shoal.Schema.of(quasi=["age", "zip"], sensitive="d")
    release = shoal.publish(table, schema, "k-anonymity k=5", out=tmp_path / "r")
    found = shoal.audit(release.folder, schema, original=table, population=table)
    assert found.utility["loss"] == pytest.approx(release.private["loss"])
    assert found.risk.journalist == pytest.approx(found.risk.prosecutor)


def test_a_defused_label_is_read_as_what_it_was(tmp_path):
    rows = [["=x" if i % 2 else "yes", 20 + i % 3, "ab"[i % 2]] for i in range(24)]
    table = write(tmp_path / "t.csv", ["c", "age", "d"], rows)
    schema = shoal.Schema.of(quasi=["c", "age"], sensitive="d")
    release = shoal.publish(table, schema, "k-anonymity k=3", out=tmp_path / "r")
    assert release.manifest["defused_cells"] > 0
    found = shoal.audit(release.folder, schema, original=table)
    assert found.utility["loss"] == pytest.approx(release.private["loss"])


def test_columns_may_be_called_what_shoal_calls_its_own(tmp_path):
    rows = [[20 + i % 4, f"p{i}", "abc"[i % 3]] for i in range(24)]
    table = write(tmp_path / "t.csv", ["class_", "person_", "provider"], rows)
    schema = shoal.Schema.of(quasi="class_", person="person_", sensitive="provider")
    release = shoal.publish(table, schema, "k-anonymity k=3", out=tmp_path / "r")
    published = shoal.open(release.folder).values(["provider"])["provider"]
    assert dict(zip(published.values, published.counts, strict=True)) == {"a": 8, "b": 8, "c": 8}


def test_a_column_whose_name_is_a_formula_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", ["=age()", "d"], [[20, "ab"[i % 2]] for i in range(8)])
    schema = shoal.Schema.of(quasi="=age()", sensitive="d")
    with pytest.raises(shoal.UsageError, match="begin like a formula"):
        shoal.publish(table, schema, "k-anonymity k=2", out=tmp_path / "r")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_the_root_folder_is_no_release(tmp_path, monkeypatch):
    table = write(tmp_path / "t.csv", ["age", "d"], [[20, "ab"[i % 2]] for i in range(8)])
    schema = shoal.Schema.of(quasi="age", sensitive="d")
    monkeypatch.chdir(tmp_path)
    for out in ("/", "."):
        with pytest.raises(shoal.UsageError):
            shoal.publish(table, schema, "k-anonymity k=2", out=out)


def test_a_group_named_like_a_value_elsewhere_is_refused():
    text = "nurse;health;*\ndoctor;nurse;*\nclerk;nurse;*\n"
    with pytest.raises(shoal.HierarchyError, match="a value elsewhere"):
        shoal.from_arx_csv(text)


def test_survey_weights_tell_the_sampling_fraction(tmp_path):
    rows = [[20 + i, "ab"[i % 2], 50] for i in range(40)]
    table = write(tmp_path / "t.csv", ["age", "d", "wt"], rows)
    found = shoal.audit(table, shoal.Schema.of(quasi="age", sensitive="d", weight="wt"))
    assert found.risk.sampling_fraction == pytest.approx(1 / 50)
    assert "pitman" in found.risk.population_uniques


def test_kept_columns_are_counted_by_audit(tmp_path):
    rows = [[20, "ab"[i % 2], f"k{i % 4}"] for i in range(12)]
    table = write(tmp_path / "t.csv", ["age", "d", "ward"], rows)
    found = shoal.audit(table, shoal.Schema.of(quasi="age", sensitive="d", keep="ward"))
    assert (found.reached("k-anonymity"), found.kept_columns_k) == (12, 3)
    assert found.to_json()["risk"]["kept_columns_k"] == 3


def test_nothing_where_a_release_should_be_is_said(tmp_path):
    with pytest.raises(shoal.InputError, match="no file or folder 'typo'"):
        shoal.verify(tmp_path / "typo")
