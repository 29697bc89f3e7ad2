"""Sweeney's Figure 4 under Datafly: one step, and the two rows that linking releases isolates."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.data import bundled

SCHEMA = """
edition = 1
[columns]
Race = { role = "quasi" }
BirthDate = { role = "quasi", kind = "date", hierarchy = { dates = ["year", "decade"] } }
Gender = { role = "quasi" }
ZIP = { role = "quasi", kind = "code", hierarchy = "prefixes" }
Problem = { role = "sensitive" }
"""
TWO = 0.17
"""Of twelve rows two may be held back."""


def published(folder):
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        return sorted(map(tuple, (row.values() for row in csv.DictReader(file))))


def expected(given):
    """The paper's linked table, which is the table by years, without the two rows."""
    held = given["expected"]["datafly_k2"]["suppressed_row_indices"]
    kept = [row for i, row in enumerate(given["LT"]) if i not in held]
    return sorted(tuple(row.values()) for row in kept)


def test_figure_4_takes_one_step_and_holds_back_the_two_rows(golden, table, tmp_path):
    given = golden("sweeney_fig4_5")
    release = shoal.publish(
        table("PT", given["PT"]),
        shoal.Schema.parse(SCHEMA),
        f"k-anonymity k={given['k']}",
        method="datafly",
        hold_back=TWO,
        out=tmp_path / "release",
    )
    facts = release.private
    assert facts["steps"] == ["BirthDate"]
    assert facts["levels"] == {"Race": 0, "BirthDate": 1, "Gender": 0, "ZIP": 0}
    assert (facts["held_back"], facts["complementary"]) == (2, 0)
    assert published(tmp_path / "release") == expected(given)
    assert shoal.verify(tmp_path / "release").holds
    missing = [row for row in given["LT"] if tuple(row.values()) not in expected(given)]
    assert missing == given["expected"]["unique_rows"]


def test_figure_4_held_back_rows_do_not_stand_out_as_stars(golden, table, tmp_path):
    given, schema = golden("sweeney_fig4_5"), shoal.Schema.parse(SCHEMA)
    out, how = tmp_path / "starred", {"method": "datafly", "hold_back": TWO}
    rows = table("PT", given["PT"])
    release = shoal.publish(rows, schema, "k-anonymity k=2", out=out, held_back_as="starred", **how)
    assert release.verdict.rows == 12
    assert sum(row[:4] == ("*",) * 4 for row in published(out)) == 2
    assert shoal.verify(out).holds


@pytest.mark.parametrize("share", [0, 0.1])
def test_figure_4_is_lifted_further_where_two_rows_are_too_many(golden, table, share):
    given, schema = golden("sweeney_fig4_5"), shoal.Schema.parse(SCHEMA)
    rows, how = table("PT", given["PT"]), {"method": "datafly", "hold_back": share}
    facts = shoal.publish(rows, schema, "k-anonymity k=2", **how).private
    assert facts["held_back"] == 0
    assert facts["steps"][0] == "BirthDate"
    assert len(facts["steps"]) > 1


def test_figure_4_from_the_bundled_file_by_the_command_line(golden, tmp_path):
    schema, out = tmp_path / "schema.toml", tmp_path / "release"
    schema.write_text(SCHEMA, encoding="utf-8")
    line = ["publish", bundled.path("sweeney_fig4_pt.csv"), "-s", schema, "-m", "k-anonymity k=2"]
    line += ["--method", "datafly", "--hold-back", TWO, "-o", out, "--json"]
    result = CliRunner().invoke(main, list(map(str, line)))
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["steps"], facts["held_back"]) == (["BirthDate"], 2)
    assert published(out) == expected(golden("sweeney_fig4_5"))
