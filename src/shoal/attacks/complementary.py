"""Complementary release: two releases of one table, joined on what both publish.

Two generalisations of one table may each be k-anonymous; but the columns that both publish as
they are (the sensitive ones, say) pair their rows, and a paired row has the narrower of its two
cells in every column. A row is resolved if every way to pair all rows gives it the same linked
cell, and unique afterwards if no other row can have that linked cell.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.2. There a row
is resolved by having one partner; here also by what others' partners leave, to the end.

It does not see columns that only one release publishes as they are, nor who a row is about (that
is linking). Rows are told apart by their linked cells as they stand: another row with a wider cell
that covers the same person is not held against uniqueness.
"""

from __future__ import annotations

import numpy as np

from shoal.attacks._shared.row_matching import link_rows, report_links, require_two_releases
from shoal.core.errors import InputError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs, View

NEEDS = Needs(releases=2, max_releases=2, sensitive=False, learns=False, relation="same table")

ASSUMPTIONS = (
    "both releases are of one table: every row of one is a row of the other",
    "the columns that both publish as they are have not changed",
    "the adversary knows the quasi-identifiers of the person looked for",
)
DEFENCE = (
    "base the second release on the first, so that each new cell equals or generalises the old "
    "one; or ask for k over the quasi-identifiers and everything released before."
)


def complementary(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Pair the rows of two releases of one table, and count who is alone afterwards.

    Parameters
    ----------
    view
        What the adversary has: two releases of the same rows.
    rng
        Not used: nothing is random.

    Returns
    -------
    Finding
        How many rows are the only ones with their linked cell, and were alone in neither release.

    Raises
    ------
    InputError
        The releases cannot be of one table, or share no column that tells rows apart.
    """
    first, second = require_two_releases(view)
    links = link_rows(view)
    lost = [len(release.class_) - links.paired for release in (first, second)]
    if any(lost):
        raise InputError(
            f"The releases cannot be of one table: {lost[0]:,} rows of the first and {lost[1]:,} "
            "of the second find no partner.",
            "use the temporal attack, in which rows may be missing, new or changed.",
        )
    return report_links("complementary", view, links, ASSUMPTIONS, DEFENCE)
