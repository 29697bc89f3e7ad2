"""A column that is left out and repeats may say who a row is about: that is a warning."""

from __future__ import annotations

import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main

ROWS = 120


def stays(**more):
    return pa.table(
        {
            "patient": [f"p{i % 40}" for i in range(ROWS)],
            "age": [30 + 10 * (i % 2) for i in range(ROWS)],
            "ill": ["flu" if i % 3 else "cold" for i in range(ROWS)],
            "ward": ["east" if i % 2 else "west" for i in range(ROWS)],
            **more,
        }
    )


def schema(**roles):
    return shoal.Schema.of(quasi=["age"], sensitive="ill").set(roles)


def notes_of(table, asked):
    found = shoal.publish(table, asked, "k-anonymity k=2").to_json()["notes"]
    return [note for note in found if "repeat" in note]


def test_a_dropped_number_that_repeats_is_a_warning_on_screen(tmp_path):
    path = tmp_path / "stays.csv"
    shoal_csv(path, stays())
    roles = ["--quasi", "age", "--sensitive", "ill", "--drop", "patient", "--drop", "ward"]
    result = CliRunner().invoke(
        main, ["publish", str(path), *roles, "-m", "k-anonymity k=2", "-o", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    warning = next(line for line in result.stdout.splitlines() if "patient repeats" in line)
    assert warning.startswith("WARNING: ")
    assert "--person patient" in warning
    assert "ward" not in warning
    assert "Note: Column patient" not in result.stderr


def shoal_csv(path, table):
    lines = [",".join(table.column_names)]
    lines += [",".join(map(str, row.values())) for row in table.to_pylist()]
    path.write_text("\n".join(lines) + "\n")


def test_the_report_says_so_too(tmp_path):
    asked = schema(patient="drop", ward="drop")
    shoal.publish(stays(), asked, "k-anonymity k=2", out=tmp_path / "out")
    page = shoal.report(tmp_path / "out").html()
    assert "no column says who they are about" not in page
    assert "patient repeats" in page
    public = shoal.report(tmp_path / "out", public=True).html()
    assert "patient" not in public


def test_an_identifier_is_asked_about_whatever_it_holds():
    assert "ward repeats" in notes_of(stays(), schema(patient="drop", ward="identifier"))[0]


@pytest.mark.parametrize(("distinct", "is_asked"), [(20, False), (21, True)])
def test_a_dropped_column_of_few_values_is_not_asked_about(distinct, is_asked):
    table = stays(site=[f"s{i % distinct}" for i in range(ROWS)])
    found = notes_of(table, schema(patient="drop", ward="drop", site="drop"))
    assert ("site" in found[0]) == is_asked


def test_a_dropped_column_of_less_than_a_tenth_of_the_rows_is_not_asked_about():
    rows = 500
    table = pa.table(
        {
            "age": [30 + 10 * (i % 2) for i in range(rows)],
            "ill": ["flu" if i % 3 else "cold" for i in range(rows)],
            "town": [f"t{i % 49}" for i in range(rows)],
            "house": [f"h{i % 50}" for i in range(rows)],
        }
    )
    (note,) = notes_of(table, schema(town="drop", house="drop"))
    assert "house repeats" in note
    assert "town" not in note


def test_all_columns_are_looked_at_and_five_are_named():
    many = {f"n{at}": [f"v{i % (100 - at)}" for i in range(ROWS)] for at in range(70)}
    table = stays(**many)
    roles = dict.fromkeys(many, "drop")
    (note,) = notes_of(table, schema(patient="drop", ward="drop", **roles))
    assert note.count(" repeats") == 5
    assert "and 66 others" in note
    assert "nobody looked" not in note


def test_nothing_is_asked_of_a_dropped_column_whose_values_are_all_others():
    table = stays(number=[f"n{i}" for i in range(ROWS)])
    asked = schema(patient="person", ward="drop", number="identifier")
    found = shoal.publish(table, asked, "k-anonymity k=2", one_row="random")
    assert not [note for note in found.to_json()["notes"] if "repeat" in note]
