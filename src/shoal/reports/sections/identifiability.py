"""The heart of a report: what was verified, who could be found, and what attacks found."""

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
"""Who is known with at least this confidence is not well, however few they are."""


def describe_success(found: Finding, evidence: Evidence) -> str:
    """On how many people an attack succeeds, and what that means for them."""
    part = speak_share(state_share(found.exposed, found.people, evidence.fewest))
    people = state_count(found.people, evidence.fewest)
    return f"succeeds on {part} of {people} people{bracket_consequence(found)}"


def build_identifiability_section(evidence: Evidence) -> Section:
    """Verification, risk, and adversarial testing."""
    return Section(
        "Identifiability",
        (
            "Whether somebody in the table can be found, and what can be learned about them: by "
            "counting the published file again, by the risk that its classes leave, and by "
            "attacking it (adversarial testing).",
        ),
        (
            *_verified(evidence),
            *_at_risk(evidence),
            *_tested(evidence),
            *(block for one in evidence.findings for block in _finding(one, evidence)),
            *build_knowledge_blocks(evidence.knowing, _told_apart_by(evidence)),
            *_not_run(evidence),
        ),
    )


# Verification


def _verified(evidence: Evidence) -> list[Block]:
    verdict = evidence.verdict
    if verdict is None:
        told = "No requirement was given, so none was verified. What follows was measured."
        return [Text("Verification", (told,)), *_measured(evidence)]
    told = (
        f"The published file was read again and recounted from scratch ({verdict.how}); nothing "
        "its maker said was trusted."
    )
    if evidence.promised is not None:
        told = (
            "Classes were counted again in the published file. ε follows from what the publisher "
            "states, and cannot be seen in the file."
        )
    if evidence.public:
        rows = [(one.model, _verdict(one)) for one in verdict.judgements]
        table = Table(("requirement", "verdict"), tuple(rows), "What was required")
        return [Text("Verification", (told,)), table]
    marks = [mark for one in verdict.judgements if (mark := _mark(one)) is not None]
    blocks: list[Block] = [Text("Verification", (told,))]
    if marks:
        blocks.append(Chart(charts.chart_requirements(marks)))
    return [*blocks, *_measured(evidence)]


def _verdict(one: Judgement) -> str:
    """Whether a requirement is met; what noise promises is stated, and no more than accounted."""
    met = "as stated" if one.model.startswith(DP_PROMISE) else "met"
    return met if one.holds else "NOT MET"


def _mark(one: Judgement) -> charts.RequirementResult | None:
    """A requirement on the chart; None for a model of the user's own, which has no text."""
    try:
        model: Any = parse_rule(one.model)
        needed = float(getattr(model, model.parameter))
    except (UsageError, AttributeError, TypeError):
        return None
    at_least = model.strongest == "largest"
    return charts.RequirementResult(
        one.model, one.reached, needed, one.holds, at_least, model.strict
    )


def _measured(evidence: Evidence) -> list[Block]:
    if not evidence.measured:
        return []
    blocks: list[Block] = [_reached(evidence)]
    if any(math.isinf(value) for _, value in evidence.measured):
        told = (
            "Infinite: no number is large enough to hold for every class. For β and δ, for "
            "example, that is so where a class lacks a value that the table has, or has far more "
            "of it."
        )
        blocks.append(Callout(told))
    return blocks


def _reached(evidence: Evidence) -> Table:
    """What is reached for each model: in a column for each sensitive one where they are a few."""
    caption = "What the table reaches for each model"
    names = [one.name for one in evidence.columns if one.role == "sensitive"]
    if not 1 < len(names) <= WIDE:
        rows = [(name, format_real(value)) for name, value in evidence.measured]
        return Table(("model", "reached"), tuple(rows), caption)
    reached: dict[str, dict[str, str]] = {}
    for text, value in evidence.measured:
        on = next((name for name in names if text.endswith(f" on {name}")), "")
        model = text.removesuffix(f" on {on}") if on else text
        reached.setdefault(model, {})[on] = format_real(value)
    every = [
        (model, *(by.get(name, by.get("", "–")) for name in names)) for model, by in reached.items()
    ]
    return Table(("model", *names), tuple(every), f"{caption}, by sensitive column")


# Risk


def _at_risk(evidence: Evidence) -> list[Block]:
    risk, fewest = evidence.risk, evidence.fewest
    known = "quasi-identifiers and kept columns" if evidence.kept else "quasi-identifiers"
    if evidence.buckets:
        known = f"exact columns ({join_all_names(evidence.kept)})"
    told = (
        f"Whoever knows a person's {known} finds the person's group and is right about "
        "the row with one in the number of people who look alike. A threshold of "
        f"{risk.threshold:.3g} means at least {risk.min_people_alike:,} people."
    )
    mean = format_percent(risk.marketer, 1)
    if evidence.public:
        mean = state_share(evidence.classes, evidence.rows, fewest)
    items = [Fact("on average (marketer)", mean, "trying everybody")]
    if not evidence.public:
        items.insert(0, _worst_fact("highest (prosecutor)", risk.prosecutor, risk.notes))
        items.insert(1, _worst_fact("highest (journalist)", risk.journalist, risk.notes))
    above = risk.people_above
    items.append(
        Fact(
            "above the threshold",
            state_share(above, risk.people, fewest),
            f"{state_count(above, fewest)} of {state_count(risk.people, fewest)} people",
        )
    )
    return [
        Text("Risk of being found", (told, _ADVERSARIES)),
        KeyFacts(tuple(items)),
        Chart(exposure.chart_risk(evidence.sizes, risk.limit, fewest)),
    ]


_ADVERSARIES = (
    "Three adversaries are told apart: a prosecutor knows that the person is in the table; a "
    "journalist knows only that the person is in the population it was drawn from, and needs a "
    "table of that; a marketer tries everybody and counts how many are right on average."
)


def _worst_fact(label: str, value: float, notes: Mapping[str, str]) -> Fact:
    if math.isnan(value):
        return Fact(label, "–", notes.get("journalist", ""))
    return Fact(label, format_percent(value, 1), "of anybody in the table")


# Adversarial testing


def _tested(evidence: Evidence) -> list[Block]:
    found = evidence.findings
    together = f", together with {evidence.others} other releases" if evidence.others > 1 else ""
    together = ", together with another release" if evidence.others == 1 else together
    told = (
        f"The release was attacked as an adversary would{together}. Each attack counts against "
        "what guessing from the published totals gives"
        + (", and against a control group." if any(f.control is not None for f in found) else ".")
    )
    if evidence.several:
        told += (
            f" Each tried to learn {join_all_names(evidence.learnt)}; what is drawn is the worst."
        )
    if evidence.unlearnt:
        learnt, left = join_all_names(evidence.learnt), join_all_names(evidence.unlearnt)
        told += f" Attacks tried to learn {learnt}; they did not try {left}."
    blocks: list[Block] = [Text("Adversarial testing", (told,))]
    if not found:
        return [*blocks, Callout("No attack could be run.", "warning")]
    marks = [_mark_of(one, evidence) for one in found]
    blocks.append(Chart(attack_charts.chart_attacks(marks, evidence.fewest, _headline(evidence))))
    if not evidence.public:
        surest = [max(one.per_column, key=_doubtlessness) for one in found]
        drawn = [_mark_of(one, evidence) for one in surest]
        blocks.append(Chart(attack_charts.chart_certainty(drawn)))
    return blocks


def _mark_of(found: Finding, evidence: Evidence) -> AttackResult:
    """An attack as it is drawn, on the column that the finding is about."""
    name = evidence.named(found)
    return AttackResult(
        name, found.people, found.exposed, found.sure, found.guessing, found.control
    )


def _doubtlessness(found: Finding) -> tuple[bool, float, float]:
    """By which of several columns an attack leaves the least doubt about an exposed person."""
    return bool(found.exposed), found.sure, found.sure - found.guessing


def _headline(evidence: Evidence) -> str:
    """What the worst attack does, with what its success means; empty: none succeeds."""
    worst = evidence.worst
    if worst is None or not worst.exposed:
        return (
            f"{EVERYBODY_IDENTIFIED}; no attack on its values succeeds" if evidence.buckets else ""
        )
    name = evidence.named(worst)
    return f"{name[:1].upper()}{name[1:]} {describe_success(worst, evidence)}"


def _finding(found: Finding, evidence: Evidence) -> list[Block]:
    sentence = write_public_sentence(found, evidence.fewest) if evidence.public else found.sentence
    return [
        Text(found.attack.replace("-", " ").capitalize(), (_about(found.attack),)),
        Callout(sentence, _tone(found, evidence)),
        *_each_column(found, evidence),
        *_narrowed(found, evidence),
        *_before_and_after(found, evidence),
        Fields(tuple(_details(found, evidence))),
    ]


def _each_column(found: Finding, evidence: Evidence) -> list[Block]:
    """What the attack found of each sensitive column, the worst first."""
    if not found.by_column:
        return []
    fewest = evidence.fewest
    ranked = sorted(found.by_column, key=lambda one: (-one.rate, one.guessing - one.sure))
    head = ("sensitive column", "succeeds on", "people")
    rows = [
        (
            one.on,
            state_share(one.exposed, one.people, fewest),
            f"{state_count(one.exposed, fewest)} of {state_count(one.people, fewest)}",
        )
        for one in ranked
    ]
    if evidence.public:
        return [Table(head, tuple(rows))]
    table = tuple(
        (*row, format_percent(one.sure, 1), format_percent(one.guessing, 1))
        for row, one in zip(rows, ranked, strict=True)
    )
    return [Table((*head, "how sure of the worst-hit", "by guessing"), table)]


def _tone(found: Finding, evidence: Evidence) -> str:
    """Good only where nobody is exposed nor nearly; the public is not told how nearly."""
    if found.exposed:
        return "danger"
    return "note" if evidence.public else "warning" if found.sure >= HIGH_CONFIDENCE else "good"


def _about(attack: str) -> str:
    """The first line of the attack's own documentation."""
    try:
        module = import_module(f"shoal.attacks.{attack.split()[0].replace('-', '_')}")
    except ModuleNotFoundError:  # an attack of somebody's own
        return ""
    first = (module.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    told = first.partition(": ")[2] or first
    return f"{told[:1].upper()}{told[1:]}"


def _before_and_after(found: Finding, evidence: Evidence) -> list[Block]:
    """Effective anonymity and the vulnerable population, where the attack counts candidates."""
    before, after = (
        {int(n): int(people) for n, people in found.details.get(key, {}).items()}
        for key in ("candidates_before", "candidates_after")
    )
    if not before or not after:
        return []
    what, fewest = found.on or join_all_names(evidence.learnt), evidence.fewest
    names = ("one release", "releases joined")
    return [
        Chart(charts.chart_candidates(before, after, names, what, fewest)),
        Chart(exposure.chart_confidence(before, after, names, what, fewest)),
    ]


def _narrowed(found: Finding, evidence: Evidence) -> list[Block]:
    """For the publisher: effective anonymity before and after, who was not found, and weighing."""
    told = found.details
    if evidence.public or "prior" not in told:
        return []
    before, after = told["posterior"] + told["mean_drop"], told["posterior"]
    each = list_names([format_real(one) for one in told["prior"]])
    facts = (
        Fact(
            "values before",
            format_real(before),
            f"left a person by the release that leaves fewest (by each: {each})",
        ),
        Fact("values after", format_real(after), "left a person by all releases joined"),
        Fact("drop", format_real(told["mean_drop"]), "values a person loses on average"),
        Fact(
            "vulnerable",
            format_percent(told["vulnerable"], found.people),
            f"{told['vulnerable']:,} people lose at least one",
        ),
    )
    said = [one for one in (_absent(told), _weighed(told.get("weighted", {}))) if one]
    return [KeyFacts(facts), *([Callout(" ".join(said))] if said else [])]


def _absent(told: Mapping[str, Any]) -> str:
    """The people of whom the releases say nothing, counted apart."""
    if not told.get("absent"):
        return ""
    apart = {
        "known not to be in one of them": told.get("known_absent", 0),
        "left without a value that is in all": told.get("no_value_left", 0),
    }
    ways = [f"{people:,} {words}" for words, people in apart.items() if people]
    among = f" ({', '.join(ways)})" if ways else ""
    return (
        f"{told['absent']:,} of {told['asked']:,} people asked for were not found in all releases "
        f"and are counted apart{among}."
    )


def _weighed(told: Mapping[str, Any]) -> str:
    """How the adversary fares who weighs values by their frequency, and how far to believe it."""
    if not told:
        return ""
    who = "An adversary who also weighs values by how often they occur"
    if not told["calibrated"]:
        return f"{who} could be surer; how sure was not calibrated: {told['reason']}."
    return (
        f"{who} is right about {format_percent(told['right'], 1)} of {told['judged_on']:,} people, "
        f"against {format_percent(told['right_uniform'], 1)} by choosing among the values left and "
        f"{format_percent(told['right_guessing'], 1)} by guessing (calibrated on "
        f"{told['learned_on']:,} others, temperature {told['temperature']:.3g})."
    )


def _details(found: Finding, evidence: Evidence) -> list[Fact]:
    items: list[Fact] = []
    if not evidence.public:
        against = f"guessing: {format_percent(found.guessing, 1)}"
        if found.control is not None:
            against += f"; succeeds on {format_percent(found.control, 1)} of the control group"
        items.append(
            Fact("How sure of the worst-hit", format_percent(found.sure, 1), f"({against})")
        )
        if found.interval is not None:
            low, high = (format_percent(end, 1) for end in found.interval)
            items.append(
                Fact("Succeeds on", format_percent(found.rate, 1), f"(95% interval {low}–{high})")
            )
        if found.example:
            items.append(Fact("Worked example", found.example))
        if found.worst:
            rows = ", ".join(f"{row:,}" for row in found.worst)
            items.append(Fact("Worst-hit rows", rows, f"(of {found.table})"))
    if found.assumptions:
        items.append(Fact("Assumes that", "; ".join(found.assumptions)))
    if found.defence:
        items.append(Fact("What helps", found.defence))
    return items


def _told_apart_by(evidence: Evidence) -> tuple[str, ...]:
    """Kept columns tell rows of a class apart, except in buckets, where values are permuted."""
    return () if evidence.buckets else evidence.kept


def _not_run(evidence: Evidence) -> list[Block]:
    if not evidence.skipped:
        return []
    told = "They could not be tried on what was given. That says nothing about their success."
    head = "what it needs" if evidence.public and not evidence.buckets else "why"
    rows = tuple((name, " ".join(why.split())) for name, why in evidence.skipped)
    return [Text("Attacks that did not run", (told,)), Table(("attack", head), rows)]
