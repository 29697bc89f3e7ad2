"""An append-only, hash-chained, signed record: entries, whatever they mean."""

from shoal.ledger.chain.book import Book, HeadMoved
from shoal.ledger.chain.checkpoint import ChainOutline
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead, Entry

__all__ = ["Book", "ChainHead", "ChainOutline", "Entry", "HeadMoved", "Keys"]
