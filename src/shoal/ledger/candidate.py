"""What is written down of a release: read as it is published, and recorded in the open.

The open part of an entry says who released what, when, to whom and by which rule, with hashes and
counts; never a cell. What is needed to judge later releases is sealed (``sealed_release``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Schema
from shoal.core.spend import Number, Spend
from shoal.ledger.admission import Admission, summarise_for_entry
from shoal.ledger.admission_options import AdmissionOptions
from shoal.ledger.budget import read_recorded_spend, read_stated_spend
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.known_heads import hash_manifest
from shoal.ledger.noise_releases import (
    check_noise_spend,
    has_no_individual_rows,
    read_form,
    read_noise_table,
)
from shoal.ledger.recorded_releases import JUDGED_KINDS
from shoal.ledger.sealed_release import hash_table_content, pack_release
from shoal.releases.companion import Companion, find_release, read_companion
from shoal.releases.manifest import hash_file, hash_files
from shoal.releases.options import NO_INDIVIDUAL_ROWS, NOISY, Progress, ignore_progress
from shoal.releases.people_sketch import Sketch
from shoal.releases.published_table import PublishedTable, read_published_tables
from shoal.releases.reader import open_labels

RELEASE, FOREIGN = JUDGED_KINDS
PUBLISHER = "publisher"
MANIFEST_FACTS = ("rule", "method", "form", "based_on")
"""What an entry repeats of the manifest."""
SPEND_FACTS = ("spend", "privacy", "answers")
"""What a manifest has where its release spends something."""


@dataclass(frozen=True)
class Candidate:
    """A release that is to be judged or recorded: as it was read, and the hashes of its files."""

    published: PublishedTable
    table: str
    values: str = ""
    """Of its second table, where it has two."""
    manifest: str = ""
    entry_body: Mapping[str, Any] = field(default_factory=dict)
    """What its entry says, or is to say, of its spend and form, where that is known."""
    folder: Path | None = None
    """Where it was read from; None: a table in memory, or one out of the ledger."""
    place: Path | None = None
    """Where it lies, or is to lie once it is recorded."""
    sketch: Sketch | None = None
    """Of its people, where its companion has one."""

    @cached_property
    def packed(self) -> bytes:
        """What is sealed of it."""
        return pack_release(
            self.published, "" if self.place is None else str(self.place), self.sketch
        )

    @cached_property
    def spend(self) -> Spend:
        """What it spends: by its entry, else as it says itself."""
        return (
            read_recorded_spend(self.entry_body)
            if self.entry_body
            else read_stated_spend(self.published.manifest)
        )

    @property
    def form(self) -> str:
        """What form it has: by its entry, else as it says itself."""
        return str(self.entry_body.get("form") or read_form(self.published))

    def with_name(self, name: str | None) -> Candidate:
        """The same under another name, where one is given."""
        return self if name is None else replace(self, published=replace(self.published, name=name))

    def with_place(self, place: Path | None) -> Candidate:
        """The same, to be moved to a place, where one is given."""
        return self if place is None else replace(self, place=place.absolute())

    def facts(self) -> dict[str, Any]:
        """What is said of it in the open."""
        manifest = self.published.manifest or {}
        classes = {} if has_no_individual_rows(self.published) else {"classes": self._classes}
        columns = {column.name: column.role for column in self.published.schema.columns}
        repeated = {name: manifest[name] for name in MANIFEST_FACTS if manifest.get(name)}
        second = {"values_table": self.values} if self.values else {}
        spend = {"spend": self.spend.to_json()} if self.spend else {}
        return {
            "name": self.published.name,
            "table": self.table,
            **second,
            "manifest": self.manifest,
            **repeated,
            "rows": self.published.rows,
            **classes,
            "columns": columns,
            **spend,
            **({"sketched": True} if self.sketch is not None else {}),
        }

    @property
    def _classes(self) -> int:
        stated = (self.published.manifest or {}).get("classes")
        return int(stated or len(self.published.classes(self.published.quasi)[1]))


def read_candidate(
    source: Any, schema: Schema | None, *, own: bool = True, progress: Progress = ignore_progress
) -> Candidate:
    """Read a release that is to be recorded; ``own``: with its companion, if it is a folder.

    A folder's files must be those that its manifest was written for, and of a table of ours every
    column must have a role.
    """
    release = find_release(source)
    if release is None:
        _refuse_table_without_manifest(source)
        (published,) = read_published_tables([source], schema, progress)
        if own:
            _check_roles(source, published.roles)
        file = Path(source) if isinstance(source, str | Path) else None
        location = file.absolute() if file and file.is_file() else None
        return Candidate(
            published,
            hash_file(location) if location else hash_table_content(published),
            folder=location,
            place=location,
        )
    table, manifest = release
    files = _hash_files(table, manifest)
    companion = _read_companion(source, table) if own else None
    check_noise_spend(source, manifest)
    if manifest.get("form") in NO_INDIVIDUAL_ROWS:
        published = read_noise_table(table, manifest)
    else:
        (published,) = read_published_tables([source], schema, progress)
    location = table.absolute().parent
    return Candidate(
        published,
        files["sha256"],
        files.get("values_sha256", ""),
        hash_manifest(location),
        folder=location,
        place=location,
        sketch=None if companion is None else companion.sketch,
    )


def _hash_files(table: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    try:
        return hash_files(
            table, table.with_name(manifest["values"]) if "values" in manifest else None
        )
    except OSError as error:
        name = Path(error.filename or table).name
        raise InputError(
            f"The release has no file {name}, or it cannot be read.",
            "put the file back as it was published, or publish the release again.",
        ) from None


def _refuse_table_without_manifest(source: Any) -> None:
    """Refuse the table of a release that spends something without its manifest, which says so."""
    file = Path(source) if isinstance(source, str | Path) else None
    if file is None or not file.is_file() or not file.name.startswith("table."):
        return
    release = find_release(file.parent)
    if release is None or release[0].name != file.name:
        return
    if release[1].get("form") in NOISY or any(name in release[1] for name in SPEND_FACTS):
        raise UsageError(
            f"{file.name} is the table of a release whose manifest states what it spends.",
            "give the folder, and that is counted.",
        )


def _check_roles(source: Any, roles: Schema) -> None:
    """Refuse columns without a role: they would be published, and no attack would look at them."""
    with open_labels(source, roles, exact=False, partial=True) as frame:
        without_role = [field.name for field in frame.fields if field.name not in roles.names]
    if without_role:
        raise UsageError(
            f"The table has columns without a role: {', '.join(without_role)}.",
            "they would be published and not judged: give each a role in the schema, or drop it "
            "from the table.",
        )


def _read_companion(source: Any, table: Path) -> Companion:
    """A release of ours has its companion, which alone says how labels were made and whose rows."""
    try:
        companion = read_companion(source, table)
    except InputError as error:
        hint = f"{error.hint} A release that somebody else made: shoal ledger add-foreign."
        raise InputError(error.fact, hint) from None
    return companion


def build_release_body(
    candidate: Candidate, admission: Admission, to: str, options: AdmissionOptions
) -> dict[str, Any]:
    """The open part of the entry of a release that was judged."""
    judged = [
        {"entry": earlier.entry, "relation": earlier.relation, "how": earlier.how}
        for earlier in admission.judged_with
    ]
    return {
        "kind": RELEASE,
        "to": to,
        "about": admission.about,
        **candidate.facts(),
        "judged_with": judged,
        "findings": [summarise_for_entry(judged_finding) for judged_finding in admission.weighed],
        "unjudged": [number for number, _ in admission.unjudged],
        "defences": list(admission.defences),
        "columns_judged": sorted(
            {judged_finding.on for judged_finding in admission.weighed if judged_finding.on}
        ),
        "people_given": options.people is not None,
        **({} if admission.people_found is None else {"people_found": admission.people_found}),
        "l": options.l,
        "limit": float(options.limit),
        **({"budget_exceeded": True} if admission.spend.exceeded else {}),
        **({"accepted_risk": admission.accepted_risk} if admission.accepted_risk else {}),
    }


def build_foreign_body(candidate: Candidate, made_by: str, about: str, to: str) -> dict[str, Any]:
    """The open part of the entry of a release that somebody else made."""
    return {"kind": FOREIGN, "made_by": made_by, "to": to, "about": about, **candidate.facts()}


def apply_stated_spend(
    candidate: Candidate, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> Candidate:
    """A release with what its maker says that it spends; never less than its manifest states."""
    if epsilon is None and delta is None and rho is None:
        return candidate
    own = candidate.spend
    if rho is not None and candidate.form in NOISY:
        raise UsageError(
            "A ρ is given for a release whose noise says itself what it spends.",
            "leave --rho out, and what the manifest states is taken.",
        )
    stated = Spend(
        own.epsilon if epsilon is None else epsilon, own.delta if delta is None else delta, rho
    )
    if rho is not None and not (stated.epsilon and stated.delta):
        raise UsageError(
            "A ρ stands beside an epsilon and a delta; without a delta it is ε²/2.",
            "add --epsilon and --delta, or leave --rho out.",
        )
    if rho is None and Spend(stated.epsilon, stated.delta, own.rho) == own:
        stated = own
    if not own.within(stated) or (stated.rho is not None and stated.rho < (own.rho or 0)):
        raise UsageError(
            f"It is said to spend less than its manifest states: {own}.",
            "leave --epsilon, --delta and --rho out, and the manifest's are taken.",
        )
    return replace(candidate, entry_body={"spend": stated.to_json()} if stated else {})


def check_recorded_spend(candidate: Candidate, entry: Entry) -> None:
    """Refuse a release that states another spend than its entry, by which it is counted."""
    if candidate.spend and candidate.spend != (counted := read_recorded_spend(entry.body)):
        raise InputError(
            f"It is recorded already as entry {entry.number}, which counts "
            f"{f'{counted}' if counted else 'nothing'} for it, and not {candidate.spend}.",
            "whoever recorded it should say why; what it spends beyond that is in no account.",
        )


def hash_release_table(source: Any) -> str:
    """The hash of a release's table, by which its entry is found."""
    release = find_release(source)
    file = release[0] if release else Path(source) if isinstance(source, str | Path) else None
    if file is None:
        raise UsageError(
            "A table in memory has no hash of its own.", "give the release's folder or file."
        )
    if not file.is_file():
        raise InputError(
            f"The release has no file {file.name}.", "put it back, or publish the release again."
        )
    return hash_file(file)


def make_column_sensitive(published: PublishedTable, on: str) -> PublishedTable:
    """The release with a column that it keeps as one to be learnt."""
    if on not in published.unchanged_columns:
        raise UsageError(f"The release has no column {on!r} to learn.", "name another.")
    columns = [replace(c, role="sensitive") if c.name == on else c for c in published.roles.columns]
    return replace(published, roles=Schema(tuple(columns)))


def lend_hierarchies(published: PublishedTable, schema: Schema) -> PublishedTable:
    """The release with hierarchies and kinds from a schema where it has none."""
    lenders = {column.name: column for column in schema.columns}
    columns = tuple(
        replace(c, kind=c.kind or lenders[c.name].kind, hierarchy=lenders[c.name].hierarchy)
        if c.name in lenders and c.hierarchy is None
        else c
        for c in published.roles.columns
    )
    return replace(published, roles=Schema(columns))
