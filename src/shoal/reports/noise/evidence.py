"""What the report on counts or made-up people is written from: read, verified, compared, audited.

Most of it follows from what is published. Only what compares with the original is not for the
public: the true number of people, the errors of counts, and what an audit of the noise found.

How large the noise of a release is, by what it publishes; and what it did, by the original.

A release of counts is read again in the order in which it was written, which its hash has proved;
of a synthetic table every column and pair is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.mechanism_audit import audit_mechanism
from shoal.core.column import Column
from shoal.core.errors import NotMetError, UsageError
from shoal.core.release import MANIFEST_NAME, Finding, Verdict
from shoal.core.spend import Spend
from shoal.dp.bins import Bins, build_all_bins
from shoal.dp.consistency import compute_estimate_deviations
from shoal.dp.mechanisms import LAPLACE, calibrate_noise, compute_noise_deviation
from shoal.releases.companion import find_companion, find_release, is_other_original
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
from shoal.releases.forms._noise.verification import recount_noise
from shoal.releases.forms.counts import COUNT, ESTIMATE, MARGINAL
from shoal.releases.manifest import hash_file, publishes_counts
from shoal.releases.options import NO_INDIVIDUAL_ROWS, Progress
from shoal.releases.reader import open_frame, parse_released_schema
from shoal.releases.row_listing import Listing, read_columns
from shoal.reports.context import read_context
from shoal.reports.noise.promise import explain_noise_promise
from shoal.reports.options import ReportRequest, list_commands
from shoal.reports.redact import redact_composition
from shoal.reports.sections.composition import (
    CompositionEvidence,
    examine_composition,
)
from shoal.verbs.verify import verify

# How large the noise of a release is, by what it publishes; and what it did, by the original.


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
        "marginals": _marginals(read, widest),
        "epsilon": float(read.spend.epsilon),
        "points": _points(read) if read.counts else [],
    }


def _spread(step: Step) -> float | None:
    return None if step.mechanism == CHOICE else compute_noise_deviation(step.mechanism, step.scale)


def _marginals(read: RereadCounts, spread: float) -> list[dict[str, Any]]:
    """Each marginal: its cells, how full they are, and the noise of a count and of an estimate."""
    agreed, found = compute_estimate_deviations(read.marginals, read.plan.sizes), []
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


# What the report on counts or made-up people is written from: read, verified, compared, audited.


NO_FORECAST = (
    "None is needed: whatever somebody else publishes, this release adds to it no more than its "
    "own ε allows. The epsilons of releases made by noise add up."
)
"""Why releases that others may make are not forecast."""
RUNS = 1_000
"""How often a report runs the mechanism again: seconds; `shoal attack auditing` asks harder."""


@dataclass(frozen=True)
class StatedDomain:
    """One published column: what the schema says that it may hold, and in how many cells."""

    name: str
    role: str
    stated: str
    cells: int


@dataclass(frozen=True, kw_only=True)
class NoisyEvidence:
    """All facts of the report."""

    manifest: Mapping[str, Any]
    verdict: Verdict
    promised: Mapping[str, Any]
    columns: tuple[StatedDomain, ...]
    lines: int
    """The published file's rows: cells, or made-up people."""
    useful: Mapping[str, Any]
    """How large the noise is, by what is published."""
    errors: Mapping[str, Any] | None = None
    """How far counts and distributions are from the original's, where it was given."""
    rows: int | None = None
    """How many people there truly are, where the original was given."""
    another: bool = False
    """Whether the original that was given is certainly another file than the published one."""
    audited: Finding | None = None
    """What running the mechanism again showed, where the original was given."""
    composing: CompositionEvidence | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    public: bool = False

    @property
    def form(self) -> str:
        """Counts, or synthetic."""
        return str(self.manifest["form"])

    @property
    def releasable(self) -> bool:
        """Whether the noise is anybody's secret: that of a seed is not."""
        return bool(self.promised["releasable"])

    @property
    def holds(self) -> bool:
        """Whether the release keeps its promise."""
        return self.verdict.holds and self.releasable


def find_noise_release(release: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table and the manifest of a release of counts or made-up people; None for others."""
    found = find_release(release)
    return found if found and found[1].get("form") in NO_INDIVIDUAL_ROWS else None


def gather_noise_evidence(
    given: ReportRequest, table: Path, manifest: dict[str, Any], public: bool, progress: Progress
) -> NoisyEvidence:
    """Everything that the report tells; for the ``public`` the original is not even read."""
    _check(given, str(manifest["form"]))
    context = read_context(given.context)
    progress("verifying", 0, 1)
    verdict = _verified(given.release, table, manifest)
    schema = parse_released_schema(manifest)
    plan = MarginalPlan(schema, build_all_bins(schema))
    read = RereadCounts.of(table, plan, manifest)
    found, audit, reading = None, None, given.settings.get("reading") or {}
    if given.original is not None and not public:
        progress("comparing", 0, 1)
        found = compare_with_original(given.original, plan, read, reading)
        if manifest.get("releasable") is True:
            audit = audit_mechanism(
                given.release, given.original, runs=RUNS, reading=reading, progress=progress
            )
    own = find_companion(given.release, table)
    hidden = () if own is None or public else own.schema.columns
    roles = {column.name: column for column in schema.columns}
    return NoisyEvidence(
        manifest=manifest,
        verdict=verdict,
        promised=explain_noise_promise(manifest, given.prior, given.people or read.people) or {},
        columns=tuple(_domain(roles[one.name], one) for one in plan.bins),
        lines=verdict.rows,
        useful=measure_usefulness(read),
        errors=None if found is None else found.to_json(),
        rows=None if found is None else found.rows,
        another=found is not None and is_other_original(own, given.original),
        audited=audit,
        composing=_composing(given, public, progress),
        context=context,
        dropped=tuple(column.name for column in hidden if column.name not in schema.names),
        hashes={"table": hash_file(table), "manifest": hash_file(table.parent / MANIFEST_NAME)},
        commands=_commands(given, public),
        public=public,
    )


def _check(given: ReportRequest, form: str) -> None:
    """Refuse what would have to be attacked or judged by rows: no row is anybody's."""
    asked = {
        "--with": given.others,
        "--targets": given.targets,
        "--control": given.control,
        "-m": given.rule,
        "--on": given.columns,
        "--limit": given.limit,
        "-s": given.schema,
    }
    if unfit := [flag for flag, value in asked.items() if value not in (None, ())]:
        raise UsageError(
            f"A release of the form {form} has no row of anybody's: {', '.join(unfit)} "
            f"{'has' if len(unfit) == 1 else 'have'} no meaning for it.",
            f"leave {'it' if len(unfit) == 1 else 'them'} out.",
        )


def _verified(release: Any, table: Path, manifest: Mapping[str, Any]) -> Verdict:
    """The verdict; a release that is not to be released is told of all the same."""
    try:
        return verify(release)
    except NotMetError:
        if manifest.get("releasable"):
            raise
        return recount_noise(table, manifest)


def _domain(column: Column, bins: Bins) -> StatedDomain:
    if column.hierarchy is not None and not column.listed_values and not column.bounds:
        stated = "the leaves of its taxonomy"
    elif bins.bounds is not None and column.bounds is not None:
        stated = " to ".join(_end(end, bins.kind) for end in column.bounds)
    else:
        stated = "the values of its domain"
    return StatedDomain(
        column.name, column.role, stated + (", or empty" if bins.null else ""), bins.size
    )


def _end(end: float, kind: str) -> str:
    """A bound as a person writes it: days are kept as numbers."""
    return date.fromordinal(int(end)).isoformat() if kind == "date" else f"{end:,.12g}"


def _composing(given: ReportRequest, public: bool, progress: Progress) -> CompositionEvidence:
    """What the ledger says of it; nothing is forecast."""
    found = examine_composition(given, True, (), progress)
    told = redact_composition(found) if public else found
    return replace(told or found, why=NO_FORECAST)


def _commands(given: ReportRequest, public: bool) -> tuple[str, ...]:
    """What to type to have it again; for the public without the names of files."""
    if public:
        return ("shoal verify RELEASE", "shoal report RELEASE --public -o report.html")
    return list_commands(given)
