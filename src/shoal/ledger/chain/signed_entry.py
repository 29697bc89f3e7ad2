"""The chain: entries that each hold the hash of the one before, signed by their publishers.

    hash_n  =  SHA-256("shoal ledger entry 1\\n" + hash_(n-1) + canonical JSON of number, signer,
               body, and SHA-256 of the sealed content)
    signature_n  =  Ed25519 over hash_n by the signer

hash_0 is 64 zeros. Linking records by their hashes so that none can be changed unnoticed is
Haber and Stornetta's (How to time-stamp a digital document, J. Cryptology 3, 1991).

It does not show a tail that was cut off, unless a head noted elsewhere is compared; nor does it
show anything to somebody who trusts the keys of whoever wrote the whole chain anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.ledger.chain.keys import Keys, is_valid_signature

EDITION = 1
NO_PREVIOUS = "0" * 64
"""What the founding entry has for the hash of the one before."""
FOUNDING, PUBLISHER = "founding", "publisher"
KINDS = (FOUNDING, "release", "foreign", PUBLISHER, "withdrawn", "restored")
_PREFIX = b"shoal ledger entry 1\n"
_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@dataclass(frozen=True)
class ChainHead:
    """The last entry's number and hash: with it noted elsewhere, a cut tail shows.

    >>> str(ChainHead(3, "ab" * 32))[:8]
    '3:ababab'
    >>> ChainHead.parse(str(ChainHead(3, "ab" * 32))).number
    3
    """

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> ChainHead:
        """A head as it is printed: number, colon, 64 hexadecimal digits."""
        match = _HEAD.fullmatch(text.strip().lower())
        if match is None:
            raise UsageError(
                "A head is a number, a colon and 64 hexadecimal digits.",
                "Copy it whole, as a report prints it.",
            )
        return cls(int(match[1]), match[2])


@dataclass(frozen=True)
class Entry:
    """One record of the chain; ``body`` has ``kind``, ``at``, ``by`` and what the kind needs."""

    number: int
    previous: str
    hash: str
    signer: str
    signature: str
    body: Mapping[str, Any]
    sealed_sha256: str = ""
    """Of the content as it is stored, sealed; empty where the entry has none."""

    @property
    def kind(self) -> str:
        """What is recorded: one of ``KINDS``."""
        return str(self.body.get("kind", ""))

    @property
    def head(self) -> ChainHead:
        """The head of the ledger when this was its last entry."""
        return ChainHead(self.number, self.hash)

    def to_json(self) -> dict[str, Any]:
        """Everything but the sealed content."""
        return {
            "edition": EDITION,
            "number": self.number,
            "previous": self.previous,
            "hash": self.hash,
            "signer": self.signer,
            "signature": self.signature,
            "sealed_sha256": self.sealed_sha256,
            "body": dict(self.body),
        }

    def __str__(self) -> str:
        return (
            f"{self.number} · {self.body.get('at', '')} · {self.body.get('by', '')} · {self.kind}"
        )


BEFORE_FIRST = ChainHead(0, NO_PREVIOUS)
"""The head that the founding entry follows."""


def to_canonical_json(value: Any) -> str:
    """JSON in the one form that is hashed: keys sorted, no spaces, nothing escaped without need.

    >>> to_canonical_json({"b": 1, "a": ["ü", None]})
    '{"a":["ü",null],"b":1}'
    """
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            "The entry holds something that JSON cannot.",
            "Record text, whole and finite numbers, lists and mappings only.",
        ) from None
    return text


def hash_bytes(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def compute_entry_hash(
    number: int, previous: str, signer: str, body: Mapping[str, Any], sealed_sha256: str
) -> str:
    """The hash of an entry, over everything in it but the signature."""
    content = to_canonical_json(
        {"number": number, "signer": signer, "body": body, "sealed_sha256": sealed_sha256}
    )
    return hash_bytes(_PREFIX + previous.encode() + content.encode())


def sign_next_entry(
    before: ChainHead, keys: Keys, body: Mapping[str, Any], sealed_sha256: str
) -> Entry:
    """The entry that follows a head, signed."""
    number, signer = before.number + 1, keys.public
    entry_hash = compute_entry_hash(number, before.hash, signer, body, sealed_sha256)
    signature = keys.sign(bytes.fromhex(entry_hash)).hex()
    return Entry(number, before.hash, entry_hash, signer, signature, body, sealed_sha256)


def has_own_hash(entry: Entry) -> bool:
    """Whether the hash is that of what the entry holds."""
    content = (entry.number, entry.previous, entry.signer, entry.body, entry.sealed_sha256)
    try:
        return compute_entry_hash(*content) == entry.hash
    except (AttributeError, InputError):
        return False  # SQLite lets anything be put in the place of a text


def is_signed(entry: Entry) -> bool:
    """Whether the signature is the signer's over the hash, of a whole entry."""
    return is_valid_signature(entry.signer, entry.signature, bytes.fromhex(entry.hash))


def parse_stored_body(text: Any, kind: str) -> dict[str, Any]:
    """A stored body; empty, so that no hash fits it, where the text is not as it was written."""
    try:
        body = json.loads(text)
        same = (
            isinstance(body, dict) and body.get("kind") == kind and to_canonical_json(body) == text
        )
    except (TypeError, ValueError, RecursionError, InputError):
        return {}
    return body if same else {}
