"""Forward: a later release of the grown table says which rows of an earlier one are not somebody's.

The victim was in the table from the beginning, in a class of the first release and in one of the
second. A row of the first class whose value the second class does not have, or not so often, has
its counterpart elsewhere, and cannot be the victim's. What is left is told for every pair of
classes: rows - cracked, with

    cracked  =  Σ over values  |g1| - (most rows of g1 that can be in g2)

where g1 and g2 are the value's rows in the two classes.

Fung, Wang, Fu, Pei: Anonymity for continuous data publishing, EDBT 2008: the F-attack. There the
crack is |g1| - min(|g1|, |g2|), the least it can be; here it is exact over all valid
correspondences (see ``_shared.growing_table``). A person is exposed where one row or one value is
left and neither class alone leaves so few; ``exposed`` is how many are in such pairs of classes in
every correspondence, the fewest that one has, exactly; ``could_be_exposed`` is at least the most.

It does not see who the rows are about, nor rows that were removed or changed; give the temporal
attack those.
"""

from __future__ import annotations

import numpy as np

from shoal.attacks._shared.growing_table import CorrespondenceAttack, attack_growing_table
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs, View

NEEDS = Needs(releases=2, max_releases=2, sensitive=False, relation="over time")

SENTENCE = (
    "By {other}, rows of {one} can be ruled out as somebody's: {exposed:,} of {people:,} people "
    "are left with one row or one value in their class of {one}, and up to {could_be_exposed:,} "
    "could be; somebody is left among {k_after:,}, where classes have {k_before:,} rows or more."
)
EXAMPLE = (
    "Somebody in a class of {sizes[0]:,} rows of release 1 and a class of {sizes[1]:,} rows of "
    "release 2: {cracked:,} of the {before:,} have their counterparts in other classes of release "
    "2, so that {left:,} can be theirs."
)


def forward(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Crack the rows of the first release's classes by the second, and count who is left alone.

    Parameters
    ----------
    view
        What the adversary has: an earlier and a later release of a growing table.
    rng
        Not used: nothing is random.

    Returns
    -------
    Finding
        How many people are left with one row or one value in their class of the first release.

    Raises
    ------
    InputError
        Some row of the first release cannot be in the second.
    """
    return attack_growing_table(view, CorrespondenceAttack("forward", 1, SENTENCE, EXAMPLE))
