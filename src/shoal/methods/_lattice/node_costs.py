"""What a node of the lattice costs by each measure, and the least it can cost before it is made.

Every measure is a *bound*, what the node would cost if no row were suppressed, and an *extra* for
the rows that are. The bound grows from a node to the coarser ones. The extra grows to the finer
ones where a rule only ever loses rows that way (``row_monotone`` rules), because a suppressed row
cannot be saved by smaller classes. Both are what a search prunes with.

``loss``                 mean width of the cells; a row suppressed: 1 in every column
``precision``            mean level ÷ top (Sweeney 2002); a row suppressed: 1
``height``               sum of the levels; rows suppressed cost nothing
``non-uniform-entropy``  bits lost, as ARX counts them: -log₂ (rows of the value ÷ rows of the
                         node) for all rows, and for those suppressed from the node up to ``*``
                         among themselves
``discernibility``       Σ |class|², and for a row suppressed all rows
``average-class``        rows ÷ classes; all the rows suppressed are one class more

The columns' weights multiply their part where a measure has parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.kernels import rollup
from shoal.methods._lattice.ladder import Rung
from shoal.methods._lattice.lattice import sum_over_rungs
from shoal.methods._lattice.rolled_tables import RolledTable, RolledTables

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Cost(ABC):
    """A measure over the nodes of one lattice."""

    bounds_known: ClassVar[bool] = True
    """The bounds of all nodes are known beforehand."""
    extra_grows: ClassVar[bool] = True
    """What a finer node costs besides is no less, where it suppresses the same rows."""

    def __init__(self, tables: RolledTables) -> None:
        self.tables, self.tally = tables, tables.tally
        self.rows = max(tables.tally.rows, 1)
        self.weights = tables.tally.importance
        self.shape = tuple(map(len, tables.ladders))
        self.values = [
            np.bincount(codes, tables.tally.count, axis.size)
            for codes, axis in zip(tables.tally.keys, tables.tally.quasi, strict=True)
        ]

    def frequencies(self, column: int, rung: Rung) -> Floats:
        """Rows of each node of a rung."""
        return np.bincount(rung.node, self.values[column], len(rung)).astype(np.float64)

    def bounds(self) -> Floats:
        """The least each node can cost, as far as that is known before any is made."""
        ladders = enumerate(self.tables.ladders)
        return sum_over_rungs(
            np.array([self.bound_column(j, rung) for rung in rungs]) for j, rungs in ladders
        )

    def bound_column(self, column: int, rung: Rung) -> float:
        """The part of a column's rung in the bound."""
        return 0.0

    def bound(self, table: RolledTable) -> float:
        """What the node costs if no row is suppressed: the least that it and coarser ones cost."""
        parts = zip(range(len(self.shape)), self.tables.rungs(table.node), strict=True)
        return float(sum(self.bound_column(j, rung) for j, rung in parts))

    @abstractmethod
    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """What the classes that are suppressed cost besides."""


class _PricedByCell(Cost):
    """Every row costs what its cells do, up to the column's weight, which one suppressed costs."""

    def __init__(self, tables: RolledTables) -> None:
        super().__init__(tables)
        self.share = self.weights / (self.rows * max(float(self.weights.sum()), 1e-300))
        self._prices: dict[tuple[int, int], Floats] = {}

    @abstractmethod
    def price(self, column: int, rung: Rung) -> Floats:
        """How much of the column each node of the rung loses, 0 … 1."""

    def prices(self, column: int, rung: Rung) -> Floats:
        key = column, rung.number
        if key not in self._prices:
            self._prices[key] = self.share[column] * self.price(column, rung)
        return self._prices[key]

    def bound_column(self, column: int, rung: Rung) -> float:
        return float(self.prices(column, rung) @ self.frequencies(column, rung))

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """The full price of the rows suppressed, instead of what their cells cost."""
        rungs = enumerate(self.tables.rungs(table.node))
        prices = [self.share[j] - self.prices(j, rung) for j, rung in rungs]
        at = np.cumsum([0, *map(len, prices)])[:-1]
        fields = self.tables.packing.fields
        flat = np.concatenate(prices)
        return float(rollup.sum_prices(table.key, table.rows, suppressed, *fields, flat, at))


class Loss(_PricedByCell):
    """The mean width of the cells."""

    def price(self, column: int, rung: Rung) -> Floats:
        """The width of each node; sets of a flat column as sets."""
        axis = self.tally.quasi[column]
        if axis.shape == "flat":
            return axis.set_width(rung.high - rung.low + 1)
        shown = axis.level_to_print(rung.number, rung.low, rung.high)
        return axis.width(rung.low, rung.high, shown)


class Precision(_PricedByCell):
    """The mean level of the cells, each as a share of its ladder."""

    def price(self, column: int, rung: Rung) -> Floats:
        """The level ÷ the top."""
        return np.full(len(rung), rung.number / max(self.tally.quasi[column].height, 1))


class Height(Cost):
    """The sum of the levels."""

    def bound_column(self, column: int, rung: Rung) -> float:
        """The level."""
        return float(self.weights[column] * rung.number)

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """Nothing."""
        return 0.0


class NonUniformEntropy(Cost):
    """The bits it takes to guess the values back from their cells."""

    def bound_column(self, column: int, rung: Rung) -> float:
        """Σ over nodes n log₂ n, less the same over values."""
        bits = _sum_bits(self.frequencies(column, rung)) - _sum_bits(self.values[column])
        return float(self.weights[column] * bits)

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """From the node up to ``*``, among the rows suppressed."""
        size = max(len(rungs[0]) for rungs in self.tables.ladders)
        fields = self.tables.packing.fields
        bits = rollup.sum_entropy(table.key, table.rows, suppressed, *fields, size, self.weights)
        return float(bits)


class Discernibility(Cost):
    """How many rows each row cannot be told from."""

    bounds_known = False

    def bound(self, table: RolledTable) -> float:
        """Σ rows²."""
        return float(np.square(table.rows.astype(np.float64)).sum())

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """All rows for each, instead of those of its class."""
        lost = table.rows[suppressed].astype(np.float64)
        return float((lost * (self.rows - lost)).sum())


class AverageClass(Cost):
    """How many rows a class has on average."""

    bounds_known = False
    extra_grows = False

    def bound(self, table: RolledTable) -> float:
        """Rows ÷ classes."""
        return self.rows / max(len(table), 1)

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """The classes that are suppressed become one."""
        lost = int(suppressed.sum())
        return self.rows / (len(table) - lost + 1) - self.bound(table) if lost else 0.0


class SuppressedRows(Cost):
    """How many rows are suppressed: what is looked for where no node passes. Coarse nodes first."""

    def bounds(self) -> Floats:
        """Nothing; a little more for finer nodes, which rarely lose fewer."""
        height = super().bounds()
        return np.asarray((height.max(initial=0.0) - height) * 1e-6)

    def bound_column(self, column: int, rung: Rung) -> float:
        """The place on the ladder."""
        return rung.number / max(sum(self.shape), 1)

    def bound(self, table: RolledTable) -> float:
        """Nothing."""
        return 0.0

    def extra(self, table: RolledTable, suppressed: Mask) -> float:
        """The rows."""
        return float(table.rows[suppressed].sum())


MEASURES: dict[str, type[Cost]] = {
    "average-class": AverageClass,
    "discernibility": Discernibility,
    "height": Height,
    "loss": Loss,
    "non-uniform-entropy": NonUniformEntropy,
    "precision": Precision,
}
"""What full-domain methods can minimise."""


def create_cost(measure: str, tables: RolledTables) -> Cost:
    """A measure over a lattice, by its name."""
    if measure not in MEASURES:
        raise UsageError(
            f"There is no measure {measure!r} to be minimised.",
            f"the measures are: {', '.join(MEASURES)}.",
        )
    return MEASURES[measure](tables)


def _sum_bits(rows: NDArray[Any]) -> float:
    """Σ n log₂ n."""
    occurring = rows[rows > 0]
    return float(occurring @ np.log2(occurring))
