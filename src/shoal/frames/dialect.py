"""How a text table is written: its encoding, delimiter and quotes.

The encoding is judged on the whole file, because one name with an accent in the last row is
enough to make it another; delimiter and quotes are judged on the head.
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
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from shoal.errors import InputError, UsageError

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t|"
LINE_LIMIT = 1 << 21  # bytes; longer lines are not a table, and would have to fit in memory
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


def detect(
    path: Path, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> Dialect:
    """The dialect of a file, with what the caller knows taken as given."""
    for what, given in (("delimiter", delimiter or ","), ("quote", quote or '"')):
        if len(given) != 1:
            raise UsageError(f"The {what} must be one character.", f"Set {what}= to one character.")
    return _shape(path, _encoding(path, encoding), delimiter, quote)


def glimpse(
    path: Path, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> Dialect:
    """The dialect as the beginning of a file shows it; whether the rest is text, nobody has read.

    Raises `UnicodeError` where the beginning is in another encoding.
    """
    return _shape(path, encoding or "utf-8-sig", delimiter, quote)


def _shape(path: Path, found: str, delimiter: str | None, quote: str | None) -> Dialect:
    with text(path, found) as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        raise InputError(f"{path.name} is empty.", "Check that the export finished.")
    mark = _quote(head) if quote is None else quote
    with _bytes(path) as start:
        marked = start.read(3).startswith(codecs.BOM_UTF8)
    return Dialect(found, delimiter or _delimiter(head, mark), mark, marked)


def text(path: Path, encoding: str) -> io.TextIOWrapper:
    """The file as text, unpacked, with its line ends as they are."""
    return io.TextIOWrapper(_bytes(path), encoding=encoding, newline="")


def _bytes(path: Path) -> IO[bytes]:
    stream = path.open("rb")
    packed = stream.read(2) == b"\x1f\x8b"
    if not packed:
        stream.seek(0)
        return stream
    stream.close()
    return cast("IO[bytes]", gzip.open(path, "rb"))


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with _bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path.name} is not a whole gzip file.", "Copy it again.") from None


def _encoding(path: Path, given: str | None) -> str:
    """Read the file once: lines of bounded length, no NUL, and every byte valid."""
    head = next(_chunks(path), b"")[:4]
    name = given or next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
    try:
        name = "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name
        decoder = codecs.getincrementaldecoder(name)()
    except LookupError:
        raise UsageError(f"There is no encoding {name!r}.", "Try encoding='latin-1'.") from None
    if _valid(path, name, decoder):
        return name
    cp1252 = codecs.getincrementaldecoder("cp1252")()
    if given or name != "utf-8-sig" or head.startswith(codecs.BOM_UTF8):
        raise InputError(f"{path.name} is not valid {name}.", "Set encoding= to the right one.")
    if not _valid(path, "cp1252", cp1252):
        raise InputError(
            f"{path.name} is neither UTF-8 nor Windows-1252.", "Set encoding= to the right one."
        )
    return "cp1252"


def _valid(path: Path, name: str, decoder: codecs.IncrementalDecoder) -> bool:
    """Whether every byte decodes; NUL bytes and endless lines are errors on the way."""
    wide = "16" in name or "32" in name
    lines, length = 0, 0
    for chunk in _chunks(path):
        if not wide and b"\0" in chunk:
            line = 1 + lines + _ends(chunk[: chunk.index(b"\0")])
            raise InputError(
                f"{path.name} holds NUL bytes, the first in line {line:,}.",
                "If it is text in another encoding, set encoding='utf-16'; else export it again.",
            )
        length = _longest(path, chunk, length, lines)
        if not _decodes(decoder, chunk):
            return False
        lines += _ends(chunk)
    return _decodes(decoder, b"", final=True)


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")


def _longest(path: Path, chunk: bytes, length: int, lines: int) -> int:
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


def _quote(head: str) -> str:
    """Single quotes only where fields are wrapped in them and no field in double ones."""
    single, double = (
        len(re.findall(rf"(?:^|[,;\t|]){mark}[^{mark}\n]*{mark}(?=[,;\t|\r\n]|$)", head, re.M))
        for mark in "'\""
    )
    return "'" if single > 1 and not double else '"'


def _delimiter(head: str, quote: str) -> str:
    """The delimiter under which most rows are as wide as the header."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        widths = _widths(head, delimiter, quote)
        agree = sum(width == widths[0] for width in widths) / len(widths)
        return widths[0] > 1, agree, widths[0]

    return max(DELIMITERS, key=score)


def _widths(head: str, delimiter: str, quote: str) -> list[int]:
    lines = io.StringIO(head, newline="")
    try:
        rows = [len(row) for row in reader(lines, Dialect("", delimiter, quote), strict=False)]
    except csv.Error:  # a field beyond the csv module's limit: not this delimiter
        return [1]
    whole = rows[:-1] if len(head) == _HEAD else rows  # the head may end inside a row
    return [width for width in whole if width] or [1]


def reader(lines: Iterator[str] | IO[str], dialect: Dialect, strict: bool = True) -> Reader:
    """Python's CSV reader for a dialect."""
    return csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        strict=strict,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
    )
