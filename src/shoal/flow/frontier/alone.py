"""A folder for oneself for a moment: several runs may keep their points in one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import OutputError
from shoal.flow import folder

LOCK = ".frontier.lock"
"""It stays, for removing it would let two in; the system lets go of it when a run is killed."""

if sys.platform == "win32":
    import msvcrt

    def _hold(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _hold(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """While it lasts no other run is at work in the folder, which is made if need be."""
    folder.made(place)
    with _opened(place / LOCK) as file:
        try:
            _hold(file)
        except OSError:
            raise OutputError(
                f"{place.name!r} cannot be kept from other runs: its disk has no locks.",
                "choose a folder on another disk.",
            ) from None
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(
            f"{path.parent.name!r} cannot be written ({error.strerror}).", "choose another folder."
        ) from None
    try:
        yield file
    finally:
        os.close(file)
