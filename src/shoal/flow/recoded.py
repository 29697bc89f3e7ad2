"""From class numbers to published rows: labels in place of codes, private columns apart."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.flow.encode import Encoded
from shoal.flow.record import published
from shoal.frames.frame import Frame, Pieces
from shoal.frames.shuffle import shuffled
from shoal.frames.write import Writer, writer
from shoal.schema import Schema
from shoal.tally import Cut

Labels = tuple[NDArray[np.int32], pa.Array]
"""Per class the number of its label, and the labels (null: null)."""

PRIVATE_ROWS = "rows.parquet"
MANY_WORDS = 4096
"""Columns with more labels are written as plain text: each part of a file repeats a dictionary."""


def write_rows(
    frame: Frame,
    encoded: Encoded,
    cut: Cut,
    schema: Schema,
    table: Path,
    companion: Path,
    key: bytes,
    progress: Callable[[int, int], None],
) -> int:
    """Recode the rows in the engine, shuffle and write them; returns how many cells were defused.

    Provider and keyed person of each row go to the companion, in the same order.
    """
    columns = published(schema).names
    labels, hidden = _labels(encoded, cut), _private(schema)
    total, done = int(cut.count[cut.class_ >= 0].sum()), 0
    with closing(_recoded(frame, encoded, cut, schema, key)) as stream:
        first = next(stream, None)
        if first is None:
            raise InputError("No row was found again.", "publish from a copy nobody writes to.")
        with (
            writer(table, _rows(first, columns, labels).schema) as public,
            _private_writer(companion, _hidden(first, hidden)) as private,
        ):
            for batch in chain((first,), stream):
                public.write(_rows(batch, columns, labels))
                if private is not None:
                    private.write(_hidden(batch, hidden))
                done += batch.num_rows
                progress(done, total)
    return public.defused


def _recoded(
    frame: Frame, encoded: Encoded, cut: Cut, schema: Schema, key: bytes
) -> Generator[pa.RecordBatch, None, None]:
    carry = [c.name for c in published(schema).columns if c.role != "quasi"]
    carry += [schema.provider.name] if schema.provider else []
    person = schema.person.name if schema.person else None
    # The pieces are not kept here: the engine frees them as soon as it has them.
    yield from shuffled(frame.recode(encoded.codings, _pieces(encoded, cut), carry, person, key))


def _pieces(encoded: Encoded, cut: Cut) -> Pieces:
    codes = tuple(np.ascontiguousarray(column[cut.entry]) for column in encoded.codes())
    return Pieces(codes, cut.class_, cut.count)


def _labels(encoded: Encoded, cut: Cut) -> dict[str, Labels]:
    found = {}
    for j, axis in enumerate(encoded.tally.quasi):
        number, texts = cut.cells.labels(encoded.tally.quasi, j)
        found[axis.name] = number, pa.array(texts.tolist(), pa.string())
    return found


def _rows(
    batch: pa.RecordBatch, columns: tuple[str, ...], labels: dict[str, Labels]
) -> pa.RecordBatch:
    """The published columns of a batch, in the table's order."""
    class_ = batch.column(0).to_numpy(zero_copy_only=False)
    arrays = [
        _labelled(labels[name], class_) if name in labels else batch.column(name)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _labelled(labels: Labels, class_: NDArray[Any]) -> pa.Array:
    numbers, words = pa.array(labels[0][class_]), labels[1]
    if len(words) > MANY_WORDS or words.null_count:
        return words.take(numbers)
    return pa.DictionaryArray.from_arrays(numbers, words)


def _private(schema: Schema) -> dict[str, str]:
    """The columns of the companion's rows, by the names they have there."""
    provider = {"provider": schema.provider.name} if schema.provider else {}
    return provider | ({"person": "person_"} if schema.person else {})


def _hidden(batch: pa.RecordBatch, columns: dict[str, str]) -> pa.RecordBatch:
    """The private columns of a batch."""
    arrays = [batch.column(-1 if name == "person" else at) for name, at in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


@contextmanager
def _private_writer(companion: Path, first: pa.RecordBatch) -> Iterator[Writer | None]:
    wanted = first.num_columns > 0
    with writer(companion / PRIVATE_ROWS, first.schema) if wanted else nullcontext() as private:
        yield private
