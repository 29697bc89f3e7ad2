"""The archive's files as they are there, from the UCI archive, a mirror of it, or a folder.

Each part of a data set may lie in several places, which are tried one after another: alone, packed
on its own, or in a bundle with others. Where one of them is out of order, the others are tried all
the same, and it is told only where none has the part. What is found is not trusted: the table that
is made of it must have a known hash (`shoal.data.download`).
"""

from __future__ import annotations

import gzip
import http.client
import io
import lzma
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shoal.core.errors import InputError, UsageError

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
