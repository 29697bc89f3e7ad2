"""Frontier: run methods under rules of several strengths, and compare what they give and cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from fractions import Fraction
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np

from shoal.adversary.one_attack import as_column_names
from shoal.core.errors import InputError, NotMetError, ShoalError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Tally
from shoal.measures.loss import loss
from shoal.measures.risk.exposure import Exposure, measure_exposure
from shoal.methods import list_method_names as known_methods
from shoal.models import rule as parse_rule
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.draft import COMPILING, is_compiled, make_cut
from shoal.releases.options import Progress, Request, ignore_progress, parse_method_parameters
from shoal.releases.people import (
    parse_one_row,
)
from shoal.releases.providers import check_provider_column
from shoal.releases.verification import keep_columns_error
from shoal.reports.pages.frontier import render_frontier
from shoal.verbs.frontier.comparison import (
    RISKS,
    ROUND,
    Frontier,
    Point,
    list_failures,
    mark_frontier,
    merge_equal_points,
)
from shoal.verbs.frontier.saved_points import (
    PAGE,
    EarlierComparison,
    SavedComparison,
    check_comparison_folder,
    open_comparison,
)
from shoal.verbs.frontier.tables import CountedTable, FrontierTables

STRENGTHS = (2, 5, 10, 25, 50)
"""The k that are compared unless rules are given."""
STEP, MAKING, STEPS_PER_POINT = "comparing methods", "making classes", 100
"""The step it reports, the step a method reports, and how many steps a point counts for."""
NO_MEMORY = "There is not enough memory."
"""The one reason that is the machine's: such a point is tried again by the next run."""
COMPILE_ENTRIES = 5000
"""On so many entries of the table a method runs first, so that compiling it is not timed."""


def frontier(
    table: Any,
    schema: Schema,
    rules: Sequence[Model | str] | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    strengths: Sequence[int] | None = None,
    out: str | Path | None = None,
    risk: str = "identity",
    on: str | Sequence[str] | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    max_average_risk: float | None = None,
    hold_back: float = 0.0,
    auto_hierarchies: bool = False,
    accept_keep: bool = False,
    population: Any = None,
    one_row: str | None = None,
    replace: bool = False,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
) -> Frontier:
    """Compare methods under rules by an adversary's success and by loss; nothing is published.

    With ``out`` every finished point is saved in that folder, and a page is drawn there in the end:
    a run with the same table, schema and settings goes on where another stopped, or adds methods
    and rules to it. Several runs may work in one folder at once.

    Parameters
    ----------
    table
        Anything that ``shoal.open`` takes.
    schema
        The columns' roles.
    rules
        The rules to try, each one strength. Without them: k-anonymity with each k of ``strengths``,
        and of every sensitive column (or of those that ``on`` names) two distinct values in every
        class.
    methods
        The methods to try; all unless named.
    strengths
        The k to try where no ``rules`` are given.
    out
        The folder in which points are saved.
    risk
        What the frontier is drawn by: ``"identity"``, or ``"value"``, that of the column whose
        values are guessed right most often.
    on
        The sensitive columns that the adversary is after; every one unless given.
    max_loss, max_risk, max_average_risk
        Bounds by which a point is ``chosen``: the least risk with a loss of at most ``max_loss``,
        or the least loss where nobody's risk exceeds ``max_risk`` (on average
        ``max_average_risk``).
    hold_back
        The share of rows that may be suppressed.
    auto_hierarchies
        Whether columns without levels get some, for the methods that need them.
    accept_keep
        Whether kept columns, which no rule judges, are accepted.
    population
        A table of everybody, for rules that compare with it.
    one_row
        Which row stands for a person who has several, as in ``shoal.publish``; here what is drawn
        is drawn alike every time.
    replace
        Whether another comparison in ``out`` may be replaced.
    reading
        How the table is written, as in ``shoal.open``.
    progress
        Called with a step's name, how much is done, and how much there is.

    Returns
    -------
    Frontier
        A point for each method and rule, those that no other beats, and the one that is chosen.

    Raises
    ------
    UsageError
        A method, rule or bound has no meaning, or ``out`` holds another comparison.
    InputError
        The table cannot be read, or a rule cannot judge it.
    NotMetError
        The table has kept columns, and they are not accepted.

    Examples
    --------
    >>> shoal.frontier("patients.csv", schema, methods=["mondrian"])  # doctest: +SKIP
    """
    place = None if out is None else Path(out)
    columns = _choose_columns(schema, on, risk)
    _check_bounds(schema, risk, accept_keep, (max_loss, max_risk, max_average_risk))
    requests = [
        Request(
            schema=schema,
            rule=rule,
            method=name,
            hold_back=hold_back,
            auto_hierarchies=auto_hierarchies,
            accept_keep=accept_keep,
            population=population,
            one_row=parse_one_row(one_row, schema, key=b""),
        )
        for name in _list_methods(methods)
        for rule in _list_rules(rules, strengths, schema, columns)
    ]
    before = _check_requests(requests, place, replace)
    progress("reading", 0, 1)
    tables = FrontierTables.read(table, requests, population, reading or {})
    fitted_schema, settings = tables.schema, _describe_settings(columns, requests[0])
    points = open_comparison(
        place, before, tables.plain.known, fitted_schema.to_toml(), settings, replace=replace
    )
    column_positions = tuple(
        fitted_schema.sensitive.index(fitted_schema.column(name)) for name in columns
    )
    run = FrontierRun(
        points, tables, column_positions, risk, progress, _list_publish_options(requests[0])
    )
    run.all(requests)
    requested = frozenset((request.method, str(request.rule)) for request in requests)
    with points.together():
        result = replace_fields(
            run.build_frontier(),
            asked=requested,
            max_loss=max_loss,
            max_risk=max_risk,
            max_average_risk=max_average_risk,
        )
        points.write(result)
        if place is not None:
            _write_page(result, place)
    return result


def _describe_settings(columns: Sequence[str], request: Request) -> dict[str, Any]:
    """What points must have in common to be compared; several columns to learn are a list."""
    learnt = list(columns) if len(columns) > 1 else next(iter(columns), None)
    return {
        "on": learnt,
        "hold_back": float(request.hold_back),
        "auto_hierarchies": request.auto_hierarchies,
    }


def _list_publish_options(request: Request) -> tuple[str, ...]:
    options = {
        f"--hold-back {request.hold_back}": request.hold_back,
        "--auto-hierarchies": request.auto_hierarchies,
        "--accept-keep": request.schema.keep and request.accept_keep,
        "--population POPULATION": request.population is not None,
        f'--one-row "{request.one_row}"': request.one_row is not None,
    }
    return tuple(option for option, needed in options.items() if needed)


def _write_page(comparison: Frontier, place: Path) -> None:
    """The page; each risk has a frontier of its own."""
    points_by_risk = {
        risk: [
            point.to_json() for point in merge_equal_points(mark_frontier(comparison.points, risk))
        ]
        for risk in RISKS
    }
    render_frontier(comparison.to_json(), points_by_risk, list_failures(comparison.points)).write(
        place / PAGE
    )


def _check_bounds(
    schema: Schema, risk: str, accept_keep: bool, bounds: Sequence[float | None]
) -> None:
    if risk not in RISKS:
        raise UsageError(f"There is no risk {risk!r}.", f"choose one of {', '.join(RISKS)}.")
    if any(bound is not None and not 0 <= bound <= 1 for bound in bounds):
        raise UsageError("Loss and risk are between 0 and 1.", "write for example 0.05.")
    if schema.keep and not accept_keep:
        raise keep_columns_error(schema.keep)


def _choose_columns(schema: Schema, on: str | Sequence[str] | None, risk: str) -> tuple[str, ...]:
    names, chosen = [column.name for column in schema.sensitive], as_column_names(on)
    if unknown := [name for name in chosen if name not in names]:
        raise UsageError(
            f"There is no sensitive column {unknown[0]!r}.", 'give a column the role "sensitive".'
        )
    if risk == "value" and not names:
        raise UsageError(
            "There is no sensitive value to learn.", 'give a column the role "sensitive".'
        )
    return chosen or tuple(names)


def _list_methods(methods: Sequence[str] | str | None) -> list[str]:
    chosen = methods.split(",") if isinstance(methods, str) else methods
    return known_methods() if chosen is None else [name.strip() for name in chosen]


def _list_rules(
    rules: Sequence[Model | str] | None,
    strengths: Sequence[int] | None,
    schema: Schema,
    columns: Sequence[str],
) -> list[Model]:
    if rules and strengths:
        raise UsageError("Rules and strengths are alternatives.", "give the one or the other.")
    if rules:
        return [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    crowds = [KAnonymity(k) for k in strengths or STRENGTHS]
    several = len(schema.sensitive) > 1
    diverse = [DistinctDiversity(2, name if several else None) for name in columns]
    return [reduce(and_, diverse, rule) for rule in crowds]


def _check_requests(
    requests: Sequence[Request], place: Path | None, replace: bool
) -> EarlierComparison | None:
    """What is kept in the folder already; refuses, before any reading, what cannot be done."""
    if not requests:
        raise UsageError("No method is named.", "leave methods out to compare all.")
    for request in requests:
        parse_method_parameters(request.method, request.parameters)
        check_provider_column(request.rule, request.schema)
    return None if place is None else check_comparison_folder(place, replace)


@dataclass(frozen=True)
class FrontierRun:
    """What is compared, and where it is kept."""

    saved: SavedComparison
    tables: FrontierTables
    columns: tuple[int, ...]
    """The sensitive columns that the adversary is after; the worst of them is the risk."""
    risk: str
    progress: Progress
    options: tuple[str, ...] = ()
    """What publishing a point needs beside its method and rule."""

    def all(self, requests: Sequence[Request]) -> None:
        """Make every point that is not there yet, and keep it as soon as it is."""
        for at, request in enumerate(requests):
            self.progress(STEP, STEPS_PER_POINT * at, STEPS_PER_POINT * len(requests))
            saved = self.saved.points.get((request.method, str(request.rule)))
            if saved is None or saved.reason == NO_MEMORY:
                report_progress = self._within(at, len(requests))
                self.saved.add(self._point(replace_fields(request, progress=report_progress)))
                with self.saved.together():
                    self.saved.write(self.build_frontier())

    def build_frontier(self) -> Frontier:
        """What there is so far."""
        tables, saved = self.tables, self.saved
        return Frontier(
            mark_frontier(tuple(saved.points.values()), self.risk),
            tables.plain.tally.rows,
            self.risk,
            saved.settings,
            saved.place,
            notes=tables.notes,
            warnings=tables.warnings,
            known=tuple(column.name for column in tables.schema.keep),
            options=self.options,
        )

    def _within(self, at: int, points: int) -> Progress:
        def report(step: str, done: int, total: int) -> None:
            if step == MAKING:
                # It is done once it is saved.
                part = min(STEPS_PER_POINT - 1, STEPS_PER_POINT * done // max(total, 1))
                step, done, total = STEP, STEPS_PER_POINT * at + part, STEPS_PER_POINT * points
            self.progress(step, done, total)

        return report

    def _point(self, request: Request) -> Point:
        """What one method gives and costs under one rule, or why it made nothing."""
        table = self.tables.of(request.method)
        point = Point(request.method, str(request.rule))
        began = time.perf_counter()
        try:
            if not is_compiled(request.method, request.rule):
                _compile(table.tally, request)
                began = time.perf_counter()
            cut = make_cut(table.tally, request)
            seconds = _seconds_since(began)
            return replace_fields(point, seconds=seconds, **self._measured(table, cut))
        except (NotMetError, UsageError, InputError) as error:
            return replace_fields(point, seconds=_seconds_since(began), reason=error.fact)
        except MemoryError:
            return replace_fields(point, seconds=_seconds_since(began), reason=NO_MEMORY)

    def _measured(self, table: CountedTable, cut: Cut) -> dict[str, Any]:
        tally = table.tally
        each = {at: measure_exposure(*table.view(cut), at) for at in self.columns or (None,)}
        worst, exposure = max(each.items(), key=lambda item: _rank_exposure(item[1]))
        several = worst is not None and len(each) > 1
        return {
            "column": tally.sensitive[worst].name if several and worst is not None else "",
            "by_column": {
                tally.sensitive[at].name: _summarise_exposure(exposure_)
                for at, exposure_ in each.items()
                if several and at is not None and exposure_.value is not None
            },
            "loss": round(loss(tally, cut), ROUND),
            "risk_identity": round(exposure.identity.rate, ROUND),
            "risk_value": None if exposure.value is None else round(exposure.value.rate, ROUND),
            "base": exposure.base,
            "known_identity": exposure.identity.known,
            "known_value": None if exposure.value is None else exposure.value.known,
            "rows": tally.rows - cut.suppressed,
            "classes": cut.classes,
            "held_back": cut.suppressed,
            **_find_worst_class(*table.view(cut), self.columns),
        }


def _find_worst_class(tally: Tally, cut: Cut, columns: Sequence[int]) -> dict[str, int]:
    """The smallest class, and the surest value of any column, counted in people."""
    there = cut.class_ >= 0
    sizes = np.bincount(cut.class_[there], cut.count[there], cut.classes).astype(np.int64)
    facts = {"smallest": int(sizes[sizes > 0].min(initial=tally.rows))}
    surest = Fraction(0)
    for at in columns:
        codes = tally.values[at][cut.entry]
        h = Histogram.of(tally.sensitive[at], cut.class_, codes, cut.count, cut.classes)
        for same_value, size in set(zip(h.max_same_value.tolist(), h.rows.tolist(), strict=True)):
            if size and Fraction(same_value, size) > surest:
                surest = Fraction(same_value, size)
                facts |= {"likeliest": same_value, "likeliest_of": size}
    return facts


def _rank_exposure(exposure: Exposure) -> tuple[float, float]:
    """By which of several columns an adversary is right most often, and gains most."""
    rate = 0.0 if exposure.value is None else exposure.value.rate
    return rate, rate - (exposure.base or 0.0)


def _summarise_exposure(exposure: Exposure) -> dict[str, float]:
    assert exposure.value is not None
    assert exposure.base is not None
    rate, known = round(exposure.value.rate, ROUND), exposure.value.known
    return {"risk_value": rate, "base": exposure.base, "known_value": known}


def _compile(tally: Tally, request: Request) -> None:
    """Let the method compile its kernels, on a part of the table."""
    request.progress(COMPILING, 0, 1)
    # What it says of a part is no finding: on the whole table it says it again, or does not.
    with suppress(ShoalError):
        make_cut(_take_part(tally), replace_fields(request, progress=ignore_progress))


def _take_part(tally: Tally) -> Tally:
    """The first entries of a table, in arrays laid out as the whole table's: kernels are theirs."""
    if tally.entries <= COMPILE_ENTRIES:
        return tally
    keys, values = (
        np.ascontiguousarray(array[:, :COMPILE_ENTRIES]) for array in (tally.keys, tally.values)
    )
    providers = None if tally.providers is None else tally.providers[:COMPILE_ENTRIES]
    return replace_fields(
        tally, keys=keys, values=values, count=tally.count[:COMPILE_ENTRIES], providers=providers
    )


def _seconds_since(began: float) -> float:
    return round(time.perf_counter() - began, 3)
