"""What a comparison found: a point for each method and rule, and which are on the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import NotMetError, UsageError
from shoal.flow.frontier.risk import ASSUMPTIONS
from shoal.pages.releases import merged
from shoal.release import EDITION, jsonable, short

RISKS = ("identity", "value")
"""What the adversary is after: which row is a person's, or which sensitive value."""
ROUND = 12
"""Digits that are told: beyond them sums differ by the order in which they were added."""


@dataclass(frozen=True)
class Point:
    """One method under one rule; ``reason`` says why, where it made nothing."""

    method: str
    rule: str
    loss: float | None = None
    risk_identity: float | None = None
    """The share of people whose row is picked."""
    risk_value: float | None = None
    """The share of people whose sensitive value is guessed right; None: no column is sensitive."""
    base: float | None = None
    """The same by guessing the most common value."""
    known_identity: float | None = None
    """The risks where the class that holds each person is known."""
    known_value: float | None = None
    rows: int = 0
    classes: int = 0
    held_back: int = 0
    seconds: float = 0.0
    on_frontier: bool = False
    reason: str = ""

    def risk(self, of: str) -> float | None:
        """The risk of identity, or of value."""
        return self.risk_identity if of == "identity" else self.risk_value

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Frontier:
    """Methods under rules, by what an adversary gains and what is lost."""

    points: tuple[Point, ...]
    rows: int
    """How many rows the table has."""
    risk: str = "identity"
    """The risk by which points are on the frontier."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    """Where the comparison is kept; None: nowhere."""

    @property
    def made(self) -> tuple[Point, ...]:
        """The points at which a release could be made."""
        return tuple(one for one in self.points if one.loss is not None)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The points on the frontier, by their loss."""
        found = (one for one in self.made if one.on_frontier)
        return tuple(sorted(found, key=lambda one: (one.loss, one.method)))

    def best(self, *, loss: float | None = None, risk: float | None = None) -> Point:
        """The least risk at a loss of at most so much, or the least loss at such a risk."""
        if (loss is None) == (risk is None):
            raise UsageError("One bound is needed.", "say best(loss=0.1), or best(risk=0.05).")
        what, bound = ("loss", loss) if risk is None else ("risk", risk)
        pairs = [(pair, one) for one in self.frontier if (pair := _pair(one, self.risk))]
        at = 0 if what == "loss" else 1
        within = [found for found in pairs if bound is not None and found[0][at] <= bound]
        if not within:
            raise _nothing_within(what, [pair[at] for pair, _ in pairs])
        return min(within, key=lambda found: found[0][1 - at])[1]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"edition": EDITION, "risk": self.risk, "rows": self.rows}
        sentences = list(ASSUMPTIONS)
        points = [jsonable(one.to_json()) for one in self.points]
        settings = jsonable(dict(self.settings))
        return {**told, "settings": settings, "assumptions": sentences, "points": points}

    def __str__(self) -> str:
        front = merged([one.to_json() for one in self.frontier])
        rest = merged([one.to_json() for one in self.made if not one.on_frontier])
        rest.sort(key=lambda one: one["method"])
        head = f"{len(self.made):,} of {len(self.points):,} releases can be made; *: the frontier"
        lines = _aligned([_HEAD, *map(_line, (*front, *rest))]) if self.made else []
        return "\n".join([head, *lines, *self._not_made()])

    __repr__ = __str__

    def _not_made(self) -> list[str]:
        """Why the other points are not there, each reason of a method once."""
        told: dict[tuple[str, str], list[str]] = {}
        for one in (one for one in self.points if one.loss is None):
            told.setdefault((one.method, one.reason), []).append(one.rule)
        return [
            f"not made: {method}, {'; '.join(rules)}: {reason}"
            for (method, reason), rules in told.items()
        ]


_HEAD = ("", "method", "rule", "identity", "value (guessing)", "loss", "classes", "held back",
         "seconds")  # fmt: skip
_WORDS = 3
"""How many of the columns hold words; the others hold numbers."""


def _line(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A point as the table has it."""
    value = "" if one["risk_value"] is None else f"{one['risk_value']:.1%} ({one['base']:.1%})"
    return (
        "*" if one["on_frontier"] else "", one["method"], one["rule"],
        f"{one['risk_identity']:.2%}", value, f"{one['loss']:.4f}", f"{one['classes']:,}",
        f"{one['held_back']:,}", f"{one['seconds']:.2f}",
    )  # fmt: skip


def _nothing_within(what: str, reached: Sequence[float]) -> NotMetError:
    found = f"the least is {short(min(reached))}" if reached else "no release could be made"
    return NotMetError(
        f"No method keeps the {what} within the bound: {found}.",
        "allow more, let rows be held back (--hold-back), or try other rules (-m).",
    )


def marked(points: Sequence[Point], risk: str) -> tuple[Point, ...]:
    """The points with those marked than which none has less risk or loss without more of the other.

    >>> one, two, worse = (Point("m", "r", loss, gained) for loss, gained in
    ...                    ((0.1, 0.5), (0.2, 0.3), (0.2, 0.4)))
    >>> [point.on_frontier for point in marked([one, two, worse], "identity")]
    [True, True, False]
    """
    pairs = [_pair(one, risk) for one in points]
    there = {pair for pair in pairs if pair is not None}
    best = {one for one in there if not any(_beats(other, one) for other in there)}
    return tuple(
        replace(point, on_frontier=pair in best) for point, pair in zip(points, pairs, strict=True)
    )


def _pair(point: Point, risk: str) -> tuple[float, float] | None:
    gained = point.risk(risk)
    if point.loss is None or gained is None:
        return None
    return round(point.loss, ROUND), round(gained, ROUND)


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust if at < _WORDS else str.rjust for at in range(len(widths))]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True))
        .rstrip()
        for row in rows
    ]  # fmt: skip
