"""A chain looked over from its first entry, trusting nothing that the database says of it.

Every number, hash and signature is computed anew. A publisher is known from the entry that names
it, and only if that entry is whole and signed by one known before; the founder is known by the mark
under the founding, which whoever has no key cannot write. A problem names the numbers of entries
and nothing of their contents.

It does not see a tail that was cut off, unless a head noted elsewhere is given, and cannot tell a
chain that a holder of the keys wrote anew from the one that was there before. Without keys at hand
the mark says nothing, and a chain that anybody wrote anew looks whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import (
    BEFORE_FIRST,
    FOUNDING,
    KINDS,
    PUBLISHER,
    ChainHead,
    Entry,
    has_own_hash,
    hash_bytes,
    is_signed,
)

EMPTY_LEDGER = "The ledger is empty: its founding entry is missing."


@dataclass
class ChainWalk:
    """A way along the chain of one ledger: where it stands, and who may sign the next entry."""

    keys: Keys | None
    """Without them it cannot be seen whether a holder of keys founded the ledger."""
    ledger: str
    head: ChainHead = BEFORE_FIRST
    publishers: dict[str, str] = field(default_factory=dict)
    """The names of the publishers up to here, by public key."""

    def over(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, list[str]]]:
        """The entries that follow, in order, each with what is wrong with it."""
        for entry in entries:
            linked, problems = list(self._link_problems(entry)), list(self._problems(entry))
            if not problems:
                self.publishers |= read_publisher(entry)
            self.head = entry.head
            yield entry, linked + problems

    def _link_problems(self, entry: Entry) -> Iterator[str]:
        number = self.head.number
        if entry.number != number + 1:
            yield _describe_missing(number + 1, entry.number - 1)
        elif entry.previous != self.head.hash:
            yield f"Entry {entry.number} does not follow entry {number}: {_LINK}."

    def _problems(self, entry: Entry) -> Iterator[str]:
        number, founds = entry.number, entry.number == 1
        if not has_own_hash(entry):
            yield f"Entry {number} was changed: its hash is not that of what it holds."
            return  # a signature of another hash says nothing of this entry
        if entry.kind not in KINDS or founds != (entry.kind == FOUNDING):
            yield f"Entry {number} is of a kind that it cannot be."
        if not is_signed(entry):
            yield f"Entry {number} is not signed by the key that it names: {_FOREIGN}."
        name = entry.body.get("by") if founds else self.publishers.get(entry.signer)
        if name is None or (founds and entry.signer != entry.body.get("public")):
            yield f"Entry {number} is signed by a key that is no known publisher's."
        elif name != entry.body.get("by"):
            yield f"Entry {number} is signed by another publisher than it says."
        if founds and not self._is_founding(entry):
            yield f"Entry {number} founds another ledger than that of this key."

    def _is_founding(self, entry: Entry) -> bool:
        body = entry.body
        if body.get("ledger") != self.ledger:
            return False
        return self.keys is None or body.get("sealing") == self.keys.mark(self.ledger, entry.signer)


_LINK = "it holds another hash for the one before"
_FOREIGN = "the signature is foreign"


def find_chain_problems(entries: Sequence[Entry], walk: ChainWalk) -> list[str]:
    """What is wrong with numbers, hashes, links and signatures, and with the founding."""
    problems_found = [problem for _, problems in walk.over(entries) for problem in problems]
    return problems_found if entries else [EMPTY_LEDGER]


def read_publisher(entry: Entry) -> dict[str, str]:
    """The public key that an entry makes known, with its publisher's name."""
    name = {FOUNDING: "by", PUBLISHER: "name"}.get(entry.kind)
    return {str(entry.body.get("public")): str(entry.body.get(name))} if name else {}


def _describe_missing(first: int, last: int) -> str:
    many = f"Entries {first} to {last} are" if last > first else f"Entry {first} is"
    return f"{many} missing."


def find_head_problems(entries: Sequence[Entry], head: ChainHead) -> Iterator[str]:
    """Whether a head noted earlier is still in the chain."""
    last = entries[-1].number if entries else 0
    if last < head.number:
        cut = _describe_missing(last + 1, head.number)
        yield f"The ledger ends with entry {last}, before the noted {head.number}. {cut}"
    elif head not in {entry.head for entry in entries}:
        yield f"Entry {head.number} is not the one that was noted: its hash is another."


def find_sealed_problems(
    entries: Sequence[Entry], contents: Iterable[tuple[int, bytes]], keys: Keys | None, ledger: str
) -> Iterator[str]:
    """What is wrong with the sealed contents; without keys they are not opened."""
    promised = {entry.number: entry.sealed_sha256 for entry in entries}
    for number, content in contents:
        expected = promised.pop(number, "")
        if not isinstance(content, bytes) or hash_bytes(content) != expected:
            yield f"The sealed content of entry {number} is not the one that was recorded."
        elif keys is not None and keys.unseal(content, ledger) is None:
            yield f"The sealed content of entry {number} does not open with this key."
    for number, expected in promised.items():
        if expected:
            yield f"The sealed content of entry {number} is missing."
