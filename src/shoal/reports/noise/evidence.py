"""What the report on counts or made-up people is written from: read, verified, compared, audited.

Most of it follows from what is published. Only what compares with the original is not for the
public: the true number of people, the errors of counts, and what an audit of the noise found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from shoal.adversary.mechanism_audit import audit_mechanism
from shoal.core.column import Column
from shoal.core.errors import NotMetError, UsageError
from shoal.core.release import MANIFEST_NAME, Finding, Verdict
from shoal.dp.bins import Bins, build_all_bins
from shoal.releases.companion import find_companion, find_release, is_other_original
from shoal.releases.forms._noise.plan import MarginalPlan
from shoal.releases.forms._noise.verification import recount_noise
from shoal.releases.manifest import hash_file
from shoal.releases.options import NO_INDIVIDUAL_ROWS, Progress
from shoal.releases.reader import parse_released_schema
from shoal.reports.context import read_context
from shoal.reports.options import ReportRequest, list_commands
from shoal.reports.redact import redact_composition
from shoal.reports.sections.composition import (
    CompositionEvidence,
    examine_composition,
)
from shoal.reports.sections.differential_privacy import explain_noise_promise
from shoal.reports.sections.usefulness import (
    RereadCounts,
    compare_with_original,
    measure_usefulness,
)
from shoal.verbs.verify import verify

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
