"""Methods by the command line: their measures, parameters and hierarchies."""

from __future__ import annotations

import json

import pytest

ROWS = (
    f"{20 + i % 30},{'Ulm' if i % 3 else 'Bonn'},{'nurse' if i % 2 else 'cook'}\n"
    for i in range(100)
)
PEOPLE = "age,town,job\n" + "".join(ROWS)
AGES = "".join(f"{age};{age // 10}0s;*\n" for age in range(20, 50))
TOWNS = "Ulm;*\nBonn;*\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "age.csv").write_text(AGES)
    (folder / "town.csv").write_text(TOWNS)
    return tmp_path


def publish(shoal, table, *more, rule="k-anonymity k=5"):
    return shoal("publish", table / "people.csv", "-m", rule, "--dry-run", *more)


def roles(table):
    return "--hierarchies", table / "trees", "--sensitive", "job"


def test_a_folder_of_hierarchies_names_the_quasi_identifiers(shoal, table):
    told = publish(shoal, table, *roles(table), "--method", "full-domain", "--json")
    assert told.exit_code == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["levels"] == {"age": 1, "town": 0}
    assert (found["measure"], found["held_back"], found["complete"]) == ("loss", 0, True)
    assert 0 < found["value"] < 1
    assert 0 < found["checked"] <= found["nodes"] == 6


def test_measures_and_parameters_reach_the_method(shoal, table):
    asked = "--method", "full-domain", "--measure", "height", "--set", "levels=town=1", "--json"
    found = json.loads(publish(shoal, table, *roles(table), *asked).stdout)
    assert found["levels"]["town"] == 1
    assert found["measure"] == "height"
    assert found["value"] == sum(found["levels"].values())
    asked = "--method", "local", "--set", "share=0.5", "--json"
    found = json.loads(publish(shoal, table, *roles(table), *asked).stdout)
    assert found["manifest"]["parameters"] == {"share": 0.5}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--method", "full-domain", "--measure", "beauty"), "There is no measure 'beauty'"),
        (("--measure", "loss"), "mondrian has no parameter 'measure'"),
        (("--set", "share"), "--set takes NAME=VALUE"),
        (("--method", "fulldomain"), "There is no method 'fulldomain'"),
        (("--method", "full-domain", "--set", "levels=zip=1"), "is no quasi-identifier"),
    ],
)
def test_wrong_words_are_usage(shoal, table, asked, told):
    found = publish(shoal, table, *roles(table), *asked)
    assert found.exit_code == 2
    assert told in found.stderr
    assert "Hint:" in found.stderr


def test_a_rule_that_no_levels_meet_says_how_close_they_come(shoal, table):
    asked = *roles(table), "--method", "full-domain", "--set", "levels=age=0,town=0"
    found = publish(shoal, table, *asked, rule="k-anonymity k=4")
    assert found.exit_code == 3
    assert "needs 60 of 100 rows (60 %)" in found.stderr
    assert "--hold-back 0.600" in found.stderr
    again = publish(shoal, table, *asked, "--hold-back", "0.600", rule="k-anonymity k=4")
    assert again.exit_code == 0
