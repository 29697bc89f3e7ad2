"""A ledger in each database, and hands that reach behind its back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.ledger.spending_releases import published

from shoal.core.errors import InputError
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import Entry, sign_next_entry
from shoal.ledger.chain.verified_chain import insert_entry, read_unverified_entries

ROOT = Path(__file__).parent.parent.parent
SCHEMAS = count(1)
Behind = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def releases(tmp_path_factory) -> Path:
    """A release of each kind, made once; tests that change one copy it."""
    return published(tmp_path_factory.mktemp("releases"))


@pytest.fixture
def keys() -> Keys:
    return Keys.new("City hospital")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path) -> str:
    """A place where there is no ledger yet."""
    if request.param == "sqlite":
        return str(tmp_path / "releases.db")
    return request.getfixturevalue("schemas")()


@pytest.fixture(scope="session")
def server(request) -> str:
    """The private server, which need not wait for the disk: processes are killed, not machines."""
    psycopg = pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    url = request.getfixturevalue("postgresql")
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("ALTER SYSTEM SET fsync = off")
        database.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def schemas(server) -> Callable[[], str]:
    """The address of a new schema, each time."""
    import psycopg

    def new() -> str:
        schema = f"ledger_{os.getpid()}_{next(SCHEMAS)}"
        with psycopg.connect(server, autocommit=True) as database:
            database.execute(f"CREATE SCHEMA {schema}")
        return f"{server}&options=-csearch_path%3D{schema}"

    return new


@pytest.fixture
def book(where, keys):
    """A ledger of five entries; the second to the fourth have sealed contents."""
    with Book.create(where, keys, {"epsilon": 1.0}) as made:
        for number in (2, 3, 4):
            made.append({"kind": "release", "name": f"r{number}"}, sealed=b"content %d" % number)
        made.append({"kind": "withdrawn", "number": 2, "reason": "wrong file"})
        yield made


@pytest.fixture
def behind(where, book) -> Behind:
    """Statements that are run on the database as its owner may, past Shoal."""
    return lambda *statements: run_behind(where, statements)


@pytest.fixture
def forced(where, behind) -> Behind:
    """The same, with the triggers taken away first."""
    return lambda *statements: behind(*without_triggers(where), *statements)


@pytest.fixture
def sneak(book) -> Callable[..., None]:
    """Add entries that fit the chain, past all checks: by whoever may write to the database."""

    def add(keys: Keys, *bodies: dict[str, Any]) -> None:
        for body in bodies:
            with book.place.writing() as connection:
                insert_entry(
                    connection, sign_next_entry(last(connection).head, keys, body, ""), None
                )

    return add


@pytest.fixture
def refused() -> Callable[..., None]:
    """Says that a book neither reads nor adds anything, and tells why."""
    return must_be_refused


def must_be_refused(book: Book, problem: str, asked: Collection[str] = ()) -> None:
    """Nothing is read or added, and why is told; ``asked`` are some of the ways to ask."""
    ways = {
        "entries": book.entries,
        "entry": lambda: book.entry(4),
        "head": book.head,
        "publishers": book.publishers,
        "sealed": lambda: book.sealed(2),
        "append": lambda: book.append({"kind": "release"}),
    }
    for name in asked or ways:
        with pytest.raises(InputError) as told:
            ways[name]()
        assert (told.value.fact, "verify" in told.value.hint) == (problem, True), name


def last(connection: sa.Connection) -> Entry:
    """The last entry, whatever it is."""
    return read_unverified_entries(connection, sa.true())[-1]


def run_behind(where: str, statements: Sequence[str]) -> list[Any]:
    """The rows of the last statement; where one fails, none is done."""
    if "://" not in where:
        with closing(sqlite3.connect(where)) as database, database:
            return [database.execute(statement).fetchall() for statement in statements][-1]
    import psycopg

    with psycopg.connect(where) as database:
        done = [database.execute(statement) for statement in statements][-1]
        return done.fetchall() if done.description else []


def without_triggers(where: str) -> list[str]:
    if "://" in where:
        tables = ("editions", "entries", "sealed")
        return [f"ALTER TABLE shoal_ledger_{name} DISABLE TRIGGER ALL" for name in tables]
    found = run_behind(where, ["SELECT name FROM sqlite_master WHERE type = 'trigger'"])
    return [f"DROP TRIGGER {name}" for (name,) in found]


@pytest.fixture
def child() -> Callable[..., subprocess.Popen[str]]:
    """Another process that does something with a ledger: a function of ``writer_processes.py``."""
    path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    program = str(Path(__file__).parent / "writer_processes.py")

    def start(*words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, program, *map(str, words)],
            env={**os.environ, "PYTHONPATH": path},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start
