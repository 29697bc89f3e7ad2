"""What a ledger keeps of a release, sealed: what is needed to judge later ones together with it.

The distinct published rows (labels and values as they stand in the table), which of them each row
of the table is, the manifest, what is known of the columns with their hierarchies, and, where the
release's companion has it, the keyed hash of the person of each row with its key; the folder in
which it was to lie, and a sketch of its people. Rows keep the order of the published table, so that
a finding counts them as whoever has the table does. Noisy counts and made-up people are kept as
they stand: their rows are nobody's.

Never in it: the original table, people's names, providers, or any suppressed row. Who opens it
still has the published table and can tell who of known people is in it, by the key; that is why it
is sealed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.adversary.targets import find_keyed_people
from shoal.core.errors import InputError
from shoal.core.release import to_json_value
from shoal.core.schema import Schema
from shoal.releases.manifest import inline_taxonomies
from shoal.releases.people_sketch import Sketch
from shoal.releases.published_table import KeyedPersons, PublishedTable
from shoal.releases.row_listing import Listing

EDITION = 1
ABOUT, PUBLISHED, ROWS = "about.json", "published.arrow", "rows.arrow"
_KEPT_ROLES = frozenset({"quasi", "sensitive", "keep", "person"})


def pack_release(published: PublishedTable, place: str = "", sketch: Sketch | None = None) -> bytes:
    """A release as it was read, where it lies, and its people's sketch: the bytes to be sealed."""
    keyed = find_keyed_people(published)
    # Which distinct published row each row is, and where each of them first stands.
    number, first = published.classes(list(published.listings))
    about = {
        "edition": EDITION,
        "name": published.name,
        "roles": _published_roles(published).to_toml(),
        "manifest": to_json_value(published.manifest),
        "key": None if keyed is None else keyed.key.hex(),
        "place": place,
        "sketch": None if sketch is None else sketch.to_json(),
    }
    columns = {name: _encode_column(listing, first) for name, listing in published.listings.items()}
    rows = {"row": pa.array(number)} | ({} if keyed is None else {"person": keyed.person})
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(ABOUT, json.dumps(about, ensure_ascii=False))
        archive.writestr(PUBLISHED, _write_arrow(pa.table(columns)))
        archive.writestr(ROWS, _write_arrow(pa.table(rows)))
    return target.getvalue()


def unpack_release(content: bytes) -> PublishedTable:
    """The release that ``pack_release`` packed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(archive.read(ABOUT))
            if about["edition"] > EDITION:
                raise _newer_edition_error(about["edition"])
            published, rows = (_read_arrow(archive.read(name)) for name in (PUBLISHED, ROWS))
        number = rows["row"].to_numpy()
        listings = {
            name: _decode_column(published[name], number) for name in published.column_names
        }
        keyed = None
        if about["key"] is not None:
            keyed = KeyedPersons(bytes.fromhex(about["key"]), rows["person"].combine_chunks())
        roles = Schema.parse(about["roles"])
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, pa.ArrowException):
        raise InputError(
            "The sealed content of an entry is no release.",
            "check it with shoal ledger verify.",
        ) from None
    return PublishedTable(about["name"], roles, listings, about["manifest"], keyed=keyed)


def unpack_place_and_sketch(content: bytes) -> tuple[str, Sketch | None]:
    """Where a sealed release was to lie, and the sketch of its people; empty in old contents."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(archive.read(ABOUT))
        return str(about.get("place") or ""), Sketch.from_json(about.get("sketch"))
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError):
        return "", None


def hash_table_content(published: PublishedTable) -> str:
    """A hash of a table that lies in no file: of its columns and rows as they stand."""
    digest = hashlib.sha256()
    for name, listing in sorted(published.listings.items()):
        words = listing.words()
        order = sorted(range(len(words)), key=lambda i: (words[i] is None, words[i] or ""))
        place = np.empty(len(words), np.int32)
        place[order] = np.arange(len(words))
        digest.update(json.dumps([name, [words[i] for i in order]]).encode())
        digest.update(place[listing.codes].astype("<i4").tobytes())
    return digest.hexdigest()


def _published_roles(published: PublishedTable) -> Schema:
    columns = tuple(c for c in published.roles.columns if c.role in _KEPT_ROLES)
    published_columns = (c for c in columns if c.name in published.listings or c.role == "person")
    return inline_taxonomies(replace(published.roles, columns=tuple(published_columns)))


def _encode_column(listing: Listing, rows: NDArray[Any]) -> pa.DictionaryArray:
    words = [value for value in listing.values if value is not None]
    codes = listing.codes[rows]
    absent = codes == len(words) if len(words) < len(listing.values) else None
    indices = pa.array(codes.astype(np.int32), mask=absent)
    kind = None if words else pa.string()
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, kind))


def _decode_column(column: pa.ChunkedArray, number: NDArray[Any]) -> Listing:
    array = column.combine_chunks()
    words = array.dictionary.to_pylist()
    codes = array.indices.fill_null(len(words)).to_numpy().astype(np.int32)
    return Listing((*words, *([None] if array.null_count else [])), codes[number])


def _write_arrow(table: pa.Table) -> bytes:
    target = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(target, table.schema, options=options) as writer:
        writer.write_table(table)
    return target.getvalue()


def _read_arrow(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def _newer_edition_error(edition: int) -> InputError:
    return InputError(
        f"The content of an entry is of edition {edition}; this program reads up to {EDITION}.",
        "update Shoal.",
    )
