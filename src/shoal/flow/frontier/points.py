"""A point for each method and rule: what it gives and costs, and whether none is better."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

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
    column: str = ""
    """The sensitive column whose values are guessed right most often, where several are ..."""
    by_column: ByColumn = field(default_factory=dict)
    """... and of each of them ``risk_value``, ``base`` and ``known_value``."""
    known_identity: float | None = None
    """The risks where the class that holds each person is known."""
    known_value: float | None = None
    rows: int = 0
    smallest: int = 0
    """The people of the smallest class, for whoever knows kept columns too; 0: not counted."""
    likeliest: int = 0
    """Where a value is surest: how many people of a class have it ..."""
    likeliest_of: int = 0
    """... and how many people that class has."""
    classes: int = 0
    held_back: int = 0
    seconds: float = 0.0
    on_frontier: bool = False
    reason: str = ""

    @classmethod
    def parse(cls, told: Any) -> Point:
        """The point of its JSON; what is not one raises ``ValueError`` or ``TypeError``."""
        point = cls(**told)
        wrong = [one.name for one in fields(cls) if not _is(getattr(point, one.name), one.type)]
        made = (point.loss, point.risk_identity, point.known_identity)
        value = (point.risk_value, point.known_value, point.base)
        parted = any(len({one is None for one in some}) > 1 for some in (made, value))
        if wrong or parted or (point.loss is None) != bool(point.reason):
            raise ValueError
        return point

    def risk(self, of: str) -> float | None:
        """The risk of identity, or of value."""
        return self.risk_identity if of == "identity" else self.risk_value

    def worst(self, of: str) -> Fraction | None:
        """The risk of the person most at risk, whose class is known; None: it was not counted."""
        if of == "identity":
            return Fraction(1, self.smallest) if self.smallest else None
        return Fraction(self.likeliest, self.likeliest_of) if self.likeliest_of else None

    def pair(self, of: str) -> tuple[float, float] | None:
        """The loss and the risk by which points are compared; None: it made nothing."""
        gained = self.risk(of)
        if self.loss is None or gained is None:
            return None
        return round(self.loss, ROUND), round(gained, ROUND)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


ByColumn = Mapping[str, Mapping[str, float]]
"""Of each sensitive column, by its name: shares by what they are."""
SHARES = ("risk_value", "base", "known_value")


def _is(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is what a field of a point holds: text, a share, a number."""
    if kind == "str":
        return isinstance(value, str)
    if kind == "ByColumn":
        each = value.values() if isinstance(value, dict) else [None]
        return all(
            isinstance(one, dict) and sorted(one) == sorted(SHARES)
            and all(_is(share, "float | None") and share is not None for share in one.values())
            for one in each
        )  # fmt: skip
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return type(value) is int and value >= 0
    if kind == "float":
        return type(value) in (int, float) and 0 <= value <= sys.float_info.max
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def marked(points: Sequence[Point], risk: str) -> tuple[Point, ...]:
    """The points with those marked than which none has less risk or loss without more of the other.

    >>> one, two, worse = (Point("m", "r", loss, gained) for loss, gained in
    ...                    ((0.1, 0.5), (0.2, 0.3), (0.2, 0.4)))
    >>> [point.on_frontier for point in marked([one, two, worse], "identity")]
    [True, True, False]
    """
    pairs = [one.pair(risk) for one in points]
    there = {pair for pair in pairs if pair is not None}
    best = {one for one in there if not any(_beats(other, one) for other in there)}
    return tuple(
        replace(point, on_frontier=pair in best) for point, pair in zip(points, pairs, strict=True)
    )


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]
