"""The papers' data sets by name, read from where they lie; or made-up people in their place.

Where they lie, `shoal.data.data_folder` knows: in the folder that ``SHOAL_DATA`` names, else in the
user's data folder. A file whose content is not the papers', by its hash, is an error: nothing could
be said about the papers with it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal import InputError, Schema, UsageError
from shoal.data.catalogue import ADULT_COLUMNS, DATASETS, FILES, NOT_APPLICABLE, DataFile, DataSet
from shoal.data.data_folder import find_file, get_dataset, require_datasets
from shoal.studies.stand_in import people
from shoal.studies.tables import Sample

ADULT = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
IPUMS = ("age", "classwkg", "educrec", "marst", "raceg", "sex", "bplg")
AGAIN = "get it again with `shoal data fetch --replace`."


@dataclass(frozen=True)
class Source:
    """How one named table is read."""

    of: DataSet
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    part: str = ""
    """Of Adult: only this split."""


SOURCES = {
    "adult": Source(DATASETS["adult"], ADULT, ("occupation",)),
    "adult-train": Source(DATASETS["adult-train"], ADULT, ("occupation",), "train"),
    "ipums-1970": Source(DATASETS["ipums-1970"], IPUMS, tuple(NOT_APPLICABLE)),
    "ipums-stacked": Source(DATASETS["ipums-stacked"], IPUMS, tuple(NOT_APPLICABLE)),
}


def named(name: str, stand_in: bool = False, *, rows: int | None = None) -> Sample:
    """A data set by its name; or, with ``stand_in``, made-up people in its shape.

    The stand-in is taken whether the data is here or not, so that a run is one or the other;
    ``rows`` makes it smaller.
    """
    get_dataset(name)
    if stand_in:
        return _made_up(name, rows)
    if rows is not None:
        raise UsageError("Only a stand-in can be made smaller.", "leave rows= out.")
    require_datasets((name,))
    return _read(name, tuple(find_file(file) or Path(file) for file in SOURCES[name].of.files))


def several(names: Iterable[str], stand_in: bool = False) -> dict[str, Sample]:
    """Data sets by their names; what is missing of all of them is said at once."""
    asked = list(dict.fromkeys(names))
    if not stand_in:
        require_datasets(asked)
    return {name: named(name, stand_in) for name in asked}


@cache
def _made_up(name: str, rows: int | None) -> Sample:
    source = SOURCES[name]
    told = f"made-up people in the shape of {source.of.title}"
    table = people(name, source.of.rows if rows is None else rows)
    return _sample(source, told, table.select([*source.quasi, *source.sensitive]), stand_in=True)


@cache
def _read(name: str, paths: tuple[Path, ...]) -> Sample:
    source = SOURCES[name]
    columns = [*source.quasi, *source.sensitive]
    table = pa.concat_tables([_file(path, columns, source.part) for path in paths])
    return _sample(source, source.of.title, table.combine_chunks())


def _sample(source: Source, told: str, table: pa.Table, stand_in: bool = False) -> Sample:
    schema = Schema.of(quasi=source.quasi, sensitive=source.sensitive[0])
    empty = NOT_APPLICABLE if source.quasi == IPUMS else {}
    return Sample(source.of.name, told, table, schema, source.sensitive[1:], empty, stand_in)


# Reading


def _file(path: Path, columns: list[str], part: str) -> pa.Table:
    """Complete rows of a file, all of them or one split's."""
    text = _text(path)
    if hashlib.sha256(text).hexdigest() != FILES[path.name].sha256:
        raise InputError(f"{path.name} {_other(text, FILES[path.name])}.", AGAIN)
    table = _rows(path, text, [*columns, "split"] if part else columns)
    if part:
        table = table.filter(pc.equal(table["split"], part)).drop_columns("split")
    return table.drop_null()


def _text(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path.name} is damaged: it cannot be unpacked.", AGAIN) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).", "check the file.") from None


def _other(text: bytes, known: DataFile) -> str:
    """How a content differs from the known one, as far as columns and counts tell."""
    head, _, body = text.partition(b"\n")
    names = head.decode("utf-8", errors="replace").strip().split(",")
    if lacks := [column for column in known.columns if column not in names]:
        more = f" and {len(lacks) - 3} more" if len(lacks) > 3 else ""
        return f"has no column {', '.join(lacks[:3])}{more}"
    if len(names) != len(known.columns):
        return f"has {len(names)} columns, not {len(known.columns)}"
    rows = len(body.splitlines())
    if rows != known.rows:
        return f"has {rows:,} rows, not {known.rows:,}"
    return "has the columns and rows of the papers' table, but other content"


def _rows(path: Path, text: bytes, columns: list[str]) -> pa.Table:
    words = FILES[path.name].columns == ADULT_COLUMNS
    kinds = {name: pa.string() if words and name != "age" else pa.int64() for name in columns}
    options = pyarrow.csv.ConvertOptions(
        column_types=kinds, include_columns=columns, null_values=["?"], strings_can_be_null=True
    )
    return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=options)
