"""Levels for columns that have none: what a method that works by levels needs, and can be offered.

A number that is published as any range, or a date or code as any set, has no levels between its
values and ``*``: all that such a method can do with it is to leave it as it is or to lose it. The
automatic hierarchy of a number is intervals: the finest width is 1, 2 or 5 times a power of ten, so
that the column's range (its bounds, where it has them) is at most 20 of them, and each next one is
twice as wide. Dates become months, quarters, years and decades, codes lose digits from the right.
Words without an order have no automatic hierarchy: what belongs together nobody can tell from them.

What it does not protect: without bounds the widths follow the table's own range, that of rows which
are suppressed later included, and whoever sees them learns about how far it reaches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.core.column import quote_name
from shoal.core.hierarchy import Dates, Flat, Hierarchy, Intervals, Ordered, Prefixes, are_whole
from shoal.core.labels import to_positions
from shoal.core.schema import Column
from shoal.engines.protocol import Frame
from shoal.methods import publishes_levels
from shoal.releases.options import Request

MAX_INTERVALS = 20
"""The finest automatic level has at most so many intervals."""


def add_automatic_levels(frame: Frame, request: Request) -> tuple[Request, list[str]]:
    """The request with automatic hierarchies where they are asked for, and what to tell of it."""
    if request.like is not None or not publishes_levels(request.method):
        return request, []
    bare = [
        column
        for column in request.schema.quasi
        if column.kind != "category" and isinstance(column.hierarchy, Flat | Ordered)
    ]
    hierarchies = {column.name: _choose_hierarchy(column, frame) for column in bare}
    offers = {name: hierarchy for name, hierarchy in hierarchies.items() if hierarchy is not None}
    notes = [
        _note_levels(request.schema.column(name), hierarchy, request)
        for name, hierarchy in offers.items()
    ]
    if not request.auto_hierarchies or not offers:
        return request, notes
    columns = (
        replace(c, hierarchy=offers.get(c.name, c.hierarchy)) for c in request.schema.columns
    )
    return replace(request, schema=replace(request.schema, columns=tuple(columns))), notes


def _choose_hierarchy(column: Column, frame: Frame) -> Hierarchy | None:
    """A hierarchy for the column; None where its values leave room for no level."""
    if column.kind == "date":
        return Dates(("month", "quarter", "year", "decade"))
    if column.kind != "number":
        return Prefixes()
    places = to_positions(frame.values([column.name])[column.name].values, "number")
    low, high = column.bounds or (places.min(initial=np.inf), places.max(initial=-np.inf))
    widths = choose_interval_widths(float(low), float(high), whole=are_whole(places))
    return Intervals(widths) if widths else None


def choose_interval_widths(low: float, high: float, whole: bool) -> tuple[float, ...]:
    """The widths of nested intervals over a range; of whole numbers the finest joins at least two.

    >>> choose_interval_widths(17, 90, whole=True), choose_interval_widths(3, 4, whole=True)
    ((5, 10, 20, 40), ())
    >>> choose_interval_widths(0, 1, whole=False)
    (0.05, 0.1, 0.2, 0.4)
    """
    range_ = high - low
    if not 0 < range_ < float("inf"):
        return ()
    power = Decimal(10) ** (Decimal(range_ / MAX_INTERVALS).adjusted())
    nice = (power * step for step in (1, 2, 5, 10))
    width = next(candidate for candidate in nice if float(candidate) * MAX_INTERVALS >= range_)
    width = max(width, Decimal(2)) if whole else width
    widths = [float(width * 2**i) for i in range(4)]
    return tuple(int(w) if w.is_integer() else w for w in widths if w < range_)


def suggest_auto_hierarchies(request: Request, notes: Sequence[str]) -> list[str]:
    """What may help where a rule is not met: in one line, however many columns lack levels."""
    many = f"{len(notes):,} columns have" if len(notes) > 1 else "a column has"
    suggestion = f"Or add --auto-hierarchies: {many} no levels between the values and *."
    return [suggestion] if notes and not request.auto_hierarchies else []


def _note_levels(column: Column, hierarchy: Hierarchy, request: Request) -> str:
    line, name = f"hierarchy = {_format_toml(hierarchy.to_toml())}", quote_name(column.name)
    if request.auto_hierarchies:
        loose = isinstance(hierarchy, Intervals) and column.bounds is None
        follow = " Their widths follow the table's range; bounds in the schema fix them."
        return f"Column {name} had no levels and was given automatic ones: {line}.{follow * loose}"
    return (
        f"Column {name} has no levels between its values and *, and {request.method} "
        f"works by levels: write {line} under it in the schema, or add --auto-hierarchies."
    )


def _format_toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    return "{" + ", ".join(f"{key} = {json.dumps(part)}" for key, part in value.items()) + "}"
