"""Who could work together? A report's part on the providers of a release.

The three attackers of Goryczka, Xiong and Fung (m-privacy for collaborative data publishing,
CollaborateCom 2011), each with what stands in its way; and how many providers may take their own
rows away before a class no longer meets the rule, whether that was promised or not.

It is measured with the private companion, which alone knows providers, so the public is told no
more than what the manifest promises, and whether that was kept. It does not say what providers
know besides their own rows, and names none of them unless asked to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.adversary.runner import describe_error
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
    promised: tuple[tuple[int, str], ...] = ()
    """m and the rule inside of each m-privacy."""
    found: tuple[MPrivate, ...] = ()
    """For each promise, or where there is none for the rule: how many providers it withstands."""
    unjudged: tuple[str, ...] = ()
    """The parts of the requirement that are not judged against coalitions."""
    outside_holds: bool = True
    """Whether the requirement holds by itself."""
    inside_holds: bool = True
    """Whether what is promised holds against coalitions."""
    why: str = ""
    """Why nothing was measured."""

    @property
    def partly(self) -> bool:
        """Whether what was measured is about a part of the requirement each."""
        return bool(self.unjudged) or len(self.found) > 1

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rule": self.rule,
            "promised": [{"m": m, "rule": rule} for m, rule in self.promised],
            "measured": [_unnamed(one) for one in self.found],
            "unjudged": list(self.unjudged),
            "why": self.why,
        }


def _unnamed(one: MPrivate) -> dict[str, Any]:
    """Plain values; without the coalition that breaks it where its names were not asked for."""
    plain: dict[str, Any] = to_json_value(one.to_dict())
    if not one.holds and one.coalition is None:
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
    about = CollusionEvidence(
        " & ".join(map(str, unwrap_rule(model))),
        tuple((one.m, str(one.rule)) for one in wrapped),
        unjudged=tuple(str(one) for one in others if wrapped or explain_untestable(one)),
    )
    asked = wrapped or [MPrivacy(1, one) for one in _fit(others)]
    if not asked:
        return replace(about, why=f"Nothing was measured: {explain_untestable(model)}.")
    return _measured(about, release, asked, verdict, show)


def _fit(models: Sequence[Model]) -> list[Model]:
    """What coalitions can be tried on, as one rule; none where that is nothing."""
    fit = tuple(one for one in models if not explain_untestable(one))
    return [All(fit) if len(fit) > 1 else fit[0]] if fit else []


def _measured(
    about: CollusionEvidence,
    release: Any,
    asked: Sequence[MPrivacy],
    verdict: Verdict | None,
    show: bool,
) -> CollusionEvidence:
    """The same with what was counted, or why it could not be."""
    try:
        count = count_providers(release, accept_keep=True)
        found = [judge_coalitions(count, one, show=show) for one in asked]
    except (InputError, UsageError) as error:  # one provider only, buckets, too many coalitions
        return replace(about, why=describe_error(error))
    named = tuple(one if show else one.unnamed() for one in found)
    return replace(
        about,
        found=named,
        outside_holds=_by_itself(about, found, verdict),
        inside_holds=not about.promised or all(one.holds for one in found),
    )


def _by_itself(
    about: CollusionEvidence, found: Sequence[MPrivate], verdict: Verdict | None
) -> bool:
    """Whether the requirement holds where nobody works together."""
    parts = () if verdict is None else verdict.judgements
    beside = [one.holds for one in parts if not about.promised or one.model in about.unjudged]
    return all(beside) and all(one.survive[0] == one.classes for one in found)


# The page


def build_collusion_section(
    about: CollusionEvidence | None, kept: Sequence[str] = ()
) -> list[Section]:
    """The section of the page; none where there are no providers."""
    if about is None:
        return []
    intro = [_INTRO]
    if kept and about.found:
        intro.append(
            "Classes are those of the quasi-identifiers; whoever tells them apart by kept columns "
            f"too ({', '.join(kept)}) may learn more."
        )
    holds = {"outside_holds": about.outside_holds, "inside_holds": about.inside_holds}
    blocks: list[Block] = [
        tabulate_attackers(about.rule, about.promised, _measurement(about), **holds)
    ]
    if about.why:
        blocks.append(Callout(about.why, "note", "Not measured"))
    promises: list[int | None] = [m for m, _ in about.promised] or [None]
    for m, one in zip(promises, about.found, strict=False):
        blocks += _about(about, one, m)
    if about.unjudged and not about.found:
        blocks.append(Fields((_beside(about.unjudged),)))
    return [Section(HEADING, tuple(intro), tuple(blocks))]


_INTRO = (
    "Several providers have rows in this table. Each knows its own, and those who pool what they "
    "know can take theirs away from every class: what is left is about other people alone, who "
    "may be too few, or too much alike."
)


def _title(about: CollusionEvidence, one: MPrivate) -> str:
    """What the numbers say; and of which rule, where that is not all that is required."""
    title = describe_survival(one.survive, one.classes)
    return clean_text(f"For {one.rule} alone: {_lowered(title)}") if about.partly else title


def _measurement(about: CollusionEvidence) -> str:
    """What was found where nothing is promised."""
    if about.promised or not about.found:
        return ""
    return f"Measured: {_lowered(_title(about, about.found[0]))}."


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _about(about: CollusionEvidence, one: MPrivate, m: int | None) -> list[Block]:
    drawn = chart_survival(one.survive, one.classes, m, one.rule)
    return [
        Chart({**drawn, "title": _title(about, one)} if about.partly else drawn),
        Callout(_meaning(one, m), _tone(one, m)),
        Fields(tuple(_told(one, m, about.unjudged))),
    ]


def _meaning(one: MPrivate, m: int | None) -> str:
    """One sentence: what the numbers mean for the people in the table."""
    largest = -1 if one.largest_m is None else one.largest_m
    who = format_count(largest if m is None else m, "provider")
    if m is not None and one.holds:
        return (
            f"Up to {who} working together learn no more than {one.rule} allows, as promised; "
            + ("of more nothing is promised.")
        )
    if m is not None:
        return f"{who} can break what is promised. Do not publish this table."
    if largest < 0:
        return f"{one.rule} fails by itself: nobody has to work together to learn more."
    if largest == 0:
        return "A single provider that takes its own rows away learns more about other people " + (
            "than an outsider may; the release promises nothing about that."
        )
    return f"As it happens {one.rule} withstands {who}; the release does not promise that."


def _tone(one: MPrivate, m: int | None) -> str:
    if m is not None:
        return "good" if one.holds else "danger"
    return "note" if one.largest_m else "warning"


def _told(one: MPrivate, m: int | None, unjudged: Sequence[str]) -> list[Fact]:
    largest = "none: the rule fails by itself" if one.largest_m is None else one.largest_m
    facts = [
        Fact("Providers", one.providers),
        Fact("Rule they are to leave", f"`{one.rule}`"),
        Fact("Largest m that every class survives", largest),
        Fact("Classes of one provider", f"{one.of_one_provider:,} of {one.classes:,}", OF_ONE),
    ]
    if m is not None:
        facts.append(Fact(f"Worst coalition at m = {m}", _breach(one.worst)))
    if one.breaks is not None and (m is None or one.breaks != one.worst):
        facts.append(Fact(f"What breaks at m = {one.breaks.m}", _breach(one.breaks)))
    if unjudged:
        facts.append(_beside(unjudged))
    if advice := _advice(one, m):
        facts.append(Fact("What helps", advice))
    return facts


def _beside(unjudged: Sequence[str]) -> Fact:
    return Fact("Not held against coalitions", ", ".join(f"`{one}`" for one in unjudged))


def _breach(breach: Breach | None) -> str:
    if breach is None:
        return "Breaks no class: what it leaves of each still meets the rule."
    text = breach.describe()
    return f"{text[:1].upper()}{text[1:]}."


def _advice(one: MPrivate, m: int | None) -> str:
    if m is None and one.largest_m is not None:
        promise = min(one.largest_m + 1, one.providers - 1)
        made = " --method provider-aware" if promise > one.largest_m else ""
        return f'publish with `-m "{MPrivacy(promise, parse_rule(one.rule))}"{made}`.'
    return "" if one.holds else "publish it again; the file is not what was verified."
