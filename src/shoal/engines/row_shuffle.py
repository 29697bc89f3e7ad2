"""Rows in random order: where a row stands in a release must say nothing about where it came from.

The order is a uniform permutation drawn from the operating system's entropy; there is no seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing

import numpy as np
import pyarrow as pa

from shoal.core.errors import OutputError
from shoal.core.temporary_files import NamelessFile
from shoal.engines.writers import is_text_type

MAX_IN_MEMORY = 256 * 2**20
"""Bytes of rows that are permuted in memory; more go through buckets on disk."""

_BUCKETS = 64
_BATCH = 131_072
_FEW = 0.1  # distinct per row below which text is moved as integers


def shuffle_rows(
    batches: Iterator[pa.RecordBatch], *, in_memory: int = MAX_IN_MEMORY
) -> Iterator[pa.RecordBatch]:
    """The same rows in random order, in batches of the same schema.

    Rows beyond ``in_memory`` bytes each draw one of many buckets on disk, in files without a name,
    and each bucket is then shuffled: together again a uniform permutation (Rao 1961; Sandelius
    1962).
    """
    waiting, size = [], 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > in_memory:
            yield from _through_disk(waiting, batches, in_memory)
            return
    yield from _permute(waiting)


def _permute(waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # ``waiting`` is emptied as its columns are taken over, to free its memory.
    if not waiting:
        return
    schema = waiting[0].schema
    table = pa.Table.from_batches(waiting)
    waiting.clear()
    for i in range(table.num_columns):
        table = table.set_column(i, schema.names[i], _compact(table.column(i)))
    # 64 random bits a row: sorted, they are a permutation; two alike are as good as never
    order = np.argsort(np.frombuffer(os.urandom(8 * table.num_rows), np.uint64))
    for start in range(0, len(order), _BATCH):
        picked = pa.array(order[start : start + _BATCH])
        yield pa.RecordBatch.from_arrays(
            [
                _decode(column.chunk(0).take(picked), field.type)
                for column, field in zip(table.columns, schema, strict=True)
            ],
            schema=schema,
        )


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Text that repeats becomes a dictionary: rows are picked by position, far apart.
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    elif is_text_type(column.type) and len(column):
        sample = column.slice(0, _BATCH)
        if len(sample.unique()) < _FEW * len(sample):
            column = column.dictionary_encode()
    return pa.chunked_array([column.combine_chunks()])


def _decode(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    return column if column.type == wanted else column.dictionary_decode()


def _through_disk(
    waiting: list[pa.RecordBatch],
    rest: Iterator[pa.RecordBatch],
    in_memory: int,
) -> Iterator[pa.RecordBatch]:
    schema = waiting[0].schema
    with ExitStack() as files:
        buckets = [files.enter_context(closing(NamelessFile())) for _ in range(_BUCKETS)]
        with ExitStack() as stack:
            writers = [
                stack.enter_context(pa.ipc.new_stream(str(bucket.path), schema))
                for bucket in buckets
            ]
            while waiting:
                _scatter(waiting.pop(), writers)
            for batch in rest:
                _scatter(batch, writers)
        for bucket in buckets:
            bucket.rewind()
            size = bucket.path.stat().st_size
            with pa.OSFile(str(bucket.path)) as source, pa.ipc.open_stream(source) as reader:
                yield from shuffle_rows(iter(reader), in_memory=max(in_memory, size))
            bucket.close()


def _scatter(batch: pa.RecordBatch, buckets: list[pa.RecordBatchStreamWriter]) -> None:
    bucket_numbers = np.frombuffer(os.urandom(batch.num_rows), np.uint8) % _BUCKETS  # divides 256
    order = np.argsort(bucket_numbers, kind="stable")
    mixed = batch.take(pa.array(order))
    ends = np.cumsum(np.bincount(bucket_numbers, minlength=len(buckets)))
    try:
        for bucket, start, end in zip(buckets, [0, *ends[:-1]], ends, strict=True):
            if end > start:
                bucket.write_batch(mixed.slice(int(start), int(end - start)))
    except OSError as error:
        raise OutputError(
            f"Rows cannot be put into random order on disk: {error.strerror or 'write failed'}.",
            "Free space in the temporary folder, or set TMPDIR to a larger one.",
        ) from None
