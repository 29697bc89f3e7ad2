"""Fetch the papers' data sets: get the archive's files, convert, check the hash, put in place.

The files come from the UCI archive, a mirror of it, or a folder. Each part of a data set may lie in
several places, which are tried one after another: alone, packed on its own, or in a bundle with
others. Where one of them is out of order, the others are tried all the same, and the error is
raised only where none has the part. What was downloaded is not trusted: the table that is made of
it must have a known hash. Nothing else in Shoal downloads.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import lzma
import os
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from shoal.core.atomic_file import WRITE_HINT, write_file
from shoal.core.errors import InputError, OutputError, UsageError
from shoal.data.catalogue import (
    ADULT_COLUMNS,
    FILES,
    IPUMS_COLUMNS,
    LICENCE_FILE,
    LICENCE_TEXT,
    DataFile,
    describe_licence,
)
from shoal.data.data_folder import VARIABLE, choose_target, is_writable, list_files, list_folders
from shoal.releases.folder import ensure_folder

Progress = Callable[[str, int, int], None]
UCI = "https://archive.ics.uci.edu"
_OLD = f"{UCI}/ml/machine-learning-databases"
BUNDLES = {"adult": "adult.zip", "ipums": "ipums+census+database.zip"}
"""By what the parts' names begin with."""
ADDRESSES = {
    "adult.zip": f"{UCI}/static/public/2/adult.zip",
    "adult.data": f"{_OLD}/adult/adult.data",
    "adult.test": f"{_OLD}/adult/adult.test",
    "ipums.la.97.gz": f"{_OLD}/ipums-mld/ipums.la.97.gz",
    "ipums.la.98.gz": f"{_OLD}/ipums-mld/ipums.la.98.gz",
    "ipums.la.99.gz": f"{_OLD}/ipums-mld/ipums.la.99.gz",
    "ipums+census+database.zip": f"{UCI}/static/public/127/ipums+census+database.zip",
}
PAGES = (f"{UCI}/dataset/2/adult", f"{UCI}/dataset/127/ipums+census+database")
"""Where people find the files."""
PACKED = (".gz", "", ".gz.old")
"""What a part's name may have behind it."""
BY_HAND = (
    f"download the files by hand ({' and '.join(PAGES)}) and name their folder: "
    "`shoal data fetch --from FOLDER`."
)
TIMEOUT_SECONDS = 30
AT_ONCE = 1 << 16
MAX_BYTES = 1 << 28
"""No file of the archive is near as long; what is longer is something else."""
DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
)
"""What unpacking raises where a file is not whole, or is no such file."""
EDITION = 1
_WRITE_HINT = f"{WRITE_HINT.rstrip('.')}: -o FOLDER."


@dataclass(frozen=True)
class Fetched:
    """The files of data sets that ``fetch`` wrote, and those that were right already."""

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
            f"{file['file']}: {file['rows']:,} rows, {'fetched' if file['new'] else 'was here'}. "
            f"Licence: {file['licence']}."
            for file in self.to_json()["files"]
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
    """Get the papers' data sets, and keep them in the form that studies read.

    A table whose hash is not the known one is not kept. A file that is there and right is left as
    it is. A file is written whole or not at all.

    Parameters
    ----------
    *names
        The data sets, as ``datasets`` names them; all without any.
    out
        The folder to write to; else the one that ``SHOAL_DATA`` names where that can be written,
        else the user's data folder.
    source
        A folder with the archive's files as downloaded, or the address of a mirror; else the UCI
        archive over HTTPS.
    replace
        Write over a file with another content.
    progress
        Called with a step's name, what is done of it, and its total.

    Returns
    -------
    Fetched
        The folder, and the files in it that were written and that were right already.

    Raises
    ------
    UsageError
        There is no such data set or source folder.
    InputError
        The archive cannot be reached, or what it has is not the known data set.
    OutputError
        The folder cannot be written to, or a file with another content is in it.
    """
    place = None if source is None else str(source)
    files = list_files(names)
    check_source(place)
    folder = Path(out) if out is not None else choose_target()
    if not is_writable(folder):
        raise OutputError(f"{folder} cannot be written to.", "choose a folder: -o FOLDER.")
    old = tuple(file for file in files if _is_in_place(folder / file, FILES[file], replace))
    new = tuple(file for file in files if file not in old)
    archive = Archive(place, progress)
    for file in new:
        parts = [archive.part(part) for part in FILES[file].parts]
        text = convert_parts(FILES[file], parts)
        _check_hash(file, text)
        progress(f"{file} written", 0, 1)
        # The licence first: no table lies there without its terms.
        licence_path = ensure_folder(folder) / LICENCE_FILE
        write_file(licence_path, LICENCE_TEXT.encode(), hint=_WRITE_HINT)
        write_file(folder / file, gzip.compress(text, 6, mtime=0), hint=_WRITE_HINT)
        progress(f"{file} written", 1, 1)
    return Fetched(folder, new, old)


def _is_in_place(path: Path, expected: DataFile, replace: bool) -> bool:
    # Raises where something else is there that must not be written over.
    if not os.path.lexists(path):
        return False
    how = "but is no file that can be opened"  # a folder, a pipe, a link that leads nowhere
    try:
        if os.path.isfile(path):
            if hashlib.sha256(_read_compressed(path)).hexdigest() == expected.sha256:
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


def _read_compressed(path: Path) -> bytes:
    # At most a byte more than any known file has; nothing where the file is damaged.
    with path.open("rb") as file:
        packed = file.read(MAX_BYTES + 1)
    try:
        with gzip.open(io.BytesIO(packed)) as content:
            return content.read(MAX_BYTES + 1)
    except DAMAGE_ERRORS:
        return b""


def _check_hash(file: str, text: bytes) -> None:
    expected, rows = FILES[file], text.count(b"\n") - 1
    if hashlib.sha256(text).hexdigest() == expected.sha256:
        return
    counted = f"{rows:,} rows" if rows == expected.rows else f"{rows:,} rows, not {expected.rows:,}"
    raise InputError(
        f"What was fetched for {file} is not the data set that is known ({counted}; its hash "
        "differs). It was not kept.",
        "try again; if it stays so, the archive has changed it: please report it.",
    )


# The archive's files


@dataclass
class Archive:
    """Files by their names, each read once."""

    source: str | None
    """A folder, or the address of one; None: the UCI archive."""
    progress: Progress
    _read: dict[str, bytes | InputError | None] = field(default_factory=dict)

    def part(self, name: str) -> bytes:
        """The content of one of the archive's files, unpacked."""
        bundle = next(file for begins, file in BUNDLES.items() if name.startswith(begins))
        names = [name + ending for ending in PACKED]
        errors: list[InputError] = []
        for file in (bundle, *names) if name.startswith("adult") else (*names, bundle):
            try:
                content = self._file(file)
                if content is not None and file == bundle:
                    content = _read_bundle_member(bundle, content, name)
                if content is not None:
                    return _decompress(file, content)
            except InputError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        raise InputError(f"{self.place} has no {name}, alone or in {bundle}.", BY_HAND)

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return UCI if self.source is None else self.source

    def _file(self, name: str) -> bytes | None:
        if name not in self._read:
            try:
                self._read[name] = self._retrieve(name)
            except InputError as error:  # kept: another part is not to wait for it again
                self._read[name] = error
        content = self._read[name]
        if isinstance(content, InputError):
            raise content
        return content

    def _retrieve(self, name: str) -> bytes | None:
        if self.source is None:
            address = ADDRESSES.get(name)
            return None if address is None else download_file(address, name, self.progress)
        if is_web_address(self.source):
            base = self.source.rstrip("/") + "/"
            return download_file(base + urllib.parse.quote(name, "+"), name, self.progress)
        return _read_local_file(Path(self.source) / name)


def is_web_address(source: str) -> bool:
    """Whether it is reached over a network."""
    return urllib.parse.urlsplit(source).scheme in ("http", "https")


def check_source(source: str | None) -> None:
    """Refuse a folder that is not there before anything is done."""
    if source is not None and not is_web_address(source) and not Path(source).is_dir():
        raise UsageError(
            f"There is no folder {source}.",
            "--from takes a folder with the archive's files, or an address with http(s)://.",
        )


def _read_local_file(file: Path) -> bytes | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return _check_length(file.name, opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).", "check the file.") from None


# Over the network


def download_file(address: str, name: str, progress: Progress) -> bytes | None:
    """What lies at an address; None where the server says that nothing does.

    Proxies are those of the usual variables (``https_proxy``, ``no_proxy`` ...).
    """
    request = urllib.request.Request(address, headers={"User-Agent": "shoal"})
    try:
        # An opener of its own: the shared one keeps the proxies that it was first made with.
        with urllib.request.build_opener().open(request, timeout=TIMEOUT_SECONDS) as response:
            return _receive(response, name, progress)
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404, 410):
            return None
        raise _unreachable_error(address, f"it answers {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise _unreachable_error(address, str(reason) or type(reason).__name__) from None


def _receive(response: http.client.HTTPResponse, name: str, progress: Progress) -> bytes:
    content_length = response.headers.get("Content-Length") or ""
    total, received = int(content_length) if content_length.isdecimal() else 0, bytearray()
    progress(name, 0, total)
    while piece := response.read(AT_ONCE):
        received += piece
        progress(name, len(received), max(total, len(received)))
        if len(received) > MAX_BYTES:
            raise http.client.HTTPException("the answer does not end")
    if len(received) < total:
        raise http.client.HTTPException(f"{len(received):,} of {total:,} bytes came")
    return bytes(received)


def _unreachable_error(address: str, why: str) -> InputError:
    host = urllib.parse.urlsplit(address).netloc
    return InputError(
        f"{host} cannot be reached ({why}).",
        f"check the network (a proxy is named in the variable https_proxy), or {BY_HAND}",
    )


# Unpacking


def _read_bundle_member(bundle: str, content: bytes, name: str) -> bytes | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = {Path(member.filename).name: member for member in packed.infolist()}
            file_name = next((name + end for end in PACKED if name + end in members), None)
            if file_name is None:
                return None
            with packed.open(members[file_name]) as file:
                return _check_length(bundle, file.read(MAX_BYTES + 1))
    except DAMAGE_ERRORS as error:
        raise _damaged_error(bundle) from error


def _decompress(file: str, content: bytes) -> bytes:
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            return _check_length(file, packed.read(MAX_BYTES + 1))
    except DAMAGE_ERRORS as error:
        raise _damaged_error(file) from error


def _check_length(file: str, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise _damaged_error(file)
    return content


def _damaged_error(file: str) -> InputError:
    return InputError(f"{file} cannot be unpacked: it is damaged.", "download it again.")


# Conversion: ``adult.data`` and ``adult.test`` have a blank behind each comma; the second begins
# with a line that is no row and has a full stop behind each income. ``ipums.la.97`` and the others
# are rows of 61 whole numbers between commas. Neither has a header.

SPLITS = {"adult.data": "train", "adult.test": "test"}


def convert_parts(expected: DataFile, parts: Sequence[bytes]) -> bytes:
    """The whole table as CSV, from the parts in the order that ``expected`` names them."""
    if expected.columns == IPUMS_COLUMNS:
        return _convert_ipums(expected.parts[0], parts[0])
    rows = [
        row
        for name, part in zip(expected.parts, parts, strict=True)
        for row in _read_adult_rows(name, part)
    ]
    return "".join(f"{','.join(row)}\n" for row in [ADULT_COLUMNS, *rows]).encode()


def _read_adult_rows(name: str, part: bytes) -> Iterator[list[str]]:
    for line in part.decode("ascii", errors="replace").splitlines():
        if not line.strip() or line.startswith("|"):
            continue
        row = [cell.strip() for cell in line.split(",")]
        row[-1] = row[-1].removesuffix(".")
        row.append(SPLITS[name])
        if len(row) != len(ADULT_COLUMNS):
            raise _unexpected_content_error(
                name, f"has rows of other than {len(ADULT_COLUMNS) - 1} columns"
            )
        yield row


def _convert_ipums(name: str, part: bytes) -> bytes:
    reading = pyarrow.csv.ReadOptions(column_names=IPUMS_COLUMNS)
    numbers = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(IPUMS_COLUMNS, pa.int64()))
    try:
        table = pyarrow.csv.read_csv(io.BytesIO(part), reading, convert_options=numbers)
    except pa.ArrowInvalid:  # its message may quote a cell
        raise _unexpected_content_error(
            name, f"is no table of {len(IPUMS_COLUMNS)} whole numbers in each row"
        ) from None
    text = io.BytesIO()
    text.write(f"{','.join(IPUMS_COLUMNS)}\n".encode())
    pyarrow.csv.write_csv(table, text, pyarrow.csv.WriteOptions(include_header=False))
    return text.getvalue()


def _unexpected_content_error(name: str, how: str) -> InputError:
    return InputError(
        f"{name} {how}: it is not the archive's file, or the archive has changed it.",
        "download it again; nothing was written for it.",
    )
