"""Write the release's table: rows in random order, labels for classes, private columns apart."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import InputError
from shoal.core.schema import Schema
from shoal.engines.row_shuffle import shuffle_rows
from shoal.engines.source import STANDARD_STYLE, TextStyle
from shoal.engines.writers import Writer, open_writer
from shoal.releases.draft import Draft, Labels
from shoal.releases.folder import PRIVATE_ROWS
from shoal.releases.manifest import published_schema
from shoal.releases.options import Request

AT_ONCE = 131_072
"""So many rows of a table at hand are written at once."""
MANY_WORDS = 4096
"""Columns with more labels are written as plain text: each part of a file repeats a dictionary."""


def write_rows(draft: Draft, request: Request, table: Path, companion: Path, key: bytes) -> int:
    """Shuffle the recoded rows and write them; returns how many cells were defused.

    The labels are asked for once all rows have been read: until then classes may still be made.
    Provider and keyed person of each row go to the companion, in the same order.
    """
    columns = published_schema(request.schema).names
    hidden = list_private_columns(request.schema)
    done = 0
    with closing(_shuffle(draft.rows(key))) as stream:
        first = next(stream, None)
        if first is None:
            raise InputError("No row was found again.", "publish from a copy nobody writes to.")
        labels, total = draft.labels(), draft.counts().rows
        with (
            open_writer(
                table, _label_rows(first, columns, labels).schema, style=request.style
            ) as public,
            _private_writer(companion, _select_private(first, hidden)) as private,
        ):
            for batch in chain((first,), stream):
                public.write(_label_rows(batch, columns, labels))
                if private is not None:
                    private.write(_select_private(batch, hidden))
                done += batch.num_rows
                request.progress("writing", done, total)
    return public.defused


def write_whole_table(path: Path, table: pa.Table, style: TextStyle = STANDARD_STYLE) -> int:
    """Write a table that is at hand as it is; returns how many cells were defused."""
    with open_writer(path, table.schema, style=style) as sink:
        for batch in table.to_batches(AT_ONCE):
            sink.write(batch)
    return sink.defused


def _shuffle(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, None]:
    yield from shuffle_rows(batches)


def _label_rows(
    batch: pa.RecordBatch, columns: tuple[str, ...], labels: dict[str, Labels]
) -> pa.RecordBatch:
    class_ = batch.column(0).to_numpy(zero_copy_only=False)
    carried = iter(batch.columns[1:])  # by position: a column may have any name
    arrays = [
        _take_labels(labels[name], class_) if name in labels else next(carried) for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _take_labels(labels: Labels, class_: NDArray[Any]) -> pa.Array:
    numbers, words = pa.array(labels[0][class_]), labels[1]
    if len(words) > MANY_WORDS or words.null_count:
        return words.take(numbers)
    return pa.DictionaryArray.from_arrays(numbers, words)


def list_private_columns(schema: Schema) -> list[str]:
    """The columns of the companion's rows: the last of each batch, in this order."""
    return ["provider"] * bool(schema.provider) + ["person"] * bool(schema.person)


def _select_private(batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
    first = batch.num_columns - len(columns)
    return pa.RecordBatch.from_arrays(batch.columns[first:], names=columns)


@contextmanager
def _private_writer(companion: Path, first: pa.RecordBatch) -> Iterator[Writer | None]:
    wanted = first.num_columns > 0
    rows = companion / PRIVATE_ROWS
    with open_writer(rows, first.schema) if wanted else nullcontext() as private:
        if wanted:
            rows.chmod(0o600)
        yield private
