"""What may stand in a public report: every part of the evidence goes through here first.

Each function takes what was measured for the publisher and returns what everybody may know.

* Of attacks: on how many people they succeed, rounded, in words from a closed list
  (`shoal.reports.attack_wording`). No extremes, no row numbers, no worked examples, no names of
  files; nothing of attacks by those who provided the rows.
* Of the requirement: whether it holds, not by how much, which the worst class decides.
* Of providers, whom the private companion alone knows: what the manifest promises, and whether
  that was kept.
* Of other releases: how many it was judged with, on how many people attacks succeed, rounded, the
  forecast as one rounded figure, what is spent of the privacy budget, and the place in the ledger;
  not which releases they were, nor the reason why a risk was accepted.
* Of background knowledge, and of the private companion: nothing.

Class sizes and distributions of the original are still drawn, rounded and without bars for a few
people; how counts and shares are rounded is in `shoal.reports.format`. The context and the title
are printed as the steward wrote them. A release of noise (`shoal.reports.noise.evidence`) does not
read the original at all for its public report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.core.release import Finding, Judgement, Verdict
from shoal.releases.published_table import is_made_class_by_class
from shoal.reports.attack_wording import (
    ATTACK_WORDING,
    SEVERAL_CLASSES_DECIDED,
    describe_consequence,
    describe_defence,
    explain_unfit_for_answers,
    explain_unfit_for_buckets,
    explain_unmet_needs,
    is_by_insiders,
    list_assumptions,
    remakes_classes,
)
from shoal.reports.evidence import DROPPED, Evidence
from shoal.reports.format import format_percent, speak_share, state_count, state_share
from shoal.reports.sections.collusion import CollusionEvidence
from shoal.reports.sections.composition import CompositionEvidence

FEWEST = 10
"""The public version states nothing that fewer people than this stand behind."""
PUBLIC_DETAILS = (
    "candidates_before",
    "candidates_after",
    "location",
    "sure",
    "times",
    "classes",
    "examined_classes",
    "adversary",
    "answers",
)
"""The details of a finding that a public page uses: options, and counts that it rounds."""
PUBLIC_ANSWER_DETAILS = ("epsilon", "largest_prior", "foretold", "bound")
"""What homogeneity adds about answers: it follows from the published file alone."""
PUBLIC_FINDING_FIELDS = (
    "attack",
    "on",
    "people",
    "exposed",
    "beyond",
    "limit",
    "exceeds",
    "answered_by",
)
"""What the public learns of a ledger's finding, besides what helps in fixed words."""
NO_FORECAST = (
    "None is made: answers exclude no value, whatever they are joined with. What they say together "
    "with other releases made by noise is bounded by the sum of all epsilons."
)
"""Why nothing is forecast of a randomised release."""


def redact_evidence(evidence: Evidence, fewest: int = FEWEST) -> Evidence:
    """The evidence without what is not for the public; no count below ``fewest`` is stated."""
    published = [column for column in evidence.columns if column.fate != DROPPED]
    by_outsiders = [f for f in evidence.findings if not is_by_insiders(f.attack)]
    return replace(
        evidence,
        columns=tuple(replace(column, labels=None) for column in published),
        distributions=tuple(column.redact(fewest) for column in evidence.distributions),
        verdict=None if evidence.verdict is None else redact_verdict(evidence.verdict),
        measured=(),
        findings=tuple(map(redact_finding, by_outsiders)),
        skipped=tuple(
            (attack, _explain_skipped(attack, evidence))
            for attack, _ in evidence.skipped
            if not is_by_insiders(attack)
        ),
        knowledge=None,
        collusion=redact_collusion(evidence.collusion),
        composition=_redact_composition_of(evidence),
        private={},
        commands=(),
        fewest=fewest,
    )


def redact_verdict(verdict: Verdict) -> Verdict:
    """Whether it holds and how that was found; not by how much, which the worst class decides."""
    parts = tuple(Judgement(part.model, part.holds, float("nan")) for part in verdict.judgements)
    return replace(verdict, judgements=parts, kept_columns_k=None)


def redact_finding(finding: Finding) -> Finding:
    """How many people an attack succeeds on, and what helps; nothing about any one of them."""
    answers = PUBLIC_ANSWER_DETAILS if finding.attack == "homogeneity" else ()
    names = [name for name in (*PUBLIC_DETAILS, *answers) if name in finding.details]
    return Finding(
        attack=finding.attack,
        people=finding.people,
        exposed=finding.exposed,
        sure=float("nan"),
        guessing=float("nan"),
        sentence="",
        defence=describe_defence(finding),
        assumptions=list_assumptions(finding),
        details={
            **{name: finding.details[name] for name in names},
            "sampled": finding.interval is not None,
        },
        on=finding.on,
        by_column=tuple(map(redact_finding, finding.by_column)),
    )


def write_public_sentence(finding: Finding, fewest: int) -> str:
    """What an attack found, in words that are safe to publish."""
    people = f"{state_count(finding.people, fewest)} people"
    people += " drawn at random" if finding.details.get("sampled") else ""
    if finding.exposed:
        exposed = state_count(finding.exposed, fewest)
        share = speak_share(state_share(finding.exposed, finding.people, fewest))
        consequence = describe_consequence(finding)
        means = f": {consequence}" if consequence else ""
        sentence = f"It succeeds on {exposed} of {people} ({share}){means}."
    else:
        sentence = f"It succeeds on nobody of {people}."
    sentence += _describe_answers(finding.details)
    classes, examined = (finding.details.get(key, 0) for key in ("classes", "examined_classes"))
    if 0 < examined < classes:
        sentence += (
            f" It examined {state_count(examined, fewest)} of {state_count(classes, fewest)} "
            "classes."
        )
    return sentence


def list_public_facts(finding: Finding, evidence: Evidence) -> dict[str, str]:
    """What everybody may know of a finding, for programs: whom it succeeds on, rounded."""
    column = {"on": finding.on} if evidence.attacks_several_columns else {}
    return {
        "attack": finding.attack,
        **column,
        "exposed": state_count(finding.exposed, evidence.fewest),
        "people": state_count(finding.people, evidence.fewest),
    }


def redact_collusion(collusion: CollusionEvidence | None) -> CollusionEvidence | None:
    """What the manifest and the verdict say too; nothing where no promise was made."""
    if collusion is None or not collusion.promises:
        return None
    return replace(collusion, results=(), why="")


def redact_composition(composition: CompositionEvidence | None) -> CompositionEvidence | None:
    """No releases by name, no reason, no sentence of an attack's own."""
    if composition is None:
        return None
    why = "It could not be made." if composition.why else ""
    admission = composition.admission
    if admission is None:
        return replace(composition, why=why)
    public = {
        "accepted_risk": bool(admission["accepted_risk"]),
        "about": "",
        "reasons": [],
        "judged_with": [{"relation": entry["relation"]} for entry in admission["judged_with"]],
        "findings": [_redact_joint(f) for f in _select_worst_by_attack(admission["findings"])],
        "defences": [],
        "lacking": [],
        "skipped": [{"attack": skipped["attack"]} for skipped in admission["skipped"]],
        "unjudged": [{"reason": ""} for _ in admission["unjudged"]],
        "ways": [],
        "notes": [],
    }
    return replace(composition, admission={**admission, **public}, why=why)


def _redact_composition_of(evidence: Evidence) -> CompositionEvidence | None:
    composition = redact_composition(evidence.composition)
    if composition is None or evidence.promise is None or not composition.why:
        return composition
    return replace(composition, why=NO_FORECAST)  # why answers have none is no secret


def _redact_joint(finding: Mapping[str, Any]) -> dict[str, Any]:
    wording = ATTACK_WORDING.get(str(finding["attack"]).partition(" ")[0])
    return {
        **{name: finding[name] for name in PUBLIC_FINDING_FIELDS},
        "answered_by": bool(finding["answered_by"]),
        "entries": [],
        "sentence": "",
        "defence": "" if wording is None else wording.defence,
    }


def _select_worst_by_attack(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    worst: dict[str, Mapping[str, Any]] = {}
    for finding in findings:
        before = worst.setdefault(str(finding["attack"]), finding)
        if (finding["exceeds"], finding["beyond"]) > (before["exceeds"], before["beyond"]):
            worst[str(finding["attack"])] = finding
    return list(worst.values())


def _explain_skipped(attack: str, evidence: Evidence) -> str:
    # An attack that ran on some of the columns is listed with the column it did not run on.
    if any(attack.startswith(f"{finding.attack} on ") for finding in evidence.findings):
        return "It could not be carried out on this column."
    if evidence.in_buckets and (
        reason := explain_unfit_for_buckets(attack, evidence.n_other_releases)
    ):
        return reason
    if evidence.promise is not None and (reason := explain_unfit_for_answers(attack)):
        return reason
    if (
        evidence.manifest
        and not is_made_class_by_class(evidence.manifest)
        and remakes_classes(attack)
    ):
        return SEVERAL_CLASSES_DECIDED
    needs = {
        "people": evidence.has_targets,
        "sensitive": bool(evidence.attacked_columns),
        "method": bool(evidence.manifest),
    }
    return explain_unmet_needs(attack, [need for need, is_met in needs.items() if is_met])


def _describe_answers(details: Mapping[str, Any]) -> str:
    # How far answers can be believed follows from the published file alone.
    if details.get("epsilon") is None or "bound" not in details:
        return ""
    before = format_percent(max(details["largest_prior"], details["foretold"]), 1)
    return (
        f" Answers of others foretell a value at {before} at the most; a person's own answers, "
        f"which spend ε {details['epsilon']:.4g}, can raise that to "
        f"{format_percent(details['bound'], 1)}."
    )
