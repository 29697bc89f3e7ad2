"""What a release is to an earlier one: of the same table, of its table over time, or overlapping.

Declared by the publisher; else by lineage, where the manifest says what the release is based on;
else by the data, through the columns that both publish as they are (Sweeney: k-anonymity: a model
for protecting privacy, IJUFKS 10(5), 2002, section 4, joins releases by these):

    same table     both have the same rows there, as often
    over time      the later one has all rows of the earlier there, and more
    overlapping    neither

What the data says is only possible, not proven: few distinct values agree by chance. So the attack
that joins the rows must find a partner with cells that meet for every earlier row, or they are
taken to overlap; and where they are not, they are judged as if they overlapped too (``judging``).
It does not see a table of which rows were removed or changed: say that it is one over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.attacks.linked import shared_values
from shoal.attacks.view import Needs, View
from shoal.errors import InputError, UsageError
from shoal.flow.ledger.terms import OVERLAP, SAME, TIME
from shoal.flow.view import Scene
from shoal.ledger import Entry

DECLARED = "declared"
BASED = "its manifest says that it is based on it"
BOTH = (0, 1)
UNRECORDED = 0
"""In the place of an entry's number: what a release is based on, and no entry is of."""
_JOINED = Needs(releases=2, most=2, sensitive=False)


def lineage(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> frozenset[int]:
    """The entries that a release is based on: by its manifest, theirs, and so on."""
    tables = set(_line(manifest, entries))
    return frozenset(one.number for one in entries if one.body.get("table") in tables)


def unrecorded(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> bool:
    """Whether a release is based, at whatever remove, on one that no entry is of."""
    return not set(_line(manifest, entries)) <= {one.body.get("table") for one in entries}


def _line(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> list[str]:
    """The tables that a release is based on, the nearest first; their entries, if any, say on."""
    based = {str(e.body.get("table")): e.body["based_on"] for e in entries if "based_on" in e.body}
    found: list[str] = []
    named = (manifest or {}).get("based_on")
    while named and named not in found:
        found.append(str(named))
        named = based.get(named)
    return found


def related(known: Scene, declared: str, based: bool) -> tuple[str, str]:
    """The relation of the scene's second release to its first, and how that is known."""
    if declared:
        return declared, DECLARED
    try:
        view = known.view(BOTH, _JOINED)
    except (InputError, UsageError):
        return (TIME, BASED) if based else (OVERLAP, "their columns cannot be compared")
    relation, why = _by_data(view)
    if based:
        return relation if relation == SAME else TIME, BASED
    return relation, why


def _by_data(view: View) -> tuple[str, str]:
    one, other = shared_values(view)
    if not view.shared:
        return _by_rows(len(one), len(other))
    size = 1 + int(max(one.max(), other.max()))
    before, now = (np.bincount(numbers, minlength=size) for numbers in (one, other))
    names = ", ".join(view.shared)
    if (before == now).all():
        return SAME, f"{names}: the same in both, as often"
    if (before <= now).all():
        return TIME, f"{names}: all that the earlier has is in the later, and more"
    return OVERLAP, f"{names}: not the same in both"


def _by_rows(before: int, now: int) -> tuple[str, str]:
    """Without columns that tell rows: equally many may be the same ones, more may be grown."""
    why = "no column is published as it is by both; rows are"
    if before == now:
        return SAME, f"{why} equally many"
    return (TIME, f"{why} more than before") if before < now else (OVERLAP, f"{why} fewer")
