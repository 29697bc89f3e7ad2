"""What a comparison found: its points, which are on the frontier, and which one is chosen."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import NotMetError, UsageError
from shoal.flow.frontier.points import Point
from shoal.flow.frontier.told import lines
from shoal.model import fraction
from shoal.release import EDITION, jsonable, short
from shoal.risk.exposure import ASSUMPTIONS

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
    """The methods and rules that were asked for now, to choose among; None: all of them."""
    max_loss: float | None = None
    max_risk: float | None = None
    """The bounds to choose within; None: there is none. The risk is that of the person most at
    risk, whose class is known."""
    notes: tuple[str, ...] = ()
    """What is to be told of kept columns and of the columns' levels."""
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
        return tuple(one for one in self.points if one.loss is not None)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The points on the frontier, by their loss."""
        found = (one for one in self.made if one.on_frontier)
        return tuple(sorted(found, key=lambda one: (one.loss, one.method)))

    @property
    def now(self) -> tuple[Point, ...]:
        """The points that were asked for now, not those that earlier runs left in the folder."""
        if self.asked is None:
            return self.points
        return tuple(one for one in self.points if (one.method, one.rule) in self.asked)

    @property
    def chosen(self) -> Point | None:
        """The best of what was asked for within the bounds that were given; None: there is none."""
        if not self._is_bound:
            return None
        return next(iter(self._within(*self._bound)), None)

    @property
    def _bound(self) -> Bound:
        return self.max_loss, self.max_risk, self.max_average_risk

    @property
    def _is_bound(self) -> bool:
        return any(one is not None for one in self._bound)

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
        found = self._within(loss, risk, average_risk)
        if not found:
            raise self._nothing_within(loss, risk, average_risk)
        return found[0]

    def check(self) -> None:
        """Refuse where nothing that was asked for can be made, or is within the bounds."""
        if self._is_bound:
            loss, risk, average = self._bound
            self.best(loss=loss, risk=risk, average_risk=average)
        elif all(one.loss is None for one in self.now):
            raise NotMetError("No release could be made.", _HINT)

    def _within(self, loss: float | None, risk: float | None, average: float | None) -> list[Point]:
        """The points within the bounds, the best first."""
        some = [(pair, one) for one in self.now if (pair := one.pair(self.risk))]
        safest = risk is None and average is None
        within = [
            ((gained, lost) if safest else (lost, gained), one)
            for (lost, gained), one in some
            if (loss is None or lost <= loss) and self._is_safe(one, risk, average)
        ]
        return [one for _, one in sorted(within, key=lambda found: found[0])]

    def _is_safe(self, point: Point, risk: float | None, average: float | None) -> bool:
        """Whether nobody's risk is above a bound, exactly, nor the average above another."""
        pair, worst = point.pair(self.risk), point.worst(self.risk)
        if average is not None and (pair is None or pair[1] > average):
            return False
        return risk is None or (worst is not None and worst <= fraction(risk, "risk", 0, 1))

    def _nothing_within(
        self, loss: float | None, risk: float | None, average: float | None
    ) -> NotMetError:
        made = [(pair, one) for one in self.now if (pair := one.pair(self.risk))]
        if not made:
            return NotMetError("No release could be made.", _HINT)
        safe = [lost for (lost, _), one in made if self._is_safe(one, risk, average)]
        worst = [found for _, one in made if (found := one.worst(self.risk)) is not None]
        if safe:
            at_that = "" if risk is None and average is None else " at that risk"
            least = f"the least loss{at_that} is {short(min(safe))}"
        elif risk is not None and worst:
            least = f"the least risk of the person most at risk is {short(float(min(worst)))}"
        else:
            least = f"the least average risk is {short(min(gained for (_, gained), _ in made))}"
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
        kept = f"of everybody it knows the kept columns too: {', '.join(self.known)}"
        return [first, *([kept] if self.known else []), *others]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, without what only the folder may know: a key, and hashes by it."""
        settings = {name: one for name, one in self.settings.items() if name not in SECRET}
        told = {"edition": EDITION, "risk": self.risk, "rows": self.rows}
        chosen = None if self.chosen is None else jsonable(self.chosen.to_json())
        return {
            **told,
            "settings": jsonable(settings),
            "assumptions": self.assumptions,
            "notes": list(self.notes),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "points": [jsonable(one.to_json()) for one in self.points],
            "wanted": self.wanted,
            "chosen": chosen,
            "command": self.command,
        }

    def __str__(self) -> str:
        head = f"{len(self.made):,} of {len(self.points):,} releases can be made; *: the frontier"
        before = len(self.points) - len(self.now)
        if before:
            head += f"; {before:,} of earlier runs are among them"
        return "\n".join([head, *lines(self.points)])

    __repr__ = __str__


def _bounds(loss: float | None, risk: float | None, average: float | None) -> str:
    told = {"a risk of anybody": risk, "an average risk": average, "a loss": loss}
    return " and ".join(
        f"{what} of at most {short(at)}" for what, at in told.items() if at is not None
    )


def _quoted(rule: str) -> str:
    """A rule as one word of a command line."""
    return shlex.quote(rule) if re.search(r'["$`\\!]', rule) else f'"{rule}"'
