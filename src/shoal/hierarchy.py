"""Hierarchies: how one attribute generalises, said without its data.

A specification is a frozen value, written in a schema; `grow` turns it and a column's values into
the `shoal.axis.Axis` that everything else works with.

    flat()                      any set of values           {A, B}
    ordered()                   any range                   [23-31]
    ordered("S", "M", "L")      any range in that order     [S - M]
    intervals(5, 10, 20)        nested intervals            [20-24]  [20-29]  [20-39]
    prefixes()                  masked from the right       1305*  130**
    dates()                     calendar                    1965-09  1965-Q3  1965  1960-69
    tree({...})                 a taxonomy, or ARX's CSV    Europe
    equal_width(8, 4, 2)        from the data's range       [17-25]
    equal_frequency(8, 4, 2)    from the data's counts      [17-22]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import levels as lv
from shoal import taxonomy
from shoal.axis import Axis, Level
from shoal.bands import order_bands
from shoal.errors import HierarchyError
from shoal.labels import positions, text
from shoal.levels import Ends, Floats, Given

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
        """The axis of the column `name`, whose distinct values (without null) are given.

        `counts` say how often each value occurs, `bounds` which numbers may occur. Raises
        HierarchyError with the number of values that the hierarchy does not cover.

        >>> axis = intervals(5, 10).grow("age", "number", [21.0, 23.0, 28.0, 41.0])
        >>> axis.labels([0, 0, 0, 2], [1, 2, 3, 2]).tolist()
        ['[20-24]', '[20-29]', '*', '28']
        """
        return self._grow(Given(name, kind, values, counts, null, bounds))

    def to_toml(self) -> Any:
        """The hierarchy as a plain value for a schema; `from_toml` reads it back."""
        return self._plain()

    @abstractmethod
    def _grow(self, given: Given) -> Axis: ...

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

    def _grow(self, given: Given) -> Axis:
        counts = np.zeros(len(given.values), int) if given.counts is None else given.counts
        values = given.places().tolist() if given.kind == "number" else given.values
        pairs = zip(values, counts.tolist(), strict=True)
        leaves = tuple(v for v, _ in sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
        return Axis(given.name, given.kind, "flat", leaves, given.null)

    def _plain(self) -> Any:
        return "flat"


@dataclass(frozen=True)
class Ordered(Hierarchy):
    """Numbers, dates or categories with an order: any range may be published.

    Categories stand in the order of `values` where it is given; else in their own where they are
    bands, sizes or chapters (`shoal.bands`), or numbers; else in that of the alphabet.
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

    def _grow(self, given: Given) -> Axis:
        if given.kind in ("number", "date"):
            return _on_line(given, "ordered", *given.line(), ())
        return Axis(given.name, given.kind, "ordered", self._leaves(given), given.null)

    def _leaves(self, given: Given) -> tuple[str, ...]:
        present = sorted(given.values)
        if not self.values:
            return order_bands(present) or tuple(taxonomy.by_value(present))
        if missing := len(set(present) - set(self.values)):
            raise HierarchyError(
                f"Column {given.name!r} has {missing:,} values that its order does not name.",
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
        widths = [lv.exact(width) for width in self.widths]
        if any(b % a or b == a for a, b in pairwise(widths)):
            raise HierarchyError(
                "The widths of the intervals do not nest.",
                "Each width is a multiple of the one before: intervals(5, 10, 20)",
            )
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise HierarchyError("The bottom of the intervals is not below their top.", "top=80")

    def _grow(self, given: Given) -> Axis:
        places, span = given.line(("number",))
        low = -math.inf if self.bottom is None else self.bottom
        high = math.inf if self.top is None else self.top
        stated = [*self.widths, self.origin, *(x for x in (low, high) if math.isfinite(x))]
        whole = lv.is_whole(places) and lv.is_whole(stated)
        finest = lv.interval_index(places, self.widths[0], self.origin)
        levels = []
        for width in self.widths:
            step = int(lv.exact(width) / lv.exact(self.widths[0]))
            index = [i // step for i in finest]
            level = lv.interval_level(places, index, width, self.origin, (low, high), whole)
            levels.append(level)
        return _on_line(given, "tree", places, span, levels)

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

    def _grow(self, given: Given) -> Axis:
        leaves = tuple(sorted(given.values, key=text))  # so that a prefix is one range
        texts = [text(leaf) for leaf in leaves]
        lengths = self.lengths or range(1, max(map(len, texts), default=0))
        taken: dict[str, tuple[int, int]] = {}
        levels: list[Level] = []
        nodes = len(leaves)
        for length in sorted(set(lengths), reverse=True):
            level = lv.masked_level(texts, length, taken)
            # Where the codes decide, a length that joins nothing is no level, nor is one that is *.
            joins = len(level.starts) < nodes and (len(level.starts) > 1 or given.null)
            if self.lengths or joins:
                levels.append(level)
            nodes = len(level.starts)
        return Axis(given.name, given.kind, "tree", leaves, given.null, tuple(levels))

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

    def _grow(self, given: Given) -> Axis:
        places, span = given.line(("date",))
        levels = [lv.calendar_level(places, unit) for unit in self.levels if unit != "day"]
        return _on_line(given, "tree", places, span, levels)

    def _plain(self) -> Any:
        return "dates" if self.levels == DATE_LEVELS else {"dates": list(self.levels)}


@dataclass(frozen=True)
class Tree(Hierarchy):
    """A taxonomy as rows, leaf first and root last; `source` is the file it was read from, if any.

    Leaves that the data does not have stay in the domain. In a number or date column, a leaf
    that is no number or date is left out: no value could be equal to it.
    """

    rows: taxonomy.Rows
    source: str = ""

    def __post_init__(self) -> None:
        taxonomy.check(self.rows, range(1, len(self.rows) + 1))

    def _grow(self, given: Given) -> Axis:
        pairs = [(lv.leaf(row[0], given.kind), row) for row in taxonomy.in_order(self.rows)]
        pairs = [(leaf, row) for leaf, row in pairs if leaf is not None]
        leaves = tuple(leaf for leaf, _ in pairs)
        if len(set(leaves)) < len(leaves):
            raise HierarchyError(
                f"Column {given.name!r}: {len(leaves) - len(set(leaves))} leaves of its hierarchy "
                "are written in two ways.", "Keep one row for each number or date.",
            )  # fmt: skip
        columns = list(zip(*(row for _, row in pairs), strict=True))
        levels = tuple(lv.column_level(column) for column in columns[1:-1])
        places = _ascending(given, leaves)
        root = self.rows[0][-1]
        axis = Axis(given.name, given.kind, "tree", leaves, given.null, levels, places, root=root)
        given.refuse_uncovered(axis)
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

    def _grow(self, given: Given) -> Axis:
        places, span = given.line()
        finest = np.minimum(self._finest(given, places, span), self.bins[0] - 1)
        leaves = lv.to_values(given.kind, places)
        levels = [lv.binned_level(finest // (self.bins[0] // count), leaves) for count in self.bins]
        # One bin of all would print the smallest and the largest value that anybody has: it is *.
        several = [level for level in levels if len(level.starts) > 1 or given.null]
        return _on_line(given, "tree", places, span, several)

    @abstractmethod
    def _finest(self, given: Given, places: Floats, span: Ends) -> NDArray[np.int64]: ...


@dataclass(frozen=True)
class EqualWidth(_Binned):
    """Numbers or dates in equally wide parts of the data's range (or of the bounds)."""

    def _finest(self, given: Given, places: Floats, span: Ends) -> NDArray[np.int64]:
        range_ = span[1] - span[0] or 1.0
        return np.floor((places - span[0]) / range_ * self.bins[0]).astype(np.int64)

    def _plain(self) -> Any:
        return {"equal-width": list(self.bins)}


@dataclass(frozen=True)
class EqualFrequency(_Binned):
    """Numbers or dates in parts with about equally many rows."""

    def _finest(self, given: Given, places: Floats, span: Ends) -> NDArray[np.int64]:
        counts = np.ones(len(given.values), np.int64) if given.counts is None else given.counts
        at = np.searchsorted(places, given.places())
        rows = np.bincount(at, weights=counts, minlength=len(places)).astype(np.int64)
        middle = 2 * np.cumsum(rows) - rows  # twice the rank of a leaf's middle row, in integers
        return np.asarray(middle * self.bins[0] // max(2 * int(rows.sum()), 1), dtype=np.int64)

    def _plain(self) -> Any:
        return {"equal-frequency": list(self.bins)}


def flat() -> Flat:
    """Any set of values may be published: ``{A, B}``."""
    return Flat()


def ordered(*values: str) -> Ordered:
    """Any range may be published: ``[23-31]``; of categories in the order of the ``values``."""
    return Ordered(values)


def intervals(
    *widths: float, origin: float = 0, bottom: float | None = None, top: float | None = None
) -> Intervals:
    """Nested intervals of these widths; `bottom` and `top` open the ends: ``<20``, ``>=80``."""
    return Intervals(widths, origin, bottom, top)


def prefixes(*lengths: int) -> Prefixes:
    """Codes masked from the right to these lengths (every length when none is given)."""
    return Prefixes(lengths or None)


def dates(*levels: str) -> Dates:
    """Days, months, quarters, years and decades, or some of them."""
    return Dates(levels or DATE_LEVELS)


def tree(groups: Mapping[Any, Any] | Sequence[Sequence[Any]]) -> Tree:
    """A taxonomy from a nested mapping, or from rows with the leaf first and the root last.

    >>> tree({"Europe": ["Italy", "France"]}).rows
    (('Italy', 'Europe', '*'), ('France', 'Europe', '*'))
    """
    if isinstance(groups, Mapping):
        return Tree(taxonomy.from_mapping(groups))
    return Tree(tuple(tuple(text(cell) for cell in row) for row in groups))


def equal_width(*bins: int) -> EqualWidth:
    """Equally wide parts of the data's range, as many as `bins` says, from fine to coarse."""
    return EqualWidth(bins)


def equal_frequency(*bins: int) -> EqualFrequency:
    """Parts with about equally many rows, as many as `bins` says, from fine to coarse."""
    return EqualFrequency(bins)


def from_arx_csv(content: str, source: str = "") -> Tree:
    """The taxonomy of ARX's CSV text: ``leaf;group;...;*``, separated by ``;`` or ``,``."""
    return Tree(taxonomy.read_csv(content), source)


def to_arx_csv(axis: Axis) -> str:
    """The axis as ARX's CSV text, one row for each leaf but null."""
    return taxonomy.write_csv(axis)


def _on_line(given: Given, shape: str, places: Floats, span: Ends, levels: Sequence[Level]) -> Axis:
    leaves = lv.to_values(given.kind, places)
    return Axis(given.name, given.kind, shape, leaves, given.null, tuple(levels), places, span)


def _ascending(given: Given, leaves: Sequence[Any]) -> Floats | None:
    """The leaves' positions when the tree keeps them in order; only then is a node an interval."""
    if given.kind not in ("number", "date") or not leaves:
        return None
    places = positions(leaves, given.kind)
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
