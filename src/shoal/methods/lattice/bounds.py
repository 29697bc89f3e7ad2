"""Levels that a user fixes or bounds: the rungs that each column may stand on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.axis import Axis
from shoal.errors import UsageError
from shoal.methods.lattice.ladder import Rung, apart, every_rung, ladder
from shoal.tally import Tally


def bounded(tally: Tally, levels: str) -> tuple[tuple[Rung, ...], ...]:
    """The rungs that each column may stand on."""
    asked = _read(levels, [axis.name for axis in tally.quasi])
    return tuple(_within(axis, *asked.get(axis.name, (0, None))) for axis in tally.quasi)


def _within(axis: Axis, low: int, high: int | None) -> tuple[Rung, ...]:
    """The rungs of a column between two levels; None is the highest."""
    rungs = every_rung(axis)
    allowed = rungs[low:] if high is None else rungs[low : high + 1]
    if allowed:
        return apart(allowed)
    meant = f"{low} or above" if high is None else f"in {low}..{high}" if low != high else str(low)
    raise UsageError(
        f"Column {axis.name!r} has no level {meant}.",
        f"its levels are {', '.join(str(rung.number) for rung in rungs)}.",
    )


def is_bounded(tally: Tally, ladders: Sequence[Sequence[Rung]]) -> bool:
    """Whether any column may stand on fewer rungs than it has."""
    pairs = zip(tally.quasi, ladders, strict=True)
    return any(len(rungs) < len(ladder(axis)) for axis, rungs in pairs)


def _read(levels: str, known: list[str]) -> dict[str, tuple[int, int | None]]:
    """The columns that are bounded, each with its lowest and highest level."""
    found: dict[str, tuple[int, int | None]] = {}
    hint = f'write for example levels="{known[0]}=1..2"; columns: {", ".join(known)}.'
    for text in filter(None, map(str.strip, levels.split(","))):
        matched = re.fullmatch(r"(.+?)\s*=\s*(\d+)(\.\.(\d*))?", text)
        if matched is None:
            raise UsageError("levels is not understood.", hint)
        column, low = matched[1], int(matched[2])
        if column not in known:
            raise UsageError(f"levels names {column!r}, which is no quasi-identifier.", hint)
        if column in found:
            raise UsageError(f"levels names {column!r} twice.", hint)
        found[column] = low, low if matched[3] is None else int(matched[4]) if matched[4] else None
    return found
