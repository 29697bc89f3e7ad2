"""The report of noisy counts, or of people made up from them: from evidence to a page.

Nothing is read or measured here. The sections are those of any other report (ISO/IEC 27559:2022),
with the promise in place of identifiability, and usefulness after it.
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
from shoal.reports.sections.composition import build_composition_section, list_composition_facts
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
            _build_summary(evidence),
            build_context_section(evidence.context),
            _build_data_section(evidence),
            render_promise(evidence.promise),
            render_usefulness(evidence.usefulness, evidence.errors),
            *_build_testing_section(evidence),
            *build_composition_section(evidence.composition, evidence.fewest),
            _build_mitigation_section(evidence),
            build_governance_section(evidence.context, [Fact("Shoal", version)], evidence.commands),
        ),
        lead=write_noise_lead(evidence),
        foot=_write_foot(evidence, version),
        data=list_noise_facts(evidence),
    )


def list_noise_facts(evidence: NoisyEvidence) -> dict[str, Any]:
    """The outcome for programs."""
    audit = evidence.audit
    facts: dict[str, Any] = {
        "public": evidence.public,
        "form": evidence.form,
        "holds": evidence.holds,
        "exceeded": [audit.attack] if audit is not None and audit.exposed else [],
        "findings": [] if audit is None else [audit.to_json()],
        "composition": list_composition_facts(evidence.composition, evidence.fewest),
        "privacy": evidence.promise,
        "useful": evidence.usefulness,
    }
    if evidence.public:
        return facts
    return {
        **facts,
        "verdict": evidence.verdict.to_json(),
        "rows": evidence.rows,
        "errors": evidence.errors,
    }


def write_noise_lead(evidence: NoisyEvidence) -> str:
    """The outcome in a sentence or two."""
    subject = "Noisy counts" if evidence.form == "counts" else "People made up from noisy counts"
    lead = f"{subject} are published under differential privacy ({_state_spend(evidence)})"
    if not evidence.releasable:
        return f"{lead}, but the noise comes from a seed: NOT to be released."
    if not evidence.holds:
        return f"{lead}, but the file does NOT hold what it promises."
    audit = evidence.audit
    if audit is not None and audit.exposed:
        return f"{lead}, but an audit of the noise DISPROVES it: {audit.sentence}"
    return f"{lead}, whatever else anybody knows. {STATED}{_state_audit(audit)}"


def _state_audit(audit: Finding | None) -> str:
    """What an audit adds that did not disprove anything."""
    if audit is None:
        return ""
    if _is_doubtful(audit):
        return " An audit finds its counts further from the original's than noise takes them."
    shown = audit.details["epsilon_low"] > 0
    return f" An audit of the noise {'found nothing against it' if shown else NOTHING}."


def _is_doubtful(audit: Finding) -> bool:
    """Whether the file's counts are not those of its noise, or the original is another table."""
    return bool(audit.details.get("file", {}).get("wrong"))


def _state_spend(evidence: NoisyEvidence) -> str:
    words = evidence.promise["words"]
    delta = "" if words["delta"] == "0" else f", δ {words['delta']}"
    return f"ε {words['epsilon']}{delta}"


def _build_summary(evidence: NoisyEvidence) -> Section:
    words, useful = evidence.promise["words"], evidence.usefulness
    delta = "pure: δ is 0" if words["delta"] == "0" else f"with δ {words['delta']}"
    rows = ("cells counted", useful["cells"], f"in {useful['tables']:,} tables")
    if evidence.form == "synthetic":
        rows = ("made-up people", evidence.published_rows, "as many as the noisy counts say")
    items = (
        Fact("privacy spent", f"ε {words['epsilon']}", delta),
        Fact(*rows),
        Fact(
            "noise of a count",
            f"±{format_real(useful['deviation'])}",
            "people, standard deviation",
        ),
        summarise_promise(evidence.promise),
    )
    return Section("In short", (), (KeyFacts(items), *_list_callouts(evidence)))


def _list_callouts(evidence: NoisyEvidence) -> list[Block]:
    blocks = render_promise_warnings(evidence.promise)
    if evidence.releasable and not evidence.holds:
        text = "What the manifest promises does not hold for the file. Do not publish it."
        blocks.append(Callout(text, "danger", "Promise not kept"))
    audit = evidence.audit
    if audit is not None and audit.exposed:
        blocks.append(Callout(f"{audit.sentence} {audit.defence}", "danger", "Disproved"))
    return blocks


# Data


def _build_data_section(evidence: NoisyEvidence) -> Section:
    head = ("column", "role", "what it may hold", "cells")
    rows = tuple(
        (column.name, column.role, column.domain, column.cells) for column in evidence.columns
    )
    facts = [Fact("Form", _KINDS[evidence.form])]
    facts.append(Fact("File", f"{evidence.manifest['file']}, {evidence.published_rows:,} rows"))
    if "one_row" in evidence.manifest:
        facts.append(Fact("One row a person", str(evidence.manifest["one_row"])))
    facts += [
        Fact(f"SHA-256 of the {what}", f"`{file_hash}`")
        for what, file_hash in evidence.hashes.items()
    ]
    if evidence.rows is not None:
        facts.append(Fact("People in the table", f"{evidence.rows:,}", "(exactly: not public)"))
    if evidence.is_other_original:
        facts.append(Fact("Note", f"{OTHER_ORIGINAL}."))
    intro = (
        "What the table holds (data assessment). Which cells there are follows from the schema "
        "that its publisher stated, never from the rows: that a cell is there says nothing."
    )
    return Section("Data", (intro,), (Table(head, rows), Fields(tuple(facts))))


# Tested


def _build_testing_section(evidence: NoisyEvidence) -> list[Section]:
    """What the audit of the noise found; the public learns nothing that the original decided."""
    if evidence.public:
        return []
    intro = (
        "No file can show that noise was drawn as is promised. An audit draws it again, many "
        "times, on the table with one person and without, and looks how well the two can be told "
        "apart: that proves how much ε is at least. A bound above what is claimed disproves it; "
        "one below it is no proof that all is well."
    )
    audit = evidence.audit
    blocks: list[Block] = [Callout(_UNAUDITED, "note", "Not audited")]
    if audit is not None:
        shown = "good" if audit.details["epsilon_low"] > 0 else "note"
        tone = "danger" if audit.exposed else "warning" if _is_doubtful(audit) else shown
        assumed = Fact("Assumes that", "; ".join(audit.assumptions))
        blocks = [
            _make_audit_facts(audit.details),
            Callout(audit.sentence, tone),
            Fields((assumed,)),
        ]
    return [Section("Adversarial testing", (intro,), tuple(blocks))]


_UNAUDITED = (
    "Noise is audited on the table that the release was made of: give it with `--original`."
)


def _make_audit_facts(details: Mapping[str, Any]) -> KeyFacts:
    confidence = f"shown with {100 * details['confidence']:g}% confidence"
    low, most = float(details["epsilon_low"]), format_real(float(details["most"]))
    claimed = format_budget(to_exact(details["epsilon_claimed"]))
    rho = []
    if details.get("rho_low") is not None:
        claim = f"; {format_real(float(details['rho_claimed']))} claimed"
        rho = [_make_bound_fact("ρ", float(details["rho_low"]), confidence, claim)]
    return KeyFacts(
        (
            Fact("ε claimed", claimed, "by the manifest"),
            _make_bound_fact("ε", low, confidence),
            *rho,
            Fact("runs", details["runs"], f"on each table: they could show an ε of {most} at most"),
        )
    )


def _make_bound_fact(name: str, low: float, confidence: str, claim: str = "") -> Fact:
    shown = low > TINY
    return Fact(
        f"{name} at least",
        format_real(low) if shown else "–",
        f"{confidence if shown else NOTHING}{claim}",
    )


# What remains


def _build_mitigation_section(evidence: NoisyEvidence) -> Section:
    done = [
        Fact("Form", _KINDS[evidence.form]),
        Fact("Mechanism", str(evidence.promise["privacy"]["mechanism"])),
        Fact("Privacy spent", _state_spend(evidence)),
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


def _write_foot(evidence: NoisyEvidence, version: str) -> str:
    origin = f"Made by `shoal report` {version}".strip()
    if evidence.public:
        return f"{origin}. For everybody: all of it follows from what is published."
    return f"{origin}. For the publisher: it may hold facts that the published table does not."
