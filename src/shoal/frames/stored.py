"""The doors for columnar files, which the engine reads in place: Parquet and Feather."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.frames.column import Engine
from shoal.frames.forms import literal
from shoal.frames.header import clean_names
from shoal.frames.spool import Spool


def parquet(path: Path) -> str:
    """The query over a Parquet file, whatever its name holds.

    >>> parquet(Path("a[1].parquet"))
    "SELECT * FROM read_parquet('a[[]1].parquet')"
    """
    exact = re.sub(r"([*?\[])", r"[\1]", str(path))  # the engine would take these as patterns
    return f"SELECT * FROM read_parquet({literal(exact)})"


def read_parquet(path: Path) -> str:
    """A Parquet file, checked."""
    try:
        clean_names(pq.read_schema(path).names)
    except pa.ArrowException:
        raise InputError(f"{path.name} is not a Parquet file.", "Export it again.") from None
    return parquet(path)


def read_feather(path: Path, engine: Engine, spool: Spool) -> str:
    """An Arrow file, in place; the stream format is spooled."""
    from pyarrow import dataset  # slow to import, and only this door needs it

    try:
        opened = dataset.dataset(path, format="ipc")
        clean_names(opened.schema.names)
    except pa.ArrowException:
        return _stream(path, spool)
    engine.register("source", opened)
    return "SELECT * FROM source"


def _stream(path: Path, spool: Spool) -> str:
    try:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            clean_names(reader.schema.names)
            return parquet(spool.batches(reader.schema, reader))
    except pa.ArrowException:
        raise InputError(f"{path.name} is not an Arrow file.", "Export it again.") from None
