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
    contributors, leaves = shares.contributors.tolist(), shares.provider.leaves
    known = {format_value(leaves[code]).strip(): code for code in contributors}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"{format_count(len(unknown), 'provider')} of the coalition provided no row of "
            f"the release: {', '.join(map(repr, unknown))}.",
            "write each name as the provider column does, in a --coalition of its own.",
        )
    _check_leaves_others(shares, len(names))
    return tuple(sorted(known[name] for name in names))


def _check_leaves_others(shares: Contributions, members: int) -> int:
    n_contributors = len(shares.contributors)
    if members >= n_contributors:
        raise UsageError(
            f"A coalition of {members:,} of {format_count(n_contributors, 'provider')} leaves "
            "nobody to learn about.",
            "take fewer, of a release for which several provided rows.",
        )
    return members


def _find_worst_coalition(
    shares: Contributions, members: int, min_confidence: Fraction
) -> _Coalition:
    """The worst of all coalitions of a size, or of those that can be tried.

    Classes that no coalition of the size can be as sure of as one of them already is, nor as
    ``min_confidence`` asks, decide nothing.
    """
    contributors, sizes = shares.contributors.tolist(), shares.providers.total
    largest = frozenset(sorted(contributors, key=lambda provider: -sizes[provider])[:members])
    floor = min(float(min_confidence), _build_score(shares, min_confidence)(largest)[2])
    relevant = shares.take(np.flatnonzero(_bound_confidence(shares, members) >= floor))
    max_tried = min(MAX_TRIED, MAX_WORK // max(1, len(relevant.values.count)))
    score, possible = _build_score(relevant, min_confidence), math.comb(len(contributors), members)
    if possible <= max_tried:
        return _Coalition(max(combinations(contributors, members), key=score), possible, possible)
    members_found, tried = _climb_to_worst(score, contributors, largest, max_tried)
    return _Coalition(tuple(sorted(members_found)), tried, possible)


def _build_score(shares: Contributions, min_confidence: Fraction) -> Scoring:
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
        remaining = values.sum(count)
        belief = count / np.maximum(remaining, 1)[values.class_]
        exposed = count[belief >= float(min_confidence)].sum()
        return int(exposed), int((remaining == 1).sum()), float(belief.max())

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


def _climb_to_worst(
    score: Scoring, contributors: Sequence[int], largest: frozenset[int], max_tried: int
) -> tuple[frozenset[int], int]:
    """Add the provider who tells most, again and again; then swap members while that tells more.

    The coalition with the most rows, ``largest``, is tried too; no swaps after ``max_tried``.
    """
    scores: dict[frozenset[int], Score] = {}

    def best(coalitions: Sequence[frozenset[int]]) -> frozenset[int]:
        scores.update((members, score(members)) for members in coalitions if members not in scores)
        return max(coalitions, key=scores.__getitem__)

    current: frozenset[int] = frozenset()
    for _ in largest:
        current = best(
            [current | {provider} for provider in contributors if provider not in current]
        )
    current, previous = best([current, largest]), current - current
    while current != previous and len(scores) < max_tried:
        others = [provider for provider in contributors if provider not in current]
        swaps = [current - {out} | {provider} for out in sorted(current) for provider in others]
        previous, current = current, best([current, *swaps])  # among equals the one at hand
    return current, sum(len(members) == len(largest) for members in scores)


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

    Parameters
    ----------
    view
        What the adversary has: one release, and who provided each row.
    rng
        Not used: nothing is random.
    coalition
        The providers by name; without it the worst coalition is looked for.
    members
        Of how many providers that is: unless given, as many as the release promises to withstand,
        or 1.
    sure
        From which share of the rows left on a value counts as learnt.

    Returns
    -------
    Finding
        How many rows of others are exposed, to the coalition and to an outsider.

    Raises
    ------
    UsageError
        The coalition names somebody who provided no row, or leaves nobody to learn about.
    """
    names, min_confidence = _check_names(coalition), OPTIONS["sure"](sure)
    if names and members is not None:
        raise UsageError("The coalition is named already.", "leave --members or --coalition out.")
    release, shares = get_contributions(view)
    if names:
        chosen = _Coalition(_find_named_providers(shares, names), 1, 1, named=True)
    else:
        size = OPTIONS["members"](members) or view.max_coalition
        chosen = _find_worst_coalition(shares, _check_leaves_others(shares, size), min_confidence)
    return _build_finding(_CoalitionAttack(view, release, shares, chosen, min_confidence))


@dataclass(frozen=True)
class _CoalitionAttack:
    """One coalition against one release."""

    view: View
    release: ReleaseView
    shares: Contributions
    chosen: _Coalition
    min_confidence: Fraction

    @cached_property
    def others(self) -> Mask:
        """Of each triple (class, provider, value) whether it is not the coalition's."""
        return ~np.isin(self.shares.contributor, self.chosen.members)

    @cached_property
    def remaining(self) -> Histogram:
        axis, shares, others = self.shares.axis, self.shares, self.others
        assert axis is not None
        class_, value, count = shares.class_[others], shares.value[others], shares.count[others]
        return Histogram.of(axis, class_, value, count, len(shares), shares.total)

    @cached_property
    def is_exposed(self) -> Mask:
        return _is_exposing(self.remaining, self.min_confidence)

    @cached_property
    def belief(self) -> NDArray[np.float64]:
        """Of each pair left, the share of its class that has the value."""
        return np.asarray(self.remaining.count / self.remaining.rows[self.remaining.class_])

    @cached_property
    def worst(self) -> NDArray[np.int64]:
        """The rows that are told, or if none is those of the surest class: the surest first."""
        release, remaining = self.release, self.remaining
        values, providers = np.asarray(release.values), np.asarray(release.providers)
        rows = np.flatnonzero(~np.isin(providers, self.chosen.members))
        pair = find_pairs(remaining, release.class_[rows], values[rows])
        worst_pairs = self.is_exposed if self.is_exposed.any() else self.belief == self.belief.max()
        rows, pair = rows[worst_pairs[pair]], pair[worst_pairs[pair]]
        class_ = remaining.class_[pair]
        _, first, number = np.unique(class_, return_index=True, return_inverse=True)
        return rows[np.lexsort((first[number], remaining.rows[class_], -self.belief[pair]))]

    @cached_property
    def class_(self) -> int:
        return int(self.release.class_[self.worst[0]])

    @property
    def member_names(self) -> str:
        """The coalition's providers in brackets, where they may be named."""
        return f" ({', '.join(self.names(self.chosen.members))})" if self.view.show else ""

    def names(self, providers: Iterable[int]) -> list[str]:
        return [format_value(self.shares.provider.leaves[provider]) for provider in providers]


def _is_exposing(values: Histogram, min_confidence: Fraction) -> Mask:
    """Of each pair (class, value) whether so large a share of the class has the value."""
    return is_at_most([values.rows[values.class_]], [values.count], 1 / min_confidence)


def _build_finding(case: _CoalitionAttack) -> Finding:
    remaining, chosen, details = case.remaining, case.chosen, _build_details(case)
    return Finding(
        attack="coalition",
        people=int(remaining.rows.sum()),
        exposed=details["after"]["exposed"],
        sure=float(case.belief.max()),
        guessing=float(remaining.total.max() / remaining.total.sum()),
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
        f"{format_chance(float(case.min_confidence))} sure of the {case.remaining.axis.name} of "
        f"{after['exposed']:,} of {case.remaining.rows.sum():,} rows of others (an outsider of "
        f"{before['exposed']:,}); "
        f"{pluralise(after['isolated'], 'row is', 'rows are')} left alone."
    )


def _describe_example(case: _CoalitionAttack) -> str:
    codes, counts = case.remaining.of_class(case.class_)
    rows = int(case.shares.rows[case.class_])
    n_left = sum(counts)
    most_common = int(np.argmax(counts))
    value = f": {case.view.format_sensitive(codes[most_common])}" if case.view.show else ""
    alike = "all have" if counts[most_common] == n_left else f"{counts[most_common]:,} have"
    rest = f"Of the {n_left:,} rows left {alike} the same"
    if n_left == 1:
        rest = "One row is left, that of the one other person of these cells, and with it the"
    return (
        f"Row {case.worst[0] + 1:,} of the release is in a class of {rows:,}, of which "
        f"{rows - n_left:,} are the coalition's own{case.member_names}. {rest} "
        f"{case.remaining.axis.name}{value}."
    )


def _build_witness(case: _CoalitionAttack) -> dict[str, Any]:
    codes, counts = case.remaining.of_class(case.class_)
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
    chosen, remaining, before = case.chosen, case.remaining, case.shares.values
    exposed_to_outsider = _is_exposing(before, case.min_confidence)[
        find_pairs(before, remaining.class_, remaining.value)
    ]
    return {
        "sure": float(case.min_confidence),
        "members": len(chosen.members),
        "providers": len(case.shares.contributors),
        "coalitions": chosen.possible,
        "coalitions_tried": chosen.tried,
        "own_rows": int(case.shares.rows.sum() - remaining.rows.sum()),
        "before": _count_learnt(remaining, exposed_to_outsider, before),
        "after": _count_learnt(remaining, case.is_exposed, remaining),
        "victims": _list_victims(case),
    }


def _count_learnt(remaining: Histogram, exposed: Mask, values: Histogram) -> dict[str, int]:
    return {
        "exposed": int(remaining.count[exposed].sum()),
        "isolated": int(remaining.rows[values.rows == 1].sum()),
        "certain": int(remaining.rows[values.distinct == 1].sum()),
    }


def _list_victims(case: _CoalitionAttack) -> list[dict[str, Any]]:
    shares, remaining, others = case.shares, case.remaining, case.others
    exposed = case.is_exposed[find_pairs(remaining, shares.class_[others], shares.value[others])]
    isolated = remaining.rows[shares.class_[others]] == 1
    numbers = {
        name: np.bincount(
            shares.contributor[others], shares.count[others] * counted, shares.provider.size
        )
        for name, counted in {"exposed": exposed, "isolated": isolated, "rows": 1}.items()
    }
    providers = [
        provider for provider in shares.contributors.tolist() if provider not in case.chosen.members
    ]
    providers.sort(key=lambda provider: [-count[provider] for count in numbers.values()])
    victims = [
        {name: int(count[provider]) for name, count in numbers.items()} for provider in providers
    ]
    if case.view.show:
        return [
            {"provider": n} | numbers_of_victim
            for n, numbers_of_victim in zip(case.names(providers), victims, strict=True)
        ]
    return victims
