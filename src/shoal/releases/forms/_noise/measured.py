"""A table counted by bins: one group-by in the engine, and every marginal from that.

The counts are exact, and stay with the publisher; nothing of them is published without noise. A
form (`NoiseForm`) draws that noise and makes of the counts what is published (`NoiseDraft`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import InputError, join_errors
from shoal.core.labels import to_positions
from shoal.dp.bins import Bins
from shoal.engines.protocol import CodeCounts, Coding, Distinct, Frame
from shoal.releases.forms._noise.accounted_spend import Step
from shoal.releases.forms._noise.plan import Columns, MarginalPlan

Tables = dict[Columns, NDArray[np.int64]]
"""Counts by marginal, each an array with one axis for each of its columns."""


class ExactCounts(Protocol):
    """True counts, of which a form of release makes noisy ones."""

    @property
    def plan(self) -> MarginalPlan:
        """The columns and their bins."""

    def marginal(self, columns: Columns) -> NDArray[np.int64]:
        """The counts of a marginal."""

    def tables(self, marginals: Iterable[Columns]) -> Tables:
        """The counts of several marginals."""


@dataclass(frozen=True)
class MeasuredTable:
    """How many people are in each combination of bins that anybody is in."""

    plan: MarginalPlan
    code_counts: CodeCounts
    beyond_bounds: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each column lie beyond its bounds, and count as the nearest bound."""
    columns: Columns | None = None
    """The columns that were looked at; None: all of them. Nothing is known of others."""

    @classmethod
    def of(
        cls, frame: Frame, plan: MarginalPlan, marginals: Iterable[Columns] | None = None
    ) -> MeasuredTable:
        """Count a table by the columns of these marginals, else by all.

        What lies outside the schema's domains is an error, told of all these columns at once.
        """
        looked = (
            tuple(range(len(plan.bins))) if marginals is None else list_columns_in_any(marginals)
        )
        some = [plan.bins[column] for column in looked]
        distinct = frame.values([bins.name for bins in some])
        if not any(values.nulls + values.counts.sum() for values in distinct.values()):
            raise InputError("The table has no rows.", "check that the file is the right one.")
        counted = frame.tally(code_bins(some, distinct))
        codes = [np.zeros(len(counted.count), np.int32)] * len(plan.bins)
        for column, own in zip(looked, counted.codes, strict=True):
            codes[column] = own
        beyond_bounds = {
            bins.name: rows
            for bins in some
            if (rows := count_beyond_bounds(bins, distinct[bins.name]))
        }
        return cls(plan, CodeCounts(tuple(codes), counted.count), beyond_bounds, looked)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were looked at."""
        looked = range(len(self.plan.bins)) if self.columns is None else self.columns
        return tuple(self.plan.names[column] for column in looked)

    @property
    def rows(self) -> int:
        """How many people there are, exactly: never published."""
        return int(self.code_counts.count.sum())

    def marginal(self, columns: Columns) -> NDArray[np.int64]:
        """The counts of a marginal."""
        codes = [self.code_counts.codes[column] for column in columns]
        return tabulate_codes(codes, self.plan.shape(columns), self.code_counts.count)

    def tables(self, marginals: Iterable[Columns]) -> Tables:
        """The counts of several marginals."""
        return {columns: self.marginal(columns) for columns in marginals}


def tabulate_codes(
    codes: list[NDArray[np.int32]], shape: tuple[int, ...], count: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """How many rows have each combination of codes; ``count`` of each, else one.

    >>> tabulate_codes([np.array([0, 1, 1]), np.array([2, 0, 0])], (2, 3)).tolist()
    [[0, 0, 1], [2, 0, 0]]
    """
    place = np.zeros(len(codes[0]), np.int64)
    for size, column in zip(shape, codes, strict=True):
        place = place * size + column
    cells = int(np.prod(shape, dtype=np.int64))
    return np.bincount(place, weights=count, minlength=cells).astype(np.int64).reshape(shape)


def list_columns_in_any(marginals: Iterable[Columns]) -> Columns:
    """The columns that any of these marginals has, in their order."""
    return tuple(sorted({column for marginal in marginals for column in marginal}))


def code_bins(bins: Sequence[Bins], distinct: Mapping[str, Distinct]) -> list[Coding]:
    """The bin of every value; what has none is an error, told of all columns at once."""
    done: list[Coding] = []
    amiss: list[InputError] = []
    for column_bins in bins:
        try:
            done.append(_coding(column_bins, distinct[column_bins.name]))
        except InputError as error:
            amiss.append(error)
    if amiss:
        raise join_errors(amiss)
    return done


def _coding(bins: Bins, distinct: Distinct) -> Coding:
    values, rows = list(distinct.values), np.asarray(distinct.counts, np.int64)
    if distinct.nulls:
        values, rows = [*values, None], np.append(rows, distinct.nulls)
    codes = bins.codes(values, rows)
    null = int(codes[-1]) if distinct.nulls else None
    return Coding(bins.name, distinct.values, codes[: len(distinct.values)], null, bins.size)


def count_beyond_bounds(bins: Bins, distinct: Distinct) -> int:
    """How many rows lie beyond a column's bounds."""
    if bins.bounds is None:
        return 0
    places, (low, high) = to_positions(distinct.values, bins.kind), bins.bounds
    return int(np.asarray(distinct.counts)[(places < low) | (places > high)].sum())


@dataclass(frozen=True)
class NoiseDraft:
    """A table to be published, the marginals that were measured for it, and what it estimates."""

    table: pa.Table
    marginals: tuple[Columns, ...]
    estimates: Mapping[Columns, NDArray[np.float64]]


class NoiseForm(Protocol):
    """A form of release that noise makes: all that is known of it before the rows are read."""

    @property
    def plan(self) -> MarginalPlan:
        """The columns that are counted, and their bins."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every look at the rows."""

    @property
    def marginals(self) -> tuple[Columns, ...]:
        """The marginals that will be measured, as far as that does not depend on the rows."""

    def draft(self, measured: ExactCounts, rng: np.random.Generator | None) -> NoiseDraft:
        """The noise, drawn; ``rng`` is a test's or a study's, else the operating system's."""

    def expected_noise(self) -> dict[str, Any]:
        """How large the noise will be."""
