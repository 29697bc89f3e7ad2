"""A method that does not promise the rule: what it makes is judged, and refused where it fails."""

from __future__ import annotations

from itertools import product

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.data import bundled

COLUMNS = ["a", "b", "c", "d"]


@pytest.fixture
def sixteen(tmp_path):
    """Four binary values in all ways: every three of them twice, all four once."""
    path = tmp_path / "sixteen.csv"
    lines = [",".join(row) for row in product("xy", repeat=4)]
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    return path


def test_sixteen_rows_pass_its_test_and_are_refused(sixteen, tmp_path):
    schema, out = shoal.Schema.of(quasi=COLUMNS), tmp_path / "release"
    with pytest.raises(shoal.NotMetError, match="16 of 16 rows"):
        shoal.publish(sixteen, schema, "k-anonymity k=2", method="mu-argus", out=out)
    assert not out.exists()
    loose = shoal.publish(sixteen, schema, "k-anonymity k=1", method="mu-argus", out=out)
    assert loose.verdict.classes == 16


def test_the_command_line_leaves_with_3_and_nothing_published(sixteen, tmp_path):
    line = ["publish", sixteen, "-m", "k-anonymity k=2", "--method", "mu-argus", "-o"]
    line += [tmp_path / "release", *(word for name in COLUMNS for word in ("--quasi", name))]
    result = CliRunner().invoke(main, list(map(str, line)))
    assert result.exit_code == 3
    assert not (tmp_path / "release").exists()


def test_what_meets_the_rule_is_published_with_stars_in_single_cells(tmp_path):
    schema = shoal.Schema.of(
        identifier=["patient", "name", "admitted"], quasi=["sex"], sensitive=["diagnosis"]
    ).set(age=shoal.quasi(shoal.intervals(10, 20, 40)), zip=shoal.quasi(shoal.prefixes()))
    how = {"method": "mu-argus", "recode": "age=2,zip=2", "out": tmp_path / "release"}
    table = bundled.path("harbour.csv")
    release = shoal.publish(table, schema, "k-anonymity k=5", hold_back=0.05, **how)
    assert release.verdict.holds
    assert shoal.verify(tmp_path / "release").holds
    assert release.private["combinations"] == 4
    assert set(release.private["blank"]) == {"sex", "age", "zip"}
