"""Whatever a hand with the database does is refused there, or found by the chain and told."""

from __future__ import annotations

import pytest

from shoal.core.errors import InputError, OutputError
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import (
    ChainHead,
    Entry,
    hash_bytes,
    sign_next_entry,
    to_canonical_json,
)
from shoal.ledger.chain.verified_chain import insert_entry

IN_A_FILE = pytest.mark.parametrize("where", ["sqlite"], indirect=True)
"""For what no database has a part in."""
TABLE, SEALED = "shoal_ledger_entries", "shoal_ledger_sealed"
COLUMNS = "previous, hash, signer, signature, sealed_sha256, kind, body"


def rewritten(entry: Entry, number: int | None = None) -> str:
    """The statement that puts an entry in the place of the one with its number, or another's."""
    texts = {
        "previous": entry.previous,
        "hash": entry.hash,
        "signer": entry.signer,
        "signature": entry.signature,
        "sealed_sha256": entry.sealed_sha256,
        "kind": entry.kind,
        "body": to_canonical_json(entry.body),
    }
    parts = ", ".join(f"{name} = '{text}'" for name, text in texts.items())
    return f"UPDATE {TABLE} SET {parts} WHERE number = {number or entry.number}"


# What the database itself refuses


CHANGES = [
    f"UPDATE {TABLE} SET body = body WHERE number = 2",
    f"DELETE FROM {TABLE} WHERE number = 5",
    f"DELETE FROM {SEALED} WHERE number = 2",
    f"UPDATE {SEALED} SET content = content",
    "DELETE FROM shoal_ledger_editions",
    "UPDATE shoal_ledger_editions SET edition = 2",
    f"INSERT INTO {TABLE} SELECT 7, previous, hash, signer, signature, sealed_sha256, kind,"
    f" body FROM {TABLE} WHERE number = 5",
    f"INSERT INTO {SEALED} SELECT 1, content FROM {SEALED} WHERE number = 2",
]


def test_nothing_is_changed_or_deleted_by_accident(book, behind):
    for statement in CHANGES:
        with pytest.raises(Exception, match="only ever added to"):  # the driver's own error
            behind(statement)
    assert book.check(book.head()) == ()


def test_triggers_look_at_their_own_ledger(schemas, keys):
    """Also when it is written to by a session whose search path leads to another one."""
    import psycopg

    where, other = schemas(), schemas()
    with Book.create(where, keys, {}), Book.create(other, keys, {}) as longer:
        longer.append({"kind": "release"})
        table = f"{where.rpartition('%3D')[2]}.{TABLE}"
        with psycopg.connect(other) as database:
            with pytest.raises(psycopg.Error, match="only ever added to"), database.transaction():
                database.execute(f"INSERT INTO {table} SELECT 3, {COLUMNS} FROM {TABLE} LIMIT 1")
            database.execute(f"INSERT INTO {table} SELECT 2, {COLUMNS} FROM {TABLE} LIMIT 1")
            database.rollback()


@IN_A_FILE
@pytest.mark.parametrize("number", [2, 5])
def test_nothing_is_replaced(book, behind, number):
    with pytest.raises(Exception, match="only ever added to"):
        behind(f"INSERT OR REPLACE INTO {TABLE} SELECT {number}, {COLUMNS} FROM {TABLE}")
    with pytest.raises(Exception, match="only ever added to"):
        behind(f"REPLACE INTO {SEALED} SELECT 4, content FROM {SEALED} WHERE number = 2")


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_nothing_is_emptied(book, behind):
    for table in (f"{TABLE} CASCADE", SEALED, "shoal_ledger_editions"):
        with pytest.raises(Exception, match="only ever added to"):
            behind(f"TRUNCATE {table}")


# What the chain finds


def test_a_whole_chain_has_no_problems(where, book):
    assert book.check() == book.check(book.head()) == book.check(sealed=False) == ()
    for entry in book.entries():
        assert book.check(entry.head) == ()
    with Book.open(where) as reader:  # without any key
        assert reader.check(book.head()) == ()


EDITED = ["previous", "hash", "signer", "sealed_sha256", "kind", "body"]


@pytest.mark.parametrize(
    ("where", "column"),
    [*(("sqlite", column) for column in EDITED), ("postgresql", "body")],
    indirect=["where"],
)
def test_an_edited_row(book, forced, column):
    forced(f"UPDATE {TABLE} SET {column} = replace({column}, 'e', 'f') WHERE number = 3")
    forced(f"UPDATE {TABLE} SET {column} = {column} || ' ' WHERE number = 3")
    problems = book.check()
    assert "Entry 3 was changed: its hash is not that of what it holds." in problems
    assert not any(problem.startswith(("Entry 2", "Entry 5")) for problem in problems)
    for after in (0, 3):  # what follows is not trusted either
        with pytest.raises(InputError, match="Entry 3 "):
            book.entries(after)


@IN_A_FILE
@pytest.mark.parametrize("column", ["previous", "hash", "signer", "signature", "body", "kind"])
def test_a_row_of_nonsense(book, forced, column):
    for value in ("x'00ff'", "17", "'[]'", "'{}'", "'nonsense'"):
        forced(f"UPDATE {TABLE} SET {column} = {value} WHERE number = 3")
        assert any(problem.startswith("Entry 3 ") for problem in book.check())
        with pytest.raises(InputError, match="Entry 3 "):
            book.entries()


@IN_A_FILE
def test_an_edited_body_with_a_fresh_hash(book, forced):
    """Whoever has no key can make the hash fit, not the signature, nor the next one's link."""
    old = book.entry(3)
    new = sign_next_entry(book.entry(2).head, Keys.new("x"), {**old.body, "name": "other"}, "")
    forced(rewritten(Entry(3, old.previous, new.hash, new.signer, new.signature, new.body)))
    with pytest.raises(InputError, match="Entry 3 is signed by a key that is no known"):
        book.entries()
    assert book.check(sealed=False) == (
        "Entry 3 is signed by a key that is no known publisher's.",
        "Entry 4 does not follow entry 3: it holds another hash for the one before.",
    )


@IN_A_FILE
def test_a_swapped_pair(book, forced):
    third, fourth = book.entry(3), book.entry(4)
    forced(rewritten(third, 4), rewritten(fourth, 3))
    problems = book.check(sealed=False)
    for number in (3, 4):
        assert f"Entry {number} was changed: its hash is not that of what it holds." in problems


def test_a_deleted_middle(book, forced):
    forced(f"DELETE FROM {SEALED} WHERE number = 3", f"DELETE FROM {TABLE} WHERE number = 3")
    assert book.check() == ("Entry 3 is missing.",)
    for after in (2, 0, 3):
        with pytest.raises(InputError, match="Entry 3 is missing"):
            book.entries(after)
    forced(f"DELETE FROM {SEALED} WHERE number = 2", f"DELETE FROM {TABLE} WHERE number = 2")
    assert book.check() == ("Entries 2 to 3 are missing.",)


def test_a_cut_tail_shows_only_with_a_head_noted_elsewhere(book, forced):
    head = book.head()
    forced(f"DELETE FROM {SEALED} WHERE number > 3", f"DELETE FROM {TABLE} WHERE number > 3")
    assert book.check() == ()  # what is left is a whole chain: nothing in it can tell
    assert book.check(head) == (
        "The ledger ends with entry 3, before the noted 5. Entries 4 to 5 are missing.",
    )
    for _ in range(2):  # and is still found after others were added in their place
        book.append({"kind": "release"})
    assert book.check(head) == ("Entry 5 is not the one that was noted: its hash is another.",)


def test_a_missing_beginning(where, book, forced, refused):
    forced(f"DELETE FROM {TABLE} WHERE number = 1")
    with Book.open(where, book.keys) as found:
        assert found.check(sealed=False)[0] == "Entry 1 is missing."
        refused(found, "Entry 1 is missing.")
    forced(f"DELETE FROM {SEALED}", f"DELETE FROM {TABLE}")
    with Book.open(where, book.keys) as found:
        assert found.check(ChainHead(1, "0" * 64)) == (
            "The ledger is empty: its founding entry is missing.",
            "The ledger ends with entry 0, before the noted 1. Entry 1 is missing.",
        )
        refused(found, "The ledger is empty: its founding entry is missing.")


@IN_A_FILE
def test_an_edited_beginning_opens_to_be_checked(where, book, forced):
    forced(f"UPDATE {TABLE} SET body = replace(body, 'City', 'Lake') WHERE number = 1")
    with Book.open(where, book.keys) as found:
        assert found.check()[0].startswith("Entry 1 was changed")
        with pytest.raises(InputError, match="Entry 1 was changed"):
            found.append({"kind": "release"})


# Sealed contents


def test_exchanged_sealed_contents(book, forced):
    other = f"(SELECT c.content FROM copied c WHERE c.number = 7 - {SEALED}.number)"
    forced(
        f"CREATE TABLE copied AS SELECT * FROM {SEALED}",
        f"UPDATE {SEALED} SET content = {other} WHERE number IN (3, 4)",
    )
    assert book.check() == tuple(
        f"The sealed content of entry {number} is not the one that was recorded."
        for number in (3, 4)
    )
    assert book.check(sealed=False) == ()
    assert book.sealed(2) == b"content 2"
    with pytest.raises(InputError, match="content of entry 3 is not the one that was recorded"):
        book.sealed(3)


@IN_A_FILE
def test_a_missing_and_an_added_sealed_content(book, forced):
    forced(f"UPDATE {SEALED} SET number = 5 WHERE number = 3")
    assert book.check() == (
        "The sealed content of entry 5 is not the one that was recorded.",
        "The sealed content of entry 3 is missing.",
    )
    with pytest.raises(InputError, match="entry 3 is not the one"):
        book.sealed(3)


@IN_A_FILE
def test_a_content_sealed_with_another_key(where, book, keys):
    """A publisher whose sealing key is wrong cannot even open the ledger."""
    other = Keys(keys.name, keys.signing, Keys.new("x").sealing)
    with pytest.raises(InputError, match=r"This is not the key of .*\n.*sibling"):
        Book.open(where, other)
    content = other.seal(b"secret", book.identity)
    body = {"kind": "release", "by": keys.name}
    with book.place.writing() as connection:
        insert_entry(
            connection,
            sign_next_entry(book.entry(5).head, keys, body, hash_bytes(content)),
            content,
        )
    assert book.check() == ("The sealed content of entry 6 does not open with this key.",)
    with pytest.raises(InputError, match="content of entry 6 does not open"):
        book.sealed(6)


@IN_A_FILE
def test_a_content_of_another_ledger(book, keys):
    """Sealed contents are bound to their ledger: the same key does not open them elsewhere."""
    content, body = keys.seal(b"secret", "ab" * 16), {"kind": "release", "by": keys.name}
    with book.place.writing() as connection:
        insert_entry(
            connection,
            sign_next_entry(book.entry(5).head, keys, body, hash_bytes(content)),
            content,
        )
    with pytest.raises(InputError, match="content of entry 6 does not open"):
        book.sealed(6)


def test_sealed_contents_are_not_in_the_file_as_they_are(tmp_path, keys):
    with Book.create(tmp_path / "a.db", keys, {}) as book:
        book.append({"kind": "release"}, sealed=b"a most secret thing" * 50)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret thing" not in stored
    for secret in (keys.signing, keys.sealing):
        assert secret not in stored
        assert secret.hex().encode() not in stored


def test_an_append_refused_by_the_database_is_told(book, keys):
    entry = sign_next_entry(ChainHead(9, "0" * 64), keys, {"kind": "release", "name": "hush"}, "")
    with (
        pytest.raises(OutputError, match="refused the entry: a ledger is only ever") as told,
        book.place.writing() as connection,
    ):
        insert_entry(connection, entry, None)
    assert "hush" not in str(told.value.__context__)  # nor in what a debugger shows


@IN_A_FILE
def test_bytes_that_are_no_text_are_told_as_damage(book, forced):
    forced(f"UPDATE {TABLE} SET body = CAST(x'ff00fe' AS TEXT) WHERE number = 2")
    with pytest.raises(InputError, match="is not a ledger, or is damaged"):
        book.check()
