"""From a frame to a tally: grow each column's axis from its values, then one group-by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.column import DEFAULTS, Column
from shoal.errors import InputError, SchemaError
from shoal.frames.frame import Codes, Coding, Distinct, Frame
from shoal.schema import Schema
from shoal.tally import Population, Tally


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
    also: Mapping[str, Iterable[Any]] | None = None,
) -> Encoded:
    """Tally a frame by the schema's quasi-identifiers, sensitive columns and provider.

    A population is tallied on the same axes, which then grow from the values of both. ``also``
    are further values by column (None: null) that the axes shall know.
    """
    columns = [*schema.quasi, *schema.sensitive]
    if schema.provider:
        columns.append(schema.provider)
    found = dict(frame.values([column.name for column in columns]))
    if not any(distinct.nulls + distinct.counts.sum() for distinct in found.values()):
        raise InputError("The table has no rows.", "check that the file is the right one.")
    others = _others(population, schema)
    more = {name: list(values) for name, values in (also or {}).items()}
    for name, other in others.items():
        more[name] = [*more.get(name, ()), *other.values, *([None] if other.nulls else [])]
    axes = [_grow(column, found[column.name], more.get(column.name, ())) for column in columns]
    codings = tuple(_coding(axis, found[axis.name]) for axis in axes)
    counted = frame.tally(codings)
    tally = _tally(schema, axes, counted.codes, counted.count)
    if population is not None:
        tally = replace(tally, population=_population(population, tally, others))
    return Encoded(tally, codings)


def _tally(
    schema: Schema, axes: Sequence[Axis], codes: Sequence[Codes], count: NDArray[np.int64]
) -> Tally:
    q, s = len(schema.quasi), len(schema.sensitive)
    entries = len(count)
    return Tally(
        tuple(axes[:q]),
        tuple(axes[q : q + s]),
        stacked(codes[:q], entries),
        stacked(codes[q : q + s], entries, np.int32),
        count,
        axes[q + s] if schema.provider else None,
        codes[q + s].astype(np.int32) if schema.provider else None,
        weights=tuple(column.weight for column in schema.quasi),
    )


def stacked(codes: Sequence[Codes], entries: int, dtype: Any = None) -> NDArray[Any]:
    """Columns of codes as one array (columns, entries) of the smallest type that holds them."""
    dtype = dtype or np.result_type(*codes, np.uint8) if codes else np.uint8
    out = np.empty((len(codes), entries), dtype=dtype)
    for row, column in zip(out, codes, strict=True):
        row[:] = column
    return out


def _others(population: Frame | None, schema: Schema) -> dict[str, Distinct]:
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


def _grow(column: Column, own: Distinct, more: Iterable[Any]) -> Axis:
    """The axis of a column, from its values in the table and more values that count nobody."""
    counts: dict[Any, int] = dict(zip(own.values, own.counts.tolist(), strict=True))
    null = own.nulls > 0
    for value in more:
        null = null or value is None
        if value is not None:
            counts.setdefault(value, 0)
    if column.domain is not None:
        _inside(column, counts)
        for value in column.domain:
            counts.setdefault(value, 0)
    values = list(counts)
    hierarchy = column.hierarchy or DEFAULTS[column.kind]
    return hierarchy.grow(
        column.name,
        column.kind,
        values,
        np.array([counts[v] for v in values], np.int64),
        null,
        column.bounds,
    )


def _inside(column: Column, counts: Mapping[Any, int]) -> None:
    known = set(column.domain or ())
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


def _population(frame: Frame, tally: Tally, others: Mapping[str, Distinct]) -> Population:
    counted = frame.tally([_coding(axis, others[axis.name]) for axis in tally.quasi])
    return Population(stacked(counted.codes, len(counted.count)), counted.count)
