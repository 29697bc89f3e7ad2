"""Roles of a hospital's columns, columns left out by a pattern, and who stands out."""

from __future__ import annotations

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import shoal
from shoal.cli.main import main
from shoal.core.errors import SchemaError


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def encounters(rows: int = 300) -> pa.Table:
    return pa.table(
        {
            "encounter_id": list(range(rows)),
            "patient_nbr": [i * 7 % 200 for i in range(rows)],
            "age": [f"[{i % 9 * 10}-{i % 9 * 10 + 10})" for i in range(rows)],
            "time_in_hospital": [1 + i % 13 for i in range(rows)],
            "diag_1": [("250", "401", "V57")[i % 3] for i in range(rows)],
            "lab": [i % 11 for i in range(rows)],
        }
    )


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("patient_nbr", "person"),
        ("patient", "person"),
        ("mrn", "person"),
        ("MRN", "person"),
        ("medical_record_number", "person"),
        ("diag_1", "sensitive"),
        ("diag_3", "sensitive"),
        ("icd", "sensitive"),
        ("icd9_code", "sensitive"),
        ("ICD10", "sensitive"),
        ("time_in_hospital", "undecided"),
        ("hospital_days", "undecided"),
        ("hospital_expire_flag", "undecided"),
        ("hospital", "provider"),
        ("hospital_name", "provider"),
        ("hospital_id", "provider"),
    ],
)
def test_names_of_a_hospital_suggest_their_roles(name: str, role: str) -> None:
    table = pa.table({name: [f"v{i % 40}" for i in range(400)]})
    assert shoal.Schema.suggest(shoal.open(table)).column(name).role == role


def test_a_second_column_of_persons_is_left_out_and_not_in_doubt() -> None:
    table = pa.table({"mrn": [str(i // 2) for i in range(100)], "patient": list("ab") * 50})
    schema = shoal.Schema.suggest(shoal.open(table))
    assert [column.role for column in schema.columns] == ["person", "identifier"]


def test_look_never_says_that_nobody_is_unique_while_columns_are_undecided() -> None:
    looked = shoal.look(encounters())
    assert looked.schema.undecided
    assert looked.unique == 0
    assert looked.to_json()["unique"] is None
    assert looked.to_json()["unique_with_undecided"] == looked.unique_with_undecided > 0
    assert " 0 of 300 people" not in str(looked)
    assert " 0 unique" not in str(looked)
    assert "2 columns are undecided: whoever knows them as well finds" in str(looked)


def test_what_look_says_of_undecided_columns_is_counted() -> None:
    table = encounters()
    looked = shoal.look(table)
    rows = list(
        zip(*(table[c].to_pylist() for c in ("age", "time_in_hospital", "lab")), strict=True)
    )
    assert looked.unique_with_undecided == sum(rows.count(row) == 1 for row in rows)


def test_columns_are_dropped_by_name_by_pattern_and_by_default(tmp_path) -> None:
    text = """
        [columns]
        age = "quasi"
        diag_1 = "sensitive"
        "*_id" = "drop"
        "*" = "drop"
    """
    schema = shoal.Schema.parse(text)
    release = shoal.publish(encounters(), schema, "k-anonymity k=5", out=tmp_path / "r")
    assert release.path.read_text().splitlines()[0] == "age,diag_1"
    assert shoal.Schema.parse(schema.to_toml()) == schema


def test_a_column_that_is_named_keeps_its_role_beside_a_pattern() -> None:
    names = ["encounter_id", "patient_nbr", "age", "time_in_hospital", "diag_1", "lab"]
    schema = shoal.Schema.of(quasi=["age", "lab"], identifier="p*", drop=["*_id", "*"])
    roles = {column.name: column.role for column in schema.expand(names).columns}
    assert roles == {
        "encounter_id": "drop",
        "patient_nbr": "identifier",
        "age": "quasi",
        "time_in_hospital": "drop",
        "diag_1": "drop",
        "lab": "quasi",
    }


def test_a_pattern_publishes_nothing() -> None:
    schema = shoal.Schema.of(quasi="age", sensitive="diag_*", drop="*")
    with pytest.raises(SchemaError, match="not for patterns"):
        shoal.publish(encounters(), schema, "k-anonymity k=5")


def test_a_column_whose_name_has_a_star_is_itself(tmp_path) -> None:
    table = pa.table({"age": [1, 2] * 20, "a*": ["x"] * 40, "ab": ["y"] * 40})
    with pytest.raises(SchemaError, match='Undecided columns: "ab"'):
        shoal.publish(table, shoal.Schema.of(quasi="age", drop="a*"), "k-anonymity k=5")


def test_the_command_line_drops_by_pattern(tmp_path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(encounters(), tmp_path / "t.parquet")
    given = ("--quasi", "age", "--sensitive", "diag_1", "--drop", "*")
    made = run("publish", tmp_path / "t.parquet", *given, "-m", "k-anonymity k=5", "--dry-run")
    assert made.exit_code == 0, made.output
    written = run("schema", tmp_path / "t.parquet", "--drop", "*_id")
    assert '[columns.encounter_id]\nrole = "drop"' in written.stdout
    without = run(
        "publish", tmp_path / "t.parquet", *given[:4], "-m", "k-anonymity k=5", "--dry-run"
    )
    assert without.exit_code in (2, 5)
    assert "--drop '*'" in without.output
