"""The study of m-privacy, on a small table with few settings; its parts by hand."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.studies import m_privacy, studies, study, tables
from shoal.studies.splits import split


@pytest.fixture
def small(monkeypatch):
    """Few values of m, small classes, the bundled table."""
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    changed = {"class_rows": (40, 90), "providers": 6, "k": 12, "m": (1, 3, 5)}
    monkeypatch.setattr(m_privacy, "DEFAULT_M", 3)
    for name, value in changed.items():
        monkeypatch.setitem(m_privacy.VERIFICATION, name, value)
    for name, value in {"m": (1, 2), "providers": 4}.items():
        monkeypatch.setitem(m_privacy.ANONYMISATION, name, value)


def breaks(values, who, m, k, l):
    """By trying every coalition: whether one leaves too few rows or values."""
    present = sorted(set(who))
    most = min(m, len(present) - 1)
    for members in combinations(present, most):
        left = [value for value, one in zip(values, who, strict=True) if one not in members]
        if len(left) < k or len(set(left)) < l:
            return True
    return False


def test_verification_agrees_with_brute_force(small):
    found = study("m-privacy", part="verification", seeds=2)
    table = tables.sample()
    column = np.array(table.table["diagnosis"].to_pylist())
    rows = found.results["verification"]
    assert len(rows) == 2 * 2 * 3 * 6
    for row in rows:
        seed, size = row["seed"], row["class_rows"]
        picked = np.random.default_rng(seed).choice(len(column), size, replace=False)
        who = split(size, 6, "exponential", seed)
        assert row["sizes"] == np.bincount(who).tolist()
        assert row["holds"] is not breaks(column[picked], who.tolist(), row["m"], 12, 4)
        assert row["checks"] >= 1
        assert row["seconds"] > 0
    assert {row["holds"] for row in rows} == {True, False}
    direct = [row for row in rows if row["verifier"] == "direct" and row["holds"]]
    ways = {1: 6, 3: 20, 5: 6}
    assert [row["checks"] for row in direct] == [ways[row["m"]] for row in direct]


def test_anonymisation_compares_both_methods_on_one_split(small):
    found = study("m-privacy", part="anonymisation", seeds=1)
    rows = found.results["anonymisation"]
    assert [(row["split"], row["m"], row["method"]) for row in rows] == [
        (kind, m, method)
        for kind in ("uniform", "exponential")
        for m in (1, 2)
        for method in ("provider-aware", "mondrian")
    ]
    assert all(0 < row["loss"] < 1 and row["classes"] >= 1 for row in rows)
    assert all(sum(row["sizes"]) == 2_600 and len(row["sizes"]) == 4 for row in rows)
    at = {(row["split"], row["m"], row["method"]): row for row in rows}
    for kind in ("uniform", "exponential"):
        # What withstands two providers withstands one: more is lost for it.
        assert at[kind, 1, "mondrian"]["loss"] <= at[kind, 2, "mondrian"]["loss"]
    for size in rows[-1]["sizes"]:
        assert f"{size:,}" in str(found)


def test_results_and_charts_are_written_once(small, tmp_path):
    out = tmp_path / "study"
    found = study("m-privacy", out, part="verification", seeds=1)
    assert {file.name for file in found.files} == {"results.json", "verification.svg"}
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(found.to_json()))
    assert data["settings"]["seeds"] == [0]
    assert data["settings"]["verification"]["k"] == 12
    assert data["rows"] == 2_600
    assert "</svg>" in (out / "verification.svg").read_text(encoding="utf-8")
    with pytest.raises(shoal.OutputError, match="already"):
        study("m-privacy", out, part="verification", seeds=1)


def test_a_place_that_cannot_be_written_is_an_error_with_a_hint(small, tmp_path):
    found = study("m-privacy", part="verification", seeds=1)
    (tmp_path / "verification.svg").mkdir()
    with pytest.raises(shoal.OutputError, match=r"verification\.svg cannot be written") as caught:
        found.write(tmp_path)
    assert caught.value.hint


def test_the_same_seeds_give_the_same_figures(small):
    def figures():
        rows = study("m-privacy", part="verification", seeds=1).results["verification"]
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    assert figures() == figures()


def test_the_verb_writes_results_and_prints_them(small, tmp_path):
    line = ["study", "m-privacy", "-o", str(tmp_path / "out"), "--part", "verification"]
    done = CliRunner().invoke(main, [*line, "--seeds", "1", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert (told["edition"], told["study"]) == (1, "m-privacy")
    again = CliRunner().invoke(main, line)
    assert again.exit_code == shoal.OutputError.exit_code
    unknown = CliRunner().invoke(main, [*line[:-1], "cooking"])
    assert unknown.exit_code == shoal.UsageError.exit_code
    assert "verification, anonymisation" in unknown.stderr
    told = CliRunner().invoke(main, ["study", "m-privacy", "--help"]).stdout
    assert all(part in told for part in m_privacy.PARTS)


PEOPLE = pa.table({
    "age": [20 + i % 50 for i in range(120)], "ward": [None, "a", "b"] * 40,
    "ill": ["v" + str(i % 7) for i in range(120)], "note": ["x"] * 120,
    "hospital": ["own"] * 120,
})  # fmt: skip


def test_any_table_can_be_studied_and_nulls_stay():
    schema = shoal.Schema.of(quasi=["age", "ward"], sensitive="ill", provider="hospital")
    found = tables.sample(PEOPLE, schema)
    assert found.table.column_names == ["age", "ward", "ill"]
    assert found.table["ward"].to_pylist() == PEOPLE["ward"].to_pylist()
    assert found.table["age"].to_pylist() == PEOPLE["age"].to_pylist()
    brought, whole = found.brought(split(120, 3))
    assert whole.provider.name == tables.PROVIDER
    assert len(set(brought[tables.PROVIDER].to_pylist())) == 3


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"part": "cooking"}, "no part 'cooking'"),
        ({"seeds": 0}, "seed"),
        ({"data": PEOPLE}, "Nothing says"),
        ({"schema": shoal.Schema.of(quasi="age", sensitive="ill")}, "needs its data"),
        ({"data": PEOPLE, "schema": shoal.Schema.of(quasi="age")}, "sensitive column"),
        ({"data": PEOPLE, "schema": shoal.Schema.of(quasi="age", sensitive="ill")}, "120 rows"),
    ],
)
def test_bad_input_is_refused_with_a_hint(asked, fact):
    with pytest.raises(shoal.UsageError, match=fact) as caught:
        study("m-privacy", **asked)
    assert caught.value.hint


def test_an_unknown_study_is_refused_by_name():
    assert list(studies()) == ["m-privacy"]
    with pytest.raises(shoal.UsageError, match="no study"):
        study("alchemy")


def test_adult_has_its_complete_rows(real_data):
    found = tables.sample()
    assert (found.name, found.table.num_rows) == ("Adult", 45_222)
    assert len(found.schema.quasi) == 7
