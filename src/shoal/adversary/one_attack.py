"""One attack on one view: what it needs, what it may be told, and how its finding is completed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import getmodule, signature
from typing import Any

import numpy as np

from shoal.adversary.caveats import add_caveats, add_insider
from shoal.adversary.context import AttackContext
from shoal.adversary.mechanism_audit import AUDITING
from shoal.attacks import get_attack_needs, load_attacks
from shoal.core.errors import InputError, ShoalError, UsageError
from shoal.core.release import Finding, wilson_interval
from shoal.core.theory.adversary_view import Needs, NobodyFoundError, View
from shoal.core.theory.knowledge import parse_atom
from shoal.releases.options import Progress, ignore_progress

RED_TEAM = "red-team"
RELATIONS = {
    "same table": ("two releases of one table", "--same-table"),
    "over time": ("an earlier and a later release of one table", "--over-time"),
}
"""What releases can be of each other: in words, and how to say so."""
GIVEN_TO_ALL = {"view", "rng"}
"""What every attack is given; the rest are its options."""
_RELEASE_COUNTS = {1: "one release", 2: "two releases"}


@dataclass(frozen=True, kw_only=True)
class AttackRequest:
    """What was asked of an attack besides the tables."""

    on: str | Sequence[str] | None = None
    sample: int | None = None
    seed: int = 0
    relation: str = ""
    progress: Progress = ignore_progress
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.relation and self.relation not in RELATIONS:
            raise UsageError(
                f"There is no relation {self.relation!r}.", f"one of: {', '.join(RELATIONS)}."
            )
        if self.sample is not None and self.sample < 1:
            raise UsageError("A sample has at least one person.", "write for example sample=1000.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to learn that are asked for; none: every sensitive one."""
        return as_column_names(self.on)


def as_column_names(on: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that somebody asks for: one by its name, or several."""
    if on is None:
        return ()
    return (on,) if isinstance(on, str) else tuple(dict.fromkeys(on))


def list_attack_options(name: str) -> set[str]:
    """The options that an attack has of its own."""
    return set(signature(load_attacks()[name]).parameters) - GIVEN_TO_ALL


def list_own_options(name: str) -> set[str]:
    """The options that no other attack has."""
    return list_attack_options(name).difference(
        *(list_attack_options(other) for other in load_attacks() if other != name)
    )


def resolve_needs(name: str, options: Mapping[str, Any]) -> Needs:
    """What an attack needs, as it was asked: people's names only where an option speaks of them."""
    needs = get_attack_needs(name)
    return needs if options.get(needs.name_option) else replace(needs, name_option="")


def check_attack_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse an attack, an option of it, or an option's value, that there is not."""
    known = [*load_attacks(), AUDITING, RED_TEAM]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the attacks are: {', '.join(known)}."
        raise UsageError(f"There is no attack {name!r}.", hint)
    names = list(load_attacks()) if name == RED_TEAM else [name]
    allowed = set[str]().union(*(list_attack_options(attack) for attack in names))
    if unknown := sorted(set(options) - allowed):
        hint = f"the options are: {', '.join(sorted(allowed))}." if allowed else "leave it out."
        raise UsageError(f"{name} has no option {unknown[0]!r}.", hint)
    for attack in names:
        for option, check in getattr(getmodule(load_attacks()[attack]), "OPTIONS", {}).items():
            if option in options:
                check(options[option])


def find_usage_error(name: str, count: int, relation: str, people: bool) -> UsageError | None:
    """What is wrong with what an attack is given, before anything is read; None: nothing."""
    needs = get_attack_needs(name)
    words = RELATIONS[needs.relation][0] if needs.relation else _RELEASE_COUNTS[needs.releases]
    if count < needs.releases:
        return UsageError(f"{name} needs {words}.", "give a second release.")
    if needs.max_releases is not None and count > needs.max_releases:
        return UsageError(
            f"{name} takes {words}, and {count} are given.", "red-team tries all that apply."
        )
    if needs.relation and relation not in ("", needs.relation):
        return UsageError(
            f"{name} needs {words}, and these are said to be something else.",
            f"leave {RELATIONS[relation][1]} out.",
        )
    if needs.people and not people:
        return UsageError(
            f"{name} looks people up, and nobody says which.",
            "add --targets FILE: a register, or people to look for.",
        )
    return None


def find_unmet_need(
    name: str, context: AttackContext, which: Sequence[int], request: AttackRequest
) -> UsageError | None:
    """What an attack needs that these releases do not have; None: nothing."""
    needs, releases = get_attack_needs(name), [context.releases[i] for i in which]
    names_column = request.columns or any(release.schema.sensitive for release in releases)
    if needs.sensitive and not names_column:
        return UsageError(
            "There is nothing to learn.", "name what nobody should: --sensitive COLUMN."
        )
    if needs.provider and not all(release.knows_providers for release in releases):
        return UsageError(
            f"{name} needs to know who provided each row.",
            "attack a release folder with its private companion beside it, or a table with a "
            "--provider column.",
        )
    if needs.method and any(release.method is None for release in releases):
        return UsageError(
            f"{name} needs to know how the release was made.",
            "attack a release folder that shoal publish made.",
        )
    if needs.method and not all(release.splits_locally for release in releases):
        return UsageError(
            f"{name} makes one class again by what is published of it, and here more decided.",
            "it says nothing of rules such as ck-safety and m-privacy, or methods such as chain.",
        )
    return None


def run_attack(
    name: str, context: AttackContext, which: Sequence[int], request: AttackRequest
) -> Finding:
    """Attack some of the releases; with the control group and the interval where there are any.

    It is run on every sensitive column, or on those asked for; the worst is returned, with all.
    """
    needs = resolve_needs(name, request.options)
    findings: list[Finding] = []
    failures: list[tuple[str, InputError | UsageError]] = []
    question_columns = [
        name for name in _list_question_columns(request) if _is_published(context, which, name)
    ]
    for column in context.columns(which, needs, question_columns or request.columns):
        try:
            view = context.view(which, needs, column)
            findings.append(attack_view(name, context, view, request))
        except (InputError, UsageError) as error:
            failures.append((column or "", error))
    if not findings:
        raise failures[0][1]
    return pick_worst_finding(
        findings, [(column, describe_error(error)) for column, error in failures]
    )


def _list_question_columns(request: AttackRequest) -> tuple[str, ...]:
    """The column that a question names, as in "Ed.disease=flu": no other is learnt by it."""
    question = None if request.columns else request.options.get("about")
    return () if question is None else (parse_atom(question).column,)


def _is_published(context: AttackContext, which: Sequence[int], name: str) -> bool:
    return all(name in context.releases[i].unchanged_columns for i in which)


def pick_worst_finding(
    findings: Sequence[Finding], failures: Sequence[tuple[str, str]] = ()
) -> Finding:
    """The finding on the column that exposes most people, and with the least doubt, with all.

    ``failures`` are the columns that could not be attacked, with the reasons.
    """
    worst = max(
        findings, key=lambda finding: (finding.rate, finding.sure - finding.guessing, finding.sure)
    )
    if len(findings) + len(failures) == 1:
        return worst
    return replace(
        worst,
        sentence=f"{worst.sentence} {_compare_columns(worst, findings, failures)}",
        by_column=tuple(findings),
        not_evaluated=tuple(failures),
    )


def _compare_columns(
    worst: Finding, findings: Sequence[Finding], failures: Sequence[tuple[str, str]]
) -> str:
    others_sorted = sorted(
        (finding for finding in findings if finding is not worst), key=lambda finding: -finding.rate
    )
    tied = [worst.on, *(finding.on for finding in others_sorted if finding.rate == worst.rate)]
    others = [
        f"{finding.on} ({finding.rate:.1%})"
        for finding in others_sorted
        if 0 < finding.rate < worst.rate
    ]
    text = ""
    if worst.exposed and len(findings) > 1:
        most = f"{worst.on} exposes the largest share of people by it"
        if len(tied) > 1:
            names = f"{', '.join(tied[:-1])} and {tied[-1]}"
            most = f"{names} each expose the largest share of people by it ({worst.rate:.1%})"
        elif not others:
            most = f"{worst.on} exposes people by it, no other does"
        less = f"; others are {', '.join(others)}" if others else ""
        text = f"Of {len(findings)} sensitive columns {most}{less}."
    elif len(findings) > 1:
        names = ", ".join(finding.on for finding in findings)
        text = f"None of {len(findings)} sensitive columns exposes anybody by it: {names}."
    lacking = ", ".join(column for column, _ in failures)
    return f"{text} Not evaluated: {lacking}.".strip() if failures else text


def attack_view(name: str, context: AttackContext, view: View, request: AttackRequest) -> Finding:
    """The attack on a view of the context, by the columns that expose more people.

    Everybody who holds a column that is shared may use it, or leave it out: it may have changed,
    or only be called alike.
    """
    needs = get_attack_needs(name)
    finding, view = _find_strongest(name, view, request)
    control_view = (
        context.view_control_group(view) if context.control is not None and view.people else None
    )
    finding = add_caveats(finding, context, view)
    learnt = view.sensitive.name if view.sensitive is not None and needs.learns else ""
    names = tuple(release.name for release in view.releases)
    finding = replace(finding, releases=names, on=learnt)
    if not needs.people or needs.method:  # about rows, or about exactly the people in them
        return finding
    if context.sampled_targets is not None:
        finding = replace(finding, interval=wilson_interval(finding.exposed, finding.people))
    return (
        finding
        if control_view is None
        else replace(finding, control=_measure_control(name, control_view, request))
    )


def _find_strongest(name: str, view: View, request: AttackRequest) -> tuple[Finding, View]:
    """What the attack finds by the quasi-identifiers, or by all shared columns where that is more.

    What it would find by a tester's other sensitive columns is told with it.
    """
    attempts: list[tuple[Finding, View]] = []
    errors: list[ShoalError] = []
    lacking: tuple[str, ...] = ()
    for widen in (lambda: view, view.wider):
        try:
            if widen is not None:
                wider_view = widen()
                attempts.append((_call_attack(name, wider_view, request), wider_view))
        except (InputError, UsageError) as error:  # the other columns may still tell something
            errors.append(error)
            if widen is view.wider and not isinstance(error, NobodyFoundError):
                lacking = (
                    f"by further shared columns it is not evaluated: {describe_error(error)}",
                )
    if not attempts:
        raise errors[0]
    finding, used = max(attempts, key=lambda attempt: (attempt[0].exposed, attempt[0].sure))
    finding = replace(finding, assumptions=(*finding.assumptions, *lacking))
    if view.insider is None:
        return finding, used
    try:
        wider_view = view.insider()
        return add_insider(finding, used, _call_attack(name, wider_view, request), wider_view), used
    except (InputError, UsageError):
        return finding, used


def _call_attack(name: str, view: View, request: AttackRequest) -> Finding:
    allowed = list_attack_options(name)
    options = {key: value for key, value in request.options.items() if key in allowed}
    return load_attacks()[name](view, rng=np.random.default_rng(request.seed), **options)


def _measure_control(name: str, view: View, request: AttackRequest) -> float:
    """How often the attack succeeds on people who are not there; right where that is known."""
    assert view.people is not None
    try:
        finding = _call_attack(name, view, request)
    except NobodyFoundError:
        return 0.0
    return int(finding.details.get("right", finding.exposed)) / len(view.people)


def describe_error(error: ShoalError) -> str:
    """An error as one line: the fact, and what to do about it."""
    hint = error.hint[:1].upper() + error.hint[1:]
    return f"{error.fact} {hint}".strip()
