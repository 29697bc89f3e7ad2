"""Bins: which cells a column's values are counted in, said by the schema alone.

Differential privacy is lost where the cells come from the rows: a cell that exists because one
person has its value says that this person is there. So categories are those of the column's domain
or taxonomy, and numbers and dates lie between its bounds; the rows are never asked.

    domain, taxonomy       each value, in the order of the statement       Never-married
    numbers with bounds    the finest stated intervals, else at most 20    [20, 25[
    dates with bounds      the finest stated level, else years             1965
    "" in the domain       the empty cell, last

Labels can be read as those of any other release. Whether numbers are whole is not known here, so
an interval is half open: 24.5 is in [20, 25[. Numbers and dates beyond the bounds count as the
nearest bound; an interval that begins at the last one has that number alone. Bins say nothing about
privacy by themselves: bounds and domains that somebody took from the rows give away what they were
taken from.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis, Level
from shoal.core.column import Column, Value, quote_name, role_hint, toml_key
from shoal.core.errors import HierarchyError, InputError, SchemaError, join_errors
from shoal.core.hierarchy import (
    DATE_LEVELS,
    MAX_WHOLE_NUMBERS,
    Dates,
    EqualFrequency,
    EqualWidth,
    Flat,
    Hierarchy,
    Intervals,
    Prefixes,
    Tree,
    are_whole,
    decimal_fraction,
    parse_leaf,
)
from shoal.core.labels import (
    format_count,
    format_number,
    format_value,
    read_range,
    to_positions,
    write_set,
)
from shoal.core.missing_marks import NULL_MARKS
from shoal.core.schema import Schema
from shoal.core.schema_toml import format_column_section

MAX_BINS = 100_000
"""Bins of one column: more of them are a mistake, and fit into no marginal."""
MAX_READABLE_BINS = 20
"""Bins of a column of numbers whose hierarchy states no width."""
_FIRST, _LAST = datetime.date(1900, 1, 1), datetime.date(2029, 12, 31)
"""Bounds of dates, for an example."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Bins:
    """A column's cells, numbered from 0; the label of empty cells, where there may be, is ``""``.

    `leaves` are the values, one to a cell; without them a cell begins at each of `starts`, within
    the `bounds`. `single`: each such cell is one whole number, and takes no other.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    null: bool = False
    leaves: tuple[Any, ...] = ()
    starts: tuple[float, ...] = ()
    bounds: tuple[float, float] | None = None
    single: bool = False

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.labels)

    @property
    def printed(self) -> tuple[str, ...]:
        r"""The labels with ``{\N}`` for null, for where an empty cell means something else."""
        return (*self.labels[:-1], write_set([None])) if self.null else self.labels

    def codes(
        self, leaves: Sequence[Any] | NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> Codes:
        """The cell of each value, None and nan being null; `rows` say how often each occurs.

        >>> build_bins(Column("age", "quasi", "number", bounds=(0, 120))).codes([-3, 19, 24.5, 130])
        array([ 0,  1,  2, 12], dtype=int32)
        """
        codes = self._axis.codes(leaves) if self.leaves else self._find_intervals(leaves)
        if (codes < 0).any():
            rows = np.ones(len(codes), dtype=np.int64) if rows is None else rows
            empty = np.array([leaf is None or leaf != leaf for leaf in leaves], dtype=np.bool_)
            raise self._explain_refusal(
                int(rows[(codes < 0) & empty].sum()), int(rows[codes < 0].sum())
            )
        return codes

    def read(self, labels: Sequence[Any] | NDArray[Any]) -> Codes:
        """The cell that each label of this column names; -1 for what is none of them."""
        return np.array([self._code_of_label.get(label, -1) for label in labels], dtype=np.int32)

    def of_leaves(self, axis: Axis) -> Codes:
        """The cell of every code of an axis; -1 for leaves that the domain leaves out.

        A taxonomy has such leaves where a narrower domain is stated; no row does.
        """
        leaves = [*axis.leaves, *([None] if axis.null else [])]
        codes = np.full(len(leaves), -1, dtype=np.int32)
        listed = {*self.leaves, None} if self.leaves else set(leaves)
        there = [at for at, leaf in enumerate(leaves) if leaf in listed]
        codes[there] = self.codes([leaves[at] for at in there])
        return codes

    def _find_intervals(self, leaves: Sequence[Any] | NDArray[Any]) -> Codes:
        """The interval of each value, after what lies beyond the bounds has been moved to them."""
        assert self.bounds is not None
        places = to_positions(leaves, self.kind)
        cells = np.searchsorted(self.starts, np.clip(places, *self.bounds), side="right") - 1
        if self.single:
            cells[places != np.floor(places)] = -1
        cells[np.isnan(places)] = len(self.starts) if self.null else -1
        return cells.astype(np.int32)

    def _explain_refusal(self, empty: int, wrong: int) -> InputError:
        column = f"Column {quote_name(self.name)}"
        if empty:
            read, how = self._read_as_empty()
            return InputError(
                f"{column} is empty in {format_count(empty, 'row')}{read}, and its domain does "
                "not say that it may be.",
                how + _under(self.name, 'domain = [""]') + ', or "" beside the values it lists.',
            )
        if self.single:
            return InputError(
                f"{column} is counted by whole numbers, and in {format_count(wrong, 'row')} it "
                "is none.",
                _under(self.name, "hierarchy = { intervals = [0.1] }"),
            )
        return InputError(
            f"{column} holds what the schema does not list in {format_count(wrong, 'row')}.",
            "complete its domain or taxonomy in the schema, or correct the table.",
        )

    def _read_as_empty(self) -> tuple[str, str]:
        """Where a listed value is a mark that readers take for null: that, and what to do."""
        mark = next((mark for mark in NULL_MARKS if mark in self.leaves), None)
        if mark is None:
            return "", ""
        return (
            f" (or has a mark there that is read as empty, such as {mark}, which it lists)",
            f"to read {mark} as a value, say that the empty cell alone means empty: --null ''; or ",
        )

    @cached_property
    def _axis(self) -> Axis:
        return Axis(self.name, self.kind, "flat", self.leaves, self.null)

    @cached_property
    def _code_of_label(self) -> dict[Any, int]:
        code_of_label = {
            label: code for shown in (self.printed, self.labels) for code, label in enumerate(shown)
        }
        return code_of_label | ({None: self.size - 1} if self.null else {})


def build_all_bins(schema: Schema) -> tuple[Bins, ...]:
    """The bins of all quasi-identifiers and sensitive columns; SchemaError with all that is wrong.

    >>> [bins.name for bins in build_all_bins(Schema((Column("sex", "quasi", domain=("F", "M")),)))]
    ['sex']
    """
    if schema.keep:
        name = schema.keep[0].name
        raise SchemaError(
            f"Column {quote_name(name)} is to be published as it is, which noise does not protect.",
            f"{role_hint(name)}; or identifier, to leave it out.",
        )
    column_bins: list[Bins] = []
    errors: list[InputError] = []
    for column in (*schema.quasi, *schema.sensitive):
        try:
            column_bins.append(build_bins(column))
        except SchemaError as error:
            errors.append(error)
    if errors:
        raise _several_open(errors) or join_errors(errors)
    return tuple(column_bins)


def build_bins(column: Column) -> Bins:
    """The bins of one column; SchemaError with the line to add where the schema leaves them open.

    >>> build_bins(Column("age", "quasi", "number", Intervals((5, 10)), bounds=(17, 31))).labels
    ('[15, 20[', '[20, 25[', '[25, 30[', '[30, 35[')
    >>> build_bins(Column("sex", "quasi", "category", domain=("F", "M", ""))).labels
    ('F', 'M', '')
    """
    kind, stated, null = infer_column_kind(column), column.listed_values or (), column.may_be_empty
    if stated or isinstance(column.hierarchy, Tree):
        return _list_bins(column, kind, stated, null)
    if kind not in ("number", "date") or column.bounds is None:
        raise _open_domain_error(column, kind)
    level, places = _dates(column) if kind == "date" else _numbers(column, column.bounds)
    if len(level.labels) > MAX_BINS:
        raise _too_many(column, len(level.labels))
    starts = tuple(places[level.starts].tolist())
    ends = [read_range(label) for label in level.labels]
    single = kind == "number" and all(end and end[0] == end[1] for end in ends)
    labels = level.labels
    if kind == "number":
        labels = _half_open(labels, single, starts[-1] == column.bounds[1])
    shown = (*labels, "") if null else labels
    return Bins(column.name, kind, shown, null, (), starts, column.bounds, single)


def _half_open(labels: Sequence[str], single: bool, ends_at_bound: bool) -> tuple[str, ...]:
    """Intervals from one number up to another that they do not have; `single` numbers as they are.

    `ends_at_bound`: the last interval begins at the upper bound, beyond which there is nothing.

    >>> _half_open(["[10-19]", "[-5 - -1]", "<20", "[0.5, 1[", "[60-64]"], False, True)
    ('[10, 20[', '[-5, 0[', '<20', '[0.5, 1[', '60')
    """
    half_open = []
    for label in labels:
        low, high = read_range(label) or ("", "")
        wide = f"[{low}, {format_number(float(high) + 1)}[" if low else label
        half_open.append(low if single else wide)
    if ends_at_bound and half_open[-1].startswith("["):
        half_open[-1] = half_open[-1][1:].partition(",")[0]
    return tuple(half_open)


def infer_column_kind(column: Column) -> str:
    """The kind that a column states, or that follows from what it does; else empty.

    >>> [infer_column_kind(Column("x", domain=values)) for values in ((1, 2.5), ("a", 1), ("",))]
    ['number', 'category', '']
    """
    if column.kind:
        return column.kind
    if isinstance(column.hierarchy, Dates):
        return "date"
    if column.bounds or isinstance(column.hierarchy, Intervals | EqualWidth | EqualFrequency):
        return "number"
    if isinstance(column.hierarchy, Prefixes):
        return "code"
    return _kind_of_values(column.listed_values or (), isinstance(column.hierarchy, Flat | Tree))


def _kind_of_values(values: Sequence[Value], category: bool) -> str:
    if values and not category and all(type(value) in (int, float) for value in values):
        return "number"
    if values and not category and all(isinstance(value, datetime.date) for value in values):
        return "date"
    return "category" if values or category else ""


def _list_bins(column: Column, kind: str, stated: tuple[Any, ...], null: bool) -> Bins:
    """A cell for each value of the domain, or else of the taxonomy."""
    if stated:
        leaves = tuple(_parse_domain_value(column, kind, value) for value in stated)
        axis = Axis(column.name, kind, "flat", leaves, null)
    else:
        assert column.hierarchy is not None
        axis = column.hierarchy.grow(column.name, kind, [], None, null)
    codes = np.arange(axis.size)
    labels = tuple("" if label is None else label for label in axis.labels(codes, codes))
    return Bins(column.name, kind, labels, null, axis.leaves)


def _parse_domain_value(column: Column, kind: str, value: Any) -> Any:
    leaf = parse_leaf(format_value(value), kind)
    if leaf is None:
        raise SchemaError(
            f"Column {quote_name(column.name)} is a {kind}, and its domain has values that are "
            "none.",
            _under(column.name, 'kind = "category"') + "; or correct its domain.",
        )
    return leaf


def _dates(column: Column) -> tuple[Level, NDArray[np.float64]]:
    """Years, or the finest level that somebody stated; and the days between the bounds."""
    hierarchy = column.hierarchy
    stated = isinstance(hierarchy, Dates) and hierarchy.levels != DATE_LEVELS
    finest = hierarchy.levels[0] if stated and isinstance(hierarchy, Dates) else "year"
    axis = _grow(column, "date", Dates((finest,)), [])
    if finest == "day":
        days = tuple(map(format_value, axis.leaves))
        return Level(np.arange(len(days), dtype=np.int32), days), _places(axis)
    return axis.levels[0], _places(axis)


def _numbers(column: Column, bounds: tuple[float, float]) -> tuple[Level, NDArray[np.float64]]:
    """The finest intervals of the hierarchy, or readable ones; and the numbers they begin at."""
    hierarchy = column.hierarchy
    filled = are_whole(bounds) and bounds[1] - bounds[0] < MAX_WHOLE_NUMBERS
    if isinstance(hierarchy, EqualWidth) and filled:
        axis = _grow(column, "number", hierarchy, [])
    else:
        steps = hierarchy if isinstance(hierarchy, Intervals) else Intervals((_readable(*bounds),))
        axis = _grow(column, "number", steps, _edges(column, steps, bounds))
    return axis.levels[0], _places(axis)


def _edges(column: Column, steps: Intervals, bounds: tuple[float, float]) -> list[float]:
    """Where the finest intervals begin, between the bounds."""
    low, high = bounds
    width, origin = decimal_fraction(steps.widths[0]), decimal_fraction(steps.origin)
    first, last = (math.floor((decimal_fraction(end) - origin) / width) for end in bounds)
    if last - first > MAX_BINS:
        raise _too_many(column, last - first + 1)
    inner = [float(origin + index * width) for index in range(first + 1, last + 1)]
    coded = [end for end in (steps.bottom, steps.top) if end is not None and low < end <= high]
    return sorted({low, *inner, *map(float, coded)})


def _readable(low: float, high: float) -> float:
    """A width of 1, 2 or 5 times a power of ten that makes at most `MAX_READABLE_BINS` bins.

    >>> _readable(17, 90), _readable(0, 1e6), _readable(1, 16), _readable(0, 2.5)
    (5.0, 100000.0, 1.0, 0.2)
    """
    whole = are_whole([low, high])
    power = max(math.floor(math.log10((high - low) / MAX_READABLE_BINS)), 0 if whole else -math.inf)
    while True:
        for digit in (1, 2, 5):
            width = decimal_fraction(float(f"{digit}e{power}"))
            count = (
                math.floor(decimal_fraction(high) / width)
                - math.floor(decimal_fraction(low) / width)
                + 1
            )
            if count <= MAX_READABLE_BINS:
                return float(width)
        power += 1


def _grow(column: Column, kind: str, hierarchy: Hierarchy, values: Sequence[float]) -> Axis:
    """The axis over the bounds: its leaves are all whole numbers between them, or the edges."""
    try:
        axis = hierarchy.grow(column.name, kind, values, None, False, column.bounds)
    except HierarchyError as error:
        raise SchemaError(error.fact, error.hint) from error
    if not axis.leaves:
        raise _too_many(column, MAX_WHOLE_NUMBERS)
    return axis


def _places(axis: Axis) -> NDArray[np.float64]:
    assert axis.positions is not None
    return axis.positions


def _open_domain_error(column: Column, kind: str) -> OpenDomainError:
    if kind in ("", "number", "date"):
        low, high = (_FIRST.toordinal(), _LAST.toordinal()) if kind == "date" else (0, 120)
        fact, hint = (
            "has no bounds",
            format_column_section(replace(column, kind=kind, bounds=(low, high))),
        )
    else:
        empty = ("",) if column.domain else ()
        fact = "has a domain that lists no value" if empty else "has no domain and no taxonomy"
        hint = format_column_section(replace(column, domain=("A", "B", *empty)))
    if not kind:
        fact, first = f"{fact} and no domain", "bounds = [0, 120]"
        either = (
            f'{first}  # if it holds numbers\n# domain = ["A", "B"]  # if it holds other values'
        )
        hint = hint.replace(first, either)
    return OpenDomainError.of(column.name, fact, hint)


class OpenDomainError(SchemaError):
    """The schema does not say what a column may hold."""

    column = ""

    @classmethod
    def of(cls, column: str, fact: str, hint: str) -> OpenDomainError:
        """The error about one column, whose name it knows."""
        error = cls(
            f"Column {quote_name(column)} {fact}, and what it may hold is never taken from the "
            "rows.",
            hint,
        )
        error.column = column
        return error


MAX_HINTED_COLUMNS = 5
"""For so many columns the lines to type are worth reading."""


def _several_open(errors: Sequence[InputError]) -> SchemaError | None:
    """What the schema lacks of several columns, in one sentence; None where more is wrong."""
    open_ = [error for error in errors if isinstance(error, OpenDomainError)]
    if len(open_) <= MAX_HINTED_COLUMNS or len(open_) < len(errors):
        return None
    names = ", ".join(quote_name(error.column) for error in open_)
    return SchemaError(
        f"The schema does not say what {len(open_):,} columns may hold, which is never taken from "
        f"the rows: {names}.",
        "under [columns.NAME] of each write bounds = [0, 120] if it holds numbers, else domain = "
        '["A", "B"] with all of its values; shoal schema TABLE -o schema.toml writes a schema to '
        "begin with.",
    )


def _under(name: str, setting: str) -> str:
    """What a schema lacks about a column, and where it is written.

    >>> _under("home town", "bounds = [0, 120]")
    'under [columns."home town"] write bounds = [0, 120]'
    """
    return f"under [columns.{toml_key(name)}] write {setting}"


def _too_many(column: Column, count: int) -> SchemaError:
    return SchemaError(
        f"Column {quote_name(column.name)} would be counted in {count:,} bins or more.",
        "state a coarser finest level in its hierarchy, or narrower bounds.",
    )
