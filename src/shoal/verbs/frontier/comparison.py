"""A comparison's result: a point for each method and rule, the frontier, and the point chosen."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.core.errors import NotMetError, UsageError
from shoal.core.model import parse_fraction
from shoal.core.release import EDITION, format_reached, to_json_value
from shoal.measures.risk.exposure import ASSUMPTIONS

RISKS = ("identity", "value")
"""What the adversary is after: which row is a person's, or which sensitive value."""
ROUND = 12
"""Digits that are reported: beyond them sums differ by the order in which they were added."""


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
    """The baseline: the same by guessing the most common value."""
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
    def parse(cls, stored: Any) -> Point:
        """The point of its JSON; what is not one raises ``ValueError`` or ``TypeError``."""
        point = cls(**stored)
        wrong_fields = [
            field.name
            for field in fields(cls)
            if not _is_valid(getattr(point, field.name), field.type)
        ]
        measures = (point.loss, point.risk_identity, point.known_identity)
        value_figures = (point.risk_value, point.known_value, point.base)
        is_partial = any(
            len({figure is None for figure in figures}) > 1 for figures in (measures, value_figures)
        )
        if wrong_fields or is_partial or (point.loss is None) != bool(point.reason):
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


def _is_valid(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is what a field of a point holds: text, a share, a number."""
    if kind == "str":
        return isinstance(value, str)
    if kind == "ByColumn":
        each = value.values() if isinstance(value, dict) else [None]
        return all(
            isinstance(part, dict)
            and sorted(part) == sorted(SHARES)
            and all(
                _is_valid(share, "float | None") and share is not None for share in part.values()
            )
            for part in each
        )
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return type(value) is int and value >= 0
    if kind == "float":
        return type(value) in (int, float) and 0 <= value <= sys.float_info.max
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def mark_frontier(points: Sequence[Point], risk: str) -> tuple[Point, ...]:
    """The points with those marked than which none has less risk or loss without more of the other.

    >>> one, two, worse = (Point("m", "r", loss, gained) for loss, gained in
    ...                    ((0.1, 0.5), (0.2, 0.3), (0.2, 0.4)))
    >>> [point.on_frontier for point in mark_frontier([one, two, worse], "identity")]
    [True, True, False]
    """
    pairs = [point.pair(risk) for point in points]
    there = {pair for pair in pairs if pair is not None}
    best = {pair for pair in there if not any(_beats(other, pair) for other in there)}
    return tuple(
        replace(point, on_frontier=pair in best) for point, pair in zip(points, pairs, strict=True)
    )


def _beats(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first != second and first[0] <= second[0] and first[1] <= second[1]


MAX_NAMES = 3
"""So many methods are named at one place; of more, the first and how many others."""


def join_method_names(names: Sequence[str]) -> str:
    """Names in a row, the last of many only counted.

    >>> names = ["chain", "local", "greedy", "hilbert"]
    >>> join_method_names(names[:3]), join_method_names(names)
    ('chain, local, greedy', 'chain, local and 2 more')
    """
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    first = names[: MAX_NAMES - 1]
    return f"{', '.join(first)} and {len(names) - len(first)} more"


def merge_equal_points(points: Iterable[Point]) -> list[Point]:
    """The points that were made by their loss, those with the same loss and risks as one.

    It has the last of the rules that the first of the methods comes there by, and with it the
    methods that come there by this rule too.
    """
    groups: dict[tuple[float | None, ...], list[Point]] = {}
    for point in points:
        if point.loss is not None:
            key = point.loss, point.risk_identity, point.risk_value
            groups.setdefault(key, []).append(point)
    merged = []
    for equal in groups.values():
        last = [point for point in equal if point.method == equal[0].method][-1]
        methods = [point.method for point in equal if point.rule == last.rule]
        merged.append(replace(last, method=join_method_names(methods)))
    return sorted(merged, key=lambda point: (point.loss, point.method))


def list_failures(points: Iterable[Point]) -> list[tuple[str, str, str]]:
    """Why other points were not made, each reason once: methods, rules, reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for point in points:
        if point.loss is None:
            reasons.setdefault(point.reason, {}).setdefault(point.rule, []).append(point.method)
    failures = []
    for reason, rules in reasons.items():
        sharing: dict[tuple[str, ...], list[str]] = {}
        for rule, methods in rules.items():
            sharing.setdefault(tuple(methods), []).append(rule)
        failures += [
            (", ".join(methods), "; ".join(shared_rules), reason)
            for methods, shared_rules in sharing.items()
        ]
    return failures


def format_points(points: Sequence[Point]) -> list[str]:
    """A table of the points, the frontier first, then why the others were not made."""
    merged = merge_equal_points(points)
    front = [point for point in merged if point.on_frontier]
    rest = sorted(
        (point for point in merged if not point.on_frontier), key=lambda point: point.method
    )
    rows = _aligned([_HEAD, *map(_row, (*front, *rest))]) if merged else []
    reasons = [
        f"not made: {methods}, {rules}: {why}" for methods, rules, why in list_failures(points)
    ]
    return [*rows, *reasons]


_HEAD = (
    "",
    "method",
    "rule",
    "identity",
    "value (guessing)",
    "loss",
    "classes",
    "held back",
    "seconds",
)
_WORDS = 3
"""How many of the columns hold words; the others hold numbers."""


def _row(point: Point) -> tuple[str, ...]:
    value = "" if point.risk_value is None else f"{point.risk_value:.1%} ({point.base:.1%})"
    value += f" {point.column}" if point.column else ""
    return (
        "*" if point.on_frontier else "",
        point.method,
        point.rule,
        f"{point.risk_identity:.2%}",
        value,
        f"{point.loss:.4f}",
        f"{point.classes:,}",
        f"{point.held_back:,}",
        f"{point.seconds:.2f}",
    )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust if at < _WORDS else str.rjust for at in range(len(widths))]
    return [
        "  ".join(
            side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


_HINT = "allow more, let rows be held back (--hold-back), or try other rules (-m)."


Bound = tuple[float | None, float | None, float | None]
"""The largest loss, risk of anybody and average risk; None: any."""
SECRET = frozenset({"key", "table", "schema"})
"""Settings by which a table could be guessed: kept in the folder, for its owner."""


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
    asked: Set[tuple[str, str]] | None = None
    """The methods and rules of this request, to choose among; None: all of them."""
    max_loss: float | None = None
    max_risk: float | None = None
    """The bounds to choose within; None: there is none. The risk is that of the person most at
    risk, whose class is known."""
    notes: tuple[str, ...] = ()
    """Notes on kept columns and on the columns' levels."""
    warnings: tuple[str, ...] = ()
    """What may undo every promise: columns that may say that somebody has several rows."""
    max_average_risk: float | None = None
    """A bound on the mean over people instead, as the frontier is drawn by it."""
    known: tuple[str, ...] = ()
    """The kept columns, which the adversary knows too."""
    options: tuple[str, ...] = ()
    """What publishing a point needs beside its method and rule."""

    @property
    def made(self) -> tuple[Point, ...]:
        """The points at which a release could be made."""
        return tuple(point for point in self.points if point.loss is not None)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The points on the frontier, by their loss."""
        best_first = (point for point in self.made if point.on_frontier)
        return tuple(sorted(best_first, key=lambda point: (point.loss, point.method)))

    @property
    def now(self) -> tuple[Point, ...]:
        """The points of this request, not those that earlier runs left in the folder."""
        if self.asked is None:
            return self.points
        return tuple(point for point in self.points if (point.method, point.rule) in self.asked)

    @property
    def chosen(self) -> Point | None:
        """The best point of this request within its bounds; None: there is none."""
        if not self._is_bound:
            return None
        return next(iter(self._within(*self._bound)), None)

    @property
    def _bound(self) -> Bound:
        return self.max_loss, self.max_risk, self.max_average_risk

    @property
    def _is_bound(self) -> bool:
        return any(bound is not None for bound in self._bound)

    def best(
        self,
        *,
        loss: float | None = None,
        risk: float | None = None,
        average_risk: float | None = None,
    ) -> Point:
        """The least risk at a loss of at most so much, or the least loss at such a risk.

        ``risk`` is that of the person most at risk, whose class is known; ``average_risk`` the mean
        over people. With several bounds it is the least loss within them.
        """
        if loss is None and risk is None and average_risk is None:
            raise UsageError("A bound is needed.", "say best(loss=0.1), or best(risk=0.05).")
        within = self._within(loss, risk, average_risk)
        if not within:
            raise self._nothing_within(loss, risk, average_risk)
        return within[0]

    def check(self) -> None:
        """Refuse where no requested release can be made, or is within the bounds."""
        if self._is_bound:
            loss, risk, average = self._bound
            self.best(loss=loss, risk=risk, average_risk=average)
        elif all(point.loss is None for point in self.now):
            raise NotMetError("No release could be made.", _HINT)

    def _within(self, loss: float | None, risk: float | None, average: float | None) -> list[Point]:
        measured = [(pair, point) for point in self.now if (pair := point.pair(self.risk))]
        safest = risk is None and average is None
        within = [
            ((gained, lost) if safest else (lost, gained), value)
            for (lost, gained), value in measured
            if (loss is None or lost <= loss) and self._is_safe(value, risk, average)
        ]
        return [point for _, point in sorted(within, key=lambda candidate: candidate[0])]

    def _is_safe(self, point: Point, risk: float | None, average: float | None) -> bool:
        """Whether nobody's risk is above a bound, exactly, nor the average above another."""
        pair, worst = point.pair(self.risk), point.worst(self.risk)
        if average is not None and (pair is None or pair[1] > average):
            return False
        return risk is None or (worst is not None and worst <= parse_fraction(risk, "risk", 0, 1))

    def _nothing_within(
        self, loss: float | None, risk: float | None, average: float | None
    ) -> NotMetError:
        measured = [(pair, point) for point in self.now if (pair := point.pair(self.risk))]
        if not measured:
            return NotMetError("No release could be made.", _HINT)
        safe = [lost for (lost, _), point in measured if self._is_safe(point, risk, average)]
        risks = [point.worst(self.risk) for _, point in measured]
        worst = [share for share in risks if share is not None]
        if safe:
            at_that = "" if risk is None and average is None else " at that risk"
            least = f"the least loss{at_that} is {format_reached(min(safe))}"
        elif risk is not None and worst:
            least = (
                f"the least risk of the person most at risk is {format_reached(float(min(worst)))}"
            )
        else:
            lowest = format_reached(min(gained for (_, gained), _ in measured))
            least = f"the least average risk is {lowest}"
        return NotMetError(f"No release has {_bounds(loss, risk, average)}: {least}.", _HINT)

    @property
    def wanted(self) -> str:
        """What is chosen by, in words; empty where no bound was given."""
        if not self._is_bound:
            return ""
        least = "risk" if self.max_risk is None and self.max_average_risk is None else "loss"
        return f"the least {least} with {_bounds(*self._bound)}"

    @property
    def command(self) -> str:
        """The line that publishes what was chosen, or any point: METHOD and RULE to fill in."""
        point = self.chosen or Point("METHOD", "RULE")
        line = ("shoal publish TABLE -s SCHEMA --method", point.method, "-m", _quoted(point.rule))
        return " ".join((*line, *self.options, "-o release/"))

    @property
    def assumptions(self) -> list[str]:
        """What the risks rest on."""
        first, *others = ASSUMPTIONS
        kept_columns = f"of everybody it knows the kept columns too: {', '.join(self.known)}"
        return [first, *([kept_columns] if self.known else []), *others]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, without what only the folder may know: a key, and hashes by it."""
        settings = {name: value for name, value in self.settings.items() if name not in SECRET}
        facts = {"edition": EDITION, "risk": self.risk, "rows": self.rows}
        chosen = None if self.chosen is None else to_json_value(self.chosen.to_json())
        return {
            **facts,
            "settings": to_json_value(settings),
            "assumptions": self.assumptions,
            "notes": list(self.notes),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "points": [to_json_value(point.to_json()) for point in self.points],
            "wanted": self.wanted,
            "chosen": chosen,
            "command": self.command,
        }

    def __str__(self) -> str:
        head = f"{len(self.made):,} of {len(self.points):,} releases can be made; *: the frontier"
        before = len(self.points) - len(self.now)
        if before:
            head += f"; {before:,} of earlier runs are among them"
        return "\n".join([head, *format_points(self.points)])

    __repr__ = __str__


def _bounds(loss: float | None, risk: float | None, average: float | None) -> str:
    bounds = {"a risk of anybody": risk, "an average risk": average, "a loss": loss}
    return " and ".join(
        f"{what} of at most {format_reached(at)}" for what, at in bounds.items() if at is not None
    )


def _quoted(rule: str) -> str:
    return shlex.quote(rule) if re.search(r'["$`\\!]', rule) else f'"{rule}"'
