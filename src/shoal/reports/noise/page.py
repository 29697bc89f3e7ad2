"""The page of a release that is counts, or people made up from counts: no row of it is anybody's.

A pure function of evidence, with the same skeleton as any other report (ISO/IEC 27559:2022): in
short, context, data, the promise in place of identifiability, how useful it is, what was tested,
other releases, what remains, governance. What nobody said is a line to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.release import Finding
from shoal.core.spend import format_budget, to_exact
from shoal.releases.companion import OTHER_ORIGINAL
from shoal.reports.context import build_context_section, build_governance_section
from shoal.reports.document import (
    Block,
    Callout,
    Fact,
    Fields,
    KeyFacts,
    Page,
    Section,
    Table,
    Text,
)
from shoal.reports.format import format_real
from shoal.reports.noise.evidence import NoisyEvidence
from shoal.reports.sections.composition import build_composition_section as beside
from shoal.reports.sections.composition import list_composition_facts as composed
from shoal.reports.sections.differential_privacy import (
    render_promise,
    render_promise_warnings,
    summarise_promise,
)
from shoal.reports.sections.usefulness import render_usefulness

TITLE = "Privacy report"
STATED = (
    "The file is whole and as its manifest says; ε follows from what the publisher states, and "
    "cannot be seen in the file."
)
NOTHING = "could show nothing"
TINY = 1e-9
"""A bound of this size is none, but for rounding."""
_KINDS = {
    "counts": "noisy counts: how many people there are in each cell, each count with noise",
    "synthetic": "synthetic: people made up from noisy counts; no row is anybody's",
}


def build_noise_page(evidence: NoisyEvidence, title: str | None = None, version: str = "") -> Page:
    """The report: for its publisher, or for everybody where the evidence is public."""
    return Page(
        title or TITLE,
        (
            _summary(evidence),
            build_context_section(evidence.context),
            _data(evidence),
            render_promise(evidence.promised),
            render_usefulness(evidence.useful, evidence.errors),
            *_tested(evidence),
            *beside(evidence.composing, 2 if evidence.public else 1),
            _mitigation(evidence),
            _governance(evidence, version),
        ),
        lead=write_noise_lead(evidence),
        foot=_foot(evidence, version),
        data=list_noise_facts(evidence),
    )


def list_noise_facts(evidence: NoisyEvidence) -> dict[str, Any]:
    """The outcome for programs."""
    audit = evidence.audited
    told: dict[str, Any] = {
        "public": evidence.public,
        "form": evidence.form,
        "holds": evidence.holds,
        "exceeded": [audit.attack] if audit is not None and audit.exposed else [],
        "findings": [] if audit is None else [audit.to_json()],
        "composition": composed(evidence.composing, 2 if evidence.public else 1),
        "privacy": evidence.promised,
        "useful": evidence.useful,
    }
    if evidence.public:
        return told
    return {
        **told,
        "verdict": evidence.verdict.to_json(),
        "rows": evidence.rows,
        "errors": evidence.errors,
    }


def write_noise_lead(evidence: NoisyEvidence) -> str:
    """The outcome in a sentence or two."""
    what = (
        "Noisy counts are published"
        if evidence.form == "counts"
        else ("People made up from noisy counts are published")
    )
    told = f"{what} under differential privacy ({_spent(evidence)})"
    if not evidence.releasable:
        return f"{told}, but the noise comes from a seed: NOT to be released."
    if not evidence.holds:
        return f"{told}, but the file does NOT hold what it promises."
    audit = evidence.audited
    if audit is not None and audit.exposed:
        return f"{told}, but an audit of the noise DISPROVES it: {audit.sentence}"
    return f"{told}, whatever else anybody knows. {STATED}{_withstood(audit)}"


def _withstood(audit: Finding | None) -> str:
    """What an audit adds that did not disprove anything."""
    if audit is None:
        return ""
    if _doubted(audit):
        return " An audit finds its counts further from the original's than noise takes them."
    shown = audit.details["epsilon_low"] > 0
    return f" An audit of the noise {'found nothing against it' if shown else NOTHING}."


def _doubted(audit: Finding) -> bool:
    """Whether the file's counts are not those of its noise, or the original is another table."""
    return bool(audit.details.get("file", {}).get("wrong"))


def _spent(evidence: NoisyEvidence) -> str:
    words = evidence.promised["words"]
    delta = "" if words["delta"] == "0" else f", δ {words['delta']}"
    return f"ε {words['epsilon']}{delta}"


def _summary(evidence: NoisyEvidence) -> Section:
    words, useful = evidence.promised["words"], evidence.useful
    delta = "pure: δ is 0" if words["delta"] == "0" else f"with δ {words['delta']}"
    rows = ("cells counted", useful["cells"], f"in {useful['tables']:,} tables")
    if evidence.form == "synthetic":
        rows = ("made-up people", evidence.lines, "as many as the noisy counts say")
    items = (
        Fact("privacy spent", f"ε {words['epsilon']}", delta),
        Fact(*rows),
        Fact(
            "noise of a count",
            f"±{format_real(useful['deviation'])}",
            "people, standard deviation",
        ),
        summarise_promise(evidence.promised),
    )
    return Section("In short", (), (KeyFacts(items), *_callouts(evidence)))


def _callouts(evidence: NoisyEvidence) -> list[Block]:
    blocks = render_promise_warnings(evidence.promised)
    if evidence.releasable and not evidence.holds:
        told = "What the manifest promises does not hold for the file. Do not publish it."
        blocks.append(Callout(told, "danger", "Promise not kept"))
    audit = evidence.audited
    if audit is not None and audit.exposed:
        blocks.append(Callout(f"{audit.sentence} {audit.defence}", "danger", "Disproved"))
    return blocks


# Data


def _data(evidence: NoisyEvidence) -> Section:
    head = ("column", "role", "what it may hold", "cells")
    rows = tuple((one.name, one.role, one.stated, one.cells) for one in evidence.columns)
    facts = [Fact("Form", _KINDS[evidence.form])]
    facts.append(Fact("File", f"{evidence.manifest['file']}, {evidence.lines:,} rows"))
    if "one_row" in evidence.manifest:
        facts.append(Fact("One row a person", str(evidence.manifest["one_row"])))
    facts += [Fact(f"SHA-256 of the {what}", f"`{one}`") for what, one in evidence.hashes.items()]
    if evidence.rows is not None:
        facts.append(Fact("People in the table", f"{evidence.rows:,}", "(exactly: not public)"))
    if evidence.another:
        facts.append(Fact("Note", f"{OTHER_ORIGINAL}."))
    told = (
        "What the table holds (data assessment). Which cells there are follows from the schema "
        "that its publisher stated, never from the rows: that a cell is there says nothing."
    )
    return Section("Data", (told,), (Table(head, rows), Fields(tuple(facts))))


# Tested


def _tested(evidence: NoisyEvidence) -> list[Section]:
    """What the audit of the noise found; the public is told nothing that the original decided."""
    if evidence.public:
        return []
    told = (
        "No file can show that noise was drawn as is promised. An audit draws it again, many "
        "times, on the table with one person and without, and looks how well the two can be told "
        "apart: that proves how much ε is at least. A bound above what is claimed disproves it; "
        "one below it is no proof that all is well."
    )
    audit = evidence.audited
    blocks: list[Block] = [Callout(_UNAUDITED, "note", "Not audited")]
    if audit is not None:
        shown = "good" if audit.details["epsilon_low"] > 0 else "note"
        tone = "danger" if audit.exposed else "warning" if _doubted(audit) else shown
        assumed = Fact("Assumes that", "; ".join(audit.assumptions))
        blocks = [_audit_facts(audit.details), Callout(audit.sentence, tone), Fields((assumed,))]
    return [Section("Adversarial testing", (told,), tuple(blocks))]


_UNAUDITED = (
    "Noise is audited on the table that the release was made of: give it with `--original`."
)


def _audit_facts(told: Mapping[str, Any]) -> KeyFacts:
    sure = f"shown with {100 * told['confidence']:g}% confidence"
    low, most = float(told["epsilon_low"]), format_real(float(told["most"]))
    rho = []
    if told.get("rho_low") is not None:
        claimed = f"; {format_real(float(told['rho_claimed']))} claimed"
        rho = [_at_least("ρ", float(told["rho_low"]), sure, claimed)]
    return KeyFacts(
        (
            Fact("ε claimed", format_budget(to_exact(told["epsilon_claimed"])), "by the manifest"),
            _at_least("ε", low, sure),
            *rho,
            Fact("runs", told["runs"], f"on each table: they could show an ε of {most} at most"),
        )
    )


def _at_least(name: str, low: float, sure: str, more: str = "") -> Fact:
    shown = low > TINY
    return Fact(
        f"{name} at least",
        format_real(low) if shown else "–",
        f"{sure if shown else NOTHING}{more}",
    )


# What remains


def _mitigation(evidence: NoisyEvidence) -> Section:
    done = [
        Fact("Form", _KINDS[evidence.form]),
        Fact("Mechanism", str(evidence.promised["privacy"]["mechanism"])),
        Fact("Privacy spent", _spent(evidence)),
    ]
    if evidence.dropped:
        done.append(Fact("Left out", ", ".join(evidence.dropped)))
    remains = (
        "What is promised is promised to each person, not to groups: what is common to many is "
        "what the release is for, and it may be held against somebody who was never in the table.",
        "Every further release about the same people spends more: epsilons add up. Keep a ledger "
        "of them, and refuse what goes beyond a budget.",
        "The promise rests on the noise being drawn as stated, on bounds and domains that nobody "
        "took from the rows, and on one row for each person.",
    )
    return Section(
        "Mitigation",
        ("What was done to protect the people in the table, and what remains.",),
        (Text("What was done"), Fields(tuple(done)), Text("What remains (residual risk)", remains)),
    )


def _governance(evidence: NoisyEvidence, version: str) -> Section:
    return build_governance_section(evidence.context, [Fact("Shoal", version)], evidence.commands)


def _foot(evidence: NoisyEvidence, version: str) -> str:
    made = f"Made by `shoal report` {version}".strip()
    if evidence.public:
        return f"{made}. For everybody: all of it follows from what is published."
    return f"{made}. For the publisher: it may hold facts that the published table does not."
