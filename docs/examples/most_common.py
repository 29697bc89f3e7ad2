"""Most common: believe of everybody the most frequent value of their class.

It does not see what two releases say together.

After A. Machanavajjhala, J. Gehrke, D. Kifer and M. Venkitasubramaniam, l-diversity: privacy beyond
k-anonymity, ICDE 2006 (homogeneity attack).
"""

from __future__ import annotations

import numpy as np

from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs, View, get_single_release

NEEDS = Needs(releases=1, max_releases=1)
CONFIDENCE = 0.9


def most_common(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Count the rows whose class has one value in nine rows of ten."""
    release, values = get_single_release(view)
    largest = np.zeros(len(values.rows), dtype=np.int64)
    np.maximum.at(largest, values.class_, values.count)
    share = largest / values.rows
    exposed = int(values.rows[share >= CONFIDENCE].sum())
    return Finding(
        attack="most-common",
        people=release.persons,
        exposed=exposed,
        sure=float(share.max()),
        guessing=float(values.total.max() / values.grand_total),
        sentence=f"The class of {exposed:,} of {values.grand_total:,} rows has one "
        f"{values.axis.name} in at least nine rows of ten.",
        defence="ask for recursive-diversity.",
        example=f"One class of {values.rows[share.argmax()]:,} rows is the most alike.",
        assumptions=("the adversary knows the person's quasi-identifiers",),
        worst=tuple((np.argsort(-share[release.class_], kind="stable")[:5] + 1).tolist()),
        table="release 1",
        witness={"class_rows": int(values.rows[share.argmax()])},
    )
