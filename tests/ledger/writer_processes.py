"""What other processes do with a ledger in the tests: append, be killed, run out of disk."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

from shoal.core.errors import OutputError
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead


def appends(where: str, key: str, many: str) -> None:
    """Add that many entries, one after the other."""
    with Book.open(where, Keys.read(key), patience=900.0) as book:
        for number in range(int(many)):
            book.append({"kind": "release", "name": f"{os.getpid()}-{number}"}, sealed=b"x" * 100)


def killed(where: str, key: str, rounds: str) -> None:
    """Fork a writer and kill it at a random moment, again and again; look at the ledger after."""
    told, recorded, book = 0, 0, Book.open(where, Keys.read(key))
    for _ in range(int(rounds)):
        book.close()  # nobody has the ledger open but the writer, and then whoever comes after
        printed = _killed_writer(book)
        problems, heads = book.check(), {entry.head for entry in book.entries()}
        assert problems == (), problems
        assert printed <= heads, "an entry that was told to be recorded is lost"
        assert len(heads) - 1 - recorded - len(printed) in (0, 1), "more than was written"
        told, recorded = told + len(printed), len(heads) - 1
    book.close()
    print(told, recorded)


def _killed_writer(book: Book) -> set[ChainHead]:
    reading, writing = os.pipe()
    writer = os.fork()
    if writer == 0:
        while True:
            entry = book.append({"kind": "release"}, sealed=os.urandom(3000))
            os.write(writing, f"{entry.head}\n".encode())
    os.close(writing)
    with os.fdopen(reading) as pipe:
        first = pipe.readline()
        time.sleep(random.uniform(0, 0.015))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        return {ChainHead.parse(line) for line in (first, *pipe) if line.endswith("\n")}


def fills(where: str, key: str, size: str) -> None:
    """Write until no file may grow any more, then with room again."""
    known: set[ChainHead] = set()
    with Book.open(where, Keys.read(key)) as book:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), limit[1]))
        try:
            while True:
                known.add(book.append({"kind": "release"}, sealed=os.urandom(20_000)).head)
        except OutputError as error:
            print(error.fact)
        assert {entry.head for entry in book.entries(after=1)} == known
        assert book.check() == ()
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        known.add(book.append({"kind": "release"}, sealed=os.urandom(20_000)).head)
        assert {entry.head for entry in book.entries(after=1)} == known
        assert book.check() == ()
    print(len(known), Path(where).stat().st_size)


if __name__ == "__main__":
    {"appends": appends, "killed": killed, "fills": fills}[sys.argv[1]](*sys.argv[2:])
