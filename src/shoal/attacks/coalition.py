"""Coalition: providers who know their own rows take them away, and look at what is left.

"We consider a new type of insider attack by colluding data providers who may use their own data
records (a subset of the overall data) ... to infer the data records contributed by other data
providers." What is left of a class without their rows are the rows of others. Where one row is
left, it is that of the one other person of these cells; where one value is left, it is
everybody's. A row of others is exposed when its value is at least ``sure`` likely among the rows
left of its class: a row that is left alone always is.

``coalition`` names the providers. Without it the worst coalition of ``members`` providers is
looked for: to whom most rows are exposed, then most left alone, then who is surest of anybody. All
coalitions are tried where they are few enough; else one provider is added after the other, and
members are swapped while that exposes more. That does not give the worst for sure, and the finding
says how many were tried.

Goryczka, Xiong, Fung: m-Privacy for collaborative data publishing, CollaborateCom 2011 (attacks by
data providers using the anonymised data and their own data); IEEE TKDE 26(10), 2014.

It does not see which rows a provider takes for its own where several classes could hold them: it
is given the truth, so that what it finds is the most that they can learn. Nor what they know
besides their rows, nor what they saw while the release was made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.wording import format_chance, pluralise
from shoal.core.errors import UsageError
from shoal.core.histogram import Contributions, Histogram
from shoal.core.labels import format_count, format_value
from shoal.core.model import Mask, Number, is_at_most, parse_fraction, parse_whole_number
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    WORST_LISTED,
    Needs,
    ReleaseView,
    View,
    find_pairs,
    get_contributions,
    show_labels,
)
from shoal.core.theory.collusion import find_largest_contributors

# Which providers work together.


MAX_TRIED = 20_000
"""Up to so many coalitions are all tried."""
MAX_WORK = 1_000_000_000
"""As long as they look at no more values of classes than this, all of them together."""


Score = tuple[int, int, float]
"""Rows exposed, rows left alone, and how sure the coalition is of the surest."""
Scoring = Callable[[Iterable[int]], Score]


@dataclass(frozen=True)
class _Coalition:
    """A coalition, as codes of providers, and how many were tried of how many to find it."""

    members: tuple[int, ...]
    tried: int
    possible: int
    named: bool = False

    @property
    def caveat(self) -> tuple[str, ...]:
        """What it means that not all were tried."""
        most = f"the worst of {self.tried:,} tried of {self.possible:,} coalitions"
        return () if self.tried == self.possible else (f"{most}: another may learn more",)


def _find_named_providers(shares: Contributions, names: Sequence[str]) -> tuple[int, ...]:
    there, leaves = shares.contributors.tolist(), shares.provider.leaves
    known = {format_value(leaves[code]).strip(): code for code in there}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"{format_count(len(unknown), 'provider')} of the coalition provided no row of "
            f"the release: {', '.join(map(repr, unknown))}.",
            "write each name as the provider column does, in a --coalition of its own.",
        )
    _check_leaves_others(shares, len(names))
    return tuple(sorted(known[name] for name in names))


def _check_leaves_others(shares: Contributions, members: int) -> int:
    there = len(shares.contributors)
    if members >= there:
        raise UsageError(
            f"A coalition of {members:,} of {format_count(there, 'provider')} leaves "
            "nobody to learn about.",
            "take fewer, of a release for which several provided rows.",
        )
    return members


def _find_worst_coalition(shares: Contributions, members: int, least: Fraction) -> _Coalition:
    """The worst of all coalitions of a size, or of those that can be tried.

    Classes that no coalition of the size can be as sure of as one of them already is, nor as
    ``least`` asks, decide nothing.
    """
    there, sizes = shares.contributors.tolist(), shares.providers.total
    largest = frozenset(sorted(there, key=lambda provider: -sizes[provider])[:members])
    floor = min(float(least), _build_score(shares, least)(largest)[2])
    some = shares.take(np.flatnonzero(_bound_confidence(shares, members) >= floor))
    most = min(MAX_TRIED, MAX_WORK // max(1, len(some.values.count)))
    score, possible = _build_score(some, least), math.comb(len(there), members)
    if possible <= most:
        return _Coalition(max(combinations(there, members), key=score), possible, possible)
    members_found, tried = _climb(score, there, largest, most)
    return _Coalition(tuple(sorted(members_found)), tried, possible)


def _build_score(shares: Contributions, least: Fraction) -> Scoring:
    """What the rows of a coalition, taken away, leave it to learn.

    Only the order of coalitions rests on floats: the finding itself is counted exactly.
    """
    values, order = shares.values, np.argsort(shares.contributor, kind="stable")
    pair = find_pairs(values, shares.class_[order], shares.value[order])
    rows = shares.count[order]
    start = np.searchsorted(shares.contributor[order], range(shares.provider.size + 1))

    def score(members: Iterable[int]) -> Score:
        count = values.count.copy()
        for provider in members:
            part = slice(start[provider], start[provider + 1])
            count[pair[part]] -= rows[part]  # a provider has a pair once
        left = values.sum(count)
        belief = count / np.maximum(left, 1)[values.class_]
        exposed = count[belief >= float(least)].sum()
        return int(exposed), int((left == 1).sum()), float(belief.max())

    return score


def _bound_confidence(shares: Contributions, members: int) -> NDArray[np.float64]:
    """How sure of a value in each class so many providers could become at most.

    No rows of the most common value are taken away, and of the others as many as the providers
    with the most rows provided in all.
    """
    top = shares.values.largest(shares.values.count)
    taken, _ = find_largest_contributors(shares, np.minimum(members, shares.provider_counts))
    others = np.maximum(shares.rows - top - taken, 0)
    return np.asarray(top / np.maximum(top + others, 1))


def _climb(
    score: Scoring, there: Sequence[int], largest: frozenset[int], most: int
) -> tuple[frozenset[int], int]:
    """Add the provider who tells most, again and again; then swap members while that tells more.

    The coalition with the most rows, ``largest``, is tried too; no swaps after ``most`` trials.
    """
    scores: dict[frozenset[int], Score] = {}

    def best(some: Sequence[frozenset[int]]) -> frozenset[int]:
        scores.update((members, score(members)) for members in some if members not in scores)
        return max(some, key=scores.__getitem__)

    here: frozenset[int] = frozenset()
    for _ in largest:
        here = best([here | {provider} for provider in there if provider not in here])
    here, before = best([here, largest]), here - here
    while here != before and len(scores) < most:
        others = [provider for provider in there if provider not in here]
        swaps = [here - {out} | {provider} for out in sorted(here) for provider in others]
        before, here = here, best([here, *swaps])  # among equals the one at hand
    return here, sum(len(members) == len(largest) for members in scores)


# The attack.


NEEDS = Needs(releases=1, max_releases=1, provider=True)
ASSUMPTIONS = (
    "the providers of the coalition know their own rows exactly, and pool them",
    "they can tell which published rows are theirs: where several classes could hold a row, that "
    "is more than they know",
    "they know that the other person is in the release, and the quasi-identifiers",
)


def _check_names(coalition: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of providers; a text is one name."""
    if isinstance(coalition, str):
        coalition = (coalition,)
    names = tuple(dict.fromkeys(format_value(name).strip() for name in coalition or ()))
    if not all(names):
        raise UsageError(
            "A provider has no name.", "write for example --coalition A --coalition B."
        )
    return names


OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "coalition": _check_names,
    "members": lambda members: (
        None if members is None else parse_whole_number(members, "members", 1)
    ),
    "sure": lambda sure: parse_fraction(sure, "sure", 0, 1, above=True, example="0.9"),
}


def coalition(
    view: View,
    *,
    rng: np.random.Generator | None = None,
    coalition: str | Sequence[str] | None = None,
    members: int | None = None,
    sure: Number = 0.9,
) -> Finding:
    """Find what a coalition of providers learns about the rows of others.

    The named one; without names the worst of ``members`` providers: unless given, of as many as
    the release promises to withstand, or 1.
    """
    names, least = _check_names(coalition), OPTIONS["sure"](sure)
    if names and members is not None:
        raise UsageError("The coalition is named already.", "leave --members or --coalition out.")
    release, shares = get_contributions(view)
    if names:
        chosen = _Coalition(_find_named_providers(shares, names), 1, 1, named=True)
    else:
        together = OPTIONS["members"](members) or view.max_coalition
        chosen = _find_worst_coalition(shares, _check_leaves_others(shares, together), least)
    return _build_finding(_CoalitionAttack(view, release, shares, chosen, least))


@dataclass(frozen=True)
class _CoalitionAttack:
    """One coalition against one release."""

    view: View
    release: ReleaseView
    shares: Contributions
    chosen: _Coalition
    least: Fraction

    @cached_property
    def others(self) -> Mask:
        """Of each triple (class, provider, value) whether it is not the coalition's."""
        return ~np.isin(self.shares.contributor, self.chosen.members)

    @cached_property
    def left(self) -> Histogram:
        """The values of the rows of others."""
        axis, shares, some = self.shares.axis, self.shares, self.others
        assert axis is not None
        class_, value, count = shares.class_[some], shares.value[some], shares.count[some]
        return Histogram.of(axis, class_, value, count, len(shares), shares.total)

    @cached_property
    def is_exposed(self) -> Mask:
        """Of each pair (class, value) left, whether the value is told."""
        return _is_exposing(self.left, self.least)

    @cached_property
    def belief(self) -> NDArray[np.float64]:
        """Of each pair left, the share of its class that has the value."""
        return np.asarray(self.left.count / self.left.rows[self.left.class_])

    @cached_property
    def worst(self) -> NDArray[np.int64]:
        """The rows that are told, or if none is those of the surest class: the surest first."""
        release, left = self.release, self.left
        values, providers = np.asarray(release.values), np.asarray(release.providers)
        rows = np.flatnonzero(~np.isin(providers, self.chosen.members))
        pair = find_pairs(left, release.class_[rows], values[rows])
        hit = self.is_exposed if self.is_exposed.any() else self.belief == self.belief.max()
        rows, pair = rows[hit[pair]], pair[hit[pair]]
        class_ = left.class_[pair]
        _, first, number = np.unique(class_, return_index=True, return_inverse=True)
        return rows[np.lexsort((first[number], left.rows[class_], -self.belief[pair]))]

    @cached_property
    def class_(self) -> int:
        """The class of the worst-hit row."""
        return int(self.release.class_[self.worst[0]])

    @property
    def member_names(self) -> str:
        """The coalition's providers in brackets, where they may be named."""
        return f" ({', '.join(self.names(self.chosen.members))})" if self.view.show else ""

    def names(self, providers: Iterable[int]) -> list[str]:
        """What some of the providers are called."""
        return [format_value(self.shares.provider.leaves[provider]) for provider in providers]


def _is_exposing(values: Histogram, least: Fraction) -> Mask:
    """Of each pair (class, value) whether so large a share of the class has the value."""
    return is_at_most([values.rows[values.class_]], [values.count], 1 / least)


def _build_finding(case: _CoalitionAttack) -> Finding:
    left, chosen, details = case.left, case.chosen, _build_details(case)
    return Finding(
        attack="coalition",
        people=int(left.rows.sum()),
        exposed=details["after"]["exposed"],
        sure=float(case.belief.max()),
        guessing=float(left.total.max() / left.total.sum()),
        sentence=_describe(case, details),
        defence=f'a rule of diversity inside "m-privacy m={len(chosen.members)} (...)" holds '
        "whichever so many providers take their rows away.",
        example=_describe_example(case),
        assumptions=(*ASSUMPTIONS, *chosen.caveat),
        worst=tuple((case.worst[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness=_build_witness(case),
        details=details,
    )


def _describe(case: _CoalitionAttack, details: Mapping[str, Any]) -> str:
    before, after = details["before"], details["after"]
    return (
        f"The {'named' if case.chosen.named else 'worst'} coalition of {details['members']:,} of "
        f"{details['providers']:,} providers{case.member_names} can be at least "
        f"{format_chance(float(case.least))} sure of the {case.left.axis.name} of "
        f"{after['exposed']:,} of {case.left.rows.sum():,} rows of others (an outsider of "
        f"{before['exposed']:,}); "
        f"{pluralise(after['isolated'], 'row is', 'rows are')} left alone."
    )


def _describe_example(case: _CoalitionAttack) -> str:
    codes, counts = case.left.of_class(case.class_)
    rows, left, most = int(case.shares.rows[case.class_]), sum(counts), int(np.argmax(counts))
    value = f": {case.view.format_sensitive(codes[most])}" if case.view.show else ""
    alike = "all have" if counts[most] == left else f"{counts[most]:,} have"
    rest = f"Of the {left:,} rows left {alike} the same"
    if left == 1:
        rest = "One row is left, that of the one other person of these cells, and with it the"
    return (
        f"Row {case.worst[0] + 1:,} of the release is in a class of {rows:,}, of which "
        f"{rows - left:,} are the coalition's own{case.member_names}. {rest} "
        f"{case.left.axis.name}{value}."
    )


def _build_witness(case: _CoalitionAttack) -> dict[str, Any]:
    codes, counts = case.left.of_class(case.class_)
    top, shown = int(np.argmax(counts)), {}
    if case.view.show:
        shown = {
            "coalition": case.names(case.chosen.members),
            "value": case.view.format_sensitive(codes[top]),
        }
    return {
        "members": len(case.chosen.members),
        "class": case.class_,
        "rows": int(case.shares.rows[case.class_]),
        "left": sum(counts),
        "most_common": counts[top],
        "distinct": len(counts),
        **shown,
        **show_labels(case.view, case.class_),
    }


def _build_details(case: _CoalitionAttack) -> dict[str, Any]:
    chosen, left, before = case.chosen, case.left, case.shares.values
    outside = _is_exposing(before, case.least)[find_pairs(before, left.class_, left.value)]
    return {
        "sure": float(case.least),
        "members": len(chosen.members),
        "providers": len(case.shares.contributors),
        "coalitions": chosen.possible,
        "coalitions_tried": chosen.tried,
        "own_rows": int(case.shares.rows.sum() - left.rows.sum()),
        "before": _count_learnt(left, outside, before),
        "after": _count_learnt(left, case.is_exposed, left),
        "victims": _list_victims(case),
    }


def _count_learnt(left: Histogram, exposed: Mask, values: Histogram) -> dict[str, int]:
    return {
        "exposed": int(left.count[exposed].sum()),
        "isolated": int(left.rows[values.rows == 1].sum()),
        "certain": int(left.rows[values.distinct == 1].sum()),
    }


def _list_victims(case: _CoalitionAttack) -> list[dict[str, Any]]:
    """The other providers by how many of their rows are exposed; named where they may be."""
    shares, left, some = case.shares, case.left, case.others
    exposed = case.is_exposed[find_pairs(left, shares.class_[some], shares.value[some])]
    isolated = left.rows[shares.class_[some]] == 1
    numbers = {
        name: np.bincount(shares.contributor[some], shares.count[some] * of, shares.provider.size)
        for name, of in {"exposed": exposed, "isolated": isolated, "rows": 1}.items()
    }
    hit = [
        provider for provider in shares.contributors.tolist() if provider not in case.chosen.members
    ]
    hit.sort(key=lambda provider: [-count[provider] for count in numbers.values()])
    victims = [{name: int(count[provider]) for name, count in numbers.items()} for provider in hit]
    if case.view.show:
        return [{"provider": n} | of for n, of in zip(case.names(hit), victims, strict=True)]
    return victims
