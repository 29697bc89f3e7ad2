"""The ledger as a verb: a new release is judged together with the recorded ones, and recorded."""

from shoal.ledger.admission import Admission, Position, Refused
from shoal.ledger.ledger import Ledger

__all__ = ["Admission", "Ledger", "Position", "Refused"]
