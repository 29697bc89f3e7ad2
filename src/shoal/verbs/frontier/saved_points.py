"""The folder of a comparison: every finished point is kept, so that it can go on where it stopped.

    DIR/frontier.json   the settings, and a point for each method and rule
    DIR/frontier.html   the same as a page

Points are of one table, schema and settings, which are known again by hashes with a key of the
comparison's own; runs with further methods or rules add to them, also while others are at work:
what these have added is read again before every writing. No cell value is in them, but they tell
more about the table than a release does: both files are for their owner alone (0600), and may not
lie in a release's folder, nor in that of a private companion, which is somebody else's to replace.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.atomic_file import replace_json
from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION
from shoal.core.tally import Tally
from shoal.releases import folder
from shoal.releases.folder import lock_folder
from shoal.verbs.frontier.comparison import Frontier, Point

RESULT, PAGE = "frontier.json", "frontier.html"
LOCK = ".frontier.lock"
LEFT = r"\.frontier\..*"
OURS = rf"frontier\.(json|html)|{LEFT}"
"""The names of the files of a comparison; hidden ones are the lock, and what a killed run left."""


@dataclass(frozen=True)
class EarlierComparison:
    """What a folder holds: the settings, the key of its hashes, and the finished points."""

    settings: Mapping[str, Any]
    key: bytes
    points: Mapping[tuple[str, str], Point]


@dataclass
class SavedComparison:
    """The finished points of a comparison, in memory and in its folder, where it has one."""

    settings: Mapping[str, Any]
    identify: Callable[[bytes], Mapping[str, Any]]
    """The settings by another key: two runs may begin a comparison at once."""
    place: Path | None = None
    points: dict[tuple[str, str], Point] = field(default_factory=dict)
    anew: bool = False
    """Whether the first writing replaces what is there."""
    own: dict[tuple[str, str], Point] = field(default_factory=dict)
    """The points that this run has finished."""

    def add(self, point: Point) -> None:
        """Keep a finished point."""
        self.own[point.method, point.rule] = self.points[point.method, point.rule] = point

    @contextmanager
    def together(self) -> Iterator[None]:
        """To write: no other run does meanwhile, and the points that others have kept are here."""
        if self.place is None:
            yield
            return
        with lock_folder(self.place, LOCK):
            _clear(self.place, OURS if self.anew else LEFT)
            self.anew = False
            if (self.place / RESULT).exists():
                self._join(_read(self.place / RESULT))
            yield

    def _join(self, there: EarlierComparison) -> None:
        if self.settings["key"] != there.settings["key"]:
            self.settings = self.identify(there.key)
        _check_same(there.settings, self.settings)
        measured = {name for name, point in there.points.items() if point.loss is not None}
        own = {
            n: point for n, point in self.own.items() if point.loss is not None or n not in measured
        }
        self.points = {**there.points, **own}

    def write(self, frontier: Frontier) -> None:
        """Write down what there is: the old file stands until the new one is whole."""
        if self.place is not None:
            replace_json(
                self.place / RESULT, {**frontier.to_json(), "settings": dict(self.settings)}
            )


def check_comparison_folder(place: Path, replace: bool) -> EarlierComparison | None:
    """What is kept there already (None: nothing); refuses, before any work, what is not ours."""
    folder.check_outside(place)
    if any((parent / folder.COMPANION).is_file() for parent in place.resolve().parents):
        raise UsageError(
            f"{place.name!r} would lie in the folder of a private companion.",
            "choose a folder beside it.",
        )
    if place.is_dir() and all(re.fullmatch(LEFT, name) for name in os.listdir(place)):
        return None
    folder.check_replaceable(place, RESULT, True, OURS, "a comparison")
    return None if replace or not place.exists() else _read(place / RESULT)


def _read(path: Path) -> EarlierComparison:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(stored, ensure_ascii=False, allow_nan=False).encode()  # it can be written again
        edition, settings, points = stored["edition"], stored["settings"], stored["points"]
        if type(edition) is not int or edition < 1 or not isinstance(settings, dict):
            raise ValueError
        if edition > EDITION:
            raise InputError(
                f"{path.name} is of edition {edition}; this program reads up to {EDITION}.",
                "update Shoal.",
            )
        return EarlierComparison(settings, bytes.fromhex(settings["key"]), _points(points))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path.name} cannot be read.", "start anew with --replace, or in another folder."
        ) from None


def _points(stored: Any) -> dict[tuple[str, str], Point]:
    """The points of a file; each is looked at, for whoever goes on rests on all of them."""
    if not isinstance(stored, list):
        raise TypeError
    points = [Point.parse(stored_point) for stored_point in stored]
    by_name = {(point.method, point.rule): point for point in points}
    if len(by_name) < len(points):
        raise ValueError
    return by_name


def open_comparison(
    place: Path | None,
    before: EarlierComparison | None,
    tally: Tally,
    schema: str,
    plain: Mapping[str, Any],
    *,
    replace: bool = False,
) -> SavedComparison:
    """The comparison to go on with: the one that was there ``before``, if it is the same, or new.

    Of the table and its schema a hash is stored; ``plain`` are settings stored as they are. Nothing
    is written, and with ``replace`` nothing removed, before a point is finished.
    """

    def identify(key: bytes) -> dict[str, Any]:
        table, roles = _digest(key, _content(tally)), _digest(key, [schema.encode()])
        return {"key": key.hex(), "table": table, "schema": roles, **plain}

    settings = identify(secrets.token_bytes(16) if before is None else before.key)
    if before is None:
        return SavedComparison(settings, identify, place, anew=replace)
    _check_same(before.settings, settings)
    return SavedComparison(settings, identify, place, dict(before.points))


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    differs = sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
    if differs:
        differences = " and ".join(name.replace("_", " ") for name in differs)
        raise UsageError(
            f"The folder holds a comparison with another {differences}.",
            "choose another folder, or start anew with --replace.",
        )


def _digest(key: bytes, pieces: Iterable[bytes]) -> str:
    digest = hmac.new(key, digestmod=sha256)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _content(tally: Tally) -> Iterator[bytes]:
    """What a tally counts, and its population, whatever the order in which entries come."""
    provider = () if tally.provider is None else (tally.provider,)
    for axis in (*tally.quasi, *tally.sensitive, *provider):
        yield repr((axis.name, axis.kind, axis.leaves, axis.null)).encode()
    providers = () if tally.providers is None else (tally.providers,)
    yield from _ordered((*tally.keys, *tally.values, *providers), tally.count)
    if tally.population is not None:
        yield from _ordered(tuple(tally.population.keys), tally.population.count)


def _ordered(columns: Sequence[NDArray[Any]], count: NDArray[np.int64]) -> Iterator[bytes]:
    order = np.lexsort(columns)
    for column in (*columns, count):
        yield np.ascontiguousarray(column[order], np.int64).tobytes()


def _clear(place: Path, names: str) -> None:
    """Remove what killed runs left, or all files of a comparison that is to be started anew."""
    for name in os.listdir(place):
        if re.fullmatch(names, name) and name != LOCK:
            (place / name).unlink()
