"""The ledger's room: an append-only, hash-chained, signed record of releases.

It keeps entries and knows nothing of what they mean: the flow decides what is recorded.
"""

from shoal.ledger.chain.book import Book, Moved
from shoal.ledger.chain.checkpoint import Outline
from shoal.ledger.chain.entries import Entry, Head
from shoal.ledger.chain.keys import Keys

__all__ = ["Book", "Entry", "Head", "Keys", "Moved", "Outline"]
