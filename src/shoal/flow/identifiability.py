"""The heart of a report: what was verified, who could be found, and what attacks found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shoal.errors import UsageError
from shoal.flow.evidence import Evidence
from shoal.models import rule as parse_rule
from shoal.pages import Callout, Chart, Fact, Facts, Fields, Section, Table, Text, charts, exposure
from shoal.pages import tested as attack_charts
from shoal.pages.page import Block
from shoal.pages.tested import Attacked
from shoal.pages.words import counted, number, percent, share, spoken
from shoal.release import Finding, Judgement


def identifiability(evidence: Evidence) -> Section:
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
    if evidence.public:
        rows = [(one.model, "met" if one.holds else "NOT MET") for one in verdict.judgements]
        table = Table(("requirement", "verdict"), tuple(rows), "What was required")
        return [Text("Verification", (told,)), table]
    marks = [mark for one in verdict.judgements if (mark := _mark(one)) is not None]
    blocks: list[Block] = [Text("Verification", (told,))]
    if marks:
        blocks.append(Chart(charts.reached(marks)))
    if verdict.kept_columns_k is not None:
        blocks.append(_kept(verdict.kept_columns_k))
    return [*blocks, *_measured(evidence)]


def _mark(one: Judgement) -> charts.Reached | None:
    """A requirement on the chart; None for a model of the user's own, which has no text."""
    try:
        model: Any = parse_rule(one.model)
        needed = float(getattr(model, model.parameter))
    except (UsageError, AttributeError, TypeError):
        return None
    at_least = model.strongest == "largest"
    return charts.Reached(one.model, one.reached, needed, one.holds, at_least)


def _kept(k: int) -> Callout:
    return Callout(
        f"With the columns that are kept as they are, the smallest class has {k:,} rows.", "warning"
    )


def _measured(evidence: Evidence) -> list[Block]:
    if not evidence.measured:
        return []
    rows = tuple((name, number(value)) for name, value in evidence.measured)
    return [Table(("model", "reached"), rows, "What the table reaches for each model")]


# Risk


def _at_risk(evidence: Evidence) -> list[Block]:
    risk, fewest = evidence.risk, evidence.fewest
    told = (
        "Whoever knows a person's quasi-identifiers finds the person's class and is right about "
        "the row with one in the number of people who look alike. A threshold of "
        f"{risk.threshold:.3g} means at least {math.ceil(round(1 / risk.threshold, 9)):,} people."
    )
    items = [Fact("on average (marketer)", percent(risk.marketer, 1), "trying everybody")]
    if not evidence.public:
        items.insert(0, _worst_fact("highest (prosecutor)", risk.prosecutor, risk.notes))
        items.insert(1, _worst_fact("highest (journalist)", risk.journalist, risk.notes))
    above = round(risk.above * risk.rows)
    items.append(
        Fact("above the threshold", share(above, risk.rows, fewest),
             f"{counted(above, fewest)} of {counted(risk.rows, fewest)} people")
    )  # fmt: skip
    return [
        Text("Risk of being found", (told,)),
        Facts(tuple(items)),
        Chart(exposure.risk(evidence.sizes, risk.threshold, fewest)),
    ]


def _worst_fact(label: str, value: float, notes: Mapping[str, str]) -> Fact:
    if math.isnan(value):
        return Fact(label, "–", notes.get("journalist", ""))
    return Fact(label, percent(value, 1), "of anybody in the table")


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
    blocks: list[Block] = [Text("Adversarial testing", (told,))]
    if not found:
        return [*blocks, Callout("No attack could be run.", "warning")]
    marks = [
        Attacked(one.attack, one.people, one.exposed, one.sure, one.guessing, one.control)
        for one in found
    ]
    blocks.append(Chart(attack_charts.attacked(marks, evidence.fewest)))
    if not evidence.public:
        blocks.append(Chart(attack_charts.certainty(marks)))
    return blocks


def _finding(found: Finding, evidence: Evidence) -> list[Block]:
    fewest, tone = evidence.fewest, "danger" if found.exposed else "good"
    sentence = found.sentence if not evidence.public else public_sentence(found, fewest)
    blocks: list[Block] = [
        Text(found.attack.replace("-", " ").capitalize(), (_about(found.attack),)),
        Callout(sentence, tone),
        *_before_and_after(found, evidence),
    ]
    return [*blocks, Fields(tuple(_details(found, evidence)))]


def public_sentence(found: Finding, fewest: int) -> str:
    """What an attack found, in words that are safe to publish."""
    people = counted(found.people, fewest)
    if not found.exposed:
        return f"It succeeds on nobody of {people} people."
    part = spoken(share(found.exposed, found.people, fewest))
    return f"It succeeds on {counted(found.exposed, fewest)} of {people} people ({part})."


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
    what, fewest = evidence.sensitive, evidence.fewest
    names = ("one release", "releases joined")
    return [
        Chart(charts.candidates(before, after, names, what, fewest)),
        Chart(exposure.confidence(before, after, names, what, fewest)),
    ]


def _details(found: Finding, evidence: Evidence) -> list[Fact]:
    items: list[Fact] = []
    if not evidence.public:
        against = f"guessing: {percent(found.guessing, 1)}"
        if found.control is not None:
            against += f"; succeeds on {percent(found.control, 1)} of the control group"
        items.append(Fact("How sure of the worst-hit", percent(found.sure, 1), f"({against})"))
        if found.interval is not None:
            low, high = (percent(end, 1) for end in found.interval)
            items.append(
                Fact("Succeeds on", percent(found.rate, 1), f"(95% interval {low}–{high})")
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


def _not_run(evidence: Evidence) -> list[Block]:
    if not evidence.skipped:
        return []
    told = "They could not be tried on what was given. That says nothing about their success."
    rows = tuple((name, " ".join(why.split())) for name, why in evidence.skipped)
    return [
        Text("Attacks that did not run", (told,)),
        Table(("attack", "why"), rows),
    ]
