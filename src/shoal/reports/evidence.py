"""What a report is written from: everything that was measured, verified and attacked.

What of it may be public is decided in `shoal.reports.redact`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.core.release import Finding, Verdict
from shoal.measures.risk.assessment import Assessment
from shoal.releases.manifest import publishes_buckets
from shoal.releases.options import BUCKETS, CENTROIDS, PARTITION, RANDOMISED
from shoal.reports.distribution import Distribution
from shoal.reports.sections.collusion import CollusionEvidence
from shoal.reports.sections.composition import CompositionEvidence
from shoal.reports.sections.knowledge import KnowledgeEvidence
from shoal.verbs.red_team import select_worst_by_column

DROPPED = "dropped"
FATES = {
    PARTITION: {"quasi": "generalised", "sensitive": "published as it is", "keep": "kept as it is"},
    BUCKETS: {
        "quasi": "number of the class, drawn",
        "sensitive": "permuted within the bucket",
        "keep": "exact, as they were",
    },
    CENTROIDS: {
        "quasi": "mean, median or most frequent value of the class",
        "sensitive": "published as it is",
        "keep": "kept as it is",
    },
    RANDOMISED: {
        "quasi": "generalised",
        "sensitive": "kept or exchanged for another value, at random",
        "keep": "kept as it is",
    },
}
"""By form and role, what became of a column; those of other roles are dropped."""


@dataclass(frozen=True)
class ColumnFate:
    """One column of the table: what it is, and what became of it."""

    name: str
    role: str
    fate: str
    labels: int | None = None
    """How many different labels or values are published."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All facts of a report."""

    rows: int
    classes: int
    """Groups of rows that agree on quasi-identifiers and kept columns."""
    sizes: Mapping[int, int]
    """Class size -> number of such classes."""
    risk: Assessment
    columns: tuple[ColumnFate, ...] = ()
    sizes_before: Mapping[int, int] | None = None
    """The same of the original, where it was given."""
    distributions: tuple[Distribution, ...] = ()
    verdict: Verdict | None = None
    """None: no requirement was given."""
    measured: tuple[tuple[str, float], ...] = ()
    """What the table reaches for each model."""
    findings: tuple[Finding, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    knowledge: KnowledgeEvidence | None = None
    """The worst that knowledge beyond the table could do; never for the public."""
    collusion: CollusionEvidence | None = None
    """How the release stands against its own providers, where the private companion knows them."""
    promise: Mapping[str, Any] | None = None
    """What noise promises, what that means, and what answers say; None without noise."""
    composition: CompositionEvidence | None = None
    """How it stands together with earlier releases, and with those that others may make."""
    context: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Empty for a table that Shoal did not make."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """What the private companion knows: suppressed rows, loss."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    n_other_releases: int = 0
    """How many other releases were attacked together with this one."""
    has_targets: bool = False
    attacked_columns: tuple[str, ...] = ()
    unattacked_columns: tuple[str, ...] = ()
    columns_without_rule: tuple[str, ...] = ()
    """Sensitive columns that no requirement is about, where there is one."""
    limit: float | None = None
    commands: tuple[str, ...] = ()
    seed: int = 0
    fewest: int = 1
    """More than 1: the version for the public."""

    @property
    def public(self) -> bool:
        """Whether this is what the public may know."""
        return self.fewest > 1

    @property
    def in_buckets(self) -> bool:
        """Whether classes are buckets: columns are exact, values are permuted within each."""
        return publishes_buckets(self.manifest)

    @property
    def releasable(self) -> bool:
        """Whether it may be released at all: not where its noise comes from a seed."""
        return self.promise is None or bool(self.promise["releasable"])

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns that are published as they are and that no requirement judges."""
        return tuple(column.name for column in self.columns if column.role == "keep")

    @property
    def worst(self) -> Finding | None:
        """The attack that exposes the largest share of people: findings come ranked by it."""
        successful = (finding for finding in self.findings if finding.exposed)
        return next(successful, self.findings[0] if self.findings else None)

    @property
    def most_confident(self) -> Finding | None:
        """The attack that leaves the least doubt about somebody, on the column where it does."""
        by_column = (each for finding in self.findings for each in finding.per_column)
        return max(by_column, key=lambda finding: finding.sure, default=None)

    def find_worst(self, column: str) -> Finding | None:
        """The worst that an attack found of one column."""
        return next((finding for finding in self.by_column if finding.on == column), None)

    @property
    def by_column(self) -> tuple[Finding, ...]:
        """The worst finding on each attacked column, the worst column first."""
        return select_worst_by_column(self.findings)

    @property
    def attacks_several_columns(self) -> bool:
        """Whether attacks tried to learn more than one column."""
        return len(self.attacked_columns) > 1

    def name_attack(self, finding: Finding) -> str:
        """An attack by its name, and where several columns are attacked by the column too."""
        with_column = self.attacks_several_columns and finding.on
        return f"{finding.attack} on {finding.on}" if with_column else finding.attack

    @property
    def above_limit(self) -> tuple[Finding, ...]:
        """The findings above the limit; where none is set, no finding is."""
        limit = 1.0 if self.limit is None else self.limit
        return tuple(finding for finding in self.findings if finding.rate > limit)
