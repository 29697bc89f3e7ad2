"""A hint is a line that works, and a message says what is so of this table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import shoal
from shoal.cli.main import main

ROLES = ["--quasi", "age", "--quasi", "sex", "--sensitive", "disease"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 200),
            "sex": rng.choice(["f", "m"], 200),
            "disease": rng.choice(["flu", "gout", "acne"], 200),
        }
    )
    table.to_csv("people.csv", index=False)
    return table


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def publish(*words: str) -> Result:
    return run("publish", "people.csv", *ROLES, "-m", "k-anonymity k=5", *words)


def test_an_empty_folder_is_a_free_place(people: pd.DataFrame) -> None:
    Path("out").mkdir()
    Path("out.private").mkdir()
    assert publish("-o", "out").exit_code == 0
    assert shoal.verify("out").holds
    assert Path("out.private/companion.json").is_file()


def test_a_folder_with_a_file_is_no_free_place(people: pd.DataFrame) -> None:
    Path("out").mkdir()
    Path("out/diary.txt").write_text("mine", encoding="utf-8")
    for words in ([], ["--replace"]):
        assert publish("-o", "out", *words).exit_code == 2
    assert Path("out/diary.txt").read_text(encoding="utf-8") == "mine"


def test_a_folder_without_a_manifest_is_verified_by_the_lines_of_the_hint(
    people: pd.DataFrame,
) -> None:
    assert publish("-o", "out").exit_code == 0
    Path("out/manifest.json").unlink()
    refused = run("verify", "out")
    assert refused.exit_code == 5
    assert "it has no manifest.json" in refused.stderr
    lines = [line.strip() for line in refused.stderr.splitlines() if line.startswith("  shoal ")]
    assert len(lines) == 2
    for line in lines:
        assert run(*shlex.split(line)[1:]).exit_code == 0


def test_a_table_is_asked_for_what_it_lacks_alone(people: pd.DataFrame) -> None:
    refused = run("verify", "people.csv", *ROLES)
    assert refused.exit_code == 2
    assert '-m "k-anonymity k=5"' in refused.stderr
    assert "schema.toml" not in refused.stderr


def test_verify_names_sensitive_columns_that_no_requirement_is_about(
    people: pd.DataFrame,
) -> None:
    assert publish("-o", "out").exit_code == 0
    verdict = shoal.verify("out")
    assert verdict.holds
    assert verdict.unjudged == ("disease",)
    assert "WARNING: no requirement is about disease" in run("verify", "out").stdout
    judged = shoal.verify("out", rule="distinct-diversity l=1")
    assert judged.unjudged == ()
    assert type(verdict).from_json(verdict.to_json()) == verdict


@pytest.mark.parametrize(
    ("ranges", "wanted"), [("30,5-40,5", "30.5-40.5"), ("[20,5; 30,5]", "[20.5; 30.5]")]
)
def test_ranges_with_decimal_commas_are_ranges(
    people: pd.DataFrame, ranges: str, wanted: str
) -> None:
    assert publish("-o", "out").exit_code == 0
    by_comma, by_point = (
        shoal.attack("linking", "out", targets=pd.DataFrame({"age": [text, "33"], "sex": "f"}))
        for text in (ranges, wanted)
    )
    assert by_comma.to_json() == by_point.to_json()


def test_thousands_are_no_decimals_unless_it_is_said(people: pd.DataFrame) -> None:
    assert publish("-o", "out").exit_code == 0
    Path("targets.csv").write_text('age;sex\n"1,000-60,000";f\n', encoding="utf-8")
    words = ("attack", "linking", "out", "--targets", "targets.csv")
    refused = run(*words)
    assert refused.exit_code == 5
    assert "1 value of column 'age' in the people's table is neither a number" in refused.stderr
    assert run(*words, "--decimal", ",").exit_code in (0, 4)


def test_what_many_columns_may_hold_is_asked_in_one_sentence(tmp_path: Path) -> None:
    names = ["age", "sex", "zip", "job", "race", "ill"]
    table = pd.DataFrame({name: ["1", "2"] * 20 for name in names})
    schema = shoal.Schema.of(quasi=names[:-1], sensitive="ill")
    with pytest.raises(shoal.SchemaError) as error:
        shoal.publish(table, schema, form="counts", epsilon=1, out=tmp_path / "c")
    assert "what 6 columns may hold" in error.value.fact
    assert len(str(error.value).splitlines()) == 2


def test_linking_says_that_a_register_does_not_know_whose_class_is_whose(
    people: pd.DataFrame,
) -> None:
    assert publish("-o", "out").exit_code == 0
    honest, assumed = (
        shoal.attack("linking", "out", targets="people.csv", location=location)
        for location in ("honest", "assumed")
    )
    assert (assumed.exposed, assumed.sure) == (honest.exposed, honest.sure)
    assert any("a register does not say" in text for text in assumed.assumptions)
    assert not any("a register does not say" in text for text in honest.assumptions)


@pytest.mark.parametrize("second", [False, True])
def test_the_defence_names_the_column_where_several_are_sensitive(
    people: pd.DataFrame, second: bool
) -> None:
    roles = {"quasi": ["age", "sex"], "sensitive": ["disease", "ward"][: 1 + second]}
    table = people.assign(ward=["a", "b"] * 100) if second else people
    release = shoal.publish(table, shoal.Schema.of(**roles), "k-anonymity k=5", out=Path("out"))
    found = shoal.attack("background", release, on="disease", pieces=1)
    assert ('"ck-safety c=' in found.defence) or "little:" in found.defence
    assert ("on=disease" in found.defence) is second


def test_m_privacy_refuses_a_table_without_its_person_column(people: pd.DataFrame) -> None:
    table = people.assign(ward=["a", "b", "c", "d"] * 50)
    roles: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "disease", "provider": "ward"}
    coarse = table.assign(age="*", sex="*")
    assert shoal.m_privacy(coarse, shoal.Schema.of(**roles), "k-anonymity k=5", 1).holds
    with pytest.raises(shoal.InputError, match="no column 'pid', which says who a row is about"):
        shoal.m_privacy(coarse, shoal.Schema.of(person="pid", **roles), "k-anonymity k=5", 1)


def test_frontier_warns_of_a_column_that_may_say_who_a_row_is_about(
    people: pd.DataFrame,
) -> None:
    people.assign(number=[i // 2 for i in range(200)]).to_csv("people.csv", index=False)
    words = ("frontier", "people.csv", *ROLES, "--identifier", "number", "-m", "k-anonymity k=5")
    compared = run(*words, "--methods", "mondrian", "-o", "compared")
    assert "WARNING: Column number repeats" in compared.stderr
    assert "Note: Column number repeats" not in compared.stderr
    assert "Column number repeats" in Path("compared/frontier.html").read_text(encoding="utf-8")


def test_a_pool_takes_tables_with_columns_that_an_agreed_pattern_drops(
    people: pd.DataFrame,
) -> None:
    kinds = {"age": "number", "sex": "category", "disease": "category"}
    roles = {"age": "quasi", "sex": "quasi", "disease": "sensitive"}
    columns = "".join(
        f'[columns.{name}]\nrole = "{roles[name]}"\nkind = "{kind}"\n'
        for name, kind in kinds.items()
    )
    schema = shoal.Schema.parse(f'[columns]\nward = "provider"\n"*_id" = "drop"\n{columns}')
    shoal.pool_init(Path("pool"), schema, "m-privacy m=1 (k-anonymity k=5)", providers=["a", "b"])
    added = shoal.pool_add(Path("pool"), "a", people.assign(bed_id=range(200)))
    assert added.rows == 200
    with pytest.raises(shoal.InputError, match="not agreed on: bed"):
        shoal.pool_add(Path("pool"), "b", people.assign(bed=range(200)))
