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
"""So many reasons an error tells; the admission has them all."""


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
    """Entries with which no attack could tell whether it is safe, and why."""
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
        return tuple(one.finding for one in self.weighed)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it should not be published; empty where nothing speaks against it."""
        found = [_exposing(one) for one in self.weighed if one.exceeds]
        found += [
            f"It cannot be judged together with entry {number}: {why}" if number else why
            for number, why in self.unjudged
        ]
        if self.spend.exceeded:
            found.append(self.spend.reason)
        return tuple(found)

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
            "judged_with": [one._asdict() for one in self.judged_with],
            "findings": [to_json_value(_full(one)) for one in self.weighed],
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
        return "\n".join(_lines(self))


def _full(one: JudgedFinding) -> dict[str, Any]:
    return {**one.finding.to_json(), **_against(one)}


def _against(one: JudgedFinding) -> dict[str, Any]:
    return {
        "entries": list(one.entries),
        "on": one.on,
        "joined_by": list(one.joined_by),
        "beyond": one.beyond,
        "limit": one.limit,
        "exceeds": one.exceeds,
        "answered_by": one.defence,
    }


def summarise_for_entry(one: JudgedFinding) -> dict[str, Any]:
    """A finding as the ledger records it in the open: counts alone."""
    found = one.finding
    counts = {"attack": found.attack, "people": found.people, "exposed": found.exposed}
    return {**counts, **_against(one)}


def _entries(numbers: Sequence[int]) -> str:
    first = ", ".join(map(str, numbers[:-1]))
    return f"entries {first} and {numbers[-1]}" if first else f"entry {numbers[-1]}"


def _exposing(one: JudgedFinding) -> str:
    people, allowed = one.finding.people, format_reached(100 * one.limit)
    return (
        f"{one.finding.attack} together with {_entries(one.entries)} exposes {one.beyond:,} of "
        f"{people:,} people whom no release exposes alone (limit {allowed} %): {_cause(one)}."
    )


def _cause(one: JudgedFinding) -> str:
    """By what people are exposed: the column whose values are learnt, or those that join rows."""
    if one.on:
        joined = f", where rows are joined by {_columns(one.joined_by)}" if one.joined_by else ""
        return f"too few values of column {one.on!r} are left to them{joined}"
    if one.finding.attack == "order":
        return "the rows of both stand in the same order"
    return f"rows of both can be joined by {_columns(one.joined_by)}"


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _lines(told: Admission) -> list[str]:
    lines = [f"{told.name}: {_outcome(told)}"]
    for one in told.judged_with:
        how = f" ({one.how})" if one.how else ""
        lines.append(f"  with entry {one.entry}, {one.name}: {one.relation}{how}")
    for one_ in told.weighed:
        mark = "EXPOSES" if one_.exceeds else "answered" if one_.defence else "within the limit"
        lines.append(
            f"  {one_.finding.attack}, {_entries(one_.entries)}: {mark}: {one_.finding.sentence}"
        )
        if one_.exceeds and one_.finding.example:
            lines.append(f"    {one_.finding.example}")
    if any(one.exceeds for one in told.weighed):
        lines.append("  (In examples the last release is this one; before it come the entries.)")
    lines += [f"  defence: {one}" for one in told.defences]
    lines += [f"  no defence: {one}" for one in told.lacking if told.reasons]
    lines += _not_run(told.skipped)
    lines += [f"  unjudged{f' with entry {n}' if n else ''}: {why}" for n, why in told.unjudged]
    lines += [f"  note: {one}" for one in told.notes]
    if told.spend.spends or told.spend.budget is not None:
        left = told.spend.left
        lines.append(f"  budget: {told.spend}" + (f"; {left}" if left else ""))
    if told.accepted_risk:
        lines.append(f"  risk accepted: {told.accepted_risk}")
    if told.entry is not None and told.head is not None:
        lines.append(f"Entry {told.entry.number}, head of the ledger {told.head}")
    return lines


def _not_run(skipped: Sequence[SkippedAttack]) -> list[str]:
    """What did not run; attacks that lacked the same, and entries alike in that, are told once."""
    alike: dict[tuple[int, str], list[str]] = {}
    for entry, attack, why in skipped:
        alike.setdefault((entry, why), []).append(attack)
    told: dict[tuple[str, str], list[int]] = {}
    for (entry, why), names in alike.items():
        told.setdefault((", ".join(names), why), []).append(entry)
    return [f"  not run: {names}, {_entries(n)}: {why}" for (names, why), n in told.items()]


def _outcome(told: Admission) -> str:
    if told.already:
        return "recorded already" + ("" if told.admitted else ", and REFUSED now")
    if told.overridden:
        return "admitted, with its risk accepted"
    return "admitted" if told.admitted else "REFUSED"


class Refused(ExposedError):
    """A release that exposes people together with earlier ones; ``admission`` has the findings."""

    def __init__(self, admission: Admission) -> None:
        reasons = admission.reasons
        more = [f"And {len(reasons) - REASONS_SHOWN:,} more reasons."] * (
            len(reasons) > REASONS_SHOWN
        )
        super().__init__(
            f"{admission.name} is not admitted. {' '.join([*reasons[:REASONS_SHOWN], *more])}",
            _hint(admission),
        )
        self.admission = admission


def _hint(admission: Admission) -> str:
    """What would let it pass, what is done already left out; and how to record it all the same."""
    ways = " Besides: ".join(f"{one.rstrip('.')}." for one in admission.ways[:REASONS_SHOWN])
    if admission.already:  # its risk can no longer be accepted
        recalled = "It is recorded already: shoal ledger withdraw says that it is recalled."
        return f"{ways} {recalled}".strip()
    return f'{ways} To record it all the same: --accept-risk "REASON".'.strip()
