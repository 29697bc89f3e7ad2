"""Count a published table from scratch: classes are the rows that share all their labels.

Nothing the maker said is used: the file is read again, its labels are taken as text, and the
classes, histograms and reference distributions come from what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.column import PUBLISHED_ROLES
from shoal.core.errors import InputError
from shoal.core.hierarchy import Flat
from shoal.core.labels import ROOT, restore_cell
from shoal.core.missing_marks import is_empty_label
from shoal.core.schema import Column, Field, Schema
from shoal.core.tally import Cut, Population, Tally
from shoal.engines.protocol import Coding, Frame
from shoal.kernels.grouping import number_combinations
from shoal.measures.risk.assessment import ClassMembership
from shoal.releases.people import RowPersons
from shoal.releases.providers import RowProviders
from shoal.releases.tallying import Survey, stack_codes, survey

Spelling = Mapping[str, str | None]
"""Labels that their column decides about: as they are to be read, or None where nobody can tell."""
PART_ROWS = 12_000_000
"""Tables of more rows are counted, and published, in parts: memory holds one part at a time."""


@dataclass(frozen=True)
class Recount:
    """A published table as a tally of its labels, cut into the classes that the labels make."""

    tally: Tally
    cut: Cut

    @property
    def smallest(self) -> int:
        """The people of the smallest class."""
        return int(self.sizes.min())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The people of each class: its rows, or its distinct persons where some have several."""
        if self.members is not None:
            return np.bincount(self.members.class_)
        return np.bincount(self.cut.class_, weights=self.cut.count).astype(np.int64)

    @cached_property
    def members(self) -> ClassMembership | None:
        """Who is in which class, where some people have several rows; None: rows are people."""
        person = self.tally.person
        if person is None:
            return None
        persons, class_ = person[self.cut.entry], self.cut.class_
        _, first = number_combinations((class_, persons), (self.cut.classes, self.tally.persons))
        return ClassMembership(persons[first], class_[first])

    def labels(self, class_: int) -> dict[str, Any]:
        """The labels of one class by column."""
        entry = int(np.flatnonzero(self.cut.class_ == class_)[0])
        pairs = zip(self.tally.quasi, self.tally.keys[:, entry], strict=True)
        return {axis.name: leaf_value(axis, int(code)) for axis, code in pairs}


def leaf_value(axis: Axis, code: int) -> Any:
    """The value of a code; None for null."""
    return None if axis.null and code == axis.size - 1 else axis.leaves[code]


def list_labels(axis: Axis) -> list[Any]:
    """The label of each code, as it was before a spreadsheet's formulas were defused."""
    return [restore_cell(leaf_value(axis, code)) for code in range(axis.size)]


def recount(
    frame: Frame,
    schema: Schema,
    provided: RowProviders | None = None,
    people: RowPersons | None = None,
    extra: Sequence[Column] = (),
) -> Recount:
    """Tally the labels of the quasi-identifiers (and of ``extra`` columns) as they stand.

    Each entry of the tally is a combination of labels with sensitive values, with a provider where
    the table has one or ``provided`` tells, and with a person where some of the ``people`` have
    several rows; rows that agree on every label are one class.
    """
    plan = survey(frame, _as_labels(schema, extra, frame.fields))
    people = people if people is not None and people.repeat else None
    if provided is None and people is None:
        return _cut_by_labels(plan.encode(frame).tally)
    return _cut_by_labels(_tally_rows(frame, plan, provided, people))


def _tally_rows(
    frame: Frame, plan: Survey, provided: RowProviders | None, people: RowPersons | None
) -> Tally:
    by_row = frame.rows(plan.codings)
    columns, sizes = [*by_row], [coding.size for coding in plan.codings]
    if provided is not None:
        provided.check(len(by_row[0]))
        columns, sizes = [*columns, provided.codes], [*sizes, provided.axis.size]
    if people is not None:
        people.check(len(by_row[0]))
        columns, sizes = [*columns, people.codes], [*sizes, people.number]
    number, first = number_combinations(columns, sizes)
    q, s = len(plan.schema.quasi), len(plan.schema.sensitive)
    codes = [column[first] for column in by_row]
    has_column = plan.schema.provider is not None  # by a column of the table
    own = provided.axis if provided else plan.axes[q + s] if has_column else None
    whose = (
        provided.codes[first] if provided else codes[q + s].astype(np.int32) if has_column else None
    )
    return Tally(
        plan.axes[:q],
        plan.axes[q : q + s],
        stack_codes(codes[:q], len(first)),
        stack_codes(codes[q : q + s], len(first), np.int32),
        np.bincount(number).astype(np.int64),
        own,
        whose,
        weights=tuple(column.weight for column in plan.schema.quasi),
        person=None if people is None else people.codes[first],
    )


def classify_rows(frame: Frame, count: Recount) -> NDArray[np.int32]:
    """The class of each row of a table that was counted, in the table's order."""
    axes, labels = count.tally.quasi, count.cut.cells.low
    codes = frame.rows([code_leaves(axis) for axis in axes])
    both = [np.concatenate((labels[:, j], codes[j])) for j in range(len(axes))]
    number, _ = number_combinations(both, [axis.size for axis in axes])
    return number[len(labels) :]  # the classes came first, so their numbers are their own


def code_leaves(axis: Axis) -> Coding:
    """The codes of an axis for its own leaves."""
    null = axis.null_code if axis.null else None
    codes = np.arange(len(axis.leaves), dtype=np.int32)
    return Coding(axis.name, axis.leaves, codes, null, axis.size)


def recount_in_parts(
    frame: Frame, schema: Schema, extra: Sequence[Column] = ()
) -> Iterator[Recount]:
    """The same (with ``extra`` columns) in parts that hold their classes whole."""
    plan = survey(frame, _as_labels(schema, extra, frame.fields))
    for part in plan.parts(frame, PART_ROWS):
        yield _cut_by_labels(plan.encode_part(part).tally)


def count_class_rows(frame: Frame, schema: Schema, count: Recount) -> NDArray[np.int64]:
    """How many rows share all their labels, and the kept columns too where there are any."""
    parts = recount_in_parts(frame, schema, schema.keep) if schema.keep else [count]
    return np.concatenate([part.sizes for part in parts])


def count_people_sharing(
    frame: Frame, schema: Schema, count: Recount, people: RowPersons | None = None
) -> tuple[NDArray[np.int64], ClassMembership | None]:
    """How many people share all their labels and the kept columns, and who is where.

    Nothing is told of who is where while rows are people.
    """
    if people is None or not people.repeat:
        return count_class_rows(frame, schema, count), None
    if schema.keep:
        count = recount(frame, schema, people=people, extra=schema.keep)
    return count.sizes, count.members


def _cut_by_labels(tally: Tally) -> Recount:
    number, first = number_combinations(tally.keys, [axis.size for axis in tally.quasi])
    entry = np.arange(tally.entries, dtype=np.int32)
    codes = tally.keys[:, first].T.astype(np.int32)
    return Recount(tally, Cut(entry, number, tally.count, Cells(codes, codes)))


def _as_labels(schema: Schema, extra: Sequence[Column], fields: Sequence[Field]) -> Schema:
    """The schema of the table as it stands: quasi-identifiers are words without a hierarchy.

    Columns that are never published (identifiers, provider, ...) may be missing from the table.
    """
    there = {field.name for field in fields}
    more = {column.name for column in extra}
    return Schema(
        tuple(
            _as_label(column, column.name in more)
            for column in schema.columns
            if column.name in there or column.role in PUBLISHED_ROLES
        )
    ).fit(fields)


def _as_label(column: Column, extra: bool) -> Column:
    if column.role == "quasi" or extra:
        return Column(column.name, "quasi", "category", Flat(), weight=column.weight)
    if column.role == "keep":
        return Column(column.name, "keep")
    return replace(column, domain=None)


def read_cells(
    count: Recount,
    axes: Sequence[Axis],
    *,
    suppressed: bool = False,
    spellings: Mapping[str, Spelling] | None = None,
) -> Cells:
    """The classes' cells on real axes (in the order of these), read from their labels.

    `suppressed`: an empty cell (or ``NA`` where that is no value) may hold anything, as others
    write it; Shoal means null by it. `spellings` by column, where the column decides how a label
    is read. Labels that cannot be read raise: guessing would hide a risk.
    """
    low, high, sets, unread = [], [], {}, {}
    column = {labels.name: j for j, labels in enumerate(count.tally.quasi)}
    for j, axis in enumerate(axes):
        labels = count.tally.quasi[column[axis.name]]
        codes = count.cut.cells.low[:, column[axis.name]]
        texts = list_labels(labels)
        spelling = (spellings or {}).get(axis.name, {})
        spelt = [spelling.get(t, t) for t in texts]
        doubtful = np.array([t in spelling and spelling[t] is None for t in texts], np.bool_)
        if suppressed:
            spelt = _star_empty_labels(axis, spelt)
        lows, highs, bits, readable = _parse_labels(axis, spelt)
        readable &= ~doubtful
        if not readable.all():
            rows = count.cut.count[~readable[codes[count.cut.class_]]]
            unread[axis.name] = int((~readable).sum()), int(rows.sum())
        low.append(lows[codes])
        high.append(highs[codes])
        if bits is not None:
            sets[j] = bits[codes]
    if unread:
        raise _unreadable_error(unread)
    return Cells(np.stack(low, axis=1), np.stack(high, axis=1), sets)


def _star_empty_labels(axis: Axis, texts: Sequence[Any]) -> list[Any]:
    """The labels with ``*`` for those that say nothing; a text that is a value stays one."""
    silent = [t for t in texts if t is not None and t.strip() and is_empty_label(t)]
    readable = _parse_labels(axis, silent)[3] if silent else ()
    values = {t for t, ok in zip(silent, readable, strict=True) if ok}
    return [ROOT if t is None or (is_empty_label(t) and t not in values) else t for t in texts]


def _unreadable_error(columns: Mapping[str, tuple[int, int]]) -> InputError:
    """What cannot be read, by column and count; a label may be somebody's own value."""
    (first, (labels, rows)), *others = columns.items()
    facts = [f"Column {first!r} has {labels:,} labels ({rows:,} rows) that cannot be read"]
    facts += [f"column {name!r} has {labels:,} ({rows:,} rows)" for name, (labels, rows) in others]
    return InputError(
        f"{'; '.join(facts)}.",
        "give the hierarchy the labels were made with, or the domain, in the schema.",
    )


def _parse_labels(axis: Axis, texts: Sequence[Any]) -> tuple[Any, Any, Any, NDArray[np.bool_]]:
    if axis.shape != "flat":
        low, high, readable = axis.parse(texts)
        return low, high, None, readable
    bits, readable = axis.parse_sets(texts)
    low = np.zeros(len(texts), np.int32)
    return low, np.full(len(texts), axis.size - 1, np.int32), bits, readable


def with_population(count: Recount, population: Population, axes: Sequence[Axis]) -> Recount:
    """The same classes on real axes, so that models can ask whom the cells cover."""
    cells = read_cells(count, axes)
    tally = replace(count.tally, quasi=tuple(axes), keys=cells.low[count.cut.class_].T)
    return Recount(replace(tally, population=population), replace(count.cut, cells=cells))
