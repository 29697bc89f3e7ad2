"""The doors for tables already in memory: pandas, Polars, Arrow, DuckDB, and any Arrow stream.

Modules are recognised by name, so that none of them is imported for a user who has not done so.
A pandas index is not a column: what matters in it must be made one with `reset_index()`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shoal.core.errors import InputError, UsageError
from shoal.engines.readers.columnar import query_parquet
from shoal.engines.readers.header import clean_names
from shoal.engines.readers.spool import Spool
from shoal.engines.type_inference.column_records import DuckConnection

_NESTED = (list, tuple, set, dict, bytes, bytearray)


def read_object(source: Any, engine: DuckConnection, spool: Spool) -> str:
    """A query over an object; what can be read only once is spooled."""
    origin = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    if isinstance(source, pa.RecordBatch):
        return _register(engine, pa.Table.from_batches([source]))
    if isinstance(source, pa.Table):
        return _register(engine, source)
    if origin == "pandas" and kind == "DataFrame":
        return _register(engine, _convert_pandas(source))
    if origin == "polars" and kind == "LazyFrame":
        path = spool.path()
        clean_names(source.collect_schema().names())
        source.sink_parquet(path)
        return query_parquet(path)
    if origin == "polars" and kind == "DataFrame":
        return _register(engine, source.to_arrow())
    if hasattr(source, "__arrow_c_stream__"):
        return _spool_stream(source, spool)
    raise UsageError(
        f"A {kind} is not a table.",
        "Give a path, a database URL, or a pandas, Polars, Arrow or DuckDB table.",
    )


def _spool_stream(source: Any, spool: Spool) -> str:
    reader = pa.RecordBatchReader.from_stream(source)
    clean_names(reader.schema.names)
    schema = pa.schema([field.with_type(_readable_type(field.type)) for field in reader.schema])
    return query_parquet(spool.batches(schema, (batch.cast(schema) for batch in reader)))


def _register(engine: DuckConnection, table: pa.Table) -> str:
    clean_names(table.column_names)
    plain = pa.schema([field.with_type(_readable_type(field.type)) for field in table.schema])
    engine.register("source", table.cast(plain) if plain != table.schema else table)
    return "SELECT * FROM source"


def _readable_type(kind: pa.DataType) -> pa.DataType:
    """The type in a form the engine reads: no half floats, no categories of numbers."""
    if pa.types.is_dictionary(kind) and not (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    ):
        return _readable_type(kind.value_type)
    return pa.float32() if pa.types.is_float16(kind) else kind


def _convert_pandas(frame: Any) -> pa.Table:
    names = clean_names(frame.columns)
    columns = [_convert_series(name, frame.iloc[:, place]) for place, name in enumerate(names)]
    return pa.table(dict(zip(names, columns, strict=True)))


def _convert_series(name: str, series: Any) -> pa.Array | pa.ChunkedArray:
    """One column, NaN as null; a mixture of types is read as the text of its cells."""
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):  # cells of several types
        return _convert_mixture(name, series)


def _convert_mixture(name: str, series: Any) -> pa.Array:
    cells = [None if cell is None or cell != cell else cell for cell in series]
    if nested := sum(isinstance(cell, _NESTED) for cell in cells):
        raise InputError(
            f"{nested:,} cells of column {name!r} are lists, records or binary data.",
            "Leave it out, or give each part a column of its own.",
        )
    try:
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    except UnicodeError:
        raise InputError(
            f"Column {name!r} holds text that is not Unicode.", "Repair the text, or leave it out."
        ) from None
