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
        alone = [name + ending for ending in PACKED]
        failed: list[InputError] = []
        for file in (bundle, *alone) if name.startswith("adult") else (*alone, bundle):
            try:
                content = self._file(file)
                if content is not None and file == bundle:
                    content = _member(bundle, content, name)
                if content is not None:
                    return _unpacked(file, content)
            except InputError as error:
                failed.append(error)
        if failed:
            raise failed[0]
        raise InputError(f"{self.place} has no {name}, alone or in {bundle}.", BY_HAND)

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return UCI if self.source is None else self.source

    def _file(self, name: str) -> bytes | None:
        if name not in self._read:
            try:
                self._read[name] = self._found(name)
            except InputError as error:  # kept: another part is not to wait for it again
                self._read[name] = error
        found = self._read[name]
        if isinstance(found, InputError):
            raise found
        return found

    def _found(self, name: str) -> bytes | None:
        if self.source is None:
            address = ADDRESSES.get(name)
            return None if address is None else download_file(address, name, self.progress)
        if is_web_address(self.source):
            base = self.source.rstrip("/") + "/"
            return download_file(base + urllib.parse.quote(name, "+"), name, self.progress)
        return _copied(Path(self.source) / name)


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


def _copied(file: Path) -> bytes | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return _limited(file.name, opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).", "check the file.") from None


# Over the network


def download_file(address: str, name: str, progress: Progress) -> bytes | None:
    """What lies at an address; None where the server says that nothing does.

    Proxies are those of the usual variables (``https_proxy``, ``no_proxy`` ...).
    """
    asked = urllib.request.Request(address, headers={"User-Agent": "shoal"})
    try:
        # An opener of its own: the shared one keeps the proxies that it was first made with.
        with urllib.request.build_opener().open(asked, timeout=TIMEOUT_SECONDS) as answer:
            return _streamed(answer, name, progress)
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404, 410):
            return None
        raise _unreached(address, f"it answers {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise _unreached(address, str(reason) or type(reason).__name__) from None


def _streamed(answer: http.client.HTTPResponse, name: str, progress: Progress) -> bytes:
    said = answer.headers.get("Content-Length") or ""
    total, found = int(said) if said.isdecimal() else 0, bytearray()
    progress(name, 0, total)
    while piece := answer.read(AT_ONCE):
        found += piece
        progress(name, len(found), max(total, len(found)))
        if len(found) > MAX_BYTES:
            raise http.client.HTTPException("the answer does not end")
    if len(found) < total:
        raise http.client.HTTPException(f"{len(found):,} of {total:,} bytes came")
    return bytes(found)


def _unreached(address: str, why: str) -> InputError:
    host = urllib.parse.urlsplit(address).netloc
    return InputError(
        f"{host} cannot be reached ({why}).",
        f"check the network (a proxy is named in the variable https_proxy), or {BY_HAND}",
    )


# Unpacking


def _member(bundle: str, content: bytes, name: str) -> bytes | None:
    """A part out of a bundle; None where the bundle lacks it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = {Path(one.filename).name: one for one in packed.infolist()}
            found = next((name + end for end in PACKED if name + end in members), None)
            if found is None:
                return None
            with packed.open(members[found]) as file:
                return _limited(bundle, file.read(MAX_BYTES + 1))
    except DAMAGE_ERRORS as error:
        raise _damaged(bundle) from error


def _unpacked(file: str, content: bytes) -> bytes:
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            return _limited(file, packed.read(MAX_BYTES + 1))
    except DAMAGE_ERRORS as error:
        raise _damaged(file) from error


def _limited(file: str, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise _damaged(file)
    return content


def _damaged(file: str) -> InputError:
    return InputError(f"{file} cannot be unpacked: it is damaged.", "download it again.")


# Conversion: ``adult.data`` and ``adult.test`` have a blank behind each comma; the second begins
# with a line that is no row and has a full stop behind each income. ``ipums.la.97`` and the others
# are rows of 61 whole numbers between commas. Neither has a header.

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
