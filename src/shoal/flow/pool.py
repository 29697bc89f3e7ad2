"""A pool: several providers publish one table, on one machine, by a trusted third party.

They agree on a schema and on a rule that holds against each other (m-privacy; S. Goryczka, L. Xiong
and B. C. M. Fung: m-privacy for collaborative data publishing, CollaborateCom 2011, section I, the
setting with a trusted third party); each hands in its rows; one release is made of all of them.
The partners get a joint certificate, and each of them a page on what the others could learn.

The third party sees every row. It is not protected against, nor is anything encrypted: without
such a party a secure multi-party protocol would be needed, which this is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.flow import folder, pool_rows
from shoal.flow import pool_partners as partners
from shoal.flow.opening import opened
from shoal.flow.pool_agreement import Agreement, agreed, check_agreement, named
from shoal.flow.pool_store import Pool, alone, create, load
from shoal.flow.providers import many
from shoal.flow.publish import publish
from shoal.flow.request import Progress, quiet
from shoal.model import Model
from shoal.pages import pooled
from shoal.release import EDITION, Release
from shoal.schema import Schema

METHOD = "provider-aware"


@dataclass(frozen=True)
class Agreed:
    """A new pool, for its providers to compare."""

    folder: Path
    agreement: str
    """The SHA-256 of the pool's ``pool.json``."""
    rule: str
    providers: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"folder": str(self.folder), "agreement": self.agreement, "rule": self.rule}
        return {"edition": EDITION, **told, "providers": list(self.providers)}

    def __str__(self) -> str:
        return f"agreement {self.agreement}"


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
        told = {"provider": self.provider, "rows": self.rows, "agreement": self.agreement}
        return {"edition": EDITION, **told, "sha256": self.sha256, "awaited": list(self.awaited)}

    def __str__(self) -> str:
        return f"{self.provider}: {many(self.rows, 'row')} added, agreement {self.agreement}"


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
        told = {"folder": str(self.folder), "agreement": self.agreement, "rule": self.rule}
        return {
            "edition": EDITION, **told, "added": list(self.added), "awaited": list(self.awaited),
        }  # fmt: skip

    def __str__(self) -> str:
        who = {"rows added": self.added, "awaited": self.awaited}
        lines = [f"{label}: {', '.join(names) or 'nobody'}" for label, names in who.items()]
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

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON: for the third party, who knows all of it."""
        return {
            **self.release.to_json(),
            "certificate": {**self.certificate, "hash": self.hash},
            "partners": str(self.folder),
            "pages": dict(self.pages),
        }

    def __str__(self) -> str:
        open_ = pooled.left_open(self.certificate)
        return "\n".join((str(self.release), f"certificate {self.hash}", *open_))


def pool_init(
    pool: str | Path,
    schema: Schema,
    rule: Model | str,
    *,
    method: str = METHOD,
    providers: Sequence[str] = (),
    hold_back: float = 0.0,
    **parameters: Any,
) -> Agreed:
    """Make the folder of a new pool; its ``agreement`` is what every provider should compare.

    ``rule`` must hold against the providers themselves: ``m-privacy m=1 (…)``, with everything
    inside that can be judged so. The schema states the kind of every column. With ``providers``
    the pool is complete when all of them have added their rows; ``hold_back`` and further
    ``parameters`` are as in ``shoal.publish``.
    """
    agreement = agreed(
        schema,
        rule,
        method=method,
        providers=providers,
        hold_back=hold_back,
        parameters=parameters,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    made = create(_named(pool), agreement)
    return Agreed(made.folder, made.hash, str(agreement.rule), agreement.providers)


def pool_add(
    pool: str | Path,
    provider: str,
    source: Any,
    *,
    agreement: str | None = None,
    replace: bool = False,
    **reading: Any,
) -> Added:
    """Hand in one provider's rows: checked against the agreed schema, and kept private.

    ``agreement`` is the hash that the provider agreed on (its first digits are enough); rows that
    were handed in before are kept unless ``replace``. Identifiers are not stored; who a row is
    about (role person) is, as it stands, so that nobody is published twice. ``reading`` says how
    the file is written, as in ``shoal.open``.
    """
    name = named(provider)
    with alone(_named(pool)) as found:
        check_agreement(found.hash, agreement)
        found.agreement.check_name(name, (*found.names, *found.agreement.providers))
        if name in found.names and not replace:
            raise InputError(
                f"{name!r} has added its rows already.", "put others in their place with --replace."
            )
        rows = pool_rows.read(source, found.agreement, name, reading)
        content = pool_rows.content_of(rows, found.agreement.column.name)
        pool_rows.check_new(found, name, rows, content)
        after = found.with_rows(name, rows, content)
    stored = next(member for member in after.members if member.provider == name)
    return Added(name, stored.rows, after.hash, stored.sha256, after.awaited)


def pool_status(pool: str | Path) -> Status:
    """Who has added rows to a pool and who is awaited, and what was agreed on."""
    found = load(_named(pool))
    names = tuple(sorted(found.names))
    return Status(found.folder, found.hash, str(found.agreement.rule), names, found.awaited)


def pool_publish(
    pool: str | Path,
    out: str | Path,
    *,
    agreement: str | None = None,
    replace: bool = False,
    format: str = "csv",
    progress: Progress = quiet,
) -> Pooled:
    """One release of everybody's rows, verified; a joint certificate; a page for each provider.

    Beside the release and its private companion a folder ``OUT.partners`` is written, with the
    certificate and the pages; where anything fails, nothing is. The pool stays as it is, and
    nobody else can add to it meanwhile.
    """
    place, home = _named(out), _named(pool)
    companion, beside = folder.companion_of(place), partners.partners_of(place)
    with alone(home) as found:
        check_agreement(found.hash, agreement)
        _check_complete(found)
        folder.check_free(place, companion, replace)
        partners.check_free(beside, replace)
        rows = found.rows()
        with folder.aside(place) as (root,):
            release = _published(found.agreement, rows, root / place.name, format, progress)
            progress("looking from every side", 0, 1)
            told = partners.facts(found, release, date.today())
            signature, pages = partners.write(root / beside.name, told)
            new, hidden = root / place.name, folder.companion_of(root / place.name)
            folder.move((hidden, companion), (root / beside.name, beside), (new, place))
    release = _moved(release, place, companion)
    return Pooled(release, told.certificate, signature, beside, pages)


def _check_complete(pool: Pool) -> None:
    """Everybody is there, and there are enough of them."""
    if pool.awaited:
        have = "has" if len(pool.awaited) == 1 else "have"
        raise InputError(
            f"{len(pool.awaited):,} of {len(pool.agreement.providers):,} providers {have} added no "
            f"rows: {', '.join(pool.awaited)}.",
            pool.adding(pool.awaited[0]),
        )
    if not pool.members:
        raise InputError("Nobody has added rows to the pool.", pool.adding("NAME"))
    pool.agreement.check_names(pool.names)


def _published(
    agreement: Agreement, rows: pa.Table, out: Path, format: str, progress: Progress
) -> Release:
    schema = pool_rows.stored(agreement.schema)
    with opened(rows, kinds=schema.kinds, nulls=()) as frame:  # nulls are nulls by now
        return publish(
            frame,
            schema,
            agreement.rule,
            method=agreement.method,
            out=out,
            format=format,
            hold_back=agreement.hold_back,
            progress=progress,
            **agreement.parameters,
        )


def _moved(release: Release, out: Path, companion: Path) -> Release:
    return replace(release, folder=out, companion=companion)


def _named(folder: str | Path) -> Path:
    """The folder by a path that ends in its name, which ``.`` and ``..`` do not."""
    path = Path(folder)
    return path if path.name not in ("", "..") else Path(os.path.abspath(path))
