"""A folder for one run at a time: several runs may keep their results in the same one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.core.errors import OutputError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, wait: bool) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def ensure_folder(place: Path) -> Path:
    """A folder that may be there already, to put results in."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{place.name!r} cannot be a folder ({error.strerror}).", "choose another place."
        ) from None
    return place


class FolderBusyError(OutputError):
    """Another run is at work in a folder."""


@contextmanager
def lock_folder(place: Path, lock: str, *, wait: bool = True) -> Iterator[None]:
    """While it lasts no other run is at work in the folder, which is made if need be.

    ``lock`` is the file that is held meanwhile. It stays, for removing it would let two in; the
    system lets go of it when a run is killed. Without ``wait`` a folder that another run is at work
    in is refused.
    """
    ensure_folder(place)
    with _open_lock(place / lock) as file:
        try:
            _lock(file, wait)
        except (BlockingIOError, PermissionError):  # the second is Windows' word for it
            raise FolderBusyError(
                "Another run is writing to this folder.", "wait for it, or choose another folder."
            ) from None
        except OSError:
            raise OutputError(
                f"{place.name!r} cannot be kept from other runs: its disk has no locks.",
                "choose a folder on another disk.",
            ) from None
        yield


@contextmanager
def _open_lock(path: Path) -> Iterator[int]:
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
