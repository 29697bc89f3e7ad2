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
    knowing: KnowledgeEvidence | None = None
    """The worst that knowledge beyond the table could do; never for the public."""
    colluding: CollusionEvidence | None = None
    """How the release stands against its own providers, where the private companion knows them."""
    promised: Mapping[str, Any] | None = None
    """What noise promises, what that means, and what answers tell; None without noise."""
    composing: CompositionEvidence | None = None
    """How it stands beside earlier releases, and beside those that others may make."""
    context: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Empty for a table that Shoal did not make."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """What the private companion knows: rows held back, loss."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    others: int = 0
    """How many other releases were attacked together with this one."""
    people: bool = False
    """Whether there were people to look for."""
    learnt: tuple[str, ...] = ()
    """The columns that attacks tried to learn."""
    unlearnt: tuple[str, ...] = ()
    """Sensitive columns that no attack tried to learn."""
    unjudged: tuple[str, ...] = ()
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
    def buckets(self) -> bool:
        """Whether its classes are buckets: columns are exact, and values are anybody's there."""
        return publishes_buckets(self.manifest)

    @property
    def releasable(self) -> bool:
        """Whether it may be released at all: not where its noise comes from a seed."""
        return self.promised is None or bool(self.promised["releasable"])

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are published as they are and that no requirement judges."""
        return tuple(one.name for one in self.columns if one.role == "keep")

    @property
    def worst(self) -> Finding | None:
        """The attack that exposes the largest share of people: findings come ranked by it."""
        successful = (one for one in self.findings if one.exposed)
        return next(successful, self.findings[0] if self.findings else None)

    @property
    def surest(self) -> Finding | None:
        """The attack that leaves the least doubt about somebody, by the column where it does."""
        each = (one for found in self.findings for one in found.per_column)
        return max(each, key=lambda one: one.sure, default=None)

    @property
    def by_column(self) -> tuple[Finding, ...]:
        """Of each column that is learnt the worst that an attack found, the worst column first."""
        return select_worst_by_column(self.findings)

    @property
    def several(self) -> bool:
        """Whether attacks tried to learn more than one column."""
        return len(self.learnt) > 1

    def named(self, found: Finding) -> str:
        """An attack by its name, and where several columns are learnt by the column too."""
        return f"{found.attack} on {found.on}" if self.several and found.on else found.attack

    @property
    def exceeded(self) -> tuple[Finding, ...]:
        """The findings above the limit."""
        limit = 1.0 if self.limit is None else self.limit
        return tuple(one for one in self.findings if one.rate > limit)
