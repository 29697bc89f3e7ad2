"""A checkpoint lets a long ledger be used as quickly as a short one, and hides nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import shoal
from shoal.core.errors import InputError
from shoal.ledger.chain import checkpoint
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.checkpoint import BLOCK_ENTRIES
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import (
    ChainHead,
    Entry,
    is_signed,
    sign_next_entry,
    to_canonical_json,
)
from shoal.ledger.chain.verified_chain import insert_entry

TABLE, BLOCKS = "shoal_ledger_entries", "shoal_ledger_checkpoints"
LENGTH = 2 * BLOCK_ENTRIES + 10


def fill(book: Book, length: int) -> None:
    """Entries as they would be recorded, quickly: about other people than most."""
    keys = book.keys
    assert keys is not None
    with book.place.writing() as connection:
        head = book._verified.walked(connection).head
        while head.number < length:
            body = {
                "kind": "release",
                "by": keys.name,
                "at": "2026-01-01",
                "name": f"r{head.number}",
                "about": f"people {head.number % 3}",
                "table": f"{head.number:064x}",
            }
            entry = sign_next_entry(head, keys, body, "")
            insert_entry(connection, entry, None)
            head = entry.head


@pytest.fixture
def keys() -> Keys:
    return Keys.new("City")


@pytest.fixture
def where(tmp_path, keys):
    """A ledger of more than two blocks, whose publisher has used it once."""
    with Book.create(tmp_path / "a.db", keys, {}) as book:
        fill(book, LENGTH)
        book.head()
    return tmp_path / "a.db"


@pytest.fixture
def verified(monkeypatch) -> list[int]:
    """The numbers of entries whose signature was computed, in turn."""
    seen: list[int] = []

    def watched(entry: Entry) -> bool:
        seen.append(entry.number)
        return is_signed(entry)

    monkeypatch.setattr("shoal.ledger.chain.chain_check.is_signed", watched)
    return seen


def behind(where, *statements: str) -> None:
    """Change the database as its owner can, without its triggers."""
    with closing(sqlite3.connect(where)) as database, database:
        named = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in named:
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)


def test_only_what_is_new_is_verified_by_the_next_process(where, keys, verified):
    with Book.open(where, keys) as book:
        assert book.head().number == LENGTH
        assert len(book.entries()) == LENGTH
        book.append({"kind": "release"})
    assert verified == [*range(2 * BLOCK_ENTRIES + 1, LENGTH + 1)]
    del verified[:]
    with Book.open(where, keys) as book:
        assert book.check() == ()  # which looks at all
    assert verified == [*range(1, LENGTH + 2)]


def test_nobody_believes_another_s_checkpoint(where, keys, verified):
    for other in (None, keys.sibling("Lake")):
        with Book.open(where, other) as book:
            assert book.head().number == LENGTH
        assert verified == [*range(1, LENGTH + 1)]
        del verified[:]


def test_a_checkpoint_is_believed_for_some_time_only(where, keys, verified, monkeypatch):
    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) + timedelta(days=checkpoint.TRUSTED_DAYS + 1)

    monkeypatch.setattr(checkpoint, "datetime", Later)
    with Book.open(where, keys) as book:
        book.head()
    assert verified[0] == 1


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {BLOCKS} SET content = substr(content, 1, 200) || x'00' || substr(content, 202)",
        f"UPDATE {BLOCKS} SET signature = replace(signature, 'a', 'b')",
        f"UPDATE {BLOCKS} SET first = first + 1",
        f"DELETE FROM {BLOCKS} WHERE first = 1",
        f"DROP TABLE {BLOCKS}",
    ],
)
def test_a_changed_checkpoint_is_not_believed(where, keys, verified, statement):
    behind(where, statement)
    with Book.open(where, keys) as book:
        assert book.head().number == LENGTH
    assert verified == [*range(1, LENGTH + 1)]


@pytest.mark.parametrize("number", [1, 3, BLOCK_ENTRIES, 2 * BLOCK_ENTRIES])
def test_an_old_row_that_was_changed_is_found_when_it_is_read(where, keys, number):
    behind(
        where, f"UPDATE {TABLE} SET body = replace(body, 'City', 'Lake') WHERE number = {number}"
    )
    with Book.open(where, keys) as book, pytest.raises(InputError, match=f"Entry {number} was"):
        book.entry(number)


def test_an_old_row_cannot_be_hidden(where, keys):
    """Which entries are about somebody is read from the checkpoint, not from the table."""
    with Book.open(where, keys) as book:
        mine = book.outline().numbers(lambda facts: facts.get("about") == "people 1")
    assert mine == [number for number in range(2, LENGTH + 1) if (number - 1) % 3 == 1]
    behind(where, f"DELETE FROM {TABLE} WHERE number = {mine[0]}")
    with Book.open(where, keys) as book:
        assert book.outline().numbers(lambda facts: facts.get("about") == "people 1") == mine
        with pytest.raises(InputError, match=f"Entry {mine[0]} is missing"):
            book.some(mine)


def test_an_old_row_from_another_branch_is_found(where, keys, tmp_path):
    """Signed by the same key, with the same number: of a ledger that was put back once."""
    with Book.open(where, keys) as book:
        true = book.entry(2)
    other = sign_next_entry(ChainHead(1, true.previous), keys, {**true.body, "about": "nobody"}, "")
    body = to_canonical_json(other.body)
    behind(
        where,
        f"UPDATE {TABLE} SET hash = '{other.hash}', signature = '{other.signature}',"
        f" body = '{body}' WHERE number = 2",
    )
    with Book.open(where, keys) as book, pytest.raises(InputError, match="does not follow"):
        book.entry(2)


def test_whoever_may_only_read_can_read(where, keys, tmp_path):
    with Book.open(where, keys) as book:
        expected = book.head()
    where.chmod(0o400)
    with Book.open(where, keys) as book:
        assert book.head() == expected


def test_the_list_of_a_long_ledger_is_its_end(where, keys, tmp_path):
    keys.write(tmp_path / "a.key")
    with shoal.Ledger(where, tmp_path / "a.key") as ledger:
        assert [entry.number for entry in ledger.recent(5)] == [*range(LENGTH - 4, LENGTH + 1)]
        assert len(ledger.recent()) == LENGTH
        about = [entry.body["about"] for entry in ledger.recent(4, "people 2")]
        assert about == ["people 2"] * 4
