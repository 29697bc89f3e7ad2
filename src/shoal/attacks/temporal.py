"""Temporal: a table is published again after rows were added, changed and removed.

The rows of the first release look for themselves in the second as in a complementary release:
shared columns agree and cells meet. Rows of the second that nobody needs are new; rows of the
first that find nothing were removed or changed, are counted, and are left out.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.3: releases of
a growing table are joined as if they were two releases of its old rows.

It takes as many rows as possible to be still there: of two rows that could only be the same row
of the second release neither is settled, but a row that left and that a newcomer resembles in
all that is published is taken for the newcomer. It does not see people whose shared values
changed, nor what the newcomers' own number gives away.
"""

from __future__ import annotations

import numpy as np

from shoal.attacks._shared.row_matching import link_rows, report_links, require_two_releases
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs, NobodyFoundError, View

NEEDS = Needs(releases=2, max_releases=2, sensitive=False, learns=False, relation="over time")

ASSUMPTIONS = (
    "as many rows of the first release as possible are still there in the second",
    "the person looked for is in both, unchanged in the columns that both publish as they are",
    "the adversary knows the quasi-identifiers of the person looked for",
)
DEFENCE = (
    "add the new rows to the first release as it was published, so that each old row keeps its "
    "cells or gets wider ones, rather than anonymise the grown table anew."
)


def temporal(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Find the first release's rows in the second, and count who is alone afterwards.

    Parameters
    ----------
    view
        What the adversary has: an earlier and a later release of one table.
    rng
        Not used: nothing is random.

    Returns
    -------
    Finding
        How many rows are the only ones with their linked cell, and were alone in neither release;
        its details: how many rows were removed or changed, and are new or changed.

    Raises
    ------
    InputError
        The releases share no column that tells rows apart.
    NobodyFoundError
        No row of the first release can be a row of the second.
    """
    first, second = require_two_releases(view)
    links = link_rows(view)
    if not links.paired:
        raise NobodyFoundError(
            "No row of the first release can be a row of the second.",
            "check that both releases are about the same people and name columns alike.",
        )
    gone, new = len(first.class_) - links.paired, len(second.class_) - links.paired
    return report_links(
        "temporal", view, links, ASSUMPTIONS, DEFENCE, removed_or_changed=gone, new_or_changed=new
    )
