"""What charts of studies are drawn from: means of rows by what tells them apart.

A value has the fields ``panel``, ``by``, ``x``, ``mean``, ``least``, ``most`` and ``runs``,
whatever the columns were called: a column's name may hold what a drawing would read as an
expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from shoal.reports.charts.theme import Spec, clean_text

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Columns:
    """Which columns are drawn, and how they are called for people."""

    x: str
    y: str
    by: str = ""
    panel: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""

    def word(self, column: str) -> str:
        """A column's name as it is read."""
        return clean_text(self.labels.get(column, column.replace("_", " ")))

    def name_value(self, column: str, value: Any) -> str:
        """One of a column's values; a number says what it is of.

        >>> Columns("x", "y", labels={"k": "k"}).name_value("k", 5)
        'k = 5'
        """
        if not column:
            return ""
        if isinstance(value, bool):
            return f"{self.word(column)}: {'yes' if value else 'no'}"
        if isinstance(value, int | float):
            return f"{self.word(column)} = {format_exactly(value)}"
        return clean_text(value)

    def list_headings(self, many: bool) -> dict[str, str]:
        """The headings of the table behind the chart; a spread only where means are of several."""
        first = {
            name: self.word(column)
            for name, column in (("panel", self.panel), ("by", self.by), ("x", self.x))
            if column
        }
        spread = {"least": "Least", "most": "Most", "runs": "Measurements"} if many else {}
        return first | {"mean": self.name_measure()} | spread

    def name_measure(self) -> str:
        """What is measured, with its unit where that does not stand at the ticks."""
        unit = self.unit.strip()
        word = self.word(self.y)
        return word if not unit or unit in word or unit in TICKED else f"{word} ({unit})"


TICKED = ("%", "s")
"""Units that are written at every tick."""


def format_exactly(value: float) -> str:
    """A number as a name: two that differ have two.

    >>> [format_exactly(value) for value in (1234568, 2.0, 0.25, 1234567.5)]
    ['1,234,568', '2', '0.25', '1,234,567.5']
    """
    if isinstance(value, int):
        return f"{value:,}"
    short = f"{value:,g}"
    return short if float(short.replace(",", "")) == value else f"{value:,}".removesuffix(".0")


def is_number(value: Any) -> bool:
    """Whether a value can be drawn on a scale; yes and no are names."""
    value = value.item() if hasattr(value, "item") else value
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def average_rows(rows: Rows, of: Columns) -> list[Spec]:
    """One value for each combination of panel, series and x, in the order in which they came."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    scaled = is_on_scale(rows, of)
    for row in rows:
        if _is_drawn(row, of):
            groups.setdefault(_group_key(row, of), []).append(float(row[of.y]))
    return [
        {
            "panel": panel,
            "by": by,
            "x": x if scaled else clean_text(x),
            "mean": fmean(measured),
            "least": min(measured),
            "most": max(measured),
            "runs": len(measured),
        }
        for (panel, by, x, *_), measured in groups.items()
    ]


def is_on_scale(rows: Rows, of: Columns) -> bool:
    """Whether x is a number in every row."""
    return all(is_number(row[of.x]) for row in rows if row.get(of.x) is not None)


def _group_key(row: Mapping[str, Any], of: Columns) -> tuple[Any, ...]:
    """By value, and by name as well: yes is 1 for Python alone."""
    values = (row.get(column) for column in (of.panel, of.by) if column)
    names = (of.name_value(column, row.get(column)) for column in (of.panel, of.by))
    return (*names, row[of.x], *values)


def list_series_names(rows: Rows, column: str, of: Columns) -> list[str]:
    """A column's values as they are drawn: numbers from the least, text as it came."""
    if not column:
        return [""]
    values = [row.get(column) for row in rows if _is_drawn(row, of)]
    if is_ordered(rows, column, of):
        values = sorted(values)  # type: ignore[type-var]
    return list(dict.fromkeys(of.name_value(column, value) for value in values))


def _is_drawn(row: Mapping[str, Any], of: Columns) -> bool:
    return row.get(of.x) is not None and is_number(row.get(of.y))


def list_printed_values(theirs: Rows, of: Columns, scaled: bool) -> list[Spec]:
    """What the paper prints, in the fields of the values; nothing where it names no series."""
    return [
        {
            "panel": of.name_value(of.panel, row[of.panel]) if of.panel in row else None,
            "by": of.name_value(of.by, row[of.by]) if of.by in row else "",
            "x": row[of.x] if scaled else clean_text(row[of.x]),
            "mean": float(row[of.y]),
            "said": clean_text(row.get("said", "paper")),
        }
        for row in theirs
        if _is_drawn(row, of)
    ]


def make_name_scale(names: Sequence[str]) -> Callable[[Any], float]:
    """How far from the left each name stands where all have the same room, from 0 to 1.

    >>> make_name_scale(["a", "b"])("b")
    0.75
    """
    where = {name: (i + 0.5) / len(names) for i, name in enumerate(names)}
    return lambda name: where.get(name, 0.5)


def has_repeated_runs(values: Iterable[Spec]) -> bool:
    """Whether any value is the mean of several."""
    return any(value["runs"] > 1 for value in values)


def has_differing_runs(values: Iterable[Spec]) -> bool:
    """Whether any value is the mean of several that are not the same."""
    return any(value["least"] < value["most"] for value in values)


def is_ordered(rows: Rows, column: str, of: Columns) -> bool:
    """Whether what a column holds has an order: it holds numbers alone."""
    values = [row.get(column) for row in rows if _is_drawn(row, of)] if column else []
    return bool(values) and all(is_number(value) for value in values)


def arrange_panels(
    names: Sequence[str], width: float, make: Callable[[str, float, bool], Spec]
) -> dict[str, Any]:
    """Small multiples side by side, at most three in a row; the first of a row has the axis."""
    across = len(names) if len(names) <= 3 else 2 if len(names) == 4 else 3
    room = (width - 62 - 30 * (across - 1)) / across
    specs = [make(name, room, i % across == 0) for i, name in enumerate(names)]
    return {
        "concat": specs,
        "columns": across,
        "bounds": "flush",
        "spacing": {"row": 92, "column": 30},
    }
