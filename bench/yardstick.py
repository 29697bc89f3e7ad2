"""The bare Mondrian of a million rows: what times on this machine are scaled by.

Figures of other programs were taken elsewhere, where it took .27 s. A time measured here, by the
time it takes here, is what it would have been there, as nearly as can be told.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from bench import tallies
from bench.bare import bare
from bench.data import remixed
from bench.measure import Line, Spent, against, seconds, spent

ROWS, K = 1_000_000, 5
THERE = 0.27
"""CPU seconds of the bare Mondrian where the other programs' figures were taken."""


@cache
def yardstick() -> Callable[[], object]:
    """The bare Mondrian, k = 5, a million rows of Adult remixed."""
    keys, sizes = tallies.keys(remixed(ROWS))
    return lambda: bare(keys, sizes, K)


def beside(work: Callable[[], object], repeat: int = 3) -> tuple[Spent, float]:
    """What some work takes, and its CPU seconds scaled; both take turns."""
    own, here = against(work, yardstick(), repeat)
    return own, own.cpu * THERE / here.cpu


def scale(repeat: int = 3) -> float:
    """What CPU seconds of a program that has just ended are multiplied by."""
    return THERE / spent(yardstick(), repeat).cpu


def scaled(case: str, cpu: float, value: float, limit: float | None, peer: str) -> Line:
    """A line of a scaled time against a limit in seconds."""
    return Line(f"{case}: {peer}", f"{seconds(cpu)} here", value, limit, unit=" s")
