"""Whoever verifies a release learns that its file was changed, also where the rule fails."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main


@pytest.fixture(params=["person", "drop"])
def release(request, tmp_path):
    table = pa.table(
        {
            "who": [f"p{i}" for i in range(24)],
            "age": [30 + 10 * (i % 2) for i in range(24)],
            "ill": ["flu" if i % 3 else "cold" for i in range(24)],
        }
    )
    schema = shoal.Schema.of(quasi=["age"], sensitive="ill").set({"who": request.param})
    shoal.publish(table, schema, "k-anonymity k=5", out=tmp_path / "release")
    return tmp_path / "release"


def edit(release):
    path = release / "table.csv"
    lines = path.read_text().splitlines()
    lines[1] = "99," + lines[1].partition(",")[2]
    path.write_text("\n".join(lines) + "\n")


def verified(release, *more):
    return CliRunner().invoke(main, ["verify", str(release), *more])


def test_a_changed_table_that_fails_is_said_to_be_changed(release):
    edit(release)
    result = verified(release)
    assert result.exit_code == 3
    assert "table.csv was changed after it was published" in result.output
    assert "not at hand" not in result.output
    assert "was changed" in json.loads(verified(release, "--json").stdout)["changed"]


def test_an_untouched_table_is_not_said_to_be_changed(release):
    result = verified(release)
    assert result.exit_code == 0
    assert "changed" not in result.output
    assert "changed" not in json.loads(verified(release, "--json").stdout)
