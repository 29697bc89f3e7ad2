"""Count a published table from scratch: classes are the rows that share all their labels.

Nothing the maker said is used: the file is read again, its labels are taken as text, and the
classes, histograms and reference distributions come from what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.column import PUBLISHED
from shoal.errors import InputError
from shoal.flow.encode import survey
from shoal.frames.frame import Frame
from shoal.frames.write import restored
from shoal.hierarchy import Flat
from shoal.kernels.group import combinations
from shoal.schema import Column, Field, Schema
from shoal.tally import Cut, Population, Tally

PART_ROWS = 12_000_000
"""Tables of more rows are counted, and published, in parts: memory holds one part at a time."""


@dataclass(frozen=True)
class Recount:
    """A published table as a tally of its labels, cut into the classes that the labels make."""

    tally: Tally
    cut: Cut

    @property
    def smallest(self) -> int:
        """The rows of the smallest class."""
        return int(np.bincount(self.cut.class_, weights=self.cut.count).min())

    def labels(self, class_: int) -> dict[str, Any]:
        """The labels of one class by column."""
        entry = int(np.flatnonzero(self.cut.class_ == class_)[0])
        pairs = zip(self.tally.quasi, self.tally.keys[:, entry], strict=True)
        return {axis.name: leaf(axis, int(code)) for axis, code in pairs}


def leaf(axis: Axis, code: int) -> Any:
    """The value of a code; None for null."""
    return None if axis.null and code == axis.size - 1 else axis.leaves[code]


def recount(frame: Frame, schema: Schema) -> Recount:
    """Tally the labels of the quasi-identifiers as they stand.

    Each entry of the tally is a combination of labels with sensitive values; rows that agree on
    every label are one class.
    """
    return _classes(survey(frame, _as_labels(schema, (), frame.fields)).encode(frame).tally)


def recounts(frame: Frame, schema: Schema, extra: Sequence[Column] = ()) -> Iterator[Recount]:
    """The same (with ``extra`` columns) in parts that hold their classes whole."""
    plan = survey(frame, _as_labels(schema, extra, frame.fields))
    for part in plan.parts(frame, PART_ROWS):
        yield _classes(plan.encode_part(part).tally)


def _classes(tally: Tally) -> Recount:
    number, first = combinations(tally.keys, [axis.size for axis in tally.quasi])
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
            if column.name in there or column.role in PUBLISHED
        )
    ).fit(fields)


def _as_label(column: Column, extra: bool) -> Column:
    if column.role == "quasi" or extra:
        return Column(column.name, "quasi", "category", Flat(), weight=column.weight)
    if column.role == "keep":
        return Column(column.name, "keep")
    return replace(column, domain=None)


def read_cells(count: Recount, axes: Sequence[Axis]) -> Cells:
    """The classes' cells on real axes (in the order of these), read from their labels.

    Labels that an axis cannot read raise: guessing would hide a risk.
    """
    low, high, sets = [], [], {}
    column = {labels.name: j for j, labels in enumerate(count.tally.quasi)}
    for j, axis in enumerate(axes):
        labels = count.tally.quasi[column[axis.name]]
        codes = count.cut.cells.low[:, column[axis.name]]
        lows, highs, bits = _read(axis, [restored(leaf(labels, c)) for c in range(labels.size)])
        low.append(lows[codes])
        high.append(highs[codes])
        if bits is not None:
            sets[j] = bits[codes]
    return Cells(np.stack(low, axis=1), np.stack(high, axis=1), sets)


def _read(axis: Axis, texts: Sequence[Any]) -> tuple[Any, Any, Any]:
    if axis.shape == "flat":
        bits, readable = axis.parse_sets(texts)
        low = np.zeros(len(texts), np.int32)
        high = np.full(len(texts), axis.size - 1, np.int32)
    else:
        bits = None
        low, high, readable = axis.parse(texts)
    if not readable.all():
        raise InputError(
            f"Column {axis.name!r} has {int((~readable).sum())} labels that its hierarchy cannot "
            "read.",
            "give the hierarchy the labels were made with, in the schema.",
        )
    return low, high, bits


def with_population(count: Recount, population: Population, axes: Sequence[Axis]) -> Recount:
    """The same classes on real axes, so that models can ask whom the cells cover."""
    cells = read_cells(count, axes)
    tally = replace(count.tally, quasi=tuple(axes), keys=cells.low[count.cut.class_].T)
    return Recount(replace(tally, population=population), replace(count.cut, cells=cells))
