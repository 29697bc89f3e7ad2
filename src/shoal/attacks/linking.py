"""Linking: a release without names, and a register with them, joined on what both hold.

For each person of the register the compatible rows are those of all classes whose cells contain
the person (``location``: or of the nearest class, where cells are the means of microaggregation).
Where there is one such row, and nobody else of the register fits it, the row has a name. Where all
compatible rows agree on the sensitive value, the value is the person's, whichever row is.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 1: a medical
table and a voter list. Her words for what a published row fits in the register: k-map, every row
fits at least k people; null-map, it fits nobody; wrong-map, it fits people but not the true one.

Two adversaries: who knows that the person is in the release (prosecutor) is right about the row
with a chance of 1 / candidates, and more often where cells overlap and the classes that fit are
weighed (below); who does not (journalist) is right, about a person taken from
those that a class covers, with rows / covered, at most 1. Blind guessing is 1 / people of the
register for a row, and the most common value's share for a value.

Where somebody has several rows, people are counted, not rows. The candidates of a person are the
people whom the compatible rows are about; a value is settled where all of these have it in such a
row. Of a person of whom several rows are known, each by its quasi-identifiers, the row that tells
most counts: it is the class with the fewest people that is the risk.

It does not see people whom the register leaves out: a match that is alone here may have a twin
outside, and a person who is in the register but not in the release may fit a row all the same (a
control group measures that).

The row that is picked for a person, where several fit:

even      every row of every class that fits the person is as likely as another
weighed   a class is as likely as it has rows for the people of the register whom it fits, so that
          the row is one of the class that fits the fewest (`shoal.core.theory.location`)
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

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.candidate_classes import (
    MEANS,
    Located,
    check_location,
    group_by_key,
    locate,
    looks_like_means,
    resolve_location,
)
from shoal.attacks._shared.people_with_several_rows import (
    BestRows,
    count_people_covered,
    count_people_fitting,
)
from shoal.core.errors import InputError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    WORST_LISTED,
    Needs,
    NobodyFoundError,
    ReleaseView,
    Targets,
    View,
    show_labels,
)
from shoal.core.theory.location import Narrowest

# The row that is picked.


EVEN, WEIGHED, ASSUMED = "even", "weighed", "assumed"
ADVERSARY_WORDS = {
    EVEN: "picking any row that fits",
    WEIGHED: "picking a row of the class that fits the fewest people",
}
PICKING_ASSUMPTIONS = {
    EVEN: "every row that fits the person is equally likely; weighing classes by how few people "
    "of the register they fit succeeds no more often (even adversary)",
    WEIGHED: "a class is as likely to hold the person as it has rows for the people of the "
    "register whom it fits: that succeeds more often than taking all rows that fit as equally "
    "likely (weighed adversary)",
}
SUCCESS_COUNTED = "success is counted by the class that truly holds each person"
SUCCESS_EXPECTED = "success is what the adversary expects: which row is truly whose is not known"


@dataclass(frozen=True)
class _Picking:
    """How the more successful adversary fares, and how the others do."""

    effective_candidates: NDArray[np.float64]
    """Per person the rows among which it picks, each counted as it is likely; 0: none fits."""
    summary: dict[str, Any]
    """How sure it is at most (``highest``), and the share of people it is right about (``mean``);
    where some people fit several classes also which adversary it is, and what all of them do."""
    adversary: str = EVEN
    assumptions: tuple[str, ...] = field(default=())

    @property
    def sentence(self) -> str:
        """How often it is right, to end a sentence with; nothing where there is but one."""
        if self.adversary not in self.summary:
            return ""
        other = EVEN if self.adversary == WEIGHED else WEIGHED
        best, less = (
            _format_percent(self.summary[adversary]["mean"])
            for adversary in (self.adversary, other)
        )
        first, second = ADVERSARY_WORDS[self.adversary], ADVERSARY_WORDS[other]
        if not self.summary["counted"]:
            return f"; {first} should be right for {best}, {second} for {less}"
        known = _format_percent(self.summary[ASSUMED]["mean"])
        return (
            f"; {first} is right for {best} of the {self.summary['of']:,} who truly are, {second} "
            f"for {less}, and a row of their own class, were it known, for {known}"
        )


def _pick_rows(
    release: ReleaseView,
    located: Located,
    key: NDArray[np.int64],
    covered: NDArray[np.int64],
    right: NDArray[np.bool_] | None,
    even: NDArray[np.float64],
) -> _Picking:
    """How often the row that is picked for each person is theirs.

    ``key`` is the number of each person's key in ``located``, ``covered`` the people whom each
    class fits, and ``right`` whether the class that truly holds each person is among those that
    fit, where that is known. ``even`` is how many fit each person, rows or people; somebody does.
    """
    start, classes = located
    is_found = even > 0
    if (np.diff(start) <= 1).all():
        return _Picking(even, _summarise_picks(even[is_found], 1 / even[is_found]))
    narrowest = Narrowest.of(start, classes, release.people, covered)
    effective_candidates = {EVEN: even, WEIGHED: narrowest.effective_rows[key]}
    true_class = np.full(len(key), -1) if release.true_class is None else release.true_class
    is_in_release = is_found & (true_class >= 0)
    if right is None or not is_in_release.any():
        chance = {name: 1 / many[is_found] for name, many in effective_candidates.items()}
        return _choose_adversary(effective_candidates, is_found, chance, {"counted": False})
    own_class = true_class[is_in_release]
    chance_by_adversary = {
        EVEN: 1 / even[is_in_release],
        WEIGHED: narrowest.chance_right(key[is_in_release], own_class),
    }
    chance = {
        name: np.where(right[is_in_release], share, 0.0)
        for name, share in chance_by_adversary.items()
    }
    assumed = _summarise_picks(release.people[own_class], 1 / release.people[own_class])
    return _choose_adversary(
        effective_candidates,
        is_found,
        chance,
        {"counted": True, "of": int(is_in_release.sum()), ASSUMED: assumed},
    )


def _format_percent(share: float) -> str:
    """A share in words.

    >>> _format_percent(0.0513), _format_percent(1.0)
    ('5.13 %', '100 %')
    """
    return f"{100 * share:.3g} %"


def _choose_adversary(
    effective_candidates: dict[str, NDArray[np.float64]],
    is_found: NDArray[np.bool_],
    chance: dict[str, NDArray[np.float64]],
    scoring: dict[str, Any],
) -> _Picking:
    summaries = {
        name: _summarise_picks(candidates[is_found], chance[name])
        for name, candidates in effective_candidates.items()
    }
    best = max((EVEN, WEIGHED), key=lambda name: summaries[name]["mean"])
    summary = {**summaries[best], "adversary": best, **summaries, **scoring}
    counted = SUCCESS_COUNTED if scoring["counted"] else SUCCESS_EXPECTED
    return _Picking(effective_candidates[best], summary, best, (PICKING_ASSUMPTIONS[best], counted))


def _summarise_picks(
    effective_candidates: NDArray[Any], chance: NDArray[np.float64]
) -> dict[str, float]:
    """The surest pick, and the share of people about whom picks are right.

    The exact sum, rounded once, does not depend on the order of the people.
    """
    return {
        "highest": float(1 / effective_candidates.min()),
        "mean": fsum(chance.tolist()) / len(chance),
    }


# The attack.


NEEDS = Needs(releases=1, max_releases=1, people=True, sensitive=False, counts_people=True)
OPTIONS = {"location": check_location}

ASSUMPTIONS = (
    "the adversary knows the quasi-identifiers of everybody in the register",
    "a value is settled for a person who is known to be in the release",
    "a match is certain if the register leaves nobody out who could be in the release",
)
DEFENCE = (
    "generalise until every row fits many people (k-anonymity, or k-map for a known population), "
    "and ask for diversity of the sensitive value."
)

REGISTER = (
    "the location was asked to be assumed, but a register does not say which class holds whom: "
    "everybody is looked for in all cells that contain them"
)


def linking(
    view: View, *, rng: np.random.Generator | None = None, location: str = "honest"
) -> Finding:
    """Join a release with a register; count who is matched and whose value is settled.

    Parameters
    ----------
    view
        What the adversary has: one release, and a register of people.
    rng
        Not used: nothing is random.
    location
        ``honest`` or ``centroid``; "assumed" is taken for "honest", for who knows the class asks no
        register. What such an adversary gains is told beside, where it is known which class holds
        whom.

    Returns
    -------
    Finding
        How many people fit one row that nobody else fits, or rows that agree on the value.

    Raises
    ------
    NobodyFoundError
        Nobody of the register fits a row of the release.
    InputError
        There is no release or no register.
    """
    requested, location = location, "honest" if check_location(location) == "assumed" else location
    if not view.releases or view.people is None:
        raise InputError("Linking needs a release and a register.", "give a table of people.")
    location, assumed = resolve_location(view.releases, location)
    if requested != location:
        assumed = (*assumed, REGISTER)
    match = _Match.of(view, view.releases[0], view.people, location)
    is_found = match.candidates > 0
    if not is_found.any():
        check = "check that the register and the release share columns and values"
        raise NobodyFoundError(
            "Nobody of the register fits a row of the release.",
            f"{MEANS if match.looks_averaged else check}.",
        )
    exposed = int((match.certain | match.settled).sum())
    order = match.worst_first()
    return Finding(
        attack="linking",
        people=int(is_found.sum()),
        exposed=exposed,
        sure=1.0 if exposed else match.picking.summary["highest"],
        guessing=match.compute_baseline(),
        sentence=_describe(match, exposed),
        defence=DEFENCE,
        example=_describe_example(match, int(order[0])),
        assumptions=(*ASSUMPTIONS, *match.picking.assumptions, *assumed),
        worst=tuple(match.people.rows[order[:WORST_LISTED]].tolist()),
        witness=_build_witness(match, int(order[0])),
        details={**_build_details(match), "location": location},
    )


@dataclass(frozen=True)
class _Match:
    """Who fits which classes: key ``i`` the classes ``classes[start[i]:start[i + 1]]``."""

    view: View
    release: ReleaseView
    people: Targets
    start: NDArray[np.int64]
    classes: NDArray[np.int64]
    key: NDArray[np.int64]
    """The number of each person's key."""
    looks_averaged: bool
    """Whether people fit nothing because the release gives means."""
    candidates: NDArray[np.int64]
    """Rows that fit each person, or people whom these rows are about."""
    covered: NDArray[np.int64]
    """People of the register that fit each class."""
    certain: NDArray[np.bool_]
    """One row fits the person, and nobody else fits the row."""
    agreed_value: NDArray[np.int32]
    """The value that all rows that fit the person have, or all people in them; -1: none."""
    true_class: NDArray[np.int32] | None
    """The class that truly holds each person, where it is known."""

    @classmethod
    def of(cls, view: View, release: ReleaseView, people: Targets, location: str) -> _Match:
        distinct_people, key = group_by_key(people, view.axes, location)
        start, classes = locate(release, view.axes, distinct_people, location)
        candidates, agreed = count_people_fitting(release, view.sensitive, (start, classes))
        covered = count_people_covered((start, classes), key, people, len(release.cells))
        certain = candidates == 1
        covered_once = np.zeros(len(classes) + 1, np.int64)
        covered_once[1:] = np.cumsum(covered[classes] == 1)
        certain &= covered_once[start[1:]] > covered_once[start[:-1]]
        absent = candidates[key] == 0
        looks_averaged = location == "honest" and looks_like_means(
            release, view.axes, people.keys, absent
        )
        best = BestRows.of(people, candidates[key], certain[key], agreed[key])
        return cls(
            view,
            release,
            people.take(best.row),
            start,
            classes,
            key[best.row],
            looks_averaged,
            best.candidates,
            covered,
            best.certain,
            best.agreed,
            None if release.true_class is None else release.true_class[best.row],
        )

    @property
    def settled(self) -> NDArray[np.bool_]:
        return self.agreed_value >= 0

    @cached_property
    def right(self) -> NDArray[np.bool_] | None:
        true_class, size = self.true_class, len(self.covered)
        if true_class is None:
            return None
        key_of_pair = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return (true_class >= 0) & np.isin(
            self.key * size + true_class, key_of_pair * size + self.classes
        )

    @cached_property
    def picking(self) -> _Picking:
        located = self.start, self.classes
        release = replace(self.release, true_class=self.true_class)
        even = self.candidates.astype(np.float64)
        return _pick_rows(release, located, self.key, self.covered, self.right, even)

    def fitting(self, i: int) -> NDArray[np.int64]:
        return self.classes[self.start[self.key[i]] : self.start[self.key[i] + 1]]

    @property
    def learns(self) -> bool:
        return self.view.sensitive is not None and self.release.values is not None

    def compute_baseline(self) -> float:
        """Blind guessing, of the easiest among what the attack learned: a row, a value."""
        row = 1 / len(self.people)
        if not self.settled.any():
            return row
        assert self.view.sensitive is not None
        values = self.release.histogram(self.view.sensitive)
        value = float(values.total.max() / values.grand_total)
        return max(row, value) if self.certain.any() else value

    def worst_first(self) -> NDArray[np.int64]:
        """The people who fit some row: exposed twice, matched, settled; then who is surest."""
        candidates = self.picking.effective_candidates.round(
            9
        )  # sums of floats differ in the last digits
        keys = (
            self.people.rows,
            np.where(candidates > 0, candidates, np.inf),
            ~self.settled,
            ~self.certain,
        )
        return np.lexsort(keys)[: int((self.candidates > 0).sum())]


def _build_details(match: _Match) -> dict[str, Any]:
    rows, covered, is_found = match.release.people, match.covered, match.candidates > 0
    number, people = np.unique(match.candidates[is_found], return_counts=True)
    unknown = {} if match.learns else {"settled": "no sensitive column is published"}
    details: dict[str, Any] = {
        "register": len(match.people),
        "asked": len(match.people),
        "absent": int((~is_found).sum()),
        "candidates": dict(zip(number.tolist(), people.tolist(), strict=True)),
        "unique_matches": int((match.candidates == 1).sum()),
        "certain": int(match.certain.sum()),
        "k_map": int(covered.min()),
        "null_map": _count_marked(rows, covered == 0),
        "prosecutor": match.picking.summary,
        "journalist": {
            "highest": float(np.minimum(1, rows[covered > 0] / covered[covered > 0]).max())
        },
    }
    if match.learns:
        details["settled"] = int(match.settled.sum())
    if match.release.person is not None:
        details["counted"] = {"people": match.release.persons, "rows": len(match.release.class_)}
    if match.true_class is None or match.right is None:
        unknown["wrong_map"] = "which row is truly whose is not known"
    else:
        details |= _score_by_truth(match, match.true_class, match.right)
    if match.learns and match.people.values is not None:
        details |= _count_right_values(match, match.people.values)
    return details | ({"not_known": unknown} if unknown else {})


def _score_by_truth(
    match: _Match, true_class: NDArray[Any], right: NDArray[np.bool_]
) -> dict[str, Any]:
    """What only who knows the truth can say: rows that fit people but never the true ones."""
    reached = np.bincount(true_class[right], minlength=len(match.covered)) > 0
    scored = {
        "wrong_map": _count_marked(match.release.rows, (match.covered > 0) & ~reached),
        "located_right": int(right.sum()),
        "certain_right": int((match.certain & right).sum()),
    }
    if match.view.sensitive is None or not match.learns:
        return scored
    values = match.release.histogram(match.view.sensitive)
    is_uniform = values.largest(values.count) == values.rows
    return scored | {"settled_assumed": int(is_uniform[true_class[true_class >= 0]].sum())}


def _count_right_values(match: _Match, truth: NDArray[Any]) -> dict[str, int]:
    true = truth[match.settled]
    right = match.agreed_value[match.settled] == true
    return {"settled_right": int(right.sum()), "settled_known": int((true != UNKNOWN).sum())}


def _count_marked(rows: NDArray[Any], marked: NDArray[np.bool_]) -> dict[str, int]:
    return {"classes": int(marked.sum()), "rows": int(rows[marked].sum())}


def _describe(match: _Match, exposed: int) -> str:
    people_found = int((match.candidates > 0).sum())
    if not exposed:
        return (
            f"None of the {people_found:,} people who could be in the release is matched to a "
            "row; the "
            f"easiest to find fits {match.candidates[match.candidates > 0].min():,} "
            f"{match.release.unit}{_describe_ending(match)}."
        )
    whose = "row each" if match.release.person is None else "person's rows each, some of them"
    text = (
        f"{match.certain.sum():,} of {people_found:,} people who could be in the release fit "
        f"one {whose} "
        "that nobody else fits"
    )
    if match.view.sensitive is None or not match.learns:
        return f"{text}: these rows have names{_describe_ending(match)}."
    settled, name = match.settled.sum(), match.view.sensitive.name
    if match.certain.any():
        agreed = f"{text}; for {settled:,}, these among them, all rows that fit agree on {name}"
    else:
        agreed = (
            f"For {settled:,} of {people_found:,} people who could be in the release all rows "
            "that fit "
            f"agree on {name}; nobody fits a row alone"
        )
    return f"{agreed}{_describe_ending(match)}."


def _describe_ending(match: _Match) -> str:
    absent, picked = int((match.candidates == 0).sum()), match.picking.sentence
    if not absent:
        return picked
    text = f"{picked}; {absent:,} of the {len(match.people):,} people asked for fit no row"
    return f"{text} ({MEANS})" if match.looks_averaged else text


def _describe_example(match: _Match, i: int) -> str:
    candidates = int(match.candidates[i])
    unit = match.release.unit
    rows = (
        ("one row" if unit == "rows" else "one person")
        if candidates == 1
        else f"{candidates:,} {unit}"
    )
    parts = [f"Row {match.people.rows[i]:,} of the register fits {rows} of the release"]
    effective = float(match.picking.effective_candidates[i])
    if match.picking.adversary == WEIGHED and effective < candidates:
        parts.append(f"one of the narrowest class is theirs with a chance of 1 in {effective:.3g}")
    if match.certain[i]:
        parts.append("nobody else of the register fits that row")
    if match.settled[i] and match.view.sensitive is not None:
        value = f": {_name_value(match, i)}" if match.view.show else ""
        agree = "it gives" if candidates == 1 else "all of them agree on"
        parts.append(f"{agree} {match.view.sensitive.name}{value}")
    return "; ".join(parts) + "."


def _name_value(match: _Match, i: int) -> str:
    return match.view.format_sensitive(int(match.agreed_value[i]))


def _build_witness(match: _Match, i: int) -> dict[str, Any]:
    classes = match.fitting(i)
    rows = np.flatnonzero(np.isin(match.release.class_, classes))[:WORST_LISTED] + 1
    value = {"value": _name_value(match, i)} if match.view.show and match.settled[i] else {}
    labels = show_labels(match.view, int(classes[0])) if len(classes) == 1 else {}
    return {
        "row": int(match.people.rows[i]),
        "classes": classes[:WORST_LISTED].tolist(),
        "candidates": int(match.candidates[i]),
        "release_rows": rows.tolist(),
        "covered": match.covered[classes[:WORST_LISTED]].tolist(),
        **value,
        **labels,
    }
