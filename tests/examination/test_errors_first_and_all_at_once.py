"""What a command has wrong is said before a row is read, and all of it together."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.cli.main import main

TABLE = pa.table({"age": [30 + i % 3 for i in range(12)], "ill": ["flu", "cold", "flu"] * 4})
SCHEMA = shoal.Schema.of(quasi="age", sensitive="ill")


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code), capsys.readouterr().err


@pytest.fixture
def unreadable(tmp_path):
    """A table whose reading is an error of its own."""
    path = tmp_path / "people.csv"
    path.write_text("age,ill\n30,flu\n31\n32,flu,cold\n")
    return path


def test_a_rule_that_is_wrong_is_said_before_the_table_is_read(capsys, unreadable, tmp_path):
    code, said = run(
        capsys, "publish", str(unreadable), "-m", "k-anonymity k=0", "--quasi", "age",
        "-o", str(tmp_path / "release"),
    )  # fmt: skip
    assert code == 2
    assert "k must be a whole number, at least" in said
    assert "fit the header" not in said


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (["-m", "distinct-diversity l=2 on=age"], "There is no sensitive column 'age'"),
        (["-m", "k-anonymity k=2", "--method", "nope"], "There is no method 'nope'"),
        (["-m", "k-anonymity k=2", "--keep", "ill2"], "ill2"),
        (["-m", "m-privacy m=1 (k-anonymity k=2)"], "needs to know who provided each row"),
    ],
)
def test_roles_columns_and_methods_are_checked_before_the_table_is_read(
    capsys, unreadable, tmp_path, wrong, word
):
    code, said = run(
        capsys, "publish", str(unreadable), *wrong, "--quasi", "age", "--sensitive", "ill",
        "-o", str(tmp_path / "release"),
    )  # fmt: skip
    assert code in (2, 3)
    assert word in said
    assert "fit the header" not in said


def test_a_rule_a_schema_a_folder_and_a_table_that_are_wrong_are_told_together(capsys, tmp_path):
    (tmp_path / "schema.toml").write_text("[columns.age]\nrole = 7\n")
    code, said = run(
        capsys, "publish", str(tmp_path / "none.csv"), "-m", "k-anonymity k=0", "-m", "no-model",
        "-s", str(tmp_path / "schema.toml"), "-o", str(tmp_path / "nowhere" / "release"),
    )  # fmt: skip
    assert code == 2
    for fact in ("k must be a whole number", "There is no model 'no-model'", "role of the wrong",
                 "There is no folder", "There is no file none.csv"):  # fmt: skip
        assert fact in said
    for hint in ("write k=5", "Known: ", 'role = "quasi"', "create it"):
        assert hint in said


def test_what_publishing_is_asked_is_told_together(tmp_path):
    shoal.publish(TABLE, SCHEMA, "k-anonymity k=2", out=tmp_path / "release")
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.publish(
            tmp_path / "none.csv", SCHEMA.set(ward="keep"),
            "m-privacy m=1 (k-anonymity k=2) & distinct-diversity l=2 on=age",
            out=tmp_path / "release",
        )  # fmt: skip
    said = str(caught.value)
    for fact in ("who provided each row", "no sensitive column 'age'", "ward", "exists already"):
        assert fact in said
