"""What a long ledger adds to the time of its verbs: 100,000 entries against an empty one."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Line, Spent, program, seconds

if TYPE_CHECKING:
    from shoal.ledger.chain.book import Book
    from shoal.ledger.chain.keys import Keys

ENTRIES, MOST, TURNS = 100_000, 0.2, 3
SMALL = {"ledger": {"entries": 2_000, "turns": 2}}
SCHEMAS = ("none", "many")


def run(entries: int = ENTRIES, turns: int = TURNS) -> Iterator[Line]:
    """``list`` and ``admit``: what the entries add, in seconds of CPU of the whole command."""
    from tests.servers import running_postgresql

    from shoal.ledger.chain.keys import Keys

    with tempfile.TemporaryDirectory() as made:
        folder, keys = Path(made), Keys.new("bench")
        none, many = (str(folder / f"{name}.db") for name in SCHEMAS)
        _found(none, keys)
        _found(many, keys, entries)
        with running_postgresql() as url:
            # before anything is admitted to it
            copies = url and _copied(url, keys, many)
            yield from _compared("SQLite", folder, keys, (none, many), turns)
            if copies:
                yield from _compared("PostgreSQL", folder, keys, copies, turns)


def _compared(
    kind: str, folder: Path, keys: Keys, ledgers: tuple[str, str], turns: int
) -> Iterator[Line]:
    from shoal.ledger.chain.book import Book

    # what is remembered beside the key is one ledger's, not its copy's
    key = folder / f"{kind}.key"
    keys.write(key)
    with Book.open(ledgers[1], keys) as book:
        entries = book.head().number
    for verb in ("list", "admit"):
        runs = [[_spent(verb, key, where, turn) for where in ledgers] for turn in range(turns)]
        none, many = (min(spent.cpu for spent in column) for column in zip(*runs, strict=True))
        case = f"ledger {verb}, {entries:,} entries in {kind}, more than with none"
        yield Line(case, f"{seconds(many)} : {seconds(none)}", many - none, MOST, unit=" s")


def _spent(verb: str, key: Path, where: str, turn: int) -> Spent:
    """A whole command; each turn admits a table about other people, the same to both ledgers."""
    words = ["ledger", verb, "--ledger", where, "--key", str(key), "--json"]
    if verb == "admit":
        table = key.with_name(f"table-{turn}.csv")
        rows = (f"{turn + i // 10},{'abcde'[i % 5]}\n" for i in range(200))
        table.write_text("age,ill\n" + "".join(rows), encoding="utf-8")
        words += [str(table), "--quasi", "age", "--sensitive", "ill", "--about", f"turn {turn}"]
    return program([sys.executable, "-c", "from shoal.cli.main import main; main()", *words])


def _found(where: str, keys: Keys, entries: int = 0) -> None:
    """A ledger with so many entries, each hashed and signed, which its publisher has verified."""
    import sqlalchemy as sa

    from shoal.ledger.chain.book import Book
    from shoal.ledger.chain.tables import ENTRIES as TABLE

    with Book.create(where, keys, {}) as book:
        if rows := _rows(book, keys, entries):
            with book.place.writing() as connection:
                connection.execute(sa.insert(TABLE), rows)
        problems = book.check()  # and keeps its checkpoint
        assert not problems, problems[0]


def _rows(book: Book, keys: Keys, entries: int) -> list[dict[str, object]]:
    from shoal.ledger.chain.signed_entry import sign_next_entry, to_canonical_json

    head, rows = book.head(), []
    while head.number < entries:
        body = {
            "kind": "release",
            "by": keys.name,
            "at": "2026-01-01T00:00:00.000+00:00",
            "table": f"{head.number:064x}",
            "about": f"people {head.number % 50}",
        }
        entry = sign_next_entry(head, keys, body, "")
        rows.append(entry.to_json() | {"kind": entry.kind, "body": to_canonical_json(entry.body)})
        del rows[-1]["edition"]
        head = entry.head
    return rows


def _copied(url: str, keys: Keys, many: str) -> tuple[str, str]:
    """An empty ledger in PostgreSQL, and one with the rows of another, in schemas of their own."""
    import psycopg
    import sqlalchemy as sa

    from shoal.ledger.chain.checkpoint import CHECKPOINTS
    from shoal.ledger.chain.database import open_database
    from shoal.ledger.chain.tables import ENTRIES as TABLE
    from shoal.ledger.chain.tables import migrate

    with psycopg.connect(url, autocommit=True) as database:
        for name in SCHEMAS:
            database.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
    none, copy = (f"{url}&options=-csearch_path%3D{name}" for name in SCHEMAS)
    _found(none, keys)
    with open_database(many).reading() as source, open_database(copy).writing() as target:
        migrate(target)
        CHECKPOINTS.create(target)
        for table in (TABLE, CHECKPOINTS):
            rows = source.execute(sa.select(table).order_by(*table.primary_key)).mappings()
            target.execute(sa.insert(table), [dict(row) for row in rows])
    return none, copy
