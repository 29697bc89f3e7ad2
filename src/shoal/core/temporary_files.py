"""Temporary files: without a name where the system allows it, and gone with their process.

Each process has a folder of its own, ``shoal-tmp-…`` under the temporary folder, that only its
user may enter and that it holds locked while it lives. Rows are written to files that have no name
(`NamelessFile`), so that the system frees them when the process ends, however it ends. Files that a
library insists on naming lie in a folder whose names lead nowhere but into this process
(`hide_names`). What has to have a name until it is moved into place is `pending`. A process that
was killed leaves at most an empty folder, or names that lead nowhere; the next one to start takes
them away (`remove_leftover_folders`).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import struct
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from shoal.core.errors import OutputError

if sys.platform == "win32":
    import msvcrt

    def lock_file(file: int) -> bool | None:
        """Lock an open file, if nobody else does; the system unlocks it at the end."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock_file(file: int) -> bool | None:
        """Lock an open file or folder, if nobody else does; the system unlocks it at the end.

        None where the disk has no locks: nobody can tell.
        """
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True


def is_still_named(file: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: another process may have removed it."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


FOLDER_NAME = re.compile(r"shoal-tmp-[0-9a-f]{16}")
"""The names of processes' folders."""
DESCRIPTORS = next((f for f in ("/proc/self/fd", "/dev/fd") if os.path.isdir(f)), None)
"""Where the system lists the open files of a process as files; None where it does not."""

_lock = threading.RLock()


# The folder of this process


class _Home:
    """The folder of one process under one temporary folder, as long as something lies in it."""

    def __init__(self, root: str) -> None:
        while True:
            self.path = Path(root, f"shoal-tmp-{secrets.token_hex(8)}")
            self.path.mkdir(mode=0o700)
            # Until it is locked, another process may take it for a dead one's and remove it.
            try:
                self._file = _open_folder(self.path)
            except FileNotFoundError:
                continue
            if self._file is None or (lock_file(self._file) is not False and self.path.is_dir()):
                break
            os.close(self._file)
        self.folders: set[Path] = set()

    def remove(self) -> None:
        for _ in range(3):  # an engine at work may add a file meanwhile
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                break
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _open_folder(path: Path) -> int | None:
    """The folder itself as an open file; None where the system has no such thing."""
    if not hasattr(os, "O_DIRECTORY"):
        return None
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


_homes: dict[tuple[int, str], _Home] = {}


def make_folder() -> Path:
    """A new folder of this process that only its user may enter."""
    from tempfile import gettempdir

    with _lock:
        root = gettempdir()
        if not any(owner == os.getpid() for owner, _ in _homes):
            remove_leftover_folders(Path(root))
        place = os.getpid(), root
        try:
            if place not in _homes:
                _homes[place] = _Home(root)
            home = _homes[place]
            folder = home.path / secrets.token_hex(4)
            home.folders.add(folder)
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise OutputError(
                f"The temporary folder cannot be written ({error.strerror or 'no reason given'}).",
                "free some space, or set TMPDIR to a folder with room for the table.",
            ) from None
        return folder


def remove_folder(folder: Path) -> None:
    """Remove a folder that was made here, and this process's own with the last one."""
    with _lock:
        _names.forget(folder)
        shutil.rmtree(folder, ignore_errors=True)
        for place, home in list(_homes.items()):
            if place[0] == os.getpid() and folder in home.folders:
                home.folders.remove(folder)
                if not home.folders:
                    del _homes[place]
                    home.remove()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for a while."""
    folder = make_folder()
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_leftover_folders(root: Path) -> None:
    """Remove the folders that processes of this user left when they were killed."""
    with suppress(OSError):
        for name in os.listdir(root):
            if FOLDER_NAME.fullmatch(name):
                remove_leftover(root / name)


def remove_leftover(path: Path) -> bool:
    """Remove a folder of this user's that no living process holds; links are not followed."""
    with suppress(OSError):
        file = _open_folder(path)
        if file is None:
            return False
        try:
            if os.fstat(file).st_uid == os.geteuid() and lock_file(file):
                shutil.rmtree(path, ignore_errors=True)
                return not path.exists()
        finally:
            os.close(file)
    return False


# What is moved into place when it is whole

_pending: dict[Path, int | None] = {}


def make_pending_folder(path: Path) -> None:
    """Make a folder that is removed if this process is asked to stop, and known as left if killed.

    It is locked as long as the process lives, or until it is settled.
    """
    with _lock:
        path.mkdir(mode=0o700)
        _pending[path] = None
        file = _pending[path] = _open_folder(path)
        if file is not None:
            lock_file(file)


def settle_pending(*paths: Path) -> None:
    """Take folders for what they are now: no more to be removed by who stops this process."""
    with _lock:
        for path in paths:
            file = _pending.pop(path, None)
            if file is not None:
                os.close(file)


def remove_everything() -> None:
    """Remove all that this process would leave, for good: it ends now.

    The lock is kept, so that nothing is made, or moved into place, by a thread that still runs.
    """
    _lock.acquire()
    for path in list(_pending):
        shutil.rmtree(path, ignore_errors=True)
    for (owner, _), home in list(_homes.items()):
        if owner == os.getpid():
            home.remove()


# Files without a name


class NamelessFile:
    """A file that has no name where the system allows it: it is gone when its process is.

    ``path`` leads to it within this process alone. Elsewhere it is a file in a private folder.

    >>> rows = NamelessFile()
    >>> _ = rows.path.write_bytes(b"41,f")
    >>> rows.path.read_bytes()
    b'41,f'
    >>> rows.close()
    """

    def __init__(self) -> None:
        if DESCRIPTORS is None:
            home = make_folder()
            self.path = home / "rows"
            self._close: weakref.finalize[..., NamelessFile] = weakref.finalize(
                self, remove_folder, home
            )
            return
        file = _unnamed()
        self.path = Path(DESCRIPTORS, str(file))
        self._close = weakref.finalize(self, os.close, file)

    def rewind(self) -> None:
        """Let the next who opens it begin at its start, where all share one position."""
        if DESCRIPTORS is not None and self._close.alive:
            os.lseek(int(self.path.name), 0, os.SEEK_SET)

    def close(self) -> None:
        """Let go of it; a second call does nothing."""
        self._close()


def _unnamed() -> int:
    from tempfile import gettempdir

    if hasattr(os, "O_TMPFILE"):
        with suppress(OSError):  # not every disk can
            return os.open(gettempdir(), os.O_TMPFILE | os.O_RDWR | os.O_EXCL, 0o600)
    with temporary_folder() as here:
        path = here / "rows"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        path.unlink()
        return file


# Names that lead nowhere but into this process


class _Event(NamedTuple):
    watch: int
    mask: int
    name: str


class _Names:
    """Takes the names of files away as they are made: links into this process stand for them.

    A library that writes by names, closes and opens again works as before, while nobody else, and
    nobody after this process, can follow the links. Linux tells what happens in a folder.
    """

    CREATED, DELETED, OVERFLOW = 0x100, 0x200, 0x4000
    HEAD = struct.Struct("iIII")

    def __init__(self) -> None:
        self._owner = 0
        self._folders: dict[int, Path] = {}
        self._files: dict[Path, int] = {}

    def hide(self, folder: Path) -> bool:
        """Begin with a folder; whether that can be done."""
        with _lock:
            if self._owner != os.getpid() and not self._start():
                return False
            events = self.CREATED | self.DELETED
            watch = self._system.inotify_add_watch(self._queue, os.fsencode(folder), events)
            if watch < 0:
                return False
            self._folders[watch] = folder
            return True

    def forget(self, folder: Path) -> None:
        """End with a folder, which is to be removed."""
        if self._owner != os.getpid():
            return
        for watch in [number for number, path in self._folders.items() if path == folder]:
            self._system.inotify_rm_watch(self._queue, watch)
            del self._folders[watch]
        for path in [path for path in self._files if path.parent == folder]:
            os.close(self._files.pop(path))

    def _start(self) -> bool:
        if not sys.platform.startswith("linux") or DESCRIPTORS is None:
            return False
        import ctypes  # only a process that writes temporary files needs it

        self._system = ctypes.CDLL(None, use_errno=True)
        self._queue = self._system.inotify_init1(os.O_CLOEXEC)
        if self._queue < 0:
            return False
        self._owner, self._folders, self._files = os.getpid(), {}, {}
        threading.Thread(target=self._follow, name="shoal-names", daemon=True).start()
        return True

    def _follow(self) -> None:
        queue = self._queue
        while events := os.read(queue, 1 << 16):
            with _lock:
                for event in self._parse(events):
                    self._settle(event)

    def _parse(self, events: bytes) -> Iterator[_Event]:
        start = 0
        while start < len(events):
            watch, mask, _, length = self.HEAD.unpack_from(events, start)
            start += self.HEAD.size
            name = events[start : start + length].rstrip(b"\0")
            start += length
            yield _Event(watch, mask, os.fsdecode(name))

    def _settle(self, event: _Event) -> None:
        if event.mask & self.OVERFLOW:
            for folder in self._folders.values():
                for name in os.listdir(folder):
                    self._take(folder / name)
        elif event.watch in self._folders:
            path = self._folders[event.watch] / event.name
            if event.mask & self.CREATED:
                self._take(path)
            elif path in self._files and not path.is_symlink():
                os.close(self._files.pop(path))

    def _take(self, path: Path) -> None:
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # gone already, or a link
            return
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            return
        link = path.with_name(f".{secrets.token_hex(4)}")
        with suppress(OSError):
            os.symlink(f"/proc/{os.getpid()}/fd/{file}", link)
            os.rename(link, path)
        if path in self._files:
            os.close(self._files.pop(path))
        self._files[path] = file


_names = _Names()


def _begin_anew() -> None:
    """A forked process has no lock and no pending folders of its own yet."""
    global _lock
    _lock = threading.RLock()
    _pending.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def hide_names(folder: Path) -> bool:
    """Let the files that are made in a folder lose their names; whether the system allows it."""
    return _names.hide(folder)
