"""The ledger: a new release is judged together with the recorded ones, and recorded."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.ledger.admission import Admission, Position, Refused
    from shoal.ledger.ledger import Ledger

__all__ = ["Admission", "Ledger", "Position", "Refused"]


def __getattr__(name: str) -> Any:
    # on first use: whoever only writes to a chain (shoal.ledger.chain) needs no tables or engines
    if name not in __all__:
        raise AttributeError(f"module 'shoal.ledger' has no attribute {name!r}")
    return getattr(import_module(f"shoal.ledger.{_HOME.get(name, 'admission')}"), name)


_HOME = {"Ledger": "ledger"}
