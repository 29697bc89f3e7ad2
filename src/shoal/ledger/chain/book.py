"""A ledger as its publishers use it: made, opened, read, and only ever added to.

An entry and its sealed content are one transaction: either both are on the disk when ``append``
returns, or neither is. Writers queue; a caller that judged at a head may ask that the ledger has
not moved since (``expected``).

Nothing is read from an entry before it is verified: whole, following the one before, and signed by
a publisher known by then.

It does not judge what is recorded, and whoever holds a publisher's key can record anything.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from shoal.core.errors import InputError, OutputError, UsageError
from shoal.ledger.chain.chain_check import (
    ChainWalk,
    find_chain_problems,
    find_head_problems,
    find_sealed_problems,
)
from shoal.ledger.chain.checkpoint import CHECKPOINTS, ChainOutline
from shoal.ledger.chain.database import PATIENCE, LedgerDatabase, open_database
from shoal.ledger.chain.keys import Keys, is_public_key
from shoal.ledger.chain.signed_entry import (
    BEFORE_FIRST,
    FOUNDING,
    KINDS,
    PUBLISHER,
    ChainHead,
    Entry,
    has_own_hash,
    hash_bytes,
    sign_next_entry,
    to_canonical_json,
)
from shoal.ledger.chain.tables import (
    ENTRIES,
    SEALED,
    check_current_edition,
    find_unguarded_tables,
    is_occupied,
    migrate,
    needs_migration,
    read_edition,
    restore_triggers,
)
from shoal.ledger.chain.verified_chain import (
    VERIFY,
    VerifiedChain,
    insert_entry,
    read_unverified_entries,
)

_LARGEST = 2**28
"""Bytes of a sealed content. PostgreSQL hands it over as text, two digits a byte, and no text of
its may reach 1 GiB: what is twice as large could be written and never read."""
_STAMPED = {"at", "by"}
_FOUNDED = {*_STAMPED, "kind", "ledger", "public", "sealing"}


class HeadMoved(OutputError):
    """Others have added to the ledger since the caller looked; ``head`` is where it is now."""

    def __init__(self, head: ChainHead) -> None:
        super().__init__(
            f"The ledger has grown to entry {head.number} since it was read.",
            "Judge again together with what is new.",
        )
        self.head = head


@dataclass(frozen=True)
class Book:
    """An open ledger, and a context manager that closes it.

    ``keys`` are needed to add and to open sealed contents, not to read or check the chain.
    """

    place: LedgerDatabase
    keys: Keys | None
    identity: str
    """Random, and the same for the ledger's whole life; sealed contents are bound to it."""
    _verified: VerifiedChain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_verified", VerifiedChain(self.keys, self.identity))

    @classmethod
    def create(
        cls, where: str | Path, keys: Keys, about: Mapping[str, Any], *, patience: float = PATIENCE
    ) -> Book:
        """A new ledger, founded by the holder of ``keys``; ``about`` goes into its first entry."""
        _refuse_names(about, _FOUNDED)
        identity = secrets.token_hex(16)
        body = {
            **about,
            "kind": FOUNDING,
            "ledger": identity,
            "public": keys.public,
            "sealing": keys.mark(identity, keys.public),
        }
        founding = sign_next_entry(BEFORE_FIRST, keys, _stamp_body(body, keys.name), "")
        database = open_database(where, patience, new=True)
        with database.closed_on_error():
            with database.reading() as connection:
                _must_be_free(database, connection)  # before anything in it is changed
            database.prepare()
            with database.writing() as connection:
                _must_be_free(database, connection)
                migrate(connection)
                CHECKPOINTS.create(connection, checkfirst=True)
                insert_entry(connection, founding, None)
        return cls(database, keys, identity)

    @classmethod
    def open(
        cls, where: str | Path, keys: Keys | None = None, *, patience: float = PATIENCE
    ) -> Book:
        """The ledger at a path or an address, brought to today's edition where it is older."""
        database = open_database(where, patience)
        with database.closed_on_error():
            _migrate_if_older(database)
            with database.reading() as connection:
                founding = read_unverified_entries(connection, ENTRIES.c.number == 1)
            founding_body = founding[0].body if founding and has_own_hash(founding[0]) else {}
            identity = str(founding_body.get("ledger", ""))
            # a ledger without a beginning opens still, so that it can be checked
            if (
                keys
                and founding_body
                and founding_body.get("sealing") != keys.mark(identity, founding[0].signer)
            ):
                raise _wrong_key(
                    f"This is not the key of {database.name}, or somebody without it founded "
                    "it anew."
                )
        return cls(database, keys, identity)

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; the book opens it again when it is used."""
        self.place.close()

    # Reading

    def head(self) -> ChainHead:
        """The last entry's number and hash."""
        with self._reading() as connection:
            return self._verified.walked(connection).head

    def outline(self) -> ChainOutline:
        """What is known of all entries without reading them: which are of a kind, about whom."""
        with self._reading() as connection:
            return self._verified.outline(connection)

    def entries(self, after: int = 0) -> list[Entry]:
        """The entries after a number, in order.

        Raises where one was changed, is missing, or is not signed by a known publisher.
        """
        with self._reading() as connection:
            return self._verified.entries_after(connection, after)

    def some(self, numbers: Collection[int]) -> list[Entry]:
        """Entries by their numbers, in order; those that the ledger does not have are left out."""
        with self._reading() as connection:
            return self._verified.some(connection, numbers)

    def entry(self, number: int) -> Entry:
        """One entry."""
        entries = self.some((number,))
        if not entries:
            raise InputError(f"The ledger has no entry {number}.", "shoal ledger list shows all.")
        return entries[0]

    def publishers(self) -> dict[str, str]:
        """The name of every publisher that may add, by public key."""
        with self._reading() as connection:
            return self._verified.walked(connection).publishers

    def sealed(self, number: int) -> bytes:
        """The content of an entry, opened."""
        keys, expected = self._keys(), self.entry(number).sealed_sha256
        query = sa.select(SEALED.c.content).where(SEALED.c.number == number)
        with self.place.reading() as connection:
            stored = connection.execute(query).scalar()
        if not expected and stored is None:
            raise InputError(f"Entry {number} has no sealed content.", "Ask for another entry.")
        if not isinstance(stored, bytes) or hash_bytes(stored) != expected:
            raise InputError(
                f"The sealed content of entry {number} is not the one that was recorded.", VERIFY
            )
        opened = keys.unseal(stored, self.identity)
        if opened is None:
            raise _wrong_key(f"The sealed content of entry {number} does not open with this key.")
        return opened

    def check(self, head: ChainHead | None = None, sealed: bool = True) -> tuple[str, ...]:
        """What is wrong with the chain, with the entries' numbers; empty if it is whole.

        ``head`` is one noted earlier: without it a tail that was cut off cannot be seen. Sealed
        contents are compared with their hashes, and opened where there are keys. Without keys it
        cannot be seen that somebody who has none wrote the whole chain anew. A publisher's
        checkpoint is made anew where nothing is wrong.
        """
        with self.place.reading() as connection:
            entries = read_unverified_entries(connection, sa.true())
            walk = ChainWalk(self.keys, self.identity)
            problems = find_chain_problems(entries, walk)
            problems += find_head_problems(entries, head) if head is not None else ()
            if sealed:
                query = sa.select(SEALED).order_by(SEALED.c.number)
                rows = connection.execution_options(yield_per=1).execute(query)
                contents = ((row.number, row.content) for row in rows)
                problems += find_sealed_problems(entries, contents, self.keys, self.identity)
        if not problems:
            self._verified.adopt(walk, entries)
            self._verified.save(self.place)
        return tuple(problems)

    def unguarded(self) -> tuple[str, ...]:
        """The tables that the database no longer keeps from being changed."""
        with self.place.reading() as connection:
            return tuple(find_unguarded_tables(connection))

    def guard(self) -> None:
        """Let the database refuse changes again, where its triggers were dropped."""
        with self.place.writing() as connection:
            restore_triggers(connection)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        """A transaction that reads; what it verified is kept afterwards."""
        with self.place.reading() as connection:
            yield connection
        self._verified.save(self.place)

    # Adding

    def append(
        self,
        body: Mapping[str, Any],
        sealed: bytes | None = None,
        expected: ChainHead | None = None,
    ) -> Entry:
        """Add an entry, on the disk when this returns; ``at`` and ``by`` are written by the book.

        Raises ``HeadMoved`` when ``expected`` is no longer the head.
        """
        keys = self._keys()
        _refuse_names(body, _STAMPED)
        _must_be_addable(body)
        content = None if sealed is None else _seal_content(keys, sealed, self.identity)
        with self.place.writing() as connection:
            check_current_edition(connection)
            # whoever signs an entry vouches for those before: not for one that nobody known signed
            walked = self._verified.walked(connection)
            head, publishers = walked.head, walked.publishers
            if expected is not None and head != expected:
                raise HeadMoved(head)
            _must_be_known(keys, publishers)
            _must_be_new(body, publishers)
            stamped = _stamp_body(body, publishers[keys.public])
            entry = sign_next_entry(
                head, keys, stamped, "" if content is None else hash_bytes(content)
            )
            insert_entry(connection, entry, content)
        self._verified.save(self.place)
        return entry

    # Keys

    def _keys(self) -> Keys:
        if self.keys is None:
            raise UsageError("This needs the ledger's key.", "Name the key file.")
        return self.keys


def _must_be_free(database: LedgerDatabase, connection: sa.Connection) -> None:
    if is_occupied(connection):
        raise OutputError(
            f"There is something in {database.name} already, and it is not overwritten.",
            "Give another name for the ledger.",
        )


def _migrate_if_older(database: LedgerDatabase) -> None:
    with database.reading() as connection:
        edition = read_edition(connection)
    if not edition:
        raise InputError(
            f"There is no ledger in {database.name}.", "shoal ledger init makes one elsewhere."
        )
    if needs_migration(edition):
        with database.writing() as connection:
            migrate(connection)


def _stamp_body(body: Mapping[str, Any], by: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    # keys that are not text become text, so that the order in which they are hashed stays
    stamped = json.loads(to_canonical_json({**body, "at": now, "by": by}))
    return dict(stamped)


def _seal_content(keys: Keys, content: bytes, ledger: str) -> bytes:
    if len(content) > _LARGEST:
        raise OutputError(
            f"The content is larger than {_LARGEST // 2**20} MiB, which a ledger cannot hold.",
            "Record a release of fewer rows or columns.",
        )
    return keys.seal(content, ledger)


def _refuse_names(body: Mapping[str, Any], stamped: set[str]) -> None:
    if taken := stamped & set(body):
        raise UsageError(
            f"The ledger itself writes {', '.join(sorted(taken))}.", "Leave them out of the entry."
        )


def _must_be_known(keys: Keys, publishers: Mapping[str, str]) -> None:
    if keys.public not in publishers:
        raise InputError(
            "The ledger does not know this key as a publisher's.",
            f"Ask one of its publishers to trust the public key {keys.public}.",
        )


def _must_be_addable(body: Mapping[str, Any]) -> None:
    kinds = [kind for kind in KINDS if kind != FOUNDING]
    if body.get("kind") not in kinds:
        raise UsageError("The entry is of no known kind.", f"One of {', '.join(kinds)}.")
    if body["kind"] == PUBLISHER and not (is_public_key(body.get("public")) and body.get("name")):
        raise UsageError(
            "A publisher needs a name and a public key of 64 hexadecimal digits.",
            "shoal ledger key prints the public key of a key file.",
        )


def _must_be_new(body: Mapping[str, Any], publishers: Mapping[str, str]) -> None:
    if body["kind"] != PUBLISHER:
        return
    if body["public"] in publishers or body["name"] in publishers.values():
        raise UsageError(
            "The ledger knows a publisher of this name or key already.", "Give another."
        )


def _wrong_key(fact: str) -> InputError:
    return InputError(fact, "Name the key that was made with this ledger, or a sibling of it.")
