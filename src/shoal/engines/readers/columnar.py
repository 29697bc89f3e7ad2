"""The doors for columnar files, which the engine reads in place: Parquet and Feather."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.core.errors import InputError
from shoal.engines.readers.header import clean_names
from shoal.engines.readers.spool import Spool
from shoal.engines.type_inference.column_records import DuckConnection
from shoal.engines.type_inference.value_forms import quote_text

_PAGE_HEADER = 1 << 16  # bytes; a header with its statistics is far shorter
_COMPRESSED_SIZE, _DATA_PAGE, _DATA_PAGE_2 = 3, 5, 8  # the fields of a page's header
_DEPTH = 16  # of structures in a header
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)


def query_parquet(path: Path) -> str:
    """The query over a Parquet file, whatever its name holds.

    >>> query_parquet(Path("a[1].parquet"))
    "SELECT * FROM read_parquet('a[[]1].parquet')"
    """
    return f"SELECT * FROM read_parquet({_quote_path(path)})"


def _quote_path(path: Path) -> str:
    """A path as SQL; the engine would take some of its characters as patterns."""
    return quote_text(re.sub(r"([*?\[])", r"[\1]", str(path)))


def read_parquet(path: Path, engine: DuckConnection) -> str:
    """A Parquet file, checked."""
    try:
        described = pq.read_metadata(path)
        clean_names(described.schema.to_arrow_schema().names)
        _check_counts(path, engine, described)
    except (pa.ArrowException, duckdb.Error, OSError, OverflowError, UnicodeError, IndexError):
        raise InputError(
            f"{path.name} is not a Parquet file, or its columns nest too deeply.",
            "Export it again, with one value in each cell.",
        ) from None
    return query_parquet(path)


def _check_counts(path: Path, engine: DuckConnection, described: pq.FileMetaData) -> None:
    """Refuse a file whose end claims more or fewer rows than its pages hold.

    The engine takes the claim for the truth, and leaves the rows beyond it out. What the end says
    of columns is asked of the engine: Arrow ends the process where it is damaged.
    """
    chunks = engine.execute(
        "SELECT row_group_id, row_group_num_rows, column_id, num_values, data_page_offset,"
        f" dictionary_page_offset, total_compressed_size FROM parquet_metadata({_quote_path(path)})"
    ).fetchall()
    rows = sum({group: rows for group, rows, *_ in chunks}.values())
    agrees = rows == described.num_rows
    flat = [
        described.schema.column(place).max_repetition_level == 0
        for place in range(len(described.schema))
    ]
    with path.open("rb") as stream:
        for _, rows, place, values, *extent in chunks:
            if agrees and flat[place]:
                agrees = values == rows == _count_values(stream, *extent)
    if not agrees:
        raise InputError(
            f"{path.name} claims another number of rows than it holds.", "Export it again."
        )


def _count_values(stream: IO[bytes], data: int, dictionary: int | None, size: int) -> int:
    at = min(data, dictionary) if dictionary else data
    end, values = at + size, 0
    while 0 <= at < end:
        stream.seek(at)
        page, length = _read_struct(stream.read(min(end - at, _PAGE_HEADER)))
        packed = page.get(_COMPRESSED_SIZE)
        if not isinstance(packed, int) or packed < 0:
            raise OSError
        header = page.get(_DATA_PAGE, page.get(_DATA_PAGE_2))
        if isinstance(header, dict):
            count = header.get(1)
            values += count if isinstance(count, int) else 0
        at += length + packed
    return values


def read_feather(path: Path, engine: DuckConnection, spool: Spool) -> str:
    """An Arrow file, in place; the stream format is spooled."""
    from pyarrow import dataset  # slow to import, and only this door needs it

    try:
        opened = dataset.dataset(path, format="ipc")
        clean_names(opened.schema.names)
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            for batch in map(reader.get_batch, range(reader.num_record_batches)):
                batch.validate(full=True)  # the engine ends the process where it is damaged
    except (pa.ArrowException, OSError, UnicodeError):
        return _spool_stream(path, spool)
    engine.register("source", opened)
    return "SELECT * FROM source"


def _spool_stream(path: Path, spool: Spool) -> str:
    try:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            clean_names(reader.schema.names)
            return query_parquet(spool.batches(reader.schema, map(_validate, reader)))
    except (pa.ArrowException, OSError, UnicodeError):
        raise InputError(f"{path.name} is not an Arrow file.", "Export it again.") from None


def _validate(batch: pa.RecordBatch) -> pa.RecordBatch:
    batch.validate(full=True)
    return batch


def _read_struct(content: bytes) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and how many bytes it takes.

    Whole numbers and structures are returned, all else is passed over. Raises ``OSError`` where
    the bytes are no structure.

    >>> _read_struct(bytes([0x15, 0x04, 0x00]))
    ({1: 2}, 3)
    """
    reader = _Reader(content)
    try:
        return reader.struct(0), reader.at
    except IndexError:
        raise OSError("the structure is cut off") from None


class _Reader:
    """Thrift's compact protocol, as far as the header of a page needs it."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEPTH:
            raise OSError("the structure nests too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4
            self._skip(head & 15, self._varint() if size == 15 else size, depth)
        elif kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            for _ in range(size):
                self._skip(kinds >> 4, 1, depth)
                self._skip(kinds & 15, 1, depth)
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            size = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint()
            self.at += size
        else:
            raise OSError("the structure holds an unknown type")
        return None

    def _skip(self, kind: int, count: int, depth: int) -> None:
        if depth > _DEPTH:
            raise OSError("the structure nests too deeply")
        for _ in range(count):
            if self.at >= len(self.content):
                raise IndexError
            if kind in (_TRUE, _FALSE):  # in a list a truth value takes a byte
                self.at += 1
            else:
                self._value(kind, depth + 1)

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 70:
                return value

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
