"""How far a method is: told while it works, never backwards, and at its end."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how much of how much is done; what it raises ends the work."""
FINE = 1000
"""So many parts all the work has."""


class Advance:
    """How much of all the work is done, by parts of which nobody need know how many there are.

    >>> advance = Advance(lambda done, total: print(done, "of", total))
    >>> advance.half(0)(1, 2)
    250 of 1000
    >>> advance.half(1)(1, 2)
    625 of 1000
    >>> advance.to(0.1)
    625 of 1000
    >>> advance.end()
    1000 of 1000
    """

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.done = progress, 0

    def to(self, share: float) -> None:
        """So much of it is done, or as much as was told before."""
        self.done = max(self.done, round(FINE * min(share, 1.0)))
        if self.progress:
            self.progress(self.done, FINE)

    def end(self) -> None:
        """All of it is done."""
        self.to(1.0)

    def part(self, begin: float, end: float) -> Progress:
        """The progress of what takes from one share of the work to another."""
        return lambda done, total: self.to(begin + (end - begin) * done / max(total, 1))

    def half(self, turn: int) -> Progress:
        """The progress of one of many turns: half of what those before it left."""
        return self.part(1 - 0.5**turn, 1 - 0.5 ** (turn + 1))
