"""What a release is to an earlier one: of the same table, of its table over time, or overlapping.

Declared by the publisher; else by lineage, where the manifest says what the release is based on;
else by the data, through the columns that both publish as they are (Sweeney: k-anonymity: a model
for protecting privacy, IJUFKS 10(5), 2002, section 4, joins releases by these):

    same table     both have the same rows there, as often
    over time      the later one has all rows of the earlier there, and more
    overlapping    neither

What the data says is only possible, not proven: few distinct values agree by chance. So the attack
that joins the rows must find a partner with cells that meet for every earlier row, or they are
taken to overlap; and where they are not, they are judged as if they did (``pair_judgement``).
It does not see a table of which rows were removed or changed: say that it is one over time.
"""

from __future__ import annotations

import numpy as np

from shoal.adversary.context import AttackContext
from shoal.attacks._shared.row_matching import number_shared_values
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import Needs, View
from shoal.ledger.admission_options import OVERLAP, SAME, TIME

DECLARED = "declared"
BASED = "its manifest says that it is based on it"
BOTH = (0, 1)
"""The two releases of a scene, by their places."""
_JOINED = Needs(releases=2, max_releases=2, sensitive=False)


def find_relation(context: AttackContext, declared: str, based: bool) -> tuple[str, str]:
    """The relation of the scene's second release to its first, and how that is known."""
    if declared:
        return declared, DECLARED
    try:
        view = context.view(BOTH, _JOINED)
    except (InputError, UsageError):
        return (TIME, BASED) if based else (OVERLAP, "their columns cannot be compared")
    relation, why = _compare_data(view)
    if based:
        return relation if relation == SAME else TIME, BASED
    return relation, why


def _compare_data(view: View) -> tuple[str, str]:
    first, second = number_shared_values(view)
    if not view.shared:
        return _compare_row_counts(len(first), len(second))
    size = 1 + int(max(first.max(), second.max()))
    before, now = (np.bincount(numbers, minlength=size) for numbers in (first, second))
    names = ", ".join(view.shared)
    if (before == now).all():
        return SAME, f"{names}: the same in both, as often"
    if (before <= now).all():
        return TIME, f"{names}: all that the earlier has is in the later, and more"
    return OVERLAP, f"{names}: not the same in both"


def _compare_row_counts(before: int, now: int) -> tuple[str, str]:
    """Without columns that tell rows apart: as many may be the same ones, more may be grown."""
    why = "no column is published as it is by both; rows are"
    if before == now:
        return SAME, f"{why} equally many"
    return (TIME, f"{why} more than before") if before < now else (OVERLAP, f"{why} fewer")
