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

Does not see: what a coalition knows beside its own rows; nor rows of other classes, since the
table that a class is compared with (t-closeness and its kin) stays the published one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
        own, more = (_widen(collusion.members, widest) for collusion in (self, other))
        broken = self.broken | other.broken
        return Collusion(broken, np.where(self.broken[:, np.newaxis], own, more))

    @classmethod
    def none(cls, classes: int) -> Collusion:
        """Nothing is broken."""
        return cls(np.zeros(classes, bool), np.zeros((classes, 0), np.int32))

    @classmethod
    def from_coalitions(cls, coalitions: list[tuple[int, ...] | None]) -> Collusion:
        """Of each class the coalition that breaks it, or None."""
        widest = max((len(coalition or ()) for coalition in coalitions), default=0)
        members = np.full((len(coalitions), widest), NO_MEMBER, np.int32)
        for row, coalition in zip(members, coalitions, strict=True):
            row[: len(coalition or ())] = coalition or ()
        broken = np.array([coalition is not None for coalition in coalitions], bool)
        return cls(broken, members)


def _widen(members: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    gap = width - members.shape[1]
    return np.pad(members, ((0, 0), (0, gap)), constant_values=NO_MEMBER)


def score_fitness(model: Model, groups: Groups, alpha: float) -> NDArray[np.float64]:
    """The paper's score of each class: (1 − α) rows / k + α values / l, of the rule's k and l.

    It orders providers and cuts, and decides nothing. A part that the rule does not have counts
    nothing; where several columns must be diverse, the one that is least so counts.
    """
    rules, score = unwrap_rule(model), np.zeros(len(groups))
    crowds = [part.k for part in rules if getattr(part, "identity", False) and hasattr(part, "k")]
    if crowds:
        score += (1 - alpha) * groups.rows / float(max(crowds))
    diverse = [(groups.concentrated(getattr(p, "on", None)), p.l) for p in rules if hasattr(p, "l")]
    if diverse:
        score += alpha * np.min([h.distinct / float(l) for h, l in diverse], axis=0)
    return score


# Coalitions that may take away any of their own rows
#
# A rule is not row-monotone where taking rows away can mend it: a class with half its rows the same
# value is mended when these rows go. Against such a rule a coalition of providers takes away the
# rows that hurt most and leaves the rest. "For every coalition I and every T' with
# T \ T_I ⊆ T' ⊆ T" the rule must hold (the paper's definition 2.1, its ending as meant).


ProviderCounts = NDArray[np.int64]
"""Of one class (providers, values): the rows that each provider contributed with each value."""
Weights = NDArray[Any]
"""(vectors, values): whole numbers, 64 bits wide or Python's own."""
CoalitionFinder = Callable[[NDArray[np.int32], ProviderCounts, int], list[int] | None]
"""Of a class's values, counts and max_members: the providers, from 0, that break it, if any."""

EXACT_FLOATS = 2.0**53
"""Floats hold all whole numbers up to here."""
VERTICES_AT_ONCE = 1 << 12


def search_classes(
    shares: Contributions,
    max_members: NDArray[np.int64],
    failed: Mask,
    find: CoalitionFinder,
    safe: Mask | None = None,
) -> Collusion:
    """What ``find`` says of each class; those that failed by themselves need no coalition.

    ``safe`` marks the classes of which it is known that no coalition breaks them.
    """
    coalitions: list[tuple[int, ...] | None] = [() if bad else None for bad in failed.tolist()]
    left = ~failed & (max_members > 0)
    for class_ in np.flatnonzero(left if safe is None else left & ~safe).tolist():
        providers, values, counts = shares.matrix(class_)
        members = find(values, counts, int(max_members[class_]))
        if members is not None:
            coalitions[class_] = tuple(providers[members].tolist())
    return Collusion.from_coalitions(coalitions)


def find_heaviest(
    weights: Weights, counts: ProviderCounts, max_members: int, *, strict: bool = False
) -> list[int] | None:
    """The providers of one class that reach w · x > 0 (``strict``: ≥ 0) for some w, if any can.

    Many rules are *linear*: with x the counts of a class's values, the class fails where w · x > 0
    for some w of a family of weights (≥ 0 where the rule is a strict inequality). For one w a
    provider with counts c is worth Σ c(s) max(−w(s), 0) to the coalition, whoever else is in it:

        max w · x  =  Σ n(s) w(s)  +  the largest so many of the providers' worths

    is reached by the providers that are worth most. Weights are whole numbers (``weight_type``),
    so that the comparison is exact: floats decide where they cannot err or the distance is large,
    and whole numbers of any length else.

    >>> counts = np.array([[1, 2], [2, 0], [0, 1]])
    >>> find_heaviest(np.array([[1, -1]]), counts, 1)  # without the first provider's 2 it is 3 to 1
    [0]
    """
    if not len(weights):
        return None
    value, doubt = bound_peaks(weights, counts, max_members)
    if weights.dtype != object and doubt.max() < NEAR * EXACT_FLOATS:
        doubt[:] = 0  # whole numbers that floats hold
    best = int((value - doubt).argmax())
    if value[best] > doubt[best]:
        rows = [best]
    else:
        rows = np.flatnonzero((value >= -doubt) & ((doubt > 0) | strict)).tolist()
    for row in rows:
        members = _members(weights[row].tolist(), counts.tolist(), max_members, strict)
        if members is not None:
            return members
    return None


def bound_peaks(
    weights: Weights, counts: ProviderCounts, max_members: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest w · x of each w, and by how much it may be wrong: safely more than rounding."""
    value, size = np.empty(len(weights)), np.empty(len(weights))
    rows = counts.sum(axis=0).astype(np.float64)
    for first in range(0, len(weights), VERTICES_AT_ONCE):
        part = slice(first, first + VERTICES_AT_ONCE)
        w = weights[part].astype(np.float64)
        value[part] = w @ rows + sum_largest(np.maximum(-w, 0) @ counts.T, max_members)
        size[part] = np.abs(w) @ rows
    return value, NEAR * size


def sum_largest(numbers: NDArray[Any], max_members: int) -> NDArray[Any]:
    """The sum of the ``max_members`` largest numbers of each row.

    >>> sum_largest(np.array([[3, 1, 2], [5, 5, 0]]), 2).tolist()
    [5, 10]
    """
    first = numbers.shape[1] - max_members
    if max_members == 0:
        return np.zeros_like(numbers[:, 0])
    return np.asarray(np.partition(numbers, first, axis=1)[:, first:].sum(axis=1))


def _members(
    w: list[int], counts: list[list[int]], max_members: int, strict: bool
) -> list[int] | None:
    """The smallest coalition that is worth enough for one w, in whole numbers."""
    worth = [sum(c * -u for c, u in zip(own, w, strict=True) if u < 0) for own in counts]
    value = sum(u * c for own in counts for c, u in zip(own, w, strict=True))
    members = sorted(range(len(counts)), key=lambda p: -worth[p])[:max_members]
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


# Distances that are sums of absolute differences, as linear rules


Codes = NDArray[np.int64]
FEW_PATTERNS, MAX_PATTERNS = 1 << 6, 1 << 17
"""So many patterns of signs of one class are looked at together."""


class Sums(NamedTuple):
    """The sets f of values, ranges low … high − 1 of codes, whose |p − q| add up to a distance.

    Of a class with counts x from a table with counts T of N rows it is

        Σ |N x(f) − T(f) |x|| / (scale N |x|)

    and exceeds t where Σ ± (N x(f) − T(f) |x|) > t scale N |x| for some signs: one vector of
    weights for each pattern of signs. There are 2 to the number of sets of them, and few matter:

    * a set whose difference no coalition can turn has one sign;
    * sets that hold the same values of the class turn in the order of their totals (a `Chain`);
    * chains are added one after the other, and a pattern is left out as soon as it could not
      exceed t even if the chains to come added the largest sum that any coalition lets them.
    """

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
        total, grand_total = running[high] - running[low], int(running[-1])
        some = (total > 0) & (total < grand_total)
        return cls(low[some], high[some], total[some], scale, grand_total)


class Chain(NamedTuple):
    """Sets that hold the same values of a class: the larger their totals, the sooner negative."""

    weights: Weights
    """(patterns, values): Σ ± (N 1_f − T(f)), the first so many of the sets with +."""
    max_sum: float
    """The largest sum that the chain can add, whatever the coalition."""


def find_exceeding(
    sums: Sums, t: Fraction, values: NDArray[np.int32], counts: ProviderCounts, max_members: int
) -> tuple[list[int] | None, bool]:
    """Providers of one class who make its distance exceed t, and whether that is certain.

    First with few patterns, which often find them; only all of them can tell that there are none.
    Exact: all weights are whole numbers. Where more than ``MAX_PATTERNS`` are left it may find a
    coalition, and cannot tell that there is none.
    """
    chains = _chains(sums, values, counts, max_members)
    # Few patterns first, so that there are few as long as possible; then what counts most.
    chains.sort(key=lambda chain: (len(chain.weights), -chain.max_sum))
    for max_patterns in (FEW_PATTERNS, MAX_PATTERNS):
        weights, are_all = _patterns(sums, t, chains, counts, max_members, max_patterns)
        members = find_heaviest(weights, counts, max_members)
        if members is not None or are_all:
            return members, True
    return None, False


def _patterns(
    sums: Sums,
    t: Fraction,
    chains: list[Chain],
    counts: ProviderCounts,
    max_members: int,
    max_patterns: int,
) -> tuple[Weights, bool]:
    """The weights that may exceed t, those with the highest peaks, and whether these are all."""
    over, under = t.as_integer_ratio()
    bound = over * sums.scale * sums.grand_total
    kind = weight_type(bound + 2 * under * sums.grand_total * (len(sums.total) + 1))
    weights, are_all = np.full((1, counts.shape[1]), -bound, dtype=kind), True
    max_patterns //= max((len(chain.weights) for chain in chains), default=1)
    to_come = sum(chain.max_sum for chain in chains) * under
    slack = NEAR * to_come
    for chain in chains:
        more = chain.weights.astype(kind) * under
        weights = (weights[:, np.newaxis] + more).reshape(-1, counts.shape[1])
        to_come -= chain.max_sum * under
        if len(more) == 1:
            continue
        value, doubt = bound_peaks(weights, counts, max_members)
        able = np.flatnonzero(value + to_come > -doubt - slack)
        if len(able) > max_patterns:
            able, are_all = able[np.argsort(-value[able])[: max(max_patterns, 1)]], False
        weights = weights[able]
    return weights, are_all


def _chains(
    sums: Sums, values: NDArray[np.int32], counts: ProviderCounts, max_members: int
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
    low = others * (within - sum_largest(inside, max_members)) - total * without
    high = others * within - total * (without - sum_largest(outside, max_members))
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


# What coalitions can leave when they take away all of their rows: the row-monotone rules' tests


MAX_SECONDS = 60.0
"""The longest that an integer program may take for one class."""


def find_largest_contributors(
    shares: Contributions, max_members: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Per class how many rows the largest contributors have, and who they are."""
    h = shares.providers
    taken, members = np.zeros(len(shares), np.int64), _room(max_members)
    pairs = h.start, h.value, h.count
    share_out(
        collude.find_largest_providers,
        len(shares),
        len(h.count),
        *pairs,
        max_members,
        taken,
        members,
    )
    return taken, members


def find_row_breaches(shares: Contributions, max_members: NDArray[np.int64], k: int) -> Collusion:
    """The coalitions that leave fewer than ``k`` rows: the largest contributors leave fewest."""
    taken, members = find_largest_contributors(shares, max_members)
    members[shares.rows < k] = NO_MEMBER  # fails by itself
    return Collusion(shares.rows - taken < k, members)


def find_value_breaches(shares: Contributions, max_members: NDArray[np.int64], l: int) -> Collusion:
    """The coalitions that leave fewer than ``l`` values.

    A value is gone when all its providers are, so that some d − l + 1 values must have few
    providers together, the minimum q-union problem: hard in general, polynomial for fixed l, and
    searched from both sides (``kernels.coalition``). Where the search of a class is given up, an
    integer program decides it.
    """
    state, members = np.full(len(shares), collude.SAFE, np.int8), _room(max_members)
    pairs = shares.start, shares.contributor, shares.value
    share_out(
        collude.search_value_coalitions,
        len(shares),
        len(shares.contributor),
        *pairs,
        max_members,
        l,
        len(shares.total),
        state,
        members,
    )
    for c in np.flatnonzero(state == collude.UNDECIDED).tolist():
        coalition = find_smallest_union(shares, c, l)
        if len(coalition) <= max_members[c]:
            state[c] = collude.BROKEN
            members[c, : len(coalition)] = coalition
    return Collusion(state == collude.BROKEN, members)


def _room(max_members: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.full((len(max_members), int(max_members.max(initial=0))), NO_MEMBER, np.int32)


def find_smallest_union(shares: Contributions, class_: int, l: int) -> list[int]:
    """The smallest coalition without which a class has fewer than ``l`` values, by integer program.

    x says of each value whether it is gone, y of each provider whether they are: y >= x for each
    provider of a value, at least d − l + 1 values are gone, and Σ y is minimal.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load, and seldom needed
    from scipy.sparse import coo_array

    providers, _, counts = shares.matrix(class_)
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
    solution = milp(
        1 - gone,
        constraints=[LinearConstraint(holds, 0), LinearConstraint(gone, d - l + 1)],
        integrality=np.ones(d + n),
        bounds=Bounds(0, 1),
        options={"time_limit": MAX_SECONDS},
    )
    if not solution.success:  # taking all providers away would do: it was the time
        raise UndecidedError(
            f"A class has {d:,} values of {n:,} providers, too many to tell in time whether fewer "
            f"than {l:,} can be left.",
            "ask for fewer values (l) or members (m), or take a coarser sensitive column.",
        )
    return providers[solution.x[d:] > 0.5].tolist()  # type: ignore[no-any-return]


# Any rule


MAX_COALITIONS = 1 << 20
"""So many coalitions of one class are tried where a rule has no better way."""
COALITIONS_AT_ONCE = 1 << 14


def count_members(shares: Contributions, m: int) -> NDArray[np.int64]:
    """How many of each class's providers can be a coalition that leaves somebody."""
    return np.minimum(m, shares.provider_counts - 1)


def find_breaches(model: Model, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
    """For each class a coalition of at most ``max_members`` providers that breaks the rule."""
    breaches = Collusion.none(len(groups))
    for part in split_rule(model):
        left = np.flatnonzero(~breaches.broken)
        if len(left):
            some = groups if len(left) == len(groups) else groups.take(left)
            more = _broken_by(part, some, max_members[left])
            breaches = breaches.or_else(_of_all_classes(more, left, len(groups)))
    return breaches


def _of_all_classes(some: Collusion, at: NDArray[np.int64], classes: int) -> Collusion:
    broken = np.zeros(classes, bool)
    members = np.full((classes, some.members.shape[1]), NO_MEMBER, np.int32)
    broken[at], members[at] = some.broken, some.members
    return Collusion(broken, members)


def _broken_by(part: Model, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
    if reason := explain_untestable(part):
        raise UsageError(f"{reason}.", "judge it without coalitions.")
    _refuse_blanks(part, groups)
    own: Callable[..., Collusion] | None = getattr(part, "broken_by", None)
    return own(groups, max_members) if own else try_all_coalitions(part, groups, max_members)


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


def prove_withstanding(
    model: Model, groups: Groups, max_members: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which classes are shown to withstand such coalitions; what takes too long to tell is not."""
    return judge_by_halves(
        lambda some, at: ~find_breaches(model, some, max_members[at]).broken, groups
    )


def judge_by_halves(
    judge: Callable[[Groups, NDArray[np.int64]], NDArray[np.bool_]], groups: Groups
) -> NDArray[np.bool_]:
    """What ``judge`` says of classes, called with their numbers; false where it takes too long.

    One class that cannot be decided stops all that are judged with it: so by halves.
    """
    waiting, verdicts = [np.arange(len(groups))], np.zeros(len(groups), bool)
    while waiting:
        at = waiting.pop()
        try:
            verdicts[at] = judge(groups if len(at) == len(groups) else groups.take(at), at)
        except UndecidedError:
            if len(at) > 1:
                waiting += np.array_split(at, 2)
    return verdicts


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


def try_all_coalitions(model: Model, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
    """The same by trying every coalition: for a row-monotone rule without a better way."""
    shares = groups.contributed
    return Collusion.from_coalitions(
        [
            _try_class(model, groups.take(np.array([c])), int(max_members[c]))
            for c in range(len(shares))
        ]
    )


def _try_class(model: Model, class_: Groups, max_members: int) -> tuple[int, ...] | None:
    providers = class_.contributed.matrix(0)[0]
    number = math.comb(len(providers), max_members)
    if number > MAX_COALITIONS:
        raise UndecidedError(
            f"A class has {number:,} coalitions of {max_members} providers, too many to try for "
            f"{model}.",
            "ask for fewer members (m), or for a rule that has a quicker way.",
        )
    coalitions = combinations(range(len(providers)), max_members)
    while batch := list(islice(coalitions, COALITIONS_AT_ONCE)):
        members = np.array(batch, dtype=np.int64).reshape(len(batch), -1)
        bad = np.flatnonzero(~model.holds(remove_coalitions(class_, members)))
        if len(bad):
            return tuple(providers[members[bad[0]]].tolist())
    return None


def remove_coalitions(class_: Groups, coalitions: NDArray[np.int64]) -> Groups:
    """What is left of one class without each of the coalitions: one class for each of them.

    ``coalitions`` (coalitions, members) counts the class's own providers from 0.
    """
    remaining = np.ones((len(coalitions), int(class_.contributed.provider_counts[0])), bool)
    np.put_along_axis(remaining, coalitions, False, axis=1)
    shares = tuple(_select_providers(share, remaining) for share in class_.contributions)
    sensitive = tuple(share.values for share in shares if share.axis is not None)
    return Groups(shares[0].providers.rows, sensitive, shares)


def _select_providers(shares: Contributions, remaining: NDArray[np.bool_]) -> Contributions:
    """The contributions of the remaining providers, once for each row of ``remaining``."""
    row = np.unique(shares.contributor, return_inverse=True)[1]
    pairs = remaining[:, row]
    start = np.concatenate(([0], np.cumsum(pairs.sum(axis=1))))
    at = np.nonzero(pairs)[1]
    return replace(
        shares,
        start=start,
        contributor=shares.contributor[at],
        value=shares.value[at],
        count=shares.count[at],
    )
