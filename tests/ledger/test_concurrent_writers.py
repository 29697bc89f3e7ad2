"""Many writers, killed writers, a full disk, a locked ledger: nothing that was told is lost."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace

import pytest
from tests import hanging

from shoal.core.errors import OutputError
from shoal.ledger.chain.book import Book, HeadMoved
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead, sign_next_entry
from shoal.ledger.chain.verified_chain import insert_entry

PROCESSES = 4
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork, kill and limits")


@pytest.fixture
def key(tmp_path, keys):
    keys.write(tmp_path / "a.key")
    return tmp_path / "a.key"


def outcome(process) -> str:
    out, err = process.communicate(timeout=hanging.SECONDS)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("each", [20, pytest.param(100, marks=pytest.mark.long)])
def test_four_processes_append_entries_at_once(where, keys, key, child, each):
    Book.create(where, keys, {}).close()
    running = [child("appends", where, key, each) for _ in range(PROCESSES)]
    for process in running:
        outcome(process)
    with Book.open(where, keys) as book:
        names = [entry.body["name"] for entry in book.entries(after=1)]
        assert book.check() == ()
        assert book.head().number == PROCESSES * each + 1
    expected = {f"{process.pid}-{n}" for process in running for n in range(each)}
    assert (len(names), set(names)) == (PROCESSES * each, expected)


@pytest.mark.parametrize(
    ("where", "ledgers", "kills"),
    [
        ("sqlite", 2, 8),
        ("postgresql", 1, 4),
        pytest.param("sqlite", 4, 25, marks=pytest.mark.long),
        pytest.param("postgresql", 1, 10, marks=pytest.mark.long),
    ],
    indirect=["where"],
)
def test_writers_killed_in_the_middle_lose_nothing(where, keys, key, child, ledgers, kills):
    # in several ledgers, since all of a ledger is checked after each kill
    places = [where, *(f"{where}-{number}" for number in range(1, ledgers))]
    for one in places:
        Book.create(one, keys, {}).close()
    for process in [child("killed", one, key, kills) for one in places]:
        told, recorded = map(int, outcome(process).split())
        assert kills <= told <= recorded


def test_a_file_that_may_not_grow(tmp_path, keys, key, child):
    where = tmp_path / "releases.db"
    Book.create(where, keys, {}).close()
    fact, counts = outcome(child("fills", where, key, 200_000)).splitlines()
    assert fact.endswith("the disk fails, or lets no file grow further.")
    assert int(counts.split()[0]) >= 4


def test_a_full_database(tmp_path, keys):
    with Book.create(tmp_path / "releases.db", keys, {}) as book:
        heads = [book.append({"kind": "release"}, sealed=b"x" * 1000).head]
        most_pages(book, 30)
        with pytest.raises(OutputError, match=r"the disk is full.*\n.*Make room"):
            book.append({"kind": "release"}, sealed=os.urandom(500_000))
        assert book.head() == heads[-1]
        heads.append(book.append({"kind": "release"}).head)  # a small one still fits
        most_pages(book, 10_000)
        heads.append(book.append({"kind": "release"}, sealed=os.urandom(500_000)).head)
        assert [entry.head for entry in book.entries(after=1)] == heads
        assert book.check(heads[-1]) == ()


def most_pages(book: Book, many: int) -> None:
    with book.place.engine.connect() as connection:
        found = connection.exec_driver_sql(f"PRAGMA max_page_count = {many}").scalar()
    assert found == many


def test_what_the_database_promises(where, book):
    """Full synchronisation, so that what is told to be recorded survives a loss of power."""
    with book.place.writing() as connection:
        if "://" in where:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        else:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_writer_sees_what_was_added_while_it_waited(where, keys, book, behind):
    """Also where the server would show every transaction the state in which it began."""
    older = f"{where}%20-cdefault_transaction_isolation%3Dserializable"
    queue = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    head = book.head()
    with (
        Book.open(older, keys, patience=hanging.SECONDS) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        with book.place.writing() as connection:
            waiting = pool.submit(other.append, {"kind": "release"})
            while not behind(queue):
                assert not waiting.done(), waiting.result()
            body = {"kind": "release", "by": keys.name}
            insert_entry(connection, sign_next_entry(head, keys, body, ""), None)
        assert waiting.result(timeout=hanging.SECONDS).number == 7
    assert book.check() == ()


def test_a_ledger_locked_too_long(where, keys, book):
    with (
        book.place.writing(),
        closing(Book.open(where, keys, patience=0.1)) as other,
        pytest.raises(OutputError, match=r"somebody else for more than 0\.1 seconds"),
    ):
        other.append({"kind": "release"})
    with Book.open(where, keys) as other:
        other.append({"kind": "release"})
        assert other.check() == ()


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_no_patience_is_not_to_wait_for_ever(where, keys, book):
    with (
        ThreadPoolExecutor(1) as pool,
        closing(Book.open(where, keys, patience=0)) as other,
        book.place.writing(),
    ):
        waiting = pool.submit(other.append, {"kind": "release"})
        with pytest.raises(OutputError, match="somebody else for more than 0 seconds"):
            waiting.result(timeout=hanging.SECONDS)


def test_two_ledgers_on_one_server_do_not_wait_for_each_other(schemas, keys):
    with Book.create(schemas(), keys, {}) as one, Book.create(schemas(), keys, {}) as two:
        hasty = Book(replace(two.place, patience=30.0), keys, two.identity)
        with one.place.writing():
            assert hasty.append({"kind": "release"}).number == 2


def test_writers_on_different_search_paths_wait_for_each_other(schemas, keys):
    """The lock is that of the schema in which the ledger lies, not of the first on the path."""
    where, other = schemas(), schemas().rpartition("%3D")[2]
    longer = where.replace("search_path%3D", f"search_path%3D{other},")
    with Book.create(where, keys, {}) as book, Book.open(longer, keys, patience=0.1) as second:
        with (
            book.place.writing(),
            pytest.raises(OutputError, match="written by somebody else"),
        ):
            second.append({"kind": "release"})
        assert second.append({"kind": "release"}).number == 2


def test_a_ledger_is_read_while_it_is_written(where, book):
    with book.place.writing(), Book.open(where, patience=30.0) as reader:
        assert (reader.head().number, reader.check()) == (5, ())


def test_a_failed_append_leaves_no_trace(book):
    head = book.head()
    entry = sign_next_entry(head, book.keys, {"kind": "release"}, "")
    with suppress(ZeroDivisionError), book.place.writing() as connection:
        insert_entry(connection, entry, None)
        raise ZeroDivisionError
    assert (book.head(), book.check()) == (head, ())


def test_who_judged_at_an_older_head_must_judge_again(where, keys, book):
    seen = book.head()
    with Book.open(where, keys) as other:
        new = other.append({"kind": "release"}, expected=seen)
    with pytest.raises(HeadMoved, match="grown to entry 6") as moved:
        book.append({"kind": "release"}, expected=seen)
    assert (moved.value.head, book.head()) == (new.head, new.head)
    assert book.append({"kind": "release"}, expected=moved.value.head).number == 7
    with pytest.raises(HeadMoved):
        book.append({"kind": "release"}, expected=ChainHead(7, "0" * 64))


def test_two_founders_of_one_ledger(where, keys):
    Book.create(where, keys, {}).close()
    with pytest.raises(OutputError, match="not overwritten"):
        Book.create(where, Keys.new("Lake hospital"), {})
    with Book.open(where, keys) as book:
        assert (book.head().number, book.check()) == (1, ())
