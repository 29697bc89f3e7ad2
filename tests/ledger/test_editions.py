"""A ledger stays readable: one of edition 1, kept as text, opens today and after a migration."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from shoal.core.errors import InputError, OutputError
from shoal.ledger.chain import tables
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead

OLD = Path(__file__).parent / "edition_1.sql"
KEYS = Keys("City hospital", bytes(range(32)), bytes(range(32, 64)))
HEAD = ChainHead.parse("4:4b643e0bcf661652f5429564ca55912a3ded98f3e8786c259b6da2411d506d61")


@pytest.fixture
def old(tmp_path) -> Path:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(OLD.read_text(encoding="utf-8"))
    return path


def later(connection: sa.Connection) -> None:
    """What a later edition might do to the tables."""
    connection.exec_driver_sql("ALTER TABLE shoal_ledger_entries ADD COLUMN note TEXT")


def broken(connection: sa.Connection) -> None:
    later(connection)
    connection.exec_driver_sql("ALTER TABLE nothing ADD COLUMN note TEXT")


def has_note(book: Book) -> bool:
    with book.place.reading() as connection:
        columns = sa.inspect(connection).get_columns("shoal_ledger_entries")
    return "note" in {column["name"] for column in columns}


def edition(book: Book) -> int:
    with book.place.reading() as connection:
        return tables.read_edition(connection)


def must_be_the_old_one(book: Book) -> None:
    assert (book.head(), book.check(HEAD)) == (HEAD, ())
    assert book.entry(2).body["name"] == "Jahr 2024 · ü"
    assert book.sealed(2) == b"geometry"
    assert set(book.publishers().values()) == {"City hospital", "Lake hospital"}


def test_an_old_ledger_opens_and_goes_on(old):
    with Book.open(old, KEYS) as book:
        must_be_the_old_one(book)
        assert book.append({"kind": "release"}, sealed=b"new").previous == HEAD.hash
        assert book.check(HEAD) == ()


def test_an_old_ledger_becomes_a_later_one(old, monkeypatch):
    monkeypatch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, later))
    for _ in range(2):  # the second time there is nothing to do
        with Book.open(old, KEYS) as book:
            must_be_the_old_one(book)
            assert (edition(book), has_note(book)) == (2, True)
    with Book.open(old, KEYS) as book:
        book.append({"kind": "release"})
        assert book.check(HEAD) == ()


def test_a_new_ledger_goes_through_all_editions(where, monkeypatch):
    with monkeypatch.context() as patch, Book.create(where, KEYS, {}) as first:
        assert edition(first) == 1
        patch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, later))
        with Book.open(where, KEYS) as book:
            assert (edition(book), has_note(book), book.check()) == (2, True, ())
    with pytest.raises(InputError, match=r"of edition 2; this shoal knows up to 1\.\n.*newer"):
        Book.open(where, KEYS)


def test_a_migration_that_fails_changes_nothing(old, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, broken))
        with pytest.raises(OutputError, match=r"old\.db failed"):
            Book.open(old, KEYS)
    with Book.open(old, KEYS) as book:
        must_be_the_old_one(book)
        assert (edition(book), has_note(book)) == (1, False)


def test_nothing_is_added_to_a_ledger_that_became_newer(where, monkeypatch):
    """By a book that was opened before: it does not know what the newer edition asks for."""
    with Book.create(where, KEYS, {}) as book:
        with monkeypatch.context() as patch:
            patch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, later))
            Book.open(where, KEYS).close()
        with pytest.raises(InputError, match=r"of edition 2; this shoal knows up to 1"):
            book.append({"kind": "release"})
        assert book.head().number == 1


def test_todays_tables_are_those_of_edition_1(old, tmp_path):
    """Whoever changes them without a migration is told here."""

    def shape(path: Path) -> set[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as database:
            found = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
                " AND tbl_name <> 'shoal_ledger_checkpoints'"  # what may be deleted at any time
            )
            return {(name, " ".join(text.split())) for name, text in found}

    Book.create(tmp_path / "new.db", KEYS, {}).close()
    assert shape(tmp_path / "new.db") == shape(old)
