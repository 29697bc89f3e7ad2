"""What a long ledger adds to the time of its verbs: 100,000 entries against an empty one."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Line, program, seconds

ENTRIES, MOST = 100_000, 0.2
SMALL = {"ledger": {"entries": 2_000}}
POSTGRESQL = "SHOAL_BENCH_POSTGRESQL"
"""Names the address of an empty PostgreSQL database, to measure that too."""
TABLE = "age,ill\n" + "".join(f"{20 + i // 10},{'abcde'[i % 5]}\n" for i in range(200))


def run(entries: int = ENTRIES) -> Iterator[Line]:
    """``list`` and ``admit --dry-run``: what the entries add, in seconds of CPU."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measured("SQLite", Path(folder), "", entries)
    if address := os.environ.get(POSTGRESQL):
        with tempfile.TemporaryDirectory() as folder:
            yield from _measured("PostgreSQL", Path(folder), address, entries)


def _measured(name: str, folder: Path, address: str, entries: int) -> Iterator[Line]:
    from shoal.ledger import Book, Keys

    (folder / "t.csv").write_text(TABLE, encoding="utf-8")
    empty, long = (str(folder / f"{one}.db") for one in ("empty", "long"))
    keys = Keys.new("bench")
    for where in (empty, long):
        keys.write(Path(where).with_suffix(".key"))
        Book.create(where, keys, {}).close()
    if address:
        long = address
        Book.create(long, keys, {}).close()
    with Book.open(long, keys) as book:
        _fill(book, entries)
        book.check()  # and its checkpoint is kept
    verbs = {"list": ("list",), "admit --dry-run": ("admit", str(folder / "t.csv"), "--quasi",
             "age", "--sensitive", "ill", "--dry-run")}  # fmt: skip
    for verb, words in verbs.items():
        line = [sys.executable, "-c", "from shoal.cli.main import main; main()", "ledger", *words]
        key = ("--key", str(folder / "long.key"))
        ours, none = (
            program([*line, "--ledger", where, *key, "--json"], 5) for where in (long, empty)
        )
        told = f"{seconds(ours.cpu)} : {seconds(none.cpu)}"
        case = f"ledger {verb}, {entries:,} entries in {name}, more than in an empty one"
        yield Line(case, told, ours.cpu - none.cpu, MOST, unit=" s")


def _fill(book: object, entries: int) -> None:
    """Entries about other people, as they would be recorded, in one transaction."""
    from shoal.ledger import Book
    from shoal.ledger.chain import next_entry
    from shoal.ledger.stored import insert

    assert isinstance(book, Book)
    assert book.keys is not None
    head = book.head()
    with book.place.writing() as connection:
        while head.number < entries:
            table, about = f"{head.number:064x}", f"people {head.number % 50}"
            body = {"kind": "release", "by": "bench", "at": "2026-01-01T00:00", "table": table,
                    "about": about}  # fmt: skip
            entry = next_entry(head, book.keys, body, "")
            insert(connection, entry, None)
            head = entry.head
