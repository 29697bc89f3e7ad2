"""What was verified of a chain, kept so that a long one need not be verified at every command.

    block  =  one line of JSON (number of the first entry, the hashes before it and of the last,
              when the whole chain was verified, distinct facts)  +  44 bytes for each entry
    signature  =  Ed25519 over "shoal ledger checkpoint 1\\n", the ledger's identity and the block's
              SHA-256, by the publisher who verified the entries

A record binds an entry's hash and signature, names what the entry says of a few matters (``FACTS``,
distinct ones stored once), and has 64 bits of the hash of its table. Which entries matter to a new
release is read from the records, never from the database's own columns; those entries are then read
and compared with their records. So whoever changes, removes or hides an old row either changes one
that matters, and is found at once, or one that nobody reads, and is found by the next full check.

A publisher believes its own blocks alone: nobody who shares the ledger can vouch for others'
entries. Without a key, or without a block of one's own, the whole chain is verified; so it is where
the blocks are older than ``TRUSTED_DAYS``. They may be deleted at any time: they can be made again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import compress, count
from typing import Any

import sqlalchemy as sa

from shoal.core.errors import InputError
from shoal.ledger.chain.keys import Keys, is_valid_signature
from shoal.ledger.chain.signed_entry import BEFORE_FIRST, ChainHead, Entry, to_canonical_json
from shoal.ledger.chain.tables import Blob

FACTS = ("kind", "about", "spend", "form", "never_out", "number", "sketched")
"""What a record holds of an entry's body, where that says so."""
BLOCK_ENTRIES = 256
"""Entries in a block; fewer at the chain's end are verified one by one."""
TRUSTED_DAYS = 30
"""After so many days the whole chain is verified again."""
EDITION = 1
_PREFIX = b"shoal ledger checkpoint 1\n"
_SEAL = 32
_CODES, _TABLES, _SIZE = (
    _SEAL * BLOCK_ENTRIES,
    (_SEAL + 4) * BLOCK_ENTRIES,
    (_SEAL + 4 + 8) * BLOCK_ENTRIES,
)
"""Where the codes of facts and the tables begin in a block's records, and where these end."""

CHECKPOINTS = sa.Table(
    "shoal_ledger_checkpoints",
    sa.MetaData(),
    sa.Column("signer", sa.Text, primary_key=True),
    sa.Column("walked", sa.Text, primary_key=True),
    sa.Column("first", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("content", Blob, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
)
"""No part of an edition: a ledger without it is whole, and older programs read one with it."""


@dataclass(frozen=True)
class ChainOutline:
    """What is known of every entry up to a head, without reading any of them."""

    head: ChainHead
    _codes: array[int] = field(repr=False)
    _tables: array[int] = field(repr=False)
    _facts: tuple[Mapping[str, Any], ...] = field(repr=False)

    def numbers(self, fits: Callable[[Mapping[str, Any]], bool]) -> list[int]:
        """The numbers of entries whose facts fit, in order."""
        fitting = [fits(facts) for facts in self._facts]
        if not any(fitting):  # as of most kinds: then a long chain is not gone through
            return []
        return [*compress(count(1), map(fitting.__getitem__, self._codes))]

    def of_tables(self, tables: Iterable[str]) -> list[int]:
        """The numbers of entries that may be of one of some tables, by a part of their hash."""
        wanted = {_shorten_hash(table) for table in tables}
        return [*compress(count(1), map(wanted.__contains__, self._tables))] if wanted else []

    def distinct(self) -> tuple[Mapping[str, Any], ...]:
        """All that is known of any entry, each time once."""
        return self._facts

    def facts(self, number: int) -> Mapping[str, Any]:
        """What is known of one entry."""
        return self._facts[self._codes[number - 1]]


class ChainIndex:
    """The records of a chain while it is walked along."""

    def __init__(self) -> None:
        self._seals, self._codes, self._tables = bytearray(), array("I"), array("Q")
        self._facts: tuple[Mapping[str, Any], ...] = ()
        self._code_of: dict[str, int] = {}
        """Distinct facts as text, in the order in which they came; ``_facts`` are these, read."""

    @property
    def size(self) -> int:
        """How many entries there are."""
        return len(self._codes)

    def add(self, entry: Entry) -> None:
        """The next entry, verified."""
        table = entry.body.get("table")
        self._seals += digest_entry(entry)
        facts = {name: entry.body[name] for name in FACTS if name in entry.body}
        self._codes.append(self._code(to_canonical_json(facts)))
        self._tables.append(_shorten_hash(table) if table else 0)

    def seal(self, number: int) -> bytes:
        """What binds an entry: its hash and its signature."""
        return bytes(self._seals[_SEAL * (number - 1) : _SEAL * number])

    def outline(self, head: ChainHead) -> ChainOutline:
        """What is known of all entries."""
        if len(self._facts) < len(self._code_of):  # at once: that is quicker by far
            new = [*self._code_of][len(self._facts) :]
            self._facts = (*self._facts, *json.loads(f"[{','.join(new)}]"))
        return ChainOutline(head, self._codes[:], self._tables[:], self._facts)

    def block(self, first: int) -> tuple[list[str], bytes]:
        """Distinct facts as text, and records, of the block that begins with an entry."""
        part = slice(first - 1, first - 1 + BLOCK_ENTRIES)
        places = {code: i for i, code in enumerate(dict.fromkeys(self._codes[part]))}
        codes = array("I", (places[code] for code in self._codes[part]))
        seals = bytes(self._seals[_SEAL * part.start : _SEAL * part.stop])
        records = seals + _to_bytes(codes) + _to_bytes(self._tables[part])
        texts = [*self._code_of]
        return [texts[code] for code in places], records

    def extend(self, facts: Iterable[str], records: bytes) -> None:
        """A stored block, after what is there."""
        if len(records) != _SIZE:
            raise ValueError
        codes_of_facts = [self._code(text) for text in facts]
        codes, tables = array("I"), array("Q")
        codes.frombytes(records[_CODES:_TABLES])
        tables.frombytes(records[_TABLES:])
        if sys.byteorder == "big":
            codes.byteswap()
            tables.byteswap()
        self._codes.extend(map(codes_of_facts.__getitem__, codes))
        self._tables.extend(tables)
        self._seals += records[:_CODES]

    def _code(self, facts: str) -> int:
        return self._code_of.setdefault(facts, len(self._code_of))


def _to_bytes(numbers: array[int]) -> bytes:
    copy = numbers[:]
    if sys.byteorder == "big":
        copy.byteswap()
    return copy.tobytes()


def digest_entry(entry: Entry) -> bytes:
    """A hash of an entry's hash and signature, whatever these are."""
    return hashlib.sha256(f"{entry.hash}\n{entry.signature}".encode(errors="replace")).digest()


@dataclass(frozen=True)
class Checkpoint:
    """The blocks of one publisher, read: the index up to a head, and when all was verified."""

    index: ChainIndex
    head: ChainHead
    walked: datetime


def load_checkpoint(connection: sa.Connection, keys: Keys, ledger: str) -> Checkpoint | None:
    """The publisher's own blocks; None where there are none, or one is not as it was written."""
    if not sa.inspect(connection).has_table(CHECKPOINTS.name):
        return None
    public = keys.public
    is_own, when = CHECKPOINTS.c.signer == public, CHECKPOINTS.c.walked
    index, head = ChainIndex(), BEFORE_FIRST
    try:
        newest = connection.execute(sa.select(sa.func.max(when)).where(is_own)).scalar()
        blocks = sa.select(CHECKPOINTS).where(is_own, when == newest).order_by(CHECKPOINTS.c.first)
        for row in connection.execute(blocks):
            header, records = _open_block(row, public, ledger)
            if (header["first"], header["previous"], header["walked"]) != (
                head.number + 1,
                head.hash,
                newest,
            ):
                return None
            index.extend(header["facts"], records)
            head = ChainHead(index.size, str(header["hash"]))
        index.outline(head)  # reads all facts
        walked = datetime.fromisoformat(str(newest)) if head.number else None
    except (ValueError, KeyError, TypeError, IndexError, InputError, sa.exc.DBAPIError):
        return None
    if walked is None or not timedelta(0) <= datetime.now(UTC) - walked <= _TRUSTED:
        return None
    return Checkpoint(index, head, walked)


_TRUSTED = timedelta(days=TRUSTED_DAYS)


def _open_block(row: sa.Row[Any], public: str, ledger: str) -> tuple[dict[str, Any], bytes]:
    """A block's line and records; raises where the signature is not the publisher's."""
    content = row.content
    if not isinstance(content, bytes) or not is_valid_signature(
        public, row.signature, _message(ledger, content)
    ):
        raise ValueError
    header_line, _, records = content.partition(b"\n")
    header = json.loads(header_line)
    if header["edition"] != EDITION or header["first"] != row.first:
        raise ValueError
    return header, records


def save_checkpoint(
    connection: sa.Connection,
    keys: Keys,
    ledger: str,
    index: ChainIndex,
    ends: Mapping[int, str],
    since: int,
    walked: datetime,
) -> int:
    """Add the blocks that are full after ``since``; returns the last entry that they have.

    ``ends`` are the hashes of the entries at which blocks end. Blocks are only ever added, so that
    whoever may add entries can keep them; older ones are removed where that may be done.
    """
    CHECKPOINTS.create(connection, checkfirst=True)
    public, when = keys.public, walked.isoformat()
    last = index.size // BLOCK_ENTRIES * BLOCK_ENTRIES
    for first in range(since + 1, last + 1, BLOCK_ENTRIES):
        facts, records = index.block(first)
        header = {
            "edition": EDITION,
            "first": first,
            "previous": ends[first - 1],
            "hash": ends[first + BLOCK_ENTRIES - 1],
            "walked": when,
            "facts": facts,
        }
        content = json.dumps(header).encode() + b"\n" + records
        signature = keys.sign(_message(ledger, content)).hex()
        row = {"signer": public, "walked": when, "first": first}
        row |= {"content": content, "signature": signature}
        connection.execute(sa.insert(CHECKPOINTS).values(row))
    if not since:
        older = sa.delete(CHECKPOINTS).where(
            CHECKPOINTS.c.signer == public, CHECKPOINTS.c.walked != when
        )
        with suppress(sa.exc.DBAPIError), connection.begin_nested():
            connection.execute(older)
    return last


def _message(ledger: str, content: bytes) -> bytes:
    return _PREFIX + ledger.encode() + b"\n" + hashlib.sha256(content).digest()


def _shorten_hash(table: Any) -> int:
    """64 bits that stand for a table's hash; never 0, which says that there is none."""
    digest = hashlib.sha256(str(table).encode(errors="replace")).digest()[:8]
    return int.from_bytes(digest, "little") | 1
