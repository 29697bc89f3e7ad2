"""The CSV door: every record checked against the header, everything read as text.

The encoding is judged on the whole file, because one name with an accent in the last row is enough
to make it another; delimiter and quotes are judged on the head. Python's own parser reads the whole
file once, because it can say of each wrong row in which line it begins, line breaks inside quotes
included, and never skips or pads one.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from shoal.core.errors import InputError, ShoalError, UsageError
from shoal.engines.readers.header import FIRST_ROW, HeaderPlace, WrongRows, clean_names
from shoal.engines.readers.spool import Spool
from shoal.engines.source import TextStyle

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t|"
LINE_LIMIT = 1 << 21  # bytes; longer lines are not a table, and would have to fit in memory
_HINT = "Correct these rows, or set delimiter= or quote= if the file was misread."
_UNCLOSED = "a quote is not closed, or a field is over 128 KB"
_CHUNK = 1 << 20
_HEAD = 1 << 18
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """Everything needed to read a text table; ``quote`` is empty where nothing is quoted."""

    encoding: str
    delimiter: str
    quote: str
    marked: bool = False
    """Whether it begins with a byte-order mark, by which Excel knows UTF-8."""


def detect_dialect(
    path: Path, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> Dialect:
    """The dialect of a file; what the caller states is not looked for."""
    for what, character in (("delimiter", delimiter or ","), ("quote", quote or '"')):
        if len(character) != 1:
            raise UsageError(f"The {what} must be one character.", f"Set {what}= to one character.")
    return _detect_shape(path, _detect_encoding(path, encoding), delimiter, quote)


def _detect_shape(path: Path, encoding: str, delimiter: str | None, quote: str | None) -> Dialect:
    with open_text(path, encoding) as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        raise InputError(f"{path.name} is empty.", "Check that the export finished.")
    mark = _detect_quote(head) if quote is None else quote
    with _open_bytes(path) as start:
        marked = start.read(3).startswith(codecs.BOM_UTF8)
    return Dialect(encoding, delimiter or _detect_delimiter(head, mark), mark, marked)


def open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    """The file as text, unpacked, with its line ends as they are."""
    return io.TextIOWrapper(_open_bytes(path), encoding=encoding, newline="")


def _open_bytes(path: Path) -> IO[bytes]:
    stream = path.open("rb")
    packed = stream.read(2) == b"\x1f\x8b"
    if not packed:
        stream.seek(0)
        return stream
    stream.close()
    return cast("IO[bytes]", gzip.open(path, "rb"))


def _read_chunks(path: Path) -> Iterator[bytes]:
    try:
        with _open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path.name} is not a whole gzip file.", "Copy it again.") from None


def _detect_encoding(path: Path, stated: str | None) -> str:
    """Read the file once: lines of bounded length, no NUL, and every byte valid."""
    head = next(_read_chunks(path), b"")[:4]
    name = stated or next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
    try:
        name = "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name
        decoder = codecs.getincrementaldecoder(name)()
    except LookupError:
        raise UsageError(f"There is no encoding {name!r}.", "Try encoding='latin-1'.") from None
    if _is_valid_text(path, name, decoder):
        return name
    cp1252 = codecs.getincrementaldecoder("cp1252")()
    if stated or name != "utf-8-sig" or head.startswith(codecs.BOM_UTF8):
        raise InputError(f"{path.name} is not valid {name}.", "Set encoding= to the right one.")
    if not _is_valid_text(path, "cp1252", cp1252):
        raise InputError(
            f"{path.name} is neither UTF-8 nor Windows-1252.", "Set encoding= to the right one."
        )
    return "cp1252"


def _is_valid_text(path: Path, name: str, decoder: codecs.IncrementalDecoder) -> bool:
    """Whether every byte decodes; NUL bytes and endless lines are errors on the way."""
    wide = "16" in name or "32" in name
    lines, length = 0, 0
    for chunk in _read_chunks(path):
        if not wide and b"\0" in chunk:
            line = 1 + lines + _count_line_ends(chunk[: chunk.index(b"\0")])
            raise InputError(
                f"{path.name} holds NUL bytes, the first in line {line:,}.",
                "If it is text in another encoding, set encoding='utf-16'; else export it again.",
            )
        length = _check_line_length(path, chunk, length, lines)
        if not _decodes(decoder, chunk):
            return False
        lines += _count_line_ends(chunk)
    return _decodes(decoder, b"", final=True)


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _count_line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")


def _check_line_length(path: Path, chunk: bytes, length: int, lines: int) -> int:
    """The bytes since the last line end, or an error when a line is longer than the limit."""
    last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
    if last >= 0:
        return len(chunk) - last - 1
    if length + len(chunk) > LINE_LIMIT:
        raise InputError(
            f"Line {lines + 1:,} of {path.name} is longer than {LINE_LIMIT >> 20} MB.",
            "Check that this is a table with one person per line.",
        )
    return length + len(chunk)


def _detect_quote(head: str) -> str:
    """Single quotes only where fields are wrapped in them and no field in double ones."""
    single, double = (
        len(re.findall(rf"(?:^|[,;\t|]){mark}[^{mark}\n]*{mark}(?=[,;\t|\r\n]|$)", head, re.M))
        for mark in "'\""
    )
    return "'" if single > 1 and not double else '"'


def _detect_delimiter(head: str, quote: str) -> str:
    """The delimiter under which most rows are as wide as the header."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        widths = _count_fields(head, delimiter, quote)
        agree = sum(width == widths[0] for width in widths) / len(widths)
        return widths[0] > 1, agree, widths[0]

    return max(DELIMITERS, key=score)


def _count_fields(head: str, delimiter: str, quote: str) -> list[int]:
    lines = io.StringIO(head, newline="")
    try:
        rows = [len(row) for row in make_reader(lines, Dialect("", delimiter, quote), strict=False)]
    except csv.Error:  # a field beyond the csv module's limit: not this delimiter
        return [1]
    whole = rows[:-1] if len(head) == _HEAD else rows  # the head may end inside a row
    return [width for width in whole if width] or [1]


def make_reader(lines: Iterator[str] | IO[str], dialect: Dialect, strict: bool = True) -> Reader:
    """Python's CSV reader for a dialect."""
    return csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        strict=strict,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
    )


def read_csv(
    path: Path,
    spool: Spool,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    head: HeaderPlace = FIRST_ROW,
) -> tuple[Path, tuple[str, ...], TextStyle]:
    """Spool a text table; returns the Parquet file, what was noticed, and how it is written."""
    dialect = detect_dialect(path, delimiter, quote, encoding)
    with open_text(path, dialect.encoding) as stream:
        records = make_reader(stream, dialect)
        top = _read_header(records, path, 0 if head.absent else head.at)
        names = clean_names([""] * len(top) if head.absent else top)
        rows = _check_records(records, len(names))
        rows = chain([top], rows) if head.absent else rows
        first = next(rows, None)
        if first is None:
            raise InputError(f"{path.name} has a header but no rows.", "Check the export.")
        spooled = spool.rows(names, chain([first], rows))
    return spooled, _note_encoding(dialect, encoding), _style(dialect)


def glimpse_names(
    path: Path,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    head: HeaderPlace = FIRST_ROW,
) -> list[str] | None:
    """The names in a text table's header, before any of its rows is read; None where unclear."""
    try:
        # By the beginning alone: whether the rest is text in this encoding, nobody has read.
        dialect = _detect_shape(path, encoding or "utf-8-sig", delimiter, quote)
        with open_text(path, dialect.encoding) as stream:
            top = _read_header(make_reader(stream, dialect), path, 0 if head.absent else head.at)
        return clean_names([""] * len(top) if head.absent else top)
    except (ShoalError, OSError, EOFError, ValueError, LookupError, zlib.error):
        return None  # reading it says what is wrong


def _style(dialect: Dialect) -> TextStyle:
    plain = dialect.encoding == "utf-8-sig" and not dialect.marked
    return TextStyle(dialect.delimiter, encoding="utf-8" if plain else dialect.encoding)


def _note_encoding(dialect: Dialect, stated: str | None) -> tuple[str, ...]:
    if dialect.encoding != "cp1252" or stated:
        return ()
    return ("the file is not UTF-8 and is read as Windows-1252 (set with --encoding)",)


def _read_header(records: Reader, path: Path, above: int) -> list[str]:
    """The row that names the columns, ``above`` so many; empty lines on top do not count."""
    try:
        return next(islice((row for row in records if row), above, None))
    except (csv.Error, StopIteration):
        raise InputError(
            f"The header of {path.name} cannot be read.", "Check the quotes in its first line."
        ) from None


def _check_records(records: Reader, width: int) -> Iterator[list[str]]:
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
            fault = _describe_fault(str(error))
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
                wrong.add_field_count(empty, 0)
            blank.clear()
            if len(row) != width:
                wrong.add_field_count(line, len(row))
    wrong.check(_HINT)


def _describe_fault(message: str) -> str:
    """The parser's complaint in our words, which never quote the file."""
    if "field larger" in message or "end of data" in message:
        return _UNCLOSED
    return "text after a closing quote"
