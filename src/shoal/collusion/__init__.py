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
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from shoal.collusion.fewest import fewest_rows, fewest_values, strongest
from shoal.collusion.found import NOBODY, Collusion
from shoal.collusion.score import fitness
from shoal.errors import UndecidedError, UsageError
from shoal.histogram import Shares
from shoal.model import Model, parts
from shoal.tally import Groups

__all__ = [
    "Collusion", "breached", "decided", "enumerated", "fewest_rows", "fewest_values", "fitness",
    "left", "members", "refused", "shown", "strongest",
]  # fmt: skip

MOST = 1 << 20
"""So many coalitions of one class are tried where a rule has no better way."""
AT_ONCE = 1 << 14


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
    """What was found of some classes, as that of all."""
    broken = np.zeros(classes, bool)
    members = np.full((classes, some.members.shape[1]), NOBODY, np.int32)
    broken[at], members[at] = some.broken, some.members
    return Collusion(broken, members)


def _broken_by(part: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    if reason := refused(part):
        raise UsageError(f"{reason}.", "judge it without coalitions.")
    _refuse_blanks(part, groups)
    own = getattr(part, "broken_by", None)
    found: Collusion = own(groups, most) if own else enumerated(part, groups, most)
    return found


def _refuse_blanks(part: Model, groups: Groups) -> None:
    """Refuse what has no exact test once providers may take rows away whose value nobody knows."""
    if getattr(part, "growing", False) or not part.needs & {"sensitive", "total"}:
        return
    shares = groups.shared(getattr(part, "on", None))
    if shares.axis is not None and shares.axis.unknown and shares.total[shares.axis.null_code]:
        raise UsageError(
            f"{part} has no exact test against coalitions where sensitive values are missing: a "
            "coalition that takes rows away changes which values are the worst for the others.",
            'leave these rows out, or write missing = "value" in the schema if an empty cell is a '
            "value of its own.",
        )


def shown(model: Model, groups: Groups, most: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which classes are shown to withstand such coalitions; what takes too long to tell is not."""
    return decided(lambda some, at: ~breached(model, some, most[at]).broken, groups)


def decided(
    judge: Callable[[Groups, NDArray[np.int64]], NDArray[np.bool_]], groups: Groups
) -> NDArray[np.bool_]:
    """What ``judge`` says of classes (given with their numbers); no where that takes too long.

    One class that cannot be decided stops all that are judged with it: so by halves.
    """
    waiting, found = [np.arange(len(groups))], np.zeros(len(groups), bool)
    while waiting:
        at = waiting.pop()
        try:
            found[at] = judge(groups if len(at) == len(groups) else groups.take(at), at)
        except UndecidedError:
            if len(at) > 1:
                waiting += np.array_split(at, 2)
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
