"""A ledger made, opened, read and added to, in both databases; and what is wrong is said."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shoal.core.errors import InputError, OutputError, ShoalError, UsageError
from shoal.ledger.chain.book import _LARGEST, Book
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import KINDS, NO_PREVIOUS, ChainHead, to_canonical_json

IN_A_FILE = pytest.mark.parametrize("where", ["sqlite"], indirect=True)
"""For what no database has a part in."""
SOURCE = Path(__file__).parent.parent.parent / "src"


def test_the_founding_entry(where, keys):
    with Book.create(where, keys, {"epsilon": 2.0, "delta": None}) as book:
        (entry,) = book.entries()
        assert (entry.number, entry.previous, entry.signer) == (1, NO_PREVIOUS, keys.public)
        told = {"kind": "founding", "by": "City hospital", "public": keys.public, "epsilon": 2.0}
        assert told.items() <= entry.body.items()
        assert entry.body["ledger"] == book.identity
        assert len(book.identity) == 32
        assert book.publishers() == {keys.public: "City hospital"}
        assert (book.head(), book.check()) == (entry.head, ())


def test_what_was_added_is_read_again_by_another(where, keys, book):
    body = {"kind": "release", "name": "Jahrgang 2024 · ‘ü’\x00\n", "deep": {"b": [1, 2.5, None]}}
    before, entry = book.head(), book.append(body, sealed=b"\x00\xff" * 100)
    assert (entry.number, entry.previous) == (before.number + 1, before.hash)
    with Book.open(where, keys) as other:
        assert other.entries(after=5) == [entry]
        assert other.entry(6) == entry
        assert body.items() <= other.entry(6).body.items()
        assert other.sealed(6) == b"\x00\xff" * 100
        assert other.identity == book.identity


@IN_A_FILE
def test_the_hash_is_as_documented(book):
    """Computed here again from the words of the theory page."""
    entry = book.entry(3)
    held = {
        "body": entry.body,
        "number": 3,
        "sealed_sha256": entry.sealed_sha256,
        "signer": entry.signer,
    }
    text = json.dumps(held, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    whole = b"shoal ledger entry 1\n" + entry.previous.encode() + text.encode()
    assert hashlib.sha256(whole).hexdigest() == entry.hash
    assert entry.previous == book.entry(2).hash


@IN_A_FILE
def test_time_and_name_are_the_books_own(book):
    before = datetime.now(UTC) - timedelta(milliseconds=1)  # the ledger tells whole ones
    entry = book.append({"kind": "foreign", "publisher": "Lake hospital"})
    assert before <= datetime.fromisoformat(entry.body["at"]) <= datetime.now(UTC)
    for name in ("at", "by"):
        with pytest.raises(UsageError, match=f"The ledger itself writes {name}"):
            book.append({"kind": "release", name: "x"})
    with pytest.raises(UsageError, match="itself writes ledger"):
        Book.create("never.db", book.keys, {"ledger": "mine"})
    assert not Path("never.db").exists()


@IN_A_FILE
def test_keys_of_a_body_that_are_not_text(book):
    entry = book.append({"kind": "release", "sizes": {10: 1, 9: 2}})
    assert (entry.body["sizes"], book.check()) == ({"10": 1, "9": 2}, ())


@IN_A_FILE
def test_what_json_cannot_hold_is_refused(book):
    for value in (float("nan"), {1, 2}, b"x", "\ud800"):
        with pytest.raises(InputError, match="something that JSON cannot"):
            book.append({"kind": "release", "value": value})
    assert book.head().number == 5


@IN_A_FILE
def test_kinds(book):
    for kind in ("founding", "other", None, ["release"]):
        with pytest.raises(UsageError, match="no known kind"):
            book.append({"kind": kind})
    for known in KINDS[1:3]:
        assert book.append({"kind": known}).kind == known


@IN_A_FILE
def test_entries_and_heads_print(book):
    entry = book.entry(2)
    assert str(entry) == f"2 · {entry.body['at']} · City hospital · release"
    assert json.loads(json.dumps(entry.to_json()))["body"]["name"] == "r2"
    assert ChainHead.parse(f" {book.head()}\n") == book.head()
    for wrong in ("", "5", "5:ab", f"0:{'a' * 64}", f"5:{'g' * 64}", f"-1:{'a' * 64}"):
        with pytest.raises(UsageError, match="A head is a number, a colon"):
            ChainHead.parse(wrong)


def test_canonical_json_does_not_depend_on_the_order():
    assert to_canonical_json({"b": 1, "a": {"d": 1, "c": 2}}) == to_canonical_json(
        {"a": {"c": 2, "d": 1}, "b": 1}
    )


def test_reading_needs_no_key_but_opening_and_adding_do(where, book):
    with Book.open(where) as reader:
        assert (reader.head(), reader.check()) == (book.head(), ())
        for act in (lambda: reader.sealed(2), lambda: reader.append({"kind": "release"})):
            with pytest.raises(UsageError, match="needs the ledger's key"):
                act()


@IN_A_FILE
def test_what_is_not_there(book):
    for act in (book.entry, book.sealed):
        with pytest.raises(InputError, match="has no entry 9"):
            act(9)
    with pytest.raises(InputError, match="Entry 5 has no sealed content"):
        book.sealed(5)


def test_a_content_may_be_empty_but_not_too_large(monkeypatch, book):
    assert book.sealed(book.append({"kind": "release"}, sealed=b"").number) == b""
    monkeypatch.setattr("shoal.ledger.chain.book._LARGEST", 10)
    with pytest.raises(OutputError, match="larger than"):
        book.append({"kind": "release"}, sealed=b"x" * 11)
    assert book.check() == ()


def test_the_largest_content_can_be_read_again():
    """A server hands bytes over as two digits each, in a text that must stay below 1 GiB."""
    largest, around = 2**30 - 1, 100  # nonce, tag, and what stands before the digits
    assert 2 * (_LARGEST + around) < largest


# Publishers


def test_another_publisher_adds_once_it_is_known(where, keys, book):
    lake = keys.sibling("Lake hospital")
    with Book.open(where, lake) as other:
        with pytest.raises(InputError, match=rf"does not know this key.*\n.*{lake.public}"):
            other.append({"kind": "release"})
        book.append({"kind": "publisher", "name": "Lake", "public": lake.public})
        entry = other.append({"kind": "release"}, sealed=b"of the lake")
        assert (entry.body["by"], entry.signer) == ("Lake", lake.public)  # the name it is known by
        assert other.check() == ()
    assert book.sealed(entry.number) == b"of the lake"
    assert book.publishers() == {keys.public: "City hospital", lake.public: "Lake"}


@IN_A_FILE
def test_a_publisher_is_added_whole_and_once(keys, book):
    new = Keys.new("x").public
    for wrong in (
        {},
        {"name": "x"},
        {"name": "", "public": new},
        {"name": "x", "public": new[1:]},
        {"name": "x", "public": new.upper() + "G"},
    ):
        with pytest.raises(UsageError, match="a name and a public key"):
            book.append({"kind": "publisher", **wrong})
    for name, public in (("City hospital", new), ("x", keys.public)):
        with pytest.raises(UsageError, match="knows a publisher of this name or key"):
            book.append({"kind": "publisher", "name": name, "public": public})
    assert book.head().number == 5


# Places


def test_a_wrong_key_is_told_at_the_door(where, book):
    with pytest.raises(InputError, match="This is not the key of"):
        Book.open(where, Keys.new("City hospital"))


@pytest.mark.parametrize("name", ["a b.db", "a?b#c%20.db", "ü.db"])
def test_odd_file_names(tmp_path, keys, name):
    Book.create(tmp_path / name, keys, {}).close()
    with Book.open(f"sqlite:///{tmp_path / name}", keys) as book:
        assert book.check() == ()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_no_ledger(tmp_path, keys):
    (tmp_path / "text.db").write_text("name,age\n" * 1000)
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE people (name)")
    for name, fact in {
        "none.db": "There is no ledger none.db",
        "text.db": "text.db is not a ledger",
        "empty.db": "There is no ledger in empty.db",
        "other.db": "There is no ledger in other.db",
        ".": "is a folder",
        "no/where.db": "There is no ledger where.db",
    }.items():
        with pytest.raises(InputError, match=fact):
            Book.open(tmp_path / name, keys)
    assert not (tmp_path / "none.db").exists()


def test_a_ledger_is_made_only_where_there_is_nothing(tmp_path, keys):
    (tmp_path / "empty.db").touch()  # all that a killed founder leaves
    Book.create(tmp_path / "empty.db", keys, {}).close()
    (tmp_path / "text.db").write_text("name,age\n" * 1000)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE people (name)")
    for name in ("empty.db", "text.db", "other.db", "no/where.db", "."):
        before = (tmp_path / name).read_bytes() if (tmp_path / name).is_file() else None
        with pytest.raises(InputError):
            Book.create(tmp_path / name, keys, {})
        if name == "text.db":
            assert (tmp_path / name).read_bytes() == before


def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path, keys):
    """Also the way in which it keeps its log, which lasts."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE people (name)")
    before = path.read_bytes()
    for act in (Book.open, lambda *given: Book.create(*given, {})):
        with pytest.raises(InputError):
            act(path, keys)
        assert path.read_bytes() == before
    Book.create(tmp_path / "a.db", keys, {}).close()
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        assert made.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@IN_A_FILE
def test_a_ledger_where_nothing_may_be_written(monkeypatch, where, book, keys):
    """As on a disk that is read only: it is read and checked, and no file is made beside it."""
    head, folder = book.head(), Path(where).parent
    book.close()
    before = sorted(folder.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for key in (None, keys):
        with Book.open(where, key) as reader:
            assert (reader.head(), reader.check(head)) == (head, ())
            with reader.place.reading():
                assert sorted(folder.iterdir()) == before
    with pytest.raises(OutputError, match="may not be written by you"):
        Book.open(where, keys).append({"kind": "release"})
    with book.place.writing(), Book.open(where) as reader:  # somebody else may, and has it open
        assert reader.check(head) == ()


def test_a_folder_that_cannot_be_kept(monkeypatch, tmp_path, keys):
    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "a.db"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(OutputError, match=r"a\.db cannot be kept.*Input/output error"):
            Book.create(path, keys, {})
    Book.create(path, keys, {}).close()  # nothing was founded, and nothing stands in the way


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_ledger_that_may_not_be_written(tmp_path, keys):
    Book.create(tmp_path / "a.db", keys, {}).close()
    (tmp_path / "a.db").chmod(0o400)
    with pytest.raises(InputError), Book.open(tmp_path / "a.db", keys) as book:
        book.append({"kind": "release"})


@pytest.mark.parametrize(
    ("address", "fact"),
    [
        ("mysql://me:hush@there/db", "cannot lie in 'mysql'"),
        ("postgresql://me:hush@there:port/db", "address cannot be read"),
        ("postgresql://me:hush@/db?host=/nowhere", "PostgreSQL does not answer"),
    ],
)
def test_addresses_that_do_not_work_are_not_shown(address, fact):
    pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    with pytest.raises(ShoalError, match=fact) as error:
        Book.open(address)
    for secret in ("hush", "there", "nowhere"):
        assert secret not in str(error.value)


def test_a_missing_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"pip install 'shoal\[postgres\]'"):
        Book.open("postgresql://me@there/db")


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_ledger_beside_other_tables_on_a_server(where, keys):
    import psycopg

    with psycopg.connect(where) as database:
        database.execute("CREATE TABLE people (name text)")
    with Book.create(where, keys, {}) as book:
        assert book.check() == ()


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_role_that_may_only_read_and_add(where, book, keys):
    """Least rights: whoever publishes need not be able to drop the triggers."""
    import psycopg

    with psycopg.connect(where) as database:
        schema = database.execute("SELECT current_schema()").fetchone()[0]
        role = f"{schema}_clerk"
        database.execute(f"CREATE ROLE {role} LOGIN")
        database.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        database.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    with Book.open(where.replace("shoal@", f"{role}@"), keys) as clerk:
        with pytest.raises(OutputError, match="may not be written by you"):
            clerk.append({"kind": "release"})
        with psycopg.connect(where) as database:
            database.execute(f"GRANT INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        clerk.append({"kind": "release"}, sealed=b"x")
        assert clerk.check() == ()


def test_the_room_is_light():
    """Writers start quickly: no tables, no engines, no plots."""
    heavy = "{'numpy', 'pyarrow', 'duckdb', 'numba', 'scipy'} & set(sys.modules)"
    line = f"import sys, shoal.ledger.chain; assert not {heavy}"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, "-c", line], check=True, env=environment)
