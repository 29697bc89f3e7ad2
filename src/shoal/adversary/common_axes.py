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
from numpy.typing import NDArray

from shoal.adversary.targets import PeopleTable
from shoal.core.axis import Axis
from shoal.core.cells import Bits, ranges_to_sets
from shoal.core.column import DEFAULT_HIERARCHIES, Column
from shoal.core.errors import InputError, UsageError
from shoal.core.hierarchy import Ordered, Tree
from shoal.core.label_parser import (
    Between,
    Everything,
    LabelMeaning,
    Masked,
    Span,
    ValueSet,
    infer_label_kind,
    parse_label,
    value_at,
)
from shoal.core.labels import ROOT, format_value, restore_cell
from shoal.core.missing_marks import NULL_MARKS, is_empty_label
from shoal.kernels import box_tree
from shoal.releases.label_examples import (
    is_allowed_value,
    list_named_values,
    pick_values_inside,
    read_meanings,
    respell_labels,
)
from shoal.releases.published_table import PublishedTable
from shoal.releases.recount import Spelling
from shoal.releases.row_listing import Listing

_WORD_KINDS = frozenset({"category", "code", "text"})
_MISSING_MARKS = frozenset({*NULL_MARKS, "", "-", "--", "."})


@dataclass(frozen=True)
class LabelReading:
    """How the labels of one release are read: by column."""

    axes: Mapping[str, Axis]
    spellings: Mapping[str, Spelling]
    unmatched: Mapping[str, tuple[int, int]]
    """How many labels, in how many rows, are words that may be groups."""


def build_common_axes(
    releases: Sequence[PublishedTable], people_tables: Sequence[PeopleTable]
) -> list[LabelReading]:
    """For each release how its quasi-identifiers are read; axes are alike but for their labels."""
    names = dict.fromkeys(name for release in releases for name in release.quasi)
    columns = {name: _ColumnLabels(name, releases, people_tables) for name in names}
    spellings = [
        {n: columns[n].spellings[i] for n in release.quasi} for i, release in enumerate(releases)
    ]
    unmatched = [
        {n: columns[n].unmatched(i) for n in release.quasi} for i, release in enumerate(releases)
    ]
    grown = {name: _grow_axes(labels.columns, labels.values()) for name, labels in columns.items()}
    return [
        LabelReading(
            {name: grown[name][i] for name in release.quasi},
            spellings[i],
            {name: counts for name, counts in unmatched[i].items() if counts[0]},
        )
        for i, release in enumerate(releases)
    ]


class _ColumnLabels:
    """One quasi-identifier: its labels in each release (none where it is not published)."""

    def __init__(
        self, name: str, releases: Sequence[PublishedTable], people_tables: Sequence[PeopleTable]
    ) -> None:
        self.name, self.releases = name, releases
        self.columns = _settle_columns(name, releases, people_tables)
        words = [
            release.listings[name].words() if name in release.quasi else [] for release in releases
        ]
        self.null = any(None in release_words for release_words in words)
        self.labels = [
            [word for word in release_words if word is not None] for release_words in words
        ]
        self.is_ours = [release.manifest is not None for release in releases]
        people_values = [
            self._split_people_values(table) for table in people_tables if name in table.listings
        ]
        self.people_values = dict.fromkeys(
            v for values, _ in people_values for v in values if v is not None
        )
        domains = (value for column in self.columns for value in column.listed_values or ())
        self.known = dict.fromkeys((*(v for values, _ in people_values for v in values), *domains))
        self.register_labels = list(
            dict.fromkeys(label for _, labels in people_values for label in labels)
        )
        """Ranges and groups in which people's values are known to be."""

    def _split_people_values(self, table: PeopleTable) -> tuple[list[Any], list[str]]:
        """People's values, and the ranges and groups that their table has in place of some."""
        values = table.listings[self.name].values
        if not table.is_register:
            return list(values), []
        return split_labels(values, self.columns, self._certain_values)

    @cached_property
    def _certain_values(self) -> set[str]:
        """Texts that are values for certain: listed in the schema, or named by a release.

        A word that a table of others has too is a value, whatever it may mean alone, unless it is
        a mark that stands for none.
        """
        listed = [value for column in self.columns for value in column.listed_values or ()]
        trees = [c.hierarchy for c in self.columns if isinstance(c.hierarchy, Tree)]
        leaves = [row[0] for tree in trees for row in tree.rows]
        named = (
            value
            for i, column in enumerate(self.columns)
            for value in list_named_values(
                read_meanings(self.labels[i], column, self.is_ours[i], {}), column
            )
        )
        shared_words = (
            word
            for words in self.labels
            for word in words
            if word[:1] != "{" and word not in _MISSING_MARKS
        )
        return {
            format_value(value)
            for value in (*listed, *leaves, *named, *shared_words)
            if value is not None
        }

    @cached_property
    def spellings(self) -> list[Spelling]:
        all_labels = [label for release_labels in self.labels for label in release_labels]
        return [
            respell_labels(self.labels[i], column.kind, self.known, all_labels)
            if self._may_be_groups(i)
            else {}
            for i, column in enumerate(self.columns)
        ]

    def _may_be_groups(self, i: int) -> bool:
        """Whether nobody says what the labels are: neither Shoal's own, nor a taxonomy's."""
        return not self.is_ours[i] and not isinstance(self.columns[i].hierarchy, Tree)

    def unmatched(self, i: int) -> tuple[int, int]:
        """How many labels are words that may be groups, and in how many rows.

        Where nothing is known of people, these are words that no other release has.
        """
        if not self._may_be_groups(i) or self.name in self.releases[i].single_valued:
            return 0, 0
        labels_and_kind = self.labels[i], self.columns[i].kind
        unmatched_words = find_unmatched_words(
            *labels_and_kind, self.known or self._list_values_of_others(i), self.spellings[i]
        )
        listing = self.releases[i].listings[self.name]
        is_unmatched = np.array([word in unmatched_words for word in listing.words()], np.bool_)
        rows = int(is_unmatched[listing.codes].sum())
        is_most = bool(unmatched_words) and 2 * rows >= self.releases[i].rows
        if (
            is_most
            and self.people_values
            and has_uncovered_value(*labels_and_kind, self.people_values, self.spellings[i])
        ):
            raise _groups_error(self.name, self.releases[i].name, len(unmatched_words), rows)
        return len(unmatched_words), rows

    def _list_values_of_others(self, i: int) -> list[str]:
        """The values that other releases name; none where one has ranges, which name only ends."""
        kind = self.columns[i].kind
        others = [
            (j, label)
            for j, release_labels in enumerate(self.labels)
            if j != i
            for label in release_labels
        ]
        if any(isinstance(parse_label(label, kind), Masked | Span) for _, label in others):
            return []
        named = [
            value for j, label in others for value in _list_members(label, kind, self.spellings[j])
        ]
        return [value for value in named if value is not None]

    def values(self) -> list[Any]:
        """What people have, what labels name, and what these have in common."""
        values = dict(self.known) | ({None: None} if self.null else {})
        meanings: list[LabelMeaning | None] = []
        for i, column in enumerate(self.columns):
            read_labels = read_meanings(self.labels[i], column, self.is_ours[i], self.spellings[i])
            values |= dict.fromkeys(list_named_values(read_labels, column))
            meanings += read_labels
        register_meanings = read_meanings(self.register_labels, self.columns[0], False, {})
        values |= dict.fromkeys(list_named_values(register_meanings, self.columns[0]))
        meanings += register_meanings
        points = pick_values_inside(meanings, self.columns[0], values)
        return [
            *values,
            *(
                point
                for point in points
                if all(is_allowed_value(point, column) for column in self.columns)
            ),
        ]


def split_labels(
    values: Iterable[Any], columns: Sequence[Column], valued: Collection[str]
) -> tuple[list[Any], list[str]]:
    """What an adversary's column says: values, and texts that stand for several of them.

    ``valued`` are texts that are values for certain. A text that says nothing (``*``, ``?``) is
    neither: the value may be any.

    >>> split_labels([34.0, "30-39", "*", "41"], [Column("age", "quasi", "number")], [])
    ([34.0, 41.0], ['30-39'])
    >>> zips = [Column("zip", "quasi", "code")]
    >>> split_labels(["13053", "130**", "unknown"], zips, [])
    (['13053'], ['130**'])
    """
    points: list[Any] = []
    labels: list[str] = []
    unread = 0
    for value in values:
        if not isinstance(value, str):
            points.append(value)
            continue
        if any(_is_node(value, column) for column in columns):
            labels.append(value)
            continue
        meaning = _read_meaning(restore_cell(value), columns, valued)
        if isinstance(meaning, Everything):
            continue
        if meaning is None:
            unread += 1
        elif isinstance(meaning, ValueSet) and len(meaning.texts) == 1:
            points.append(value)
        elif isinstance(meaning, Between) and meaning.low == meaning.high:
            points.append(value_at(meaning.low, columns[0].kind))
        else:
            labels.append(value)
    if unread:
        raise InputError(
            f"{_describe_unread(unread, columns[0])}.",
            "correct them, or leave them empty where they are not known.",
        )
    return points, labels


def _describe_unread(number: int, column: Column) -> str:
    where = f"of column {column.name!r} in the people's table"
    if number == 1:
        return f"1 value {where} is neither a {column.kind} nor a range of {column.kind}s"
    return f"{number:,} values {where} are neither {column.kind}s nor ranges of them"


def _read_meaning(
    word: str, columns: Sequence[Column], valued: Collection[str]
) -> LabelMeaning | None:
    """What a text in an adversary's column means; None where it must mean something, and does not.

    Among words, what may as well be a value is one.
    """
    kind, value = columns[0].kind, ValueSet((word,))
    if is_empty_label(word) and word not in valued:
        return Everything()
    meaning = parse_label(word, kind)
    if kind in ("number", "date") or isinstance(meaning, Everything):
        return meaning
    if isinstance(meaning, Masked):
        several = meaning.mark == "*" or len(word) > len(meaning.prefix) + 1
        return meaning if several else value  # a code may end in one x
    if isinstance(meaning, Span):
        is_ordered = any(isinstance(column.hierarchy, Ordered) for column in columns)
        return meaning if kind == "code" or is_ordered else value
    if word in valued or not isinstance(meaning, ValueSet) or len(meaning.texts) == 1:
        return value
    if meaning.is_certain or all(
        word_meant is None or word_meant in valued for word_meant in meaning.texts
    ):
        return meaning
    return value


def _is_node(word: str, column: Column) -> bool:
    rows = column.hierarchy.rows if isinstance(column.hierarchy, Tree) else ()
    return any(word in row[1:] for row in rows) and all(word != row[0] for row in rows)


@dataclass(frozen=True)
class KnownCells:
    """What an adversary knows of a column, for each of its distinct cells: codes of an axis."""

    axis: Axis
    code: NDArray[np.int32]
    """The code of a value, null's for an empty cell; -1 for several, and for none of the axis."""
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    """The first and the last code that the cell may be; 0..-1 where it can be none."""
    labels: Mapping[int, str]
    """The cells that are labels, by their numbers."""

    @property
    def is_certain(self) -> bool:
        """Whether every cell is a single value, or none."""
        return bool((self.low >= self.high).all())

    def sets(self) -> Bits:
        """The same as sets of codes."""
        bits = ranges_to_sets(self.axis, self.low, self.high)
        if self.labels:
            bits[list(self.labels)] = self.axis.parse_sets(list(self.labels.values()))[0]
        return bits


def read_known_cells(
    values: Sequence[Any], axis: Axis, *, register: bool, blank_is_value: bool = False
) -> KnownCells:
    """The cells of a column of people on an axis that was grown from them.

    In a register an empty cell is not known, and may be any value, unless it is one of its own.

    >>> age = Axis("age", "number", "ordered", (20.0, 30.0, 40.0))
    >>> cells = read_known_cells([30.0, "20-35", None], age, register=True)
    >>> cells.low.tolist(), cells.high.tolist(), cells.code.tolist()
    ([1, 0, 0], [1, 1, 2], [1, -1, -1])
    """
    words = axis.kind not in ("number", "date")
    code = axis.codes([v if words or not isinstance(v, str) else None for v in values])
    low, high = np.where(code < 0, 0, code).astype(np.int32), code.copy()
    labels: dict[int, str] = {}
    if register:
        for place, value in enumerate(values):
            if isinstance(value, str) and (not words or code[place] < 0):
                labels[place] = ROOT if is_empty_label(value) else restore_cell(value)
        blank = np.flatnonzero([value is None for value in values])
        label_places = list(labels)
        low[label_places], high[label_places] = _find_ends(list(labels.values()), axis)
        if not blank_is_value:
            low[blank], high[blank] = 0, axis.size - 1
        code[label_places] = np.where(
            low[label_places] == high[label_places], low[label_places], -1
        )
    return KnownCells(axis, code, low, high, labels)


def _find_ends(texts: Sequence[str], axis: Axis) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The first and the last code that texts may mean.

    A range that holds no value of the axis, as one out of bounds, is 0..-1.
    """
    low, high = box_tree.find_set_ends(axis.parse_sets(texts)[0])
    if axis.shape != "flat":  # the groups of a taxonomy are ranges
        first, last, readable = axis.parse(texts)
        low, high = np.where(readable, first, low), np.where(readable, last, high)
    return low, high


def _groups_error(name: str, release: str, labels: int, rows: int) -> InputError:
    return InputError(
        f"{release}: Column {name!r} has {labels:,} labels ({rows:,} rows) that are no value of "
        "the people, and people's values are under none of its labels.",
        "give the hierarchy the labels were made with, or the domain if they are values, in the "
        "schema.",
    )


def find_unmatched_words(
    labels: Iterable[str], kind: str, known: Collection[Any], spelling: Spelling
) -> frozenset[str]:
    """Words among the labels that may be groups: no known value, nor written like a known code.

    >>> sorted(find_unmatched_words(["Europe", "Italy", "*", "any"], "category", ["Italy"], {}))
    ['Europe']
    >>> sorted(find_unmatched_words(["130", "14850"], "code", ["13053"], {}))
    ['130']
    """
    words = {format_value(value) for value in known if value is not None}
    if kind in ("number", "date") or not words:
        return frozenset()
    shapes = {_digit_pattern(word) for word in words if _has_digit(word)}
    unmatched = set()
    for label in labels:
        if label in words or is_empty_label(label):
            continue
        members = [member for member in _list_members(label, kind, spelling) if member is not None]
        if any(member not in words and _digit_pattern(member) not in shapes for member in members):
            unmatched.add(label)
    return frozenset(unmatched)


def has_uncovered_value(
    labels: Iterable[str], kind: str, known: Collection[Any], spelling: Spelling
) -> bool:
    """Whether some known word lies under no label but ``*``.

    >>> has_uncovered_value(["Europe", "Japan", "*"], "category", ["Italy", "Japan"], {})
    True
    """
    words = sorted({format_value(value) for value in known if value is not None})
    under: set[str | None] = set()
    for label in labels:
        meaning = parse_label(spelling.get(label, label) or "", kind)
        if isinstance(meaning, Masked | Span):
            under.update(words[at] for at in meaning.among(words))
        under.update(_list_members(label, kind, spelling))
    return not under.issuperset(words)


def _list_members(label: str, kind: str, spelling: Spelling) -> tuple[str | None, ...]:
    meaning = parse_label(spelling.get(label, label) or "*", kind)
    return meaning.texts if isinstance(meaning, ValueSet) else ()


def _digit_pattern(word: str) -> str:
    """How a code is written, digit by digit; a word without digits is as it is."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", word)) if _has_digit(word) else word


def _has_digit(word: str) -> bool:
    return any(character.isdecimal() for character in word)


def _settle_columns(
    name: str, releases: Sequence[PublishedTable], people_tables: Sequence[PeopleTable]
) -> list[Column]:
    """The column as each release has it, with one kind for all and a hierarchy where one has."""
    stated = [
        release.schema.column(name) if name in release.quasi else None for release in releases
    ]
    stated_columns = [column for column in stated if column is not None]
    kind = _settle_kind(name, stated_columns, releases, people_tables)
    hierarchy = next(
        (column.hierarchy for column in stated_columns if column.hierarchy),
        DEFAULT_HIERARCHIES[kind],
    )
    return [
        replace(
            column or stated_columns[0],
            kind=kind,
            hierarchy=(column or stated_columns[0]).hierarchy or hierarchy,
        )
        for column in stated
    ]


def _settle_kind(
    name: str,
    stated: Sequence[Column],
    releases: Sequence[PublishedTable],
    people_tables: Sequence[PeopleTable],
) -> str:
    """What the schema says, else how the people's table is read, else what the labels read as."""
    kinds = list(dict.fromkeys(column.kind for column in stated if column.kind))
    if len(kinds) > 1:
        raise UsageError(
            f"Column {name!r} is a {kinds[0]} in one release and a {kinds[1]} in another.",
            "give it one kind in all schemas.",
        )
    kinds_read = [
        table.kinds[name]
        for table in people_tables
        if name in table.listings and not (table.is_register and _is_silent(table.listings[name]))
    ]
    labels = [release.listings[name].words() for release in releases if name in release.quasi]
    kind = next(iter(kinds), None) or _infer_kind_by_ranges(name, labels, people_tables)
    kind = kind or next(iter(kinds_read), None) or _infer_kind(labels)
    kind = "category" if kind == "text" else kind
    kinds_checked = [
        table.kinds[name]
        for table in people_tables
        if name in table.listings and not (table.is_register and table.kinds[name] in _WORD_KINDS)
    ]
    if any(other != kind and not {other, kind} <= _WORD_KINDS for other in kinds_checked):
        raise InputError(
            f"Column {name!r} is read as a {kind}, and people's values in it are of another kind.",
            "state its kind in the schema, or correct the values.",
        )
    return kind


def _is_silent(listing: Listing) -> bool:
    return all(
        word is None or is_empty_label(word) or not word.strip("*") for word in listing.words()
    )


def _infer_kind_by_ranges(
    name: str, labels: Sequence[Sequence[str | None]], people_tables: Sequence[PeopleTable]
) -> str | None:
    """The kind of which an adversary's words are values or ranges; None where they are just words.

    Words that the releases have too are the same words there, if all can be words.
    """
    register_words = [
        word
        for table in people_tables
        if table.is_register and table.kinds.get(name) in ("category", "text")
        for word in (table.listings[name].words() if name in table.listings else ())
    ]
    if not register_words:
        return None
    published = [word for words in labels for word in words]
    kind = infer_label_kind([*register_words, *published])
    can_be_words = all(word is None or parse_label(word, "category") for word in published)
    are_same_words = kind != "code" and can_be_words and set(register_words) <= {*published, None}
    return None if kind == "category" or (are_same_words and {*register_words} - {None}) else kind


def _infer_kind(labels: Sequence[Sequence[str | None]]) -> str:
    """The kind of all labels; where one release's make it words, that of the others."""
    together = infer_label_kind([word for words in labels for word in words])
    by_release = (infer_label_kind(words) for words in labels)
    return next((kind for kind in (together, *by_release) if kind != "category"), "category")


def _grow_axes(columns: Sequence[Column], values: Sequence[Any]) -> list[Axis]:
    axes: list[Axis] = []
    for i, column in enumerate(columns):
        same = next((j for j in range(i) if columns[j] == column), None)
        axes.append(_grow_axis(column, values) if same is None else axes[same])
        if axes[i].leaves != axes[0].leaves:
            raise UsageError(
                f"The hierarchies of column {column.name!r} order its values differently.",
                "give the releases' schemas the same leaves in the same order.",
            )
    return axes


def _grow_axis(column: Column, values: Sequence[Any]) -> Axis:
    assert column.hierarchy is not None
    present = [value for value in values if value is not None]
    # Where every label is `*` and nobody's value is known, null stands for whatever it may be.
    null = len(present) < len(values) or not present
    return column.hierarchy.grow(column.name, column.kind, present, None, null, column.bounds)


def build_value_axis(column: Column, kind: str, values: Sequence[Any]) -> Axis:
    """The axis of a column that is published as it is, by the schema's hierarchy where it fits."""
    hierarchy = column.hierarchy if column.kind in ("", kind) else None
    if isinstance(hierarchy, Tree):  # a release names only the leaves that it has itself
        leaves = {row[0] for row in hierarchy.rows}
        hierarchy = (
            hierarchy if leaves >= {format_value(v) for v in values if v is not None} else None
        )
    settled = replace(
        column, kind=kind, hierarchy=hierarchy or DEFAULT_HIERARCHIES[kind], bounds=None
    )
    axis = _grow_axis(settled, list(dict.fromkeys(values)))
    return replace(axis, unknown=axis.null and column.blanks_are_unknown)
