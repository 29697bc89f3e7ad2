"""What is protected, and what releases spend of it together: a total for each unit of protection.

    one person                      tables differ by adding or removing a row: counts, synthetic
                                    tables, and releases by others that do not say otherwise
    one person's sensitive values   tables differ in these: randomised releases. It is a change of
                                    a row, for which the others are private too, at twice their ε
                                    (``shoal.noise.totals.doubled``)

Sums across the two would be a bound for neither (Kifer, Machanavajjhala: No free lunch in data
privacy, SIGMOD 2011, on unbounded and bounded neighbours). A total is told for each unit that some
release promises. That of the values is never below that of the person: it has the same releases,
doubled, and its own.

That somebody is in the table at all is not protected by a randomised release, whatever the totals.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from shoal.noise.totals import (
    BASIC,
    COMPOSITIONS,
    by_theorem,
    composed,
    doubled,
    lacking,
    remaining,
)
from shoal.spend import Spend

PERSON, VALUES = "one person", "one person's sensitive values"
"""The units, by name."""


@dataclass(frozen=True)
class Unit:
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
        return lacking(self.composition, self.spends, self._delta)

    @cached_property
    def totals(self) -> dict[str, Spend | None]:
        """What all spend by each theorem; None where one has no total."""
        found = {name: not lacking(name, self.spends, self._delta) for name in COMPOSITIONS}
        return {
            name: composed(name, self.spends, self._delta) if there else None
            for name, there in found.items()
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
        return remaining(self.composition, self.spends, self.budget)

    @property
    def exceeded(self) -> bool:
        """Whether all spend more than they may, or nobody can say what they spend."""
        if self.budget is None:
            return False
        return self.total is None or not self.total.within(self.budget)

    def counted(self, spends: Sequence[Spend]) -> Spend:
        """What the theorem in force counts some releases as, to which others are added."""
        return by_theorem(self.composition, spends, self._delta)

    def to_json(self) -> dict[str, Any]:
        """Exact texts for JSON: the total in force, by each theorem, and what is left."""
        told = {name: plain(one) for name, one in self.totals.items()}
        words = None if self.total is None else str(self.total)
        return {
            "unit": self.name,
            **(told[self.composition] or dict.fromkeys(("epsilon", "delta"))),
            "in_words": {"total": words, "budget": self.budget and str(self.budget)},
            "totals": told,
            "remaining": plain(self.remaining),
            "exceeded": self.exceeded,
            "why": self.why,
        }

    def __str__(self) -> str:
        return self.told()

    def told(self, planned: bool = False) -> str:
        """In words; ``planned``: one of the releases is not recorded, and has spent nothing yet."""
        by = "" if self.composition == BASIC else f" by {self.composition} composition"
        of = f" of {self.budget}" if self.budget is not None else "; no budget is set"
        verb = "would be spent" if planned else "spent"
        spent = f"no total{by}" if self.total is None else f"{self.total} {verb}{by}"
        return f"{spent}{of}{f' ({self.why})' if self.why else ''}"


def plain(spend: Spend | None) -> dict[str, str] | None:
    """A spend for JSON, if there is one."""
    return None if spend is None else spend.to_json()


def units(
    spends: Sequence[Spend], narrow: Collection[int], budget: Spend | None, composition: str
) -> tuple[Unit, ...]:
    """The units that releases promise; ``narrow``: the places of those that protect values alone.

    >>> [str(one) for one in units([Spend(1), Spend(1)], {1}, Spend(3), "basic")]
    ['ε 1 spent of ε 3', 'ε 3 spent of ε 3']
    """
    whole = tuple(one for i, one in enumerate(spends) if i not in narrow)
    found = [Unit(PERSON, whole, budget, composition)] if whole or not narrow else []
    if narrow:
        every = tuple(one if i in narrow else doubled(one) for i, one in enumerate(spends))
        found.append(Unit(VALUES, every, budget, composition))
    return tuple(found)
