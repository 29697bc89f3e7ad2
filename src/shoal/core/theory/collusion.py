r"""Providers who work together: which coalition breaks a class for a rule, if any does.

A coalition of a class's providers knows its own rows. Taken away, the rows of the others are left;
where they fail the rule, the coalition learns more about them than the rule allows. "An
m-adversary is a coalition of m data providers; T* is m-private with respect to a constraint C if
it fulfils C against any m-adversary." (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for
collaborative data publishing, CollaborateCom 2011; IEEE TKDE 26(10), 2014.) Where a coalition
holds all rows of a class nobody is left to be hurt, so it has at most all providers but one.

Where a rule is *row-monotone* (more rows never break it) the worst is to take away all rows of as
many providers as may be. Where it is not, any of the coalition's rows may be taken away, and each
such rule's own ``broken_by`` finds the worst of them. A conjunction is broken where one of its
parts is.

Which classes a coalition breaks, and one that does: what every test of a rule answers.

The paper's score: how far a class fulfils a rule of k rows and l values.

S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing,
CollaborateCom 2011. It orders providers and cuts; it does not decide anything.

Coalitions that may take away any of their own rows: the exact worst for rules that may heal.

A rule is not *row-monotone* where taking rows away can mend it: a class with half its rows the same
value is mended when these rows go. Against such a rule a coalition of providers takes away the
rows that hurt most and leaves the rest: "for every coalition I and every T' with T \ T_I ⊆ T' ⊆ T"
the rule must hold (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data
publishing, CollaborateCom 2011; the ending of definition 2.1 as meant).

Many such rules are *linear*: with x the counts of a class's values, the class fails where w · x > 0
for some w of a family of weights (≥ 0 where the rule is a strict inequality). For one w a provider
with counts c is worth Σ c(s) max(−w(s), 0) to the coalition, whoever else is in it, so that

    max w · x  =  Σ n(s) w(s)  +  the largest so many of the providers' worths

is reached by the providers that are worth most. ``find_heaviest`` asks that for each w. Weights are
whole numbers (``weight_type``), so that the comparison is exact: floats decide where they cannot
err or the distance is large, and whole numbers of any length else.

Does not see: what a coalition knows beside its own rows; nor rows of other classes, since the
table that a class is compared with (t-closeness and its kin) stays the published one.

Distances that are sums of absolute differences, as linear rules: the signs that matter.

The distance of a class with counts x from a table with counts T of N rows, over sets f of values,

    Σ |N x(f) − T(f) |x|| / (scale N |x|)

exceeds t where Σ ± (N x(f) − T(f) |x|) > t scale N |x| for some signs: one vector of weights for
each pattern of signs, which ``shoal.core.theory.collusion`` can ask about coalitions of providers.
There are 2 to the number of sets of them, and few matter:

* a set whose difference no coalition can turn has one sign;
* sets that hold the same values of the class turn in the order of their totals (a *chain*);
* chains are added one after the other, and a pattern is left out as soon as it could not exceed t
  even if the chains to come added the most that any coalition lets them.

Exact: all weights are whole numbers. Where more than ``PATTERNS`` are left it may find a coalition,
and cannot tell that there is none.

The fewest rows and the fewest values that coalitions can leave: the row-monotone rules' tests.

Rows: the providers with the most rows leave fewest. Values: one is gone when all its providers
are, so that some d − l + 1 values must have few providers together, the minimum q-union problem:
hard in general, polynomial for fixed l, and searched from both sides (``kernels.collude``).

Does not see what a coalition keeps: all of its rows are taken away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UndecidedError, UsageError
from shoal.core.histogram import Contributions, Histogram
from shoal.core.model import NEAR, Mask, Model, split_rule, unwrap_rule
from shoal.core.tally import Groups
from shoal.kernels import coalition as collude
from shoal.kernels.threads import share_out

# Which classes a coalition breaks, and one that does: what every test of a rule answers.


NO_MEMBER = -1


@dataclass(frozen=True)
class Collusion:
    """For each class whether a coalition breaks it, and one that does."""

    broken: NDArray[np.bool_]
    members: NDArray[np.int32]
    """(classes, widest): providers of the coalition; ``NO_MEMBER`` beyond its end."""

    def of(self, class_: int) -> tuple[int, ...] | None:
        """The coalition that breaks a class; empty: the class fails by itself."""
        members = self.members[class_]
        return tuple(members[members >= 0].tolist()) if self.broken[class_] else None

    def or_else(self, other: Collusion) -> Collusion:
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
    def from_coalitions(cls, coalitions: list[tuple[int, ...] | None]) -> Collusion:
        """Of each class the coalition that breaks it, or None."""
        widest = max((len(one) for one in coalitions if one is not None), default=0)
        members = np.full((len(coalitions), widest), NO_MEMBER, np.int32)
        for row, one in zip(members, coalitions, strict=True):
            row[: len(one or ())] = one or ()
        return cls(np.array([one is not None for one in coalitions], bool), members)


def _widened(members: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    gap = width - members.shape[1]
    return np.pad(members, ((0, 0), (0, gap)), constant_values=NO_MEMBER)


# The paper's score: how far a class fulfils a rule of k rows and l values.


def score_fitness(model: Model, groups: Groups, alpha: float) -> NDArray[np.float64]:
    """The paper's score of each class: (1 − α) rows / k + α values / l, of the rule's k and l.

    A part that the rule does not have counts nothing; where several columns must be diverse, the
    one that is least so counts.
    """
    rules, score = unwrap_rule(model), np.zeros(len(groups))
    crowds = [part.k for part in rules if getattr(part, "identity", False) and hasattr(part, "k")]
    if crowds:
        score += (1 - alpha) * groups.rows / float(max(crowds))
    diverse = [(groups.concentrated(getattr(p, "on", None)), p.l) for p in rules if hasattr(p, "l")]
    if diverse:
        score += alpha * np.min([h.distinct / float(l) for h, l in diverse], axis=0)
    return score


# Coalitions that may take away any of their own rows: the exact worst for rules that may heal.


ProviderCounts = NDArray[np.int64]
"""Of one class (providers, values): the rows that each provider brought with each value."""
Weights = NDArray[Any]
"""(vectors, values): whole numbers, 64 bits wide or Python's own."""
CoalitionFinder = Callable[[NDArray[np.int32], ProviderCounts, int], list[int] | None]
"""Of a class's values, counts and most members: the providers, from 0, that break it, if any."""

EXACT_FLOATS = 2.0**53
"""Floats hold all whole numbers up to here."""
VERTICES_AT_ONCE = 1 << 12


def search_classes(
    shares: Contributions,
    most: NDArray[np.int64],
    failed: Mask,
    find: CoalitionFinder,
    safe: Mask | None = None,
) -> Collusion:
    """What ``find`` says of each class; those that failed by themselves need no coalition.

    ``safe`` marks the classes of which it is known that no coalition breaks them.
    """
    found: list[tuple[int, ...] | None] = [() if bad else None for bad in failed.tolist()]
    left = ~failed & (most > 0)
    for class_ in np.flatnonzero(left if safe is None else left & ~safe).tolist():
        who, values, counts = shares.matrix(class_)
        members = find(values, counts, int(most[class_]))
        if members is not None:
            found[class_] = tuple(who[members].tolist())
    return Collusion.from_coalitions(found)


def find_heaviest(
    weights: Weights, counts: ProviderCounts, most: int, *, strict: bool = False
) -> list[int] | None:
    """The providers of one class that reach w · x > 0 (``strict``: ≥ 0) for some w, if any can.

    >>> counts = np.array([[1, 2], [2, 0], [0, 1]])
    >>> find_heaviest(np.array([[1, -1]]), counts, 1)  # without the first provider's 2 it is 3 to 1
    [0]
    """
    if not len(weights):
        return None
    value, doubt = bound_peaks(weights, counts, most)
    if (
        weights.dtype != object and doubt.max() < NEAR * EXACT_FLOATS
    ):  # whole numbers that floats hold
        doubt[:] = 0
    best = int((value - doubt).argmax())
    if value[best] > doubt[best]:
        rows = [best]
    else:
        rows = np.flatnonzero((value >= -doubt) & ((doubt > 0) | strict)).tolist()
    tried = (_members(weights[row].tolist(), counts.tolist(), most, strict) for row in rows)
    return next((found for found in tried if found is not None), None)


def bound_peaks(
    weights: Weights, counts: ProviderCounts, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest w · x of each w, and by how much it may be wrong: safely more than rounding."""
    value, size = np.empty(len(weights)), np.empty(len(weights))
    rows = counts.sum(axis=0).astype(np.float64)
    for first in range(0, len(weights), VERTICES_AT_ONCE):
        part = slice(first, first + VERTICES_AT_ONCE)
        w = weights[part].astype(np.float64)
        value[part] = w @ rows + sum_largest(np.maximum(-w, 0) @ counts.T, most)
        size[part] = np.abs(w) @ rows
    return value, NEAR * size


def sum_largest(numbers: NDArray[Any], most: int) -> NDArray[Any]:
    """The sum of the ``most`` largest numbers of each row.

    >>> sum_largest(np.array([[3, 1, 2], [5, 5, 0]]), 2).tolist()
    [5, 10]
    """
    first = numbers.shape[1] - most
    if most == 0:
        return np.zeros_like(numbers[:, 0])
    return np.asarray(np.partition(numbers, first, axis=1)[:, first:].sum(axis=1))


def _members(w: list[int], counts: list[list[int]], most: int, strict: bool) -> list[int] | None:
    """The fewest providers that are worth enough for one w, in whole numbers."""
    worth = [sum(c * -u for c, u in zip(own, w, strict=True) if u < 0) for own in counts]
    value = sum(u * c for own in counts for c, u in zip(own, w, strict=True))
    members = sorted(range(len(counts)), key=lambda p: -worth[p])[:most]
    for number, p in enumerate(members, start=1):
        value += worth[p]
        if value > 0 or (strict and value == 0):
            return members[:number]
    return None


def weight_type(largest: int) -> np.dtype[Any]:
    """The type of whole numbers up to ``largest``: 64 bits, or Python's own where those are few."""
    return np.dtype(np.int64 if largest < 2**62 else object)


def cap_weights(share: list[int], of: list[int]) -> Weights:
    """Weights of "value i is at most share[i] / of[i] of the class", for each value.

    >>> cap_weights([1, 2], [2, 3]).tolist()
    [[1, -1], [-2, 1]]
    """
    kind = weight_type(max((abs(number) for number in (*share, *of)), default=0))
    bound = np.array(share, dtype=kind)
    weights = np.repeat(-bound[:, np.newaxis], len(bound), axis=1)
    np.fill_diagonal(weights, np.array(of, dtype=kind) - bound)
    return weights


def undecided_error(model: object) -> UndecidedError:
    """What to raise where an exact verdict would take too long; nothing is approximated."""
    return UndecidedError(
        f"A class has too many values and coalitions to judge {model} exactly against them.",
        "ask for fewer members (m), or use a coarser sensitive column.",
    )


# Distances that are sums of absolute differences, as linear rules: the signs that matter.


Codes = NDArray[np.int64]
FEW, PATTERNS = 1 << 6, 1 << 17
"""So many patterns of signs of one class are looked at together."""


class Sums(NamedTuple):
    """The sets of values whose |p − q| add up to a distance: ranges low … high − 1 of codes."""

    low: Codes
    high: Codes
    total: NDArray[np.int64]
    """Rows of each set in the table."""
    scale: int
    grand_total: int

    @classmethod
    def of(cls, h: Histogram, low: Codes, high: Codes, scale: int) -> Sums:
        """Without the sets in which nobody or everybody is: their share cannot change."""
        running = np.concatenate(([0], np.cumsum(h.total)))
        total, everybody = running[high] - running[low], int(running[-1])
        some = (total > 0) & (total < everybody)
        return cls(low[some], high[some], total[some], scale, everybody)


class Chain(NamedTuple):
    """Sets that hold the same values of a class: the larger their totals, the sooner negative."""

    weights: Weights
    """(patterns, values): Σ ± (N 1_f − T(f)), the first so many of the sets with +."""
    most: float
    """The most that the chain can add, whatever the coalition."""


def find_exceeding(
    sums: Sums, t: Fraction, values: NDArray[np.int32], counts: ProviderCounts, most: int
) -> tuple[list[int] | None, bool]:
    """Providers of one class who make its distance exceed t, and whether that is certain.

    First with few patterns, which often find them; only all of them can tell that there are none.
    """
    chains = sorted(_chains(sums, values, counts, most), key=_quickest)
    found, all_ = None, False
    for keep in (FEW, PATTERNS):
        weights, all_ = _patterns(sums, t, chains, counts, most, keep)
        found = find_heaviest(weights, counts, most)
        if found is not None or all_:
            return found, True
    return None, False


def _patterns(
    sums: Sums, t: Fraction, chains: list[Chain], counts: ProviderCounts, most: int, keep: int
) -> tuple[Weights, bool]:
    """The weights that may exceed t, those with the highest peaks, and whether these are all."""
    over, under = t.as_integer_ratio()
    bound = over * sums.scale * sums.grand_total
    kind = weight_type(bound + 2 * under * sums.grand_total * (len(sums.total) + 1))
    weights, all_ = np.full((1, counts.shape[1]), -bound, dtype=kind), True
    keep //= max((len(chain.weights) for chain in chains), default=1)
    to_come = sum(chain.most for chain in chains) * under
    slack = NEAR * to_come
    for chain in chains:
        more = chain.weights.astype(kind) * under
        weights = (weights[:, np.newaxis] + more).reshape(-1, counts.shape[1])
        to_come -= chain.most * under
        if len(more) == 1:
            continue
        value, doubt = bound_peaks(weights, counts, most)
        able = np.flatnonzero(value + to_come > -doubt - slack)
        if len(able) > keep:
            able, all_ = able[np.argsort(-value[able])[: max(keep, 1)]], False
        weights = weights[able]
    return weights, all_


def _quickest(chain: Chain) -> tuple[int, float]:
    """Few patterns first, so that there are few as long as possible; then what counts most."""
    return len(chain.weights), -chain.most


def _chains(
    sums: Sums, values: NDArray[np.int32], counts: ProviderCounts, most: int
) -> list[Chain]:
    """The chains of one class, without the signs that no coalition can turn."""
    kind = weight_type(4 * int(counts.sum()) * sums.grand_total)
    first, last = np.searchsorted(values, sums.low), np.searchsorted(values, sums.high)
    order = np.lexsort((sums.total, last, first))
    first, last, total = first[order], last[order], sums.total[order].astype(kind)
    running = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))).astype(kind)
    inside = (running[:, last] - running[:, first]).T
    outside = running[:, -1] - inside
    within, without = inside.sum(axis=1), outside.sum(axis=1)
    others = sums.grand_total - total
    low = others * (within - sum_largest(inside, most)) - total * without
    high = others * within - total * (without - sum_largest(outside, most))
    begins = np.flatnonzero(np.diff(first, prepend=-1) | np.diff(last, prepend=-1))
    column = np.arange(len(values))
    chains = []
    for a, b in pairwise([*begins.tolist(), len(order)]):
        plus, size = np.count_nonzero(low[a:b] >= 0), b - a
        signs = np.arange(plus, max(plus, size - np.count_nonzero(high[a:b] <= 0)) + 1)
        of = np.concatenate(([0], np.cumsum(total[a:b])))
        held = ((column >= first[a]) & (column < last[a])) * sums.grand_total
        weights = (2 * signs - size)[:, np.newaxis] * held - (2 * of[signs] - of[-1])[:, np.newaxis]
        chains.append(Chain(weights, float(np.maximum(high[a:b], -low[a:b]).sum())))
    return chains


# The fewest rows and the fewest values that coalitions can leave: the row-monotone rules' tests.


MAX_SECONDS = 60.0
"""The longest that an integer program may take for one class."""


def find_strongest(
    shares: Contributions, most: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Per class how many rows the providers with the most rows have, and who they are."""
    h = shares.providers
    taken, members = np.zeros(len(shares), np.int64), _room(most)
    pairs = h.start, h.value, h.count
    share_out(
        collude.find_largest_providers, len(shares), len(h.count), *pairs, most, taken, members
    )
    return taken, members


def find_fewest_rows(shares: Contributions, most: NDArray[np.int64], k: int) -> Collusion:
    """The coalitions that leave fewer than ``k`` rows: those with the most rows leave fewest."""
    taken, members = find_strongest(shares, most)
    members[shares.rows < k] = NO_MEMBER  # fails by itself
    return Collusion(shares.rows - taken < k, members)


def find_fewest_values(shares: Contributions, most: NDArray[np.int64], l: int) -> Collusion:
    """The coalitions that leave fewer than ``l`` values: exact, though hard in general.

    Where the search of a class is given up, an integer program decides it.
    """
    state, members = np.full(len(shares), collude.SAFE, np.int8), _room(most)
    pairs = shares.start, shares.contributor, shares.value
    share_out(
        collude.search_value_coalitions,
        len(shares),
        len(shares.contributor),
        *pairs,
        most,
        l,
        len(shares.total),
        state,
        members,
    )
    for c in np.flatnonzero(state == collude.UNDECIDED).tolist():
        found = find_smallest_union(shares, c, l)
        if len(found) <= most[c]:
            state[c] = collude.BROKEN
            members[c, : len(found)] = found
    return Collusion(state == collude.BROKEN, members)


def _room(most: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.full((len(most), int(most.max(initial=0))), NO_MEMBER, np.int32)


def find_smallest_union(shares: Contributions, class_: int, l: int) -> list[int]:
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
        (
            np.tile([-1.0, 1.0], (len(each), 1)).T.ravel(),
            (np.tile(each, 2), np.concatenate((value, d + provider))),
        ),
        shape=(len(each), d + n),
    )
    gone = np.concatenate((np.ones(d), np.zeros(n)))
    found = milp(
        1 - gone,
        constraints=[LinearConstraint(holds, 0), LinearConstraint(gone, d - l + 1)],
        integrality=np.ones(d + n),
        bounds=Bounds(0, 1),
        options={"time_limit": MAX_SECONDS},
    )
    if not found.success:  # taking all providers away would do: it was the time
        raise UndecidedError(
            f"A class has {d:,} values of {n:,} providers, too many to tell in time whether fewer "
            f"than {l:,} can be left.",
            "ask for fewer values (l) or members (m), or take a coarser sensitive column.",
        )
    return who[found.x[d:] > 0.5].tolist()  # type: ignore[no-any-return]


# Providers who work together: which coalition breaks a class for a rule, if any does.


MAX_COALITIONS = 1 << 20
"""So many coalitions of one class are tried where a rule has no better way."""
COALITIONS_AT_ONCE = 1 << 14


def count_members(shares: Contributions, m: int) -> NDArray[np.int64]:
    """How many of each class's providers can be a coalition that leaves somebody."""
    return np.minimum(m, shares.provider_counts - 1)


def find_breaches(model: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    """For each class a coalition of at most ``most`` of its providers that breaks the rule."""
    found = Collusion.none(len(groups))
    for part in split_rule(model):
        left = np.flatnonzero(~found.broken)
        if len(left):
            some = groups if len(left) == len(groups) else groups.take(left)
            found = found.or_else(_spread(_broken_by(part, some, most[left]), left, len(groups)))
    return found


def _spread(some: Collusion, at: NDArray[np.int64], classes: int) -> Collusion:
    """What was found of some classes, as that of all."""
    broken = np.zeros(classes, bool)
    members = np.full((classes, some.members.shape[1]), NO_MEMBER, np.int32)
    broken[at], members[at] = some.broken, some.members
    return Collusion(broken, members)


def _broken_by(part: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    if reason := explain_untestable(part):
        raise UsageError(f"{reason}.", "judge it without coalitions.")
    _refuse_blanks(part, groups)
    own = getattr(part, "broken_by", None)
    found: Collusion = own(groups, most) if own else try_all_coalitions(part, groups, most)
    return found


def _refuse_blanks(part: Model, groups: Groups) -> None:
    """Refuse what has no exact test once providers may take rows away whose value nobody knows."""
    if getattr(part, "row_monotone", False) or not part.needs & {"sensitive", "total"}:
        return
    shares = groups.contributed_on(getattr(part, "on", None))
    if shares.axis is not None and shares.axis.unknown and shares.total[shares.axis.null_code]:
        raise UsageError(
            f"{part} has no exact test against coalitions where sensitive values are missing: a "
            "coalition that takes rows away changes which values are the worst for the others.",
            'leave these rows out, or write missing = "value" in the schema if an empty cell is a '
            "value of its own.",
        )


def prove_withstanding(model: Model, groups: Groups, most: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which classes are shown to withstand such coalitions; what takes too long to tell is not."""
    return judge_by_halves(lambda some, at: ~find_breaches(model, some, most[at]).broken, groups)


def judge_by_halves(
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


def explain_untestable(model: Model) -> str:
    """Why a rule cannot be judged against coalitions; empty where it can."""
    for part in split_rule(model):
        if hasattr(part, "broken_by") or getattr(part, "row_monotone", False):
            continue
        if "provider" in part.needs:
            return f"{part} is about coalitions already"
        if "population" in part.needs:
            return f"{part} counts people of a population, whom no provider brought"
        if not part.local:
            return f"{part} judges all classes together, and no exact test of it is known"
        return f"{part} may heal when more rows are taken away, and no exact test of it is known"
    return ""


def try_all_coalitions(model: Model, groups: Groups, most: NDArray[np.int64]) -> Collusion:
    """The same by trying every coalition: for a row-monotone rule without a better way."""
    shares = groups.contributed
    return Collusion.from_coalitions(
        [_tried(model, groups, c, int(most[c])) for c in range(len(shares))]
    )


def _tried(model: Model, groups: Groups, class_: int, most: int) -> tuple[int, ...] | None:
    one = groups.take(np.array([class_]))
    who = one.contributed.matrix(0)[0]
    if math.comb(len(who), most) > MAX_COALITIONS:
        raise UndecidedError(
            f"A class has {math.comb(len(who), most):,} coalitions of {most} providers, too many "
            f"to try for {model}.",
            "ask for fewer members (m), or for a rule that has a quicker way.",
        )
    for some in _chunks(combinations(range(len(who)), most)):
        bad = np.flatnonzero(~model.holds(remove_coalitions(one, some)))
        if len(bad):
            return tuple(who[some[bad[0]]].tolist())
    return None


def _chunks(coalitions: Iterator[tuple[int, ...]]) -> Iterator[NDArray[np.int64]]:
    """Coalitions as arrays (coalitions, members), many at once."""
    while some := list(islice(coalitions, COALITIONS_AT_ONCE)):
        yield np.array(some, dtype=np.int64).reshape(len(some), -1)


def remove_coalitions(class_: Groups, coalitions: NDArray[np.int64]) -> Groups:
    """What is left of one class without each of the coalitions: one class for each of them.

    ``coalitions`` (coalitions, members) counts the class's own providers from 0.
    """
    kept = np.ones((len(coalitions), int(class_.contributed.provider_counts[0])), bool)
    np.put_along_axis(kept, coalitions, False, axis=1)
    shares = tuple(_left(one, kept) for one in class_.contributions)
    rows = shares[0].providers.rows
    sensitive = tuple(one.values for one in shares if one.axis is not None)
    return Groups(rows, sensitive, shares)


def _left(shares: Contributions, kept: NDArray[np.bool_]) -> Contributions:
    """The shares of the providers that are kept, once for each row of ``kept``."""
    row = np.unique(shares.contributor, return_inverse=True)[1]
    pairs = kept[:, row]
    start = np.concatenate(([0], np.cumsum(pairs.sum(axis=1))))
    at = np.nonzero(pairs)[1]
    return replace(
        shares,
        start=start,
        contributor=shares.contributor[at],
        value=shares.value[at],
        count=shares.count[at],
    )
