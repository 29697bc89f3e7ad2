"""The differential-privacy budget of a ledger: what releases about the same people spend together.

Releases under differential privacy compose. The budget is stated when the ledger is founded, with
the theorem that adds spends up (``shoal.dp.accounting``): whoever chose it afterwards, by what was
seen, would be covered by none of them. Each ``about`` (whom releases are about) has its own
account, and the budget is for each.

A release that states no spend is not under differential privacy, and spends nothing here: what it
gives away is for the attacks to find. Foreign releases count as far as their makers state it, and
one that was never out spends nothing. What the key's folder remembers of entries that the ledger
lost (``known_heads``) counts still. Releases that protect different things are not added up: an
account has a total for each unit of protection, and the budget holds for each.

    one person                      tables differ by adding or removing a row: counts, synthetic
                                    tables, and releases by others that do not say otherwise
    one person's sensitive values   tables differ in these: randomised releases. It is a change of
                                    a row, for which the others are private too, at twice their ε
                                    (``shoal.dp.accounting.convert_to_replacement``)

Sums across the two would be a bound for neither (Kifer, Machanavajjhala: No free lunch in data
privacy, SIGMOD 2011, on unbounded and bounded neighbours). There is a total for each unit that some
release promises. That of the values is never below that of the person: it has the same releases,
doubled, and its own.

That somebody is in the table at all is not protected by a randomised release, whatever the totals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.core.spend import Number, Spend, format_budget, parse_spend, to_exact
from shoal.dp.accounting import (
    BASIC,
    COMPOSITIONS,
    compose_by_theorem,
    compose_spends,
    compute_remaining,
    convert_to_replacement,
    explain_missing_total,
)
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.recorded_releases import RESTORED, select_released
from shoal.releases.options import RANDOMISED

PERSON, VALUES = "one person", "one person's sensitive values"
"""The units, by name."""


@dataclass(frozen=True)
class ProtectionUnit:
    """One unit of protection: what all releases spend of it, and what they may."""

    name: str
    spends: tuple[Spend, ...]
    budget: Spend | None = None
    composition: str = BASIC

    @property
    def _delta(self) -> Fraction:
        return Fraction(0) if self.budget is None else self.budget.delta

    @property
    def why(self) -> str:
        """Why the theorem in force has no total; empty where it has."""
        return explain_missing_total(self.composition, self.spends, self._delta)

    @cached_property
    def totals(self) -> dict[str, Spend | None]:
        """What all spend by each theorem; None where one has no total."""
        has_total = {
            name: not explain_missing_total(name, self.spends, self._delta) for name in COMPOSITIONS
        }
        return {
            name: compose_spends(name, self.spends, self._delta) if is_known else None
            for name, is_known in has_total.items()
        }

    @property
    def total(self) -> Spend | None:
        """What all spend, by the theorem in force."""
        return self.totals[self.composition]

    @cached_property
    def remaining(self) -> Spend | None:
        """What one more release of this unit may spend; None without a budget, or a total."""
        if self.budget is None:
            return None
        return compute_remaining(self.composition, self.spends, self.budget)

    @property
    def exceeded(self) -> bool:
        """Whether all spend more than they may, or nobody can say what they spend."""
        if self.budget is None:
            return False
        return self.total is None or not self.total.within(self.budget)

    def add_up(self, spends: Sequence[Spend]) -> Spend:
        """What the theorem in force counts some releases as, to which others are added."""
        return compose_by_theorem(self.composition, spends, self._delta)

    def to_json(self) -> dict[str, Any]:
        """Exact texts for JSON: the total in force, by each theorem, and what is left."""
        totals = {name: spend_to_json(spend) for name, spend in self.totals.items()}
        words = None if self.total is None else str(self.total)
        return {
            "unit": self.name,
            **(totals[self.composition] or dict.fromkeys(("epsilon", "delta"))),
            "in_words": {"total": words, "budget": self.budget and str(self.budget)},
            "totals": totals,
            "remaining": spend_to_json(self.remaining),
            "exceeded": self.exceeded,
            "why": self.why,
        }

    def __str__(self) -> str:
        return self.describe()

    def describe(self, planned: bool = False) -> str:
        """In words; ``planned``: one of the releases is not recorded, and has spent nothing yet."""
        by = "" if self.composition == BASIC else f" by {self.composition} composition"
        of = f" of {self.budget}" if self.budget is not None else "; no budget is set"
        verb = "would be spent" if planned else "spent"
        spent = f"no total{by}" if self.total is None else f"{self.total} {verb}{by}"
        return f"{spent}{of}{f' ({self.why})' if self.why else ''}"


def spend_to_json(spend: Spend | None) -> dict[str, str] | None:
    """A spend for JSON, if there is one."""
    return None if spend is None else spend.to_json()


def split_into_units(
    spends: Sequence[Spend], narrow: Collection[int], budget: Spend | None, composition: str
) -> tuple[ProtectionUnit, ...]:
    """The units that releases promise; ``narrow``: the places of those that protect values alone.

    >>> [str(unit) for unit in split_into_units([Spend(1), Spend(1)], {1}, Spend(3), "basic")]
    ['ε 1 spent of ε 3', 'ε 3 spent of ε 3']
    """
    person_spends = tuple(spend for i, spend in enumerate(spends) if i not in narrow)
    units = (
        [ProtectionUnit(PERSON, person_spends, budget, composition)]
        if person_spends or not narrow
        else []
    )
    if narrow:
        value_spends = tuple(
            spend if i in narrow else convert_to_replacement(spend)
            for i, spend in enumerate(spends)
        )
        units.append(ProtectionUnit(VALUES, value_spends, budget, composition))
    return tuple(units)


_TWICE = (
    "For a change of sensitive values, which is one row less and another more, what counts and "
    "synthetic tables spend counts twice."
)
LARGEST_DELTA = to_exact("1/10")
"""A budget's δ is below it: a promise that may fail for one in ten is none."""


@dataclass(frozen=True)
class Account:
    """What this release spends, what all do with it, and what they may."""

    own: Spend
    spends: tuple[Spend, ...]
    """Those of all, this one's too."""
    budget: Spend | None = None
    composition: str = BASIC
    narrow: frozenset[int] = frozenset()
    """The places of those that protect sensitive values alone."""
    planned: bool = False
    """Whether this release is not recorded: what it spends would be spent."""

    @cached_property
    def units(self) -> tuple[ProtectionUnit, ...]:
        """A total for each unit of protection that some release promises."""
        return split_into_units(self.spends, self.narrow, self.budget, self.composition)

    @property
    def tightest(self) -> ProtectionUnit:
        """The unit of which most is spent: the others' totals are not above its own."""
        return self.units[-1]

    @property
    def totals(self) -> dict[str, Spend | None]:
        """What all spend of the tightest unit by each theorem; None where one has no total."""
        return self.tightest.totals

    @property
    def total(self) -> Spend | None:
        """The same, by the theorem in force."""
        return self.tightest.total

    @property
    def remaining(self) -> Spend | None:
        """What one more release of that unit may spend; None without a budget, or a total."""
        return self.tightest.remaining

    @property
    def exceeded(self) -> bool:
        """Whether this release spends something, and with it all spend more than they may."""
        return bool(self.own) and any(unit.exceeded for unit in self.units)

    @property
    def reason(self) -> str:
        """Why the budget forbids this release, of which unit; empty where it does not."""
        if not self.exceeded:
            return ""
        how = "cannot be kept" if self.total is None else "is exceeded"
        exceeded = [unit.name for unit in self.units if unit.exceeded]
        of = f" for {' and for '.join(exceeded)}" if self.narrow else ""
        why = f" {_TWICE}" if exceeded == [VALUES] and len(self.units) > 1 else ""
        return f"The budget {how}{of}: {self}.{self.pure_epsilon_note}{why}"

    @property
    def pure_epsilon_note(self) -> str:
        """What a pure ε counts as beside others, by the theorem in force; empty if no more."""
        if self.budget is None or self.total is None or self.own.delta or len(self.spends) == 1:
            return ""
        counted_spend = self.tightest.add_up((self.own,))
        if counted_spend.epsilon <= self.own.epsilon:
            return ""
        pure, counted_epsilon, delta = map(
            format_budget, (self.own.epsilon, counted_spend.epsilon, counted_spend.delta)
        )
        rho = (
            "" if counted_spend.rho is None else f"ρ {format_budget(counted_spend.rho)}, which is "
        )
        return f" A pure ε {pure} counts as {rho}ε {counted_epsilon} at δ {delta} (basic: {pure})."

    @property
    def last(self) -> bool:
        """Whether this release is the only one, within the budget, and leaves no room beside it.

        By basic composition the total says so.
        """
        if self.budget is None or self.composition == BASIC or self.spends != (self.own,):
            return False
        return not self.exceeded and not self.tightest.add_up(self.spends).within(self.budget)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the totals do not say: that it is the last, or that others protect other things."""
        if self.last:
            return (
                f"It uses the budget up: by {self.composition} composition it counts as "
                f"{self.tightest.add_up(self.spends)} beside others, so that no other release "
                "that spends anything can be admitted after it.",
            )
        if len(self.units) == 1:
            return ()
        return (
            "In the budget are releases that protect sensitive values alone "
            f"({len(self.narrow):,} of {len(self.spends):,}). {_TWICE} Whether somebody is in the "
            "table at all these do not protect.",
        )

    @property
    def left(self) -> str:
        """What is left, in words, and for what; empty where nothing is, or nobody can say.

        It is no difference of budget and total, except by basic composition.
        """
        if not self.remaining:
            return ""
        if self.composition == BASIC:
            return f"{self.remaining} left{' for a randomised release' if self.narrow else ''}"
        kind = "randomised release" if self.narrow else "release"
        return f"left for one more {kind} of pure ε: {format_budget(self.remaining.epsilon)}"

    def to_json(self) -> dict[str, Any]:
        """Exact texts for JSON: the total in force, this release's part, and the budget."""
        return {
            **self.tightest.to_json(),
            "own": self.own.to_json(),
            "budget": spend_to_json(self.budget),
            "composition": self.composition,
            "exceeded": self.exceeded,
            "units": [unit.to_json() for unit in self.units],
        }

    def __str__(self) -> str:
        if not self.narrow:
            return self.tightest.describe(self.planned)
        return "; ".join(f"{unit.name}: {unit.describe(self.planned)}" for unit in self.units)


def read_stated_spend(manifest: Mapping[str, Any] | None) -> Spend:
    """What a release says that it spends."""
    spend = (manifest or {}).get("spend") or {}
    try:
        return Spend.from_json(spend)
    except (UsageError, AttributeError):
        raise InputError(
            "The manifest states a spend that is none.", "publish the release again."
        ) from None


def compute_account(
    own: Spend, about: str, entries: Sequence[Entry], form: str = "", table: str = ""
) -> Account:
    """The account of the people that a release of some form is about, with this release in it.

    ``table`` is the release's, which may have been recorded before, in an entry that was lost.
    """
    recorded = [entry.body for entry in select_released(entries)]
    spending = [
        body
        for body in (
            *recorded,
            *_find_lost_spends(entries, [*recorded, {"table": table, "about": about}]),
        )
        if body.get("about") == about and body.get("spend")
    ]
    spends = [*(read_recorded_spend(body) for body in spending), *([own] if own else [])]
    forms = [*(body.get("form") for body in spending), *([form] if own else [])]
    narrow = frozenset(i for i, recorded_form in enumerate(forms) if recorded_form == RANDOMISED)
    return Account(own, tuple(spends), *read_budget(entries), narrow, planned=bool(own))


def _find_lost_spends(
    entries: Sequence[Entry], recorded: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """What entries that the ledger lost spent, but for releases that are recorded again."""
    again = {(body.get("table"), body.get("about")) for body in recorded}
    restored = [entry.body["spends"] for entry in entries if entry.kind == RESTORED]
    lost = {(spend["entry"], spend["table"]): spend for spends in restored for spend in spends}
    return [spend for spend in lost.values() if (spend["table"], spend.get("about")) not in again]


def read_recorded_spend(body: Mapping[str, Any]) -> Spend:
    """What an entry says that its release spends."""
    return Spend.from_json(body.get("spend") or {})


def check_spend_composes(spend: Spend, entries: Sequence[Entry]) -> None:
    """Refuse a spend that the theorem in force cannot add: it would end the account for good."""
    limit, composition = read_budget(entries)
    if limit is not None and (why := explain_missing_total(composition, (spend,), limit.delta)):
        raise UsageError(
            f"The ledger adds spends up by {composition} composition. {why}",
            "ask its maker for ρ and add --rho: for Gaussian noise it is Δ²/(2σ²), where one "
            "person changes what was measured by Δ and σ is the scale.",
        )


def read_budget(entries: Sequence[Entry]) -> tuple[Spend | None, str]:
    """What the founding entry allows to spend (None: no limit), and by which theorem."""
    body = next((entry.body for entry in entries if entry.kind == "founding"), {})
    stated = body.get("budget")
    limit = None if stated is None else Spend.from_json(stated)
    return limit, str(body.get("composition", BASIC))


def build_founding_budget(
    epsilon: Number | None, delta: Number | None, composition: str
) -> dict[str, Any]:
    """What the founding entry says of the budget, checked."""
    has_budget = epsilon is not None or delta is not None
    limit = parse_spend(epsilon, 0 if delta is None else delta) if has_budget else None
    if limit is not None and limit.delta >= LARGEST_DELTA:
        raise UsageError(
            "A budget with a delta of 0.1 or more promises too little: it may fail for one in ten.",
            "choose one far below 1 divided by the number of people: --delta 1e-6.",
        )
    if composition not in COMPOSITIONS:
        raise UsageError(
            "Spends are not added up in this way.", f"one of: {', '.join(COMPOSITIONS)}."
        )
    if composition != BASIC and (limit is None or not float(limit.delta)):
        raise UsageError(
            f"Composition by {composition} needs a budget with an epsilon and a delta above 0.",
            "add --epsilon 3 --delta 1e-6, or leave --composition out.",
        )
    return {"budget": spend_to_json(limit), "composition": composition}
