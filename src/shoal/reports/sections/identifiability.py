"""Identifiability: a report's part on what was verified, who is found, and what attacks find."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shoal.core.errors import UsageError
from shoal.core.release import DP_PROMISE, Finding, Judgement
from shoal.models import rule as parse_rule
from shoal.reports.attack_wording import (
    EVERYBODY_IDENTIFIED,
    bracket_consequence,
)
from shoal.reports.charts import attacks as attack_charts
from shoal.reports.charts import exposure
from shoal.reports.charts import release as charts
from shoal.reports.charts.attacks import AttackResult
from shoal.reports.document import (
    Block,
    Callout,
    Chart,
    Fact,
    Fields,
    KeyFacts,
    Section,
    Table,
    Text,
)
from shoal.reports.evidence import Evidence
from shoal.reports.format import (
    format_percent,
    format_real,
    join_all_names,
    list_names,
    speak_share,
    state_count,
    state_share,
)
from shoal.reports.redact import write_public_sentence
from shoal.reports.sections.knowledge import build_knowledge_blocks

WIDE = 6
"""So many sensitive columns fit beside each other in a table."""
HIGH_CONFIDENCE = 0.8
"""From this confidence on nothing is shown as good, however few people it is about."""


def describe_success(finding: Finding, evidence: Evidence) -> str:
    """On how many people an attack succeeds, and what that means for them."""
    part = speak_share(state_share(finding.exposed, finding.people, evidence.fewest))
    people = state_count(finding.people, evidence.fewest)
    return f"succeeds on {part} of {people} people{bracket_consequence(finding)}"


def build_identifiability_section(evidence: Evidence) -> Section:
    """Verification, risk, and adversarial testing."""
    # Kept columns tell rows of a class apart, except in buckets, where values are permuted.
    telling_columns = () if evidence.in_buckets else evidence.kept_columns
    return Section(
        "Identifiability",
        (
            "Whether somebody in the table can be found, and what can be learned about them: by "
            "counting the published file again, by the risk that its classes leave, and by "
            "attacking it (adversarial testing).",
        ),
        (
            *_render_verification(evidence),
            *_render_risk(evidence),
            *_render_testing(evidence),
            *(block for each in evidence.findings for block in _render_finding(each, evidence)),
            *build_knowledge_blocks(evidence.knowledge, telling_columns),
            *_tabulate_not_run(evidence),
        ),
    )


# Verification


def _render_verification(evidence: Evidence) -> list[Block]:
    verdict = evidence.verdict
    if verdict is None:
        text = "No requirement was given, so none was verified. What follows was measured."
        return [Text("Verification", (text,)), *_render_measured(evidence)]
    text = (
        f"The published file was read again and recounted from scratch ({verdict.how}); nothing "
        "its maker said was trusted."
    )
    if evidence.promise is not None:
        text = (
            "Classes were counted again in the published file. ε follows from what the publisher "
            "states, and cannot be seen in the file."
        )
    if evidence.public:
        rows = [(judgement.model, _state_verdict(judgement)) for judgement in verdict.judgements]
        table = Table(("requirement", "verdict"), tuple(rows), "What was required")
        return [Text("Verification", (text,)), table]
    marks = [_mark_requirement(judgement) for judgement in verdict.judgements]
    blocks: list[Block] = [Text("Verification", (text,))]
    if drawn_marks := [mark for mark in marks if mark is not None]:
        blocks.append(Chart(charts.chart_requirements(drawn_marks)))
    return [*blocks, *_render_measured(evidence)]


def _state_verdict(judgement: Judgement) -> str:
    """Whether a requirement is met; what noise promises is stated, and no more than accounted."""
    met = "as stated" if judgement.model.startswith(DP_PROMISE) else "met"
    return met if judgement.holds else "NOT MET"


def _mark_requirement(judgement: Judgement) -> charts.RequirementResult | None:
    """A requirement on the chart; None for a model of the user's own, which has no text."""
    try:
        model: Any = parse_rule(judgement.model)
        needed = float(getattr(model, model.parameter))
    except (UsageError, AttributeError, TypeError):
        return None
    at_least = model.strongest == "largest"
    return charts.RequirementResult(
        judgement.model, judgement.reached, needed, judgement.holds, at_least, model.strict
    )


def _render_measured(evidence: Evidence) -> list[Block]:
    if not evidence.measured:
        return []
    blocks: list[Block] = [_tabulate_reached(evidence)]
    if any(math.isinf(value) for _, value in evidence.measured):
        text = (
            "Infinite: no number is large enough to hold for every class. For β and δ, for "
            "example, that is so where a class lacks a value that the table has, or has far more "
            "of it."
        )
        blocks.append(Callout(text))
    return blocks


def _tabulate_reached(evidence: Evidence) -> Table:
    """What is reached for each model: in a column for each sensitive one where they are a few."""
    caption = "What the table reaches for each model"
    names = [column.name for column in evidence.columns if column.role == "sensitive"]
    if not 1 < len(names) <= WIDE:
        rows = [(name, format_real(value)) for name, value in evidence.measured]
        return Table(("model", "reached"), tuple(rows), caption)
    reached: dict[str, dict[str, str]] = {}
    for text, value in evidence.measured:
        on = next((name for name in names if text.endswith(f" on {name}")), "")
        model = text.removesuffix(f" on {on}") if on else text
        reached.setdefault(model, {})[on] = format_real(value)
    table_rows = [
        (model, *(by_column.get(name, by_column.get("", "–")) for name in names))
        for model, by_column in reached.items()
    ]
    return Table(("model", *names), tuple(table_rows), f"{caption}, by sensitive column")


# Risk


def _render_risk(evidence: Evidence) -> list[Block]:
    risk, fewest = evidence.risk, evidence.fewest
    columns = "quasi-identifiers and kept columns" if evidence.kept_columns else "quasi-identifiers"
    if evidence.in_buckets:
        columns = f"exact columns ({join_all_names(evidence.kept_columns)})"
    text = (
        f"Whoever knows a person's {columns} finds the person's group and is right about "
        "the row with one in the number of people who look alike. A threshold of "
        f"{risk.threshold:.3g} means at least {risk.min_people_alike:,} people."
    )
    mean = format_percent(risk.marketer, 1)
    if evidence.public:
        mean = state_share(evidence.classes, evidence.rows, fewest)
    items = [Fact("on average (marketer)", mean, "trying everybody")]
    if not evidence.public:
        items.insert(0, _make_risk_fact("highest (prosecutor)", risk.prosecutor, risk.notes))
        items.insert(1, _make_risk_fact("highest (journalist)", risk.journalist, risk.notes))
    above = risk.people_above
    items.append(
        Fact(
            "above the threshold",
            state_share(above, risk.people, fewest),
            f"{state_count(above, fewest)} of {state_count(risk.people, fewest)} people",
        )
    )
    return [
        Text("Risk of being found", (text, _ADVERSARIES)),
        KeyFacts(tuple(items)),
        Chart(exposure.chart_risk(evidence.sizes, risk.limit, fewest)),
    ]


_ADVERSARIES = (
    "Three adversaries are told apart: a prosecutor knows that the person is in the table; a "
    "journalist knows only that the person is in the population it was drawn from, and needs a "
    "table of that; a marketer tries everybody and counts how many are right on average."
)


def _make_risk_fact(label: str, value: float, notes: Mapping[str, str]) -> Fact:
    if math.isnan(value):
        return Fact(label, "–", notes.get("journalist", ""))
    return Fact(label, format_percent(value, 1), "of anybody in the table")


# Adversarial testing


def _render_testing(evidence: Evidence) -> list[Block]:
    findings = evidence.findings
    others, together = evidence.n_other_releases, ""
    if others:
        together = f"{others} other releases" if others > 1 else "another release"
        together = f", together with {together}"
    has_control = any(finding.control is not None for finding in findings)
    text = (
        f"The release was attacked as an adversary would{together}. Each attack counts against "
        "what guessing from the published totals gives"
        f"{', and against a control group' if has_control else ''}."
    )
    attacked = join_all_names(evidence.attacked_columns)
    if evidence.attacks_several_columns:
        text += f" Each tried to learn {attacked}; what is drawn is the worst."
    if evidence.unattacked_columns:
        unattacked = join_all_names(evidence.unattacked_columns)
        text += f" Attacks tried to learn {attacked}; they did not try {unattacked}."
    blocks: list[Block] = [Text("Adversarial testing", (text,))]
    if not findings:
        return [*blocks, Callout("No attack could be run.", "warning")]
    marks = [_mark_finding(finding, evidence) for finding in findings]
    blocks.append(
        Chart(attack_charts.chart_attacks(marks, evidence.fewest, _write_headline(evidence)))
    )
    if not evidence.public:
        most_confident = [max(finding.per_column, key=_rank_confidence) for finding in findings]
        confidence_marks = [_mark_finding(finding, evidence) for finding in most_confident]
        blocks.append(Chart(attack_charts.chart_certainty(confidence_marks)))
    return blocks


def _mark_finding(finding: Finding, evidence: Evidence) -> AttackResult:
    return AttackResult(
        evidence.name_attack(finding),
        finding.people,
        finding.exposed,
        finding.sure,
        finding.guessing,
        finding.control,
    )


def _rank_confidence(finding: Finding) -> tuple[bool, float, float]:
    """By which of several columns an attack leaves the least doubt about an exposed person."""
    return bool(finding.exposed), finding.sure, finding.sure - finding.guessing


def _write_headline(evidence: Evidence) -> str:
    """What the worst attack does, with what its success means; empty: none succeeds."""
    worst = evidence.worst
    if worst is None or not worst.exposed:
        in_buckets = f"{EVERYBODY_IDENTIFIED}; no attack on its values succeeds"
        return in_buckets if evidence.in_buckets else ""
    name = evidence.name_attack(worst)
    return f"{name[:1].upper()}{name[1:]} {describe_success(worst, evidence)}"


def _render_finding(finding: Finding, evidence: Evidence) -> list[Block]:
    sentence = (
        write_public_sentence(finding, evidence.fewest) if evidence.public else finding.sentence
    )
    return [
        Text(finding.attack.replace("-", " ").capitalize(), (_describe_attack(finding.attack),)),
        Callout(sentence, _choose_tone(finding, evidence)),
        *_tabulate_each_column(finding, evidence),
        *_render_anonymity(finding, evidence),
        *_chart_candidates(finding, evidence),
        Fields(tuple(_list_details(finding, evidence))),
    ]


def _tabulate_each_column(finding: Finding, evidence: Evidence) -> list[Block]:
    if not finding.by_column:
        return []
    fewest, rows = evidence.fewest, []
    for result in sorted(
        finding.by_column, key=lambda each: (-each.rate, each.guessing - each.sure)
    ):
        exposed, people = (state_count(n, fewest) for n in (result.exposed, result.people))
        confidences = (format_percent(share, 1) for share in (result.sure, result.guessing))
        share = state_share(result.exposed, result.people, fewest)
        rows.append((result.on, share, f"{exposed} of {people}", *confidences))
    head = ("sensitive column", "succeeds on", "people", "how sure of the worst-hit", "by guessing")
    shown = 3 if evidence.public else 5
    return [Table(head[:shown], tuple(row[:shown] for row in rows))]


def _choose_tone(finding: Finding, evidence: Evidence) -> str:
    """Good only where nobody is exposed nor nearly; the public does not learn how nearly."""
    if finding.exposed:
        return "danger"
    return "note" if evidence.public else "warning" if finding.sure >= HIGH_CONFIDENCE else "good"


def _describe_attack(attack: str) -> str:
    """The first line of the attack's own documentation."""
    try:
        module = import_module(f"shoal.attacks.{attack.split()[0].replace('-', '_')}")
    except ModuleNotFoundError:  # an attack of somebody's own
        return ""
    first = (module.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    description = first.partition(": ")[2] or first
    return f"{description[:1].upper()}{description[1:]}"


def _chart_candidates(finding: Finding, evidence: Evidence) -> list[Block]:
    """Effective anonymity and the vulnerable population, where the attack counts candidates."""
    before, after = (
        {int(n): int(people) for n, people in finding.details.get(key, {}).items()}
        for key in ("candidates_before", "candidates_after")
    )
    if not before or not after:
        return []
    target, fewest = finding.on or join_all_names(evidence.attacked_columns), evidence.fewest
    names = ("one release", "releases joined")
    return [
        Chart(charts.chart_candidates(before, after, names, target, fewest)),
        Chart(exposure.chart_confidence(before, after, names, target, fewest)),
    ]


def _render_anonymity(finding: Finding, evidence: Evidence) -> list[Block]:
    """For the publisher: effective anonymity before and after, who was not found, and weighing."""
    details = finding.details
    if evidence.public or "prior" not in details:
        return []
    before, after = details["posterior"] + details["mean_drop"], details["posterior"]
    each = list_names([format_real(count) for count in details["prior"]])
    facts = (
        Fact(
            "values before",
            format_real(before),
            f"left a person by the release that leaves fewest (by each: {each})",
        ),
        Fact("values after", format_real(after), "left a person by all releases joined"),
        Fact("drop", format_real(details["mean_drop"]), "values a person loses on average"),
        Fact(
            "vulnerable",
            format_percent(details["vulnerable"], finding.people),
            f"{details['vulnerable']:,} people lose at least one",
        ),
    )
    notes = (_describe_absent(details), _describe_weighing(details.get("weighted", {})))
    text = " ".join(filter(None, notes))
    return [KeyFacts(facts), *([Callout(text)] if text else [])]


def _describe_absent(details: Mapping[str, Any]) -> str:
    if not details.get("absent"):
        return ""
    reasons = {
        "known not to be in one of them": details.get("known_absent", 0),
        "left without a value that is in all": details.get("no_value_left", 0),
    }
    counts = [f"{people:,} {reason}" for reason, people in reasons.items() if people]
    among = f" ({', '.join(counts)})" if counts else ""
    return (
        f"{details['absent']:,} of {details['asked']:,} people asked for were not found in all "
        f"releases and are counted apart{among}."
    )


def _describe_weighing(weighing: Mapping[str, Any]) -> str:
    if not weighing:
        return ""
    adversary = "An adversary who also weighs values by how often they occur"
    if not weighing["calibrated"]:
        return f"{adversary} could be surer; how sure was not calibrated: {weighing['reason']}."
    keys = ("right", "right_uniform", "right_guessing")
    right, uniform, guessing = (format_percent(weighing[key], 1) for key in keys)
    return (
        f"{adversary} is right about {right} of {weighing['judged_on']:,} people, against "
        f"{uniform} by choosing among the values left and {guessing} by guessing (calibrated on "
        f"{weighing['learned_on']:,} others, temperature {weighing['temperature']:.3g})."
    )


def _list_details(finding: Finding, evidence: Evidence) -> list[Fact]:
    items: list[Fact] = []
    if not evidence.public:
        comparison = f"guessing: {format_percent(finding.guessing, 1)}"
        if finding.control is not None:
            comparison += f"; succeeds on {format_percent(finding.control, 1)} of the control group"
        items.append(
            Fact("How sure of the worst-hit", format_percent(finding.sure, 1), f"({comparison})")
        )
        if finding.interval is not None:
            low, high = (format_percent(end, 1) for end in finding.interval)
            items.append(
                Fact("Succeeds on", format_percent(finding.rate, 1), f"(95% interval {low}–{high})")
            )
        if finding.example:
            items.append(Fact("Worked example", finding.example))
        if finding.worst:
            rows = ", ".join(f"{row:,}" for row in finding.worst)
            items.append(Fact("Worst-hit rows", rows, f"(of {finding.table})"))
    if finding.assumptions:
        items.append(Fact("Assumes that", "; ".join(finding.assumptions)))
    if finding.defence:
        items.append(Fact("What helps", finding.defence))
    return items


def _tabulate_not_run(evidence: Evidence) -> list[Block]:
    if not evidence.skipped:
        return []
    text = "They could not be tried on what was given. That says nothing about their success."
    head = "what it needs" if evidence.public and not evidence.in_buckets else "why"
    rows = tuple((name, " ".join(why.split())) for name, why in evidence.skipped)
    return [Text("Attacks that did not run", (text,)), Table(("attack", head), rows)]
