"""Rules about providers on the command line, from one process to another."""

from __future__ import annotations

import json
import shutil
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

RULE = "m-privacy m=1 (k-anonymity k=2 & distinct-diversity l=2)"


@pytest.fixture
def pooled(here, roles):
    """The patients with a hospital each, and what the columns are."""
    head, *lines = (here / "patients.csv").read_text(encoding="utf-8").splitlines()
    sites = ("Harbour", "St Anna", "Hill")
    rows = [f"{line},{sites[i % 3]}" for i, line in enumerate(lines)]
    (here / "pooled.csv").write_text("\n".join([f"{head},site", *rows, ""]), encoding="utf-8")
    return ["pooled.csv", *roles, "--provider", "site"]


def test_published_here_and_verified_elsewhere(shoal, pooled, here, command_line, tmp_path):
    done = shoal("publish", *pooled, "-m", RULE, "-o", "out", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["verdict"]["how"] == "counted with the private companion"
    assert "Harbour" not in json.dumps(told["manifest"])
    assert "site" not in told["manifest"]["columns"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = ["python", "-m", "shoal.cli", "verify", str(here / "out"), "--json"]
    again = subprocess.run(asked, cwd=elsewhere, env=command_line, capture_output=True, check=True)
    assert json.loads(again.stdout) == told["verdict"]


def test_exit_codes(shoal, pooled, here):
    assert shoal("publish", *pooled, "-m", RULE, "-o", "out").exit_code == 0
    much = "m-privacy m=2 (k-anonymity k=300)"
    failed = shoal("verify", "out", "-m", much)
    assert failed.exit_code == 3
    assert "Harbour" not in failed.output
    shown = json.loads(shoal("verify", "out", "-m", much, "--show", "--json").stdout)
    worst = shown["judgements"][0]["worst"]
    assert len(worst["coalition"]) == worst["members"]
    assert set(worst["coalition"]) < {"Harbour", "St Anna", "Hill"}
    no_column = [*pooled[:-2], "--identifier", "site"]
    assert shoal("publish", *no_column, "-m", RULE, "-o", "other").exit_code == 2
    three = shoal("publish", *pooled, "-m", "m-privacy m=3 (k-anonymity k=2)", "-o", "other")
    assert three.exit_code == 2
    assert "m=2 at most" in three.stderr
    assert not (here / "other").exists()


def test_a_companion_that_is_changed_or_missing_is_bad_input(shoal, pooled, here):
    assert shoal("publish", *pooled, "-m", RULE, "-o", "out").exit_code == 0
    path = here / "out.private/rows.parquet"
    who = pq.read_table(path)["provider"].to_pylist()
    pq.write_table(pa.table({"provider": who[1:] + who[:1]}), path)
    changed = shoal("verify", "out")
    assert changed.exit_code == 5
    assert "changed since" in changed.stderr
    shutil.rmtree(here / "out.private")
    missing = shoal("verify", "out")
    assert missing.exit_code == 5
    assert "Hint: put it beside the release, as out.private." in missing.stderr
