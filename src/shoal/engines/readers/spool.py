"""Private files for sources that can be read only once.

What streams past (CSV, Excel, a database cursor, an Arrow stream) is written as Parquet into files
without a name, so that memory does not grow with the rows and nothing of them outlives this
process. They go when the frame is closed, collected, or the program ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.core.errors import InputError
from shoal.core.temporary_files import NamelessFile

_CELLS = 500_000  # cells converted at a time: a few tens of megabytes
_CHARACTERS = 1 << 24  # and no more text than this, however long the cells are
_GROUP_ROWS = 122_880  # rows that are stored together: the engine's own number
_GROUP_BYTES = 1 << 24  # and no more than this
_ROWS = 64  # rows whose text is counted together

Row = Sequence[str | None]


class Spool:
    """Files that remove themselves, each known by a path that leads to it in this process.

    >>> spool = Spool()
    >>> pq.read_metadata(spool.rows(["a"], [["1"], [None]])).num_rows
    2
    >>> spool.close()
    """

    def __init__(self) -> None:
        self._files: list[NamelessFile] = []
        self.longest: dict[str, int] = {}
        """Bytes of the longest text of each column that came as rows of text."""

    def path(self) -> Path:
        """The place for one more file."""
        self._files.append(NamelessFile())
        return self._files[-1].path

    def rows(self, names: Sequence[str], rows: Iterable[Row]) -> Path:
        """Write rows of text under ``names``; every row has as many cells as there are names."""
        schema = pa.schema([(name, pa.string()) for name in names])
        return self.batches(schema, self._measure_texts(_text_batches(schema, rows)))

    def _measure_texts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                self.longest[name] = max(self.longest.get(name, 0), _longest_text_bytes(column))
            yield batch

    def batches(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Path:
        """Write Arrow batches as they come."""
        try:
            path = self.path()
            with pq.ParquetWriter(path, schema) as writer:
                for group in _group_batches(batches):
                    writer.write_table(pa.Table.from_batches(group, schema))
        except OSError as error:
            raise InputError(
                f"The temporary folder cannot be written ({error.strerror or 'no reason given'}).",
                "Free some space, or set TMPDIR to a folder with room for the table.",
            ) from None
        return path

    def close(self) -> None:
        """Let go of the files; a second call does nothing."""
        for file in self._files:
            file.close()


def _text_batches(schema: pa.Schema, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    size = max(256, _CELLS // max(1, len(schema)))
    stream = iter(rows)
    block: list[Row] = []
    characters = 0
    while lot := list(islice(stream, _ROWS)):
        block += lot
        characters += sum(map(len, filter(None, chain.from_iterable(lot))))
        if len(block) >= size or characters >= _CHARACTERS:
            yield _text_batch(schema, block)
            block, characters = [], 0
    if block:
        yield _text_batch(schema, block)


def _text_batch(schema: pa.Schema, block: list[Row]) -> pa.RecordBatch:
    columns = [pa.array(column, pa.string()) for column in zip(*block, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _group_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """The batches by groups of rows: each piece of a column costs a reader time of its own."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def _longest_text_bytes(texts: pa.Array) -> int:
    """The bytes of the longest of the texts; by their ends, because an array of its own for each
    of thousands of columns takes longer than the texts themselves.
    """
    ends = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)
    return int(np.diff(ends).max(initial=0))
