"""The archive's files as one table with a header: the text that is compressed and kept.

``adult.data`` and ``adult.test`` have a blank behind each comma; the second begins with a line
that is no row and has a full stop behind each income. ``ipums.la.97`` and the others are rows of
61 whole numbers between commas. Neither has a header.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv

from shoal.core.errors import InputError
from shoal.data.catalogue import ADULT_COLUMNS, IPUMS_COLUMNS, DataFile

SPLITS = {"adult.data": "train", "adult.test": "test"}


def convert_parts(known: DataFile, parts: Sequence[bytes]) -> bytes:
    """The whole table as CSV, from the parts in the order that ``known`` names them."""
    if known.columns == IPUMS_COLUMNS:
        return _ipums(known.parts[0], parts[0])
    rows = [
        row for name, part in zip(known.parts, parts, strict=True) for row in _adult(name, part)
    ]
    return "".join(f"{','.join(row)}\n" for row in [ADULT_COLUMNS, *rows]).encode()


def _adult(name: str, part: bytes) -> Iterator[list[str]]:
    """The rows of one of Adult's files, with the split that they belong to."""
    for line in part.decode("ascii", errors="replace").splitlines():
        if not line.strip() or line.startswith("|"):
            continue
        row = [cell.strip() for cell in line.split(",")]
        row[-1] = row[-1].removesuffix(".")
        row.append(SPLITS[name])
        if len(row) != len(ADULT_COLUMNS):
            raise _other(name, f"has rows of other than {len(ADULT_COLUMNS) - 1} columns")
        yield row


def _ipums(name: str, part: bytes) -> bytes:
    reading = pyarrow.csv.ReadOptions(column_names=IPUMS_COLUMNS)
    numbers = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(IPUMS_COLUMNS, pa.int64()))
    try:
        table = pyarrow.csv.read_csv(io.BytesIO(part), reading, convert_options=numbers)
    except pa.ArrowInvalid:  # its message may quote a cell
        raise _other(
            name, f"is no table of {len(IPUMS_COLUMNS)} whole numbers in each row"
        ) from None
    text = io.BytesIO()
    text.write(f"{','.join(IPUMS_COLUMNS)}\n".encode())
    pyarrow.csv.write_csv(table, text, pyarrow.csv.WriteOptions(include_header=False))
    return text.getvalue()


def _other(name: str, how: str) -> InputError:
    return InputError(
        f"{name} {how}: it is not the archive's file, or the archive has changed it.",
        "download it again; nothing was written for it.",
    )
