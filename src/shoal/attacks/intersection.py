"""Intersection: what two releases about the same person allow is less than what each allows.

For every person the values possible in each release (those of all classes whose cells contain
the person) are intersected. Where one value is left, it is the person's, whatever k was.

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy,
KDD 2008, section 2: prior effective anonymity is the number of values possible in one release,
posterior that of the intersection, and the drop is their difference.

It assumes that the person is in every release with the same value; people for whom no value is
left are counted apart. It does not see how often values occur, nor weigh them by that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import View
from shoal.errors import InputError
from shoal.release import Finding

WITNESSES = 20

ASSUMPTIONS = (
    "the adversary knows each person's quasi-identifiers",
    "the person is in every release with the same sensitive value",
    "every class whose cells contain the person is possible (honest location)",
)


def intersection(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Intersect the values that each release leaves possible for each person."""
    if len(view.releases) < 2:
        raise InputError("An intersection needs two releases.", "give a second release.")
    sets = [release.value_sets(view.people) for release in view.releases]
    prior = np.stack([one.sum(axis=1) for one in sets])
    both = np.logical_and.reduce(sets)
    posterior = both.sum(axis=1)
    located = (prior > 0).all(axis=0) & (posterior > 0)
    if not located.any():
        raise InputError(
            "No person can be found in all of the releases.",
            "check that the releases and the targets share people, columns and values.",
        )
    return _finding(view, prior[:, located].min(axis=0), posterior[located], located)


def _finding(
    view: View, before: NDArray[Any], after: NDArray[Any], located: NDArray[np.bool_]
) -> Finding:
    people, exposed = len(after), int((after == 1).sum())
    values = view.releases[0].values
    details: dict[str, Any] = {
        "candidates_before": _counts(before),
        "candidates_after": _counts(after),
        "mean_drop": float((before - after).mean()),
        "absent": int((~located).sum()),
        "exposed_before": int((before == 1).sum()),
    }
    alone = np.flatnonzero(located)[after == 1]
    return Finding(
        "intersection",
        people,
        exposed,
        1.0 if exposed else float((1 / after).max()),
        float(values.total.max() / values.total.sum()),
        f"{exposed:,} of {people:,} people have one possible {values.axis.name} left when the "
        f"releases are joined; {details['exposed_before']:,} had one in a single release.",
        "ask for diversity of the sensitive value, publish together, or use differential privacy.",
        ASSUMPTIONS,
        details,
        tuple(str(view.who[i]) for i in alone[:WITNESSES]) if view.who else (),
    )


def _counts(numbers: NDArray[Any]) -> dict[int, int]:
    value, count = np.unique(numbers, return_counts=True)
    return dict(zip(value.tolist(), count.tolist(), strict=True))
