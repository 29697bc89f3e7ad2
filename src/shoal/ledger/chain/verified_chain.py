"""The chain as rows of the tables: read, and verified before anybody judges on it; and a new one.

Whatever is read has been walked to from the founding entry: each entry whole, following the one
before, and signed by a publisher known by then. A book remembers what it has verified, so that a
long chain is verified once and then only where it is new or another than before; a publisher's own
checkpoint (``checkpoint``) lets the next process remember it too.

What is remembered is not looked at again when something is added, except where it is read; a check
looks at everything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import sqlalchemy as sa

from shoal.core.errors import InputError, OutputError
from shoal.ledger.chain.chain_check import EMPTY_LEDGER, ChainWalk, read_publisher
from shoal.ledger.chain.checkpoint import (
    BLOCK_ENTRIES,
    ChainIndex,
    ChainOutline,
    digest_entry,
    load_checkpoint,
    save_checkpoint,
)
from shoal.ledger.chain.database import LedgerDatabase
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import (
    FOUNDING,
    NO_PREVIOUS,
    PUBLISHER,
    Entry,
    has_own_hash,
    parse_stored_body,
    to_canonical_json,
)
from shoal.ledger.chain.tables import ENTRIES, SEALED, damaged_ledger_error

VERIFY = "shoal ledger verify tells what was changed."


@dataclass
class VerifiedChain:
    """What was verified of one ledger's chain: all entries up to the last that was met."""

    keys: Keys | None
    ledger: str
    _walk: ChainWalk = field(init=False)
    _index: ChainIndex = field(init=False)
    _ends: dict[int, str] = field(init=False)
    """The hashes of entries at which a block of the checkpoint ends."""
    _saved: int = field(init=False)
    """The last entry that the publisher's checkpoint has."""
    _walked: datetime = field(init=False)
    """When the chain was verified from its beginning."""
    _use_checkpoint: bool = field(init=False)
    """Whether the publisher's checkpoint is still to be looked at."""
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        self._forget()

    def walked(self, connection: sa.Connection) -> ChainWalk:
        """A walk to the last entry; raises at the first with which something is wrong."""
        with self._lock:
            self._walk_on(connection)
            return ChainWalk(self.keys, self.ledger, self._walk.head, dict(self._walk.publishers))

    def outline(self, connection: sa.Connection) -> ChainOutline:
        """What is known of all entries."""
        with self._lock:
            self._walk_on(connection)
            return self._index.outline(self._walk.head)

    def entries_after(self, connection: sa.Connection, after: int) -> list[Entry]:
        """All entries after a number, in order."""
        first, last = max(after, 0) + 1, self.walked(connection).head.number
        entries = read_unverified_entries(connection, ENTRIES.c.number >= first)
        self._check_unchanged(connection, entries, range(first, last + 1))
        return entries

    def some(self, connection: sa.Connection, numbers: Collection[int]) -> list[Entry]:
        """Entries by their numbers, in order; those that the chain does not reach are left out."""
        last = self.walked(connection).head.number
        wanted = sorted({number for number in numbers if 1 <= number <= last})
        entries = [
            entry
            for start in range(0, len(wanted), _MAX_NUMBERS)
            for entry in read_unverified_entries(
                connection, ENTRIES.c.number.in_(wanted[start : start + _MAX_NUMBERS])
            )
        ]
        self._check_unchanged(connection, entries, wanted)
        return entries

    def save(self, place: LedgerDatabase) -> None:
        """Keep what was verified, where enough is new and the database can be written now."""
        with self._lock:
            if self.keys is None or self._index.size - self._saved < BLOCK_ENTRIES:
                return
            # whoever may only read, or is kept waiting, verifies again the next time
            with suppress(InputError, OutputError), place.writing() as connection:
                self._saved = save_checkpoint(
                    connection,
                    self.keys,
                    self.ledger,
                    self._index,
                    self._ends,
                    self._saved,
                    self._walked,
                )

    def adopt(self, walk: ChainWalk, entries: Sequence[Entry]) -> None:
        """Remember a walk over all entries in which nothing was found wrong."""
        with self._lock:
            self._forget(use_checkpoint=False)
            self._walk = walk
            for entry in entries:
                self._remember(entry)

    def _check_unchanged(
        self, connection: sa.Connection, entries: list[Entry], numbers: Sequence[int]
    ) -> None:
        """Verify all anew where something is not as it was, or is no longer there."""
        same = [entry.number for entry in entries] == list(numbers) and all(
            has_own_hash(e) and self._index.seal(e.number) == digest_entry(e) for e in entries
        )
        if not same:
            with self._lock:
                self._forget(use_checkpoint=False)
                self._walk_on(connection)

    def _walk_on(self, connection: sa.Connection) -> None:
        """Walk over what is new, from the last entry met, if that is still where it was."""
        if not self._walk.head.number and self._use_checkpoint:
            self._use_checkpoint = False
            self._begin_with_checkpoint(connection)
        at = self._walk.head.number
        entries = read_unverified_entries(connection, ENTRIES.c.number >= at)
        if at and (not entries or self._index.seal(at) != digest_entry(entries[0])):
            self._forget(use_checkpoint=False)
            return self._walk_on(connection)
        if not entries:
            raise InputError(EMPTY_LEDGER, VERIFY)
        for entry, problems in self._walk.over(entries[1:] if at else entries):
            if problems:
                self._forget(use_checkpoint=False)
                raise InputError(problems[0], VERIFY)
            self._remember(entry)
        return None

    def _remember(self, entry: Entry) -> None:
        self._index.add(entry)
        if not entry.number % BLOCK_ENTRIES:
            self._ends[entry.number] = entry.hash

    def _begin_with_checkpoint(self, connection: sa.Connection) -> None:
        """Begin where the publisher's own checkpoint ends, if that is still in the chain."""
        saved = None if self.keys is None else load_checkpoint(connection, self.keys, self.ledger)
        if saved is None:
            return
        outline = saved.index.outline(saved.head)
        naming = outline.numbers(lambda facts: facts.get("kind") in (FOUNDING, PUBLISHER))
        entries = read_unverified_entries(
            connection, ENTRIES.c.number.in_((*naming, saved.head.number))
        )
        for entry in entries:
            if not has_own_hash(entry) or saved.index.seal(entry.number) != digest_entry(entry):
                return  # something is not as it was: a walk from the beginning says what
            self._walk.publishers |= read_publisher(entry)
        if {entry.number for entry in entries} != {*naming, saved.head.number}:
            self._walk.publishers = {}
            return
        self._walk.head, self._index = saved.head, saved.index
        self._saved, self._walked = saved.head.number, saved.walked
        self._ends[saved.head.number] = saved.head.hash

    def _forget(self, use_checkpoint: bool = True) -> None:
        self._walk, self._index = ChainWalk(self.keys, self.ledger), ChainIndex()
        self._ends, self._saved, self._walked = {0: NO_PREVIOUS}, 0, datetime.now(UTC)
        self._use_checkpoint = use_checkpoint


_MAX_NUMBERS = 500
"""So many entries are asked for by their numbers in one statement."""


def read_unverified_entries(
    connection: sa.Connection, which: sa.ColumnElement[bool]
) -> list[Entry]:
    """Entries in order, whatever was done to them; one that cannot be read has an empty body."""
    query = sa.select(ENTRIES).where(which).order_by(ENTRIES.c.number)
    return [_entry(row) for row in connection.execute(query)]


def insert_entry(connection: sa.Connection, entry: Entry, content: bytes | None) -> None:
    """Add an entry and its sealed content, inside the caller's transaction."""
    row = {**entry.to_json(), "kind": entry.kind, "body": to_canonical_json(entry.body)}
    connection.execute(sa.insert(ENTRIES).values({column: row[column] for column in _COLUMNS}))
    if content is not None:
        connection.execute(sa.insert(SEALED).values(number=entry.number, content=content))


_COLUMNS = ENTRIES.columns.keys()


def _entry(row: sa.Row[Any]) -> Entry:
    if not isinstance(row.number, int):
        raise damaged_ledger_error()
    # SQLite lets anything be put in the place of a text; as text no hash fits it
    previous, hash_, signer, signature, sealed = map(
        str, (row.previous, row.hash, row.signer, row.signature, row.sealed_sha256)
    )
    body = parse_stored_body(row.body, row.kind)
    return Entry(row.number, previous, hash_, signer, signature, body, sealed)
