"""Anything out: a stream of record batches into a CSV, Excel, Parquet or Arrow file.

Spreadsheets run text that begins like a formula. In CSV and Excel such cells get a leading
apostrophe ("CSV injection"; OWASP) and are counted, so that the manifest can say so.
"""

from __future__ import annotations

import codecs
import datetime
import gzip
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from shoal.core import temporary_files
from shoal.core.errors import OutputError, UsageError
from shoal.core.labels import FORMULA_START
from shoal.engines.source import STANDARD_STYLE, TextStyle

FORMATS = (".csv", ".csv.gz", ".parquet", ".feather", ".arrow", ".xlsx")

_EXCEL_ROWS = 1_048_575  # one of Excel's 1,048,576 is the header
_EXCEL_COLUMNS = 16_384
_EXCEL_TEXT = 32_767
_NO_TIME = datetime.datetime(1980, 1, 1)
_EXCEL_EXACT = 10**15  # Excel keeps 15 digits; longer numbers are written as text
_ELSEWHERE = "Write .parquet or .csv instead."
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"


class _Sink(Protocol):
    def write(self, batch: pa.RecordBatch) -> object: ...

    def close(self) -> object: ...


class Writer:
    """Writes batches to one file and counts the cells it defused."""

    def __init__(self, sink: _Sink, schema: pa.Schema, defuse: bool) -> None:
        self._sink = sink
        self._text = [i for i, field in enumerate(schema) if defuse and is_text_type(field.type)]
        self.defused = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the batch's rows."""
        for i in self._text:
            column, count = defuse_formulas(batch.column(i))
            if count:
                self.defused += count
                batch = batch.set_column(i, batch.schema.field(i), column)
        self._sink.write(batch)


@contextmanager
def open_writer(
    path: Path, schema: pa.Schema, *, defuse: bool = True, style: TextStyle = STANDARD_STYLE
) -> Iterator[Writer]:
    """Open ``path`` in the format its suffix names; what could not be finished is removed.

    ``style`` is how CSV is written.
    ``defuse`` only matters where a spreadsheet reads text as if typed in: CSV and Excel.
    """
    suffix = find_format(path)
    if risky := [name for name in schema.names if re.match(FORMULA_START, name)]:
        raise UsageError(
            f"{len(risky)} column names begin like a formula, which a spreadsheet would run.",
            "rename them.",
        )
    opened = False
    try:
        with _translate_errors(), _open_file(path) as handle:
            opened = True
            sink = _make_sink(suffix, handle, schema, style)
            try:
                yield Writer(sink, schema, defuse and suffix in (".csv", ".csv.gz", ".xlsx"))
            except BaseException:
                with suppress(OSError, pa.ArrowException):  # the first error is the one to show
                    sink.close()
                raise
            sink.close()
    except BaseException:
        if opened:
            path.unlink(missing_ok=True)
        raise


def find_format(path: Path) -> str:
    """The format a file name asks for.

    >>> find_format(Path("patients.CSV.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    for suffix in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise UsageError(
        f"The format of {path.name!r} is not known.", f"End the name in one of {' '.join(FORMATS)}."
    )


def defuse_formulas(column: pa.Array) -> tuple[pa.Array, int]:
    """The column with an apostrophe before each text a spreadsheet would run, and how many.

    >>> defuse_formulas(pa.array(["=1+1", "-5", "-x", None]))[0].to_pylist()
    ["'=1+1", '-5', "'-x", None]
    """
    if pa.types.is_dictionary(column.type):
        words, risky = _mark_formulas(column.dictionary)
        if not pc.any(risky).as_py():
            return column, 0
        count = pc.sum(risky.take(column.indices)).as_py() or 0
        return pa.DictionaryArray.from_arrays(column.indices, words), count
    words, risky = _mark_formulas(column)
    return words, pc.sum(risky).as_py() or 0


def _mark_formulas(words: pa.Array) -> tuple[pa.Array, pa.Array]:
    risky = pc.and_(
        pc.match_substring_regex(words, FORMULA_START),
        pc.invert(pc.match_substring_regex(words, _NUMBER)),
    )
    safe = pc.replace_substring_regex(words, pattern="^", replacement="'", max_replacements=1)
    return pc.if_else(pc.fill_null(risky, False), safe, words), risky


def is_text_type(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, as a dictionary or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn what the disk or a format refuses into an error without cell values."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"The file cannot be written: {error.strerror or 'the disk failed'}.",
            "Choose a folder you may write to, with enough free space.",
        ) from None
    except UnicodeEncodeError as error:
        raise OutputError(
            f"The file cannot be written in the encoding {error.encoding}.",
            "Add --csv-style standard, which is UTF-8.",
        ) from None
    except pa.ArrowException as error:
        raise OutputError(
            f"The file cannot be written ({type(error).__name__}).",
            "Choose another format, such as .parquet.",
        ) from None


class _Csv:
    """Lines built column-wise; a quote only where RFC 4180 needs it, null empty, empty ``""``."""

    def __init__(self, handle: IO[bytes], schema: pa.Schema, style: TextStyle) -> None:
        self._handle = handle
        self._style = style
        self._encode = (
            None if style.encoding == "utf-8" else codecs.getincrementalencoder(style.encoding)()
        )
        # A line of one empty cell is a blank line, which readers skip: the row would vanish.
        self._null = '""' if len(schema) == 1 else ""
        names = [pa.array([name], pa.large_string()) for name in schema.names]
        self._lines([_quote_cells(name, style) for name in names])

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows and batch.num_columns:
            self._lines([_format_cells(column, self._style) for column in batch.columns])

    def close(self) -> None:
        self._handle.close()

    def _lines(self, columns: list[pa.Array]) -> None:
        line = pc.binary_join_element_wise(
            *columns,
            pa.scalar(self._style.delimiter, pa.large_string()),
            null_handling="replace",
            null_replacement=self._null,
        )
        ended = pc.binary_join_element_wise(
            line, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
        )
        _, ends, text = ended.buffers()
        written = memoryview(text)[: np.frombuffer(ends, np.int64)[len(ended)]]
        if self._encode is None:
            self._handle.write(written)
        else:
            self._handle.write(self._encode.encode(bytes(written).decode("utf-8")))


def _format_cells(column: pa.Array, style: TextStyle) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return _format_cells(column.dictionary, style).take(column.indices)
    words = column.cast(pa.large_string())
    if is_text_type(column.type):
        return _quote_cells(words, style)
    has_decimals = pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    if style.decimal == "." or not has_decimals:
        return words
    words = pc.replace_substring(words, ".", style.decimal)
    return _quote_cells(words, style) if style.delimiter == style.decimal else words


def _quote_cells(words: pa.Array, style: TextStyle) -> pa.Array:
    marks = rf'["{re.escape(style.delimiter)}\r\n]|^\s|\s$'
    needed = pc.or_(pc.match_substring_regex(words, marks), pc.equal(words, ""))
    if not pc.any(needed).as_py():
        return words
    mark, none = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(words, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise(mark, doubled, mark, none), words)


class _Excel:
    """One sheet, a row at a time; every text is written as text, never as a formula or link."""

    def __init__(self, handle: IO[bytes], schema: pa.Schema) -> None:
        import xlsxwriter  # only this format needs it

        if len(schema) > _EXCEL_COLUMNS:
            raise OutputError(f"Excel holds at most {_EXCEL_COLUMNS:,} columns.", _ELSEWHERE)
        self._handle = handle
        self._draft = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the sink
        # The library writes rows to files that it names, closes and opens again.
        self._parts = temporary_files.make_folder()
        weakref.finalize(self, temporary_files.remove_folder, self._parts)
        temporary_files.hide_names(self._parts)
        parts = {"constant_memory": True, "tmpdir": str(self._parts)}
        self._book = xlsxwriter.Workbook(self._draft, parts)
        self._book.set_properties({"created": _NO_TIME})  # when it was made is nobody's business
        self._sheet = self._book.add_worksheet()
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._time = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._rows = 0
        for i, name in enumerate(schema.names):
            self._sheet.write_string(0, i, name)

    def write(self, batch: pa.RecordBatch) -> None:
        if self._rows + batch.num_rows > _EXCEL_ROWS:
            raise OutputError(f"Excel holds at most {_EXCEL_ROWS:,} rows.", _ELSEWHERE)
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            self._rows += 1
            for i, value in enumerate(row):
                if value is not None:
                    self._cell(i, value)

    def _cell(self, column: int, value: Any) -> None:
        sheet, row = self._sheet, self._rows
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float, Decimal)) and abs(float(value)) < _EXCEL_EXACT:
            sheet.write_number(row, column, float(value))
        elif isinstance(value, datetime.datetime) and value.year >= 1900:
            sheet.write_datetime(row, column, value.replace(tzinfo=None), self._time)
        elif isinstance(value, datetime.date) and value.year >= 1900:  # Excel knows none before
            sheet.write_datetime(row, column, value, self._day)
        elif value == value:  # NaN is null
            text = str(value)
            if len(text) > _EXCEL_TEXT:
                raise OutputError(
                    f"Excel holds at most {_EXCEL_TEXT:,} characters in a cell.", _ELSEWHERE
                )
            sheet.write_string(row, column, text)

    def close(self) -> None:
        """Copy the finished book: a zip that fails half-way complains again when collected."""
        with self._draft:
            self._book.close()
            self._draft.seek(0)
            shutil.copyfileobj(self._draft, self._handle)
        temporary_files.remove_folder(self._parts)
        self._handle.close()


class _Arrow:
    """Parquet or Arrow's own format: both write through pyarrow into an open file."""

    def __init__(self, handle: IO[bytes], inner: Any) -> None:
        self._handle, self._inner = handle, inner

    def write(self, batch: pa.RecordBatch) -> None:
        self._inner.write_batch(batch)

    def close(self) -> None:
        self._inner.close()
        self._handle.close()


def _make_sink(suffix: str, handle: IO[bytes], schema: pa.Schema, style: TextStyle) -> _Sink:
    if suffix == ".xlsx":
        return _Excel(handle, schema)
    if suffix == ".parquet":
        return _Arrow(handle, pa.parquet.ParquetWriter(handle, schema, compression="zstd"))
    if suffix in (".feather", ".arrow"):
        options = pa.ipc.IpcWriteOptions(compression="zstd", emit_dictionary_deltas=True)
        return _Arrow(handle, pa.ipc.new_file(handle, schema, options=options))
    return _Csv(handle, schema, style)


@contextmanager
def _open_file(path: Path) -> Iterator[IO[bytes]]:
    """The file, compressed where its name says so; without a name or time inside."""
    with path.open("wb") as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw
            return
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
