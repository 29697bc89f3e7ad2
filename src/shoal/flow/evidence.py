"""What a report is written from: everything that was measured, verified and attacked.

`publishable` leaves what the public may know. It says nothing that stands on one person or a few:
no extremes, no row numbers, no worked examples, no names of files; what an attack or a publisher
wrote in free words is left out where it holds a number or such a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.flow.distribution import Distribution
from shoal.release import Finding, Judgement, Verdict
from shoal.risk import Assessment

FEWEST = 10
"""The public version tells nothing that fewer people than this stand behind."""
ORDINARY = frozenset(
    {"control", "data", "original", "other", "people", "population", "register", "release"}
    | {"releases", "row", "rows", "table", "targets"}
)
"""Names that files often have and that say nothing: words of any report."""
UNTOLD = "It had too little to work on."
"""Why an attack did not run, where its own words are not for the public."""


@dataclass(frozen=True)
class Described:
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
    sizes: Mapping[int, int]
    """Class size -> number of classes."""
    risk: Assessment
    columns: tuple[Described, ...] = ()
    sizes_before: Mapping[int, int] | None = None
    """The same of the original, where it was given."""
    distributions: tuple[Distribution, ...] = ()
    verdict: Verdict | None = None
    """None: no requirement was given."""
    measured: tuple[tuple[str, float], ...] = ()
    """What the table reaches for each model."""
    findings: tuple[Finding, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Empty for a table that Shoal did not make."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """What the private companion knows: rows held back, loss."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """The release, the other releases and the other tables, as they were named."""
    others: int = 0
    """How many other releases were attacked together with this one."""
    sensitive: str = "sensitive value"
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
    def exceeded(self) -> tuple[Finding, ...]:
        """The findings above the limit."""
        limit = 1.0 if self.limit is None else self.limit
        return tuple(one for one in self.findings if one.rate > limit)


def publishable(evidence: Evidence, fewest: int = FEWEST) -> Evidence:
    """The evidence without what is not for the public."""
    names = evidence.names
    told = [one for one in evidence.columns if one.fate != "dropped"]
    return replace(
        evidence,
        columns=tuple(replace(one, labels=None) for one in told),
        distributions=tuple(one.discreet(fewest) for one in evidence.distributions),
        verdict=None if evidence.verdict is None else _verdict(evidence.verdict),
        measured=(),
        findings=tuple(_finding(one, names) for one in evidence.findings),
        skipped=tuple((name, _said(why, names) or UNTOLD) for name, why in evidence.skipped),
        private={},
        names=(),
        commands=(),
        fewest=fewest,
    )


def _verdict(verdict: Verdict) -> Verdict:
    """Whether it holds and how that was found; not by how much, which the worst class decides."""
    parts = tuple(Judgement(one.model, one.holds, float("nan")) for one in verdict.judgements)
    return replace(verdict, judgements=parts, kept_columns_k=None)


def _finding(found: Finding, names: Sequence[str]) -> Finding:
    """How many people an attack succeeds on, and what helps; nothing about any one of them."""
    drawn = ("candidates_before", "candidates_after")
    return Finding(
        attack=found.attack,
        people=found.people,
        exposed=found.exposed,
        sure=float("nan"),
        guessing=found.guessing,
        sentence="",
        defence=_said(found.defence, names),
        assumptions=tuple(filter(None, (_said(one, names) for one in found.assumptions))),
        details={key: found.details[key] for key in drawn if key in found.details},
    )


def _said(words: str, names: Sequence[str]) -> str:
    """The words themselves, or nothing where they hold a number or an input's name."""
    telling = [name for name in names if len(name) > 2 and name not in ORDINARY]
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) for name in telling)
    return "" if named or re.search(r"\d", words) else words
