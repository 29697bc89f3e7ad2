"""Append-only triggers that somebody dropped, disabled or changed are reported, and put back."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from itertools import count

import pytest

import shoal
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.keys import Keys

TABLE = "shoal_ledger_entries"
SCHEMAS = count(1)


def behind(where, *statements: str) -> None:
    with closing(sqlite3.connect(where)) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "a.db") as made:
        yield made


WEAKER = (
    f"CREATE TRIGGER {TABLE}_update BEFORE UPDATE ON {TABLE} WHEN 0 "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END"
)


@pytest.mark.parametrize("more", [(), (WEAKER,)], ids=["dropped", "weaker"])
def test_a_trigger_that_is_gone_is_reported_and_put_back(ledger, more):
    assert ledger.check() == ()
    behind(ledger.where, f"DROP TRIGGER {TABLE}_update", *more)
    (problem,) = ledger.check()
    assert problem.startswith(f"The append-only triggers of {TABLE} are missing or were changed")
    ledger.guard()
    assert ledger.check() == ()
    with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
        behind(ledger.where, f"UPDATE {TABLE} SET kind = 'x'")


def test_an_admission_notes_that_triggers_are_gone(ledger, tmp_path):
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n1,b\n", encoding="utf-8")
    behind(ledger.where, f"DROP TRIGGER {TABLE}_delete")
    roles = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    found = ledger.admit(tmp_path / "t.csv", schema=roles)
    assert any("append-only triggers" in note for note in found.notes)


@pytest.mark.parametrize(
    "statement",
    [
        f"ALTER TABLE {TABLE} DISABLE TRIGGER ALL",
        f"DROP TRIGGER {TABLE}_change ON {TABLE}",
        f"CREATE OR REPLACE FUNCTION {TABLE}_refused() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NEW; END $$",
    ],
)
def test_a_trigger_of_postgresql_that_is_gone_is_reported_and_put_back(request, statement):
    psycopg = pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    server, schema = request.getfixturevalue("postgresql"), f"guard_{os.getpid()}_{next(SCHEMAS)}"
    with psycopg.connect(server, autocommit=True) as database:
        database.execute(f"CREATE SCHEMA {schema}")
    where = f"{server}&options=-csearch_path%3D{schema}"
    with Book.create(where, Keys.new("A"), {}) as book:
        assert book.unguarded() == ()
        with psycopg.connect(where) as database:
            database.execute(statement)
        assert TABLE in book.unguarded()
        book.guard()
        assert book.unguarded() == ()
        with psycopg.connect(where) as database, pytest.raises(psycopg.Error, match="only ever"):
            database.execute(f"DELETE FROM {TABLE}")
