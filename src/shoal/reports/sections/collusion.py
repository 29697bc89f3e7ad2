"""Collusion: a report's part on providers of a release who work together.

The three attackers of Goryczka, Xiong and Fung (m-privacy for collaborative data publishing,
CollaborateCom 2011), each with what stands in its way; and how many providers may take their own
rows away before a class no longer meets the rule, whether that was promised or not.

Only the private companion knows providers, so the public learns no more than what the manifest
promises, and whether that was kept. What providers know besides their own rows is not measured,
and none is named unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.adversary.one_attack import describe_error
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import format_count
from shoal.core.model import All, Model, split_rule, unwrap_rule
from shoal.core.release import Verdict, to_json_value
from shoal.core.theory.collusion import explain_untestable
from shoal.models import rule as parse_rule
from shoal.models.m_privacy import MPrivacy
from shoal.releases.companion import Companion
from shoal.reports.charts.collusion import (
    OF_ONE,
    chart_survival,
    describe_survival,
    tabulate_attackers,
)
from shoal.reports.charts.theme import clean_text
from shoal.reports.document import Block, Callout, Chart, Fact, Fields, Section
from shoal.verbs.m_privacy import Breach, MPrivate, count_providers, judge_coalitions

HEADING = "Who could work together"


@dataclass(frozen=True)
class CollusionEvidence:
    """What a release promises against its own providers, and what was found."""

    rule: str
    """What protects from outsiders: the requirement without what wraps it."""
    promises: tuple[tuple[int, str], ...] = ()
    """m and the rule inside of each m-privacy."""
    results: tuple[MPrivate, ...] = ()
    """For each promise, or for the rule where there is none: how many providers it withstands."""
    not_evaluated: tuple[str, ...] = ()
    """The parts of the requirement that are not judged against coalitions."""
    outside_holds: bool = True
    """Whether the requirement holds by itself."""
    inside_holds: bool = True
    """Whether what is promised holds against coalitions."""
    why: str = ""
    """Why nothing was measured."""

    @property
    def is_partial(self) -> bool:
        """Whether what was measured is about a part of the requirement each."""
        return bool(self.not_evaluated) or len(self.results) > 1

    def to_json(self) -> dict[str, Any]:
        """What is promised and what was measured."""
        return {
            "rule": self.rule,
            "promised": [{"m": m, "rule": rule} for m, rule in self.promises],
            "measured": [_to_json_without_names(result) for result in self.results],
            "unjudged": list(self.not_evaluated),
            "why": self.why,
        }


def _to_json_without_names(result: MPrivate) -> dict[str, Any]:
    """Without the coalition that breaks it where its names were not asked for."""
    plain: dict[str, Any] = to_json_value(result.to_dict())
    if not result.holds and result.coalition is None:
        del plain["coalition"]
    return plain


def examine_collusion(
    release: Any,
    companion: Companion | None,
    rule: Model | str,
    verdict: Verdict | None,
    *,
    show: bool = False,
) -> CollusionEvidence | None:
    """How a release stands against its providers; None where it has none, or nobody knows them."""
    if companion is None or companion.schema.provider is None:
        return None
    try:
        model = parse_rule(rule)
    except UsageError as error:  # a model of the user's own, which has no text
        return CollusionEvidence(str(rule), why=describe_error(error))
    wrapped = [part for part in split_rule(model) if isinstance(part, MPrivacy)]
    others = [part for part in split_rule(model) if not isinstance(part, MPrivacy)]
    evidence = CollusionEvidence(
        " & ".join(map(str, unwrap_rule(model))),
        tuple((wrapper.m, str(wrapper.rule)) for wrapper in wrapped),
        not_evaluated=tuple(str(other) for other in others if wrapped or explain_untestable(other)),
    )
    to_test = wrapped or [MPrivacy(1, rule_part) for rule_part in _join_testable(others)]
    if not to_test:
        return replace(evidence, why=f"Nothing was measured: {explain_untestable(model)}.")
    return _measure(evidence, release, to_test, verdict, show)


def _join_testable(models: Sequence[Model]) -> list[Model]:
    """What coalitions can be tried on, as one rule; none where that is nothing."""
    testable = tuple(model for model in models if not explain_untestable(model))
    return [All(testable) if len(testable) > 1 else testable[0]] if testable else []


def _measure(
    evidence: CollusionEvidence,
    release: Any,
    promises: Sequence[MPrivacy],
    verdict: Verdict | None,
    show: bool,
) -> CollusionEvidence:
    try:
        count = count_providers(release, accept_keep=True)
        results = [judge_coalitions(count, promise, show=show) for promise in promises]
    except (InputError, UsageError) as error:  # one provider only, buckets, too many coalitions
        return replace(evidence, why=describe_error(error))
    shown = tuple(result if show else result.unnamed() for result in results)
    return replace(
        evidence,
        results=shown,
        outside_holds=_holds_by_itself(evidence, results, verdict),
        inside_holds=not evidence.promises or all(result.holds for result in results),
    )


def _holds_by_itself(
    evidence: CollusionEvidence, results: Sequence[MPrivate], verdict: Verdict | None
) -> bool:
    parts = () if verdict is None else verdict.judgements
    others = [
        judgement.holds
        for judgement in parts
        if not evidence.promises or judgement.model in evidence.not_evaluated
    ]
    return all(others) and all(result.survive[0] == result.classes for result in results)


# The page


def build_collusion_section(
    evidence: CollusionEvidence | None, kept_columns: Sequence[str] = ()
) -> list[Section]:
    """The section of the page; none where there are no providers."""
    if evidence is None:
        return []
    intro = [_INTRO]
    if kept_columns and evidence.results:
        intro.append(
            "Classes are those of the quasi-identifiers; whoever tells them apart by kept columns "
            f"too ({', '.join(kept_columns)}) may learn more."
        )
    holds = {"outside_holds": evidence.outside_holds, "inside_holds": evidence.inside_holds}
    blocks: list[Block] = [
        tabulate_attackers(evidence.rule, evidence.promises, _state_measurement(evidence), **holds)
    ]
    if evidence.why:
        blocks.append(Callout(evidence.why, "note", "Not measured"))
    promises: list[int | None] = [m for m, _ in evidence.promises] or [None]
    for m, result in zip(promises, evidence.results, strict=False):
        blocks += _render_result(evidence, result, m)
    if evidence.not_evaluated and not evidence.results:
        blocks.append(Fields((_make_not_evaluated_fact(evidence.not_evaluated),)))
    return [Section(HEADING, tuple(intro), tuple(blocks))]


_INTRO = (
    "Several providers have rows in this table. Each knows its own, and those who pool what they "
    "know can take theirs away from every class: what is left is about other people alone, who "
    "may be too few, or too much alike."
)


def _write_title(evidence: CollusionEvidence, result: MPrivate) -> str:
    """What the numbers say; and of which rule, where that is not all that is required."""
    title = describe_survival(result.survive, result.classes)
    if not evidence.is_partial:
        return title
    return clean_text(f"For {result.rule} alone: {_lower_first(title)}")


def _state_measurement(evidence: CollusionEvidence) -> str:
    if evidence.promises or not evidence.results:
        return ""
    return f"Measured: {_lower_first(_write_title(evidence, evidence.results[0]))}."


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _render_result(evidence: CollusionEvidence, result: MPrivate, m: int | None) -> list[Block]:
    chart = chart_survival(result.survive, result.classes, m, result.rule)
    return [
        Chart({**chart, "title": _write_title(evidence, result)} if evidence.is_partial else chart),
        Callout(_explain_result(result, m), _choose_tone(result, m)),
        Fields(tuple(_list_result_facts(result, m, evidence.not_evaluated))),
    ]


def _explain_result(result: MPrivate, m: int | None) -> str:
    largest = -1 if result.largest_m is None else result.largest_m
    providers = format_count(largest if m is None else m, "provider")
    if m is not None and result.holds:
        return (
            f"Up to {providers} working together learn no more than {result.rule} allows, as "
            "promised; of more nothing is promised."
        )
    if m is not None:
        return f"{providers} can break what is promised. Do not publish this table."
    if largest < 0:
        return f"{result.rule} fails by itself: nobody has to work together to learn more."
    if largest == 0:
        return (
            "A single provider that takes its own rows away learns more about other people than an "
            "outsider may; the release promises nothing about that."
        )
    return f"As it happens {result.rule} withstands {providers}; the release does not promise that."


def _choose_tone(result: MPrivate, m: int | None) -> str:
    if m is not None:
        return "good" if result.holds else "danger"
    return "note" if result.largest_m else "warning"


def _list_result_facts(result: MPrivate, m: int | None, not_evaluated: Sequence[str]) -> list[Fact]:
    largest = "none: the rule fails by itself" if result.largest_m is None else result.largest_m
    facts = [
        Fact("Providers", result.providers),
        Fact("Rule they are to leave", f"`{result.rule}`"),
        Fact("Largest m that every class survives", largest),
        Fact(
            "Classes of one provider", f"{result.of_one_provider:,} of {result.classes:,}", OF_ONE
        ),
    ]
    if m is not None:
        facts.append(Fact(f"Worst coalition at m = {m}", _describe_breach(result.worst)))
    if result.breaks is not None and (m is None or result.breaks != result.worst):
        facts.append(Fact(f"What breaks at m = {result.breaks.m}", _describe_breach(result.breaks)))
    if not_evaluated:
        facts.append(_make_not_evaluated_fact(not_evaluated))
    if advice := _advise(result, m):
        facts.append(Fact("What helps", advice))
    return facts


def _make_not_evaluated_fact(not_evaluated: Sequence[str]) -> Fact:
    return Fact("Not held against coalitions", ", ".join(f"`{part}`" for part in not_evaluated))


def _describe_breach(breach: Breach | None) -> str:
    if breach is None:
        return "Breaks no class: what it leaves of each still meets the rule."
    text = breach.describe()
    return f"{text[:1].upper()}{text[1:]}."


def _advise(result: MPrivate, m: int | None) -> str:
    if m is None and result.largest_m is not None:
        promise = min(result.largest_m + 1, result.providers - 1)
        method = " --method provider-aware" if promise > result.largest_m else ""
        return f'publish with `-m "{MPrivacy(promise, parse_rule(result.rule))}"{method}`.'
    return "" if result.holds else "publish it again; the file is not what was verified."
