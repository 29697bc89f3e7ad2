"""Private files for sources that can be read only once.

What streams past (CSV, Excel, a database cursor, an Arrow stream) is written as Parquet into files
without a name, so that memory does not grow with the rows and nothing of them outlives this
process. They go when the frame is closed, collected, or the program ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.scratch import Nameless

_CELLS = 500_000  # cells converted at a time: a few tens of megabytes
_CHARACTERS = 1 << 25  # and no more text than this, however long the cells are
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
        self._files: list[Nameless] = []

    def path(self) -> Path:
        """The place for one more file."""
        self._files.append(Nameless())
        return self._files[-1].path

    def rows(self, names: Sequence[str], rows: Iterable[Row]) -> Path:
        """Write rows of text under ``names``; every row has as many cells as there are names."""
        schema = pa.schema([(name, pa.string()) for name in names])
        return self.batches(schema, _text_batches(schema, rows))

    def batches(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Path:
        """Write Arrow batches as they come."""
        try:
            path = self.path()
            with pq.ParquetWriter(path, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
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
    while some := list(islice(stream, _ROWS)):
        block += some
        characters += sum(map(len, filter(None, chain.from_iterable(some))))
        if len(block) >= size or characters >= _CHARACTERS:
            yield _text_batch(schema, block)
            block, characters = [], 0
    if block:
        yield _text_batch(schema, block)


def _text_batch(schema: pa.Schema, block: list[Row]) -> pa.RecordBatch:
    columns = [pa.array(column, pa.string()) for column in zip(*block, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
