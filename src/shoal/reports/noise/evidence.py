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
from shoal.reports.sections.composition import CompositionEvidence, examine_composition
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
    """One published column: what it may hold by the schema, and in how many cells."""

    name: str
    role: str
    domain: str
    cells: int


@dataclass(frozen=True, kw_only=True)
class NoisyEvidence:
    """All facts of the report."""

    manifest: Mapping[str, Any]
    verdict: Verdict
    promise: Mapping[str, Any]
    columns: tuple[StatedDomain, ...]
    published_rows: int
    """The published file's rows: cells, or made-up people."""
    usefulness: Mapping[str, Any]
    """How large the noise is, by what is published."""
    errors: Mapping[str, Any] | None = None
    """How far counts and distributions are from the original's, where it was given."""
    rows: int | None = None
    """How many people there truly are, where the original was given."""
    is_other_original: bool = False
    """Whether the original that was given is certainly another file than the published one."""
    audit: Finding | None = None
    """What running the mechanism again showed, where the original was given."""
    composition: CompositionEvidence | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    public: bool = False

    @property
    def fewest(self) -> int:
        """How composition is rounded: above 1 for the public."""
        return 2 if self.public else 1

    @property
    def form(self) -> str:
        """Counts, or synthetic."""
        return str(self.manifest["form"])

    @property
    def releasable(self) -> bool:
        """Whether the noise is secret: that of a seed is not."""
        return bool(self.promise["releasable"])

    @property
    def holds(self) -> bool:
        """Whether the release keeps its promise."""
        return self.verdict.holds and self.releasable


def find_noise_release(release: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table and the manifest of a release of counts or made-up people; None for others."""
    located = find_release(release)
    return located if located and located[1].get("form") in NO_INDIVIDUAL_ROWS else None


def gather_noise_evidence(
    request: ReportRequest, table: Path, manifest: dict[str, Any], public: bool, progress: Progress
) -> NoisyEvidence:
    """Everything that the report states; for the ``public`` the original is not even read."""
    _refuse_row_options(request, str(manifest["form"]))
    context = read_context(request.context)
    progress("verifying", 0, 1)
    verdict = _verify_release(request.release, table, manifest)
    schema = parse_released_schema(manifest)
    plan = MarginalPlan(schema, build_all_bins(schema))
    reread = RereadCounts.of(table, plan, manifest)
    people = request.people or reread.people
    comparison, audit, reading = None, None, request.settings.get("reading") or {}
    if request.original is not None and not public:
        progress("comparing", 0, 1)
        comparison = compare_with_original(request.original, plan, reread, reading)
        if manifest.get("releasable") is True:
            audit = audit_mechanism(
                request.release, request.original, runs=RUNS, reading=reading, progress=progress
            )
    companion = find_companion(request.release, table)
    hidden = () if companion is None or public else companion.schema.columns
    roles = {column.name: column for column in schema.columns}
    return NoisyEvidence(
        manifest=manifest,
        verdict=verdict,
        promise=explain_noise_promise(manifest, request.prior, people) or {},
        columns=tuple(_describe_domain(roles[bins.name], bins) for bins in plan.bins),
        published_rows=verdict.rows,
        usefulness=measure_usefulness(reread),
        errors=None if comparison is None else comparison.to_json(),
        rows=None if comparison is None else comparison.rows,
        is_other_original=comparison is not None and is_other_original(companion, request.original),
        audit=audit,
        composition=_judge_composition(request, public, progress),
        context=context,
        dropped=tuple(column.name for column in hidden if column.name not in schema.names),
        hashes={"table": hash_file(table), "manifest": hash_file(table.parent / MANIFEST_NAME)},
        commands=_list_report_commands(request, public),
        public=public,
    )


def _refuse_row_options(request: ReportRequest, form: str) -> None:
    """Refuse what needs rows of people to be attacked or judged: there are none."""
    options = {
        "--with": request.others,
        "--targets": request.targets,
        "--control": request.control,
        "-m": request.rule,
        "--on": request.columns,
        "--limit": request.limit,
        "-s": request.schema,
    }
    if unfit := [flag for flag, value in options.items() if value not in (None, ())]:
        raise UsageError(
            f"A release of the form {form} has no row of anybody's: {', '.join(unfit)} "
            f"{'has' if len(unfit) == 1 else 'have'} no meaning for it.",
            f"leave {'it' if len(unfit) == 1 else 'them'} out.",
        )


def _verify_release(release: Any, table: Path, manifest: Mapping[str, Any]) -> Verdict:
    """A release that is not to be released has a report all the same."""
    try:
        return verify(release)
    except NotMetError:
        if manifest.get("releasable"):
            raise
        return recount_noise(table, manifest)


def _describe_domain(column: Column, bins: Bins) -> StatedDomain:
    if column.hierarchy is not None and not column.listed_values and not column.bounds:
        domain = "the leaves of its taxonomy"
    elif bins.bounds is not None and column.bounds is not None:
        domain = " to ".join(_format_bound(end, bins.kind) for end in column.bounds)
    else:
        domain = "the values of its domain"
    domain += ", or empty" if bins.null else ""
    return StatedDomain(column.name, column.role, domain, bins.size)


def _format_bound(end: float, kind: str) -> str:
    """Days are kept as numbers."""
    return date.fromordinal(int(end)).isoformat() if kind == "date" else f"{end:,.12g}"


def _judge_composition(
    request: ReportRequest, public: bool, progress: Progress
) -> CompositionEvidence:
    """The ledger's judgement; nothing is forecast."""
    composition = examine_composition(request, True, (), progress)
    public_part = redact_composition(composition) if public else composition
    return replace(public_part or composition, why=NO_FORECAST)


def _list_report_commands(request: ReportRequest, public: bool) -> tuple[str, ...]:
    """For the public without the names of files."""
    if public:
        return ("shoal verify RELEASE", "shoal report RELEASE --public -o report.html")
    return list_commands(request)
