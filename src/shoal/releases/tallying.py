"""From a frame to a tally: grow each column's axis from its values, then one group-by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.column import DEFAULT_HIERARCHIES, Column
from shoal.core.errors import InputError, SchemaError, join_errors
from shoal.core.schema import Schema
from shoal.core.tally import Population, Tally
from shoal.engines.protocol import Codes, Coding, Distinct, Frame


@dataclass(frozen=True)
class Encoded:
    """A tally, and the codings that lead from the frame's values to its codes."""

    tally: Tally
    codings: tuple[Coding, ...]

    def codes(self) -> tuple[Codes, ...]:
        """The entries' codes in the order of the codings."""
        tally = self.tally
        provider = () if tally.providers is None else (tally.providers,)
        return (*tally.keys, *tally.values, *provider)


def encode(
    frame: Frame,
    schema: Schema,
    population: Frame | None = None,
    more_values: Mapping[str, Iterable[Any]] | None = None,
) -> Encoded:
    """Tally a frame by the schema's quasi-identifiers, sensitive columns and provider.

    A population is tallied on the same axes, which then grow from the values of both; so they do
    from ``more_values`` by column (None: null).
    """
    plan = survey(frame, schema, population, more_values)
    return plan.encode(frame)


def survey(
    frame: Frame,
    schema: Schema,
    population: Frame | None = None,
    more_values: Mapping[str, Iterable[Any]] | None = None,
    distinct: Mapping[str, Distinct] | None = None,
) -> Survey:
    """Look at every value once and grow the axes; the table itself is not tallied yet.

    ``distinct``: the values by column, where they were looked at already.
    """
    columns = list_tallied_columns(schema)
    distinct = distinct or dict(frame.values([column.name for column in columns]))
    if not any(values.nulls + values.counts.sum() for values in distinct.values()):
        raise InputError("The table has no rows.", "check that the file is the right one.")
    others = _read_population_values(population, schema)
    more = {name: list(values) for name, values in (more_values or {}).items()}
    for name, other in others.items():
        more[name] = [*more.get(name, ()), *other.values, *([None] if other.nulls else [])]
    axes = _grow_axes(columns, distinct, more)
    codings = tuple(_coding(axis, distinct[axis.name]) for axis in axes)
    people = None
    if population is not None:
        quasi = [_coding(axis, others[axis.name]) for axis in axes[: len(schema.quasi)]]
        tallied = population.tally(quasi)
        people = Population(stack_codes(tallied.codes, len(tallied.count)), tallied.count)
    return Survey(schema, tuple(axes), codings, distinct, people)


def list_tallied_columns(schema: Schema) -> list[Column]:
    """The columns that a table is tallied by, in the order of the codings."""
    return [*schema.quasi, *schema.sensitive, *([schema.provider] if schema.provider else [])]


@dataclass(frozen=True)
class Survey:
    """The axes of a table, grown from all its values, and the codings onto them."""

    schema: Schema
    axes: tuple[Axis, ...]
    codings: tuple[Coding, ...]
    distinct: Mapping[str, Distinct]
    population: Population | None

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        distinct = self.distinct[self.axes[0].name]
        return int(distinct.counts.sum()) + distinct.nulls

    def encode(self, frame: Frame) -> Encoded:
        """Tally the frame: one group-by in the engine."""
        counted = frame.tally(self.codings)
        tally = _build_tally(self.schema, self.axes, counted.codes, counted.count)
        return Encoded(replace(tally, population=self.population), self.codings)

    def encode_part(self, frame: Frame) -> Encoded:
        """Tally a part of the table; the whole table stays the reference of its values."""
        encoded = self.encode(frame)
        sensitive = self.codings[len(self.schema.quasi) :][: len(self.schema.sensitive)]
        reference = tuple(
            _count_codes(coding, self.distinct[coding.column]) for coding in sensitive
        )
        return replace(encoded, tally=replace(encoded.tally, reference=reference))

    def parts(self, frame: Frame, max_rows: int) -> list[Frame]:
        """The table in parts of about ``max_rows`` rows: ranges of one quasi-identifier's codes.

        The column with most codes is the one cut. Whoever shares all quasi-identifiers shares
        this one, so a class that lies in one part lies there whole.
        """
        number = -(-self.rows // max_rows)
        if number < 2:
            return [frame]
        coding = max(self.codings[: len(self.schema.quasi)], key=lambda candidate: candidate.size)
        here = self.distinct[coding.column]
        order = np.argsort(coding.codes)
        lot = np.cumsum(here.counts[order]) * number // (self.rows + 1)
        lots = [order[lot == i] for i in range(number)]
        last = max(i for i, picked in enumerate(lots) if len(picked))
        return [
            frame.only(
                coding.column, [here.values[j] for j in picked], i == last and here.nulls > 0
            )
            for i, picked in enumerate(lots)
            if len(picked)
        ]


def _count_codes(coding: Coding, distinct: Distinct) -> NDArray[np.int64]:
    totals = np.bincount(coding.codes, weights=distinct.counts, minlength=coding.size)
    if coding.null_code is not None:
        totals[coding.null_code] += distinct.nulls
    return totals.astype(np.int64)


def _build_tally(
    schema: Schema, axes: Sequence[Axis], codes: Sequence[Codes], count: NDArray[np.int64]
) -> Tally:
    q, s = len(schema.quasi), len(schema.sensitive)
    entries = len(count)
    return Tally(
        tuple(axes[:q]),
        tuple(axes[q : q + s]),
        stack_codes(codes[:q], entries),
        stack_codes(codes[q : q + s], entries, np.int32),
        count,
        axes[q + s] if schema.provider else None,
        codes[q + s].astype(np.int32) if schema.provider else None,
        weights=tuple(column.weight for column in schema.quasi),
    )


def stack_codes(codes: Sequence[Codes], entries: int, dtype: Any = None) -> NDArray[Any]:
    """Columns of codes as one array (columns, entries) of the smallest type that holds them."""
    dtype = dtype or np.result_type(*codes, np.uint8) if codes else np.uint8
    out = np.empty((len(codes), entries), dtype=dtype)
    for row, column in zip(out, codes, strict=True):
        row[:] = column
    return out


def _read_population_values(population: Frame | None, schema: Schema) -> dict[str, Distinct]:
    if population is None:
        return {}
    names = [column.name for column in schema.quasi]
    missing = sorted(set(names) - {field.name for field in population.fields})
    if missing:
        raise SchemaError(
            f"The population lacks {len(missing)} quasi-identifiers: {', '.join(missing)}.",
            "give a population table with the same quasi-identifiers.",
        )
    return dict(population.values(names))


def _grow_axes(
    columns: Sequence[Column],
    distinct: Mapping[str, Distinct],
    more_values: Mapping[str, Iterable[Any]],
) -> list[Axis]:
    """The axes of the columns; what is amiss with any of them is told at once."""
    axes: list[Axis] = []
    amiss: list[InputError] = []
    for column in columns:
        try:
            axes.append(_grow_axis(column, distinct[column.name], more_values.get(column.name, ())))
        except InputError as error:
            amiss.append(error)
    if amiss:
        raise join_errors(amiss)
    return axes


def _grow_axis(column: Column, own: Distinct, more_values: Iterable[Any]) -> Axis:
    """The axis of a column, from its values in the table and more values that count nobody."""
    counts: dict[Any, int] = dict(zip(own.values, own.counts.tolist(), strict=True))
    null = own.nulls > 0 or column.may_be_empty
    for value in more_values:
        null = null or value is None
        if value is not None:
            counts.setdefault(value, 0)
    if column.listed_values is not None:
        _check_domain(column, counts)
        for value in column.listed_values:
            counts.setdefault(value, 0)
    values = list(counts)
    hierarchy = column.hierarchy or DEFAULT_HIERARCHIES[column.kind]
    axis = hierarchy.grow(
        column.name,
        column.kind,
        values,
        np.array([counts[v] for v in values], np.int64),
        null,
        column.bounds,
    )
    return replace(axis, unknown=True) if null and column.blanks_are_unknown else axis


def _check_domain(column: Column, counts: Mapping[Any, int]) -> None:
    known = set(column.listed_values or ())
    outside = [count for value, count in counts.items() if value not in known]
    if outside:
        raise SchemaError(
            f"Column {column.name!r} has {len(outside)} values outside its declared domain, in "
            f"{sum(outside):,} rows.",
            "correct the data, or widen the domain in the schema.",
        )


def _coding(axis: Axis, distinct: Distinct) -> Coding:
    codes = axis.codes(distinct.values).astype(np.int32)
    null = axis.size - 1 if axis.null else None
    return Coding(axis.name, distinct.values, codes, null, axis.size)
