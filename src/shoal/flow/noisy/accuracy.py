"""How large the noise of a release is, by what it publishes; and what it did, by the original.

A release of counts is read again in the order in which it was written, which its hash has proved;
of a synthetic table every column and pair is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.flow.listing import Listing, listed
from shoal.flow.noisy.accounted import CHOICE, Step, read_steps
from shoal.flow.noisy.counts import COUNT, ESTIMATE, MARGINAL
from shoal.flow.noisy.measured import Measured
from shoal.flow.noisy.planned import Columns, Plan
from shoal.flow.noisy.useful import Estimated, bins_alone, of_people, original, utility
from shoal.flow.opening import opened
from shoal.flow.record import in_counts
from shoal.noise.consistency import deviations
from shoal.noise.mechanism import LAPLACE, deviation, noise
from shoal.spend import Spend

TIMES = (0.25, 0.5, 1, 2, 4)
"""What the noise would be at these multiples of ε."""
EXACT = 10
"""Up to this scale a sum is not yet the integral that it is close to."""
DROWNED = 2
"""A count below so many standard deviations could be noise alone."""


@dataclass(frozen=True)
class Reread:
    """A published table, read again: its noisy counts, and what is estimated from them."""

    plan: Plan
    marginals: tuple[Columns, ...]
    steps: tuple[Step, ...]
    spend: Spend
    counts: Mapping[Columns, NDArray[np.float64]]
    """Noisy counts as drawn; none where the release is of made-up people."""
    estimates: Estimated

    @classmethod
    def of(cls, table: Path, plan: Plan, manifest: Mapping[str, Any]) -> Reread:
        """The table of a release that was verified."""
        marginals = tuple(tuple(map(plan.names.index, one)) for one in manifest["marginals"])
        counts = in_counts(manifest)
        own = [MARGINAL, *plan.names, COUNT, ESTIMATE] if counts else list(plan.names)
        with opened(table, kinds=dict.fromkeys(own, "label"), nulls=()) as frame:
            found = listed(frame, [COUNT, ESTIMATE] if counts else own)
        if counts:
            drawn, estimates = (_cut(found[name], plan, marginals) for name in (COUNT, ESTIMATE))
        else:
            columns = zip(plan.bins, (found[name] for name in own), strict=True)
            codes = np.stack([bins.read(one.words())[one.codes] for bins, one in columns])
            drawn, estimates = {}, dict(of_people(codes, plan))
        spend = Spend.from_json(manifest["spend"])
        return cls(plan, marginals, tuple(read_steps(manifest)), spend, drawn, estimates)

    @property
    def people(self) -> int:
        """How many people there are, by the noisy counts alone."""
        return max(1, round(float(next(iter(self.estimates.values())).sum())))


def _cut(
    column: Listing, plan: Plan, marginals: Sequence[Columns]
) -> dict[Columns, NDArray[np.float64]]:
    """A column of numbers as tables, one for each marginal."""
    numbers = np.array([float(word or "nan") for word in column.words()])[column.codes]
    ends = np.cumsum([plan.cells([one]) for one in marginals])[:-1]
    parts = zip(marginals, np.split(numbers, ends), strict=True)
    return {one: part.reshape(plan.shape(one)) for one, part in parts}


# By what is published


def useful(read: Reread) -> dict[str, Any]:
    """How large the noise is beside the counts, in plain values: all of it is public."""
    steps = [{**one.to_json(), "deviation": _spread(one)} for one in read.steps]
    widest = max(one["deviation"] or 0.0 for one in steps)
    return {
        "steps": steps,
        "deviation": widest,
        "cells": read.plan.cells(read.marginals),
        "tables": len(read.marginals),
        "people": read.people,
        "marginals": _marginals(read, widest),
        "epsilon": float(read.spend.epsilon),
        "points": _points(read) if read.counts else [],
    }


def _spread(step: Step) -> float | None:
    return None if step.mechanism == CHOICE else deviation(step.mechanism, step.scale)


def _marginals(read: Reread, spread: float) -> list[dict[str, Any]]:
    """Each marginal: its cells, how full they are, and the noise of a count and of an estimate."""
    agreed, found = deviations(read.marginals, read.plan.sizes), []
    for columns in read.marginals:
        cells, drawn = read.plan.cells([columns]), read.counts.get(columns)
        told = {"name": read.plan.called(columns), "cells": cells, "deviation": spread}
        none = {"per_cell": None, "lost": None, "estimate_deviation": None}
        found.append({**told, **none})
        if drawn is not None:
            found[-1] |= {
                "per_cell": max(0.0, float(drawn.mean())),
                "lost": int((drawn < DROWNED * spread).sum()),
                "estimate_deviation": agreed[columns] * spread,
            }
    return found


def _points(read: Reread) -> list[dict[str, float]]:
    """What the same marginals would cost at other epsilons, by theory."""
    points = []
    for times in TIMES:
        spend = Spend(read.spend.epsilon * Fraction(times), read.spend.delta)
        made = noise(spend, len(read.marginals))
        points.append({"epsilon": float(spend.epsilon), "theory": mean_size(made.name, made.scale)})
    return [one for one in points if one["theory"] > 0]  # hardly any noise at all is not drawn


def mean_size(name: str, scale: float) -> float:
    """The mean of |noise|: 1 / sinh(1/s) for the discrete Laplace, else σ √(2/π) from σ = 10 on.

    >>> round(mean_size(LAPLACE, 1.0), 3), round(mean_size("discrete Gaussian", 100), 2)
    (0.851, 79.79)
    """
    if name == LAPLACE:
        return 2 * math.exp(-1 / scale) / -math.expm1(-2 / scale)  # no overflow where s is small
    if scale > EXACT:
        return scale * math.sqrt(2 / math.pi)
    z = np.arange(1, 10 * EXACT)
    weights = np.exp(-((z / scale) ** 2) / 2)
    return float(2 * (z * weights).sum() / (1 + 2 * weights.sum()))


# By the original


@dataclass(frozen=True)
class Compared:
    """How far a release is from the original: for its publisher alone."""

    rows: int
    utility: Mapping[str, Any]
    """The share lost in all, and each column's and pair's distance."""
    found: Mapping[str, float] | None
    """The mean absolute error of counts as drawn, and of the estimates."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.utility, "found": self.found}


def compared(source: Any, plan: Plan, read: Reread, reading: Mapping[str, Any]) -> Compared:
    """The release beside the table that it was made of."""
    with opened(source, kinds=plan.schema.kinds, **reading) as frame:
        measured = Measured.of(frame, plan, read.marginals)
        tally = original(frame, plan.schema, measured.names)
        lost = utility(tally, plan, read.estimates) | {"bins": bins_alone(tally, measured)}
    if not read.counts:
        return Compared(measured.rows, lost, None)
    truth = measured.tables(read.marginals)
    found = {"counts": _off(read.counts, truth), "consistent": _off(read.estimates, truth)}
    return Compared(measured.rows, lost, found)


def _off(told: Estimated, truth: Mapping[Columns, NDArray[np.int64]]) -> float:
    """The mean absolute error over all cells."""
    wrong = np.concatenate([np.abs(told[one] - truth[one]).ravel() for one in truth])
    return float(wrong.mean())
