"""A comparison at work: point after point, each kept as soon as it is finished."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.errors import InputError, NotMetError, ShoalError, UsageError
from shoal.flow.frontier.found import Frontier
from shoal.flow.frontier.keeping import Counted
from shoal.flow.frontier.kept import Kept
from shoal.flow.frontier.points import ROUND, Point, marked
from shoal.flow.frontier.tables import Tables
from shoal.flow.make import COMPILING, compiled, make
from shoal.flow.request import Progress, Request, quiet
from shoal.histogram import Histogram
from shoal.risk.exposure import Exposure, exposure
from shoal.tally import Cut, Tally
from shoal.utility.loss import loss

STEP, MAKING, FINE = "comparing methods", "making classes", 100
"""What is told while it works, what a method tells, and how many steps a point counts for."""
NO_MEMORY = "There is not enough memory."
"""The one reason that is the machine's: such a point is tried again by the next run."""
SOME = 5000
"""On so many entries of the table a method runs first, so that compiling it is not timed."""


@dataclass(frozen=True)
class Run:
    """What is compared, and where it is kept."""

    kept: Kept
    tables: Tables
    columns: tuple[int, ...]
    """The sensitive columns that the adversary is after; the worst of them is the risk."""
    risk: str
    progress: Progress
    options: tuple[str, ...] = ()
    """What publishing a point needs beside its method and rule."""

    def all(self, requests: Sequence[Request]) -> None:
        """Make every point that is not there yet, and keep it as soon as it is."""
        for at, one in enumerate(requests):
            self.progress(STEP, FINE * at, FINE * len(requests))
            known = self.kept.points.get((one.method, str(one.rule)))
            if known is None or known.reason == NO_MEMORY:
                told = self._within(at, len(requests))
                self.kept.add(self._point(replace(one, progress=told)))
                with self.kept.together():
                    self.kept.write(self.found())

    def found(self) -> Frontier:
        """What there is so far."""
        tables, kept = self.tables, self.kept
        return Frontier(
            marked(tuple(kept.points.values()), self.risk),
            tables.plain.tally.rows, self.risk, kept.settings, kept.place, notes=tables.notes,
            warnings=tables.warnings, known=tuple(one.name for one in tables.schema.keep),
            options=self.options,
        )  # fmt: skip

    def _within(self, at: int, of: int) -> Progress:
        """The progress of one point as a part of the whole."""

        def told(step: str, done: int, total: int) -> None:
            if step == MAKING:
                part = min(FINE - 1, FINE * done // max(total, 1))  # it is done once it is kept
                step, done, total = STEP, FINE * at + part, FINE * of
            self.progress(step, done, total)

        return told

    def _point(self, request: Request) -> Point:
        """What one method gives and costs under one rule, or why it made nothing."""
        table = self.tables.of(request.method)
        point = Point(request.method, str(request.rule))
        began = time.perf_counter()
        try:
            if not compiled(request.method, request.rule):
                _compile(table.tally, request)
                began = time.perf_counter()
            cut = make(table.tally, request)
            seconds = _took(began)
            return replace(point, seconds=seconds, **self._measured(table, cut))
        except (NotMetError, UsageError, InputError) as error:
            return replace(point, seconds=_took(began), reason=error.fact)
        except MemoryError:
            return replace(point, seconds=_took(began), reason=NO_MEMORY)

    def _measured(self, table: Counted, cut: Cut) -> dict[str, Any]:
        """What a cut gives away, and what it costs."""
        tally = table.tally
        each = {at: exposure(*table.seen(cut), at) for at in self.columns or (None,)}
        worst, found = max(each.items(), key=lambda one: _gained(one[1]))
        several = worst is not None and len(each) > 1
        return {
            "column": tally.sensitive[worst].name if several and worst is not None else "",
            "by_column": {
                tally.sensitive[at].name: _shares(one)
                for at, one in each.items()
                if several and at is not None and one.value is not None
            },
            "loss": round(loss(tally, cut), ROUND),
            "risk_identity": round(found.identity.rate, ROUND),
            "risk_value": None if found.value is None else round(found.value.rate, ROUND),
            "base": found.base,
            "known_identity": found.identity.known,
            "known_value": None if found.value is None else found.value.known,
            "rows": tally.rows - cut.held_back,
            "classes": cut.classes,
            "held_back": cut.held_back,
            **_worst(*table.seen(cut), self.columns),
        }


def _worst(tally: Tally, cut: Cut, columns: Sequence[int]) -> dict[str, int]:
    """The smallest class, and the surest value of any column, counted in people."""
    there = cut.class_ >= 0
    sizes = np.bincount(cut.class_[there], cut.count[there], cut.classes).astype(np.int64)
    found = {"smallest": int(sizes[sizes > 0].min(initial=tally.rows))}
    surest = Fraction(0)
    for at in columns:
        codes = tally.values[at][cut.entry]
        h = Histogram.of(tally.sensitive[at], cut.class_, codes, cut.count, cut.classes)
        for most, size in set(zip(h.most_alike.tolist(), h.rows.tolist(), strict=True)):
            if size and Fraction(most, size) > surest:
                surest = Fraction(most, size)
                found |= {"likeliest": most, "likeliest_of": size}
    return found


def _gained(found: Exposure) -> tuple[float, float]:
    """By which of several columns an adversary is right most often, and gains most."""
    rate = 0.0 if found.value is None else found.value.rate
    return rate, rate - (found.base or 0.0)


def _shares(found: Exposure) -> dict[str, float]:
    """What is guessed of one column, as a point tells it."""
    assert found.value is not None
    assert found.base is not None
    rate, known = round(found.value.rate, ROUND), found.value.known
    return {"risk_value": rate, "base": found.base, "known_value": known}


def _compile(tally: Tally, request: Request) -> None:
    """Let the method compile its kernels, on a part of the table."""
    request.progress(COMPILING, 0, 1)
    # What it says of a part is no finding: on the whole table it says it again, or does not.
    with suppress(ShoalError):
        make(_some(tally), replace(request, progress=quiet))


def _some(tally: Tally) -> Tally:
    """The first entries of a table, in arrays laid out as the whole table's: kernels are theirs."""
    if tally.entries <= SOME:
        return tally
    keys, values = (np.ascontiguousarray(one[:, :SOME]) for one in (tally.keys, tally.values))
    who = None if tally.providers is None else tally.providers[:SOME]
    return replace(tally, keys=keys, values=values, count=tally.count[:SOME], providers=who)


def _took(began: float) -> float:
    return round(time.perf_counter() - began, 3)
