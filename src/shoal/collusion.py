"""Providers who work together: which coalition breaks a class for a rule, if any does.

A coalition of a class's providers knows its own rows. Taken away, the rows of the others are left;
where they fail the rule, the coalition learns more about them than the rule allows. "An
m-adversary is a coalition of m data providers; T* is m-private with respect to a constraint C if
it fulfils C against any m-adversary." (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for
collaborative data publishing, CollaborateCom 2011; IEEE TKDE 26(10), 2014.) Where a coalition
holds all rows of a class nobody is left to be hurt, so it has at most all providers but one.

Where a rule is *growing* (more rows never break it) the worst is to take away all rows of as many
providers as may be. Where it is not, any of the coalition's rows may be taken away, and each such
rule's own ``broken_by`` finds the worst of them. A conjunction is broken where one of its parts is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from shoal.errors import UndecidedError, UsageError
from shoal.histogram import Shares
from shoal.kernels import collude
from shoal.kernels.threads import share_out
from shoal.model import Model, inner, parts
from shoal.tally import Groups

SECONDS = 60.0
"""The longest that one class may take."""
MOST = 1 << 20
"""So many coalitions of one class are tried where a rule has no better way."""
AT_ONCE = 1 << 14
NOBODY = -1


@dataclass(frozen=True)
class Collusion:
    """For each class whether a coalition breaks it, and one that does."""

    broken: NDArray[np.bool_]
    members: NDArray[np.int32]
    """(classes, widest): providers of the coalition that was found; ``NOBODY`` beyond its end."""

    def of(self, class_: int) -> tuple[int, ...] | None:
        """The coalition that breaks a class; empty: the class fails by itself."""
        members = self.members[class_]
        return tuple(members[members >= 0].tolist()) if self.broken[class_] else None

    def also(self, other: Collusion) -> Collusion:
        """This, and where nothing was found the other."""
        widest = max(self.members.shape[1], other.members.shape[1])
        own, more = (_widened(one.members, widest) for one in (self, other))
        broken = self.broken | other.broken
        return Collusion(broken, np.where(self.broken[:, np.newaxis], own, more))

    @classmethod
    def none(cls, classes: int) -> Collusion:
        """Nothing is broken."""
        return cls(np.zeros(classes, bool), np.zeros((classes, 0), np.int32))

    @classmethod
    def found(cls, coalitions: list[tuple[int, ...] | None]) -> Collusion:
        """Of each class the coalition that breaks it, or None."""
        widest = max((len(one) for one in coalitions if one is not None), default=0)
        members = np.full((len(coalitions), widest), NOBODY, np.int32)
        for row, one in zip(members, coalitions, strict=True):
            row[: len(one or ())] = one or ()
        return cls(np.array([one is not None for one in coalitions], bool), members)


def _widened(members: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    gap = width - members.shape[1]
    return np.pad(members, ((0, 0), (0, gap)), constant_values=NOBODY)


def members(shares: Shares, m: int) -> NDArray[np.int64]:
    """How many of each class's providers can be a coalition that leaves somebody."""
    return np.minimum(m, shares.present - 1)


def breached(model: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    """For each class a coalition of at most ``most`` of its providers that breaks the rule."""
    found = Collusion.none(len(groups))
    for part in parts(model):
        left = np.flatnonzero(~found.broken)
        if len(left):
            some = groups if len(left) == len(groups) else groups.take(left)
            found = found.also(_spread(_broken_by(part, some, most[left]), left, len(groups)))
    return found


def _spread(some: Collusion, at: NDArray[np.int64], classes: int) -> Collusion:
    whole = Collusion.none(classes)
    members = np.full((classes, some.members.shape[1]), NOBODY, np.int32)
    whole.broken[at], members[at] = some.broken, some.members
    return replace(whole, members=members)


def _broken_by(part: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    if reason := refused(part):
        raise UsageError(f"{reason}.", "judge it without coalitions.")
    own = getattr(part, "broken_by", None)
    found: Collusion = own(groups, most) if own else enumerated(part, groups, most)
    return found


def refused(model: Model) -> str:
    """Why a rule cannot be judged against coalitions; empty where it can."""
    for part in parts(model):
        if hasattr(part, "broken_by") or getattr(part, "growing", False):
            continue
        if "provider" in part.needs:
            return f"{part} is about coalitions already"
        if "population" in part.needs:
            return f"{part} counts people of a population, whom no provider brought"
        if not part.local:
            return f"{part} judges all classes together, and no exact test of it is known"
        return f"{part} may heal when more rows are taken away, and no exact test of it is known"
    return ""


def strongest(
    shares: Shares, most: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Per class how many rows the providers with the most rows have, and who they are."""
    h = shares.providers
    taken, members = np.zeros(len(shares), np.int64), _room(most)
    pairs = h.start, h.value, h.count
    share_out(collude.strongest, len(shares), len(h.count), *pairs, most, taken, members)
    return taken, members


def fewest_rows(shares: Shares, most: NDArray[np.int64], k: int) -> Collusion:
    """The coalitions that leave fewer than ``k`` rows: those with the most rows leave fewest."""
    taken, members = strongest(shares, most)
    members[shares.rows < k] = NOBODY  # fails by itself
    return Collusion(shares.rows - taken < k, members)


def fewest_values(shares: Shares, most: NDArray[np.int64], l: int) -> Collusion:
    """The coalitions that leave fewer than ``l`` values: exact, though hard in general.

    Where the search of a class is given up, an integer program decides it.
    """
    state, members = np.full(len(shares), collude.SAFE, np.int8), _room(most)
    pairs = shares.start, shares.who, shares.value
    share_out(
        collude.values_left, len(shares), len(shares.who),
        *pairs, most, l, len(shares.total), state, members,
    )  # fmt: skip
    for c in np.flatnonzero(state == collude.UNDECIDED).tolist():
        found = smallest_union(shares, c, l)
        if len(found) <= most[c]:
            state[c] = collude.BROKEN
            members[c, : len(found)] = found
    return Collusion(state == collude.BROKEN, members)


def _room(most: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.full((len(most), int(most.max(initial=0))), NOBODY, np.int32)


def smallest_union(shares: Shares, class_: int, l: int) -> list[int]:
    """The fewest providers without whom a class has fewer than ``l`` values: an integer program.

    x says of each value whether it is gone, y of each provider whether they are: y >= x for each
    provider of a value, at least d − l + 1 values are gone, and Σ y is least.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load, and seldom needed
    from scipy.sparse import coo_array

    who, _, counts = shares.matrix(class_)
    provider, value = np.nonzero(counts)
    n, d = counts.shape
    each = np.arange(len(provider))
    holds = coo_array(
        (np.tile([-1.0, 1.0], (len(each), 1)).T.ravel(),
         (np.tile(each, 2), np.concatenate((value, d + provider)))),
        shape=(len(each), d + n),
    )  # fmt: skip
    gone = np.concatenate((np.ones(d), np.zeros(n)))
    found = milp(
        1 - gone,
        constraints=[LinearConstraint(holds, 0), LinearConstraint(gone, d - l + 1)],
        integrality=np.ones(d + n),
        bounds=Bounds(0, 1),
        options={"time_limit": SECONDS},
    )
    if not found.success:  # taking all providers away would do: it was the time
        raise UndecidedError(
            f"A class has {d:,} values of {n:,} providers, too many to tell in time whether fewer "
            f"than {l:,} can be left.",
            "ask for fewer values (l) or members (m), or take a coarser sensitive column.",
        )
    return who[found.x[d:] > 0.5].tolist()  # type: ignore[no-any-return]


def enumerated(model: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    """The same by trying every coalition of that size: for a growing rule without a better way."""
    shares = groups.brought
    return Collusion.found([_tried(model, groups, c, int(most[c])) for c in range(len(shares))])


def _tried(model: Model, groups: Groups, class_: int, most: int) -> tuple[int, ...] | None:
    one = groups.take(np.array([class_]))
    who = one.brought.matrix(0)[0]
    if math.comb(len(who), most) > MOST:
        raise UndecidedError(
            f"A class has {math.comb(len(who), most):,} coalitions of {most} providers, too many "
            f"to try for {model}.",
            "ask for fewer members (m), or for a rule that has a quicker way.",
        )
    for some in _chunks(combinations(range(len(who)), most)):
        bad = np.flatnonzero(~model.holds(left(one, some)))
        if len(bad):
            return tuple(who[some[bad[0]]].tolist())
    return None


def _chunks(coalitions: Iterator[tuple[int, ...]]) -> Iterator[NDArray[np.int64]]:
    """Coalitions as arrays (coalitions, members), many at once."""
    while some := list(islice(coalitions, AT_ONCE)):
        yield np.array(some, dtype=np.int64).reshape(len(some), -1)


def left(class_: Groups, coalitions: NDArray[np.int64]) -> Groups:
    """What is left of one class without each of the coalitions: one class for each of them.

    ``coalitions`` (coalitions, members) counts the class's own providers from 0.
    """
    kept = np.ones((len(coalitions), int(class_.brought.present[0])), bool)
    np.put_along_axis(kept, coalitions, False, axis=1)
    shares = tuple(_left(one, kept) for one in class_.shares)
    rows = shares[0].providers.rows
    sensitive = tuple(one.values for one in shares if one.axis is not None)
    return Groups(rows, sensitive, shares)


def _left(shares: Shares, kept: NDArray[np.bool_]) -> Shares:
    """The shares of the providers that are kept, once for each row of ``kept``."""
    row = np.unique(shares.who, return_inverse=True)[1]
    pairs = kept[:, row]
    start = np.concatenate(([0], np.cumsum(pairs.sum(axis=1))))
    at = np.nonzero(pairs)[1]
    return replace(
        shares, start=start, who=shares.who[at], value=shares.value[at], count=shares.count[at]
    )


def fitness(model: Model, groups: Groups, alpha: float) -> NDArray[np.float64]:
    """The paper's score of each class: (1 − α) rows / k + α values / l, of the rule's k and l.

    A part that the rule does not have counts nothing; where several columns must be diverse, the
    one that is least so counts.
    """
    rules, score = inner(model), np.zeros(len(groups))
    crowds = [part.k for part in rules if getattr(part, "identity", False) and hasattr(part, "k")]
    if crowds:
        score += (1 - alpha) * groups.rows / float(max(crowds))
    diverse = [(groups.on(getattr(p, "on", None)), p.l) for p in rules if hasattr(p, "l")]
    if diverse:
        score += alpha * np.min([h.distinct / float(l) for h, l in diverse], axis=0)
    return score
