"""Fetch data sets: get the archive's files, convert, compare with the known hash, put in place."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.core.atomic_file import WRITE_HINT, write_file
from shoal.core.errors import InputError, OutputError
from shoal.data.archive import DAMAGE_ERRORS, MAX_BYTES, Archive, Progress, check_source
from shoal.data.catalogue import FILES, DataFile
from shoal.data.conversion import convert_parts
from shoal.data.data_folder import VARIABLE, choose_target, is_writable, list_files, list_folders
from shoal.data.licences import LICENCE_FILE, LICENCE_TEXT, describe_licence
from shoal.releases.folder import ensure_folder

EDITION = 1


@dataclass(frozen=True)
class Fetched:
    """What is in the folder now."""

    folder: Path
    new: tuple[str, ...]
    """Files that were written."""
    old: tuple[str, ...]
    """Files that were there, and right."""

    @property
    def found_there(self) -> bool:
        """Whether studies look for data sets in this folder."""
        return self.folder.resolve() in [folder.resolve() for folder in list_folders()]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        files = [
            {
                "file": file,
                "rows": FILES[file].rows,
                "sha256": FILES[file].sha256,
                "licence": describe_licence(file),
                "new": file in self.new,
            }
            for file in FILES
            if file in (*self.new, *self.old)
        ]
        return {
            "edition": EDITION,
            "folder": str(self.folder),
            "files": files,
            "found_there": self.found_there,
        }

    def __str__(self) -> str:
        lines = [
            f"{one['file']}: {one['rows']:,} rows, {'fetched' if one['new'] else 'was here'}. "
            f"Licence: {one['licence']}."
            for one in self.to_json()["files"]
        ]
        terms = f"; {LICENCE_FILE} there says under which terms" if self.new else ""
        lines.append(f"In {self.folder}{terms}.")
        if not self.found_there:
            lines.append(f"Studies find it there with {VARIABLE}={self.folder} in the environment.")
        return "\n".join(lines)


def fetch(
    *names: str,
    out: str | Path | None = None,
    source: str | Path | None = None,
    replace: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Fetched:
    """Get the papers' data sets (all, or those named), and keep them in the form studies read.

    They come from the UCI archive over HTTPS, or from ``source``: a folder with the archive's files
    as downloaded, or the address of a mirror. They go to the folder ``out``, else to the one that
    ``SHOAL_DATA`` names where that can be written, else to the user's data folder. What is made of
    them has a known hash, or is not kept. A file that is there and right is left as it is; one
    with another content only gives way with ``replace``. A file is written whole or not at all.
    """
    place = None if source is None else str(source)
    files = list_files(names)
    check_source(place)
    folder = Path(out) if out is not None else choose_target()
    if not is_writable(folder):
        raise OutputError(f"{folder} cannot be written to.", "choose a folder: -o FOLDER.")
    old = tuple(file for file in files if _right(folder / file, FILES[file], replace))
    new = tuple(file for file in files if file not in old)
    archive = Archive(place, progress)
    for file in new:
        parts = [archive.part(part) for part in FILES[file].parts]
        text = convert_parts(FILES[file], parts)
        _check(file, text)
        progress(f"{file} written", 0, 1)
        _put(
            ensure_folder(folder) / LICENCE_FILE, LICENCE_TEXT.encode()
        )  # first: no table lies there without its terms
        _put(folder / file, gzip.compress(text, 6, mtime=0))
        progress(f"{file} written", 1, 1)
    return Fetched(folder, new, old)


def _right(path: Path, known: DataFile, replace: bool) -> bool:
    """Whether a file is there and holds what it should; what else is there is not written over."""
    if not os.path.lexists(path):
        return False
    how = "but is no file that can be opened"  # a folder, a pipe, a link that leads nowhere
    try:
        if os.path.isfile(path):
            if hashlib.sha256(_held(path)).hexdigest() == known.sha256:
                return True
            how = "with another content"
    except OSError as error:
        how = f"but cannot be read ({error.strerror})"
    if replace:
        return False
    raise OutputError(
        f"{path.name} is there already, {how}.",
        "write over it with --replace, or choose another folder.",
    )


def _held(path: Path) -> bytes:
    """What is compressed in a file, at most a byte more than any known file has; b"": nothing."""
    with path.open("rb") as file:
        packed = file.read(MAX_BYTES + 1)
    try:
        with gzip.open(io.BytesIO(packed)) as content:
            return content.read(MAX_BYTES + 1)
    except DAMAGE_ERRORS:
        return b""


def _check(file: str, text: bytes) -> None:
    known, rows = FILES[file], text.count(b"\n") - 1
    if hashlib.sha256(text).hexdigest() == known.sha256:
        return
    counted = f"{rows:,} rows" if rows == known.rows else f"{rows:,} rows, not {known.rows:,}"
    raise InputError(
        f"What was fetched for {file} is not the data set that is known ({counted}; its hash "
        "differs). It was not kept.",
        "try again; if it stays so, the archive has changed it: please report it.",
    )


def _put(path: Path, content: bytes) -> None:
    """Whole or not at all, even where Ctrl-C comes meanwhile."""
    write_file(path, content, hint=f"{WRITE_HINT.rstrip('.')}: -o FOLDER.")
