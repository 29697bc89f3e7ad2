"""The releases that were made of a pool: a second one is not made unawares.

    POOL/private/published.json  when, which table and certificate, and the folder's name

Two releases of the same people can be compared: rows that are in different classes of the two tell
more than either of them does (S. R. Ganta, S. P. Kasiviswanathan and A. Smith: Composition attacks
and auxiliary information in data privacy, KDD 2008). A rule that holds for each says nothing of
both together, so a second release is refused unless it was asked for, and the partners learn of it.

While a release is made, ``working.json`` beside it says where. A run that is killed leaves it, and
the next command (``finish_killed_run``) removes the folder that was being filled and takes back
the line of a release that never got to its place.

It does not see releases of another pool about the same people, nor one that was made of a copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from shoal.core.atomic_file import replace_json
from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION
from shoal.releases import folder
from shoal.releases.folder import PRIVATE
from shoal.releases.reader import find_release_unchecked

PUBLISHED, WORKING = "published.json", "working.json"


@dataclass(frozen=True)
class PoolRelease:
    """A release that was made of a pool."""

    date: str
    table_sha256: str
    certificate: str
    """The SHA-256 of its certificate."""
    folder: str
    """The name of its folder."""


def read_pool_releases(pool: Path) -> tuple[PoolRelease, ...]:
    """The releases that were made of a pool, in their order."""
    try:
        stored = json.loads((pool / PRIVATE / PUBLISHED).read_text(encoding="utf-8"))
        return tuple(PoolRelease(**release) for release in stored["releases"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{PRIVATE}/{PUBLISHED} of the pool is damaged or cannot be read.",
            "put back a copy of it: it tells which releases were made.",
        ) from None


def check_no_earlier_release(
    earlier: Sequence[PoolRelease], out: Path, *, replace: bool = False, again: bool = False
) -> None:
    """Refuse one more release, unless it was asked for or takes the place of the last one."""
    if not earlier or again or (replace and _holds_release(out, earlier[-1])):
        return
    last, times = earlier[-1], len(earlier)
    when = f"on {last.date}" if times == 1 else f"{times:,} times, the last on {last.date}"
    raise UsageError(
        f"This pool was published {when} (folder {last.folder!r}): whoever has both tables can "
        "compare them.",
        "put the new one in place of the last: -o its folder, with --replace; or publish one more, "
        "which the partners are told: --again.",
    )


def _holds_release(out: Path, last: PoolRelease) -> bool:
    """Whether a folder holds that release; one of the same name elsewhere does not."""
    folder.repair(out)
    release = find_release_unchecked(out) if out.exists() else None
    return release is not None and release[1].get("sha256") == last.table_sha256


@contextmanager
def record_pool_release(
    pool: Path, earlier: Sequence[PoolRelease], new: PoolRelease, out: Path
) -> Iterator[None]:
    """Write a release down while it is moved into place; taken back where it did not get there.

    Written first: a process that is killed meanwhile leaves a line too many, never one too few.
    """
    path = pool / PRIVATE / PUBLISHED
    try:
        _write_releases(path, (*earlier, new))
        yield
    except BaseException:
        if _holds_release(out, new):  # stopped after it was there, while the old one was removed
            raise
        if earlier:
            _write_releases(path, earlier)
        else:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def mark_work_begun(pool: Path, finals: Sequence[Path], earlier: int) -> Iterator[None]:
    """Write down that a release is made, for whoever comes after a killed run.

    ``finals`` are the folders that it is moved to, the release's last; ``earlier``: how many
    releases there were.
    """
    note = pool / PRIVATE / WORKING
    places = [str(final.absolute()) for final in finals]
    replace_json(note, {"edition": EDITION, "places": places, "earlier": earlier})
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def finish_killed_run(pool: Path) -> None:
    """Come to an end with what a killed run had begun; only while the pool is locked.

    Folders that were being moved are moved, or none of them; what was being filled is removed.
    Where the release did not get to its place, its line is taken back.
    """
    note = pool / PRIVATE / WORKING
    try:
        begun = json.loads(note.read_text(encoding="utf-8"))
        places, earlier = [Path(place) for place in begun["places"]], int(begun["earlier"])
        out = places[-1]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        note.unlink(missing_ok=True)  # nobody wrote it: it is replaced whole or not at all
        return
    folder.tidy(*places)
    releases = read_pool_releases(pool)
    if len(releases) > earlier and not _holds_release(out, releases[-1]):
        _write_releases(pool / PRIVATE / PUBLISHED, releases[:earlier])
    note.unlink(missing_ok=True)


def _write_releases(path: Path, releases: Sequence[PoolRelease]) -> None:
    replace_json(path, {"edition": EDITION, "releases": [asdict(release) for release in releases]})
