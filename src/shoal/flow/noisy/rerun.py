"""A release's own path, run again on counts with one person and without, many times at once.

What is run is what publishes: the form as the manifest states it draws from true counts
(`Counts.drawn`, `Synthetic.counted`), with all of its steps, the choice of pairs among them. Only
the domain is smaller, for time: of each column the person's bin is kept, and the others are put
together into two, of which as many are taken as is affordable. Runs are a column of their own, the
last one, so that one call draws for many of them.

Not run is what fits a model to noisy counts and draws people from it, for it is given nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.flow.noisy.accounted import CHOICE, SENSITIVITY, Step, read_steps
from shoal.flow.noisy.counts import COUNT, Counts
from shoal.flow.noisy.measured import Measured, Tables, tabulated
from shoal.flow.noisy.planned import Columns, Plan
from shoal.flow.noisy.synthetic import Chosen, Synthetic
from shoal.flow.record import in_counts
from shoal.noise.auditing import Mechanism
from shoal.noise.bins import Bins
from shoal.noise.choice import spent_choosing
from shoal.noise.mechanism import Noise, deviation
from shoal.spend import Spend

KEPT = 3
"""Bins of each column: the person's, and two for all others."""
CELLS = 60
"""So many cells are drawn for in one run, where fewer bins allow it."""
DRAWS, LONE = 50_000, 50
"""So many draws, and so many runs one by one, between two words about progress."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Again:
    """A mechanism to be run again, and what it is run on: two neighbouring tables."""

    mechanism: Mechanism
    before: Ints
    after: Ints
    at_once: int


@dataclass(frozen=True)
class Tabled:
    """True counts that are at hand by marginal."""

    plan: Plan
    known: Tables

    def marginal(self, columns: Columns) -> Ints:
        """The counts of a marginal."""
        return self.known[columns]

    def tables(self, marginals: Iterable[Columns]) -> Tables:
        """The counts of several marginals."""
        return {one: self.known[one] for one in marginals}


def counted_again(manifest: Mapping[str, Any], measured: Measured) -> Again:
    """The path of a release of counts or made-up people, for the person who is most alone."""
    plan = measured.plan
    named = plan.marginals(tuple(tuple(one) for one in manifest["marginals"]))
    steps = read_steps(manifest)
    chosen = any(step.mechanism == CHOICE for step in steps)
    person = most_alone(measured, named)
    alone = tuple((column,) for column in range(len(plan.bins)))
    # what may be chosen is looked at, and drawn for only where it is chosen
    looked = (*alone, *combinations(range(len(plan.bins)), 2)) if chosen else named
    kept = next(k for k in range(KEPT, 0, -1) if k == 1 or _cells(plan, named, k) <= CELLS)
    small = Plan(plan.schema, tuple(_few(one, kept) for one in plan.bins))
    after = {one: _around(measured, one, person, small.shape(one)) for one in looked}
    layout = _Layout(small, {one: table.shape for one, table in after.items()})
    form = _form(manifest, small, alone if chosen else named, steps)
    run = _one_by_one(form, layout) if chosen else _together(form, layout)
    with_them = layout.flat(after)[0]
    own = layout.flat({one: _first(table.shape) for one, table in after.items()})[0]
    at_once = LONE if chosen else max(2, DRAWS // len(with_them))
    return Again(run, with_them - own, with_them, at_once)


def most_alone(measured: Measured, marginals: Sequence[Columns]) -> list[int]:
    """The bins of the person with the smallest counts around them."""
    codes = measured.counted.codes
    around = [
        np.log(measured.marginal(one)[tuple(codes[column] for column in one)]) for one in marginals
    ]
    entry = int(np.sum(around, axis=0).argmin())
    return [int(column[entry]) for column in codes]


def _cells(plan: Plan, marginals: Sequence[Columns], kept: int) -> int:
    return sum(int(np.prod(np.minimum(plan.shape(one), kept))) for one in marginals)


def _few(bins: Bins, kept: int) -> Bins:
    return Bins(bins.name, "category", tuple(map(str, range(min(kept, bins.size)))))


def _around(
    measured: Measured, marginal: Columns, person: Sequence[int], shape: tuple[int, ...]
) -> Ints:
    """The counts of a marginal near a person, who is in its first cell."""
    near = [_near(measured.counted.codes[column], person[column]) for column in marginal]
    whole = tuple(min(KEPT, size) for size in measured.plan.shape(marginal))
    table = tabulated(near, whole, measured.counted.count)
    return table[tuple(slice(size) for size in shape)]


def _near(codes: NDArray[np.int32], own: int) -> NDArray[np.int32]:
    """A column with the person's bin first, and all others put together into two.

    >>> _near(np.array([4, 0, 1, 2, 3], np.int32), 1).tolist()
    [2, 1, 0, 2, 1]
    """
    place = codes - (codes > own)  # among the others
    return np.where(codes == own, 0, 1 + place % (KEPT - 1)).astype(np.int32)


def _first(shape: tuple[int, ...]) -> Ints:
    """One person, in the first cell."""
    one = np.zeros(shape, np.int64)
    one.flat[0] = 1
    return one


def _form(
    manifest: Mapping[str, Any], plan: Plan, marginals: tuple[Columns, ...], steps: Sequence[Step]
) -> Counts | Synthetic:
    """The form that publishes so, with the noise that the manifest states."""
    spend = Spend.from_json(manifest["spend"])
    noise = [
        Noise(s.mechanism, s.scale, s.times, spend, deviation(s.mechanism, s.scale))
        for s in steps
        if s.mechanism != CHOICE
    ]
    choices = [spent_choosing(s.scale, SENSITIVITY) for s in steps if s.mechanism == CHOICE]
    if (len(noise), len(choices)) not in ((1, 0), (2, 1)):
        raise InputError(
            "The manifest tells of steps that no release of noise is made by.",
            "take it as it was published, or publish the release again.",
        )
    if in_counts(manifest):
        return Counts(plan, marginals, noise[0])
    chosen = Chosen(noise[0], choices[0], noise[1]) if choices else None
    return Synthetic(plan, marginals, noise[0], chosen)


@dataclass(frozen=True)
class _Layout:
    """Where the cells of each marginal stand in a row of all cells."""

    plan: Plan
    shapes: Mapping[Columns, tuple[int, ...]]

    def flat(self, tables: Mapping[Columns, NDArray[Any]]) -> NDArray[Any]:
        """Rows of all cells, of tables whose first axis may be runs; NaN for what is not there."""
        parts = []
        for one, shape in self.shapes.items():
            size = int(np.prod(shape))
            there = tables[one].reshape(-1, size) if one in tables else np.full((1, size), np.nan)
            parts.append(there)
        return np.hstack(parts)

    def tables(self, rows: Ints) -> Tables:
        """The tables of rows of cells, with runs as their last axis."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = zip(self.shapes.items(), np.split(rows, ends, axis=1), strict=True)
        return {one: part.T.reshape(*shape, len(rows)) for (one, shape), part in parts}


def _together(form: Counts | Synthetic, layout: _Layout) -> Mechanism:
    """Many runs in one call: each marginal has the run as one more column."""

    def run(rows: Ints, rng: np.random.Generator | None) -> NDArray[Any]:
        last = len(layout.plan.bins)
        runs = Bins("", "category", tuple(map(str, range(len(rows)))))
        plan = Plan(layout.plan.schema, (*layout.plan.bins, runs))
        wide = replace(form, plan=plan, marginals=tuple((*one, last) for one in form.marginals))
        true = {(*one, last): table for one, table in layout.tables(rows).items()}
        found = _published(wide, Tabled(plan, true), rng)
        return layout.flat({one[:-1]: np.moveaxis(table, -1, 0) for one, table in found.items()})

    return run


def _published(form: Counts | Synthetic, true: Tabled, rng: np.random.Generator | None) -> Tables:
    """What is published of true counts, or given to what fits a model."""
    if isinstance(form, Synthetic):
        return {
            one: table for part in form.counted(true, rng) for one, table in part.tables.items()
        }
    counts = form.drawn(true, rng).table[COUNT].to_numpy()
    ends = np.cumsum([form.plan.cells([one]) for one in form.marginals])[:-1]
    parts = zip(form.marginals, np.split(counts, ends), strict=True)
    return {one: part.reshape(form.plan.shape(one)) for one, part in parts}


def _one_by_one(form: Counts | Synthetic, layout: _Layout) -> Mechanism:
    """One run after the other, for each chooses pairs of its own; those not chosen are NaN."""

    def run(rows: Ints, rng: np.random.Generator | None) -> NDArray[Any]:
        found = []
        for row in rows:
            tables = layout.tables(row[np.newaxis])
            true = {one: table[..., 0] for one, table in tables.items()}
            found.append(layout.flat(_published(form, Tabled(layout.plan, true), rng)))
        return np.vstack(found)

    return run
