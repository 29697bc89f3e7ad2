"""What a finding rests on besides its attack's own assumptions: said with it, never left out.

A label that nobody has may be a group of values; a column that the people's table lacks cannot be
looked up by; an empty cell in a table of others is taken for suppressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shoal.adversary.context import AttackContext
from shoal.core.column import join_column_names
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import View
from shoal.releases.manifest import BUCKET
from shoal.releases.published_table import PublishedTable

Caveat = tuple[str, dict[str, Any], list[str]]
"""The key in the finding's details, what stands there, and the same in words."""


def add_caveats(finding: Finding, context: AttackContext, view: View) -> Finding:
    """The finding, and what it rests on."""
    names = {release.name for release in view.releases}
    releases = [release for release in context.releases if release.name in names]
    for key, numbers, words in (
        _note_columns_used(releases, view),
        _note_unmatched_labels(context, view, names),
        _note_unknown_columns(releases, view),
        _note_empty_cells(releases, view),
        _note_missing_person_column(releases),
    ):
        if numbers:
            details = {**finding.details, key: numbers}
            finding = replace(finding, details=details, assumptions=(*finding.assumptions, *words))
    return finding


def add_insider(finding: Finding, view: View, insider: Finding, wider: View) -> Finding:
    """The finding, and what who knows the people's other sensitive values too would find."""
    used = {axis.name for axis in view.axes}
    more = [axis.name for axis in wider.axes if axis.name not in used]
    if insider.exposed <= finding.exposed:
        return finding
    numbers = {
        "columns": more,
        "people": insider.people,
        "exposed": insider.exposed,
        "sure": insider.sure,
    }
    sentence = (
        f"{finding.sentence.rstrip('.')}; {insider.exposed:,} of {insider.people:,} people for "
        "who knows "
        f"{join_column_names(more)} of them too."
    )
    words = (
        f"{join_column_names(more)} of the people's table is there to score attacks by: the "
        "adversary does not know it"
    )
    return replace(
        finding,
        sentence=sentence,
        details={**finding.details, "knowing_more": numbers},
        assumptions=(*finding.assumptions, words),
    )


def _note_columns_used(releases: list[PublishedTable], view: View) -> Caveat:
    if view.people is None:
        return "placed_by", {}, []
    names = [axis.name for axis in view.axes if axis.name != BUCKET]
    quasi = {name for release in releases for name in release.quasi}
    others = [name for name in names if name not in quasi]
    words = f"people are looked up by {join_column_names(names)}"
    words += (
        f", of which the releases publish {join_column_names(others)} as it is" if others else ""
    )
    return "placed_by", {"columns": names}, [words]


def _note_unmatched_labels(context: AttackContext, view: View, names: set[str]) -> Caveat:
    count: dict[str, dict[str, int]] = {}
    for release, odd in zip(context.releases, context.unmatched, strict=True):
        for axis in view.axes:
            if release.name in names and axis.name in odd:
                here = count.setdefault(axis.name, {"labels": 0, "rows": 0})
                here["labels"] += odd[axis.name][0]
                here["rows"] += odd[axis.name][1]
    words = [
        f"In column {name!r} {here['labels']:,} labels ({here['rows']:,} rows) are values that "
        f"{context.describe_unmatched(name)}; if they are groups, give the hierarchy they were "
        "made with."
        for name, here in count.items()
    ]
    return "unmatched_labels", count, words


def _note_unknown_columns(releases: list[PublishedTable], view: View) -> Caveat:
    used = {axis.name for axis in view.axes}
    missing = dict.fromkeys(
        name for release in releases for name in release.quasi if name not in used
    )
    words = f"the adversary does not know {', '.join(missing)}: the people's table lacks it"
    return "not_looked_up", {"columns": list(missing)} if missing else {}, [words]


def _note_empty_cells(releases: list[PublishedTable], view: View) -> Caveat:
    count = dict(_count_empty_cells(releases, view))
    total = sum(count.values())
    words = f"{total:,} empty cells in tables of others are suppressed: anything is possible there"
    return "empty_cells", count, [words]


def _note_missing_person_column(releases: list[PublishedTable]) -> Caveat:
    lacking = {
        release.name: release.rows
        for release in releases
        if release.manifest is None
        and release.roles.person is not None
        and release.person_column is None
    }
    words = (
        "each row is taken for a person: whose rows are whose is not evaluated, for the person "
        f"column is not in {join_column_names(list(lacking))}"
    )
    return "rows_of_unknown_people", lacking, [words]


def _count_empty_cells(releases: list[PublishedTable], view: View) -> Iterator[tuple[str, int]]:
    names = [axis.name for axis in view.axes]
    for release in releases:
        for name in (n for n in release.quasi if release.manifest is None and n in names):
            listing = release.listings[name]
            if None in listing.values:
                yield (
                    f"{release.name}: {name}",
                    int((listing.codes == len(listing.values) - 1).sum()),
                )
