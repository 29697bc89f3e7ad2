"""Whether the people given are all who are in one of two releases.

Whoever is in both releases is in each. So if everybody in one of them is among the people, what an
intersection finds of the people is all that there is to find; if not, nobody says who else is in
both, and the worst has to be assumed of them too.

Where a release's publisher knows whose its rows are, every row must be of one of the people. Where
nobody does, every class must have as many of the people in its cells as it has rows, and there must
be as many people as rows: that they are those people is then likely, not certain. People of whom a
quasi-identifier is not told cannot be looked for as an adversary would, who may know it.

What a release is to an earlier one: of the same table, of its table over time, or overlapping.

Declared by the publisher; else by lineage, where the manifest says what the release is based on;
else by the data, through the columns that both publish as they are (Sweeney: k-anonymity: a model
for protecting privacy, IJUFKS 10(5), 2002, section 4, joins releases by these):

    same table     both have the same rows there, as often
    over time      the later one has all rows of the earlier there, and more
    overlapping    neither

What the data says is only possible, not proven: few distinct values agree by chance. So the attack
that joins the rows must find a partner with cells that meet for every earlier row, or they are
taken to overlap; and where they are not, they are judged as if they did (``pair_judgement``).
It does not see a table of which rows were removed or changed: say that it is one over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.adversary.context import AttackContext
from shoal.attacks._shared.candidate_classes import group_by_key, locate
from shoal.attacks._shared.row_links import number_shared_values
from shoal.core.errors import InputError, UsageError
from shoal.core.theory.adversary_view import Needs, ReleaseView, View
from shoal.ledger.admission_options import OVERLAP, SAME, TIME
from shoal.ledger.chain.signed_entry import Entry

# What a release is to an earlier one: of the same table, of its table over time, or overlapping.


DECLARED = "declared"
BASED = "its manifest says that it is based on it"
BOTH = (0, 1)
UNRECORDED = 0
"""In the place of an entry's number: what a release is based on, and no entry is of."""
_JOINED = Needs(releases=2, max_releases=2, sensitive=False)


def trace_lineage(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> frozenset[int]:
    """The entries that a release is based on: by its manifest, theirs, and so on."""
    tables = set(_line(manifest, entries))
    return frozenset(entry.number for entry in entries if entry.body.get("table") in tables)


def has_unrecorded_base(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> bool:
    """Whether a release is based, at whatever remove, on one that no entry is of."""
    return not set(_line(manifest, entries)) <= {entry.body.get("table") for entry in entries}


def _line(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> list[str]:
    """The tables that a release is based on, the nearest first; their entries, if any, say on."""
    based = {str(e.body.get("table")): e.body["based_on"] for e in entries if "based_on" in e.body}
    tables: list[str] = []
    named = (manifest or {}).get("based_on")
    while named and named not in tables:
        tables.append(str(named))
        named = based.get(named)
    return tables


def find_relation(known: AttackContext, declared: str, based: bool) -> tuple[str, str]:
    """The relation of the scene's second release to its first, and how that is known."""
    if declared:
        return declared, DECLARED
    try:
        view = known.view(BOTH, _JOINED)
    except (InputError, UsageError):
        return (TIME, BASED) if based else (OVERLAP, "their columns cannot be compared")
    relation, why = _by_data(view)
    if based:
        return relation if relation == SAME else TIME, BASED
    return relation, why


def _by_data(view: View) -> tuple[str, str]:
    first, second = number_shared_values(view)
    if not view.shared:
        return _by_rows(len(first), len(second))
    size = 1 + int(max(first.max(), second.max()))
    before, now = (np.bincount(numbers, minlength=size) for numbers in (first, second))
    names = ", ".join(view.shared)
    if (before == now).all():
        return SAME, f"{names}: the same in both, as often"
    if (before <= now).all():
        return TIME, f"{names}: all that the earlier has is in the later, and more"
    return OVERLAP, f"{names}: not the same in both"


def _by_rows(before: int, now: int) -> tuple[str, str]:
    """Without columns that tell rows: equally many may be the same ones, more may be grown."""
    why = "no column is published as it is by both; rows are"
    if before == now:
        return SAME, f"{why} equally many"
    return (TIME, f"{why} more than before") if before < now else (OVERLAP, f"{why} fewer")


# Whether the people given are all who are in one of two releases.


_LOOKED_UP = Needs(releases=2, max_releases=2, people=True, sensitive=False)


class Coverage(NamedTuple):
    """How far the people given are the people of two releases."""

    is_complete: bool = False
    """Whether everybody in one of the two is among them."""
    people_found: int | None = None
    """How many of them are, or could be, in the second; None where they cannot be looked up."""


def measure_coverage(known: AttackContext) -> Coverage:
    """How far the scene's people are those of its two releases."""
    if known.targets is None:
        return Coverage()
    try:
        view = known.view(BOTH, _LOOKED_UP)
    except (InputError, UsageError):  # the attack that looks them up says why it cannot
        return Coverage()
    every = {name for release in known.releases for name in release.quasi}
    (_, covers_first), (people_found, covers_second) = (
        _count_people(view, release) for release in view.releases
    )
    return Coverage((covers_first or covers_second) and len(view.axes) == len(every), people_found)


def _count_people(view: View, release: ReleaseView) -> tuple[int, bool]:
    """How many of the people a release has, and whether these are all who are in it."""
    assert view.people is not None
    if release.true_class is not None:
        people_found = int((release.true_class >= 0).sum())
        return people_found, people_found == len(release.class_)
    people, key = group_by_key(view.people, view.axes, "honest")
    start, classes = locate(release, view.axes, people)
    twins, several = np.bincount(key, minlength=len(people)), np.diff(start)
    each = np.bincount(classes, np.repeat(twins, several), len(release.cells))
    people_found = int(twins[several > 0].sum())
    whole = people_found >= len(release.class_) and bool((each >= release.rows).all())
    return people_found, whole and not release.centroids  # near a centroid is everybody
