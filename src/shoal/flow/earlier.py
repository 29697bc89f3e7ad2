"""An earlier release with its private companion: whose row is in which class.

The companion has a keyed hash of the person of each published row, in the order of the table. It
says nothing about people who are not asked for: to know somebody's old class, hash the person
with the companion's key.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.column import role_hint
from shoal.errors import InputError, SchemaError, UsageError
from shoal.flow.companion import hashed_null, read_companion, read_people, rows_of
from shoal.flow.opening import opened_labels, released, released_schema
from shoal.flow.recount import Recount, recount
from shoal.frames.frame import Coding, Distinct, Frame
from shoal.hierarchy import EqualFrequency, EqualWidth, Hierarchy, Tree
from shoal.kernels.group import combinations
from shoal.schema import Schema

NOBODY = -1
"""The class of people who are not in a release."""


@dataclass(frozen=True)
class Rows:
    """A release's classes by their labels, and of each row the class and the keyed person."""

    count: Recount
    class_: NDArray[np.int32]
    person: pa.Array

    def classes(self, people: pa.Array) -> NDArray[np.int32]:
        """The class of each person, by keyed hash; NOBODY for whom the release does not have."""
        at = rows_of(people, self.person)
        return np.where(at < 0, np.int32(NOBODY), self.class_[at])


@dataclass(frozen=True)
class Earlier:
    """The release that a new one is based on."""

    rows: Rows
    key: bytes
    sha256: str


def earlier(source: Any, schema: Schema) -> Earlier:
    """Read a release (its folder, or a ``Release``) that one of this schema is to be based on."""
    if schema.person is None:
        raise SchemaError(
            "To base a release on an earlier one, a column must say who each row is about.",
            role_hint("patient", "person"),
        )
    release = released(source)
    if release is None:
        raise UsageError(
            "A release can only be based on a release folder.", "give the folder, not the table."
        )
    table, manifest = release
    private = read_companion(source, table)
    _check_columns(private.schema, schema)
    rows = read_rows(table, released_schema(manifest), private.folder)
    _check_named(rows.person, private.key)
    return Earlier(rows, private.key, private.table_sha256)


def _check_columns(before: Schema, now: Schema) -> None:
    """Old cells can be read, and mean the same, only where columns generalise as they did."""
    names = {column.name for column in before.quasi} ^ {column.name for column in now.quasi}
    if names:
        raise SchemaError(
            "The quasi-identifiers are not those of the earlier release: "
            f"{', '.join(sorted(names))}.",
            "give both releases the same quasi-identifiers.",
        )
    for column in now.quasi:
        old = before.column(column.name)
        if old.kind != column.kind or not _continues(old.hierarchy, column.hierarchy):
            raise SchemaError(
                f"Column {column.name!r} does not generalise as in the earlier release.",
                "give it the same kind and hierarchy, one that does not depend on the data; "
                "a tree may have more leaves than it had.",
            )


def _continues(old: Hierarchy | None, new: Hierarchy | None) -> bool:
    if isinstance(new, EqualWidth | EqualFrequency):
        return False
    if isinstance(old, Tree) and isinstance(new, Tree):
        return set(old.rows) <= set(new.rows)
    return old == new


def _check_named(person: pa.Array, key: bytes) -> None:
    """Rows about nobody in particular could be anybody's."""
    count = pc.sum(pc.equal(person, hashed_null(key))).as_py()
    if count:
        raise _unnamed(count, "of the earlier release ")


def _unnamed(count: int, which: str = "") -> InputError:
    return InputError(
        f"{count:,} rows {which}do not say who they are about.",
        "give everybody a value in the person column, and publish both releases with it.",
    )


def read_rows(table: Path, schema: Schema, companion: Path) -> Rows:
    """Read a published table again, and the keyed person of each of its rows."""
    with opened_labels(table, schema, exact=True) as frame:
        count = recount(frame, schema)
        axes = count.tally.quasi
        codes = frame.rows([_as_coding(axis) for axis in axes])
    labels = count.cut.cells.low
    both = [np.concatenate((labels[:, j], codes[j])) for j in range(len(axes))]
    number, _ = combinations(both, [axis.size for axis in axes])
    class_ = number[len(labels) :]  # the classes came first, so their numbers are their own
    return Rows(count, class_, read_people(companion, len(class_)))


def _as_coding(axis: Axis) -> Coding:
    null = axis.null_code if axis.null else None
    codes = np.arange(len(axis.leaves), dtype=np.int32)
    return Coding(axis.name, axis.leaves, codes, null, axis.size)


def everybody(frame: Frame, schema: Schema) -> Distinct:
    """The people in a table, in an order that differs from call to call."""
    assert schema.person is not None, "checked when the earlier release was read"
    people = frame.values([schema.person.name])[schema.person.name]
    if people.nulls:
        raise _unnamed(people.nulls)
    return people
