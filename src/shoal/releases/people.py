"""People: whom the rows of a table are about, and one row a person where a release counts on it.

A hospital's table has a row for an encounter, and a patient several of them. Where a column says
who a row is about (role person), classes are counted by their distinct persons; what cannot be
judged by persons is not evaluated, and says so. The column is never published: of a release only
the private companion tells, by keyed hashes, which rows are the same person's.

What rests on one row a person (publishing, noise, coalitions of providers) refuses people who have
several, and can be told which of them to keep (``OneRow``).
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core.column import PUBLISHED_ROLES, Column
from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Profile, Schema
from shoal.engines.one_row import EXAMPLE, OneRow, OneRowSource, refuse_nameless_rows
from shoal.engines.protocol import Frame
from shoal.releases.companion import (
    find_companion,
    find_release,
    had_person_column,
    hash_counterfeit_person,
    hash_missing_person,
    read_people,
)

UNKNOWN = (
    "the table had a person column, and whose rows are whose is known by the private companion "
    "alone, which is not at hand"
)
LACKING = (
    "the schema names a person column, and the table lacks it: whose rows are whose is not known"
)
PERMUTED_VALUES = (
    "people have several rows, and in buckets a value stands beside anybody of its class"
)
ONE_ROW_HINT = f'keep one row a person: --one-row random, or "{EXAMPLE}" or "first by COLUMN".'
DROPPED = ("identifier", "drop")
"""The roles of columns that are dropped and say nothing else about a row."""
_NAMED = 5
"""So many columns are named in a question; the others are counted."""
_FEW = 20
"""A dropped column of at most so many values is about something else than people."""


@dataclass(frozen=True)
class RowPersons:
    """Whom each row of a table is about, in its order, by number from 0 on."""

    codes: NDArray[np.int32]
    number: int

    @classmethod
    def of(cls, column: pa.Array) -> RowPersons:
        """Of a column that says so and has no nulls."""
        words = column.dictionary_encode()
        return cls(words.indices.to_numpy().astype(np.int32), len(words.dictionary))

    @property
    def repeat(self) -> bool:
        """Whether anybody has more than one row."""
        return self.number < len(self.codes)

    def check(self, rows: int) -> None:
        """Refuse a table of another number of rows."""
        if rows != len(self.codes):
            raise InputError(
                f"The table has {rows:,} rows, and whom they are about is known of "
                f"{len(self.codes):,}.",
                "take the release and the companion that were written together.",
            )


def check_one_row_each(frame: Frame, schema: Schema) -> None:
    """One row a person: where a column says who a row is about, nobody may come twice."""
    if schema.person is None:
        return
    name = schema.person.name
    profile = frame.profile([name])[name]
    refuse_nameless_rows(name, profile.nulls)
    refuse_repeated_rows(name, profile.rows, profile.distinct, _suggest_one_row(frame))


def _suggest_one_row(frame: Frame) -> str:
    """How to keep one row a person: by the first date that the table has, else by chance."""
    dates = [field.name for field in frame.fields if field.kind == "date"]
    if not dates:
        return ONE_ROW_HINT
    by = dates[0]
    return f'keep one row a person: --one-row "latest by {by}", "first by {by}" or random.'


def refuse_repeated_rows(name: str, rows: int, people: int, hint: str = ONE_ROW_HINT) -> None:
    """Refuse people who have several rows, with what to do about it."""
    if people < rows:
        raise InputError(
            f"{rows - people:,} rows are about people who have a row already: {rows:,} rows of "
            f"{people:,} people (column {name!r}).",
            hint,
        )


def read_row_persons(frame: Frame, schema: Schema) -> RowPersons | None:
    """Whom the rows of a table are about, by its person column; None where it has none."""
    if schema.person is None or schema.person.name not in {field.name for field in frame.fields}:
        return None
    column = frame.column(schema.person.name)
    refuse_nameless_rows(schema.person.name, column.null_count)
    return RowPersons.of(column)


def read_row_persons_or_reason(frame: Frame, schema: Schema) -> tuple[RowPersons | None, str]:
    """The same; and why it is not known, where the schema names a column that the table lacks."""
    people = read_row_persons(frame, schema)
    return people, LACKING if people is None and schema.person is not None else ""


def check_population(population: Frame, schema: Schema, person: str | None = None) -> None:
    """A population is counted by its rows: nobody may be in it twice, as far as it says who.

    ``person``: the column that says so, unless the schema names one.
    """
    person = schema.person.name if schema.person else person
    if person is None or person not in {field.name for field in population.fields}:
        return
    profile = population.profile([person])[person]
    rows = profile.rows - profile.nulls
    if profile.distinct < rows:
        raise InputError(
            f"{rows - profile.distinct:,} rows of the population are about people who have a row "
            f"already: {rows:,} rows of {profile.distinct:,} people (column {person!r}).",
            "give a population with one row a person.",
        )


def find_person_column(source: Any, table: Path) -> str | None:
    """What the person column of a release's table was called, where its companion is at hand."""
    companion = find_companion(source, table)
    person = None if companion is None else companion.schema.person
    return None if person is None else person.name


def find_release_persons(
    source: Any, table: Path, manifest: Mapping[str, Any]
) -> tuple[RowPersons | None, str]:
    """Whom the rows of a release are about, by its private companion; else why that is not known.

    Counterfeits, which are about nobody, count as somebody else each.
    """
    stated = "people" in manifest
    if not stated and not had_person_column(source, table):
        return None, ""
    companion = find_companion(source, table)
    if companion is None or companion.schema.person is None:
        return None, UNKNOWN if stated else ""
    return read_keyed_persons(companion.folder, companion.schema, companion.key), ""


def read_keyed_persons(folder: Path, schema: Schema, key: bytes) -> RowPersons | None:
    """The same by the companion's folder and the publisher's schema; None without a person."""
    if schema.person is None:
        return None
    keyed = read_people(folder)
    refuse_nameless_rows(schema.person.name, _count_rows(hash_missing_person(key), keyed))
    people = RowPersons.of(keyed)
    if _count_rows(hash_counterfeit_person(key), keyed):
        is_counterfeit = pc.equal(keyed, hash_counterfeit_person(key)).to_numpy(
            zero_copy_only=False
        )
        codes = np.where(
            is_counterfeit, people.number + np.cumsum(is_counterfeit) - 1, people.codes
        )
        _, codes = np.unique(codes, return_inverse=True)
        people = RowPersons(codes.astype(np.int32), int(codes.max()) + 1)
    return people


def _count_rows(person_hash: str, keyed: pa.Array) -> int:
    return int(pc.sum(pc.equal(keyed, person_hash)).as_py() or 0)


def parse_one_row(
    text: str | None, schema: Schema | None, key: bytes | None = None
) -> OneRow | None:
    """Which row stands for a person, as somebody asks for it; None where nobody does.

    ``key``: what was drawn for it before; else the operating system draws one.
    """
    if text is None:
        return None
    if schema is None or schema.person is None:
        raise UsageError(
            "One row a person is asked for, and no column says who a row is about.",
            'give a column the role "person": --person COLUMN.',
        )
    return OneRow.parse(text, schema.person.name, secrets.token_bytes(32) if key is None else key)


def select_published_rows(release: Any, original: Any) -> Any:
    """The original of a release, of which one row a person is read where it was published so.

    Which row that is was drawn, at the least among rows that are equally late: the private
    companion alone finds it again.
    """
    folder = None if original is None else find_release(release)
    if folder is None or isinstance(original, Frame | OneRowSource):
        return original
    table, manifest = folder
    if "one_row" not in manifest:
        return original
    companion = find_companion(release, table)
    if companion is None or companion.one_row is None:
        raise InputError(
            f"The release has one row a person ({manifest['one_row']}), and which rows of "
            "the original these are its private companion alone tells, which is not at hand.",
            "put the companion beside the release, or leave --original out.",
        )
    return OneRowSource(original, companion.one_row)


def ask_about_repeats(frame: Frame, schema: Schema) -> list[str]:
    """A question about columns that are dropped and whose values repeat; none where there is none.

    Where a column says who a row is about already, nothing is asked.
    """
    dropped = [c for c in schema.columns if c.role not in PUBLISHED_ROLES and c.role in DROPPED]
    if schema.person is not None or not dropped:
        return []
    return ask_for_person_column(frame.profile([column.name for column in dropped]), dropped)


def ask_for_person_column(profiles: Mapping[str, Profile], columns: Sequence[Column]) -> list[str]:
    """The question about those of the columns that may say who a row is about.

    The values of an identifier need but repeat; those of a column that is dropped for any reason
    are as many as people may be: more than a few, and at least a tenth of the rows.
    """
    several = [c.name for c in columns if _may_name_people(profiles[c.name], c.role)]
    several.sort(key=lambda name: -profiles[name].distinct)
    if not several:
        return []
    each = [
        f"{name} repeats: {_filled(profiles[name]):,} rows of {profiles[name].distinct:,} values"
        for name in several[:_NAMED]
    ]
    more = len(several) - len(each)
    rest = f"; and {more:,} {'other' if more == 1 else 'others'}" if more else ""
    begin, it = ("Column ", "it") if len(several) == 1 else ("Columns that are dropped: ", "one")
    return [
        f"{begin}{'; '.join(each)}{rest}. If {it} says who a row is about, give it the role person "
        f"(--person {shlex.quote(several[0])}): classes are counted by rows, and one person may "
        "fill a class."
    ]


def _may_name_people(profile: Profile, role: str) -> bool:
    filled = _filled(profile)
    if not 1 < profile.distinct < filled:
        return False
    return role == "identifier" or (profile.distinct > _FEW and 10 * profile.distinct >= filled)


def _filled(profile: Profile) -> int:
    return profile.rows - profile.nulls
