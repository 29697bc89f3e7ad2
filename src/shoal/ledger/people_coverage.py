"""How far the people given are those of two releases: whether everybody in one is among them.

Whoever is in both releases is in each. So if everybody in one of them is among the people, what an
intersection finds of the people is all that there is to find; if not, nobody says who else is in
both, and the worst has to be assumed of them too.

Where a release's publisher knows whose its rows are, every row must be of one of the people. Where
nobody does, every class must have as many of the people in its cells as it has rows, and there must
be as many people as rows: that they are those people is then likely, not certain. People of whom a
quasi-identifier is missing cannot be looked for as an adversary would, who may know it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.adversary.context import AttackContext
from shoal.attacks._shared.candidate_classes import group_by_key, locate
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import Needs, ReleaseView, View
from shoal.ledger.relation import BOTH

_LOOKED_UP = Needs(releases=2, max_releases=2, people=True, sensitive=False)


class Coverage(NamedTuple):
    """How far the people given are the people of two releases."""

    is_complete: bool = False
    """Whether everybody in one of the two is among them."""
    people_found: int | None = None
    """How many of them are, or could be, in the second; None where they cannot be looked up."""


def measure_coverage(context: AttackContext) -> Coverage:
    """How far the scene's people are those of its two releases."""
    if context.targets is None:
        return Coverage()
    try:
        view = context.view(BOTH, _LOOKED_UP)
    except (InputError, UsageError):  # the attack that looks them up says why it cannot
        return Coverage()
    quasi_columns = {name for release in context.releases for name in release.quasi}
    (_, covers_first), (people_found, covers_second) = (
        _count_people(view, release) for release in view.releases
    )
    return Coverage(
        (covers_first or covers_second) and len(view.axes) == len(quasi_columns), people_found
    )


def _count_people(view: View, release: ReleaseView) -> tuple[int, bool]:
    """How many of the people a release has, and whether these are all who are in it."""
    assert view.people is not None
    if release.true_class is not None:
        people_found = int((release.true_class >= 0).sum())
        return people_found, people_found == len(release.class_)
    people, key = group_by_key(view.people, view.axes, "honest")
    start, classes = locate(release, view.axes, people)
    twins, candidates = np.bincount(key, minlength=len(people)), np.diff(start)
    people_by_class = np.bincount(classes, np.repeat(twins, candidates), len(release.cells))
    people_found = int(twins[candidates > 0].sum())
    is_complete = people_found >= len(release.class_) and bool(
        (people_by_class >= release.rows).all()
    )
    return people_found, is_complete and not release.centroids  # near a centroid is everybody
