"""How large a table may be, checked before a reader is let loose on it.

A file can claim far more than it holds: a workbook of 67 kB whose last cell stands at XFD1048576
makes a reader ask for half a terabyte, and a megabyte of zeros deflates to a kilobyte. So a
workbook is unpacked once here, in pieces that are thrown away, and where its cells would stand is
counted; whatever the door, a cell and a header have their limits.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import shoal.engines.type_inference.value_forms as forms
from shoal.core.column import describe_name
from shoal.core.errors import InputError
from shoal.engines.type_inference.column_records import DuckConnection

COLUMN_LIMIT = 20_000
"""Columns of a table; a sheet has 16,384 at most."""
TEXT_LIMIT = 131_072
"""Characters of a cell; a sheet's cell holds 32,767 at most."""
NAME_LIMIT = 4_096
"""Characters of a column's name: whole questions of a survey are shorter."""
LABEL_LIMIT = 4_096
"""Characters of a value that is published: one is written in every row of its class."""
CELL_LIMIT = 50_000_000
"""Cells from a sheet's first to its last row and column: readers make room for the empty ones."""
UNPACKED_LIMIT = 4 << 30
"""Bytes that a workbook may unpack to."""
RATIO_LIMIT = 200
"""How many times its size a workbook may unpack to; sheets of real data stay under 50."""
SMALL_UNPACKED = 64 << 20
"""Bytes that any workbook may unpack to, whatever its size."""

_PIECE = 1 << 20
_LOT = 2500  # columns that one query looks at
_DEFLATED = 8
_CELL_HINT = "Delete the empty rows and columns around the table, or export it as CSV or Parquet."
_TEXT_HINT = "Shorten it or leave its column out, and export the table again."


def check_column_names(names: Sequence[str]) -> None:
    """Refuse more columns, or longer names of columns, than anything here is made for."""
    if len(names) > COLUMN_LIMIT:
        raise InputError(
            f"The table has {len(names):,} columns, and the limit is {COLUMN_LIMIT:,}.",
            "Check the delimiter, or export only the columns that are needed.",
        )
    for place, name in enumerate(names, 1):
        if len(name) > NAME_LIMIT:
            raise InputError(
                f"The name of column {place:,} is longer than the limit of {NAME_LIMIT:,} "
                "characters.",
                "Check that the first row is a header, and give the column a shorter name.",
            )


def long_text_error(where: str) -> InputError:
    """The error for a cell that is longer than any cell may be."""
    return InputError(
        f"A cell of {where} is longer than the limit of {TEXT_LIMIT:,} characters.", _TEXT_HINT
    )


def check_texts(
    engine: DuckConnection, query: str, kinds: Mapping[str, str], known_lengths: Mapping[str, int]
) -> dict[str, int]:
    """Refuse texts beyond the limit, by the engine, before any of them is taken out of it.

    Returns the bytes of each text column's longest text; of some they may be known already
    (``known_lengths``). Labels of a release are not looked at: one may list every value of a large
    class.
    """
    described = engine.execute(f"DESCRIBE {query}").fetchall()
    texts = [
        name
        for name, type_, *_ in described
        if type_.startswith(("VARCHAR", "ENUM")) and kinds.get(name) != "label"
    ]
    longest = {column: known_lengths[column] for column in texts if column in known_lengths}
    unknown = [column for column in texts if column not in known_lengths]
    for lot in (unknown[at : at + _LOT] for at in range(0, len(unknown), _LOT)):
        sizes = ", ".join(f"max(strlen({forms.quote_column(column)}::VARCHAR))" for column in lot)
        lengths = engine.execute(f"SELECT {sizes} FROM ({query})").fetchall()[0]
        longest |= {column: size or 0 for column, size in zip(lot, lengths, strict=True)}
    for column, size in longest.items():
        if size > TEXT_LIMIT:  # of bytes, and the limit is of characters
            characters = f"SELECT max(length({forms.quote_column(column)}::VARCHAR)) FROM ({query})"
            if engine.execute(characters).fetchall()[0][0] > TEXT_LIMIT:
                raise long_text_error(f"column {describe_name(column)}")
    return longest


def check_labels(values: Mapping[str, Sequence[object]]) -> None:
    """Refuse columns of a table to be published that hold values beyond the limit of a label."""
    for column, column_values in values.items():
        if any(isinstance(value, str) and len(value) > LABEL_LIMIT for value in column_values):
            raise InputError(
                f"Column {column!r} has values longer than {LABEL_LIMIT:,} characters, the limit "
                "of what is published.",
                f"Shorten them, or give {column!r} the role identifier, which leaves it out.",
            )


def check_workbook(path: Path) -> None:
    """Refuse a workbook whose reader would need far more memory than its table.

    Every sheet is looked at: a reader may open all of them. The old binary format (.xls) cannot
    claim more than 65,536 rows and 256 columns, and is left to the reader.
    """
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            unpacked = 0
            for entry in archive.infolist():
                sheet = _Sheet.of(entry.filename)
                for piece in _unpack(stream, entry):
                    unpacked += len(piece)
                    _check_expansion(path, unpacked)
                    if sheet is not None:
                        sheet.feed(piece)
                        _check_sheet(path, sheet)
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, OSError, ValueError):
        raise InputError(f"{path.name} is not a workbook.", "Save it again as .xlsx.") from None


def _check_expansion(path: Path, unpacked: int) -> None:
    size = path.stat().st_size
    if unpacked > UNPACKED_LIMIT:
        raise InputError(
            f"{path.name} unpacks to more than the limit of {UNPACKED_LIMIT >> 30} GB.",
            "Export the table as CSV or Parquet.",
        )
    if unpacked > SMALL_UNPACKED and unpacked > RATIO_LIMIT * size:
        raise InputError(
            f"{path.name} unpacks to more than {RATIO_LIMIT} times its size, which is the limit.",
            "Save it again with the program that made it, or export the table as CSV or Parquet.",
        )


def _check_sheet(path: Path, sheet: _Sheet) -> None:
    if sheet.longest_text > 6 * TEXT_LIMIT:  # bytes: a character takes six as an entity
        raise long_text_error(path.name)
    if sheet.rows * sheet.columns > CELL_LIMIT:
        raise InputError(
            f"A sheet of {path.name} reaches to row {sheet.rows:,} and column {sheet.columns:,}: "
            f"{sheet.rows * sheet.columns:,} cells, and the limit is {CELL_LIMIT:,}.",
            _CELL_HINT,
        )


def _unpack(stream: IO[bytes], entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of an archive's file in pieces, as long as it is and not as it claims to be."""
    stream.seek(entry.header_offset)
    header = stream.read(30)
    if header[:4] != b"PK\x03\x04" or entry.compress_type not in (0, _DEFLATED):
        raise zipfile.BadZipFile
    name, extra = struct.unpack("<HH", header[26:30])
    stream.seek(name + extra, 1)
    left = entry.compress_size
    inflate = zlib.decompressobj(-15) if entry.compress_type == _DEFLATED else None
    while left > 0 and (packed := stream.read(min(_PIECE, left))):
        left -= len(packed)
        if inflate is None:
            yield packed
            continue
        while packed and not inflate.eof:
            yield inflate.decompress(packed, _PIECE)
            packed = inflate.unconsumed_tail


class _Sheet(ABC):
    """How far the filled cells of a sheet reach, and its longest text, as its content is fed."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns = 0
        self.longest_text = 0
        self._rest = b""

    @staticmethod
    def of(name: str) -> _Sheet | None:
        # None for a file of the archive that holds no cells.
        name = name.lower().replace("\\", "/")
        if name.endswith(".bin"):
            cells = "worksheets/" in name or name.endswith("sharedstrings.bin")
            return _BinarySheet() if cells else None
        if not name.endswith(".xml"):
            return None
        return _OpenDocument() if name == "content.xml" else _Spreadsheet()

    @abstractmethod
    def feed(self, piece: bytes) -> None: ...


class _XmlSheet(_Sheet):
    """A sheet whose cells are tags: they are read up to the last one that has begun."""

    def feed(self, piece: bytes) -> None:
        content = self._rest + piece
        end = content.rfind(b"<")
        if end < 0:
            self.longest_text = max(self.longest_text, len(content))
            self._rest = content
            return
        self.longest_text = max(self.longest_text, max(map(len, content.split(b"<"))))
        self._read_tags(content[:end])
        self._rest = content[end:]

    @abstractmethod
    def _read_tags(self, content: bytes) -> None: ...


class _Spreadsheet(_XmlSheet):
    """A sheet of .xlsx: cells say where they stand, or stand after the one before them."""

    _PLACED = re.compile(
        rb"""<(?:\w+:)?c\s(?:[^<>]*?\s)?r\s*=\s*["']([A-Za-z]+)(\d+)["'][^<>]*(?<!/)>"""
    )
    _UNPLACED = re.compile(rb"<(?:\w+:)?c(?=[\s>])(?![^<>]*?\sr\s*=)")
    _ROW = re.compile(rb"""<(?:\w+:)?row\s(?:[^<>]*?\s)?r\s*=\s*["'](\d+)["']""")
    _TAG = re.compile(rb"<(?:\w+:)?(row|c)(?=[\s/>])([^<>]*)>")
    _PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d+)["']""")

    def __init__(self) -> None:
        super().__init__()
        self._row = 0
        self._column = 0
        self._in_order = False

    def _read_tags(self, content: bytes) -> None:
        if not self._in_order and self._UNPLACED.search(content):
            self._in_order = True
        if self._in_order:
            self._follow(content)
            return
        places = self._PLACED.findall(content)
        if places:
            self.columns = max(self.columns, *map(_column_number, {place[0] for place in places}))
            self.rows = max(self.rows, *(_number(place[1]) for place in places))
        if rows := self._ROW.findall(content):  # where cells would go on that say no place
            self._row = _number(rows[-1])

    def _follow(self, content: bytes) -> None:
        for tag, attributes in self._TAG.findall(content):
            self._place(attributes, is_row=tag == b"row")
            if tag == b"c" and not attributes.endswith(b"/"):
                self.rows = max(self.rows, self._row)
                self.columns = max(self.columns, self._column)

    def _place(self, attributes: bytes, *, is_row: bool) -> None:
        place = self._PLACE.search(attributes)
        if is_row:
            self._row = _number(place[2]) if place else self._row + 1
            self._column = 0
        elif place:
            self._row, self._column = _number(place[2]), _column_number(place[1])
        else:
            self._column += 1


def _column_number(letters: bytes) -> int:
    """A column's number by its letters, as far as it matters.

    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters[:8].upper():
        number = number * 26 + letter - 64
    return number


def _number(digits: bytes) -> int:
    return int(digits[:12])


class _OpenDocument(_XmlSheet):
    """The sheets of .ods: cells and rows stand one after the other, and repeat."""

    _TAG = re.compile(
        rb"<(/?)table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^<>]*)>"
    )
    _REPEATED = re.compile(rb"""table:number-(?:rows|columns)-repeated\s*=\s*["'](\d+)""")
    _FILLED = re.compile(rb"office:(?:value|date|time|boolean|string)|table:formula")

    def __init__(self) -> None:
        super().__init__()
        self._row = self._column = self._repeated = self._filled = 0

    def _read_tags(self, content: bytes) -> None:
        for closing, tag, attributes in self._TAG.findall(content):
            if closing:
                if tag == b"table-row":
                    self._end_row()
                continue
            repetition = self._REPEATED.search(attributes)
            repeated = _number(repetition[1]) if repetition else 1
            if tag == b"table":
                self._row = 0
            elif tag == b"table-row":
                self._column, self._filled, self._repeated = 0, 0, repeated
                if attributes.endswith(b"/"):
                    self._end_row()
            else:
                self._column += repeated
                if self._FILLED.search(attributes) or not attributes.endswith(b"/"):
                    self._filled = self._column

    def _end_row(self) -> None:
        self._row += self._repeated
        if self._filled:
            self.rows = max(self.rows, self._row)
            self.columns = max(self.columns, self._filled)


class _BinarySheet(_Sheet):
    """A sheet of .xlsb: records of a kind and a length, a row's before those of its cells."""

    _ROW = 0
    _CELLS = range(2, 12)  # 1 is a cell without content

    def __init__(self) -> None:
        super().__init__()
        self._row = 0

    def feed(self, piece: bytes) -> None:
        content, at = self._rest + piece, 0
        while (record := _record(content, at)) is not None:
            kind, start, end = record
            if kind == self._ROW and end - start >= 4:
                self._row = int.from_bytes(content[start : start + 4], "little") + 1
            elif kind in self._CELLS and end - start >= 4:
                column = int.from_bytes(content[start : start + 4], "little") + 1
                self.rows = max(self.rows, self._row)
                self.columns = max(self.columns, column)
            at = end
        self._rest = content[at:]
        self.longest_text = len(self._rest)


def _record(content: bytes, at: int) -> tuple[int, int, int] | None:
    """A record's kind, and where its content begins and ends; None where it is not all there."""
    if at + 6 > len(content):
        return None
    kind = content[at]
    at += 1
    if kind & 0x80:
        kind = (kind & 0x7F) | content[at] << 7
        at += 1
    size = 0
    for shift in (0, 7, 14, 21):
        byte = content[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    return None if at + size > len(content) else (kind, at, at + size)
