"""The people an adversary looks for: a register or targets, and who of them is in a release.

Any table of people will do. Columns that say who somebody is (person, identifiers) are never used
to attack; they tell whether somebody is listed twice, and with a release's private companion which
of its rows is whose, so that a tester can compare with the truth. One of them is what people are
called where an adversary is said to know something about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core.errors import InputError
from shoal.core.label_parser import with_decimal_points
from shoal.core.schema import Schema
from shoal.engines.one_row import LATEST, RANDOM, OneRow
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations
from shoal.releases.companion import (
    find_rows,
    hash_counterfeit_person,
    hash_missing_person,
    hash_person_values,
    read_people,
)
from shoal.releases.published_table import KeyedPersons, PublishedTable
from shoal.releases.reader import open_partial_frame
from shoal.releases.row_listing import Listing, read_columns


@dataclass(frozen=True)
class PeopleTable:
    """People as their table has them, or some of them."""

    listings: Mapping[str, Listing]
    """The columns that the releases have too."""
    kinds: Mapping[str, str]
    rows: NDArray[np.int64]
    """Each person's row in the table, the first being 1."""
    persons: Listing | None = None
    """Who they are, where the schema's person column is there."""
    names: Listing | None = None
    """What they are called, where one column says so."""
    is_register: bool = False
    """Whether an empty cell is one that the adversary does not know, and a text may be a range;
    in a publisher's own table every cell is a value."""

    def __len__(self) -> int:
        return len(self.rows) if self.person is None else int(self.person.max()) + 1

    @property
    def readable(self) -> dict[str, str]:
        """How another table's columns of these names are read."""
        return {name: kind for name, kind in self.kinds.items() if name in self.listings}

    @cached_property
    def person(self) -> NDArray[np.int64] | None:
        """Whom each row is about, as numbers in the order of their first rows; None where nobody
        is listed several times.
        """
        if self.persons is None or not self.is_register:
            return None
        _, first, number = np.unique(self.persons.codes, return_index=True, return_inverse=True)
        if len(first) == len(self.rows):
            return None
        return np.argsort(np.argsort(first))[number]

    def sample(self, size: int, seed: int) -> PeopleTable:
        """So many of them, drawn by the seed, each with all that is known."""
        rng = np.random.default_rng(seed)
        person = np.arange(len(self.rows)) if self.person is None else self.person
        chosen = np.sort(rng.choice(len(self), size, replace=False))
        rows = np.flatnonzero(np.isin(person, chosen))
        listings = {name: _take_rows(listing, rows) for name, listing in self.listings.items()}
        persons, names = (
            None if listing is None else _take_rows(listing, rows)
            for listing in (self.persons, self.names)
        )
        return replace(self, listings=listings, rows=self.rows[rows], persons=persons, names=names)

    @property
    def name_texts(self) -> tuple[str, ...] | None:
        """Everybody's name as text; empty for who has none."""
        if self.names is None:
            return None
        words = [word or "" for word in self.names.words()]
        return tuple(words[code] for code in self.names.codes.tolist())


def _take_rows(listing: Listing, rows: NDArray[Any]) -> Listing:
    return Listing(listing.values, listing.codes[rows])


def read_people_table(
    source: Any,
    releases: Sequence[PublishedTable],
    kinds: Mapping[str, str],
    reading: Mapping[str, Any] | None = None,
    names: str | None = None,
    register: bool = False,
) -> PeopleTable:
    """Read people: of the releases' columns those that the table has.

    ``kinds`` say how some of them are read. ``names`` is the column that people are called by;
    without it, the only one that says who somebody is. A table that lists somebody twice is an
    error, unless it is a register with a person column: of them several rows are known. People who
    were read before (a ``PeopleTable``) are taken as they are. ``register``: it is what an
    adversary knows, where cells may be empty, ``*`` or ranges.
    """
    if isinstance(source, PeopleTable):
        return source
    schemas = [release.roles for release in releases]
    columns = dict.fromkeys(
        name for release in releases for name in (*release.listings, *release.undeclared)
    )
    person_columns = {
        c.name: c.kind for schema in schemas for c in schema.columns if c.role == "person"
    }
    person_kinds = {name: kind for name, kind in person_columns.items() if kind}
    open_table = _open_with_ranges if register else open_partial_frame
    with open_table(source, kinds={**person_kinds, **kinds}, **(reading or {})) as frame:
        fields = {field.name: field.kind for field in frame.fields}
        known = [name for name in columns if name in fields]
        person = _list_columns_of_role("person", schemas, fields)[:1]
        identifiers = [
            name
            for name in _list_columns_of_role("identifier", schemas, fields)
            if name not in known
        ]
        name_columns = _find_name_columns(names, fields, [*person, *identifiers])
        one_row_rule = _find_one_row_rule(releases, fields) if person else None
        order = [] if one_row_rule is None else [one_row_rule.by]
        listings = read_columns(
            frame, list(dict.fromkeys((*known, *person, *identifiers, *name_columns, *order)))
        )
    if not listings:
        raise InputError(
            "The people's table has none of the releases' columns.",
            "name its columns as the releases do.",
        )
    rows = np.arange(len(next(iter(listings.values())).codes))
    if one_row_rule is not None:
        rows = _pick_row_per_person(
            listings[person[0]], listings[one_row_rule.by], latest=one_row_rule.which == LATEST
        )
        listings = {name: _take_rows(listing, rows) for name, listing in listings.items()}
    if person and register:
        _refuse_unnamed_rows(listings[person[0]], "of the people's table")
    elif person:
        _refuse_repeated_people(person, [listings[person[0]]])
    elif identifiers:  # namesakes are not one person: they live elsewhere, or are of another age
        quasi = [
            name for name in _list_columns_of_role("quasi", schemas, fields) if name in listings
        ]
        _refuse_repeated_people(
            [*identifiers, *quasi], [listings[name] for name in (*identifiers, *quasi)]
        )
    if register:
        decimal = (reading or {}).get("decimal")
        numbers = [name for name in known if kinds.get(name) == "number"]
        listings |= {name: _with_decimal_points(listings[name], decimal) for name in numbers}
    persons, named = (listings[column[0]] if column else None for column in (person, name_columns))
    shared = {name: listings[name] for name in known}
    return PeopleTable(shared, fields, rows + 1, persons, named, register)


def _find_one_row_rule(
    releases: Sequence[PublishedTable], kinds: Mapping[str, str]
) -> OneRow | None:
    """Which row of a person the releases can have, where all say it and the table can tell.

    The manifest is public: whoever knows several rows of somebody knows which to look for.
    """
    stated = {str((release.manifest or {}).get("one_row", RANDOM)) for release in releases}
    rule = OneRow.parse(next(iter(stated)), "", b"") if len(stated) == 1 else None
    is_usable = rule is not None and kinds.get(rule.by) in ("number", "date")
    return rule if is_usable else None


def _pick_row_per_person(persons: Listing, order: Listing, latest: bool) -> NDArray[np.int64]:
    """The first or latest row of each person, as the table has them; a row without comes last."""
    known = [at for at, value in enumerate(order.values) if value is not None]
    rank = np.full(len(order.values), np.inf)
    place = np.arange(len(known), dtype=np.float64)
    rank[sorted(known, key=lambda at: order.values[at])] = -place if latest else place
    rows = np.lexsort((rank[order.codes], persons.codes))
    _, first = np.unique(persons.codes[rows], return_index=True)
    return np.sort(rows[first])


@contextmanager
def _open_with_ranges(source: Any, *, kinds: Mapping[str, str], **reading: Any) -> Iterator[Frame]:
    """A table whose columns of numbers and dates may hold ranges of them, which are read as words.

    Every other column is read as it is stated; what is wrong with it is told.
    """
    with ExitStack() as stack:
        try:
            frame = stack.enter_context(open_partial_frame(source, kinds=kinds, **reading))
        except InputError:
            words = {name: kind for name, kind in kinds.items() if kind not in ("number", "date")}
            with open_partial_frame(source, kinds=words, **reading) as plain:
                inferred = {field.name: field.kind for field in plain.fields}
            loose = {
                name: "label"
                for name, kind in kinds.items()
                if name not in words and inferred.get(name, kind) != kind
            }
            frame = stack.enter_context(
                open_partial_frame(source, kinds={**kinds, **loose}, **reading)
            )
        yield frame


def _with_decimal_points(listing: Listing, decimal: str | None) -> Listing:
    """Numbers that were read as words, for there are ranges among them, with points in them."""
    if decimal == "." or not any(isinstance(value, str) for value in listing.values):
        return listing
    words = [
        with_decimal_points(value, decimal == ",") if isinstance(value, str) else value
        for value in listing.values
    ]
    distinct = list(dict.fromkeys(words))
    place = {word: i for i, word in enumerate(distinct)}
    codes = np.array([place[word] for word in words], listing.codes.dtype)
    return Listing(tuple(distinct), codes[listing.codes])


def _find_name_columns(
    names: str | None, kinds: Mapping[str, str], identity_columns: Sequence[str]
) -> list[str]:
    if names is None:
        return list(identity_columns) if len(identity_columns) == 1 else []
    if names not in kinds:
        raise InputError(
            f"The people's table has no column {names!r}.", "name another, or leave --name out."
        )
    return [names]


def _list_columns_of_role(
    role: str, schemas: Sequence[Schema], kinds: Mapping[str, str]
) -> list[str]:
    names = (c.name for schema in schemas for c in schema.columns if c.role == role)
    return [name for name in dict.fromkeys(names) if name in kinds]


def _refuse_repeated_people(names: Sequence[str], columns: Sequence[Listing]) -> None:
    """Refuse rows that agree in all of the columns; a person who is null is anybody."""
    _, first = number_combinations(
        [column.codes for column in columns], [len(column.values) for column in columns]
    )
    repeated = len(columns[0].codes) - len(first)
    if len(columns) == 1 and None in columns[0].values:
        repeated -= int((columns[0].codes == len(columns[0].values) - 1).sum()) - 1
    if repeated:
        raise InputError(
            f"{repeated:,} rows are about people who are listed already "
            f"({', '.join(names)} {'is' if len(names) == 1 else 'are'} the same).",
            "keep one row a person: whoever is listed twice looks like two candidates.",
        )


def _refuse_unnamed_rows(persons: Listing, whose: str) -> None:
    if None in persons.values:
        raise _unnamed_rows_error(int((persons.codes == len(persons.values) - 1).sum()), whose)


def _unnamed_rows_error(rows: int, whose: str) -> InputError:
    return InputError(
        f"{rows:,} rows {whose} do not say whom they are about: the person is empty.",
        "give everybody a value in the person column, or leave these rows out.",
    )


def number_people_of_rows(release: PublishedTable) -> NDArray[np.int32] | None:
    """Whose each row of a release is, as numbers; None where nothing says it, or nobody has two.

    A counterfeit is about nobody, and looks like somebody of its own.
    """
    if release.person_column is not None:
        _refuse_unnamed_rows(release.person_column, f"of {release.name}")
        codes = release.person_column.codes.astype(np.int32)
    elif (keyed := find_keyed_people(release)) is not None:
        if empty := pc.sum(pc.equal(keyed.person, hash_missing_person(keyed.key))).as_py():
            raise _unnamed_rows_error(empty, f"of {release.name}")
        codes = keyed.person.dictionary_encode().indices.to_numpy().astype(np.int32)
        counterfeits = np.flatnonzero(
            pc.equal(keyed.person, hash_counterfeit_person(keyed.key)).to_numpy(False)
        )
        codes[counterfeits] = codes.max(initial=0) + 1 + np.arange(len(counterfeits))
    else:
        return None
    return None if len(np.unique(codes)) == len(codes) else codes


def count_rows_per_person(
    release: PublishedTable, person: NDArray[np.int32], persons: Listing
) -> NDArray[np.int64]:
    """How many rows of a release are about each person of a table, by the rows of that table."""
    count = np.bincount(person)
    first = np.full(len(persons.values), -1, np.int64)
    if release.person_column is not None:
        words = {word: i for i, word in enumerate(release.person_column.words())}
        codes = [words.get(word, -1) for word in persons.words()]
        return np.append(count, 0)[np.array(codes, np.int64)][persons.codes]
    own_rows = find_rows_of_people(release, persons.values)
    first = first if own_rows is None else own_rows
    return np.where(first < 0, 0, count[person[first]])[persons.codes]


def find_keyed_people(release: PublishedTable) -> KeyedPersons | None:
    """Whose the rows of a release are: as a ledger keeps it, else as its private companion says.

    None where no companion is at hand, or it names nobody.
    """
    if release.keyed is not None or release.companion is None:
        return release.keyed
    try:
        people = read_people(release.companion.folder, release.rows)
    except InputError:  # a companion without them, or not a whole one
        return None
    return KeyedPersons(release.companion.key, people)


def find_rows_of_people(
    release: PublishedTable, persons: Sequence[Any]
) -> NDArray[np.int64] | None:
    """The row of the release that is each person's own (-1: none), as its publisher knows it.

    None where nothing says whose the rows are, and where none of them is one of these persons':
    then they are called otherwise here, and who of them is in the release is not known.
    """
    named = np.array([person is not None for person in persons], dtype=np.bool_)
    keyed = find_keyed_people(release) if named.any() else None
    if keyed is None:
        return None
    wanted = [person for person in persons if person is not None]
    rows = np.full(len(persons), -1, np.int64)
    rows[named] = find_rows(hash_person_values(wanted, keyed.key), keyed.person)
    return rows if (rows >= 0).any() else None
