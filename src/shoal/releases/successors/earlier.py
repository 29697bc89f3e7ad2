"""An earlier release with its private companion: whose row is in which class.

The companion has a keyed hash of the person of each published row, in the order of the table. It
says nothing about people who are not asked for: to know somebody's old class, hash the person
with the companion's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core.column import Column, role_hint
from shoal.core.errors import InputError, SchemaError, UsageError
from shoal.core.hierarchy import EqualFrequency, EqualWidth, Hierarchy, Tree
from shoal.core.schema import Schema
from shoal.engines.protocol import Distinct, Frame
from shoal.releases.companion import (
    Companion,
    find_release,
    find_rows,
    hash_counterfeit_person,
    hash_missing_person,
    hash_people,
    hash_person_values,
    read_companion,
    read_people,
)
from shoal.releases.manifest import publishes_answers, publishes_buckets, refuse_noisy
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.recount import Recount, classify_rows, recount

NOT_IN_RELEASE = -1
"""The class of people who are not in a release."""
_WORDS = frozenset({"category", "code", "text"})
"""Kinds of which a person is hashed as written."""
_WIDEST = 16
"""So many digits a number may be filled up to with zeros."""
_AT_ONCE = 50_000


@dataclass(frozen=True)
class ClassifiedRows:
    """A release's classes by their labels, and of each row the class and the keyed person."""

    count: Recount
    class_: NDArray[np.int32]
    person: pa.Array

    def classes(self, people: pa.Array) -> NDArray[np.int32]:
        """The class of each person, by keyed hash; NOT_IN_RELEASE for whom it does not have."""
        at = find_rows(people, self.person)
        return np.where(at < 0, np.int32(NOT_IN_RELEASE), self.class_[at])


@dataclass(frozen=True)
class EarlierRelease:
    """The release that a new one is based on."""

    rows: ClassifiedRows
    key: bytes
    sha256: str


def read_earlier_release(source: Any, schema: Schema) -> EarlierRelease:
    """Read a release (its folder, or a ``Release``) that one of this schema is to be based on."""
    if schema.person is None:
        raise SchemaError(
            "To base a release on an earlier one, a column must say who each row is about.",
            role_hint("patient", "person"),
        )
    table, published, private = _find_base(source)
    _check_columns(private.schema, schema)
    rows = read_classified_rows(table, published, private.folder)
    _check_all_named(rows.person, private.key)
    return EarlierRelease(rows, private.key, private.table_sha256)


def _find_base(source: Any) -> tuple[Path, Schema, Companion]:
    release = find_release(source)
    if release is None:
        raise UsageError(
            "A release can only be based on a release folder.", "give the folder, not the table."
        )
    table, manifest = release
    refuse_noisy(manifest, "has no cells that another could keep")
    if publishes_buckets(manifest):
        raise UsageError(
            "The earlier release is in buckets: it has no cells that another could keep.",
            "base the release on one with generalised cells.",
        )
    if publishes_answers(manifest):
        raise UsageError(
            "The earlier release is randomised: exact values beside its answers would undo them.",
            "base the release on one of the form partition.",
        )
    return table, parse_released_schema(manifest), read_companion(source, table)


def read_as_before(schema: Schema, frame: Frame, source: Any) -> Schema:
    """The schema with the kinds of the earlier release where it states none, and the table differs.

    Numbers of people that lost their leading zeros, for example, are codes all the same.
    """
    before = _find_base(source)[2].schema
    kinds = {column.name: column.kind for column in before.quasi}
    if before.person is not None and schema.person is not None:
        kinds[schema.person.name] = before.person.kind
    differ = {f.name: kinds[f.name] for f in frame.fields if f.kind != kinds.get(f.name, f.kind)}
    differ = {name: kind for name, kind in differ.items() if name not in schema.kinds}
    _check_filled(frame, differ)
    columns = (replace(c, kind=differ.get(c.name, c.kind)) for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def _check_filled(frame: Frame, kinds: Mapping[str, str]) -> None:
    """A column without values is read as words, and nothing else can be made of it."""
    for name in (name for name, kind in kinds.items() if kind not in _WORDS):
        profile = frame.profile()[name]
        if profile.nulls == profile.rows:
            raise InputError(
                f"Column {name!r} has no values; it was a {kinds[name]} in the earlier release.",
                "give its values, or publish both releases without the column.",
            )


def _check_columns(before: Schema, now: Schema) -> None:
    """Old cells can be read, and mean the same, only where columns generalise as they did."""
    names = {column.name for column in before.quasi} ^ {column.name for column in now.quasi}
    if names:
        raise SchemaError(
            "The quasi-identifiers are not those of the earlier release: "
            f"{', '.join(sorted(names))}.",
            "give both releases the same quasi-identifiers.",
        )
    then, person = before.person, now.person
    if then and person and not {then.kind, person.kind} <= _WORDS:
        _check_kind(then.kind, person)
    for column in now.quasi:
        old = before.column(column.name)
        _check_kind(old.kind, column)
        if not _continues(old.hierarchy, column.hierarchy):
            raise SchemaError(
                f"Column {column.name!r} does not generalise as in the earlier release.",
                "give it the same hierarchy, one that does not depend on the data; "
                "a tree may have more leaves than it had.",
            )


def _check_kind(before: str, now: Column) -> None:
    if before != now.kind:
        raise SchemaError(
            f"Column {now.name!r} was a {before} in the earlier release and is a {now.kind} now.",
            f'state kind = "{before}" for it in the schema.',
        )


def _continues(old: Hierarchy | None, new: Hierarchy | None) -> bool:
    if isinstance(new, EqualWidth | EqualFrequency):
        return False
    if isinstance(old, Tree) and isinstance(new, Tree):
        return set(old.rows) <= set(new.rows)
    return old == new


def _check_all_named(person: pa.Array, key: bytes) -> None:
    """Rows about nobody in particular could be anybody's."""
    count = pc.sum(pc.equal(person, hash_missing_person(key))).as_py()
    if count:
        raise _unnamed_error(count, "of the earlier release ")


def _unnamed_error(count: int, whose: str = "") -> InputError:
    return InputError(
        f"{count:,} rows {whose}do not say who they are about.",
        "give everybody a value in the person column, and publish both releases with it.",
    )


def read_classified_rows(
    table: Path, schema: Schema, companion: Path, **reading: Any
) -> ClassifiedRows:
    """Read a published table again, and the keyed person of each of its rows."""
    with open_labels(table, schema, exact=True, **reading) as frame:
        count = recount(frame, schema)
        class_ = classify_rows(frame, count)
    return ClassifiedRows(count, class_, read_people(companion, len(class_)))


def list_people(frame: Frame, schema: Schema) -> Distinct:
    """The people in a table, in an order that differs from call to call."""
    assert schema.person is not None, "checked when the earlier release was read"
    people = frame.values([schema.person.name])[schema.person.name]
    if people.nulls:
        raise _unnamed_error(people.nulls)
    return people


def find_classes_in_both(
    frame: Frame,
    schema: Schema,
    earlier: EarlierRelease,
    now: ClassifiedRows,
    key: bytes,
    counterfeits: int = 0,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The class then and the class now of everybody who is in both releases of a table.

    Every row of the new one must be about somebody in the table, or be a counterfeit.
    """
    assert schema.person is not None, "checked when the earlier release was read"
    people = list_people(frame, schema)
    old, new = (
        rows.classes(hash_people(frame, schema.person.name, people, secret))
        for rows, secret in ((earlier.rows, earlier.key), (now, key))
    )
    nobody = pc.sum(pc.equal(now.person, hash_counterfeit_person(key))).as_py() or 0
    if nobody != counterfeits or int((new >= 0).sum()) + nobody != len(now.class_):
        raise InputError(
            "The people of the table changed while it was published.",
            "publish from a copy that nobody writes to.",
        )
    both = (old >= 0) & (new >= 0)
    return old[both], new[both]


def check_spelling(
    column: str, people: Sequence[Any], keyed: pa.Array, earlier: EarlierRelease
) -> None:
    """Refuse people who are written otherwise than they were, and would lose their old cells.

    Of the people who are gone only hashes are known. So the newcomers are hashed as they may have
    been written: in other case, with other leading zeros.
    """
    rows = earlier.rows.person
    gone = rows.filter(pc.invert(pc.is_in(rows, value_set=keyed)))
    there = pc.is_in(keyed, value_set=rows).to_pylist()
    new = [p for p, old in zip(people, there, strict=True) if not old and isinstance(p, str)]
    parts = (new[i : i + _AT_ONCE] for i in range(0, len(new) if len(gone) else 0, _AT_ONCE))
    count = sum(_count_respelt(part, gone, earlier.key) for part in parts)
    if count:
        raise InputError(
            f"{count:,} people who seem to be new are named like people of the earlier release "
            "who are gone, but for capitals or leading zeros.",
            f"write column {column!r} as it was written then.",
        )


def _count_respelt(new: Sequence[str], gone: pa.Array, key: bytes) -> int:
    several = [_spellings(name) for name in new]
    every = list(set().union(*several))
    if not every:
        return 0
    are_gone = pc.is_in(hash_person_values(every, key), value_set=gone).to_pylist()
    known = {name for name, there in zip(every, are_gone, strict=True) if there}
    return sum(not known.isdisjoint(names) for names in several)


def _spellings(name: str) -> set[str]:
    """How somebody may be written otherwise.

    >>> sorted(_spellings("0a"))
    ['0A', 'A', 'a']
    >>> sorted(_spellings("07"), key=len)[:3]
    ['7', '007', '0007']
    """
    plain = name.strip()
    bare = plain.lstrip("0") or "0"
    widths = range(len(bare), _WIDEST + 1) if bare.isdigit() else (len(bare), len(plain))
    cases = {case(bare) for case in (str, str.lower, str.upper, str.capitalize)}
    return {case.rjust(width, "0") for case in cases for width in widths} - {name}
