"""The ledger's room: an append-only, hash-chained, signed record of releases.

It keeps entries and knows nothing of what they mean: the flow decides what is recorded.
"""

from shoal.ledger.chain.book import Book, HeadMoved
from shoal.ledger.chain.checkpoint import ChainOutline
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead, Entry

__all__ = ["Book", "ChainHead", "ChainOutline", "Entry", "HeadMoved", "Keys"]
