"""The folder of a comparison: every finished point is kept, so that it can go on where it stopped.

    DIR/frontier.json   the settings, and a point for each method and rule
    DIR/frontier.html   the same as a page

Points are of one table, schema and settings, which are known again by hashes with a key of the
comparison's own; runs with further methods or rules add to them. No cell value is in them, but they
tell more about the table than a release does: both files are for their owner alone (0600), and may
not lie in a release's folder.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError
from shoal.flow import folder
from shoal.flow.frontier.points import Frontier, Point
from shoal.flow.pool.store import write_over
from shoal.release import EDITION
from shoal.tally import Tally

RESULT, PAGE = "frontier.json", "frontier.html"
OURS = r"frontier\.(json|html)|\.frontier\..*"
"""The names of the files of a comparison; hidden ones are what a killed run left."""


@dataclass
class Kept:
    """The finished points of a comparison, in memory and in its folder, where it has one."""

    settings: Mapping[str, Any]
    place: Path | None = None
    points: dict[tuple[str, str], Point] = field(default_factory=dict)

    def add(self, point: Point) -> None:
        """Keep a finished point."""
        self.points[point.method, point.rule] = point

    def write(self, found: Frontier) -> None:
        """Write down what there is: the old file stands until the new one is whole."""
        if self.place is not None:
            write_over(self.place / RESULT, found.to_json())


def check_place(place: Path, replace: bool) -> dict[str, Any] | None:
    """What is kept there already (None: nothing); refuses, before any work, what is not ours."""
    folder.check_outside(place)
    if place.is_dir() and not os.listdir(place):
        return None
    folder.check_ours(place, RESULT, True, OURS, "a comparison")
    return None if replace or not place.exists() else _read(place / RESULT)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        edition, key = int(found["edition"]), bytes.fromhex(found["settings"]["key"])
        points = [Point(**one) for one in found["points"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path.name} cannot be read.", "start anew with --replace, or in another folder."
        ) from None
    if edition > EDITION:
        raise InputError(
            f"{path.name} is of edition {edition}; this program reads up to {EDITION}.",
            "update Shoal.",
        )
    return {"settings": found["settings"], "key": key, "points": points}


def kept(
    place: Path | None,
    before: Mapping[str, Any] | None,
    tally: Tally,
    schema: str,
    plain: Mapping[str, Any],
) -> Kept:
    """The comparison to go on with: the one that was there ``before``, if it is the same, or new.

    Of the table and its schema a hash is kept; ``plain`` are the settings told as they are.
    """
    key = secrets.token_bytes(16) if before is None else before["key"]
    hashed = {"table": _digest(key, _content(tally)), "schema": _digest(key, [schema.encode()])}
    settings = {"key": key.hex(), **hashed, **plain}
    if before is not None:
        _check_same(before["settings"], settings)
        return Kept(settings, place, {(one.method, one.rule): one for one in before["points"]})
    if place is not None:
        _clear(folder.made(place))
    return Kept(settings, place)


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    differs = sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
    if differs:
        told = " and ".join(name.replace("_", " ") for name in differs)
        raise UsageError(
            f"The folder holds a comparison with another {told}.",
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
    who = () if tally.providers is None else (tally.providers,)
    yield from _ordered((*tally.keys, *tally.values, *who), tally.count)
    if tally.population is not None:
        yield from _ordered(tuple(tally.population.keys), tally.population.count)


def _ordered(columns: Sequence[NDArray[Any]], count: NDArray[np.int64]) -> Iterator[bytes]:
    order = np.lexsort(columns)
    for one in (*columns, count):
        yield np.ascontiguousarray(one[order], np.int64).tobytes()


def _clear(place: Path) -> None:
    """Remove the files of a comparison that is to be started anew, and what killed runs left."""
    for name in os.listdir(place):
        if re.fullmatch(OURS, name):
            (place / name).unlink()
