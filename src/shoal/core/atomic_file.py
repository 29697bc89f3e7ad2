"""Files on the disk when the call returns: replaced whole or not at all, or written anew."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.core import temporary_files
from shoal.core.errors import OutputError
from shoal.core.release import to_json_value

_TRIES = 20
WRITE_HINT = "choose a folder you may write to, with enough free space."


def write_file(
    path: Path, content: str | bytes, *, mode: int = 0o666, hint: str = WRITE_HINT
) -> None:
    """Write a file, in place of any that was there; text is UTF-8 with its line ends as they are.

    Whoever reads it meanwhile, or after a crash, has the old file or the new one. Two that write
    at once do not meet: the last one's file stays. ``mode`` is what the umask is taken from.
    """
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            _remove_leftovers(path)
            with open(_create_locked(part, mode), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                if os.name == "posix":  # while it is locked, nobody takes it for left over
                    os.replace(part, path)
            if os.name != "posix":
                os.replace(part, path)
        finally:  # where Ctrl-C comes meanwhile, too
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path.name} cannot be written: {error.strerror or 'the disk failed'}.", hint
        ) from None


def _create_locked(part: Path, mode: int) -> int:
    """A new file, locked; made again where another process took it for left over before that."""
    # As bytes: a system's own line ends would be another content.
    binary = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for _ in range(_TRIES):
        file = os.open(part, binary, mode)
        is_locked = temporary_files.lock_file(file) is not False
        if is_locked and temporary_files.is_still_named(file, part):
            return file
        os.close(file)
        part.unlink(missing_ok=True)
    return os.open(part, binary, mode)  # this disk cannot lock it


def _remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed left beside a file: nobody holds it."""
    left = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for name in filter(left.fullmatch, os.listdir(path.parent)):
            with suppress(OSError), path.with_name(name).open("rb") as file:
                if temporary_files.lock_file(file.fileno()):
                    path.with_name(name).unlink()


def create_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file where there is none; it is on the disk when this returns."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(
            f"{path.name} cannot be written: {error.strerror or 'the disk failed'}.", WRITE_HINT
        ) from None


def create_json_file(path: Path, data: Mapping[str, Any], mode: int = 0o666) -> None:
    """Write JSON to a file where there is none."""
    create_file(path, _json(data), mode)


def replace_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write JSON that is its owner's alone, in place of any that was there."""
    write_file(path, _json(data), mode=0o600)


def _json(data: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(to_json_value(data), indent=2, ensure_ascii=False)}\n".encode()
