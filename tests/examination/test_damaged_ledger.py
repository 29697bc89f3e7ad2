"""A corrupt byte in a ledger's database, or a release without its table, is bad input."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main

ROLES = shoal.Schema.of(quasi=["age"], sensitive=["ill"])


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n1,b\n1,c\n", encoding="utf-8")
    shoal.publish(tmp_path / "t.csv", ROLES, "k-anonymity k=3", out=tmp_path / "release")
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        made.admit(tmp_path / "release")
    with closing(sqlite3.connect(tmp_path / "releases.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return tmp_path / "releases.db"


COMMANDS = (
    ("ledger", "list"), ("ledger", "verify"), ("ledger", "admit", "release"),
    ("ledger", "show", "2"), ("ledger", "withdraw", "2", "--reason", "x"),
)  # fmt: skip


def must_be_no_internal_error(ledger, flips: int, seed: int) -> None:
    content, draw = ledger.read_bytes(), random.Random(seed)
    for _ in range(flips):
        damaged = bytearray(content)
        page = 4096 * draw.randrange(len(damaged) // 4096)
        near = page + draw.randrange(60)  # where a page says what is in it
        place = draw.choice((draw.randrange(100), near, draw.randrange(len(damaged))))
        damaged[place] ^= 1 << draw.randrange(8)
        for command in COMMANDS:
            for log in ledger.parent.glob("releases.db-*"):
                log.unlink()
            ledger.write_bytes(damaged)
            done = CliRunner().invoke(main, command)
            assert done.exit_code in (0, 2, 3, 4, 5), (place, command, done.output)
            assert "Internal error" not in done.output


def test_a_corrupt_byte_is_no_internal_error(ledger):
    must_be_no_internal_error(ledger, 12, 1)


@pytest.mark.long
def test_many_corrupt_bytes_are_no_internal_error(ledger):
    must_be_no_internal_error(ledger, 400, 2)


def test_a_body_that_is_no_text_is_damage(ledger):
    with closing(sqlite3.connect(ledger)) as database, database:
        database.execute("DROP TRIGGER shoal_ledger_entries_update")
        database.execute(
            "UPDATE shoal_ledger_entries SET body = CAST(x'ff00fe' AS TEXT) WHERE number = 2"
        )
    for command in COMMANDS:
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 5, done.output


@pytest.mark.parametrize("command", [("ledger", "admit", "release"),
                                     ("ledger", "admit", "release", "--dry-run")])  # fmt: skip
def test_a_release_without_its_table_is_bad_input(ledger, tmp_path, command):
    (tmp_path / "release" / "table.csv").unlink()
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 5
    assert "table.csv" in done.output
    assert "Hint: " in done.output
