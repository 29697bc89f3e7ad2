"""Frontier: run methods under rules of several strengths, and compare what they give and cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import InputError, NotMetError, UsageError
from shoal.flow.encode import survey
from shoal.flow.frontier.kept import PAGE, Kept, check_place, kept
from shoal.flow.frontier.points import RISKS, ROUND, Frontier, Point, marked
from shoal.flow.frontier.risk import exposure
from shoal.flow.make import make
from shoal.flow.opening import opened
from shoal.flow.parameters import method_parameters
from shoal.flow.providers import check_column, check_survey
from shoal.flow.publish import check_people
from shoal.flow.request import Progress, Request, quiet
from shoal.flow.verify import kept_unjudged
from shoal.methods import methods as known_methods
from shoal.model import Model, products
from shoal.models import rule as parse_rule
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.pages.frontier import frontier_page
from shoal.schema import Schema
from shoal.tally import Cut, Groups, Tally
from shoal.utility.loss import loss

STRENGTHS = (2, 5, 10, 25, 50)
"""The k that are compared unless rules are given."""
STEP, MAKING, FINE = "comparing methods", "making classes", 100
"""What is told while it works, what a method tells, and how many steps a point counts for."""


def frontier(
    table: Any,
    schema: Schema,
    rules: Sequence[Model | str] | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    strengths: Sequence[int] | None = None,
    out: str | Path | None = None,
    risk: str = "identity",
    on: str | None = None,
    hold_back: float = 0.0,
    accept_keep: bool = False,
    population: Any = None,
    replace: bool = False,
    progress: Progress = quiet,
) -> Frontier:
    """Compare methods under rules by an adversary's success and by loss; nothing is published.

    Each of ``rules`` is one strength; without them they are k-anonymity with k of ``strengths``
    and, where a column is sensitive (``on``: which, of several), two distinct values in every
    class. ``methods`` are all unless named. ``risk`` is what the frontier is drawn by: "identity",
    or "value".

    With ``out`` every finished point is kept in that folder, and a page is drawn there in the end:
    a run with the same table, schema and settings goes on where another stopped, or adds methods
    and rules to it; one with others is refused, unless it may ``replace`` what is there.
    """
    place = None if out is None else Path(out)
    column = _column(schema, on, risk)
    _check(schema, risk, accept_keep)
    requests = [
        Request(schema=schema, rule=rule, method=name, hold_back=hold_back)
        for name in _names(methods)
        for rule in _rules(rules, strengths, schema, column)
    ]
    before = _checked(requests, place, replace)
    progress("reading", 0, 1)
    tally, fitted = _counted(table, requests, population)
    told = {"on": column, "hold_back": float(hold_back)}
    found = kept(place, before, tally, fitted.to_toml(), told)
    at = None if column is None else fitted.sensitive.index(fitted.column(column))
    return _Run(found, tally, at, risk, progress).all(requests)


def _check(schema: Schema, risk: str, accept_keep: bool) -> None:
    if risk not in RISKS:
        raise UsageError(f"There is no risk {risk!r}.", f"choose one of {', '.join(RISKS)}.")
    if schema.keep and not accept_keep:
        raise kept_unjudged(schema.keep)


def _column(schema: Schema, on: str | None, risk: str) -> str | None:
    """The sensitive column to learn; None: there is none."""
    names = [column.name for column in schema.sensitive]
    if on is not None and on not in names:
        raise UsageError(
            f"There is no sensitive column {on!r}.", 'give a column the role "sensitive".'
        )
    if on is None and len(names) > 1:
        raise UsageError(f"{len(names)} columns are sensitive.", f"name one: --on {names[0]}.")
    if risk == "value" and not names:
        raise UsageError(
            "There is no sensitive value to learn.", 'give a column the role "sensitive".'
        )
    return on or next(iter(names), None)


def _names(methods: Sequence[str] | str | None) -> list[str]:
    """The methods that are asked for; all unless some are named."""
    asked = methods.split(",") if isinstance(methods, str) else methods
    return list(known_methods()) if asked is None else [name.strip() for name in asked]


def _rules(
    rules: Sequence[Model | str] | None,
    strengths: Sequence[int] | None,
    schema: Schema,
    column: str | None,
) -> list[Model]:
    """The rules that are asked for, or those of k-anonymity by strength."""
    if rules and strengths:
        raise UsageError("Rules and strengths are alternatives.", "give the one or the other.")
    if rules:
        return [parse_rule(one) if isinstance(one, str) else one for one in rules]
    crowds = [KAnonymity(k) for k in strengths or STRENGTHS]
    if column is None:
        return [*crowds]
    diverse = DistinctDiversity(2, column if len(schema.sensitive) > 1 else None)
    return [one & diverse for one in crowds]


def _checked(
    requests: Sequence[Request], place: Path | None, replace: bool
) -> dict[str, Any] | None:
    """What is kept in the folder already; refuses, before any reading, what cannot be done."""
    if not requests:
        raise UsageError("No method is named.", "leave methods out to compare all.")
    for one in requests:
        method_parameters(one.method, one.parameters)
        check_column(one.rule, one.schema)
    return None if place is None else check_place(place, replace)


def _counted(table: Any, requests: Sequence[Request], population: Any) -> tuple[Tally, Schema]:
    """The table as a tally, found to be one that every rule can judge, and its schema."""
    schema = requests[0].schema
    with ExitStack() as stack:
        frame = stack.enter_context(opened(table, kinds=schema.kinds))
        schema = schema.fit(frame.fields)
        check_people(frame, schema)
        quasi = {column.name: column.kind for column in schema.quasi}
        people = population and stack.enter_context(opened(population, kinds=quasi))
        plan = survey(frame, schema, people)
        tally = plan.encode(frame).tally
    for rule in dict.fromkeys(one.rule for one in requests):
        check_survey(rule, plan)
        rule.holds(Groups.of(tally, _together(tally), products(rule)))
    return tally, schema


def _together(tally: Tally) -> Cut:
    """One class of everybody: a rule that cannot judge it is one that the table does not allow."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.zeros_like(entry))


@dataclass(frozen=True)
class _Run:
    """A comparison at work."""

    kept: Kept
    tally: Tally
    column: int | None
    """The sensitive column that the adversary is after."""
    risk: str
    progress: Progress

    def all(self, requests: Sequence[Request]) -> Frontier:
        """Every point that is not there yet, kept as soon as it is; then the page."""
        for at, one in enumerate(requests):
            self.progress(STEP, FINE * at, FINE * len(requests))
            if (one.method, str(one.rule)) not in self.kept.points:
                told = self._within(at, len(requests))
                self.kept.add(self._point(changed(one, progress=told)))
                self.kept.write(self._found())
        found = self._found()
        self.kept.write(found)
        if found.folder is not None:
            frontier_page(found.to_json()).write(found.folder / PAGE)
        return found

    def _found(self) -> Frontier:
        points = marked(tuple(self.kept.points.values()), self.risk)
        return Frontier(points, self.tally.rows, self.risk, self.kept.settings, self.kept.place)

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
        point, began = Point(request.method, str(request.rule)), time.perf_counter()
        try:
            cut = make(self.tally, request)
        except (NotMetError, UsageError, InputError) as error:
            return changed(point, seconds=_took(began), reason=error.fact)
        seconds, found = _took(began), exposure(self.tally, cut, self.column)
        return changed(
            point,
            loss=round(loss(self.tally, cut), ROUND),
            risk_identity=round(found.identity.rate, ROUND),
            risk_value=None if found.value is None else round(found.value.rate, ROUND),
            base=found.base,
            known_identity=found.identity.known,
            known_value=None if found.value is None else found.value.known,
            rows=self.tally.rows - cut.held_back,
            classes=cut.classes,
            held_back=cut.held_back,
            seconds=seconds,
        )


def _took(began: float) -> float:
    return round(time.perf_counter() - began, 3)
