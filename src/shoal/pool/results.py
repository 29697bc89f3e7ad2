"""What the verbs of a pool return: for the trusted third party, and to be printed.

They name providers. Nobody's counts are in them, but for those of the one who hands in rows; what
is for the public is the release alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.core.labels import format_count
from shoal.core.release import EDITION, Release
from shoal.reports.pages.pool import list_open_risks, warn_of_single_provider


@dataclass(frozen=True)
class Agreed:
    """A new pool, for its providers to compare."""

    folder: Path
    agreement: str
    """The SHA-256 of the pool's ``pool.json``."""
    rule: str
    providers: tuple[str, ...]
    unjudged: tuple[str, ...] = ()
    """The sensitive columns that no requirement inside m-privacy is about."""
    outside: tuple[str, ...] = ()
    """The requirements that are not held against partners."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        texts = {"folder": str(self.folder), "agreement": self.agreement, "rule": self.rule}
        names = {"providers": self.providers, "unjudged": self.unjudged, "beside": self.outside}
        return {"edition": EDITION, **texts, **{key: list(values) for key, values in names.items()}}

    def __str__(self) -> str:
        open_ = list_open_risks({"unjudged": self.unjudged, "beside": self.outside})
        return "\n".join((f"agreement {self.agreement}", *open_))


@dataclass(frozen=True)
class Added:
    """What one provider handed in."""

    provider: str
    rows: int
    agreement: str
    sha256: str
    """Of the stored copy."""
    awaited: tuple[str, ...]
    """Who is still to hand in rows, where the agreement names the providers."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        facts = {"provider": self.provider, "rows": self.rows, "agreement": self.agreement}
        return {"edition": EDITION, **facts, "sha256": self.sha256, "awaited": list(self.awaited)}

    def __str__(self) -> str:
        return (
            f"{self.provider}: {format_count(self.rows, 'row')} added, agreement {self.agreement}"
        )


@dataclass(frozen=True)
class Status:
    """Who has handed in rows, and who is awaited: by name, without anybody's counts."""

    folder: Path
    agreement: str
    rule: str
    added: tuple[str, ...]
    awaited: tuple[str, ...]
    """Empty where the agreement names nobody."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        texts = {"folder": str(self.folder), "agreement": self.agreement, "rule": self.rule}
        return {
            "edition": EDITION,
            **texts,
            "added": list(self.added),
            "awaited": list(self.awaited),
        }

    def __str__(self) -> str:
        groups = {"rows added": self.added, "awaited": self.awaited}
        lines = [f"{label}: {', '.join(names) or 'nobody'}" for label, names in groups.items()]
        return "\n".join((f"agreement {self.agreement}", f"rule: {self.rule}", *lines))


@dataclass(frozen=True)
class Pooled:
    """The release of a pool, its certificate, and where the partners' pages are."""

    release: Release
    certificate: Mapping[str, Any]
    hash: str
    """The SHA-256 of ``certificate.json``."""
    folder: Path
    """What the partners get: the certificate, and a page for each of them."""
    pages: Mapping[str, str]
    """The file of each provider's page."""
    counts: Mapping[str, Any] = field(default_factory=dict)
    """How many classes survive 0, 1, … members, and how many are of one provider: for the third
    party alone, since a partner could take its own away."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON: for the third party, who knows all of it."""
        return {
            **self.release.to_json(),
            "certificate": {**self.certificate, "hash": self.hash},
            "partners": str(self.folder),
            "pages": dict(self.pages),
            "counts": dict(self.counts),
        }

    def __str__(self) -> str:
        of_one_provider, classes = (
            int(self.counts["of_one_provider"]),
            int(self.certificate["classes"]),
        )
        notes = (
            *warn_of_single_provider(of_one_provider, classes),
            *list_open_risks(self.certificate),
        )
        return "\n".join((str(self.release), f"certificate {self.hash}", *notes))
