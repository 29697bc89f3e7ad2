"""Open what a verb is given: a table, or a release folder with its manifest.

A release in two tables (buckets) is joined here, so that every verb reads one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError, refuse_database_address
from shoal.core.release import MANIFEST_NAME, Release, read_manifest
from shoal.core.schema import Schema
from shoal.engines import open_table
from shoal.engines.protocol import Frame
from shoal.releases.folder import COMPANION, repair
from shoal.releases.manifest import BUCKET, COUNT
from shoal.releases.row_listing import read_columns


@contextmanager
def open_frame(source: Any, **reading: Any) -> Iterator[Frame]:
    """A frame over the source; what was opened here is closed here."""
    frame = open_table.open(source, **reading)
    try:
        yield frame
    finally:
        if frame is not source:
            frame.close()


@contextmanager
def open_partial_frame(source: Any, *, kinds: Mapping[str, str], **reading: Any) -> Iterator[Frame]:
    """The same for a table that need not have all of the columns whose kinds are given."""
    try:
        frame = open_table.open(source, kinds=kinds, **reading)
    except UsageError:  # a kind for a column that is not there: look what there is
        with open_frame(source, **reading) as plain:
            there = {field.name for field in plain.fields}
        kinds = {name: kind for name, kind in kinds.items() if name in there}
        frame = open_table.open(source, kinds=kinds, **reading)
    try:
        yield frame
    finally:
        if frame is not source:
            frame.close()


@contextmanager
def open_labels(
    source: Any,
    schema: Schema,
    *,
    exact: bool,
    partial: bool = False,
    values: Path | None = None,
    as_told: bool = True,
    recognised: Mapping[str, str] | None = None,
    **reading: Any,
) -> Iterator[Frame]:
    """A published table with its labels exactly as they stand: two that differ are never one.

    ``exact``: a release's, where in the sensitive columns too only empty cells are null.
    ``partial``: the table need not have all of the schema's columns. ``values``: the second table
    of a release that has two; where the manifest beside the first names it, it is found. Where the
    manifest tells another number of rows, that is an error, unless ``as_told`` is false.
    ``recognised``: by kept column the kind that its values are read as, in place of labels.
    """
    learnt = {column.name: column.kind for column in schema.sensitive if column.kind}
    labels = {column.name: "label" for column in (*schema.quasi, *schema.keep)}
    labels |= {column.name: "numeral" for column in schema.keep if column.kind == "number"}
    kinds, file = learnt | labels | dict(recognised or {}), source
    if exact:
        reading = {**reading, "nulls": ()}
        values = values or find_values_file(source)
    if values is not None:
        source, kinds = join_bucket_tables((source, values), (labels, learnt), reading)
        reading = {"nulls": ()}
    with (open_partial_frame if partial else open_frame)(source, kinds=kinds, **reading) as frame:
        if exact and as_told:
            _check_rows(file, frame)
        yield frame


def _check_rows(table: Any, frame: Frame) -> None:
    """Refuse a table with another number of rows than its manifest tells, where one is there."""
    folder = table.parent if isinstance(table, Path) else None
    if folder is None or not (folder / MANIFEST_NAME).is_file():
        return
    rows = _load_manifest(folder).get("rows")
    if rows is not None and rows != frame.count_rows():
        raise changed_release_error(table.name)


def changed_release_error(names: str) -> InputError:
    """What is said of a release that is not as it was published."""
    return InputError(
        f"{names} was changed after it was published, or its manifest was.",
        "publish it again, or take the files as they were published; to look at the table as it "
        "stands, give it by its own name.",
    )


def find_values_file(table: Any) -> Path | None:
    """The file with the values of a release's table, where its manifest names one."""
    folder = table.parent if isinstance(table, Path) else None
    if folder is None or not (folder / MANIFEST_NAME).is_file():
        return None
    second = _load_manifest(folder).get("values")
    return None if second is None else folder / str(second)


def join_bucket_tables(
    files: tuple[Path, Path],
    kinds: tuple[Mapping[str, str], Mapping[str, str]],
    reading: Mapping[str, Any],
) -> tuple[pa.Table, dict[str, str]]:
    """The two tables of a release in buckets as one, in the order of the people, and its kinds.

    Which of a bucket's values stands beside which of its people means nothing: how often each
    value occurs in a bucket is all that is published.
    """
    people, read = _read_typed_columns(files[0], {**kinds[0], BUCKET: "label"}, reading)
    counted, also = _read_typed_columns(
        files[1], {**kinds[1], BUCKET: "label", COUNT: "label"}, reading
    )
    if people.keys() & counted.keys() != {BUCKET} or COUNT not in counted:
        raise InputError(
            f"{files[0].name} and {files[1].name} are not the two tables of one release.",
            f"they share the column {BUCKET!r} alone, and the second has {COUNT!r}.",
        )
    of, each = _number_alike(people[BUCKET], counted.pop(BUCKET))
    times = np.repeat(np.arange(len(each)), _read_value_counts(of, each, counted.pop(COUNT)))
    place = np.empty(len(of), np.int64)
    place[np.argsort(of, kind="stable")] = times[np.argsort(each[times], kind="stable")]
    values = {name: column.take(pa.array(place)) for name, column in counted.items()}
    read_kinds = {name: kind for name, kind in (read | also).items() if name != COUNT}
    return pa.table({**people, **values}), read_kinds


def _read_typed_columns(
    source: Path, kinds: Mapping[str, str], reading: Mapping[str, Any]
) -> tuple[dict[str, pa.Array], dict[str, str]]:
    with open_partial_frame(source, kinds=kinds, **reading) as frame:
        read = {field.name: kinds.get(field.name, field.kind) for field in frame.fields}
        listings = read_columns(frame, list(read))
    typed = {"number": pa.float64(), "date": pa.date32()}
    words = {
        n: pa.array(listings[n].values, typed.get(kind, pa.string())) for n, kind in read.items()
    }
    return {
        name: words[name].take(pa.array(listing.codes)) for name, listing in listings.items()
    }, read


def _number_alike(first: pa.Array, other: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    both = pa.concat_arrays([first, other]).dictionary_encode(null_encoding="encode")
    numbers = both.indices.to_numpy().astype(np.int64)
    return numbers[: len(first)], numbers[len(first) :]


def _read_value_counts(
    people: NDArray[np.int64], values: NDArray[np.int64], count: pa.Array
) -> NDArray[np.int64]:
    """How many people have each of the values, where every bucket has as many as people."""
    size = 1 + int(max(people.max(), values.max()))
    readable = pc.match_substring_regex(count, "^[1-9][0-9]{0,9}$").fill_null(False)
    if bad := len(count) - int(pc.sum(readable).as_py()):
        raise InputError(
            f"{bad:,} rows of the values have no count of people.",
            "take the tables as they were published.",
        )
    times: NDArray[np.int64] = count.cast(pa.int64()).to_numpy()
    stated = np.zeros(size, np.int64)
    np.add.at(stated, values, times)
    if wrong := int((stated != np.bincount(people, minlength=size)).sum()):
        raise InputError(
            f"{wrong:,} of {size:,} buckets have not as many values as people.",
            "take both tables of one release, as they were published.",
        )
    return times


def find_release_unchecked(source: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table's file and the manifest of a release (its folder, or a ``Release``), else None.

    Nothing is checked but that they can be read: `shoal.releases.companion.find_release` does that.
    """
    folder = source.path.parent if isinstance(source, Release) else source
    if isinstance(folder, (str, Path)) and "://" not in str(folder):
        repair(Path(folder))
    if isinstance(folder, (str, Path)) and "://" not in str(folder) and not Path(folder).exists():
        refuse_database_address(folder)
        raise InputError(f"There is no file or folder {Path(folder).name!r}.", "check the path.")
    if not isinstance(folder, (str, Path)):
        return None
    if not (Path(folder) / MANIFEST_NAME).is_file():
        _refuse_companion(Path(folder))
        return None
    manifest = _load_manifest(Path(folder))
    return Path(folder) / str(manifest["file"]), manifest


def _refuse_companion(folder: Path) -> None:
    if (folder / COMPANION).is_file():
        raise InputError(
            f"{folder.resolve().name!r} is the private companion of a release, not a release.",
            "name the release's own folder.",
        )


def _load_manifest(folder: Path) -> dict[str, Any]:
    try:
        return read_manifest((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("The manifest cannot be read.", "check who may read it.") from error


def parse_released_schema(manifest: dict[str, Any]) -> Schema:
    """What a release's columns are, as its manifest states it."""
    return Schema.parse(str(manifest.get("schema", "")))
