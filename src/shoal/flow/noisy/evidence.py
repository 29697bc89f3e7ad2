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

from shoal.column import Column
from shoal.errors import NotMetError, UsageError
from shoal.flow.auditing import auditing
from shoal.flow.companion import companion_at_hand, is_another, released
from shoal.flow.composing import Composing, composing, publishable
from shoal.flow.context import read_context
from shoal.flow.given import Given, commands
from shoal.flow.noisy.accuracy import Reread, compared, useful
from shoal.flow.noisy.planned import Plan
from shoal.flow.noisy.promised import promised
from shoal.flow.noisy.verified import recounted
from shoal.flow.opening import released_schema
from shoal.flow.record import sha256
from shoal.flow.request import OF_NOBODY, Progress
from shoal.flow.verify import verify
from shoal.noise.bins import Bins, all_bins
from shoal.release import MANIFEST, Finding, Verdict

NO_FORECAST = (
    "None is needed: whatever somebody else publishes, this release adds to it no more than its "
    "own ε allows. The epsilons of releases made by noise add up."
)
"""Why releases that others may make are not forecast."""
RUNS = 1_000
"""How often a report runs the mechanism again: seconds; `shoal attack auditing` asks harder."""


@dataclass(frozen=True)
class Domain:
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
    columns: tuple[Domain, ...]
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
    composing: Composing | None = None
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


def of_noise(release: Any) -> tuple[Path, dict[str, Any]] | None:
    """The table and the manifest of a release of counts or made-up people; None for others."""
    found = released(release)
    return found if found and found[1].get("form") in OF_NOBODY else None


def gathered(
    given: Given, table: Path, manifest: dict[str, Any], public: bool, progress: Progress
) -> NoisyEvidence:
    """Everything that the report tells; for the ``public`` the original is not even read."""
    _check(given, str(manifest["form"]))
    context = read_context(given.context)
    progress("verifying", 0, 1)
    verdict = _verified(given.release, table, manifest)
    schema = released_schema(manifest)
    plan = Plan(schema, all_bins(schema))
    read = Reread.of(table, plan, manifest)
    found, audit, reading = None, None, given.settings.get("reading") or {}
    if given.original is not None and not public:
        progress("comparing", 0, 1)
        found = compared(given.original, plan, read, reading)
        if manifest.get("releasable") is True:
            audit = auditing(
                given.release, given.original, runs=RUNS, reading=reading, progress=progress
            )
    own = companion_at_hand(given.release, table)
    hidden = () if own is None or public else own.schema.columns
    roles = {column.name: column for column in schema.columns}
    return NoisyEvidence(
        manifest=manifest,
        verdict=verdict,
        promised=promised(manifest, given.prior, given.people or read.people) or {},
        columns=tuple(_domain(roles[one.name], one) for one in plan.bins),
        lines=verdict.rows,
        useful=useful(read),
        errors=None if found is None else found.to_json(),
        rows=None if found is None else found.rows,
        another=found is not None and is_another(own, given.original),
        audited=audit,
        composing=_composing(given, public, progress),
        context=context,
        dropped=tuple(column.name for column in hidden if column.name not in schema.names),
        hashes={"table": sha256(table), "manifest": sha256(table.parent / MANIFEST)},
        commands=_commands(given, public),
        public=public,
    )


def _check(given: Given, form: str) -> None:
    """Refuse what would have to be attacked or judged by rows: no row is anybody's."""
    asked = {
        "--with": given.others, "--targets": given.targets, "--control": given.control,
        "-m": given.rule, "--on": given.columns, "--limit": given.limit, "-s": given.schema,
    }  # fmt: skip
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
        return recounted(table, manifest)


def _domain(column: Column, bins: Bins) -> Domain:
    if column.hierarchy is not None and not column.listed and not column.bounds:
        stated = "the leaves of its taxonomy"
    elif bins.bounds is not None and column.bounds is not None:
        stated = " to ".join(_end(end, bins.kind) for end in column.bounds)
    else:
        stated = "the values of its domain"
    return Domain(column.name, column.role, stated + (", or empty" if bins.null else ""), bins.size)


def _end(end: float, kind: str) -> str:
    """A bound as a person writes it: days are kept as numbers."""
    return date.fromordinal(int(end)).isoformat() if kind == "date" else f"{end:,.12g}"


def _composing(given: Given, public: bool, progress: Progress) -> Composing:
    """What the ledger says of it; nothing is forecast."""
    found = composing(given, True, (), progress)
    told = publishable(found) if public else found
    return replace(told or found, why=NO_FORECAST)


def _commands(given: Given, public: bool) -> tuple[str, ...]:
    """What to type to have it again; for the public without the names of files."""
    if public:
        return ("shoal verify RELEASE", "shoal report RELEASE --public -o report.html")
    return commands(given)
