"""Which row is a person's, where several fit: how often two adversaries are right, and a third.

even      every row of every class that fits the person is as likely as another
weighed   a class is as likely as it has rows for the people of the register whom it fits, so that
          the row is one of the class that fits the fewest (`shoal.whereabouts`)
assumed   the class that truly holds the person is known, and the row is any of its rows

Where nobody fits several classes all three are the same. Where cells overlap, one wide class that
fits everybody drowns the narrow ones for the even adversary, not for the weighed one: the more
successful of the two is the risk. How sure either is of one row never exceeds 1 / rows of the
smallest class.

Success is counted by the class that truly holds each person, where the private companion tells
it, over those who are in the release. Else it is what the adversary itself expects.

Fewer people in the register make the weighed adversary weaker: by them it tells narrow from wide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.locate import Located
from shoal.attacks.view import Published
from shoal.whereabouts import Narrowest

EVEN, WEIGHED, ASSUMED = "even", "weighed", "assumed"
WORDS = {
    EVEN: "picking any row that fits",
    WEIGHED: "picking a row of the class that fits the fewest people",
}
ASSUMPTIONS = {
    EVEN: "every row that fits the person is equally likely; weighing classes by how few people "
    "of the register they fit succeeds no more often (even adversary)",
    WEIGHED: "a class is as likely to hold the person as it has rows for the people of the "
    "register whom it fits: that succeeds more often than taking all rows that fit as equally "
    "likely (weighed adversary)",
}
COUNTED = "success is counted by the class that truly holds each person"
EXPECTED = "success is what the adversary expects: which row is truly whose is not known"


@dataclass(frozen=True)
class Picking:
    """How the more successful adversary fares, and how the others do."""

    as_many: NDArray[np.float64]
    """Per person the rows among which it picks, each counted as it is likely; 0: none fits."""
    told: dict[str, Any]
    """How sure it is at most (``highest``), and the share of people it is right about (``mean``);
    where some people fit several classes also which adversary it is, and what all of them do."""
    adversary: str = EVEN
    assumptions: tuple[str, ...] = field(default=())

    @property
    def sentence(self) -> str:
        """How often it is right, to end a sentence with; nothing where there is but one."""
        if self.adversary not in self.told:
            return ""
        other = EVEN if self.adversary == WEIGHED else WEIGHED
        best, less = (percent(self.told[one]["mean"]) for one in (self.adversary, other))
        first, second = WORDS[self.adversary], WORDS[other]
        if not self.told["counted"]:
            return f"; {first} should be right for {best}, {second} for {less}"
        known = percent(self.told[ASSUMED]["mean"])
        return (
            f"; {first} is right for {best} of the {self.told['of']:,} who truly are, {second} "
            f"for {less}, and a row of their own class, were it known, for {known}"
        )


def picking(
    release: Published,
    located: Located,
    key: NDArray[np.int64],
    covered: NDArray[np.int64],
    right: NDArray[np.bool_] | None,
    even: NDArray[np.float64],
) -> Picking:
    """How often the row that is picked for each person is theirs.

    ``key`` is the number of each person's key in ``located``, ``covered`` the people whom each
    class fits, and ``right`` whether the class that truly holds each person is among those that
    fit, where that is known. ``even`` is how many fit each person, rows or people; somebody does.
    """
    start, classes = located
    found = even > 0
    if (np.diff(start) <= 1).all():
        return Picking(even, _told(even[found], 1 / even[found]))
    near = Narrowest.of(start, classes, release.people, covered)
    as_many = {EVEN: even, WEIGHED: near.as_many[key]}
    holds = np.full(len(key), -1) if release.holds is None else release.holds
    there = found & (holds >= 0)
    if right is None or not there.any():
        chance = {name: 1 / many[found] for name, many in as_many.items()}
        return _best(as_many, found, chance, {"counted": False})
    own = holds[there]
    hit = {EVEN: 1 / even[there], WEIGHED: near.right(key[there], own)}
    chance = {name: np.where(right[there], one, 0.0) for name, one in hit.items()}
    known = _told(release.people[own], 1 / release.people[own])
    return _best(as_many, found, chance, {"counted": True, "of": int(there.sum()), ASSUMED: known})


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.0513), percent(1.0)
    ('5.13 %', '100 %')
    """
    return f"{100 * share:.3g} %"


def _best(
    as_many: dict[str, NDArray[np.float64]],
    found: NDArray[np.bool_],
    chance: dict[str, NDArray[np.float64]],
    known: dict[str, Any],
) -> Picking:
    """The more successful adversary, beside both, and what is known otherwise."""
    each = {name: _told(many[found], chance[name]) for name, many in as_many.items()}
    best = max((EVEN, WEIGHED), key=lambda name: each[name]["mean"])
    told = {**each[best], "adversary": best, **each, **known}
    counted = COUNTED if known["counted"] else EXPECTED
    return Picking(as_many[best], told, best, (ASSUMPTIONS[best], counted))


def _told(as_many: NDArray[Any], chance: NDArray[np.float64]) -> dict[str, float]:
    """The surest pick, and the share of people about whom picks are right.

    The exact sum, rounded once, does not depend on the order of the people.
    """
    return {"highest": float(1 / as_many.min()), "mean": fsum(chance.tolist()) / len(chance)}
