"""The CSV door: every record checked against the header, everything read as text.

Python's own parser reads the whole file once, because it can say of each wrong row in which line
it begins, line breaks inside quotes included, and never skips or pads one.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, ShoalError
from shoal.frames.dialect import Dialect, detect, glimpse, reader, text
from shoal.frames.header import FIRST_ROW, Head, WrongRows, clean_names
from shoal.frames.source import TextStyle
from shoal.frames.spool import Spool

if TYPE_CHECKING:
    from _csv import Reader

_HINT = "Correct these rows, or set delimiter= or quote= if the file was misread."
_UNCLOSED = "a quote is not closed, or a field is over 128 KB"


def read_csv(
    path: Path,
    spool: Spool,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    head: Head = FIRST_ROW,
) -> tuple[Path, tuple[str, ...], TextStyle]:
    """Spool a text table; returns the Parquet file, what was noticed, and how it is written."""
    dialect = detect(path, delimiter, quote, encoding)
    with text(path, dialect.encoding) as stream:
        records = reader(stream, dialect)
        top = _header(records, path, 0 if head.absent else head.at)
        names = clean_names([""] * len(top) if head.absent else top)
        rows = _records(records, len(names))
        rows = chain([top], rows) if head.absent else rows
        first = next(rows, None)
        if first is None:
            raise InputError(f"{path.name} has a header but no rows.", "Check the export.")
        spooled = spool.rows(names, chain([first], rows))
    return spooled, _notes(dialect, encoding), _style(dialect)


def glimpse_names(
    path: Path,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    head: Head = FIRST_ROW,
) -> list[str] | None:
    """The names in a text table's header, before any of its rows is read; None where unclear."""
    try:
        dialect = glimpse(path, delimiter, quote, encoding)
        with text(path, dialect.encoding) as stream:
            top = _header(reader(stream, dialect), path, 0 if head.absent else head.at)
        return clean_names([""] * len(top) if head.absent else top)
    except (ShoalError, OSError, EOFError, ValueError, LookupError, zlib.error):
        return None  # reading it says what is wrong


def _style(dialect: Dialect) -> TextStyle:
    plain = dialect.encoding == "utf-8-sig" and not dialect.marked
    return TextStyle(dialect.delimiter, encoding="utf-8" if plain else dialect.encoding)


def _notes(dialect: Dialect, given: str | None) -> tuple[str, ...]:
    if dialect.encoding != "cp1252" or given:
        return ()
    return ("the file is not UTF-8 and is read as Windows-1252 (set with --encoding)",)


def _header(records: Reader, path: Path, above: int) -> list[str]:
    """The row that names the columns, ``above`` so many; empty lines on top do not count."""
    try:
        return next(islice((row for row in records if row), above, None))
    except (csv.Error, StopIteration):
        raise InputError(
            f"The header of {path.name} cannot be read.", "Check the quotes in its first line."
        ) from None


def _records(records: Reader, width: int) -> Iterator[list[str]]:
    """The rows that fit, until one does not; then the rest is only counted, and an error raised."""
    wrong = WrongRows(width)
    blank: list[int] = []  # empty lines are harmless at the end of the file, and only there
    while True:
        line = records.line_num + 1
        try:
            row = next(records)
        except StopIteration:
            break
        except csv.Error as error:
            fault = _fault(str(error))
            wrong.add(line, fault)
            if fault == _UNCLOSED:  # what follows cannot be told apart from the open field
                break
            continue
        if len(row) == width and not blank:
            if not wrong.count:
                yield row
        elif not row:
            blank.append(line)
            if width == 1 and not wrong.count:
                blank.clear()
                yield [""]
        else:
            for empty in blank:
                wrong.fields(empty, 0)
            blank.clear()
            if len(row) != width:
                wrong.fields(line, len(row))
    wrong.check(_HINT)


def _fault(message: str) -> str:
    """The parser's complaint in our words, which never quote the file."""
    if "field larger" in message or "end of data" in message:
        return _UNCLOSED
    return "text after a closing quote"
