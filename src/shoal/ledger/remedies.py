"""What would let a refused release pass: commands to type, without what was done already.

The ways follow the cause. Rows that can be joined with an earlier release of ours: base the new one
on it, or, where that was done, show by the people that nobody's cell became finer. Values that
releases leave together: say who the people are, where nobody did; else larger and more varied
classes. Only where somebody else made one of the releases could a table be published together.

It does not promise that larger classes are large enough: that is judged when they are there.

Where the budget speaks against a release, a smaller ε helps if ε is exceeded and the earlier
releases leave some of it; a smaller δ if δ is. Where the earlier ones leave nothing, neither does.
For sensitive values those that protect a whole person count twice, so that a first randomised
release may find nothing left where counts or a synthetic table, which are added up as they stand,
would. By basic composition it says how large ε may be; by the others that depends on δ and ρ as
well.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from shoal.core.spend import Spend, format_budget
from shoal.dp.accounting import BASIC, ZCDP, explain_missing_total
from shoal.ledger.admission_options import OVERLAP
from shoal.ledger.budget import PERSON, VALUES, Account, ProtectionUnit
from shoal.ledger.pair_judgement import (
    ANSWERED_BY_BASE,
    NOTHING_COMMON,
    WORST_PAIR,
    JudgedFinding,
    JudgedPair,
)
from shoal.ledger.recorded_releases import FOREIGN
from shoal.ledger.related_entries import UNRECORDED
from shoal.releases.published_table import PublishedTable

# Against the budget

_USED_UP = (
    "the earlier releases use the budget up, so that no epsilon or delta is small enough: leave "
    "this release out."
)
_ANOTHER_FORM = (
    "the earlier releases, counted twice, leave nothing for sensitive values, so that no epsilon "
    "is small enough: leave the randomised release out, and publish counts or a synthetic table."
)


def suggest_smaller_spend(spend: Account) -> str:
    """What helps where the budget alone speaks against a release."""
    if spend.exceeded and spend.total is None:
        return _suggest_for_missing_total(spend)
    exceeded_units = [unit for unit in spend.units if unit.exceeded]
    if not all(_has_room(unit, _earlier_spends(spend, unit)) for unit in exceeded_units):
        return _ANOTHER_FORM if _fits_as_counts(spend) else _USED_UP
    return _suggest_smaller(spend, exceeded_units)


def _suggest_for_missing_total(spend: Account) -> str:
    if explain_missing_total(spend.composition, (spend.own,), Fraction(1, 2)):
        return "publish it so that its manifest states ρ, or without a delta."
    return (
        "an entry of the account has a delta and no ρ, and will not get one: begin another ledger, "
        "with --composition basic, for these people."
    )


def _earlier_spends(spend: Account, unit: ProtectionUnit) -> tuple[Spend, ...]:
    """What the releases before this one, which is the last, spend of a unit."""
    randomised = len(spend.spends) - 1 in spend.narrow
    return unit.spends if randomised and unit.name == PERSON else unit.spends[:-1]


def _has_room(unit: ProtectionUnit, earlier: Sequence[Spend]) -> bool:
    """Whether some release of a pure ε, however small, may follow the earlier ones."""
    if unit.budget is None:
        return True
    counted = unit.add_up(earlier)
    return counted.within(unit.budget) and counted.epsilon < unit.budget.epsilon


def _fits_as_counts(spend: Account) -> bool:
    """Whether this is the only randomised release, and counts would find something left."""
    only = spend.narrow == {len(spend.spends) - 1}
    person_units = [unit for unit in spend.units if unit.name == PERSON]
    return only and all(_has_room(unit, unit.spends) for unit in person_units)


def _suggest_smaller(spend: Account, exceeded_units: Sequence[ProtectionUnit]) -> str:
    if spend.pure_epsilon_note and spend.composition == ZCDP and not spend.narrow:
        return "publish with a smaller epsilon, or with a delta: Gaussian noise has a smaller ρ."
    epsilon, delta = (
        any(_exceeds_in(unit, name) for unit in exceeded_units) for name in ("epsilon", "delta")
    )
    if not delta:
        delta_too_large = spend.budget is not None and spend.own.delta > spend.budget.delta
        smaller = "epsilon or delta" if delta_too_large else "epsilon"
        return f"publish with a smaller {smaller}.{_describe_max_epsilon(spend, exceeded_units)}"
    nothing_left = any(_delta_left(spend, unit) <= 0 for unit in exceeded_units)
    way = "without a delta" if nothing_left else "with a smaller delta, or without one"
    if len(spend.spends) == 1:  # with a delta that fits, it spends what it states
        epsilon = not Spend(spend.own.epsilon).within(spend.budget or spend.own)
    return f"publish {way}{', and with a smaller epsilon' if epsilon else ''}."


def _describe_max_epsilon(spend: Account, exceeded_units: Sequence[ProtectionUnit]) -> str:
    """The largest ε that fits beside the earlier releases, rounded down."""
    if spend.composition != BASIC or spend.budget is None:
        return ""
    randomised = len(spend.spends) - 1 in spend.narrow
    left = [
        (unit.budget.epsilon - unit.add_up(_earlier_spends(spend, unit)).epsilon)
        / (2 if unit.name == VALUES and not randomised else 1)
        for unit in exceeded_units
        if unit.budget is not None
    ]
    max_epsilon = min(left)
    max_text = format_budget(max_epsilon)
    if Fraction(max_text) > max_epsilon:  # it is rounded up, as spends are
        context = Context(prec=6, rounding=ROUND_FLOOR)
        max_text = (
            f"{context.divide(Decimal(max_epsilon.numerator), Decimal(max_epsilon.denominator)):f}"
        )
    return f" At most --epsilon {max_text} is left."


def _exceeds_in(unit: ProtectionUnit, name: str) -> bool:
    total, budget = unit.total, unit.budget
    return bool(total and budget and getattr(total, name) > getattr(budget, name))


def _delta_left(spend: Account, unit: ProtectionUnit) -> Fraction:
    """What of δ the earlier releases leave; alone, a release may have all of it."""
    earlier = _earlier_spends(spend, unit)
    limit = Fraction(0) if unit.budget is None else unit.budget.delta
    return limit - unit.add_up(earlier).delta if earlier else limit


# Against attacks, and what could not be evaluated

CLASS_ATTACKS = {"forward", "cross", "backward"}
"""Attacks that a release which keeps the earlier one's classes withstands."""
VALUE_ATTACKS = {"intersection", WORST_PAIR}
_RECORD_BASE = (
    "record what it is based on first: shoal ledger admit EARLIER/ (or shoal ledger add-foreign "
    "TABLE --by NAME, where somebody else made it), then this one again"
)


@dataclass(frozen=True)
class Refusal:
    """A release that is judged, and what was said and done already."""

    new: PublishedTable
    pairs: Sequence[JudgedPair]
    people_given: bool
    based: frozenset[int]
    """The entries that it is based on."""
    l: int

    def ways(
        self,
        findings: Sequence[JudgedFinding],
        not_evaluated: Sequence[tuple[int, str]],
        spend: Account,
    ) -> tuple[str, ...]:
        """What would help against each cause, all of which must go; the worst first."""
        worst = sorted(
            (judged for judged in findings if judged.exceeds),
            key=lambda judged: -judged.beyond / max(judged.finding.people, 1),
        )
        alternatives = [self._ways_against(judged) for judged in worst]
        alternatives += [self._ways_to_evaluate(number) for number, _ in not_evaluated]
        if spend.exceeded:
            alternatives.append([suggest_smaller_spend(spend)])
        return tuple(dict.fromkeys("; or ".join(ways) for ways in alternatives if ways))

    @property
    def _manifest(self) -> Mapping[str, Any]:
        return self.new.manifest or {}

    # Against an attack

    def _ways_against(self, judged: JudgedFinding) -> list[str]:
        pairs = [pair for pair in self.pairs if pair.past.number in judged.entries]
        attack = judged.finding.attack
        related = [pair for pair in pairs if pair.relation != OVERLAP and not _is_foreign(pair)]
        if attack == "order":
            return ["write its rows in a random order, as shoal publish does, and admit it again"]
        if related and related[-1].past.number not in self.based:
            return [self._suggest_rebasing(related[-1])]
        if attack in ANSWERED_BY_BASE and related:
            return [self._suggest_showing_cells(related[-1])]
        if attack in CLASS_ATTACKS or attack not in VALUE_ATTACKS:
            return [judged.finding.defence.rstrip(".")]
        return self._ways_against_values(judged, pairs)

    def _suggest_rebasing(self, pair: JudgedPair) -> str:
        people = "" if self.people_given else f", and admit it with --people {_TABLE}"
        return (
            f"base the second release on the first, so that nobody's cell becomes finer: "
            f"{self._publish_command(pair)}{people}"
        )

    def _suggest_showing_cells(self, pair: JudgedPair) -> str:
        """It is based on the earlier one: only the people show that no cell is finer."""
        if not self.people_given:
            return (
                f"show by the people that nobody's cell is finer than in entry "
                f"{pair.past.number}: {self._admit} --people {_TABLE}, with the column that says "
                "who they are"
            )
        return (
            f"it is based on entry {pair.past.number}, but {pair.finer or 'that is no answer'}: "
            f"{self._publish_command(pair)}, from a table with the person column that entry had"
        )

    def _ways_against_values(self, judged: JudgedFinding, pairs: Sequence[JudgedPair]) -> list[str]:
        ways = []
        if judged.joined_by:
            dropped = " ".join(f"--drop {shlex.quote(name)}" for name in judged.joined_by)
            ways.append(
                "leave out what an earlier release publishes as it is too: "
                f"{self._publish_command()} {dropped}"
            )
        if judged.finding.attack == WORST_PAIR:
            ways.append(self._suggest_people(pairs))
        ways.append(self._suggest_larger_classes(judged.on, len(judged.entries)))
        foreign = [pair.past.entry.body for pair in pairs if _is_foreign(pair)]
        if makers := sorted({str(body.get("made_by", "")) for body in foreign}):
            ways.append(f"publish one table together with {', '.join(makers)}: shoal pool")
        return ways

    def _suggest_people(self, pairs: Sequence[JudgedPair]) -> str:
        if not self.people_given:
            return (
                f"say who the people are, so that the worst need not be assumed: {self._admit} "
                f"--people {_TABLE}"
            )
        people_found = min(
            (p.people_found for p in pairs if p.people_found is not None), default=None
        )
        among = (
            ""
            if people_found is None
            else f" ({people_found:,} are found in its {self.new.rows:,} rows)"
        )
        return (
            f"the people given are not all who are in one of the releases{among}, so that the "
            "worst is assumed of the others: give the whole table that one of them was made of"
        )

    def _suggest_larger_classes(self, column: str, others: int) -> str:
        """Larger and more varied classes: by a model that the rule lacks, else by more of it."""
        rule, l = self._rule, self.l if others == 1 else self.l + 1
        on = f" on={column}" if len(self.new.schema.sensitive) > 1 else ""
        if "composition" not in rule:
            rule = f"{rule} & composition l={l} alpha=0.95{on}"
            return f"ask for larger and more varied classes: {self._publish_command(rule=rule)}"
        return (
            f"ask for more than {rule}: a larger l or alpha of composition, or a larger k, "
            f"so that classes leave more values of {column}"
        )

    # To have it judged

    def _ways_to_evaluate(self, number: int) -> list[str]:
        if number == UNRECORDED:
            return [_RECORD_BASE]
        pair = next((pair_ for pair_ in self.pairs if pair_.past.number == number), None)
        if pair is None:
            return []
        if pair.not_evaluated == NOTHING_COMMON:
            return [
                f"name the columns that mean the same as in {_describe_pair(pair)} alike, or, if "
                f"it is about other people, say so: {self._admit} --about NAME"
            ]
        if formed := self._suggest_other_form(pair):
            return [formed]
        if other := self._suggest_roles(pair) or self._suggest_spelling(pair):
            return [other]
        if not pair.how:  # the labels could not be read: the reason says which, and what to do
            return [f"mend what stands in the way with {_describe_pair(pair)}, as said above"]
        if not self.people_given:
            return [f"say who the people are: {self._admit} --people {_TABLE}"]
        first_sensitive = next((column.name for column in self.new.schema.sensitive), "")
        return [self._suggest_larger_classes(first_sensitive, len(self.pairs))]

    def _suggest_other_form(self, pair: JudgedPair) -> str:
        if self.new.buckets or self.new.centroids:
            return f"publish it in classes, without --form: {self._publish_command()}"
        if pair.past.published.buckets:
            return f"{_describe_pair(pair)} is in buckets, which nothing can be compared with"
        return ""

    def _suggest_roles(self, pair: JudgedPair) -> str:
        """A column that is sensitive in one release and a cell in the other, or in none of both."""
        both = pair.past.published.schema, self.new.schema
        sensitive, cells = (
            [getattr(release, role) for release in both] for role in ("sensitive", "quasi")
        )
        names = [{column.name for column in columns} for columns in (*sensitive, *cells)]
        if mixed := sorted((names[0] & names[3]) | (names[1] & names[2])):
            return (
                f"give {', '.join(mixed)} the role in the schema that {_describe_pair(pair)} gives "
                f"it, or leave that column out, and publish it again: {self._publish_command()}"
            )
        if not names[0] & names[1] and pair.relation != OVERLAP and not pair.stated:
            return (
                "say what they are of each other, if that is so: "
                f"{self._admit} --{pair.relation.replace(' ', '-')}"
            )
        return ""

    def _suggest_spelling(self, pair: JudgedPair) -> str:
        """Sensitive columns without a value that both have, as if these were spelt otherwise."""
        both = [
            {column.name for column in release.schema.sensitive}
            for release in (pair.past.published, self.new)
        ]
        listings = pair.past.published.listings, self.new.listings
        names = [
            name
            for name in sorted(both[0] & both[1])
            if not set(listings[0][name].words()) & set(listings[1][name].words())
        ]
        if not names:
            return ""
        return (
            f"name the values of {', '.join(names)} as {_describe_pair(pair)} does; or, if it is "
            f"about other people, say so: {self._admit} --about NAME"
        )

    # Commands

    @property
    def _rule(self) -> str:
        return str(self._manifest.get("rule") or "k-anonymity k=5")

    @property
    def _admit(self) -> str:
        folder = f"{self.new.name}/" if self._manifest else "RELEASE"
        return f"shoal ledger admit {folder}"

    def _publish_command(self, base: JudgedPair | None = None, rule: str = "") -> str:
        # What it is based on, it stays based on.
        bases = [pair for pair in self.pairs if pair.past.number in self.based]
        base = base or (bases[-1] if bases else None)
        based = ""
        if base is not None:
            based = f" --based-on {base.past.entry.body.get('name', 'EARLIER')}/"
        return f'shoal publish {_TABLE} -s schema.toml -m "{rule or self._rule}" -o NEW/{based}'


_TABLE = "TABLE"


def _is_foreign(pair: JudgedPair) -> bool:
    return pair.past.entry.kind == FOREIGN


def _describe_pair(pair: JudgedPair) -> str:
    return f"entry {pair.past.number}"
