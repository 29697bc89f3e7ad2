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
from shoal.studies.stand_in import draw_stand_in
from shoal.studies.tables import Sample

ADULT = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
IPUMS = ("age", "classwkg", "educrec", "marst", "raceg", "sex", "bplg")
AGAIN = "get it again with `shoal data fetch --replace`."


@dataclass(frozen=True)
class DatasetSource:
    """How one named table is read."""

    of: DataSet
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    part: str = ""
    """Of Adult: only this split."""


SOURCES = {
    "adult": DatasetSource(DATASETS["adult"], ADULT, ("occupation",)),
    "adult-train": DatasetSource(DATASETS["adult-train"], ADULT, ("occupation",), "train"),
    "ipums-1970": DatasetSource(DATASETS["ipums-1970"], IPUMS, tuple(NOT_APPLICABLE)),
    "ipums-stacked": DatasetSource(DATASETS["ipums-stacked"], IPUMS, tuple(NOT_APPLICABLE)),
}


def load_dataset(name: str, stand_in: bool = False, *, rows: int | None = None) -> Sample:
    """A data set by its name; or, with ``stand_in``, made-up people in its shape.

    The stand-in is taken whether the data is here or not, so that a run is one or the other;
    ``rows`` makes it smaller.
    """
    get_dataset(name)
    if stand_in:
        return _make_stand_in(name, rows)
    if rows is not None:
        raise UsageError("Only a stand-in can be made smaller.", "leave rows= out.")
    require_datasets((name,))
    return _read(name, tuple(find_file(file) or Path(file) for file in SOURCES[name].of.files))


def load_datasets(names: Iterable[str], stand_in: bool = False) -> dict[str, Sample]:
    """Data sets by their names; what is missing of all of them is said at once."""
    requested = list(dict.fromkeys(names))
    if not stand_in:
        require_datasets(requested)
    return {name: load_dataset(name, stand_in) for name in requested}


@cache
def _make_stand_in(name: str, rows: int | None) -> Sample:
    source = SOURCES[name]
    description = f"made-up people in the shape of {source.of.title}"
    table = draw_stand_in(name, source.of.rows if rows is None else rows)
    return _make_sample(
        source, description, table.select([*source.quasi, *source.sensitive]), stand_in=True
    )


@cache
def _read(name: str, paths: tuple[Path, ...]) -> Sample:
    source = SOURCES[name]
    columns = [*source.quasi, *source.sensitive]
    table = pa.concat_tables([_read_file(path, columns, source.part) for path in paths])
    return _make_sample(source, source.of.title, table.combine_chunks())


def _make_sample(
    source: DatasetSource, description: str, table: pa.Table, stand_in: bool = False
) -> Sample:
    schema = Schema.of(quasi=source.quasi, sensitive=source.sensitive[0])
    empty = NOT_APPLICABLE if source.quasi == IPUMS else {}
    return Sample(source.of.name, description, table, schema, source.sensitive[1:], empty, stand_in)


# Reading


def _read_file(path: Path, columns: list[str], part: str) -> pa.Table:
    """Complete rows of a file, all of them or one split's."""
    text = _unpack(path)
    if hashlib.sha256(text).hexdigest() != FILES[path.name].sha256:
        raise InputError(f"{path.name} {_describe_difference(text, FILES[path.name])}.", AGAIN)
    table = _parse_rows(path, text, [*columns, "split"] if part else columns)
    if part:
        table = table.filter(pc.equal(table["split"], part)).drop_columns("split")
    return table.drop_null()


def _unpack(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path.name} is damaged: it cannot be unpacked.", AGAIN) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).", "check the file.") from None


def _describe_difference(text: bytes, known: DataFile) -> str:
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


def _parse_rows(path: Path, text: bytes, columns: list[str]) -> pa.Table:
    words = FILES[path.name].columns == ADULT_COLUMNS
    kinds = {name: pa.string() if words and name != "age" else pa.int64() for name in columns}
    options = pyarrow.csv.ConvertOptions(
        column_types=kinds, include_columns=columns, null_values=["?"], strings_can_be_null=True
    )
    return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=options)
