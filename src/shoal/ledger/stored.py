"""The chain as rows of the tables: read, and verified before anybody judges on it; and a new one.

Whatever is read has been walked to from the founding entry: each entry whole, following the one
before, and signed by a publisher known by then. A book remembers what it has verified, so that a
long chain is verified once and then only where it is new or another than before.

What a book remembers is not looked at again when something is added; a check looks at everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import sqlalchemy as sa

from shoal.errors import InputError
from shoal.ledger.chain import Entry, body_of, canonical, is_whole
from shoal.ledger.checking import EMPTY, Walk
from shoal.ledger.keys import Keys
from shoal.ledger.tables import ENTRIES, SEALED

VERIFY = "shoal ledger verify tells what was changed."


@dataclass
class Verified:
    """What was verified of one ledger's chain: all entries up to the last that was met."""

    keys: Keys | None
    ledger: str
    _walk: Walk = field(init=False)
    _met: dict[int, tuple[str, str]] = field(init=False)
    """The hash and the signature of each entry, by its number."""
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        self._forget()

    def walked(self, connection: sa.Connection) -> Walk:
        """A walk to the last entry; raises at the first with which something is wrong."""
        with self._lock:
            self._go_on(connection)
            return Walk(self.keys, self.ledger, self._walk.head, dict(self._walk.known))

    def entries_after(self, connection: sa.Connection, after: int) -> list[Entry]:
        """All entries after a number, in order."""
        first, last = max(after, 0) + 1, self.walked(connection).head.number
        found = entries_as_they_are(connection, ENTRIES.c.number >= first)
        self._must_be_met(connection, found, range(first, last + 1))
        return found

    def entry(self, connection: sa.Connection, number: int) -> Entry | None:
        """One entry; None where the chain does not reach so far."""
        last = self.walked(connection).head.number
        if not 1 <= number <= last:
            return None
        found = entries_as_they_are(connection, ENTRIES.c.number == number)
        self._must_be_met(connection, found, range(number, number + 1))
        return found[0]

    def _must_be_met(self, connection: sa.Connection, found: list[Entry], numbers: range) -> None:
        """Verify all anew where something is not as it was, or is no longer there."""
        same = all(is_whole(e) and self._met.get(e.number) == _seal(e) for e in found)
        if not same or [entry.number for entry in found] != list(numbers):
            with self._lock:
                self._forget()
                self._go_on(connection)

    def _go_on(self, connection: sa.Connection) -> None:
        """Walk over what is new, from the last entry met, if that is still where it was."""
        at = self._walk.head.number
        found = entries_as_they_are(connection, ENTRIES.c.number >= at)
        if at and (not found or self._met[at] != _seal(found[0])):
            self._forget()
            return self._go_on(connection)
        if not found:
            raise InputError(EMPTY, VERIFY)
        for entry, problems in self._walk.over(found[1:] if at else found):
            if problems:
                self._forget()
                raise InputError(problems[0], VERIFY)
            self._met[entry.number] = _seal(entry)
        return None

    def _forget(self) -> None:
        self._walk, self._met = Walk(self.keys, self.ledger), {}


def entries_as_they_are(connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[Entry]:
    """Entries in order, whatever was done to them; one that cannot be read has an empty body."""
    query = sa.select(ENTRIES).where(which).order_by(ENTRIES.c.number)
    return [_entry(row) for row in connection.execute(query)]


def insert(connection: sa.Connection, entry: Entry, content: bytes | None) -> None:
    """Add an entry and its sealed content, inside the caller's transaction."""
    row = {**entry.to_json(), "kind": entry.kind, "body": canonical(entry.body)}
    connection.execute(sa.insert(ENTRIES).values({column: row[column] for column in _COLUMNS}))
    if content is not None:
        connection.execute(sa.insert(SEALED).values(number=entry.number, content=content))


_COLUMNS = ENTRIES.columns.keys()


def _seal(entry: Entry) -> tuple[str, str]:
    return entry.hash, entry.signature


def _entry(row: sa.Row[Any]) -> Entry:
    return Entry(
        number=row.number, previous=row.previous, hash=row.hash, signer=row.signer,
        signature=row.signature, body=body_of(row.body, row.kind), sealed_sha256=row.sealed_sha256,
    )  # fmt: skip
