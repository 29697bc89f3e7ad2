"""The outcome of judging a release together with earlier ones: admitted, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from shoal.core.errors import ExposedError
from shoal.core.release import EDITION, Finding, format_reached, to_json_value
from shoal.ledger.budget import Account
from shoal.ledger.chain.signed_entry import ChainHead, Entry
from shoal.ledger.pair_judgement import JudgedFinding, SkippedAttack

REASONS_SHOWN = 3
"""Reasons in an error's message; the admission has them all."""


class JudgedWith(NamedTuple):
    """An earlier release that a new one was judged with."""

    entry: int
    relation: str
    how: str
    """How the relation is known."""
    name: str = ""
    by: str = ""
    at: str = ""


@dataclass(frozen=True)
class Position:
    """Where a release stands in a ledger: its entry, and the head, to note elsewhere."""

    entry: int
    hash: str
    head: ChainHead

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        head = {"number": self.head.number, "hash": self.head.hash}
        return {"entry": self.entry, "hash": self.hash, "head": head}

    def __str__(self) -> str:
        return f"entry {self.entry} ({self.hash}), head {self.head}"


@dataclass(frozen=True, kw_only=True)
class Admission:
    """A release judged together with the earlier ones about the same people."""

    name: str
    table: str
    """The hash of its table."""
    about: str
    judged_with: tuple[JudgedWith, ...] = ()
    weighed: tuple[JudgedFinding, ...] = ()
    """What each attack found, against the limit."""
    defences: tuple[str, ...] = ()
    """What speaks for it: cells that are nobody's finer answer attacks that join its rows with
    earlier ones; a rule that holds over what was released before settles what none could judge."""
    lacking: tuple[str, ...] = ()
    """Why a defence does not hold, or is not known to."""
    skipped: tuple[SkippedAttack, ...] = ()
    unjudged: tuple[tuple[int, str], ...] = ()
    """Entries with which it could not be evaluated, and why."""
    covered: bool = False
    """Whether the people given say who is in both, with every earlier release; else, or too, the
    worst was assumed."""
    people_found: int | None = None
    """How many of the people given are found in it; None where none are given, or looked up."""
    ways: tuple[str, ...] = ()
    """What would let it pass, for each cause that speaks against it: a command, or several."""
    notes: tuple[str, ...] = ()
    """What its publisher should look at, though nothing speaks against it."""
    spend: Account
    accepted_risk: str = ""
    """Why it is recorded all the same; empty where that was not needed."""
    worse: bool = False
    """Whether more speaks against a recorded one now than was accepted then."""
    entry: Entry | None = None
    head: ChainHead | None = None
    already: bool = False
    """Whether it was recorded before; then nothing was added."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the attacks found."""
        return tuple(judged.finding for judged in self.weighed)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it should not be published; empty where nothing speaks against it."""
        reasons = [_describe_exposure(judged) for judged in self.weighed if judged.exceeds]
        reasons += [
            f"It cannot be judged together with entry {number}: {why}" if number else why
            for number, why in self.unjudged
        ]
        if self.spend.exceeded:
            reasons.append(self.spend.reason)
        return tuple(reasons)

    @property
    def admitted(self) -> bool:
        """Whether nothing speaks against it, or somebody accepted what does."""
        return not self.reasons or (bool(self.accepted_risk) and not self.worse)

    @property
    def overridden(self) -> bool:
        """Whether it is admitted only because somebody accepted the risk."""
        return bool(self.reasons) and self.admitted

    @property
    def position(self) -> Position | None:
        """Where it stands in the ledger, once it does."""
        if self.entry is None or self.head is None:
            return None
        return Position(self.entry.number, self.entry.hash, self.head)

    def recorded(self, entry: Entry, head: ChainHead) -> Admission:
        """The same, once it is in the ledger."""
        return replace(self, entry=entry, head=head, spend=replace(self.spend, planned=False))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        position = self.position
        return {
            "edition": EDITION,
            "name": self.name,
            "table": self.table,
            "about": self.about,
            "admitted": self.admitted,
            "recorded": self.entry is not None,
            "already": self.already,
            "overridden": self.overridden,
            "accepted_risk": self.accepted_risk,
            "reasons": list(self.reasons),
            "judged_with": [earlier._asdict() for earlier in self.judged_with],
            "findings": [
                to_json_value({**judged.finding.to_json(), **_outcome_to_json(judged)})
                for judged in self.weighed
            ],
            "defences": list(self.defences),
            "lacking": list(self.lacking),
            "skipped": [
                {"entry": entry, "attack": attack, "reason": reason}
                for entry, attack, reason in self.skipped
            ],
            "unjudged": [{"entry": entry, "reason": reason} for entry, reason in self.unjudged],
            "ways": list(self.ways),
            "notes": list(self.notes),
            "covered": self.covered,
            "people_found": self.people_found,
            "spend": self.spend.to_json(),
            "position": None if position is None else position.to_json(),
        }

    def __str__(self) -> str:
        return "\n".join(_describe_lines(self))


def _outcome_to_json(judged: JudgedFinding) -> dict[str, Any]:
    return {
        "entries": list(judged.entries),
        "on": judged.on,
        "joined_by": list(judged.joined_by),
        "beyond": judged.beyond,
        "limit": judged.limit,
        "exceeds": judged.exceeds,
        "answered_by": judged.defence,
    }


def summarise_for_entry(judged: JudgedFinding) -> dict[str, Any]:
    """A finding as the ledger records it in the open: counts alone."""
    finding = judged.finding
    counts = {"attack": finding.attack, "people": finding.people, "exposed": finding.exposed}
    return {**counts, **_outcome_to_json(judged)}


def _list_entries(numbers: Sequence[int]) -> str:
    first = ", ".join(map(str, numbers[:-1]))
    return f"entries {first} and {numbers[-1]}" if first else f"entry {numbers[-1]}"


def _describe_exposure(judged: JudgedFinding) -> str:
    people, allowed = judged.finding.people, format_reached(100 * judged.limit)
    return (
        f"{judged.finding.attack} together with {_list_entries(judged.entries)} exposes "
        f"{judged.beyond:,} of {people:,} people whom no release exposes alone (limit "
        f"{allowed} %): {_describe_cause(judged)}."
    )


def _describe_cause(judged: JudgedFinding) -> str:
    """By what people are exposed: the column whose values are learnt, or those that join rows."""
    if judged.on:
        joined = (
            f", where rows are joined by {_list_columns(judged.joined_by)}"
            if judged.joined_by
            else ""
        )
        return f"too few values of column {judged.on!r} are left to them{joined}"
    if judged.finding.attack == "order":
        return "the rows of both stand in the same order"
    return f"rows of both can be joined by {_list_columns(judged.joined_by)}"


def _list_columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _describe_lines(admission: Admission) -> list[str]:
    lines = [f"{admission.name}: {_describe_outcome(admission)}"]
    for earlier in admission.judged_with:
        how = f" ({earlier.how})" if earlier.how else ""
        lines.append(f"  with entry {earlier.entry}, {earlier.name}: {earlier.relation}{how}")
    for judged in admission.weighed:
        mark = "EXPOSES" if judged.exceeds else "answered" if judged.defence else "within the limit"
        finding = judged.finding
        lines.append(
            f"  {finding.attack}, {_list_entries(judged.entries)}: {mark}: {finding.sentence}"
        )
        if judged.exceeds and finding.example:
            lines.append(f"    {finding.example}")
    if any(judged.exceeds for judged in admission.weighed):
        lines.append("  (In examples the last release is this one; before it come the entries.)")
    lines += [f"  defence: {defence}" for defence in admission.defences]
    lines += [f"  no defence: {reason}" for reason in admission.lacking if admission.reasons]
    lines += _describe_skipped(admission.skipped)
    lines += [
        f"  unjudged{f' with entry {n}' if n else ''}: {why}" for n, why in admission.unjudged
    ]
    lines += [f"  note: {note}" for note in admission.notes]
    if admission.spend.spends or admission.spend.budget is not None:
        left = admission.spend.left
        lines.append(f"  budget: {admission.spend}" + (f"; {left}" if left else ""))
    if admission.accepted_risk:
        lines.append(f"  risk accepted: {admission.accepted_risk}")
    if admission.entry is not None and admission.head is not None:
        lines.append(f"Entry {admission.entry.number}, head of the ledger {admission.head}")
    return lines


def _describe_skipped(skipped: Sequence[SkippedAttack]) -> list[str]:
    """One line for attacks that lacked the same, and for entries alike in that."""
    attacks_of: dict[tuple[int, str], list[str]] = {}
    for entry, attack, why in skipped:
        attacks_of.setdefault((entry, why), []).append(attack)
    entries_of: dict[tuple[str, str], list[int]] = {}
    for (entry, why), names in attacks_of.items():
        entries_of.setdefault((", ".join(names), why), []).append(entry)
    return [
        f"  not run: {names}, {_list_entries(n)}: {why}" for (names, why), n in entries_of.items()
    ]


def _describe_outcome(admission: Admission) -> str:
    if admission.already:
        return "recorded already" + ("" if admission.admitted else ", and REFUSED now")
    if admission.overridden:
        return "admitted, with its risk accepted"
    return "admitted" if admission.admitted else "REFUSED"


class Refused(ExposedError):
    """A release that exposes people together with earlier ones; ``admission`` has the findings."""

    def __init__(self, admission: Admission) -> None:
        reasons = admission.reasons
        more = [f"And {len(reasons) - REASONS_SHOWN:,} more reasons."] * (
            len(reasons) > REASONS_SHOWN
        )
        super().__init__(
            f"{admission.name} is not admitted. {' '.join([*reasons[:REASONS_SHOWN], *more])}",
            _suggest_ways(admission),
        )
        self.admission = admission


def _suggest_ways(admission: Admission) -> str:
    """What would let it pass, what is done already left out; and how to record it all the same."""
    ways = " Besides: ".join(f"{way.rstrip('.')}." for way in admission.ways[:REASONS_SHOWN])
    if admission.already:  # its risk can no longer be accepted
        recalled = "It is recorded already: shoal ledger withdraw says that it is recalled."
        return f"{ways} {recalled}".strip()
    return f'{ways} To record it all the same: --accept-risk "REASON".'.strip()
