"""The release folder: written aside, and moved into place whole.

The folder holds the table (buckets may come in two) and its public manifest. The private companion
(exact parameters, key, and per published row the provider and keyed person) lies beside it, never
inside.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shoal.errors import OutputError, UsageError
from shoal.frames.frame import Frame
from shoal.release import MANIFEST

OURS = r"(table|values)\.[a-z.]+|rows\.parquet|(manifest|companion)\.json"
"""The names of the files that Shoal writes."""
COMPANION = "companion.json"
"""The file that says that a folder is a private companion."""
AGREEMENT, PRIVATE = "pool.json", "private"
"""The file and the folder that say that a folder is a pool."""


def companion_of(out: Path) -> Path:
    """Where the private companion of a release lies unless the publisher says otherwise."""
    return out.parent / f"{out.name}.private"


def check_free(out: Path, companion: Path, replace: bool) -> None:
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
    check_ours(out, MANIFEST, replace)
    check_ours(companion, COMPANION, replace)


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
    return (folder / MANIFEST).is_file() and any(folder.glob("table.*"))


def _is_pool(folder: Path) -> bool:
    return (folder / AGREEMENT).is_file() and (folder / PRIVATE).is_dir()


def made(place: Path) -> Path:
    """A folder that may be there already, to put results in."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{place.name!r} cannot be a folder ({error.strerror}).", "choose another place."
        ) from None
    return place


def check_ours(
    folder: Path, mark: str, replace: bool, ours: str = OURS, what: str = "a release"
) -> None:
    """Refuse a place that cannot be written, or holds what is not ours to replace.

    ``mark`` is the file that a folder has when it is one of ours, ``ours`` the names of its files.
    """
    if (folder.exists() or folder.is_symlink()) and not replace:
        raise _taken(folder)
    if folder.exists() and (folder.is_symlink() or not (folder / mark).is_file()):
        raise UsageError(
            f"{folder.name!r} exists and is not {what}; it is not replaced.",
            "choose another folder.",
        )
    if folder.exists() and any(not re.fullmatch(ours, name) for name in os.listdir(folder)):
        raise UsageError(
            f"{folder.name!r} holds files that are not {what}'s; it is not replaced.",
            "move them away, or choose another folder.",
        )
    parent = folder.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise _unwritable(folder)


@contextmanager
def aside(*folders: Path) -> Iterator[tuple[Path, ...]]:
    """For each folder a private one beside it, to be filled; gone afterwards, come what may."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(_aside(folder)) for folder in folders)


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    # Named before it is made, so that no interrupt comes between the two.
    root = folder.absolute().with_name(f".{folder.name}-{secrets.token_hex(6)}")
    try:
        try:
            root.mkdir(mode=0o700)
        except OSError as error:
            raise _unwritable(folder) from error
        yield root
    finally:
        _remove(root)


def inside(public: Path, private: Path) -> tuple[Path, Path]:
    """A folder that everybody may read, as far as the umask lets them, and one for its owner."""
    shown, hidden = public / "public", private / "private"
    shown.mkdir()
    hidden.mkdir(mode=0o700)
    return shown, hidden


def fingerprint(frame: Frame, key: bytes) -> str | None:
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


def move(*pairs: tuple[Path, Path], replace: bool) -> None:
    """Rename each new folder to its final name, one after another, the last pair last.

    What stands there is refused unless ``replace``: it may have come while the new one was made.
    It is set aside first, put back when anything fails (Ctrl-C too), and removed at the end. A
    process that is killed between two of the names leaves what it has moved.
    """
    undo: list[tuple[Path, Path]] = []
    olds: list[Path] = []
    try:
        for new, final in pairs:
            if final.exists():
                if not replace:
                    raise _taken(final)
                old = final.with_name(f".{final.name}-{secrets.token_hex(4)}.old")
                undo.append((old, final))
                final.rename(old)
                olds.append(old)
            undo.append((final, new))
            new.rename(final)
    except BaseException as error:
        for place, origin in reversed(undo):
            if place.exists() and not origin.exists():
                place.rename(origin)
        if isinstance(error, OSError):
            raise _unwritable(pairs[-1][1]) from error
        raise
    with ExitStack() as stack:  # each is removed, even where Ctrl-C comes at another
        for old in olds:
            stack.callback(_remove, old)


def _taken(folder: Path) -> UsageError:
    return UsageError(
        f"{folder.name!r} exists already.", "choose another folder, or add --replace."
    )


def _unwritable(folder: Path) -> OutputError:
    return OutputError(
        f"The folder that should hold {folder.name!r} does not exist or cannot be written.",
        "create it, or choose another place.",
    )
