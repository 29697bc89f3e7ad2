"""The release folder: written aside, verified there, and moved into place whole.

The folder holds the table and its public manifest. The private companion (exact parameters,
keys, and per published row the provider and keyed person) lies beside it, never inside.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import NotMetError, OutputError, UsageError
from shoal.flow.encode import Encoded
from shoal.flow.recoded import Recoded
from shoal.frames.frame import Frame, Pieces
from shoal.frames.shuffle import shuffled
from shoal.release import EDITION, MANIFEST, Release, jsonable
from shoal.schema import Schema
from shoal.tally import Cut, Groups

if TYPE_CHECKING:
    from shoal.flow.publish import Request


def check_free(out: Path, replace: bool) -> None:
    """Refuse before any work what could not be written afterwards."""
    if out.exists() and not replace:
        raise UsageError(
            f"{out.name!r} exists already.", "choose another folder, or add --replace."
        )
    if out.exists() and not (out / MANIFEST).is_file():
        raise UsageError(
            f"{out.name!r} exists and is not a release; it is not replaced.",
            "choose another folder.",
        )
    parent = out.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise OutputError(
            f"The folder that should hold {out.name!r} does not exist or cannot be written.",
            "create it, or choose another place.",
        )


def place(
    frame: Frame,
    encoded: Encoded,
    cut: Cut,
    groups: Groups,
    request: Request,
    private: Mapping[str, Any],
) -> Release:
    """Write, verify and move: either the whole release is there afterwards, or nothing is."""
    from shoal.flow.publish import recheck  # the steps' order is known there

    assert request.out is not None
    schema = published(request.schema)
    with _aside(request.out) as (public, companion):
        key = secrets.token_bytes(32)
        table = public / f"table.{request.format.lstrip('.')}"
        defused = _write(frame, encoded, cut, request, table, companion, key)
        request.progress("verifying", 0, 1)
        verdict = recheck(table, schema, request)
        if not verdict.holds:
            raise NotMetError(
                f"The written file does not meet the rule:\n{verdict}",
                "this method does not guarantee the rule; use another, for example mondrian.",
            )
        about = manifest(request, groups, table, defused)
        _write_json(public / MANIFEST, about)
        _write_json(
            companion / "companion.json",
            {
                "edition": EDITION,
                "key": key.hex(),
                "rule": str(request.rule),
                "schema": request.schema.to_toml(),
                "verdict": verdict.to_json(),
                **private,
                "input": fingerprint(frame, key),
                "table_sha256": about["sha256"],
            },
        )
        kept = _move(public, companion, request)
    return Release(about, verdict, request.out, kept, private)


def published(schema: Schema) -> Schema:
    """The schema of the published table: only the columns that are in it."""
    columns = (*schema.quasi, *schema.sensitive, *schema.keep)
    names = {column.name for column in columns}
    return Schema(tuple(column for column in schema.columns if column.name in names))


def manifest(
    request: Request, groups: Groups, table: Path | None = None, defused: int = 0
) -> dict[str, Any]:
    """The public manifest: nothing that the table does not say."""
    schema = published(request.schema)
    roles = Schema.of(
        quasi=[c.name for c in schema.quasi],
        sensitive=[c.name for c in schema.sensitive],
        keep=[c.name for c in schema.keep],
    )
    return {
        "edition": EDITION,
        "form": "partition",
        "file": table.name if table else f"table.{request.format}",
        "sha256": _sha256(table) if table else None,
        "rows": int(groups.rows.sum()),
        "classes": len(groups),
        "columns": {column.name: column.role for column in schema.columns},
        "schema": roles.to_toml(),
        "rule": str(request.rule),
        "method": request.method,
        "parameters": dict(request.parameters),
        "row_order": "random, from the operating system",
        "defused_cells": defused,
        "keep_accepted": request.accept_keep,
    }


def _write(
    frame: Frame,
    encoded: Encoded,
    cut: Cut,
    request: Request,
    table: Path,
    companion: Path,
    key: bytes,
) -> int:
    """Recode the rows in the engine, shuffle them and write both parts; returns cells defused."""
    schema = request.schema
    person = schema.person.name if schema.person else None
    provider = schema.provider.name if schema.provider else None
    carry = [column.name for column in published(schema).columns if column.role != "quasi"]
    codes = tuple(np.ascontiguousarray(column[cut.entry]) for column in encoded.codes())
    pieces = Pieces(codes, cut.class_, cut.count)
    batches = frame.recode(
        encoded.codings, pieces, carry + ([provider] if provider else []), person, key
    )
    recoded = Recoded(encoded.tally.quasi, cut.cells, published(schema).names, person, provider)
    total = int(cut.count[cut.class_ >= 0].sum())
    done = defused = 0
    with recoded.writers(table, companion) as write:
        for batch in shuffled(batches):
            write(batch)
            done += batch.num_rows
            request.progress("writing", done, total)
        defused = recoded.defused
    if done != total:
        raise OutputError(
            f"{done:,} rows were written where {total:,} were expected.",
            "the input changed while it was read: publish again.",
        )
    return defused


@contextmanager
def _aside(out: Path) -> Iterator[tuple[Path, Path]]:
    """Two private temporary folders beside the final place; gone afterwards, come what may."""
    try:
        root = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.absolute().parent))
    except OSError as error:
        raise OutputError(
            f"The folder that should hold {out.name!r} cannot be written.", "choose another place."
        ) from error
    try:
        public, companion = root / "public", root / "companion"
        public.mkdir()
        companion.mkdir(mode=0o700)
        yield public, companion
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _move(public: Path, companion: Path, request: Request) -> Path:
    """Put both folders into place by renaming; an old release is kept until the new one stands."""
    assert request.out is not None
    out = request.out
    beside = request.companion or out.with_name(f"{out.name}.private")
    if beside.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "The private companion may not lie in the release folder.",
            "choose another --companion folder.",
        )
    olds = []
    for new, final in ((companion, beside), (public, out)):
        if final.exists():
            old = final.with_name(f".{final.name}-{secrets.token_hex(4)}.old")
            final.rename(old)
            olds.append(old)
        try:
            new.rename(final)
        except OSError:  # another file system: copy, which only the companion can need
            shutil.copytree(new, final)
    for old in olds:
        shutil.rmtree(old, ignore_errors=True)
    return beside


def fingerprint(frame: Frame, key: bytes) -> str | None:
    """A hash of the input file keyed with the companion's key; None for a table in memory."""
    source = getattr(frame, "source", None)
    if not isinstance(source, Path) or not source.is_file():
        return None
    digest = hmac.new(key, digestmod=hashlib.sha256)
    with source.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(jsonable(data), indent=2, ensure_ascii=False), encoding="utf-8")
