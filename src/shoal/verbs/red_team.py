"""Red team: every attack that the given tables allow, the worst first, and what the others lack.

The worst attack is the one that exposes the largest share of people: whose value is certain is
exposed, also where most people have that value and guessing would often be right. Of attacks that
expose equal shares the one with more harm comes first. Harm is what an attack adds: the share of
people exposed beyond that of the control group (where there is one), times how much surer than
blind guessing the adversary is about the worst-hit. Neither says how bad it is for anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from shoal.adversary.context import AttackContext, build_context
from shoal.adversary.one_attack import (
    RED_TEAM,
    RELATIONS,
    AttackRequest,
    check_attack_options,
    describe_error,
    find_unmet_need,
    find_usage_error,
    list_own_options,
    run_attack,
)
from shoal.attacks import get_attack_needs, load_attacks
from shoal.core.errors import InputError, UsageError
from shoal.core.release import EDITION, Finding, to_json_object
from shoal.core.schema import Schema
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.published_table import as_release_list


@dataclass(frozen=True)
class RedTeam:
    """What all attacks found, the largest share of people first, and why the others did not run."""

    findings: tuple[Finding, ...]
    skipped: tuple[tuple[str, str], ...]

    @property
    def rate(self) -> float:
        """The largest share of people that an attack exposed."""
        return max((finding.rate for finding in self.findings), default=0.0)

    @property
    def columns(self) -> tuple[Finding, ...]:
        """Of each sensitive column the worst that an attack found, the worst column first."""
        return select_worst_by_column(self.findings)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        findings = [
            {**finding.to_json(), "harm": measure_harm(finding)} for finding in self.findings
        ]
        skipped = [{"attack": name, "reason": reason} for name, reason in self.skipped]
        head = {"edition": EDITION, "attack": RED_TEAM, "rate": self.rate}
        columns = [summarise_finding(finding) for finding in self.columns]
        return to_json_object(
            {**head, "findings": findings, "by_column": columns, "skipped": skipped}
        )

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        lines += [f"{name}: did not run. {reason}" for name, reason in self.skipped]
        return "\n".join(lines)


def select_worst_by_column(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Of each sensitive column the finding that exposes most people, the worst column first."""
    worst: dict[str, Finding] = {}
    for column_finding in (
        column_finding
        for finding in findings
        for column_finding in finding.per_column
        if column_finding.on
    ):
        if column_finding.on not in worst or _severity(column_finding) > _severity(
            worst[column_finding.on]
        ):
            worst[column_finding.on] = column_finding
    return tuple(sorted(worst.values(), key=_severity, reverse=True))


def _severity(finding: Finding) -> tuple[float, float, float]:
    return finding.rate, finding.sure - finding.guessing, finding.sure


def summarise_finding(finding: Finding) -> dict[str, Any]:
    """What the worst attack on a column found, in plain values."""
    return {
        "on": finding.on,
        "attack": finding.attack,
        "people": finding.people,
        "exposed": finding.exposed,
        "rate": finding.rate,
        "sure": finding.sure,
        "guessing": finding.guessing,
    }


def rank_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by the share of people exposed, the largest first; equal shares by harm."""
    return tuple(
        sorted(
            findings, key=lambda finding: (-finding.rate, -measure_harm(finding), finding.attack)
        )
    )


def measure_harm(finding: Finding) -> float:
    """What an attack adds to guessing, and to what it "finds" among people who are not there; on
    the column where that is most.
    """
    return max(_harm(column_finding) for column_finding in finding.per_column)


def _harm(finding: Finding) -> float:
    beyond = max(0.0, finding.rate - (finding.control or 0.0))
    return beyond * max(0.0, finding.sure - finding.guessing)


def red_team(
    releases: Any,
    *,
    targets: Any = None,
    schema: Schema | Sequence[Schema] | None = None,
    on: str | Sequence[str] | None = None,
    control: Any = None,
    sample: int | None = None,
    seed: int = 0,
    show: bool = False,
    relation: str = "",
    reading: Mapping[str, Any] | None = None,
    names: str | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> RedTeam:
    """Run every attack whose needs are met, on each release, or each pair, that it can take.

    Attacks that suppose what nobody is shown to know (background, worst-pair) run where an option
    of theirs says what.

    Parameters
    ----------
    releases, targets, schema, on, control, sample, seed, show, relation, reading, names, progress
        As in ``shoal.attack``.
    **options
        Options of single attacks. An attack that was given one must run: what was asked must not
        be lost among the others.

    Returns
    -------
    RedTeam
        The findings, the largest share of people first, and why the other attacks did not run.

    Raises
    ------
    UsageError
        No attack can run, or one that was given an option of its own cannot.
    InputError
        A release or a table cannot be read.

    Examples
    --------
    >>> shoal.red_team(["release"], targets="register.csv")  # doctest: +SKIP
    """
    request = AttackRequest(
        on=on, sample=sample, seed=seed, relation=relation, progress=progress, options=options
    )
    check_attack_options(RED_TEAM, options)
    context = build_context(
        as_release_list(releases), schema, targets, control, show, progress, reading, names
    )
    context = context.sampled(sample, seed)
    findings: list[Finding] = []
    skipped: list[tuple[str, str]] = []
    for i, name in enumerate(load_attacks()):
        progress("attacking", i, len(load_attacks()))
        for release_numbers in _group_releases(name, len(context.releases)):
            prefix = _name_releases(context, release_numbers)
            outcome = attempt_attack(name, context, release_numbers, request)
            if isinstance(outcome, Finding):
                findings.append(_prefix_sentences(outcome, prefix))
                skipped += [(f"{name} on {column}", why) for column, why in outcome.not_evaluated]
            elif _has_own_option(name, options):
                raise outcome
            else:
                of_data = isinstance(outcome, InputError)
                skipped.append((name, (prefix if of_data else "") + describe_error(outcome)))
    if not findings:
        reasons = dict.fromkeys(reason for _, reason in skipped)
        raise UsageError("No attack can run on what is given.", " ".join(reasons))
    return RedTeam(rank_findings(findings), tuple(dict.fromkeys(skipped)))


def _group_releases(name: str, count: int) -> list[tuple[int, ...]]:
    """The releases that an attack takes at once: all, each pair, or each one.

    One that counts the rows of the last release takes each with all that were given before it, so
    that every combination of releases is looked at, and nobody's rows are left out.
    """
    max_releases = get_attack_needs(name).max_releases
    if get_attack_needs(name).targets_last_release and count > 1:
        return [tuple(range(number)) for number in range(2, count + 1)]
    if max_releases is None or count <= max_releases:
        return [tuple(range(count))]
    return list(combinations(range(count), max_releases))


def _name_releases(context: AttackContext, release_numbers: Sequence[int]) -> str:
    """The releases that are attacked, to begin a sentence with, where they are not all."""
    if len(release_numbers) == len(context.releases):
        return ""
    return " and ".join(context.releases[i].name for i in release_numbers) + ": "


def attempt_attack(
    name: str, context: AttackContext, release_numbers: Sequence[int], request: AttackRequest
) -> Finding | UsageError | InputError:
    """What an attack on some of the releases found, or why it did not run.

    The finding counts releases as they were given, not as the attack saw them.
    """
    refusal = (
        _find_unstated_supposition(name, request.options)
        or _find_unstated_relation(name, len(release_numbers), request.relation)
        or find_usage_error(
            name, len(release_numbers), request.relation, context.targets is not None
        )
        or find_unmet_need(name, context, release_numbers, request)
    )
    if refusal is not None:
        return refusal
    try:
        finding = run_attack(name, context, release_numbers, request)
    except (InputError, UsageError) as error:  # options that this data does not allow
        return error
    column_findings = tuple(
        _renumber_table(column_finding, release_numbers) for column_finding in finding.by_column
    )
    return replace(_renumber_table(finding, release_numbers), by_column=column_findings)


def _renumber_table(finding: Finding, release_numbers: Sequence[int]) -> Finding:
    """The finding with the release whose rows it names counted among all that were given."""
    word, _, number = finding.table.partition(" ")
    return replace(
        finding, table=f"{word} {release_numbers[int(number) - 1] + 1}" if number else word
    )


def _prefix_sentences(finding: Finding, prefix: str) -> Finding:
    column_findings = tuple(
        replace(column_finding, sentence=prefix + column_finding.sentence)
        for column_finding in finding.by_column
    )
    return replace(finding, sentence=prefix + finding.sentence, by_column=column_findings)


def _has_own_option(name: str, options: Mapping[str, Any]) -> bool:
    """Whether an attack was given an option that no other has."""
    return any(options.get(option) is not None for option in list_own_options(name))


def _find_unstated_supposition(name: str, options: Mapping[str, Any]) -> UsageError | None:
    """Nobody is shown to know what it supposes: whoever wants it in the ranking says so."""
    option = get_attack_needs(name).supposition_option
    if not option or _has_own_option(name, options):
        return None
    return UsageError(f"{name} supposes what nobody is shown to know.", f"say how much: {option}.")


def _find_unstated_relation(name: str, count: int, relation: str) -> UsageError | None:
    """Nobody said that the releases are of one table: an attack that assumes it would mislead."""
    needs = get_attack_needs(name)
    if not needs.relation or relation == needs.relation or count < needs.releases:
        return None
    words, flag = RELATIONS[needs.relation]
    return UsageError(f"{name} needs {words}.", f"if they are, add {flag}.")
