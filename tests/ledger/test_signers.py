"""Nobody reads or signs on top of what no known publisher signed, nor founds a ledger anew."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

import shoal
from shoal.core.errors import InputError
from shoal.data import bundled
from shoal.ledger.chain import tables
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.database import open_database
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import (
    NO_PREVIOUS,
    ChainHead,
    Entry,
    hash_bytes,
    is_signed,
    sign_next_entry,
)
from shoal.ledger.chain.verified_chain import insert_entry

IN_A_FILE = pytest.mark.parametrize("where", ["sqlite"], indirect=True)
"""For what no database has a part in."""
TABLE, SEALED = "shoal_ledger_entries", "shoal_ledger_sealed"


def test_a_foreign_signature(where, book, forced, refused):
    forced(
        f"UPDATE {TABLE} SET signature = (SELECT t.signature FROM {TABLE} t WHERE t.number = 2)"
        " WHERE number = 4"
    )
    problem = "Entry 4 is not signed by the key that it names: the signature is foreign."
    assert book.check() == (problem,)
    refused(book, problem, {"entries", "entry"})
    with Book.open(where, book.keys) as fresh:  # that has verified nothing yet
        refused(fresh, problem)


@IN_A_FILE
def test_a_publisher_signs_in_anothers_name(book, keys, sneak, refused):
    other = keys.sibling("Lake hospital")
    book.append({"kind": "publisher", "name": "Lake hospital", "public": other.public})
    sneak(other, {"kind": "release", "by": "City hospital"})
    problem = "Entry 7 is signed by another publisher than it says."
    assert book.check() == (problem,)
    refused(book, problem)


@pytest.mark.parametrize("kind", ["publisher", "founding"])
def test_a_stranger_lets_itself_in(where, book, sneak, kind, refused):
    """Whoever may insert a row cannot make a key known, nor take a release out of judgement."""
    evil = Keys.new("Evil")
    named = {"kind": kind, "by": "Evil", "name": "Evil", "public": evil.public}
    gone = {"kind": "withdrawn", "by": "Evil", "number": 2, "reason": "-", "never_out": True}
    sneak(evil, named, gone)
    unknown = [f"Entry {n} is signed by a key that is no known publisher's." for n in (6, 7)]
    kinds = ["Entry 6 is of a kind that it cannot be."] if kind == "founding" else []
    assert book.check() == (*kinds, *unknown)
    refused(book, (*kinds, *unknown)[0])
    with Book.open(where, book.keys) as fresh:
        refused(fresh, (*kinds, *unknown)[0])
    with Book.open(where, evil_twin(evil, book)) as theirs:  # with the sealing key it opens
        refused(theirs, (*kinds, *unknown)[0])


def evil_twin(evil: Keys, book: Book) -> Keys:
    return Keys(evil.name, evil.signing, book.keys.sealing)


def test_a_stranger_is_not_judged_past(tmp_path):
    """The same through the publisher's door: a release that would be refused is not let by."""
    schema = shoal.Schema.of(quasi=["Race", "BirthDate", "Gender", "ZIP"], sensitive=["Problem"])
    first, second = (bundled.path(f"sweeney_fig4_gt{n}.csv") for n in (1, 3))
    asked = {"schema": schema, "relation": "same table"}
    with shoal.Ledger.init(tmp_path / "releases.db") as ledger:
        ledger.add_foreign(first, schema=schema, by="Lake hospital")
        with pytest.raises(shoal.Refused):
            ledger.admit(second, **asked)
        evil, head = Keys.new("Evil"), ledger.head()
        with ledger.book.place.writing() as connection:
            for body in (
                {"kind": "publisher", "by": "Evil", "name": "Evil", "public": evil.public},
                {"kind": "withdrawn", "by": "Evil", "number": 2, "never_out": True},
            ):
                entry = sign_next_entry(head, evil, body, "")
                insert_entry(connection, entry, None)
                head = entry.head
        for judge in (ledger.admit, ledger.judge):
            with pytest.raises(InputError, match="Entry 3 is signed by a key that is no known"):
                judge(second, **asked)


def test_a_long_chain_is_verified_once(monkeypatch, where, book):
    verified = []

    def counted(entry: Entry) -> bool:
        verified.append(entry.number)
        return is_signed(entry)

    monkeypatch.setattr("shoal.ledger.chain.chain_check.is_signed", counted)
    with Book.open(where, book.keys) as fresh:
        for act in (fresh.entries, fresh.head, fresh.publishers, lambda: fresh.sealed(3)):
            act()
        assert verified == [1, 2, 3, 4, 5]
        for _ in range(3):
            fresh.append({"kind": "release"})
        book.append({"kind": "release"})
        verified.clear()
        assert len(fresh.entries()) == 9
        assert verified == [8, 9]
        assert (fresh.check(), verified[2:]) == ((), list(range(1, 10)))  # which looks at all


# The founding


def test_a_ledger_founded_anew_without_its_key(where, book, keys, forced, refused):
    """A stranger writes all of it: the identity and the mark as they were, a key of its own."""
    old = book.entry(1)
    thief = Keys("City hospital", Keys.new("x").signing, bytes(32))
    with open_database(where).reading() as connection:
        stored = connection.execute(sa.select(tables.SEALED.c.content)).scalar()
    forced(f"DELETE FROM {SEALED}", f"DELETE FROM {TABLE}")
    founding = sign_next_entry(
        ChainHead(0, NO_PREVIOUS), thief, {**old.body, "public": thief.public, "epsilon": 100.0}, ""
    )
    body = {"kind": "release", "by": "City hospital"}
    with open_database(where).writing() as connection:
        insert_entry(connection, founding, None)
        insert_entry(
            connection, sign_next_entry(founding.head, thief, body, hash_bytes(stored)), stored
        )
    with pytest.raises(InputError, match="or somebody without it founded it anew"):
        Book.open(where, keys)
    problem = "Entry 1 founds another ledger than that of this key."
    assert book.check()[0] == problem  # opened before
    refused(book, problem)
    with Book.open(where) as reader:
        assert reader.check() == ()  # without the key nothing can tell


def test_another_ledger_of_the_same_founder_in_its_place(tmp_path, keys, refused):
    with (
        Book.create(tmp_path / "a.db", keys, {}) as book,
        Book.create(tmp_path / "b.db", keys, {}) as other,
    ):
        moved = Book(other.place, keys, book.identity)
        problem = "Entry 1 founds another ledger than that of this key."
        assert moved.check() == (problem,)
        refused(moved, problem)


@IN_A_FILE
def test_a_second_founding(book, keys, sneak):
    sneak(keys, {"kind": "founding", "by": "City hospital", "public": keys.public})
    assert book.check() == ("Entry 6 is of a kind that it cannot be.",)
