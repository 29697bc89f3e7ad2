"""Whether the people given are all who are in one of two releases.

Whoever is in both releases is in each. So if everybody in one of them is among the people, what an
intersection finds of the people is all that there is to find; if not, nobody says who else is in
both, and the worst has to be assumed of them too.

Where a release's publisher knows whose its rows are, every row must be of one of the people. Where
nobody does, every class must have as many of the people in its cells as it has rows, and there must
be as many people as rows: that they are those people is then likely, not certain. People of whom a
quasi-identifier is not told cannot be looked for as an adversary would, who may know it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.attacks.locate import alike, located
from shoal.attacks.view import Needs, Published, View
from shoal.errors import InputError, UsageError
from shoal.flow.ledger.relation import BOTH
from shoal.flow.view import Scene

_LOOKED_UP = Needs(releases=2, most=2, people=True, sensitive=False)


class Covering(NamedTuple):
    """How far the people given are the people of two releases."""

    whole: bool = False
    """Whether everybody in one of the two is among them."""
    found: int | None = None
    """How many of them are, or could be, in the second; None where they cannot be looked up."""


def covering(known: Scene) -> Covering:
    """How far the scene's people are those of its two releases."""
    if known.targets is None:
        return Covering()
    try:
        view = known.view(BOTH, _LOOKED_UP)
    except (InputError, UsageError):  # the attack that looks them up says why it cannot
        return Covering()
    every = {name for one in known.releases for name in one.quasi}
    (_, one), (found, other) = (_found(view, release) for release in view.releases)
    return Covering((one or other) and len(view.axes) == len(every), found)


def _found(view: View, release: Published) -> tuple[int, bool]:
    """How many of the people a release has, and whether these are all who are in it."""
    assert view.people is not None
    if release.holds is not None:
        found = int((release.holds >= 0).sum())
        return found, found == len(release.class_)
    people, key = alike(view.people, view.axes, "honest")
    start, classes = located(release, view.axes, people)
    twins, several = np.bincount(key, minlength=len(people)), np.diff(start)
    each = np.bincount(classes, np.repeat(twins, several), len(release.cells))
    found = int(twins[several > 0].sum())
    whole = found >= len(release.class_) and bool((each >= release.rows).all())
    return found, whole and not release.centroids  # near a centroid is everybody
