"""A table too large for one tally is published, judged and verified in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.releases import recount
from shoal.verbs import publish as publish_verb

RULE = "k-anonymity k=5 & t-closeness t=0.6 & distinct-diversity l=2"
SCHEMA = shoal.Schema.of(
    quasi=["age", "zip", "sex"], sensitive="illness", provider="clinic", person="id"
)


@pytest.fixture
def people() -> pa.Table:
    rng = np.random.default_rng(3)
    n = 1500
    age = [None if a > 95 else int(a) for a in rng.integers(0, 99, n)]
    return pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "age": age,
            "zip": [f"0{z}" for z in rng.integers(1300, 1340, n)],
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "cold", "gout", None], n),
            "clinic": rng.choice(["A", "B"], n),
        }
    )


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(publish_verb, "PART_ROWS", 400)
    monkeypatch.setattr(recount, "PART_ROWS", 300)


def rows(folder):
    return shoal.open(folder).values(["age", "illness"])


def test_parts_make_one_release_that_holds(people, small_parts, tmp_path):
    release = shoal.publish(people, SCHEMA, RULE, out=tmp_path / "release", format="parquet")
    assert release.private["parts"] > 2
    assert release.verdict.holds
    assert release.verdict.rows == 1500
    assert release.manifest["classes"] >= release.verdict.classes  # equal labels are one class
    assert 0 < release.private["loss"] < 0.5
    published = rows(tmp_path / "release")["illness"]
    original = shoal.open(people).values(["illness"])["illness"]
    assert dict(zip(published.values, published.counts, strict=True)) == dict(
        zip(original.values, original.counts, strict=True)
    )
    assert published.nulls == original.nulls


def test_the_verdict_of_the_parts_is_that_of_the_whole(people, tmp_path, monkeypatch):
    shoal.publish(people, SCHEMA, RULE, out=tmp_path / "release")
    whole = shoal.verify(tmp_path / "release")
    monkeypatch.setattr(recount, "PART_ROWS", 200)
    parts = shoal.verify(tmp_path / "release")
    for one, other in zip(parts.judgements, whole.judgements, strict=True):
        assert replace(one, worst={}) == replace(other, worst={})  # ties have several witnesses
    assert (parts.rows, parts.classes) == (whole.rows, whole.classes)


def test_a_class_that_fails_in_one_part_fails_the_table(people, monkeypatch):
    monkeypatch.setattr(recount, "PART_ROWS", 200)
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive="illness")
    table = people.select(["age", "sex", "illness"])
    found = shoal.verify(table, schema, "k-anonymity k=5")
    assert not found.holds
    monkeypatch.undo()
    whole = shoal.verify(table, schema, "k-anonymity k=5")
    assert (found.holds, found.rows, found.classes) == (False, whole.rows, whole.classes)
    assert found.judgements[0].failing_classes == whole.judgements[0].failing_classes
    assert found.judgements[0].reached == whole.judgements[0].reached


def test_a_dry_run_in_parts(people, small_parts):
    release = shoal.publish(people, SCHEMA, RULE)
    assert release.verdict.holds
    assert release.verdict.how == "by construction"
    assert release.verdict.rows == 1500


def test_a_rule_that_needs_the_whole_table_is_not_parted(people, small_parts):
    release = shoal.publish(people, SCHEMA, "k-anonymity k=5", hold_back=0.1)
    assert "parts" not in release.private
