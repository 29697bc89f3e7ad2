"""Two tables that share people, as codes: halves of one table, or two that are given.

Ganta, Kasiviswanathan and Smith (Composition attacks and auxiliary information in data privacy, KDD
2008) draw two overlapping samples of one table and attack the people who are in both; how large the
samples are they do not say. Here some people are in both halves, 5,000 or a sixth of the table, and
the others in one of the two. Half as many again are in neither: the control, of whom the releases
tell what they tell of everybody like them, and nothing of their own.

Does not give: what two real publishers are like, whose tables differ in whom they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.column import Column
from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Schema
from shoal.core.tally import Tally
from shoal.engines.protocol import Coding, Distinct, Frame
from shoal.forecasts.validation import CodedTable
from shoal.releases.people import check_one_row_each
from shoal.releases.reader import open_frame
from shoal.releases.tallying import survey

SHARED, PART = 5_000, 6
"""People in both halves unless stated: so many, or this part of a smaller table."""
MIN_SHARED = 10
"""Shares of fewer people than these say nothing."""


@dataclass(frozen=True, eq=False)
class CodedPeople(CodedTable):
    """A table as codes, and what its columns are; the last is the sensitive one."""

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def tally(self) -> Tally:
        """The same people, counted."""
        return self.count_entries()[0]


@dataclass(frozen=True, eq=False)
class TablePair:
    """Two tables, whose first ``shared`` rows are the same people, and people who are in none."""

    halves: tuple[CodedPeople, CodedPeople]
    shared: int
    control: CodedPeople

    @property
    def both(self) -> CodedPeople:
        """The people who are in both."""
        return self.halves[0].some(np.arange(self.shared))

    @property
    def prior(self) -> NDArray[np.float64]:
        """How common each sensitive value is in the two tables together: what everybody knows."""
        size = self.halves[0].sensitive.size
        counts = sum(np.bincount(half.values, minlength=size) for half in self.halves)
        return np.asarray(counts / np.sum(counts), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Halves:
    """One table, to be split anew by every seed."""

    people: CodedPeople
    shared: int

    @classmethod
    def read(
        cls, table: Any, schema: Schema, on: str, overlap: int | None, reading: Mapping[str, Any]
    ) -> Halves:
        """The table, if it has room for so many people in both halves."""
        with open_frame(table, kinds=schema.kinds, **reading) as frame:
            check_one_row_each(frame, schema)
            people = _read_people(frame, schema, on)
        shared = min(SHARED, len(people) // PART) if overlap is None else overlap
        if shared < MIN_SHARED or len(people) < 3 * shared:
            raise InputError(
                f"A table of {len(people):,} rows has no two halves that share {shared:,} people.",
                f"take a larger table, or an overlap from {MIN_SHARED} to a third of its rows.",
            )
        return cls(people, shared)

    def pair(self, seed: int) -> TablePair:
        """Two halves, and the control."""
        order = np.random.default_rng(seed).permutation(len(self.people))
        both, control, rest = np.split(order, [self.shared, self.shared + self.shared // 2])
        first_rows, second_rows = np.array_split(rest, 2)
        first, second = (
            self.people.some(np.concatenate([both, own])) for own in (first_rows, second_rows)
        )
        return TablePair((first, second), self.shared, self.people.some(control))


@dataclass(frozen=True, eq=False)
class TwoTables:
    """Two tables about some of the same people, who are known by the schema's person column."""

    tables: tuple[CodedPeople, CodedPeople]
    same: NDArray[np.int64]
    """(2, people): the rows of those who are in both."""

    @classmethod
    def read(
        cls, table: Any, other: Any, schema: Schema, on: str, reading: Mapping[str, Any]
    ) -> TwoTables:
        """The two tables on common axes."""
        if schema.person is None:
            raise UsageError(
                "Nothing says who is in both tables.", 'give a column the role "person".'
            )
        with ExitStack() as stack:
            frames = [
                stack.enter_context(open_frame(source, kinds=schema.kinds, **reading))
                for source in (table, other)
            ]
            for frame in frames:
                check_one_row_each(frame, schema)
            first_ids, second_ids = (_read_ids(frame, schema.person.name) for frame in frames)
            people = _read_people(frames[0], schema, on, frames[1])
            second = _read_on_axes(people, frames[1])
        same = np.stack(np.intersect1d(first_ids, second_ids, return_indices=True)[1:])
        if same.shape[1] < 2 * MIN_SHARED:
            raise InputError(
                f"The two tables have {same.shape[1]:,} people in common.",
                "give two tables about more of the same people.",
            )
        return cls((people, second), same)

    @property
    def shared(self) -> int:
        """How many people are in both halves of a pair."""
        people = int(self.same.shape[1])
        return people - people // 2

    def pair(self, seed: int) -> TablePair:
        """Both tables, without the half of the people in both who are to be the control."""
        order = np.random.default_rng(seed).permutation(self.same.shape[1])
        both, away = self.same[:, order[: self.shared]], self.same[:, order[self.shared :]]
        first, second = (
            people.some(
                np.concatenate([rows_in_both, np.setdiff1d(np.arange(len(people)), shared_rows)])
            )
            for people, rows_in_both, shared_rows in zip(self.tables, both, self.same, strict=True)
        )
        return TablePair((first, second), self.shared, self.tables[0].some(away[0]))


def _read_people(frame: Frame, schema: Schema, on: str, other: Frame | None = None) -> CodedPeople:
    """A table's quasi-identifiers and one sensitive column, on axes that know another's values."""
    columns = (*schema.quasi, schema.column(on))
    names = {column.name for column in columns}
    fitted = Schema(columns).fit([field for field in frame.fields if field.name in names])
    distinct = {} if other is None else dict(other.values(sorted(names)))
    also = {
        name: [*values.values, *([None] * (values.nulls > 0))] for name, values in distinct.items()
    }
    columns_listed = (replace(column, domain=column.listed_values) for column in fitted.columns)
    plan = survey(frame, Schema(tuple(columns_listed)), more_values=also)
    *keys, values = (codes.astype(np.int32) for codes in frame.rows(plan.codings))
    columns = (*fitted.quasi, fitted.column(on))
    return CodedPeople(plan.axes[:-1], plan.axes[-1], np.stack(keys), values, columns)


def _read_on_axes(people: CodedPeople, frame: Frame) -> CodedPeople:
    axes = (*people.quasi, people.sensitive)
    distinct = dict(frame.values([axis.name for axis in axes]))
    codings = tuple(_coding(axis, distinct[axis.name]) for axis in axes)
    *keys, values = (codes.astype(np.int32) for codes in frame.rows(codings))
    return replace(people, keys=np.stack(keys), values=values)


def _coding(axis: Axis, distinct: Distinct) -> Coding:
    codes = axis.codes(distinct.values).astype(np.int32)
    return Coding(
        axis.name, distinct.values, codes, axis.null_code if axis.null else None, axis.size
    )


def _read_ids(frame: Frame, column: str) -> NDArray[Any]:
    distinct = dict(frame.values([column]))[column]
    if distinct.nulls or int(distinct.counts.max(initial=1)) > 1:
        raise InputError(
            f"Column {column!r} does not tell the people of a table apart.",
            "give two tables with one row for each person.",
        )
    number = np.arange(len(distinct.values), dtype=np.int32)
    (rows,) = frame.rows((Coding(column, distinct.values, number, None, len(distinct.values)),))
    return np.array([str(value) for value in distinct.values])[rows]
