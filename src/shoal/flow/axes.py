"""The axes on which an adversary compares: one for each quasi-identifier, for all releases.

An axis grows from the people's values and from values that the releases' labels cover. Releases
that were made with different hierarchies are read each by its own; their leaves must be the same.
A word that none of the people has may be a value of others, or a group that hides them: it is
counted, and refused where it is likely a group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.axis import Axis
from shoal.column import DEFAULTS, Column
from shoal.errors import InputError, UsageError
from shoal.flow.crowd import Crowd
from shoal.flow.examples import allowed, inside, meanings, named, respelt
from shoal.flow.recount import Spelling
from shoal.flow.seen import Seen
from shoal.hierarchy import Tree
from shoal.labels import text
from shoal.meaning import Masked, Meaning, Members, Span, kind_of, read, says_nothing

_WORDS = frozenset({"category", "code", "text"})


@dataclass(frozen=True)
class Reading:
    """How the labels of one release are read: by column."""

    axes: Mapping[str, Axis]
    spellings: Mapping[str, Spelling]
    unmatched: Mapping[str, tuple[int, int]]
    """How many labels, in how many rows, are words that may be groups."""


def common_axes(seen: Sequence[Seen], crowds: Sequence[Crowd]) -> list[Reading]:
    """For each release how its quasi-identifiers are read; axes are alike but for their labels."""
    names = dict.fromkeys(name for one in seen for name in one.quasi)
    columns = {name: _Labels(name, seen, crowds) for name in names}
    spellings = [{n: columns[n].spellings[i] for n in one.quasi} for i, one in enumerate(seen)]
    unmatched = [{n: columns[n].unmatched(i) for n in one.quasi} for i, one in enumerate(seen)]
    grown = {name: _grown(one.columns, one.values()) for name, one in columns.items()}
    return [
        Reading(
            {name: grown[name][i] for name in one.quasi},
            spellings[i],
            {name: counts for name, counts in unmatched[i].items() if counts[0]},
        )
        for i, one in enumerate(seen)
    ]


class _Labels:
    """One quasi-identifier: its labels in each release (none where it is not published)."""

    def __init__(self, name: str, seen: Sequence[Seen], crowds: Sequence[Crowd]) -> None:
        self.name, self.seen = name, seen
        self.columns = _settled(name, seen, crowds)
        listings = [crowd.listings[name] for crowd in crowds if name in crowd.listings]
        self.people = dict.fromkeys(v for one in listings for v in one.values if v is not None)
        domains = (value for column in self.columns for value in column.listed or ())
        self.known = dict.fromkeys((*(v for one in listings for v in one.values), *domains))
        words = [one.listings[name].words() if name in one.quasi else [] for one in seen]
        self.null = any(None in some for some in words)
        self.labels = [[word for word in some if word is not None] for some in words]
        self.own = [one.manifest is not None for one in seen]

    @cached_property
    def spellings(self) -> list[Spelling]:
        """For each release the labels that the column decides about."""
        every = [label for some in self.labels for label in some]
        return [
            respelt(self.labels[i], column.kind, self.known, every) if self._open(i) else {}
            for i, column in enumerate(self.columns)
        ]

    def _open(self, i: int) -> bool:
        """Whether nobody says what the labels are: neither Shoal's own, nor a taxonomy's."""
        return not self.own[i] and not isinstance(self.columns[i].hierarchy, Tree)

    def unmatched(self, i: int) -> tuple[int, int]:
        """How many labels are words that may be groups, and in how many rows.

        Where nothing is known of people, these are words that no other release has.
        """
        if not self._open(i):
            return 0, 0
        asked = self.labels[i], self.columns[i].kind
        odd = strange(*asked, self.known or self._named_beside(i), self.spellings[i])
        listing = self.seen[i].listings[self.name]
        found = np.array([word in odd for word in listing.words()], np.bool_)
        rows = int(found[listing.codes].sum())
        many = bool(odd) and 2 * rows >= self.seen[i].rows
        if many and self.people and beyond(*asked, self.people, self.spellings[i]):
            raise _groups(self.name, self.seen[i].name, len(odd), rows)
        return len(odd), rows

    def _named_beside(self, i: int) -> list[str]:
        """The values that other releases name; none where one has ranges, which name only ends."""
        kind = self.columns[i].kind
        others = [(j, label) for j, some in enumerate(self.labels) if j != i for label in some]
        if any(isinstance(read(label, kind), Masked | Span) for _, label in others):
            return []
        named = [one for j, label in others for one in _members(label, kind, self.spellings[j])]
        return [one for one in named if one is not None]

    def values(self) -> list[Any]:
        """What people have, what labels name, and what these have in common."""
        found = dict(self.known) | ({None: None} if self.null else {})
        meant: list[Meaning | None] = []
        for i, column in enumerate(self.columns):
            some = meanings(self.labels[i], column, self.own[i], self.spellings[i])
            found |= dict.fromkeys(named(some, column))
            meant += some
        points = inside(meant, self.columns[0], found)
        return [*found, *(p for p in points if all(allowed(p, one) for one in self.columns))]


def _groups(name: str, release: str, labels: int, rows: int) -> InputError:
    return InputError(
        f"{release}: Column {name!r} has {labels:,} labels ({rows:,} rows) that are no value of "
        "the people, and people's values are under none of its labels.",
        "give the hierarchy the labels were made with, or the domain if they are values, in the "
        "schema.",
    )


def strange(
    labels: Iterable[str], kind: str, known: Collection[Any], spelling: Spelling
) -> frozenset[str]:
    """Words among the labels that may be groups: no known value, nor written like a known code.

    >>> sorted(strange(["Europe", "Italy", "*", "any"], "category", ["Italy"], {}))
    ['Europe']
    >>> sorted(strange(["130", "14850"], "code", ["13053"], {}))
    ['130']
    """
    words = {text(value) for value in known if value is not None}
    if kind in ("number", "date") or not words:
        return frozenset()
    shapes = {_shape(word) for word in words if _digits(word)}
    found = set()
    for label in labels:
        if label in words or says_nothing(label):
            continue
        said = [one for one in _members(label, kind, spelling) if one is not None]
        if any(one not in words and _shape(one) not in shapes for one in said):
            found.add(label)
    return frozenset(found)


def beyond(labels: Iterable[str], kind: str, known: Collection[Any], spelling: Spelling) -> bool:
    """Whether some known word lies under no label but ``*``.

    >>> beyond(["Europe", "Japan", "*"], "category", ["Italy", "Japan"], {})
    True
    """
    words = sorted({text(value) for value in known if value is not None})
    under: set[str | None] = set()
    for label in labels:
        meaning = read(spelling.get(label, label) or "", kind)
        if isinstance(meaning, Masked | Span):
            under.update(words[at] for at in meaning.among(words))
        under.update(_members(label, kind, spelling))
    return not under.issuperset(words)


def _members(label: str, kind: str, spelling: Spelling) -> tuple[str | None, ...]:
    """The values that a label lists; none where it is a range, or cannot be read."""
    meaning = read(spelling.get(label, label) or "*", kind)
    return meaning.texts if isinstance(meaning, Members) else ()


def _shape(word: str) -> str:
    """How a code is written, digit by digit; a word without digits is as it is."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", word)) if _digits(word) else word


def _digits(word: str) -> bool:
    return any(one.isdecimal() for one in word)


def _settled(name: str, seen: Sequence[Seen], crowds: Sequence[Crowd]) -> list[Column]:
    """The column as each release has it, with one kind for all and a hierarchy where one has."""
    stated = [one.schema.column(name) if name in one.quasi else None for one in seen]
    there = [column for column in stated if column is not None]
    kind = _kind(name, there, seen, crowds)
    lent = next((column.hierarchy for column in there if column.hierarchy), DEFAULTS[kind])
    return [
        replace(column or there[0], kind=kind, hierarchy=(column or there[0]).hierarchy or lent)
        for column in stated
    ]


def _kind(
    name: str, stated: Sequence[Column], seen: Sequence[Seen], crowds: Sequence[Crowd]
) -> str:
    """What the schema says, else how the people's table is read, else what the labels read as."""
    kinds = list(dict.fromkeys(column.kind for column in stated if column.kind))
    if len(kinds) > 1:
        raise UsageError(
            f"Column {name!r} is a {kinds[0]} in one release and a {kinds[1]} in another.",
            "give it one kind in all schemas.",
        )
    read = [crowd.kinds[name] for crowd in crowds if name in crowd.listings]
    labels = [one.listings[name].words() for one in seen if name in one.quasi]
    kind = next(iter((*kinds, *read)), None) or _kind_of(labels)
    kind = "category" if kind == "text" else kind
    if any(other != kind and not {other, kind} <= _WORDS for other in read):
        raise InputError(
            f"Column {name!r} is read as a {kind}, and people's values in it are of another kind.",
            "state its kind in the schema, or correct the values.",
        )
    return kind


def _kind_of(labels: Sequence[Sequence[str | None]]) -> str:
    """The kind of all labels; where one release's make it words, that of the others."""
    together = kind_of([word for words in labels for word in words])
    apart = (kind_of(words) for words in labels)
    return next((kind for kind in (together, *apart) if kind != "category"), "category")


def _grown(columns: Sequence[Column], values: Sequence[Any]) -> list[Axis]:
    """An axis for each of the columns; the same one where they generalise alike."""
    axes: list[Axis] = []
    for i, column in enumerate(columns):
        same = next((j for j in range(i) if columns[j] == column), None)
        axes.append(_grow(column, values) if same is None else axes[same])
        if axes[i].leaves != axes[0].leaves:
            raise UsageError(
                f"The hierarchies of column {column.name!r} order its values differently.",
                "give the releases' schemas the same leaves in the same order.",
            )
    return axes


def _grow(column: Column, values: Sequence[Any]) -> Axis:
    assert column.hierarchy is not None
    present = [value for value in values if value is not None]
    # Where every label is `*` and nobody's value is known, null stands for whatever it may be.
    null = len(present) < len(values) or not present
    return column.hierarchy.grow(column.name, column.kind, present, None, null, column.bounds)


def value_axis(column: Column, kind: str, values: Sequence[Any]) -> Axis:
    """The axis of a column that is published as it is, by the schema's hierarchy where it fits."""
    hierarchy = column.hierarchy if column.kind in ("", kind) else None
    if isinstance(hierarchy, Tree):  # a release names only the leaves that it has itself
        leaves = {row[0] for row in hierarchy.rows}
        hierarchy = hierarchy if leaves >= {text(v) for v in values if v is not None} else None
    settled = replace(column, kind=kind, hierarchy=hierarchy or DEFAULTS[kind], bounds=None)
    return _grow(settled, list(dict.fromkeys(values)))
