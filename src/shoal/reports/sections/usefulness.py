"""Usefulness: a report's part on how large the noise is beside what it is added to.

``useful`` follows from what is published: ``steps`` (every look at the rows, with the standard
deviation of its noise), ``deviation``, ``cells``, ``tables`` and ``marginals`` (of each: cells,
people per cell, and how many counts could be noise alone). Counts are read again in the order in
which they were written, which the file's hash has proved; of a synthetic table every column and
pair is counted. ``errors`` compares with the original, and is for the publisher alone.
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

from shoal.core.spend import Spend
from shoal.dp.consistency import compute_estimate_deviations
from shoal.dp.mechanisms import LAPLACE, calibrate_noise, compute_noise_deviation
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.forms._noise.spending import CHOICE, Step, read_steps
from shoal.releases.forms._noise.utility import (
    Estimated,
    measure_bin_loss,
    measure_noise_utility,
    tabulate_people,
    tally_original,
)
from shoal.releases.forms.counts import COUNT, ESTIMATE, MARGINAL
from shoal.releases.manifest import publishes_counts
from shoal.releases.reader import open_frame
from shoal.releases.row_listing import Listing, read_columns
from shoal.reports.charts.noise import chart_error
from shoal.reports.document import Block, Chart, Fact, KeyFacts, Section, Table, Text
from shoal.reports.format import format_percent, format_real

HEADING = "Usefulness"
MAX_ROWS = 40
"""The most rows of a table; the JSON has all."""
JsonObject = Mapping[str, Any]
_INTRO = (
    "Noise is the price. It is of the same size on every count, however many people stand behind "
    "it: large counts hardly feel it, and small ones drown."
)
TIMES = (0.25, 0.5, 1, 2, 4)
"""What the noise would be at these multiples of ε."""
EXACT = 10
"""Up to this scale a sum is not yet the integral that it is close to."""
DROWNED = 2
"""A count below so many standard deviations could be noise alone."""


@dataclass(frozen=True)
class RereadCounts:
    """A published table, read again: its noisy counts, and what is estimated from them."""

    plan: MarginalPlan
    marginals: tuple[Columns, ...]
    steps: tuple[Step, ...]
    spend: Spend
    counts: Mapping[Columns, NDArray[np.float64]]
    """Noisy counts as drawn; none where the release is of made-up people."""
    estimates: Estimated

    @classmethod
    def of(cls, table: Path, plan: MarginalPlan, manifest: Mapping[str, Any]) -> RereadCounts:
        """The table of a release that was verified."""
        marginals = tuple(tuple(map(plan.names.index, one)) for one in manifest["marginals"])
        counts = publishes_counts(manifest)
        own = [MARGINAL, *plan.names, COUNT, ESTIMATE] if counts else list(plan.names)
        with open_frame(table, kinds=dict.fromkeys(own, "label"), nulls=()) as frame:
            found = read_columns(frame, [COUNT, ESTIMATE] if counts else own)
        if counts:
            drawn, estimates = (_cut(found[name], plan, marginals) for name in (COUNT, ESTIMATE))
        else:
            columns = zip(plan.bins, (found[name] for name in own), strict=True)
            codes = np.stack([bins.read(one.words())[one.codes] for bins, one in columns])
            drawn, estimates = {}, dict(tabulate_people(codes, plan))
        spend = Spend.from_json(manifest["spend"])
        return cls(plan, marginals, tuple(read_steps(manifest)), spend, drawn, estimates)

    @property
    def people(self) -> int:
        """How many people there are, by the noisy counts alone."""
        return max(1, round(float(next(iter(self.estimates.values())).sum())))


def _cut(
    column: Listing, plan: MarginalPlan, marginals: Sequence[Columns]
) -> dict[Columns, NDArray[np.float64]]:
    """A column of numbers as tables, one for each marginal."""
    numbers = np.array([float(word or "nan") for word in column.words()])[column.codes]
    ends = np.cumsum([plan.cells([one]) for one in marginals])[:-1]
    parts = zip(marginals, np.split(numbers, ends), strict=True)
    return {one: part.reshape(plan.shape(one)) for one, part in parts}


# By what is published


def measure_usefulness(read: RereadCounts) -> dict[str, Any]:
    """How large the noise is beside the counts, in plain values: all of it is public."""
    steps = [{**one.to_json(), "deviation": _spread(one)} for one in read.steps]
    widest = max(one["deviation"] or 0.0 for one in steps)
    return {
        "steps": steps,
        "deviation": widest,
        "cells": read.plan.cells(read.marginals),
        "tables": len(read.marginals),
        "people": read.people,
        "marginals": _measure_marginals(read, widest),
        "epsilon": float(read.spend.epsilon),
        "points": _points(read) if read.counts else [],
    }


def _spread(step: Step) -> float | None:
    return None if step.mechanism == CHOICE else compute_noise_deviation(step.mechanism, step.scale)


def _measure_marginals(read: RereadCounts, spread: float) -> list[dict[str, Any]]:
    """Each marginal: its cells, how full they are, and the noise of a count and of an estimate."""
    agreed, found = compute_estimate_deviations(read.marginals, read.plan.sizes), []
    for columns in read.marginals:
        cells, drawn = read.plan.cells([columns]), read.counts.get(columns)
        told = {"name": read.plan.name(columns), "cells": cells, "deviation": spread}
        none = {"per_cell": None, "lost": None, "estimate_deviation": None}
        found.append({**told, **none})
        if drawn is not None:
            found[-1] |= {
                "per_cell": max(0.0, float(drawn.mean())),
                "lost": int((drawn < DROWNED * spread).sum()),
                "estimate_deviation": agreed[columns] * spread,
            }
    return found


def _points(read: RereadCounts) -> list[dict[str, float]]:
    """What the same marginals would cost at other epsilons, by theory."""
    points = []
    for times in TIMES:
        spend = Spend(read.spend.epsilon * Fraction(times), read.spend.delta)
        made = calibrate_noise(spend, len(read.marginals))
        points.append(
            {"epsilon": float(spend.epsilon), "theory": mean_noise_size(made.name, made.scale)}
        )
    return [one for one in points if one["theory"] > 0]  # hardly any noise at all is not drawn


def mean_noise_size(name: str, scale: float) -> float:
    """The mean of |noise|: 1 / sinh(1/s) for the discrete Laplace, else σ √(2/π) from σ = 10 on.

    >>> round(mean_noise_size(LAPLACE, 1.0), 3), round(mean_noise_size("discrete Gaussian", 100), 2)
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
class OriginalComparison:
    """How far a release is from the original: for its publisher alone."""

    rows: int
    utility: Mapping[str, Any]
    """The share lost in all, and each column's and pair's distance."""
    found: Mapping[str, float] | None
    """The mean absolute error of counts as drawn, and of the estimates."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.utility, "found": self.found}


def compare_with_original(
    source: Any, plan: MarginalPlan, read: RereadCounts, reading: Mapping[str, Any]
) -> OriginalComparison:
    """The release beside the table that it was made of."""
    with open_frame(source, kinds=plan.schema.kinds, **reading) as frame:
        measured = MeasuredTable.of(frame, plan, read.marginals)
        tally = tally_original(frame, plan.schema, measured.names)
        lost = measure_noise_utility(tally, plan, read.estimates) | {
            "bins": measure_bin_loss(tally, measured)
        }
    if not read.counts:
        return OriginalComparison(measured.rows, lost, None)
    truth = measured.tables(read.marginals)
    found = {"counts": _off(read.counts, truth), "consistent": _off(read.estimates, truth)}
    return OriginalComparison(measured.rows, lost, found)


def _off(told: Estimated, truth: Mapping[Columns, NDArray[np.int64]]) -> float:
    """The mean absolute error over all cells."""
    wrong = np.concatenate([np.abs(told[one] - truth[one]).ravel() for one in truth])
    return float(wrong.mean())


# The page


def render_usefulness(useful: JsonObject, errors: JsonObject | None = None) -> Section:
    """The whole section."""
    return Section(
        HEADING,
        (_INTRO,),
        (
            *_noise(useful),
            *_render_marginals(useful),
            *_compared(errors),
            *_cost(useful, {} if errors is None else errors["found"] or {}),
        ),
    )


def _noise(useful: JsonObject) -> list[Block]:
    rows = tuple(
        (one["what"], one["mechanism"], one["times"], format_real(one["scale"]), _deviation(one))
        for one in useful["steps"]
    )
    head = ("what was looked at", "mechanism", "times", "scale", "standard deviation")
    deviation = useful["deviation"]
    told = KeyFacts(
        (
            Fact(
                "typical noise",
                f"±{format_real(deviation)}",
                "people on a count, standard deviation",
            ),
            Fact("seldom beyond", f"±{format_real(2 * deviation)}", "two standard deviations"),
        )
    )
    return [told, Table(head, rows, "Every look at the rows")]


def _deviation(step: JsonObject) -> str:
    return "–" if step["deviation"] is None else f"±{format_real(step['deviation'])}"


def _render_marginals(useful: JsonObject) -> list[Block]:
    """What was counted, beside its noise; of a synthetic table the counts are not published."""
    rows, more = useful["marginals"], len(useful["marginals"]) - MAX_ROWS
    if not rows:
        return []
    counted = all(one["per_cell"] is not None for one in rows)
    head = (
        "counted together",
        "cells",
        "people in a cell",
        "noise of a count",
        "of an estimate",
        "could be noise",
    )
    table = tuple(_marginal(one)[: None if counted else 2] for one in rows[:MAX_ROWS])
    rest = f", and {more:,} more" if more > 0 else ""
    told = (
        "People in a cell: on average, by the noisy counts. Noise is told by its standard "
        "deviation: of a count as it was drawn, and of the estimate beside it, which agrees with "
        "all other tables. Last is the share of counts that could be noise alone, being less than "
        "twice theirs: read them together with others.",
    )
    return [
        Text("What was counted", told if counted else ()),
        Table(head[: None if counted else 2], table, f"The marginals{rest}"),
    ]


def _marginal(one: JsonObject) -> tuple[Any, ...]:
    if one["per_cell"] is None:
        return one["name"], one["cells"]
    lost, average = format_percent(one["lost"], one["cells"]), format_real(one["per_cell"])
    spreads = (f"±{format_real(one[key])}" for key in ("deviation", "estimate_deviation"))
    return one["name"], one["cells"], average, *spreads, lost


def _compared(errors: JsonObject | None) -> list[Block]:
    """Beside the original: how far columns and pairs have moved, and what a count is off by."""
    if errors is None:
        return []
    told = (
        "How far distributions have moved from the original's: 0% is the same, 100% has nothing "
        "in common with it (total variation). This is not public.",
    )
    blocks: list[Block] = [Text("Beside the original", told), KeyFacts(tuple(_moved(errors)))]
    columns = tuple((name, format_percent(one, 1)) for name, one in errors["columns"].items())
    pairs = sorted(errors["pairs"], key=lambda one: -one["distance"])
    rows = tuple((" × ".join(one["columns"]), format_percent(one["distance"], 1)) for one in pairs)
    blocks.append(Table(("column", "moved by"), columns, "Columns"))
    blocks.append(Table(("pair of columns", "moved by"), rows[:MAX_ROWS], "Pairs, the worst first"))
    return blocks


def _cost(useful: JsonObject, found: JsonObject) -> list[Block]:
    """What noise costs at this and at other epsilons: by theory, and here as it was found."""
    if not useful["points"]:
        return []
    none: dict[str, Any] = {"counts": None, "consistent": None}
    points = [
        {**none, **one, **(found if one["epsilon"] == useful["epsilon"] else {})}
        for one in useful["points"]
    ]
    said = "The points are of this release; the" if found else "The"
    note = f"{said} dashed line is what the same marginals would cost at another ε."
    return [Chart(chart_error(points), note)]


def _moved(errors: JsonObject) -> list[Fact]:
    facts = [
        Fact(
            "lost in all", format_percent(errors["marginals"], 1), "of what a table of * would lose"
        ),
        Fact(
            "of which bins alone",
            format_percent(errors["bins"], 1),
            "exact counts in the same bins would lose as much",
        ),
    ]
    if (found := errors.get("found")) is not None:
        facts.append(Fact("a count is off by", format_real(found["counts"]), "people on average"))
        facts.append(
            Fact("an estimate by", format_real(found["consistent"]), "after all counts agree")
        )
    return facts
