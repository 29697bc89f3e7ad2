"""Open what a verb is given: a table, or a release folder with its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import InputError, UsageError
from shoal.frames import open as open_frame
from shoal.frames.frame import Frame
from shoal.release import MANIFEST, Release, read_manifest
from shoal.schema import Schema


@contextmanager
def opened(source: Any, **reading: Any) -> Iterator[Frame]:
    """A frame over the source; what was opened here is closed here."""
    frame = open_frame(source, **reading)
    try:
        yield frame
    finally:
        if frame is not source:
            frame.close()


@contextmanager
def opened_some(source: Any, *, kinds: Mapping[str, str], **reading: Any) -> Iterator[Frame]:
    """The same for a table that need not have all of the columns whose kinds are given."""
    try:
        frame = open_frame(source, kinds=kinds, **reading)
    except UsageError:  # a kind for a column that is not there: look what there is
        with opened(source, **reading) as plain:
            there = {field.name for field in plain.fields}
        kinds = {name: kind for name, kind in kinds.items() if name in there}
        frame = open_frame(source, kinds=kinds, **reading)
    try:
        yield frame
    finally:
        if frame is not source:
            frame.close()


@contextmanager
def opened_labels(
    source: Any, schema: Schema, *, exact: bool, some: bool = False, **reading: Any
) -> Iterator[Frame]:
    """A published table with its labels exactly as they stand: two that differ are never one.

    ``exact``: in the sensitive columns too only empty cells are null. ``some``: the table need
    not have all of the schema's columns.
    """
    kinds = {column.name: column.kind for column in schema.sensitive if column.kind}
    kinds |= {column.name: "label" for column in (*schema.quasi, *schema.keep)}
    if exact:
        reading = {**reading, "nulls": ()}
    with (opened_some if some else opened)(source, kinds=kinds, **reading) as frame:
        yield frame


def released(source: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table's file and the manifest of a release (its folder, or a ``Release``), else None."""
    folder = source.path.parent if isinstance(source, Release) else source
    if isinstance(folder, (str, Path)) and "://" not in str(folder) and not Path(folder).exists():
        raise InputError(f"There is no file or folder {Path(folder).name!r}.", "check the path.")
    if not isinstance(folder, (str, Path)) or not (Path(folder) / MANIFEST).is_file():
        return None
    try:
        manifest = read_manifest((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("The manifest cannot be read.", "check who may read it.") from error
    return Path(folder) / str(manifest["file"]), manifest


def released_schema(manifest: dict[str, Any]) -> Schema:
    """What a release's columns are, as its manifest states it."""
    return Schema.parse(str(manifest.get("schema", "")))
