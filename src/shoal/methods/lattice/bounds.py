"""Levels that a user fixes or bounds: the rungs that each column may stand on."""

from __future__ import annotations

import re

from shoal.errors import UsageError
from shoal.methods.lattice.ladder import Rung, ladder
from shoal.tally import Tally


def bounded(tally: Tally, levels: str) -> tuple[tuple[Rung, ...], ...]:
    """The rungs that each column may stand on."""
    named = {axis.name: ladder(axis) for axis in tally.quasi}
    for column, low, high in _read(levels, list(named)):
        top = named[column][-1].number
        last = top if high is None else high
        rungs = tuple(rung for rung in named[column] if low <= rung.number <= last)
        if not rungs:
            raise UsageError(
                f"Column {column!r} has no level between {low} and {last}.",
                f"its levels are {', '.join(str(r.number) for r in named[column])}.",
            )
        named[column] = rungs
    return tuple(named[axis.name] for axis in tally.quasi)


def _read(levels: str, known: list[str]) -> list[tuple[str, int, int | None]]:
    """The columns that are bounded, each with its lowest and highest level."""
    found = []
    for text in filter(None, map(str.strip, levels.split(","))):
        matched = re.fullmatch(r"(.+?)\s*=\s*(\d+)(\.\.(\d*))?", text)
        if matched is None or matched[1] not in known:
            raise UsageError(
                "levels is not understood, or names what is no quasi-identifier.",
                f'write for example levels="{known[0]}=1..2"; columns: {", ".join(known)}.',
            )
        low = int(matched[2])
        high = low if matched[3] is None else int(matched[4]) if matched[4] else None
        found.append((matched[1], low, high))
    return found
