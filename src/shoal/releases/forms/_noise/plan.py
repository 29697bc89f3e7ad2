"""What is to be counted, said before anybody looks at the rows: columns, bins and marginals.

A marginal is the table of counts over some columns together: one cell for every combination of
their bins, whether anybody is in it or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from shoal.core.column import PUBLISHED_ROLES, Field
from shoal.core.errors import UsageError
from shoal.core.schema import Schema
from shoal.dp.bins import Bins, build_all_bins, infer_column_kind
from shoal.releases.forms._noise.options import Marginals, write_marginal, write_marginal_option

MAX_CELLS = 2_000_000
"""Cells of all marginals together: beyond, nearly all of them would hold noise alone."""
COLUMN_SEPARATOR = " × "
"""What stands between the columns of a marginal in its name."""

Columns = tuple[int, ...]
"""The columns of a marginal, by their places."""


def settle_kinds(schema: Schema) -> Schema:
    """The schema with a kind for every column that is published; refuses what it leaves open.

    How the rows would be read without a kind depends on the rows, which the bins may not.
    """
    build_all_bins(schema)
    columns = (
        replace(c, kind=infer_column_kind(c)) if c.role in PUBLISHED_ROLES else c
        for c in schema.columns
    )
    return replace(schema, columns=tuple(columns))


@dataclass(frozen=True)
class MarginalPlan:
    """The columns that are counted, with their bins; all sizes follow from the schema."""

    schema: Schema
    bins: tuple[Bins, ...]

    @classmethod
    def of(cls, schema: Schema, fields: Sequence[Field]) -> MarginalPlan:
        """The plan for a table with these columns."""
        fitted = schema.fit(fields)
        return cls(fitted, build_all_bins(fitted))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(bins.name for bins in self.bins)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each column has."""
        return tuple(bins.size for bins in self.bins)

    def shape(self, marginal: Columns) -> tuple[int, ...]:
        """The sizes of a marginal's columns."""
        return tuple(self.sizes[column] for column in marginal)

    def cells(self, marginals: Iterable[Columns]) -> int:
        """How many cells marginals have together."""
        return sum(math.prod(self.shape(marginal)) for marginal in marginals)

    def name(self, marginal: Columns) -> str:
        """A marginal's name."""
        return COLUMN_SEPARATOR.join(self.names[column] for column in marginal)

    def list_names(self, marginals: Iterable[Columns]) -> list[list[str]]:
        """Marginals by the names of their columns, as a manifest has them."""
        return [[self.names[column] for column in marginal] for marginal in marginals]

    def marginals(self, wanted: Marginals) -> tuple[Columns, ...]:
        """The marginals that are asked for: all of so many columns, or those that are named."""
        if isinstance(wanted, int):
            together = min(wanted, len(self.bins))
            return tuple(combinations(range(len(self.bins)), together))
        marginals = tuple(dict.fromkeys(self._find_columns(names) for names in wanted or ()))
        if not marginals:
            raise UsageError("No marginal is named.", "write --marginals 2, or --marginal age,sex.")
        return marginals

    def _find_columns(self, names: Sequence[str]) -> Columns:
        """A marginal's columns by their places; in the table's order, so that none is twice."""
        if unknown := [name for name in names if name not in self.names]:
            raise UsageError(
                f"A marginal names columns that are not counted: {write_marginal(unknown)}.",
                f"the quasi-identifiers and sensitive columns are: {write_marginal(self.names)}.",
            )
        if not names or len(set(names)) < len(names):
            raise UsageError(
                "A marginal has each of its columns once, and at least one.",
                "write for example --marginal age,sex.",
            )
        return tuple(sorted(self.names.index(name) for name in names))

    def check_size(self, marginals: Sequence[Columns]) -> None:
        """Refuse more cells than anybody could read, naming the marginals that are too large."""
        if self.cells(marginals) <= MAX_CELLS:
            return
        largest = sorted(marginals, key=lambda marginal: self.cells([marginal]), reverse=True)[:3]
        listing = ", ".join(
            f"{self.name(marginal)} ({self.cells([marginal]):,} cells)" for marginal in largest
        )
        raise UsageError(
            f"The marginals have {self.cells(marginals):,} cells, and at most {MAX_CELLS:,} are "
            f"counted. The largest: {listing}.",
            f"name fewer ({write_marginal_option(self.names[:2])}), count fewer columns together "
            "(--marginals 1), or give wide columns coarser intervals in the schema.",
        )
