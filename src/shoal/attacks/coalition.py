"""Coalition: providers who know their own rows take them away, and look at what is left.

"We consider a new type of insider attack by colluding data providers who may use their own data
records (a subset of the overall data) ... to infer the data records contributed by other data
providers." What is left of a class without their rows are the rows of others. Where one row is
left, it is that of the one other person of these cells; where one value is left, it is
everybody's. A row of others is exposed when its value is at least ``sure`` likely among the rows
left of its class: a row that is left alone always is.

``coalition`` names the providers. Without it the worst coalition of ``members`` providers is
looked for: to whom most rows are exposed, then most left alone, then who is surest of anybody.

Goryczka, Xiong, Fung: m-Privacy for collaborative data publishing, CollaborateCom 2011 (attacks by
data providers using the anonymised data and their own data); IEEE TKDE 26(10), 2014.

It does not see which rows a provider takes for its own where several classes could hold them: it
is given the truth, so that what it finds is the most that they can learn. Nor what they know
besides their rows, nor what they saw while the release was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.insiders import Chosen, check_fewer, named_ones, worst
from shoal.attacks.view import WORST, Needs, Published, View, named, pairs_at, with_shares
from shoal.attacks.worded import counted, share
from shoal.errors import UsageError
from shoal.histogram import Histogram, Shares
from shoal.labels import text
from shoal.model import Mask, Number, below, fraction, whole
from shoal.release import Finding

NEEDS = Needs(releases=1, most=1, provider=True)
ASSUMPTIONS = (
    "the providers of the coalition know their own rows exactly, and pool them",
    "they can tell which published rows are theirs: where several classes could hold a row, that "
    "is more than they know",
    "they know that the other person is in the release, and the quasi-identifiers",
)


def _names(coalition: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of providers; a text is one name."""
    if isinstance(coalition, str):
        coalition = (coalition,)
    names = tuple(dict.fromkeys(text(name).strip() for name in coalition or ()))
    if not all(names):
        raise UsageError(
            "A provider has no name.", "write for example --coalition A --coalition B."
        )
    return names


OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "coalition": _names,
    "members": lambda members: None if members is None else whole(members, "members", 1),
    "sure": lambda sure: fraction(sure, "sure", 0, 1, above=True, example="0.9"),
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
    names, least = _names(coalition), OPTIONS["sure"](sure)
    if names and members is not None:
        raise UsageError("The coalition is named already.", "leave --members or --coalition out.")
    release, shares = with_shares(view)
    if names:
        chosen = Chosen(named_ones(shares, names), 1, 1, named=True)
    else:
        together = OPTIONS["members"](members) or view.withstood
        chosen = worst(shares, check_fewer(shares, together), least)
    return _finding(Case(view, release, shares, chosen, least))


@dataclass(frozen=True)
class Case:
    """One coalition against one release."""

    view: View
    release: Published
    shares: Shares
    chosen: Chosen
    least: Fraction

    @cached_property
    def others(self) -> Mask:
        """Of each triple (class, provider, value) whether it is not the coalition's."""
        return ~np.isin(self.shares.who, self.chosen.members)

    @cached_property
    def left(self) -> Histogram:
        """The values of the rows of others."""
        axis, shares, some = self.shares.axis, self.shares, self.others
        assert axis is not None
        class_, value, count = shares.class_[some], shares.value[some], shares.count[some]
        return Histogram.of(axis, class_, value, count, len(shares), shares.total)

    @cached_property
    def told(self) -> Mask:
        """Of each pair (class, value) left, whether the value is told."""
        return _told(self.left, self.least)

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
        pair = pairs_at(left, release.class_[rows], values[rows])
        hit = self.told if self.told.any() else self.belief == self.belief.max()
        rows, pair = rows[hit[pair]], pair[hit[pair]]
        class_ = left.class_[pair]
        _, first, number = np.unique(class_, return_index=True, return_inverse=True)
        return rows[np.lexsort((first[number], left.rows[class_], -self.belief[pair]))]

    @cached_property
    def class_(self) -> int:
        """The class of the worst-hit row."""
        return int(self.release.class_[self.worst[0]])

    @property
    def who(self) -> str:
        """The coalition's providers in brackets, where they may be named."""
        return f" ({', '.join(self.names(self.chosen.members))})" if self.view.show else ""

    def names(self, providers: Iterable[int]) -> list[str]:
        """What some of the providers are called."""
        return [text(self.shares.provider.leaves[one]) for one in providers]


def _told(values: Histogram, least: Fraction) -> Mask:
    """Of each pair (class, value) whether so large a share of the class has the value."""
    return below([values.rows[values.class_]], [values.count], 1 / least)


def _finding(case: Case) -> Finding:
    left, chosen, details = case.left, case.chosen, _details(case)
    return Finding(
        attack="coalition",
        people=int(left.rows.sum()),
        exposed=details["after"]["exposed"],
        sure=float(case.belief.max()),
        guessing=float(left.total.max() / left.total.sum()),
        sentence=_sentence(case, details),
        defence=f'a rule of diversity inside "m-privacy m={len(chosen.members)} (...)" holds '
        "whichever so many providers take their rows away.",
        example=_example(case),
        assumptions=(*ASSUMPTIONS, *chosen.caveat),
        worst=tuple((case.worst[:WORST] + 1).tolist()),
        table="release 1",
        witness=_witness(case),
        details=details,
    )


def _sentence(case: Case, details: Mapping[str, Any]) -> str:
    before, after = details["before"], details["after"]
    return (
        f"The {'named' if case.chosen.named else 'worst'} coalition of {details['members']:,} of "
        f"{details['providers']:,} providers{case.who} can be at least {share(float(case.least))} "
        f"sure of the {case.left.axis.name} of {after['exposed']:,} of {case.left.rows.sum():,} "
        f"rows of others (an outsider of {before['exposed']:,}); "
        f"{counted(after['isolated'], 'row is', 'rows are')} left alone."
    )


def _example(case: Case) -> str:
    codes, counts = case.left.of_class(case.class_)
    rows, left, most = int(case.shares.rows[case.class_]), sum(counts), int(np.argmax(counts))
    value = f": {case.view.value(codes[most])}" if case.view.show else ""
    alike = "all have" if counts[most] == left else f"{counts[most]:,} have"
    rest = f"Of the {left:,} rows left {alike} the same"
    if left == 1:
        rest = "One row is left, that of the one other person of these cells, and with it the"
    return (
        f"Row {case.worst[0] + 1:,} of the release is in a class of {rows:,}, of which "
        f"{rows - left:,} are the coalition's own{case.who}. {rest} {case.left.axis.name}{value}."
    )


def _witness(case: Case) -> dict[str, Any]:
    codes, counts = case.left.of_class(case.class_)
    top, shown = int(np.argmax(counts)), {}
    if case.view.show:
        shown = {"coalition": case.names(case.chosen.members), "value": case.view.value(codes[top])}
    return {
        "members": len(case.chosen.members),
        "class": case.class_,
        "rows": int(case.shares.rows[case.class_]),
        "left": sum(counts),
        "most_common": counts[top],
        "distinct": len(counts),
        **shown,
        **named(case.view, case.class_),
    }


def _details(case: Case) -> dict[str, Any]:
    chosen, left, before = case.chosen, case.left, case.shares.values
    outside = _told(before, case.least)[pairs_at(before, left.class_, left.value)]
    return {
        "sure": float(case.least),
        "members": len(chosen.members),
        "providers": len(case.shares.contributors),
        "coalitions": chosen.possible,
        "coalitions_tried": chosen.tried,
        "own_rows": int(case.shares.rows.sum() - left.rows.sum()),
        "before": _learnt(left, outside, before),
        "after": _learnt(left, case.told, left),
        "victims": _victims(case),
    }


def _learnt(left: Histogram, told: Mask, seen: Histogram) -> dict[str, int]:
    """Of the rows of others what whoever sees these rows learns."""
    return {
        "exposed": int(left.count[told].sum()),
        "isolated": int(left.rows[seen.rows == 1].sum()),
        "certain": int(left.rows[seen.distinct == 1].sum()),
    }


def _victims(case: Case) -> list[dict[str, Any]]:
    """The other providers by how many of their rows are exposed; named where they may be."""
    shares, left, some = case.shares, case.left, case.others
    told = case.told[pairs_at(left, shares.class_[some], shares.value[some])]
    alone = left.rows[shares.class_[some]] == 1
    numbers = {
        name: np.bincount(shares.who[some], shares.count[some] * of, shares.provider.size)
        for name, of in {"exposed": told, "isolated": alone, "rows": 1}.items()
    }
    hit = [one for one in shares.contributors.tolist() if one not in case.chosen.members]
    hit.sort(key=lambda one: [-found[one] for found in numbers.values()])
    victims = [{name: int(found[one]) for name, found in numbers.items()} for one in hit]
    if case.view.show:
        return [{"provider": n} | of for n, of in zip(case.names(hit), victims, strict=True)]
    return victims
