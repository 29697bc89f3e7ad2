"""The private companion of a release, read: what only its publisher knows of the table.

It has the publisher's own schema, a key, and for each published row, in the table's order, who
provided it and the person as a hash under that key; the rows are sealed by their hash. It does not
say who is in a release: whoever asks for a person hashes the person with the key, as the engine did
when it published.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION, Release
from shoal.core.schema import Schema
from shoal.engines.one_row import OneRow
from shoal.engines.protocol import Coding, Distinct, Frame, Pieces
from shoal.engines.source import SourceFile
from shoal.releases.folder import COMPANION, COUNTERFEITS, PRIVATE_ROWS, default_companion
from shoal.releases.manifest import hash_file, published_schema
from shoal.releases.options import NO_INDIVIDUAL_ROWS, PARTITION
from shoal.releases.people_sketch import SKETCH, Sketch
from shoal.releases.reader import (
    changed_release_error,
    find_release_unchecked,
    find_values_file,
    open_frame,
)

FACTS = ("held_back", "loss", "utility", "repeats")
PROMISED = (
    "rule",
    "form",
    "method",
    "parameters",
    "counterfeits",
    "marginals",
    "spend",
    "privacy",
    "answers",
    "releasable",
    "people",
    "one_row",
)
SEAL = "rows_sha256"
_KEY_BYTES = 32
_TICK = 10**9


@dataclass(frozen=True)
class Companion:
    """The companion of a table as that is now."""

    folder: Path
    key: bytes
    schema: Schema
    """The publisher's own: with hierarchies, and with the columns that are not published."""
    table_sha256: str
    values_sha256: str = ""
    """That of the second table, where the release has two."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the publisher may know besides: the loss, how many rows were held back."""
    promised: Mapping[str, Any] = field(default_factory=dict)
    """What the manifest says too, as far as it is written down here: what was asked for."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The level of each column, where the method gave everybody the same; else none."""
    origin: str = ""
    """The keyed hash of the file that was published; none where it was a table in memory."""
    one_row: OneRow | None = None
    """Which row of the original stands for a person, with what was drawn for it; None: all do."""
    sketch: Sketch | None = None
    """Of the people; None in old companions, and of very large tables."""
    verdict: Mapping[str, Any] = field(default_factory=dict)
    """What was counted when it was published."""

    @property
    def expected_manifest(self) -> dict[str, Any]:
        """What the manifest must say if nobody changed it."""
        shown = published_schema(self.schema, self.promised.get("form", PARTITION))
        second = {"values_sha256": self.values_sha256} if self.values_sha256 else {}
        roles = {column.name: column.role for column in shown.columns}
        return {"sha256": self.table_sha256, **second, "columns": roles, **self.promised}


def find_release(source: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table's file and the manifest of a release (its folder, or a ``Release``), else None.

    Every verb opens a release by this. What can be checked is: the files have the hashes that the
    manifest tells, and the private companion, where it is at hand, is the one that was written
    with them, with all of its rows, and tells the same. How many rows the table has is counted
    when it is read.
    """
    release = find_release_unchecked(source)
    if release is not None:
        check_files(*release)
        check_companion(source, *release)
        _check_noise_rows(*release)
    return release


def check_files(table: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse files that have not the hashes that the manifest tells."""
    stated = {table: manifest.get("sha256")}
    if "values" in manifest:
        stated[table.with_name(str(manifest["values"]))] = manifest.get("values_sha256")
    fake = manifest.get("counterfeits")
    if isinstance(fake, Mapping) and "sha256" in fake:
        stated[table.with_name(COUNTERFEITS)] = fake["sha256"]
    if any(_sha256(file) != hash_ for file, hash_ in stated.items()):
        raise changed_release_error(" or ".join(file.name for file in stated))


def _check_noise_rows(table: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a table of noise with another number of rows than told: no other reader counts it."""
    if manifest.get("form") in NO_INDIVIDUAL_ROWS and "rows" in manifest:
        with open_frame(table, nulls=()) as frame:
            if frame.count_rows() != manifest["rows"]:
                raise changed_release_error(table.name)


def check_companion(source: Any, table: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a companion that is damaged, another release's, or tells other than the manifest.

    Whoever has none, or may not read it, compares files and manifest only.
    """
    folder = locate_companion(source, table)
    if not os.access(folder / COMPANION, os.R_OK):
        return
    companion = _parse_companion(folder, table)
    if companion.table_sha256 != _sha256(table):
        raise _other_table_error(companion)
    expected = companion.expected_manifest
    expected |= {
        n: companion.verdict[n]
        for n in ("rows", "classes")
        if n in companion.verdict and n in manifest
    }
    if differ := [name for name, value in expected.items() if manifest.get(name) != value]:
        raise InputError(
            f"The manifest and the private companion {folder.name!r} do not agree on: "
            f"{', '.join(differ)}.",
            "take the release and the companion that were written together, or publish it again.",
        )
    _check_rows(companion, manifest)


def _check_rows(companion: Companion, manifest: Mapping[str, Any]) -> None:
    """The companion's rows are there, as they were written, one for each row of the table."""
    path = companion.folder / PRIVATE_ROWS
    expects_rows = companion.schema.person is not None or companion.schema.provider is not None
    if manifest.get("form") in NO_INDIVIDUAL_ROWS or not (
        expects_rows or _read_seal(companion.folder)
    ):
        return
    try:
        rows = pq.read_metadata(path).num_rows
    except FileNotFoundError:
        raise _missing_rows_error(companion.folder) from None
    except (OSError, ValueError, pa.ArrowException):
        raise _damaged_error(companion.folder) from None
    _check_seal(companion.folder, needed=False)  # old companions have none
    if rows != manifest.get("rows"):
        raise InputError(
            f"The private companion {companion.folder.name!r} has not as many rows as the table.",
            "take the release and the companion that were written together, or publish it again.",
        )


def _missing_rows_error(folder: Path) -> InputError:
    return InputError(
        f"The private companion {folder.name!r} lacks its file {PRIVATE_ROWS}.",
        "take a whole copy of the companion.",
    )


def _check_belongs(companion: Companion, table: Path) -> None:
    second = find_values_file(table)
    whole = _sha256(table), "" if second is None else _sha256(second)
    if (companion.table_sha256, companion.values_sha256) != whole:
        raise _other_table_error(companion)


def _other_table_error(companion: Companion) -> InputError:
    return InputError(
        f"The private companion {companion.folder.name!r} belongs to another table.",
        "take the release and the companion that were written together.",
    )


def read_companion(source: Any, table: Path) -> Companion:
    """The companion of a release's table: where the ``Release`` says, else beside the folder."""
    companion = _parse_companion(locate_companion(source, table), table)
    _check_belongs(companion, table)
    return companion


def find_companion(source: Any, table: Path) -> Companion | None:
    """The same; None where there is none for this user's eyes, or it is another table's."""
    try:
        return read_companion(source, table)
    except InputError:  # an adversary has none either: then the truth is not known
        return None


OTHER_ORIGINAL = (
    "the original that was given is another file than the one that was published, by the hash in "
    "the private companion"
)


def is_other_original(companion: Companion | None, original: Any) -> bool:
    """Whether a file is certainly not the one that was published; where none knows it may be."""
    if companion is None or not companion.origin or not isinstance(original, str | os.PathLike):
        return False
    path = Path(original)
    return path.is_file() and SourceFile.of(path).fingerprint(companion.key) != companion.origin


def locate_companion(source: Any, table: Path) -> Path:
    """Where the private companion of a release lies, if it is at hand."""
    own = source.companion if isinstance(source, Release) else None
    return own or default_companion(table.absolute().parent)


def _parse_companion(folder: Path, table: Path) -> Companion:
    try:
        record = json.loads((folder / COMPANION).read_text(encoding="utf-8"))
        edition = int(record["edition"])
        companion = Companion(
            folder,
            _parse_key(record["key"]),
            Schema.parse(record["schema"]),
            table_sha256=str(record["table_sha256"]),
            values_sha256=str(record.get("values_sha256", "")),
            facts={name: record[name] for name in FACTS if name in record},
            promised={name: record[name] for name in PROMISED if name in record},
            levels=_parse_levels(record.get("levels")),
            origin=str(record.get("input") or ""),
            one_row=_parse_one_row(record),
            sketch=Sketch.from_json(record.get(SKETCH)),
            verdict=dict(record.get("verdict") or {}),
        )
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"The private companion of {table.absolute().parent.name!r} is missing.",
            f"put it beside the release, as {folder.name}.",
        ) from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        InputError,
        UsageError,
    ):
        raise _damaged_error(folder) from None
    if edition > EDITION:
        raise InputError(
            f"The private companion is of edition {edition}; this program reads up to {EDITION}.",
            "update Shoal.",
        )
    return companion


def _parse_key(written: str) -> bytes:
    """The key that people were hashed with; by a part of it nobody would be found again."""
    key = bytes.fromhex(written)
    if len(key) != _KEY_BYTES:
        raise ValueError
    return key


def _parse_one_row(record: Mapping[str, Any]) -> OneRow | None:
    if "one_row" not in record:
        return None
    return OneRow.parse(
        record["one_row"], record["one_row_person"], bytes.fromhex(record["one_row_key"])
    )


def _parse_levels(stated: Any) -> dict[str, int]:
    """The level of each column; none where a method means something else by the word."""
    levels = stated if isinstance(stated, Mapping) else {}
    are_levels = all(type(level) is int and level >= 0 for level in levels.values())
    return dict(levels) if are_levels else {}


_hashes: dict[tuple[str, int, int, int], str] = {}


def _sha256(file: Path) -> str:
    """The hash of a file, taken once as long as the file does not change.

    One that was written a moment ago is read again each time: it could be changed within the same
    tick of the disk's clock.
    """
    try:
        now = file.stat()
        stamp = str(file.absolute()), now.st_ino, now.st_size, now.st_mtime_ns
        if stamp in _hashes:
            return _hashes[stamp]
        digest = hash_file(file)
    except OSError:
        raise InputError(f"{file.name} cannot be opened.", "check the release folder.") from None
    if time.time_ns() - now.st_mtime_ns > _TICK:
        _hashes[stamp] = digest
    return digest


def _damaged_error(folder: Path) -> InputError:
    return InputError(
        f"The private companion {folder.name!r} cannot be read.",
        "take a whole copy, of which you may read every file.",
    )


def hash_private_rows(folder: Path) -> dict[str, str]:
    """The hash of the companion's rows, by which a later change is noticed; none without rows."""
    path = folder / PRIVATE_ROWS
    return {SEAL: hash_file(path)} if path.is_file() else {}


def had_person_column(source: Any, table: Path) -> bool:
    """Whether a companion is at hand whose table had a column that said who a row is about."""
    try:
        return _parse_companion(locate_companion(source, table), table).schema.person is not None
    except InputError:
        return False


def read_people(folder: Path, rows: int | None = None) -> pa.Array:
    """The keyed person of each row of a table (with so many, where that is known)."""
    hint = "publish the earlier release with a person column."
    person = _read_rows(folder, "person", "who the rows are about", hint)
    _check_seal(folder, needed=False)  # old companions have none
    if (rows is not None and len(person) != rows) or person.null_count:
        raise _damaged_error(folder)
    return person


def read_providers(folder: Path) -> pa.Array:
    """Who provided each of the table's rows."""
    hint = 'publish the table with a column of the role "provider".'
    providers = _read_rows(folder, "provider", "who provided the rows", hint)
    _check_seal(folder, needed=(folder / COMPANION).is_file())  # there is none while publishing
    return providers


def _read_rows(folder: Path, column: str, meaning: str, hint: str) -> pa.Array:
    path = folder / PRIVATE_ROWS
    try:
        if not path.is_file() and _read_seal(folder):
            raise _missing_rows_error(folder)
        if not path.is_file() or column not in pq.read_schema(path).names:
            raise InputError(f"The private companion {folder.name!r} does not say {meaning}.", hint)
        return pq.read_table(path, columns=[column])[column].combine_chunks()
    except (OSError, ValueError, AttributeError, pa.ArrowException):
        raise _damaged_error(folder) from None


def _check_seal(folder: Path, needed: bool) -> None:
    try:
        seal, now = _read_seal(folder), _sha256(folder / PRIVATE_ROWS)
    except (OSError, ValueError, AttributeError, InputError):
        raise _damaged_error(folder) from None
    if needed and not seal:
        raise InputError(
            f"The private companion {folder.name!r} does not say what its rows were when they were "
            f"published ({SEAL} in {COMPANION}).",
            "take the companion as it was written, or publish the release again.",
        )
    if seal and seal != now:
        raise InputError(
            f"The private companion {folder.name!r} cannot be read as it was published: its "
            "rows were changed since.",
            "take the companion as it was written, or publish the release again.",
        )


def _read_seal(folder: Path) -> str:
    """The hash that the rows had; empty while they are being published, and in old companions."""
    path = folder / COMPANION
    if not path.is_file():
        return ""
    return str(json.loads(path.read_text(encoding="utf-8")).get(SEAL, ""))


def find_rows(people: pa.Array, rows: pa.Array) -> NDArray[np.int64]:
    """The row that is about each of the keyed people; -1 for whom there is none."""
    place: NDArray[np.int64] = pc.index_in(people, value_set=rows).fill_null(-1).to_numpy()
    return place


def hash_people(frame: Frame, column: str, people: Distinct, key: bytes) -> pa.Array:
    """The keyed hash of each of these people, as the engine computes it when it publishes."""
    number = np.arange(len(people.values), dtype=np.int32)
    coding = Coding(column, people.values, number, None, max(len(number), 1))
    pieces = Pieces((number,), number, people.counts)
    batches = list(frame.recode([coding], pieces, (), column, key))
    hashes = pa.Table.from_batches(batches)
    order = np.argsort(hashes.column(0).to_numpy())
    if len(order) != len(number):
        raise InputError(
            f"{len(order) - len(number):,} people cannot be told from others by their number.",
            'read the person column as a code: kind = "code" in the schema.',
        )
    return hashes.column(1).combine_chunks().take(pa.array(order))


def hash_missing_person(key: bytes) -> str:
    """What stands for the person of a row that is about nobody in particular."""
    return hashlib.sha256(hashlib.sha256(key).digest() + b"null").hexdigest()[:32]


def hash_counterfeit_person(key: bytes) -> str:
    """What stands for the person of a counterfeit row in the companion."""
    return hashlib.sha256(hashlib.sha256(key).digest() + b"counterfeit").hexdigest()[:32]


def hash_person_values(people: Sequence[Any], key: bytes) -> pa.Array:
    """The same of people out of a table that was read before: distinct values, none of them null.

    >>> [one[:6] for one in hash_person_values([2.0, 1.0], b"secret").to_pylist()]
    ['683b4c', 'f899c6']
    """
    kinds = {} if isinstance(people[0], float | date) else {"person": "label"}
    with open_frame(pa.table({"person": pa.array(people)}), kinds=kinds) as frame:
        once = Distinct(list(people), np.ones(len(people), np.int64), 0)
        return hash_people(frame, "person", once, key)
