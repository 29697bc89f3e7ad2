"""The release folder: written aside, and moved into place whole.

The folder holds the table (buckets may come in two) and its public manifest. The private companion
(exact parameters, key, and per published row the provider and keyed person) lies beside it, never
inside.

Folders that belong together are moved by a journal beside the release, ``.NAME.journal``: what is
to be renamed is on the disk, and written down there, before the first of them is. A process that
is killed meanwhile leaves the journal, and whoever opens the release next finishes the move
(`repair`) before anything else.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shoal.core import temporary_files
from shoal.core.errors import OutputError, UsageError
from shoal.core.release import MANIFEST_NAME
from shoal.engines.protocol import Frame

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, wait: bool) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


COMPANION = "companion.json"
"""The file that says that a folder is a private companion."""
PRIVATE_ROWS, COUNTERFEITS = "rows.parquet", "counterfeits.csv"
"""The files with the companion's rows, and with a release's counterfeits."""
AGREEMENT, PRIVATE = "pool.json", "private"
"""The file and the folder that say that a folder is a pool."""
PATIENCE = 10.0
"""Seconds to wait for another process that moves folders to the same place."""

_TABLE = r"(table|values)\.(csv|csv\.gz|parquet|feather|arrow|xlsx)"
_ASIDE, _OLD = "-[0-9a-f]{12}", r"-[0-9a-f]{8}\.old"


def default_companion(out: Path) -> Path:
    """Where the private companion of a release lies unless the publisher says otherwise."""
    return out.parent / f"{out.name}.private"


def check_output_free(out: Path, companion: Path, replace: bool) -> None:
    """Refuse before any work what could not be written afterwards."""
    if not out.name:
        raise UsageError("The root folder cannot be a release.", "choose another folder.")
    here, there = out.resolve(), companion.resolve()
    if there.is_relative_to(here) or here.is_relative_to(there):
        raise UsageError(
            "The release and its private companion may not lie in one another.",
            "choose another --companion folder.",
        )
    check_outside(out)
    check_outside(companion)
    tidy(companion, out)
    check_replaceable(out, MANIFEST_NAME, replace)
    check_replaceable(companion, COMPANION, replace)


def check_outside(place: Path) -> None:
    """Refuse a place inside what is public already, or inside a pool.

    What is written there may have a private part, and what lies in a release is given away with it;
    whoever may read a release would be let into a pool, where everybody's rows are.
    """
    here = place.resolve()
    if any(_is_release(folder) for folder in here.parents):
        raise UsageError(
            f"{place.name!r} would lie in the folder of a release, which is public.",
            "choose a folder beside it.",
        )
    if any(_is_pool(folder) for folder in (here, *here.parents)):
        raise UsageError(
            f"{place.name!r} would lie in the folder of a pool, where everybody's rows are.",
            "choose a folder elsewhere.",
        )


def _is_release(folder: Path) -> bool:
    return (folder / MANIFEST_NAME).is_file() and any(folder.glob("table.*"))


def _is_pool(folder: Path) -> bool:
    return (folder / AGREEMENT).is_file() and (folder / PRIVATE).is_dir()


def check_replaceable(
    folder: Path, mark: str, replace: bool, own_files: str | None = None, what: str = "a release"
) -> None:
    """Refuse a place that cannot be written, or holds what is not ours to replace.

    ``mark`` is the file that a folder of ours has, ``own_files`` a pattern of the names in it;
    a release and a companion say themselves which they are. An empty folder is free.
    """
    taken = os.path.lexists(folder) and not _is_empty(folder)
    if taken and not replace:
        raise _taken_error(folder)
    if taken and folder.exists() and (folder.is_symlink() or not (folder / mark).is_file()):
        raise UsageError(
            f"{folder.name!r} exists and is not {what}; it is not replaced.",
            "choose another folder.",
        )
    if taken and folder.exists() and any(_list_foreign_files(folder, own_files)):
        raise UsageError(
            f"{folder.name!r} holds files that are not {what}'s; it is not replaced.",
            "move them away, or choose another folder.",
        )
    parent = folder.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise _unwritable_error(folder)


def _is_empty(place: Path) -> bool:
    """Whether a place is a folder in which nothing is: no link to one, nor where one stands."""
    if not place.is_dir() or place.is_symlink() or place.resolve() == Path.cwd():
        return False
    return not any(place.iterdir())


def _list_foreign_files(folder: Path, own_files: str | None = None) -> Iterator[str]:
    known = own_files or _match_own_files(folder)
    for name in os.listdir(folder):
        if not re.fullmatch(known, name) or (folder / name).is_dir():
            yield name


def _match_own_files(folder: Path) -> str:
    if (folder / COMPANION).is_file():
        return f"{re.escape(COMPANION)}|{re.escape(PRIVATE_ROWS)}"
    names = {MANIFEST_NAME}
    try:
        manifest = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
        names |= {str(manifest[name]) for name in ("file", "values") if name in manifest}
        names |= {COUNTERFEITS} if "counterfeits" in manifest else set()
    except (OSError, ValueError, TypeError, RecursionError):  # damaged, and to be replaced
        return f"{re.escape(MANIFEST_NAME)}|{_TABLE}|{re.escape(COUNTERFEITS)}"
    return "|".join(map(re.escape, names))


@contextmanager
def make_aside(*folders: Path) -> Iterator[tuple[Path, ...]]:
    """For each folder a private one beside it, to be filled; gone afterwards, come what may."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(_aside(folder)) for folder in folders)


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    # Named before it is made, so that no interrupt comes between the two.
    root = folder.absolute().with_name(f".{folder.name}-{secrets.token_hex(6)}")
    try:
        try:
            temporary_files.make_pending_folder(root)
        except OSError as error:
            raise _unwritable_error(folder) from error
        yield root
    finally:
        _remove(root)
        temporary_files.settle_pending(root)


def make_public_and_private(public: Path, private: Path) -> tuple[Path, Path]:
    """A folder that everybody may read, as far as the umask lets them, and one for its owner."""
    shown, hidden = public / "public", private / "private"
    shown.mkdir()
    hidden.mkdir(mode=0o700)
    return shown, hidden


def fingerprint_source(frame: Frame, key: bytes) -> str | None:
    """The input file's keyed hash, once it is sure that it did not change; None in memory."""
    if frame.source is None:
        return None
    frame.source.check()
    return frame.source.fingerprint(key)


def _remove(folder: Path) -> None:
    """Remove a folder, even where Ctrl-C comes meanwhile."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


# Moving by a journal


@dataclass(frozen=True)
class _Step:
    """One folder to be moved: where it is, where it goes, where the one goes that is there."""

    new: Path
    final: Path
    old: Path
    replaces: bool
    """Whether there was one."""

    @classmethod
    def of(cls, new: Path, final: Path) -> _Step:
        old = final.with_name(f".{final.name}-{secrets.token_hex(4)}.old")
        return cls(new, final, old, os.path.lexists(final))

    def forward(self) -> None:
        """Move it, if it is not moved already."""
        if not self.new.exists():
            return
        if os.path.lexists(self.final):
            if self.old.exists():
                raise FileExistsError(self.final)
            _rename(self.final, self.old)
        _rename(self.new, self.final)

    def back(self) -> None:
        """Undo it, as far as it was done."""
        if self.final.exists() and not self.new.exists() and self._is_done:
            _rename(self.final, self.new)
        if self.old.exists() and not os.path.lexists(self.final):
            _rename(self.old, self.final)

    @property
    def _is_done(self) -> bool:
        return self.new.parent.exists() and (self.old.exists() or not self.replaces)

    def is_lost(self, others_wait: bool) -> bool:
        """Whether its new folder is gone, and not by being moved."""
        if self.new.exists():
            return False
        return not self.final.exists() or (others_wait and not self._is_done)

    def finish(self) -> None:
        """Remove what was there before; a file that is somebody else's goes to the new folder."""
        if not self.old.exists():
            return
        ours = any((self.old / mark).is_file() for mark in (MANIFEST_NAME, COMPANION))
        for name in list(_list_foreign_files(self.old)) if ours else []:
            place = self.final / name
            while os.path.lexists(place):
                place = place.with_name(f"{place.name}~")
            _rename(self.old / name, place)
        _remove(self.old)


def move_into_place(*pairs: tuple[Path, Path], replace: bool) -> None:
    """Rename each new folder to its final name: all of them or, come what may, none.

    What stands there is refused unless ``replace``, except an empty folder: it may have come while
    the new one was made.
    It is set aside first, put back when anything fails (Ctrl-C too), and removed at the end. A
    process that is killed in between, or a disk without power, leaves a journal beside the last of
    the final places, by which the next command that opens it comes to the end (`repair`). The
    folders may lie on several disks, each beside its final place.
    """
    out = pairs[-1][1].absolute()
    with closing(_hold_journal(out)) as journal:
        steps = [_Step.of(new.absolute(), final.absolute()) for new, final in pairs]
        try:
            held = [step.final for step in steps if step.replaces and not _is_empty(step.final)]
            if held and not replace:
                raise _taken_error(held[0])
            for step in steps:
                _persist(step.new)
            # Nobody who stops this process removes them now: they are the journal's.
            temporary_files.settle_pending(*(step.new.parent for step in steps))
            journal.write(steps)
            for step in steps:
                step.forward()
        except BaseException as error:
            for step in reversed(steps):
                step.back()
            journal.remove()
            if isinstance(error, OSError):
                raise _unwritable_error(out) from error
            raise
        journal.finish(steps)


def repair(place: Path) -> None:
    """Finish what a killed process began to move to a place; nothing where nobody did."""
    place = Path(os.path.realpath(place))
    if os.path.lexists(_journal_path(place)):
        try:
            journal = _hold_journal(place, create=False)
        except FileNotFoundError:  # who was at it has just come to the end
            return
        with closing(journal):
            journal.remove()


def tidy(*places: Path) -> None:
    """Before something is published: repair, and remove what killed processes left, at its places.

    The last one is the release's.
    """
    out = places[-1].absolute()
    if not os.access(out.parent, os.W_OK | os.X_OK):
        return  # nothing can be written there anyway
    with closing(_hold_journal(out)) as journal:
        for place in places:
            _remove_leftovers(place.absolute())
        journal.remove()


def _remove_leftovers(place: Path) -> None:
    name = re.escape(place.name)
    with suppress(OSError):
        for path in [place.with_name(entry) for entry in os.listdir(place.parent)]:
            replaced = re.fullmatch(rf"\.{name}{_OLD}", path.name) and place.exists()
            if re.fullmatch(rf"\.{name}{_ASIDE}", path.name) or replaced:
                temporary_files.remove_leftover(path)


def _journal_path(place: Path) -> Path:
    return place.with_name(f".{place.name}.journal")


class _Journal:
    """What is to be renamed, written down beside the release while it is done, and held locked."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file = path, file

    def write(self, steps: Sequence[_Step]) -> None:
        """Write it down; it is on the disk when this returns."""
        moves = [
            {"new": str(s.new), "final": str(s.final), "old": s.old.name, "replaces": s.replaces}
            for s in steps
        ]
        os.write(self._file, json.dumps({"edition": 1, "moves": moves}).encode())
        os.fsync(self._file)
        _persist_folder(self._path.parent)

    def come_to_the_end(self) -> None:
        """Do what is still to be done of what a killed process wrote down."""
        steps = self._read()
        waiting = any(step.new.exists() for step in steps)
        if any(step.is_lost(waiting) for step in steps):
            for step in reversed(steps):  # the old ones are all there is
                step.back()
        else:
            for step in steps:
                step.forward()
        with ExitStack() as stack:
            for step in steps:
                stack.callback(shutil.rmtree, step.new.parent, ignore_errors=True)
                stack.callback(step.finish)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)

    def _read(self) -> list[_Step]:
        """What was written; nothing if that was not finished, for then nothing was renamed."""
        try:
            moves = json.loads(os.pread(self._file, 1 << 20, 0))["moves"]
            steps = [_parse_step(move) for move in moves]
        except (ValueError, KeyError, TypeError):
            return []
        return steps if all(map(self._is_allowed, steps)) else []

    def _is_allowed(self, step: _Step) -> bool:
        """Whether it is such a step as is written here: nothing else is renamed or removed."""
        place = _place_name(self._path)
        root, final = step.new.parent, re.escape(step.final.name)
        return (
            step.new.is_absolute()
            and root.parent == step.final.parent
            and re.fullmatch(rf"\.({re.escape(place)}|{final}){_ASIDE}", root.name) is not None
            and re.fullmatch(rf"\.{final}{_OLD}", step.old.name) is not None
        )

    def finish(self, steps: Sequence[_Step]) -> None:
        """Remove what was replaced, each even where Ctrl-C comes at another, and the journal."""
        try:
            with ExitStack() as stack:
                for step in steps:
                    stack.callback(step.finish)
        finally:
            if not any(step.old.exists() for step in steps):
                self.remove()

    def remove(self) -> None:
        """Take it away: nothing is left to be done."""
        self._path.unlink(missing_ok=True)
        _persist_folder(self._path.parent)
        self.close()

    def close(self) -> None:
        """Let go of it; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _parse_step(move: dict[str, str | bool]) -> _Step:
    final = Path(str(move["final"]))
    old = final.with_name(str(move["old"]))
    return _Step(Path(str(move["new"])), final, old, bool(move["replaces"]))


def _hold_journal(place: Path, create: bool = True) -> _Journal:
    """The journal of a place, for nobody else meanwhile; what a killed process wrote is done."""
    path, until = _journal_path(place), time.monotonic() + PATIENCE
    while (file := _open_journal(path, create)) is None:
        if time.monotonic() > until:
            raise _half_moved_error(place)
        time.sleep(0.02)
    journal = _Journal(path, file)
    try:
        if hasattr(os, "geteuid") and os.fstat(file).st_uid != os.geteuid():
            raise _half_moved_error(place)
        journal.come_to_the_end()
    except BaseException as error:
        journal.close()
        if isinstance(error, OSError):
            raise _half_moved_error(place) from error
        raise
    return journal


def _open_journal(path: Path, create: bool) -> int | None:
    """The journal's file, locked; None as long as somebody else has it."""
    how = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, how, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        if os.path.lexists(path):  # another user's
            return None
        raise _unwritable_error(path.with_name(_place_name(path))) from error
    if temporary_files.lock_file(file) is not False and temporary_files.is_still_named(file, path):
        return file
    os.close(file)
    return None


def _place_name(journal: Path) -> str:
    return journal.name.removeprefix(".").removesuffix(".journal")


def _half_moved_error(place: Path) -> OutputError:
    return OutputError(
        f"A release is being moved to {place.name!r}, or that was interrupted and is not yours to "
        "finish.",
        f"wait; else whoever published it runs: shoal verify {place.name}",
    )


def _rename(origin: Path, target: Path) -> None:
    """Rename, on the disk when this returns."""
    os.rename(origin, target)
    _persist_folder(target.parent)
    if origin.parent != target.parent:
        _persist_folder(origin.parent)


def _persist(folder: Path) -> None:
    for here, _, files in os.walk(folder, topdown=False):
        for name in files:
            with open(os.path.join(here, name), "rb") as file:
                os.fsync(file.fileno())
        _persist_folder(Path(here))
    _persist_folder(folder.parent)


def _persist_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a folder cannot be opened
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _taken_error(folder: Path) -> UsageError:
    return UsageError(
        f"{folder.name!r} exists already.", "choose another folder, or add --replace."
    )


def _unwritable_error(folder: Path) -> OutputError:
    return OutputError(
        f"The folder that should hold {folder.name!r} does not exist or cannot be written.",
        "create it, or choose another place.",
    )


# A folder for one run at a time: several runs may keep their results in the same one


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
