"""Frontier: run methods under rules of several strengths, and compare what they give and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

from shoal.adversary.runner import as_column_names
from shoal.core.errors import UsageError
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.methods import list_method_names as known_methods
from shoal.models import rule as parse_rule
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.method_parameters import parse_method_parameters
from shoal.releases.options import Progress, Request, ignore_progress
from shoal.releases.people import parse_one_row
from shoal.releases.providers import check_provider_column
from shoal.releases.verification import keep_columns_error
from shoal.reports.pages.frontier import render_frontier
from shoal.verbs.frontier.comparison import (
    RISKS,
    Frontier,
    list_failures,
    mark_frontier,
    merge_equal_points,
)
from shoal.verbs.frontier.run import FrontierRun, FrontierTables
from shoal.verbs.frontier.saved_points import (
    PAGE,
    EarlierComparison,
    check_comparison_folder,
    open_comparison,
)

STRENGTHS = (2, 5, 10, 25, 50)
"""The k that are compared unless rules are given."""


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

    Each of ``rules`` is one strength; without them they are k-anonymity with k of ``strengths``
    and of every sensitive column (or of those that ``on`` names) two distinct values in every
    class. ``methods`` are all unless named. ``risk`` is what the frontier is drawn by: "identity",
    or "value", that of the column whose values are guessed right most often. Of what is asked for
    here, ``chosen`` is the least risk with a loss of at most ``max_loss``, or the least loss with a
    risk of anybody of at most ``max_risk`` (``max_average_risk``: on average), or within all of
    these. ``auto_hierarchies`` gives columns levels that
    have none, for the methods that need them. ``one_row`` says which row
    stands for a person, as in ``shoal.publish``; here what is drawn is drawn alike every time.
    ``reading`` says how the table is written.

    With ``out`` every finished point is kept in that folder, and a page is drawn there in the end:
    a run with the same table, schema and settings goes on where another stopped, or adds methods
    and rules to it; one with others is refused, unless it may ``replace`` what is there. Several
    runs may work in one folder at once.
    """
    place = None if out is None else Path(out)
    columns = _columns(schema, on, risk)
    _check(schema, risk, accept_keep, (max_loss, max_risk, max_average_risk))
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
        for name in _names(methods)
        for rule in _rules(rules, strengths, schema, columns)
    ]
    before = _checked(requests, place, replace)
    progress("reading", 0, 1)
    tables = FrontierTables.read(table, requests, population, reading or {})
    fitted, settings = tables.schema, _settings(columns, requests[0])
    points = open_comparison(
        place, before, tables.plain.known, fitted.to_toml(), settings, replace=replace
    )
    at = tuple(fitted.sensitive.index(fitted.column(name)) for name in columns)
    run = FrontierRun(points, tables, at, risk, progress, _options(requests[0]))
    run.all(requests)
    asked = frozenset((request.method, str(request.rule)) for request in requests)
    with points.together():
        result = changed(
            run.build_frontier(),
            asked=asked,
            max_loss=max_loss,
            max_risk=max_risk,
            max_average_risk=max_average_risk,
        )
        points.write(result)
        if place is not None:
            _draw(result, place)
    return result


def _settings(columns: Sequence[str], request: Request) -> dict[str, Any]:
    """What points must have in common to be compared; several columns to learn are a list."""
    learnt = list(columns) if len(columns) > 1 else next(iter(columns), None)
    return {
        "on": learnt,
        "hold_back": float(request.hold_back),
        "auto_hierarchies": request.auto_hierarchies,
    }


def _options(request: Request) -> tuple[str, ...]:
    """What publishing a point needs beside its method and rule."""
    options = {
        f"--hold-back {request.hold_back}": request.hold_back,
        "--auto-hierarchies": request.auto_hierarchies,
        "--accept-keep": request.schema.keep and request.accept_keep,
        "--population POPULATION": request.population is not None,
        f'--one-row "{request.one_row}"': request.one_row is not None,
    }
    return tuple(option for option, needed in options.items() if needed)


def _draw(comparison: Frontier, place: Path) -> None:
    """The page; each risk has a frontier of its own."""
    drawn = {
        risk: [
            point.to_json() for point in merge_equal_points(mark_frontier(comparison.points, risk))
        ]
        for risk in RISKS
    }
    render_frontier(comparison.to_json(), drawn, list_failures(comparison.points)).write(
        place / PAGE
    )


def _check(schema: Schema, risk: str, accept_keep: bool, bounds: Sequence[float | None]) -> None:
    if risk not in RISKS:
        raise UsageError(f"There is no risk {risk!r}.", f"choose one of {', '.join(RISKS)}.")
    if any(bound is not None and not 0 <= bound <= 1 for bound in bounds):
        raise UsageError("Loss and risk are between 0 and 1.", "write for example 0.05.")
    if schema.keep and not accept_keep:
        raise keep_columns_error(schema.keep)


def _columns(schema: Schema, on: str | Sequence[str] | None, risk: str) -> tuple[str, ...]:
    """The sensitive columns to learn: those asked for, else every one."""
    names, asked = [column.name for column in schema.sensitive], as_column_names(on)
    if unknown := [name for name in asked if name not in names]:
        raise UsageError(
            f"There is no sensitive column {unknown[0]!r}.", 'give a column the role "sensitive".'
        )
    if risk == "value" and not names:
        raise UsageError(
            "There is no sensitive value to learn.", 'give a column the role "sensitive".'
        )
    return asked or tuple(names)


def _names(methods: Sequence[str] | str | None) -> list[str]:
    """The methods that are asked for; all unless some are named."""
    asked = methods.split(",") if isinstance(methods, str) else methods
    return known_methods() if asked is None else [name.strip() for name in asked]


def _rules(
    rules: Sequence[Model | str] | None,
    strengths: Sequence[int] | None,
    schema: Schema,
    columns: Sequence[str],
) -> list[Model]:
    """The rules that are asked for, or those of k-anonymity by strength."""
    if rules and strengths:
        raise UsageError("Rules and strengths are alternatives.", "give the one or the other.")
    if rules:
        return [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    crowds = [KAnonymity(k) for k in strengths or STRENGTHS]
    several = len(schema.sensitive) > 1
    diverse = [DistinctDiversity(2, name if several else None) for name in columns]
    return [reduce(and_, diverse, rule) for rule in crowds]


def _checked(
    requests: Sequence[Request], place: Path | None, replace: bool
) -> EarlierComparison | None:
    """What is kept in the folder already; refuses, before any reading, what cannot be done."""
    if not requests:
        raise UsageError("No method is named.", "leave methods out to compare all.")
    for request in requests:
        parse_method_parameters(request.method, request.parameters)
        check_provider_column(request.rule, request.schema)
    return None if place is None else check_comparison_folder(place, replace)
