"""People are looked up by every column that their table shares with the release, in any role."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.core.errors import InputError

PEOPLE = 30


def patients(**more):
    """Thirty people, one band of ages each ten, with a memo that is everybody's own."""
    return pa.table(
        {
            "age": [30 + i % 10 for i in range(PEOPLE)],
            "sex": ["fm"[i % 2] for i in range(PEOPLE)],
            "memo": [f"note {i}" for i in range(PEOPLE)],
            "diagnosis": [("flu", "cold", "hiv")[i % 3] for i in range(PEOPLE)],
            **more,
        }
    )


def published(tmp_path, table, name="release", **roles):
    schema = shoal.Schema.of(quasi=["age", "sex"], **{"sensitive": "diagnosis", **roles})
    return shoal.publish(table, schema, "k-anonymity k=5", out=tmp_path / name, accept_keep=True)


@pytest.fixture
def release(tmp_path):
    return published(tmp_path, patients(), keep=["memo"])


def test_a_kept_column_that_the_register_holds_finds_everybody(release):
    register = patients().drop_columns(["diagnosis"])
    found = shoal.attack("linking", [release], targets=register)
    assert (found.people, found.exposed) == (PEOPLE, PEOPLE)
    assert found.details["candidates"] == {1: PEOPLE}
    assert found.details["placed_by"] == {"columns": ["age", "sex", "memo"]}
    assert any("memo as it is" in words for words in found.assumptions)


def test_without_the_kept_column_in_the_register_nobody_is_found_alone(release):
    found = shoal.attack("linking", [release], targets=patients().select(["age", "sex"]))
    assert (found.exposed, found.details["certain"]) == (0, 0)
    assert found.details["placed_by"] == {"columns": ["age", "sex"]}


def test_a_kept_column_alone_is_enough(release):
    found = shoal.attack("linking", [release], targets=patients().select(["memo"]))
    assert found.exposed == PEOPLE
    assert found.details["placed_by"] == {"columns": ["memo"]}


def test_a_kept_column_that_has_changed_since_does_not_hide_who_is_found_without_it(tmp_path):
    table = patients(age=pa.array(range(30, 30 + PEOPLE)))
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive="diagnosis", keep="memo")
    alone = shoal.publish(
        table, schema, "k-anonymity k=1", out=tmp_path / "alone", accept_keep=True
    )
    changed = table.set_column(
        table.column_names.index("memo"), "memo", pa.array([f"since {i}" for i in range(PEOPLE)])
    )
    found = shoal.attack("linking", [alone], targets=changed)
    bare = shoal.attack("linking", [alone], targets=table.drop_columns(["memo"]))
    assert found.exposed == bare.exposed > 0
    assert found.details["placed_by"] == {"columns": ["age", "sex"]}


def test_the_command_line_counts_them_and_ends_with_4(tmp_path, release):
    register = tmp_path / "register.csv"
    csv.write_csv(patients().drop_columns(["diagnosis"]), register)
    result = CliRunner().invoke(
        main, ["attack", "linking", str(release.folder), "--targets", str(register), "--limit", "0"]
    )
    assert result.exit_code == 4
    assert f"{PEOPLE} of {PEOPLE} people" in result.output


def test_intersection_places_people_by_kept_columns(tmp_path):
    """Each half alone leaves a person several values; the ward narrows both."""
    ward = pa.array(["a", "b", "c"] * 10)
    table = patients(ward=ward).drop_columns(["memo"])
    roles = {"keep": ["ward"]}
    releases = [published(tmp_path, table, name, **roles) for name in ("one", "two")]
    register = table.select(["age", "sex", "ward"])
    found = shoal.attack("intersection", releases, targets=register)
    without = shoal.attack("intersection", releases, targets=table.select(["age", "sex"]))
    assert (without.exposed, found.exposed) == (0, PEOPLE)
    assert found.details["placed_by"] == {"columns": ["age", "sex", "ward"]}


def test_named_people_are_placed_by_kept_columns(release):
    register = patients(name=pa.array([f"p{i}" for i in range(PEOPLE)]))
    asked = {"targets": register.drop_columns(["diagnosis"]), "names": "name"}
    found = shoal.attack("background", [release], about="p3.diagnosis=flu", **asked)
    assert found.sure == 1


def test_another_sensitive_column_of_a_register_that_lacks_the_one_to_learn_is_used(tmp_path):
    """It can only be what the adversary knows: nobody could score by it."""
    drug = pa.array([f"drug {i}" for i in range(PEOPLE)])
    release = published(
        tmp_path, patients(drug=drug).drop_columns(["memo"]), sensitive=["diagnosis", "drug"]
    )
    register = patients(drug=drug).select(["age", "sex", "drug"])
    found = shoal.attack("linking", [release], targets=register, on="diagnosis")
    assert found.exposed == PEOPLE
    assert found.details["placed_by"] == {"columns": ["age", "sex", "drug"]}


def test_a_testers_other_sensitive_column_is_told_beside_and_the_learnt_one_places_nobody(tmp_path):
    drug = pa.array([f"drug {i}" for i in range(PEOPLE)])
    table = patients(drug=drug).drop_columns(["memo"])
    release = published(tmp_path, table, sensitive=["diagnosis", "drug"])
    found = shoal.attack("linking", [release], targets=table, on="diagnosis")
    assert found.exposed == 0
    assert found.details["placed_by"] == {"columns": ["age", "sex"]}
    assert found.details["knowing_more"]["columns"] == ["drug"]
    assert found.details["knowing_more"]["exposed"] == PEOPLE
    assert f"{PEOPLE} of {PEOPLE} people for who knows drug of them too" in found.sentence


def test_undeclared_columns_of_a_table_of_others_are_used_where_both_have_them():
    table = pa.table(
        {"age": ["30-39"] * 4, "height": [171, 172, 173, 174], "diagnosis": list("aabb")}
    )
    register = pa.table({"age": [31, 32, 33, 34], "height": [171, 172, 173, 174]})
    schema = shoal.Schema.of(quasi="age", sensitive="diagnosis")
    found = shoal.attack("linking", [table], targets=register, schema=schema)
    assert found.exposed == 4
    assert found.details["placed_by"] == {"columns": ["age", "height"]}


def test_undeclared_generalised_labels_are_read():
    table = pa.table(
        {
            "age": ["30-39"] * 4,
            "zip": ["0213*", "0213*", "0214*", "0215*"],
            "diagnosis": list("aabb"),
        }
    )
    register = pa.table({"age": [31, 32, 33, 34], "zip": ["02138", "02139", "02141", "02151"]})
    schema = shoal.Schema.of(quasi="age", sensitive="diagnosis")
    found = shoal.attack("linking", [table], targets=register, schema=schema)
    assert found.details["candidates"] == {1: 2, 2: 2}


def test_identifiers_of_a_table_of_others_place_nobody():
    table = pa.table({"name": list("abcd"), "age": ["30-39"] * 4, "diagnosis": list("xyxy")})
    register = pa.table({"name": list("abcd"), "age": [31, 32, 33, 34]})
    schema = shoal.Schema.of(quasi="age", sensitive="diagnosis", identifier="name")
    found = shoal.attack("linking", [table], targets=register, schema=schema)
    assert found.exposed == 0


def test_columns_that_a_pattern_drops_place_nobody():
    table = pa.table({"row_id": list("abcd"), "age": ["30-39"] * 4, "diagnosis": list("xyxy")})
    register = pa.table({"row_id": list("abcd"), "age": [31, 32, 33, 34]})
    schema = shoal.Schema.of(quasi="age", sensitive="diagnosis", drop="*_id")
    found = shoal.attack("linking", [table], targets=register, schema=schema)
    assert found.exposed == 0


def test_two_tables_of_others_are_joined_on_a_column_that_nobody_declared():
    number = [7, 8, 9, 10]
    one = pa.table({"age": ["30-39"] * 4, "sex": list("ffmm"), "number": number})
    two = pa.table({"age": ["30-34", "35-39"] * 2, "sex": ["*"] * 4, "number": number})
    schema = shoal.Schema.of(quasi=["age", "sex"])
    found = shoal.attack("complementary", [one, two], schema=schema)
    assert found.exposed == 4
    assert found.details["joined_on"] == ["number"]


def test_a_register_that_shares_nothing_is_still_refused(release):
    with pytest.raises(InputError, match="none of the releases' columns"):
        shoal.attack("linking", [release], targets=pa.table({"height": [170, 180]}))


@pytest.mark.parametrize("keep", [("weight",), ()])
@pytest.mark.parametrize("sign", [",", "."])
def test_numbers_of_somebody_else_s_table_are_the_same_however_they_are_written(
    tmp_path, keep: tuple[str, ...], sign: str
) -> None:
    """A decimal comma in a table that is no release of ours hides nobody."""
    release, register = tmp_path / "table.csv", tmp_path / "register.csv"
    rows = [("30-39", f"{i},5", ("flu", "hiv", "cold")[i % 3]) for i in range(30)]
    release.write_text("age;weight;illness\n" + "\n".join(map(";".join, rows)) + "\n")
    known = "\n".join(f"{30 + i % 10};{i}{sign}5" for i in range(30))
    register.write_text(f"age;weight\n{known}\n")
    schema = shoal.Schema.of(quasi="age", sensitive="illness", keep=keep)
    finding = shoal.attack("linking", [release], schema=schema, targets=register)
    assert finding.details["certain"] == 30


def test_values_of_kept_columns_that_nobody_of_the_register_has_are_no_groups() -> None:
    """Most rows have a value that nobody has, and somebody a value that no row has."""
    release = pa.table(
        {
            "city": ["a", "b", "a", "b", "a", "a"],
            "memo": ["n", "o", "n", "o", "n", "n"],
            "illness": ["z", "x", "z", "x", "y", "z"],
        }
    )
    register = pa.table({"city": [None, "a", "a"], "memo": ["o", "m", "o"]})
    schema = shoal.Schema.of(quasi="city", sensitive="illness", keep="memo")
    finding = shoal.attack("linking", [release], schema=schema, targets=register)
    assert finding.details["placed_by"]["columns"] == ["city", "memo"]
    assert finding.exposed == 1


def test_it_is_said_where_a_shared_column_could_not_be_looked_up_by() -> None:
    """Nobody says what the column is: its words may be groups of values."""
    release = pa.table(
        {
            "city": ["a", "b"] * 6,
            "region": ["north", "south"] * 6,
            "illness": ["x", "y", "z"] * 4,
        }
    )
    register = pa.table({"city": ["a", "b"], "region": ["rome", "milan"]})
    schema = shoal.Schema.of(quasi="city", sensitive="illness")
    finding = shoal.attack("linking", [release], schema=schema, targets=register)
    assert any("not evaluated" in one for one in finding.assumptions)
