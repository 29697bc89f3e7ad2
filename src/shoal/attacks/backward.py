"""Backward: an earlier release says which rows of a later one are not a newcomer's.

The victim came later, in a class of the second release. Rows of that class that some row of the
first needs, because it has nowhere else to be, are of people who were there from the beginning.
What is left is told for every class: rows - cracked, with

    cracked  =  Σ over values  (fewest rows of the first release that are in g2)

where g2 is the value's rows in the class.

Fung, Wang, Fu, Pei: Anonymity for continuous data publishing, EDBT 2008: the B-attack. There the
crack is max(0, |G1| - (|G2| - |g2|)), with G1 all rows of the first release that could be in g2 and
G2 all rows of the second that G1 could be: the least it can be, for a part of G1 may have fewer
places than it needs. Here it is exact over all valid correspondences (see
``_shared.growing_table``), and so is the number of the exposed: newcomers who are in classes that
leave one row or one value of several, whatever the correspondence is.

It does not see who the rows are about, nor rows that were removed or changed; where nobody has
come, it cannot run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.attacks._shared.growing_table import (
    GROWN,
    KNOWN,
    Flags,
    GrowingTable,
    Ints,
    RemainingRows,
    count_values_by_group,
    describe_cut_short,
    describe_limits,
    describe_worst_group,
    find_smallest_remainder,
    find_twin_values,
    find_worst_group,
    has_several_values,
    list_rows_of_twins,
    match_growing_table,
    summarise_groups,
)
from shoal.attacks._shared.row_matching import compute_row_baseline
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs, NobodyFoundError, View

NEEDS = Needs(releases=2, max_releases=2, sensitive=False, relation="over time")

ASSUMPTIONS = (
    GROWN,
    "the adversary knows that the person is in the second release and was not in the first",
    KNOWN,
)
DEFENCE = (
    "wait until enough people have come to make classes of their own, or put them into classes "
    "that are kept as they were published and are large without them."
)


def backward(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Crack the second release's rows that must be old, and count the newcomers left alone.

    Parameters
    ----------
    view
        What the adversary has: an earlier and a later release of a growing table.
    rng
        Not used: nothing is random.

    Returns
    -------
    Finding
        How many newcomers are left with one row or one value in their class.

    Raises
    ------
    InputError
        Some row of the first release cannot be in the second.
    NobodyFoundError
        Nobody has come since the first release.
    """
    table = match_growing_table(view)
    if not table.new:
        raise NobodyFoundError(
            "Nobody has come since the first release: both have as many rows.",
            "give the release of the grown table second; for as many rows, use complementary.",
        )
    fewest, n_cut_short = table.min_old_rows
    remaining = _find_remaining_rows(table, fewest)
    before = table.later.release.rows

    def surely(some: Flags) -> int:
        return int(before[some].sum()) - table.count_placeable(
            some[table.later.class_[table.partner]]
        )

    exposed = surely(remaining.exposed) if remaining.exposed.any() else 0
    details = {
        "joined_on": list(view.shared),
        "new": table.new,
        **summarise_groups("classes", remaining, before),
        "k_after": find_smallest_remainder(remaining.rows, lambda some: surely(some) > 0),
        "could_be_exposed": min(table.new, int(remaining.rows[remaining.exposed].sum())),
        "limits": n_cut_short,
    }
    return _build_finding(view, table, remaining, exposed, details)


def _find_remaining_rows(table: GrowingTable, fewest: Ints) -> RemainingRows:
    later, classes = table.later, len(table.later.release.cells)
    new = later.count - fewest
    rows = np.bincount(later.class_, new, classes).astype(np.int64)
    exposed = (rows == 1) & (later.release.rows > 1)
    values = find_twin_values(later)
    if values is not None:
        after = count_values_by_group(later.class_[new > 0], values[new > 0], classes)
        exposed |= (after == 1) & has_several_values(later, values)
    return RemainingRows(rows, exposed)


def _build_finding(
    view: View, table: GrowingTable, remaining: RemainingRows, exposed: int, details: dict[str, Any]
) -> Finding:
    first, second = view.releases
    new = np.where(
        remaining.exposed[table.later.class_], table.later.count - table.min_old_rows[0], 0
    )
    worst = find_worst_group(remaining, second.rows)
    witness = describe_worst_group(remaining, second.rows, worst, [(second, worst)])
    return Finding(
        attack="backward",
        people=table.new,
        exposed=exposed,
        sure=1.0 if exposed else 1 / details["k_after"],
        guessing=compute_row_baseline(view),
        sentence=f"By {first.name}, rows of {second.name} can be ruled out as those of newcomers: "
        f"{exposed:,} of the {table.new:,} who came later are left with one row or one value in "
        f"their class, and up to {details['could_be_exposed']:,} could be; somebody is left among "
        f"{details['k_after']:,}, where classes have {details['k_before']:,} rows or more."
        f"{describe_cut_short(details['limits'])}",
        defence=DEFENCE,
        example=f"Somebody who came later, in a class of {witness['before']:,} rows of release 2: "
        f"{witness['cracked']:,} of them are of people of release 1, who can be nowhere else, so "
        f"that {witness['left']:,} can be theirs.",
        assumptions=(*ASSUMPTIONS, *describe_limits(details["limits"], "that nothing is cracked")),
        worst=list_rows_of_twins(table.later, new) if exposed else (),
        table="release 2",
        witness=witness,
        details=details,
    )
