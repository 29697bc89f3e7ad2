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
        capsys,
        "publish",
        str(unreadable),
        "-m",
        "k-anonymity k=0",
        "--quasi",
        "age",
        "-o",
        str(tmp_path / "release"),
    )
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
        capsys,
        "publish",
        str(unreadable),
        *wrong,
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "-o",
        str(tmp_path / "release"),
    )
    assert code in (2, 3)
    assert word in said
    assert "fit the header" not in said


def test_a_rule_a_schema_a_folder_and_a_table_that_are_wrong_are_told_together(capsys, tmp_path):
    (tmp_path / "schema.toml").write_text("[columns.age]\nrole = 7\n")
    code, said = run(
        capsys,
        "publish",
        str(tmp_path / "none.csv"),
        "-m",
        "k-anonymity k=0",
        "-m",
        "no-model",
        "-s",
        str(tmp_path / "schema.toml"),
        "-o",
        str(tmp_path / "nowhere" / "release"),
    )
    assert code == 2
    for fact in (
        "k must be a whole number",
        "There is no model 'no-model'",
        "role of the wrong",
        "There is no folder",
        "There is no file none.csv",
    ):
        assert fact in said
    for hint in ("write k=5", "Known: ", 'role = "quasi"', "create it"):
        assert hint in said


def test_what_publishing_is_asked_is_told_together(tmp_path):
    shoal.publish(TABLE, SCHEMA, "k-anonymity k=2", out=tmp_path / "release")
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.publish(
            tmp_path / "none.csv",
            SCHEMA.set(ward="keep"),
            "m-privacy m=1 (k-anonymity k=2) & distinct-diversity l=2 on=age",
            out=tmp_path / "release",
        )
    said = str(caught.value)
    for fact in ("who provided each row", "no sensitive column 'age'", "ward", "exists already"):
        assert fact in said


def test_method_ledger_key_and_population_are_part_of_the_joint_check(capsys, tmp_path, unreadable):
    code, said = run(
        capsys,
        "publish",
        str(unreadable),
        "-m",
        "k-anonymity k=0",
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "--set",
        "speed=3",
        "--population",
        str(tmp_path / "people-none.csv"),
        "--ledger",
        str(tmp_path / "none.db"),
        "--key",
        str(tmp_path / "none.key"),
        "-o",
        str(tmp_path / "release"),
    )
    assert code == 2
    for fact in (
        "k must be a whole number",
        "mondrian has no parameter 'speed'",
        "There is no file people-none.csv",
        "There is no ledger none.db",
        "There is no key file none.key",
    ):
        assert fact in said
    assert "fit the header" not in said


def test_a_rule_that_lacks_its_population_is_told_with_the_rest(capsys, unreadable, tmp_path):
    code, said = run(
        capsys,
        "publish",
        str(unreadable),
        "-m",
        "k-map k=3",
        "--quasi",
        "agee",
        "--sensitive",
        "ill",
        "-o",
        str(tmp_path / "release"),
    )
    assert code == 2
    assert "needs a population table" in said
    assert 'lacks columns of the schema: "agee"' in said
    assert "fit the header" not in said


@pytest.fixture
def place(tmp_path, unreadable):
    """A table that cannot be read, a release, a pool's schema, and a file that is in the way."""
    shoal.publish(TABLE, SCHEMA, "k-anonymity k=2", out=tmp_path / "release")
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "bad.toml").write_text("[columns.age]\nrole = 7\n")
    return tmp_path


WRONG = {
    "look": (
        ["look", "{}/people.csv", "--quasi", "agee", "--hierarchies", "{}/none"],
        ["There is no folder"],
    ),
    "look by name": (
        ["look", "{}/people.csv", "--quasi", "agee"],
        ["lacks columns of the schema"],
    ),
    "schema": (
        ["schema", "{}/people.csv", "--quasi", "agee", "-o", "{}/taken"],
        ["lacks columns of the schema", "exists already"],
    ),
    "audit": (
        [
            "audit",
            "{}/people.csv",
            "--quasi",
            "agee",
            "--original",
            "{}/none.csv",
            "--population",
            "{}/nobody.csv",
        ],
        ["lacks columns of the schema", "no file none.csv", "no file nobody.csv"],
    ),
    "verify": (
        [
            "verify",
            "{}/people.csv",
            "-m",
            "k-anonymity k=0",
            "-m",
            "distinct-diversity l=2 on=age",
            "--quasi",
            "age",
            "--sensitive",
            "ill",
            "--after",
            "{}/none",
            "--population",
            "{}/no.csv",
        ],
        [
            "k must be a whole number",
            "no sensitive column 'age'",
            "no file or folder 'none'",
            "no file no.csv",
        ],
    ),
    "attack": (
        ["attack", "linkin", "{}/release", "{}/none", "--targets", "{}/no.csv"],
        ["There is no attack 'linkin'", "no file or folder 'none'", "no file no.csv"],
    ),
    "attack's options": (
        [
            "attack",
            "homogeneity",
            "{}/release",
            "--pieces",
            "3",
            "--on",
            "wealth",
            "--control",
            "{}/no.csv",
        ],
        [
            "homogeneity has no option 'pieces'",
            "There is no column 'wealth' to learn",
            "no file no.csv",
        ],
    ),
    "red-team": (
        ["attack", "red-team", "{}/none", "--targets", "{}/no.csv", "--pieces", "-1"],
        ["no file or folder 'none'", "no file no.csv", "pieces"],
    ),
    "forecast": (
        [
            "forecast",
            "{}/none",
            "-m",
            "no-model",
            "--method",
            "nope",
            "--original",
            "{}/no.csv",
            "-o",
            "{}/page.txt",
        ],
        [
            "no file or folder 'none'",
            "no model 'no-model'",
            "no method 'nope'",
            "no file no.csv",
            "written as HTML or JSON",
        ],
    ),
    "frontier": (
        [
            "frontier",
            "{}/people.csv",
            "--quasi",
            "agee",
            "--sensitive",
            "ill",
            "-m",
            "no-model",
            "--methods",
            "nope,mondrian",
            "--population",
            "{}/no.csv",
        ],
        [
            "lacks columns of the schema",
            "no model 'no-model'",
            "no method 'nope'",
            "no file no.csv",
        ],
    ),
    "report": (
        [
            "report",
            "{}/release",
            "-m",
            "no-model",
            "--on",
            "wealth",
            "--targets",
            "{}/no.csv",
            "--ledger",
            "{}/none.db",
            "-o",
            "{}/taken",
        ],
        [
            "no model 'no-model'",
            "no column 'wealth' to learn",
            "no file no.csv",
            "no ledger none.db",
            "written as HTML or JSON",
        ],
    ),
    "m-privacy": (
        [
            "m-privacy",
            "{}/people.csv",
            "-m",
            "k-anonymity k=0",
            "--members",
            "1",
            "--provider",
            "ward",
            "--quasi",
            "age",
            "--one-row",
            "newest",
        ],
        ["k must be a whole number", "lacks columns of the schema", "One row a person"],
    ),
    "pool init": (
        ["pool", "init", "{}/pool", "-s", "{}/bad.toml", "-m", "no-model", "--method", "nope"],
        ["no model 'no-model'", "role of the wrong", "no method 'nope'"],
    ),
    "pool add": (
        ["pool", "add", "{}/pool", "{}/no.csv", "--provider", "A"],
        ["no file no.csv", "pool"],
    ),
    "pool publish": (
        ["pool", "publish", "{}/pool", "-o", "{}/release"],
        ["'release' exists already", "pool"],
    ),
    "ledger admit": (
        [
            "ledger",
            "admit",
            "{}/none",
            "--ledger",
            "{}/none.db",
            "--people",
            "{}/no.csv",
            "-s",
            "{}/bad.toml",
        ],
        ["no file or folder 'none'", "no ledger none.db", "no file no.csv", "role of the wrong"],
    ),
}


@pytest.mark.parametrize("verb", WRONG)
def test_every_verb_tells_what_is_wrong_together_and_before_reading(capsys, place, verb):
    arguments, facts = WRONG[verb]
    code, said = run(capsys, *(argument.format(place) for argument in arguments))
    assert code in (2, 5)
    for fact in facts:
        assert fact in said
    assert "fit the header" not in said
    assert (place / "taken").read_text() == "mine"


def test_a_header_that_may_be_a_row_is_not_shown(capsys, tmp_path):
    (tmp_path / "people.csv").write_text("34,flu\n35,cold\n36,flu\n")
    code, said = run(capsys, "audit", str(tmp_path / "people.csv"), "--quasi", "age")
    assert code == 5
    assert "34" not in said
    assert "flu" not in said


def test_a_table_in_another_encoding_is_left_to_its_reader(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("größe,ill\n30,flu\n31,flu\n".encode("cp1252"))
    shoal.check_request(tables=[path], schema=shoal.Schema.of(quasi="größe"))
    assert shoal.look(path).fields[0].name == "größe"


def test_a_request_that_is_right_passes_the_check(place):
    (place / "people.csv").write_text("age,ill\n30,flu\n31,cold\n")
    shoal.check_request(
        tables=[place / "people.csv"],
        releases=[place / "release"],
        schema=SCHEMA,
        rules=["k-anonymity k=2", "distinct-diversity l=2 on=ill"],
        on=["ill"],
        attack="homogeneity",
        method="mondrian",
        outputs=[place / "new.csv"],
        page=place / "report.html",
    )
    with pytest.raises(shoal.OutputError, match="exists already"):
        shoal.check_request(outputs=[place / "taken"])
