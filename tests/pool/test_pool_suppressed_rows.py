"""Rows of a pool that are held back: who is told what, and when nothing is published."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.pool.verbs import pool_add, pool_init, pool_publish

SCHEMA = shoal.Schema(
    (shoal.Column("age", "quasi", "number"), shoal.Column("diagnosis", "sensitive", "category"))
)
RULE = "m-privacy m=1 (k-anonymity k=3 & entropy-diversity l=1.85)"


def even(number: int) -> pa.Table:
    each = [("flu", "cold")[i % 2] for i in range(number)]
    return pa.table({"age": [20 + i % 40 for i in range(number)], "diagnosis": each})


TABLES = {
    "A": even(40),
    "B": even(44),
    "C": pa.table({"age": [90] * 10, "diagnosis": ["flu"] * 10}),  # too much flu for any class
}


def begun(folder: Path, **settings) -> Path:
    pool_init(folder / "pool", SCHEMA, RULE, hold_back=0.4, **settings)
    for name, table in TABLES.items():
        pool_add(folder / "pool", name, table)
    return folder / "pool"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    return folder, pool_publish(begun(folder), folder / "release")


def page_of(done, name: str) -> str:
    folder, made = done
    return (folder / "release.partners" / made.pages[name]).read_text(encoding="utf-8")


def test_the_certificate_tells_rows_held_back_in_steps_and_who_is_there(done):
    folder, made = done
    held_back = made.release.private["held_back"]
    assert held_back > 10
    low, high = map(int, made.certificate["held_back"].split(" to "))
    assert low <= held_back <= high == low + 2
    assert low % 3 == 0
    assert made.certificate["providers"] == 2
    rows, lost = made.certificate["rows"], made.release.private["loss"]
    widths = lost * (rows + held_back) - held_back  # a row held back counts as lost
    assert made.certificate["loss"] == round(widths / rows, 2) < lost
    assert len(made.counts["survive"]) == 2
    assert "beyond" not in made.certificate
    text = (folder / "release.partners/certificate.html").read_text(encoding="utf-8")
    assert made.certificate["held_back"] in text
    assert str(held_back) not in json.dumps(made.certificate["held_back"])
    assert [f"Provider {n}<" in text for n in (1, 2, 3)] == [True, True, False]


def test_a_provider_reads_how_many_of_its_own_are_held_back(done):
    folder, made = done
    companion = shoal.verify(folder / "release")
    assert companion.holds
    total = 0
    for name in ("A", "B"):
        page = page_of(done, name)
        assert "of your rows: in no class, and not in the table" in page
        assert "holds for all your published rows" in page
        total += TABLES[name].num_rows
    assert made.release.private["held_back"] - 10 == total - companion.rows


def test_nothing_is_kept_for_one_whose_rows_are_all_held_back(done):
    page = page_of(done, "C")
    assert "None of your rows is in the published table" in page
    assert "10 rows of yours could be placed in no class" in page
    assert ">Kept<" not in page
    assert "holds for all" not in page
    assert "others together" not in page


def test_nothing_is_published_without_one_who_was_agreed_on(tmp_path):
    pool = begun(tmp_path, providers=list(TABLES))
    with pytest.raises(shoal.NotMetError, match="All rows of C would be held back") as error:
        pool_publish(pool, tmp_path / "release")
    assert "without it" in error.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["pool"]


def test_holding_back_all_but_m_is_refused_and_leaves_everything_as_it_was(tmp_path, done):
    not_yet = shutil.ignore_patterns("published.json")
    pool = Path(shutil.copytree(done[0] / "pool", tmp_path / "pool", ignore=not_yet))
    pool_add(pool, "B", pa.table({"age": [91] * 12, "diagnosis": ["cold"] * 12}), replace=True)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    with pytest.raises(shoal.NotMetError):
        pool_publish(pool, tmp_path / "release")
    after = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert after == before
