"""Hierarchies: how one attribute generalises, said without its data.

A specification is a frozen value, written in a schema; `grow` turns it and a column's values into
the `shoal.core.axis.Axis` that everything else works with.

    flat()                      any set of values           {A, B}
    ordered()                   any range                   [23-31]
    ordered("S", "M", "L")      any range in that order     [S - M]
    intervals(5, 10, 20)        nested intervals            [20-24]  [20-29]  [20-39]
    prefixes()                  masked from the right       1305*  130**
    dates()                     calendar                    1965-09  1965-Q3  1965  1960-69
    tree({...})                 a taxonomy, or ARX's CSV    Europe
    equal_width(8, 4, 2)        from the data's range       [17-25]
    equal_frequency(8, 4, 2)    from the data's counts      [17-22]

Messages name lines and counts, never a label.
"""

from __future__ import annotations

import csv
import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.axis import Axis, Level
from shoal.core.errors import HierarchyError
from shoal.core.labels import (
    ROOT,
    format_number,
    format_value,
    order_bands,
    to_position,
    to_positions,
    write_range,
)

# The levels of a tree over leaves that are in order: runs of leaves with a label each


Floats = NDArray[np.float64]
Ends = tuple[float, float]

MAX_WHOLE_NUMBERS = 100_000


def group_runs(keys: ArrayLike, label: Callable[[int, int], str]) -> Level:
    """The level whose nodes are the runs of equal keys; `label` names the run first..last."""
    keys = np.asarray(keys)
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    starts = np.concatenate([np.zeros(min(len(keys), 1), dtype=np.int64), changes])
    lasts = [*(starts[1:] - 1).tolist(), len(keys) - 1]
    labels = tuple(label(a, b) for a, b in zip(starts.tolist(), lasts, strict=False))
    return Level(starts.astype(np.int32), labels)


@dataclass(frozen=True)
class ColumnDomain:
    """What is known about a column when its axis grows; `values` are distinct, without null."""

    name: str
    kind: str
    values: Sequence[Any] | NDArray[Any]
    counts: NDArray[np.int64] | None
    null: bool
    bounds: Ends | None

    def line(self, need: Sequence[str] = ("number", "date")) -> tuple[Floats, Ends]:
        """The leaves as ascending numbers, and the range they lie in.

        They are the values that occur; with whole bounds, all whole numbers between them.
        """
        if self.kind not in need:
            raise HierarchyError(
                f"Column {self.name!r} is of kind {self.kind}; its hierarchy is for {need[0]}s.",
                "Change the kind, or use flat(), prefixes() or tree(...).",
            )
        raw = self.places()
        places = np.unique(raw)
        if self.bounds is None:
            return places, (float(places[0]), float(places[-1])) if len(places) else (0.0, 0.0)
        low, high = float(self.bounds[0]), float(self.bounds[1])
        outside = (raw < low) | (raw > high)
        self._refuse(outside, "lie outside its bounds", "Widen the bounds in the schema.")
        if are_whole(places) and are_whole([low, high]) and high - low < MAX_WHOLE_NUMBERS:
            places = np.arange(low, high + 1)
        return places, (low, high)

    def places(self) -> Floats:
        """The values as finite numbers."""
        try:
            raw = to_positions(self.values, self.kind)
        except (ValueError, TypeError, OverflowError):
            raise HierarchyError(
                f"Column {self.name!r} has values that are no {self.kind}s.", "Change its kind."
            ) from None
        self._refuse(~np.isfinite(raw), "are infinite or no numbers", "Mark them as null.")
        return raw

    def refuse_uncovered(self, axis: Axis) -> None:
        """Raise HierarchyError when a value is no leaf of the axis."""
        hint = "Add a row to the hierarchy for each of them."
        self._refuse(axis.codes(self.values) < 0, "are not in its hierarchy", hint)

    def _refuse(self, wrong: NDArray[np.bool_], fact: str, hint: str) -> None:
        if wrong.any():
            rows = "" if self.counts is None else f" ({int(self.counts[wrong].sum())} rows)"
            share = f"{int(wrong.sum())} of {len(wrong)} values{rows}"
            raise HierarchyError(f"Column {self.name!r}: {share} {fact}.", hint)


def positions_to_values(kind: str, places: Floats) -> tuple[Any, ...]:
    """Positions as values of the column's kind: floats, or dates."""
    if kind == "date":
        return tuple(date.fromordinal(int(place)) for place in places)
    return tuple(places.tolist())


def parse_leaf(label: str, kind: str) -> Any:
    """A taxonomy's leaf as a value of the column's kind; None when it cannot be one."""
    if kind not in ("number", "date"):
        return label
    try:
        place = to_position(label, kind)
    except ValueError:
        return None
    return positions_to_values(kind, np.array([place]))[0] if math.isfinite(place) else None


def are_whole(numbers: ArrayLike) -> bool:
    """Whether all of them are whole numbers."""
    numbers = np.asarray(numbers, dtype=np.float64)
    return bool(np.all(numbers == np.floor(numbers)))


def decimal_fraction(value: float) -> Fraction:
    """The decimal number that a float is written as, exactly: .3 is three times .1."""
    return Fraction(str(float(value)))


def interval_index(places: Floats, width: float, origin: float) -> list[int]:
    """The number of the interval each place lies in, in exact arithmetic."""
    if are_whole(places) and are_whole([width, origin]):
        return [(int(place) - int(origin)) // int(width) for place in places.tolist()]
    start, step = decimal_fraction(origin), decimal_fraction(width)
    return [math.floor((decimal_fraction(place) - start) / step) for place in places.tolist()]


def interval_level(
    places: Floats, index: Sequence[int], width: float, origin: float, ends: Ends, whole: bool
) -> Level:
    """Intervals of one width by their numbers; below and above the `ends`, an open one each.

    `whole` labels are closed, ``[20-29]``; others half open, ``[20, 30[``.
    """
    bottom, top = ends
    edges = {i: _edges(i, width, origin, bottom, top) for i in set(index)}
    reach = [
        (-math.inf, bottom) if place < bottom else (top, math.inf) if place >= top else edges[i]
        for place, i in zip(places.tolist(), index, strict=True)
    ]
    stated = np.array(reach, dtype=np.float64).reshape(-1, 2)
    level = group_runs(stated[:, 0], lambda first, _: _interval(*reach[first], whole))
    # [20-29] ends at 29, [20, 30[ at 30
    return Level(level.starts, level.labels, stated[level.starts] - [0, int(whole)])


def _edges(index: int, width: float, origin: float, bottom: float, top: float) -> Ends:
    low = decimal_fraction(origin) + index * decimal_fraction(width)
    return max(float(low), bottom), min(float(low + decimal_fraction(width)), top)


def _interval(low: float, high: float, whole: bool) -> str:
    if math.isinf(low):
        return f"<{format_number(high)}"
    if math.isinf(high):
        return f">={format_number(low)}"
    return write_range(low, high - 1) if whole else f"[{format_number(low)}, {format_number(high)}["


def calendar_level(places: Floats, unit: str) -> Level:
    """Months, quarters, years or decades: ``1965-09``, ``1965-Q3``, ``1965``, ``1960-69``."""
    months = [12 * day.year + day.month - 1 for day in positions_to_values("date", places)]
    length = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    keys = [month // length * length for month in months]
    level = group_runs(keys, lambda first, _: _period(keys[first], unit))
    first = [keys[start] for start in level.starts]
    ends = [(_day(month), _day(month + length) - 1) for month in first]
    return Level(level.starts, level.labels, np.array(ends, dtype=np.float64).reshape(-1, 2))


def _day(month: int) -> int:
    """The ordinal of the month's first day; a decade may reach beyond what dates can say."""
    year = min(max(month // 12, 1), date.max.year)
    inside = 12 * year <= month < 12 * (year + 1)
    return date(year, month % 12 + 1 if inside else 1 if month < 12 * year else 12, 1).toordinal()


def _period(month: int, unit: str) -> str:
    year = f"{month // 12:04d}"
    if unit == "month":
        return f"{year}-{month % 12 + 1:02d}"
    if unit == "quarter":
        return f"{year}-Q{month % 12 // 3 + 1}"
    if unit == "year":
        return year
    last = f"{month // 12 + 9:04d}"
    # 2000-09 would be read as a September
    return f"{year}-{last}" if year.endswith("00") else f"{year}-{last[2:]}"


def masked_level(texts: Sequence[str], length: int, taken: dict[str, tuple[int, int]]) -> Level:
    """Sorted codes that share their first `length` characters: ``130**``, as long as the longest.

    `taken` remembers the labels of finer levels: codes that hold a ``*`` themselves could make
    two groups look alike, so the coarser one gets one more.
    """
    keys = [code[:length] for code in texts]

    def label(first: int, last: int) -> str:
        longest = max(map(len, texts[first : last + 1]))
        mask = keys[first].ljust(longest, "*")
        while taken.setdefault(mask, (first, last)) != (first, last):
            mask += "*"
        return mask

    # objects, because numpy's own strings drop trailing NULs
    return group_runs(np.array([*keys, None], dtype=object)[:-1], label)


def binned_level(bins: NDArray[np.int64], leaves: Sequence[Any]) -> Level:
    """Bins by their number, labelled with the outermost leaves in them."""
    return group_runs(bins, lambda first, last: write_range(leaves[first], leaves[last]))


def taxonomy_level(labels: Sequence[str]) -> Level:
    """A level of a taxonomy: one label for each leaf, in tree order."""
    return group_runs(np.array([*labels, None], dtype=object)[:-1], lambda first, _: labels[first])


# Taxonomies as rows, leaf first and root last: checked, ordered, read from ARX's CSV and mappings
#
#     Bachelors;Undergraduate;Higher education;*
#     11th;High School;Secondary education;*


_NUMBER = re.compile(r"-?\d+(\.\d+)?")

TaxonomyRows = tuple[tuple[str, ...], ...]


def _split_rows(content: str, delimiter: str) -> tuple[list[tuple[str, ...]], list[int]]:
    reader = csv.reader(io.StringIO(content), delimiter=delimiter)
    rows, lines = [], []
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                lines.append(reader.line_num)
    except csv.Error:
        fact = f"Line {reader.line_num} of the hierarchy is not CSV."
        raise HierarchyError(fact, "Check its quotes and its longest cell.") from None
    return rows, lines


def flatten_mapping(mapping: Mapping[Any, Any]) -> TaxonomyRows:
    """The rows of a nested mapping from groups to groups or leaves; short branches are padded.

    >>> flatten_mapping({"Europe": ["Italy", "France"], "Asia": {"East": ["Japan"]}})[0]
    ('Italy', 'Italy', 'Europe', '*')
    """
    paths = list(_paths(mapping, (ROOT,)))
    longest = max((len(path) for path in paths), default=0)
    # a short branch repeats its leaf, so that its group stays on the level of its siblings
    return tuple((path[0],) * (longest - len(path)) + path for path in paths)


def _paths(node: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Mapping):
        for group, inner in node.items():
            yield from _paths(inner, (format_value(group), *above))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for leaf in node:
            yield from _paths(leaf, above)
    else:
        yield (format_value(node), *above)


def check_taxonomy(rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    """Raise HierarchyError unless the rows are one tree; `lines` are their line numbers."""
    if not rows:
        raise HierarchyError("The hierarchy is empty.", "One row for each value, leaf first.")
    height = len(rows[0])
    ragged = [line for row, line in zip(rows, lines, strict=True) if len(row) != height]
    _refuse(ragged, f"differ from the first row's {height} cells", "All rows need the same length.")
    if height < 2:
        raise HierarchyError("The hierarchy has one level only.", "End each row with its root: *")
    empty = [line for row, line in zip(rows, lines, strict=True) if "" in row[1:]]
    _refuse(empty, "have a group without a label", "Every level above the leaf needs a label.")
    _check_parents(rows, lines, height)
    _check_cycle(rows)
    _check_labels(rows, height)


def _check_parents(rows: Sequence[Sequence[str]], lines: Sequence[int], height: int) -> None:
    parent: list[dict[str, str]] = [{} for _ in range(height)]
    wrong: list[list[int]] = [[] for _ in range(height)]
    for row, line in zip(rows, lines, strict=True):
        for depth in range(height - 1):
            if parent[depth].setdefault(row[depth], row[depth + 1]) != row[depth + 1]:
                wrong[depth].append(line)
        if parent[-1].setdefault("", row[-1]) != row[-1]:
            wrong[-1].append(line)
    _refuse(wrong[-1], "end in a second root", "The last cell is the same in all rows: *")
    _refuse(wrong[0], "repeat a leaf under another parent", "Each value has one row.")
    for depth in range(1, height - 1):
        fact = f"put a group of level {depth} under a second parent"
        _refuse(wrong[depth], fact, "Give groups with different parents different labels.")


def _check_cycle(rows: Sequence[Sequence[str]]) -> None:
    above: dict[str, set[str]] = {}
    for row in rows:
        for child, parent in pairwise(row):
            if child != parent:  # a label repeated upwards pads a short branch
                above.setdefault(child, set()).add(parent)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        count = len(error.args[1]) - 1
        raise HierarchyError(
            f"The hierarchy has a cycle through {count} groups.",
            "A group cannot be inside one of its own members: rename one of them.",
        ) from None


def _check_labels(rows: Sequence[Sequence[str]], height: int) -> None:
    """A label that stands for two different groups, or for a leaf elsewhere, would mislead."""
    leaves: list[dict[str, set[str]]] = [{} for _ in range(height - 2)]
    for row in rows:
        for group, label in zip(leaves, row[1:-1], strict=True):
            group.setdefault(label, set()).add(row[0])
    values = {row[0] for row in rows}
    members_by_label: dict[str, set[str]] = {rows[0][-1]: {row[0] for row in rows}}
    members_by_label.setdefault(ROOT, members_by_label[rows[0][-1]])
    twice = 0
    for level in leaves:
        for label, members in level.items():
            if len(members) > 1:
                twice += members_by_label.setdefault(label, members) != members
                twice += label in values and label not in members
    if twice:
        raise HierarchyError(
            f"{twice} labels of the hierarchy stand for several groups, or for a value elsewhere.",
            "Give each group a label of its own.",
        )


def _refuse(lines: Sequence[int], fact: str, hint: str) -> None:
    if lines:
        shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
        raise HierarchyError(f"{len(lines)} rows of the hierarchy (line {shown}) {fact}.", hint)


def sort_taxonomy(rows: TaxonomyRows) -> TaxonomyRows:
    """The rows in tree order, each leaf once: groups and leaves as they first appear.

    Leaves are sorted as numbers inside a group where all are numbers.

    >>> sort_taxonomy((("9", "x", "*"), ("a", "y", "*"), ("10", "x", "*"), ("8", "x", "*")))
    (('8', 'x', '*'), ('9', 'x', '*'), ('10', 'x', '*'), ('a', 'y', '*'))
    """
    rows = tuple(dict.fromkeys(rows))
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row[1], []).append(row[0])
    place = [
        {label: i for i, label in enumerate(dict.fromkeys(column))}
        for column in zip(*rows, strict=True)
    ]
    place[0] = {leaf: i for group in groups.values() for i, leaf in enumerate(sort_by_value(group))}
    return tuple(
        sorted(rows, key=lambda row: tuple(p[c] for p, c in zip(place, row, strict=True))[::-1])
    )


def sort_by_value(texts: Sequence[str]) -> list[str]:
    """The texts sorted as numbers where all are numbers; otherwise as they stand."""
    if all(_NUMBER.fullmatch(t) for t in texts):
        return sorted(texts, key=lambda t: (float(t), t))
    return list(texts)


# Hierarchies


DATE_LEVELS = ("day", "month", "quarter", "year", "decade")


class Hierarchy(ABC):
    """How an attribute generalises; `grow` makes it an axis."""

    def grow(
        self,
        name: str,
        kind: str,
        values: Sequence[Any] | NDArray[Any],
        counts: NDArray[np.int64] | None = None,
        null: bool = False,
        bounds: Ends | None = None,
    ) -> Axis:
        """The axis of a column.

        Parameters
        ----------
        name, kind : str
            The column's.
        values : sequence
            Its distinct values, without null.
        counts : array of int, optional
            How often each value occurs.
        null : bool
            Whether it has empty cells.
        bounds : (float, float), optional
            Which numbers may occur, whatever the values are.

        Raises
        ------
        HierarchyError
            With the number of values that the hierarchy does not cover, never with the values.

        Examples
        --------
        >>> axis = intervals(5, 10).grow("age", "number", [21.0, 23.0, 28.0, 41.0])
        >>> axis.labels([0, 0, 0, 2], [1, 2, 3, 2]).tolist()
        ['[20-24]', '[20-29]', '*', '28']
        """
        return self._grow(ColumnDomain(name, kind, values, counts, null, bounds))

    def to_toml(self) -> Any:
        """The hierarchy as a plain value for a schema; `from_toml` reads it back."""
        return self._plain()

    @abstractmethod
    def _grow(self, domain: ColumnDomain) -> Axis: ...

    @abstractmethod
    def _plain(self) -> Any: ...

    @staticmethod
    def from_toml(value: Any) -> Hierarchy:
        """The hierarchy that a schema's value describes.

        >>> Hierarchy.from_toml({"intervals": [5, 10], "top": 80})
        Intervals(widths=(5, 10), origin=0, bottom=None, top=80)
        """
        table = {value: None} if isinstance(value, str) else value
        words = [w for w in _READERS if isinstance(table, Mapping) and w in table]
        if len(words) != 1:
            raise HierarchyError(
                "A hierarchy in the schema is not understood.",
                'hierarchy = "flat", or { intervals = [5, 10, 20] }; one of ' + ", ".join(_READERS),
            )
        options = {key: option for key, option in table.items() if key != words[0]}
        try:
            return _READERS[words[0]](table[words[0]], **options)
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise HierarchyError(
                f"The hierarchy {words[0]!r} in the schema has wrong options.",
                "hierarchy = { intervals = [5, 10, 20], origin = 0, bottom = 20, top = 80 }",
            ) from None


@dataclass(frozen=True)
class Flat(Hierarchy):
    """No order and no groups: any set of values may be published."""

    def _grow(self, domain: ColumnDomain) -> Axis:
        counts = np.zeros(len(domain.values), int) if domain.counts is None else domain.counts
        values = domain.places().tolist() if domain.kind == "number" else domain.values
        pairs = zip(values, counts.tolist(), strict=True)
        leaves = tuple(v for v, _ in sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
        return Axis(domain.name, domain.kind, "flat", leaves, domain.null)

    def _plain(self) -> Any:
        return "flat"


@dataclass(frozen=True)
class Ordered(Hierarchy):
    """Numbers, dates or categories with an order: any range may be published.

    Categories stand in the order of `values` where it is given; else in their own where they are
    bands, sizes or chapters (`order_bands`), or numbers; else in that of the alphabet.
    """

    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values) or not all(
            isinstance(value, str) for value in self.values
        ):
            raise HierarchyError(
                "An order names a value twice, or something that is no text.",
                'hierarchy = { ordered = ["low", "medium", "high"] }',
            )

    def _grow(self, domain: ColumnDomain) -> Axis:
        if domain.kind in ("number", "date"):
            return _on_line(domain, "ordered", *domain.line(), ())
        return Axis(domain.name, domain.kind, "ordered", self._leaves(domain), domain.null)

    def _leaves(self, domain: ColumnDomain) -> tuple[str, ...]:
        present = sorted(domain.values)
        if not self.values:
            return order_bands(present) or tuple(sort_by_value(present))
        if missing := len(set(present) - set(self.values)):
            raise HierarchyError(
                f"Column {domain.name!r} has {missing:,} values that its order does not name.",
                "name every value of the column in the order.",
            )
        return tuple(value for value in self.values if value in set(present))

    def _plain(self) -> Any:
        return {"ordered": list(self.values)} if self.values else "ordered"


@dataclass(frozen=True)
class Intervals(Hierarchy):
    """Numbers in nested intervals: from origin + i * width up to the next, each width dividing
    the next.

    `bottom` and `top` code the ends, from the finest level up: what is below `bottom` is
    ``<bottom``, what is `top` or more is ``>=top``.
    """

    widths: tuple[float, ...]
    origin: float = 0
    bottom: float | None = None
    top: float | None = None

    def __post_init__(self) -> None:
        stated = [*self.widths, self.origin, self.bottom or 0, self.top or 0]
        if not all(math.isfinite(x) for x in stated) or min(self.widths, default=0) <= 0:
            raise HierarchyError("Intervals need widths above 0.", "intervals(5, 10, 20)")
        widths = [decimal_fraction(width) for width in self.widths]
        if any(b % a or b == a for a, b in pairwise(widths)):
            raise HierarchyError(
                "The widths of the intervals do not nest.",
                "Each width is a multiple of the one before: intervals(5, 10, 20)",
            )
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise HierarchyError("The bottom of the intervals is not below their top.", "top=80")

    def _grow(self, domain: ColumnDomain) -> Axis:
        places, span = domain.line(("number",))
        low = -math.inf if self.bottom is None else self.bottom
        high = math.inf if self.top is None else self.top
        stated = [*self.widths, self.origin, *(x for x in (low, high) if math.isfinite(x))]
        whole = are_whole(places) and are_whole(stated)
        finest = interval_index(places, self.widths[0], self.origin)
        levels = []
        for width in self.widths:
            step = int(decimal_fraction(width) / decimal_fraction(self.widths[0]))
            index = [i // step for i in finest]
            level = interval_level(places, index, width, self.origin, (low, high), whole)
            levels.append(level)
        return _on_line(domain, "tree", places, span, levels)

    def _plain(self) -> Any:
        table: dict[str, Any] = {"intervals": list(self.widths)}
        options = {"origin": self.origin or None, "bottom": self.bottom, "top": self.top}
        return table | {key: end for key, end in options.items() if end is not None}


@dataclass(frozen=True)
class Prefixes(Hierarchy):
    """Codes masked from the right: 13053, 1305*, 130**. `lengths` to keep; None is every length."""

    lengths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        lengths = self.lengths if self.lengths is not None else (1,)
        if not lengths or not all(isinstance(n, int) and n > 0 for n in lengths):
            raise HierarchyError("Prefixes need lengths of 1 or more.", "prefixes(4, 3, 2)")

    def _grow(self, domain: ColumnDomain) -> Axis:
        leaves = tuple(sorted(domain.values, key=format_value))  # so that a prefix is one range
        texts = [format_value(leaf) for leaf in leaves]
        lengths = self.lengths or range(1, max(map(len, texts), default=0))
        taken: dict[str, tuple[int, int]] = {}
        levels: list[Level] = []
        nodes = len(leaves)
        for length in sorted(set(lengths), reverse=True):
            level = masked_level(texts, length, taken)
            # Where the codes decide, a length that joins nothing is no level, nor is one that is *.
            joins = len(level.starts) < nodes and (len(level.starts) > 1 or domain.null)
            if self.lengths or joins:
                levels.append(level)
            nodes = len(level.starts)
        return Axis(domain.name, domain.kind, "tree", leaves, domain.null, tuple(levels))

    def _plain(self) -> Any:
        return "prefixes" if self.lengths is None else {"prefixes": list(self.lengths)}


@dataclass(frozen=True)
class Dates(Hierarchy):
    """Days in months, quarters, years and decades: some of these levels, from fine to coarse."""

    levels: tuple[str, ...] = DATE_LEVELS

    def __post_init__(self) -> None:
        if not self.levels or [x for x in DATE_LEVELS if x in self.levels] != list(self.levels):
            raise HierarchyError(
                "The levels of dates are not understood.",
                "Some of day, month, quarter, year, decade, in this order.",
            )

    def _grow(self, domain: ColumnDomain) -> Axis:
        places, span = domain.line(("date",))
        levels = [calendar_level(places, unit) for unit in self.levels if unit != "day"]
        return _on_line(domain, "tree", places, span, levels)

    def _plain(self) -> Any:
        return "dates" if self.levels == DATE_LEVELS else {"dates": list(self.levels)}


@dataclass(frozen=True)
class Tree(Hierarchy):
    """A taxonomy as rows, leaf first and root last; `source` is the file it was read from, if any.

    Leaves that the data does not have stay in the domain. In a number or date column, a leaf
    that is no number or date is left out: no value could be equal to it.
    """

    rows: TaxonomyRows
    source: str = ""

    def __post_init__(self) -> None:
        check_taxonomy(self.rows, range(1, len(self.rows) + 1))

    def _grow(self, domain: ColumnDomain) -> Axis:
        pairs = [(parse_leaf(row[0], domain.kind), row) for row in sort_taxonomy(self.rows)]
        pairs = [(leaf, row) for leaf, row in pairs if leaf is not None]
        leaves = tuple(leaf for leaf, _ in pairs)
        if len(set(leaves)) < len(leaves):
            raise HierarchyError(
                f"Column {domain.name!r}: {len(leaves) - len(set(leaves))} leaves of its hierarchy "
                "are written in two ways.",
                "Keep one row for each number or date.",
            )
        columns = list(zip(*(row for _, row in pairs), strict=True))
        levels = tuple(taxonomy_level(column) for column in columns[1:-1])
        places = _ascending(domain, leaves)
        root = self.rows[0][-1]
        axis = Axis(
            domain.name, domain.kind, "tree", leaves, domain.null, levels, places, root=root
        )
        domain.refuse_uncovered(axis)
        return axis

    def _plain(self) -> Any:
        return {"file": self.source} if self.source else {"tree": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class _Binned(Hierarchy):
    """Numbers or dates in bins that the data decides; `bins` of each level, from fine to coarse."""

    bins: tuple[int, ...]

    def __post_init__(self) -> None:
        counted = bool(self.bins) and all(isinstance(n, int) and n > 0 for n in self.bins)
        if not counted or any(b >= a or a % b for a, b in pairwise(self.bins)):
            raise HierarchyError(
                "The numbers of bins do not nest.",
                "From fine to coarse, each a multiple of the next: equal_width(8, 4, 2)",
            )

    def _grow(self, domain: ColumnDomain) -> Axis:
        places, span = domain.line()
        finest = np.minimum(self._finest(domain, places, span), self.bins[0] - 1)
        leaves = positions_to_values(domain.kind, places)
        levels = [binned_level(finest // (self.bins[0] // count), leaves) for count in self.bins]
        # One bin of all would print the smallest and the largest value that anybody has: it is *.
        several = [level for level in levels if len(level.starts) > 1 or domain.null]
        return _on_line(domain, "tree", places, span, several)

    @abstractmethod
    def _finest(self, domain: ColumnDomain, places: Floats, span: Ends) -> NDArray[np.int64]: ...


@dataclass(frozen=True)
class EqualWidth(_Binned):
    """Numbers or dates in equally wide parts of the data's range (or of the bounds)."""

    def _finest(self, domain: ColumnDomain, places: Floats, span: Ends) -> NDArray[np.int64]:
        range_ = span[1] - span[0] or 1.0
        return np.floor((places - span[0]) / range_ * self.bins[0]).astype(np.int64)

    def _plain(self) -> Any:
        return {"equal-width": list(self.bins)}


@dataclass(frozen=True)
class EqualFrequency(_Binned):
    """Numbers or dates in parts with about equally many rows."""

    def _finest(self, domain: ColumnDomain, places: Floats, span: Ends) -> NDArray[np.int64]:
        counts = np.ones(len(domain.values), np.int64) if domain.counts is None else domain.counts
        at = np.searchsorted(places, domain.places())
        rows = np.bincount(at, weights=counts, minlength=len(places)).astype(np.int64)
        middle = 2 * np.cumsum(rows) - rows  # twice the rank of a leaf's middle row, in integers
        return np.asarray(middle * self.bins[0] // max(2 * int(rows.sum()), 1), dtype=np.int64)

    def _plain(self) -> Any:
        return {"equal-frequency": list(self.bins)}


def flat() -> Flat:
    """No order and no groups: any set of values may be published, as ``{A, B}``.

    Examples
    --------
    >>> flat().grow("sex", "category", ["F", "M", "X"]).labels([0], [1]).tolist()
    ['{F, M}']
    """
    return Flat()


def ordered(*values: str) -> Ordered:
    """Any range may be published: ``[23-31]``, ``[S - M]``.

    Parameters
    ----------
    *values : str
        The categories in their order. Without them numbers and dates have their own, and so have
        bands, sizes and chapters; other categories stand in the order of the alphabet.

    Raises
    ------
    HierarchyError
        Where a value is named twice.

    Examples
    --------
    >>> sizes = ordered("S", "M", "L").grow("size", "category", ["L", "M", "S"])
    >>> sizes.labels([0], [1]).tolist()
    ['[S - M]']
    """
    return Ordered(values)


def intervals(
    *widths: float, origin: float = 0, bottom: float | None = None, top: float | None = None
) -> Intervals:
    """Numbers in nested intervals: ``[20-24]``, ``[20-29]``, ``[20-39]``.

    Parameters
    ----------
    *widths : float
        From fine to coarse, each dividing the next.
    origin : float
        Where an interval begins.
    bottom, top : float, optional
        What is below or from there on is one open interval on every level: ``<20``, ``>=80``.

    Raises
    ------
    HierarchyError
        Where the widths do not nest, or the bottom is not below the top.

    Examples
    --------
    >>> ages = intervals(5, 10, top=80).grow("age", "number", [21.0, 23.0, 28.0, 85.0])
    >>> ages.labels([0, 0], [1, 2]).tolist()
    ['[20-24]', '[20-29]']
    """
    return Intervals(widths, origin, bottom, top)


def prefixes(*lengths: int) -> Prefixes:
    """Codes masked from the right: ``1305*``, ``130**``.

    Parameters
    ----------
    *lengths : int
        How many characters stay, on each level; every length where none is given.

    Raises
    ------
    HierarchyError
        Where a length is not a whole number above 0.

    Examples
    --------
    >>> prefixes(3).grow("zip", "code", ["13053", "13068"]).labels([0], [1]).tolist()
    ['130**']
    """
    return Prefixes(lengths or None)


def dates(*levels: str) -> Dates:
    """Days in months, quarters, years and decades: ``1965-09``, ``1965-Q3``, ``1965``, ``1960-69``.

    Parameters
    ----------
    *levels : str
        Some of ``day``, ``month``, ``quarter``, ``year`` and ``decade``, from fine to coarse; all
        of them where none is given.

    Raises
    ------
    HierarchyError
        Where a level is unknown, or they are not in this order.

    Examples
    --------
    >>> dates("month", "year").levels
    ('month', 'year')
    """
    return Dates(levels or DATE_LEVELS)


def tree(groups: Mapping[Any, Any] | Sequence[Sequence[Any]]) -> Tree:
    """A taxonomy: a value is published as itself, or as a group that holds it.

    Parameters
    ----------
    groups : mapping or sequence of rows
        Groups to groups or leaves, nested; or rows with the leaf first and the root last.

    Raises
    ------
    HierarchyError
        Where the rows are not one tree.

    Examples
    --------
    >>> tree({"Europe": ["Italy", "France"]}).rows
    (('Italy', 'Europe', '*'), ('France', 'Europe', '*'))
    """
    if isinstance(groups, Mapping):
        return Tree(flatten_mapping(groups))
    return Tree(tuple(tuple(format_value(cell) for cell in row) for row in groups))


def equal_width(*bins: int) -> EqualWidth:
    """Numbers or dates in equally wide parts of the data's range, or of the column's bounds.

    Parameters
    ----------
    *bins : int
        How many parts a level has, from fine to coarse, each a multiple of the next.

    Raises
    ------
    HierarchyError
        Where the numbers do not nest.

    Examples
    --------
    >>> ages = equal_width(4, 2).grow("age", "number", [17.0, 20.0, 30.0, 57.0])
    >>> ages.labels([0, 0], [1, 2]).tolist()
    ['[17-20]', '[17-30]']
    """
    return EqualWidth(bins)


def equal_frequency(*bins: int) -> EqualFrequency:
    """Numbers or dates in parts with about equally many rows.

    Parameters
    ----------
    *bins : int
        How many parts a level has, from fine to coarse, each a multiple of the next.

    Raises
    ------
    HierarchyError
        Where the numbers do not nest.

    Examples
    --------
    >>> ages = equal_frequency(2).grow("age", "number", [17.0, 20.0, 30.0, 57.0])
    >>> ages.labels([0], [1]).tolist()
    ['[17-20]']
    """
    return EqualFrequency(bins)


def from_arx_csv(content: str, source: str = "") -> Tree:
    """Read a taxonomy in ARX's CSV format.

    Parameters
    ----------
    content : str
        One line for each value, leaf first and root last, ``leaf;group;...;*``, separated by ``;``
        or ``,``; there is no header, and blank lines are skipped.
    source : str
        The name of the file, which a schema keeps instead of the rows.

    Returns
    -------
    Tree
        The hierarchy, for ``shoal.quasi(...)``.

    Raises
    ------
    HierarchyError
        Where the rows are not one tree; the message names lines, never labels.

    Examples
    --------
    >>> from_arx_csv("Italy;Europe;*\\nJapan;Asia;*").rows
    (('Italy', 'Europe', '*'), ('Japan', 'Asia', '*'))
    """
    content = content.removeprefix("\ufeff")
    rows, lines = _split_rows(content, ";")
    if rows and len(rows[0]) == 1:
        rows, lines = _split_rows(content, ",")
    check_taxonomy(rows, lines)
    return Tree(tuple(rows), source)


def to_arx_csv(axis: Axis) -> str:
    """Write an axis as ARX's CSV text, separated by ``;``: one row for each leaf but null.

    Parameters
    ----------
    axis : Axis
        A column's leaves and levels, as `Hierarchy.grow` makes them.

    Returns
    -------
    str
        Text that `from_arx_csv` reads back.

    Examples
    --------
    >>> axis = tree({"Europe": ["Italy"], "Asia": ["Japan"]}).grow("country", "category", ["Italy"])
    >>> to_arx_csv(axis)
    'Italy;Europe;*\\nJapan;Asia;*\\n'
    """
    columns = [[format_value(leaf) for leaf in axis.leaves]]
    for level in axis.levels:
        sizes = np.diff(np.append(level.starts, len(axis.leaves)))
        columns.append(np.repeat(np.array(level.labels, dtype=object), sizes).tolist())
    out = io.StringIO()
    rows = ((*row, axis.root) for row in zip(*columns, strict=True))
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def _on_line(
    domain: ColumnDomain, shape: str, places: Floats, span: Ends, levels: Sequence[Level]
) -> Axis:
    leaves = positions_to_values(domain.kind, places)
    return Axis(domain.name, domain.kind, shape, leaves, domain.null, tuple(levels), places, span)


def _ascending(domain: ColumnDomain, leaves: Sequence[Any]) -> Floats | None:
    """The leaves' positions when the tree keeps them in order; only then is a node an interval."""
    if domain.kind not in ("number", "date") or not leaves:
        return None
    places = to_positions(leaves, domain.kind)
    return places if bool(np.all(np.diff(places) > 0)) else None


def _items(items: Any) -> tuple[Any, ...]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise TypeError
    return tuple(items)


_READERS: dict[str, Callable[..., Hierarchy]] = {
    "flat": lambda _: Flat(),
    "ordered": lambda items: Ordered(() if items is None else _items(items)),
    "intervals": lambda items, **options: Intervals(_items(items), **options),
    "prefixes": lambda items: Prefixes(None if items is None else _items(items)),
    "dates": lambda items: Dates(DATE_LEVELS if items is None else _items(items)),
    "tree": lambda items: tree(items),
    "equal-width": lambda items: EqualWidth(_items(items)),
    "equal-frequency": lambda items: EqualFrequency(_items(items)),
}
