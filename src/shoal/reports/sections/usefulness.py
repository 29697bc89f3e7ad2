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
from shoal.releases.forms._noise.accounted_spend import CHOICE, Step, read_steps
from shoal.releases.forms._noise.distance_from_original import (
    Estimated,
    measure_bin_loss,
    measure_noise_utility,
    tabulate_people,
    tally_original,
)
from shoal.releases.forms._noise.measured import MeasuredTable
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
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
        marginals = tuple(tuple(map(plan.names.index, names)) for names in manifest["marginals"])
        counts = publishes_counts(manifest)
        names = [MARGINAL, *plan.names, COUNT, ESTIMATE] if counts else list(plan.names)
        with open_frame(table, kinds=dict.fromkeys(names, "label"), nulls=()) as frame:
            listings = read_columns(frame, [COUNT, ESTIMATE] if counts else names)
        if counts:
            drawn, estimates = (
                _split_marginals(listings[name], plan, marginals) for name in (COUNT, ESTIMATE)
            )
        else:
            columns = [(bins, listings[name]) for bins, name in zip(plan.bins, names, strict=True)]
            codes = np.stack([bins.read(column.words())[column.codes] for bins, column in columns])
            drawn, estimates = {}, dict(tabulate_people(codes, plan))
        spend = Spend.from_json(manifest["spend"])
        return cls(plan, marginals, tuple(read_steps(manifest)), spend, drawn, estimates)

    @property
    def people(self) -> int:
        """How many people there are, by the noisy counts alone."""
        return max(1, round(float(next(iter(self.estimates.values())).sum())))


def _split_marginals(
    column: Listing, plan: MarginalPlan, marginals: Sequence[Columns]
) -> dict[Columns, NDArray[np.float64]]:
    """A column of numbers as tables, one for each marginal."""
    numbers = np.array([float(word or "nan") for word in column.words()])[column.codes]
    ends = np.cumsum([plan.cells([marginal]) for marginal in marginals])[:-1]
    parts = zip(marginals, np.split(numbers, ends), strict=True)
    return {marginal: part.reshape(plan.shape(marginal)) for marginal, part in parts}


# By what is published


def measure_usefulness(reread: RereadCounts) -> dict[str, Any]:
    """How large the noise is against the counts, in plain values: all of it is public."""
    steps = [{**step.to_json(), "deviation": _compute_deviation(step)} for step in reread.steps]
    widest = max(step["deviation"] or 0.0 for step in steps)
    return {
        "steps": steps,
        "deviation": widest,
        "cells": reread.plan.cells(reread.marginals),
        "tables": len(reread.marginals),
        "people": reread.people,
        "marginals": _measure_marginals(reread, widest),
        "epsilon": float(reread.spend.epsilon),
        "points": _list_error_points(reread) if reread.counts else [],
    }


def _compute_deviation(step: Step) -> float | None:
    return None if step.mechanism == CHOICE else compute_noise_deviation(step.mechanism, step.scale)


def _measure_marginals(reread: RereadCounts, spread: float) -> list[dict[str, Any]]:
    plan, marginals = reread.plan, []
    estimate_deviations = compute_estimate_deviations(reread.marginals, plan.sizes)
    for columns in reread.marginals:
        cells, counts = plan.cells([columns]), reread.counts.get(columns)
        marginal = {"name": plan.name(columns), "cells": cells, "deviation": spread}
        marginal |= {"per_cell": None, "lost": None, "estimate_deviation": None}
        if counts is not None:
            marginal |= {
                "per_cell": max(0.0, float(counts.mean())),
                "lost": int((counts < DROWNED * spread).sum()),
                "estimate_deviation": estimate_deviations[columns] * spread,
            }
        marginals.append(marginal)
    return marginals


def _list_error_points(reread: RereadCounts) -> list[dict[str, float]]:
    """What the same marginals would cost at other epsilons, by theory."""
    points = []
    for times in TIMES:
        spend = Spend(reread.spend.epsilon * Fraction(times), reread.spend.delta)
        mechanism = calibrate_noise(spend, len(reread.marginals))
        size = mean_noise_size(mechanism.name, mechanism.scale)
        if size > 0:  # hardly any noise at all is not drawn
            points.append({"epsilon": float(spend.epsilon), "theory": size})
    return points


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
    mean_errors: Mapping[str, float] | None
    """The mean absolute error of counts as drawn, and of the estimates."""

    def to_json(self) -> dict[str, Any]:
        """The distances, and under ``found`` the mean errors."""
        return {**self.utility, "found": self.mean_errors}


def compare_with_original(
    source: Any, plan: MarginalPlan, reread: RereadCounts, reading: Mapping[str, Any]
) -> OriginalComparison:
    """How far the release is from the table that it was made of."""
    with open_frame(source, kinds=plan.schema.kinds, **reading) as frame:
        measured = MeasuredTable.of(frame, plan, reread.marginals)
        tally = tally_original(frame, plan.schema, measured.names)
        utility = measure_noise_utility(tally, plan, reread.estimates) | {
            "bins": measure_bin_loss(tally, measured)
        }
    if not reread.counts:
        return OriginalComparison(measured.rows, utility, None)
    truth = measured.tables(reread.marginals)
    mean_errors = {
        "counts": _compute_mean_error(reread.counts, truth),
        "consistent": _compute_mean_error(reread.estimates, truth),
    }
    return OriginalComparison(measured.rows, utility, mean_errors)


def _compute_mean_error(estimates: Estimated, truth: Mapping[Columns, NDArray[np.int64]]) -> float:
    """The mean absolute error over all cells."""
    errors = [np.abs(estimates[columns] - truth[columns]).ravel() for columns in truth]
    return float(np.concatenate(errors).mean())


# The page


def render_usefulness(usefulness: JsonObject, errors: JsonObject | None = None) -> Section:
    """The whole section."""
    return Section(
        HEADING,
        (_INTRO,),
        (
            *_render_noise(usefulness),
            *_render_marginals(usefulness),
            *_render_comparison(errors),
            *_chart_cost(usefulness, {} if errors is None else errors["found"] or {}),
        ),
    )


def _render_noise(usefulness: JsonObject) -> list[Block]:
    rows = []
    for step in usefulness["steps"]:
        spread = "–" if step["deviation"] is None else f"±{format_real(step['deviation'])}"
        scale = format_real(step["scale"])
        rows.append((step["what"], step["mechanism"], step["times"], scale, spread))
    head = ("what was looked at", "mechanism", "times", "scale", "standard deviation")
    deviation = usefulness["deviation"]
    key_facts = KeyFacts(
        (
            Fact(
                "typical noise",
                f"±{format_real(deviation)}",
                "people on a count, standard deviation",
            ),
            Fact("seldom beyond", f"±{format_real(2 * deviation)}", "two standard deviations"),
        )
    )
    return [key_facts, Table(head, tuple(rows), "Every look at the rows")]


def _render_marginals(usefulness: JsonObject) -> list[Block]:
    """Of a synthetic table the counts are not published."""
    rows, more = usefulness["marginals"], len(usefulness["marginals"]) - MAX_ROWS
    if not rows:
        return []
    counted = all(marginal["per_cell"] is not None for marginal in rows)
    head = (
        "counted together",
        "cells",
        "people in a cell",
        "noise of a count",
        "of an estimate",
        "could be noise",
    )
    table = tuple(
        _make_marginal_row(marginal)[: None if counted else 2] for marginal in rows[:MAX_ROWS]
    )
    rest = f", and {more:,} more" if more > 0 else ""
    text = (
        "People in a cell: on average, by the noisy counts. Noise is told by its standard "
        "deviation: of a count as it was drawn, and of the estimate beside it, which agrees with "
        "all other tables. Last is the share of counts that could be noise alone, being less than "
        "twice theirs: read them together with others.",
    )
    return [
        Text("What was counted", text if counted else ()),
        Table(head[: None if counted else 2], table, f"The marginals{rest}"),
    ]


def _make_marginal_row(marginal: JsonObject) -> tuple[Any, ...]:
    if marginal["per_cell"] is None:
        return marginal["name"], marginal["cells"]
    lost = format_percent(marginal["lost"], marginal["cells"])
    average = format_real(marginal["per_cell"])
    spreads = (f"±{format_real(marginal[key])}" for key in ("deviation", "estimate_deviation"))
    return marginal["name"], marginal["cells"], average, *spreads, lost


def _render_comparison(errors: JsonObject | None) -> list[Block]:
    if errors is None:
        return []
    text = (
        "How far distributions have moved from the original's: 0% is the same, 100% has nothing "
        "in common with it (total variation). This is not public.",
    )
    blocks: list[Block] = [
        Text("Beside the original", text),
        KeyFacts(tuple(_list_distances(errors))),
    ]
    columns = tuple(
        (name, format_percent(distance, 1)) for name, distance in errors["columns"].items()
    )
    pairs = sorted(errors["pairs"], key=lambda pair: -pair["distance"])
    rows = tuple(
        (" × ".join(pair["columns"]), format_percent(pair["distance"], 1)) for pair in pairs
    )
    blocks.append(Table(("column", "moved by"), columns, "Columns"))
    blocks.append(Table(("pair of columns", "moved by"), rows[:MAX_ROWS], "Pairs, the worst first"))
    return blocks


def _chart_cost(usefulness: JsonObject, measured: JsonObject) -> list[Block]:
    """What noise costs at this and at other epsilons: by theory, and here as it was found."""
    if not usefulness["points"]:
        return []
    none: dict[str, Any] = {"counts": None, "consistent": None}
    points = [
        {**none, **point, **(measured if point["epsilon"] == usefulness["epsilon"] else {})}
        for point in usefulness["points"]
    ]
    subject = "The points are of this release; the" if measured else "The"
    note = f"{subject} dashed line is what the same marginals would cost at another ε."
    return [Chart(chart_error(points), note)]


def _list_distances(errors: JsonObject) -> list[Fact]:
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
    if (mean_errors := errors.get("found")) is not None:
        facts.append(
            Fact("a count is off by", format_real(mean_errors["counts"]), "people on average")
        )
        facts.append(
            Fact("an estimate by", format_real(mean_errors["consistent"]), "after all counts agree")
        )
    return facts
