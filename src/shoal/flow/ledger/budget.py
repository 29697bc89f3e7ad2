"""The differential-privacy budget of a ledger: what releases about the same people spend together.

Releases under differential privacy compose: their ε and δ add up (``shoal.Spend``). The budget is
stated when the ledger is founded; each ``about`` (whom releases are about) has its own.

A release that states no spend is not under differential privacy, and spends nothing here: what it
gives away is for the attacks to find. Foreign releases count as far as their makers state it, and
one that was never out spends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, UsageError
from shoal.flow.ledger.standing import somewhere
from shoal.ledger import Entry
from shoal.release import Spend


@dataclass(frozen=True)
class Account:
    """What this release spends, what all do with it, and what they may."""

    own: Spend
    total: Spend
    budget: Spend | None = None

    @property
    def exceeded(self) -> bool:
        """Whether this release spends something, and with it all spend more than they may."""
        spends = self.own != Spend()
        return spends and self.budget is not None and not self.total.within(self.budget)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON: the sum, this release's part, and the budget."""
        budget = None if self.budget is None else self.budget.to_json()
        return {**self.total.to_json(), "own": self.own.to_json(), "budget": budget}

    def __str__(self) -> str:
        of = f" of {self.budget}" if self.budget is not None else "; no budget is set"
        return f"{self.total} spent{of}"


def stated(manifest: Mapping[str, Any] | None) -> Spend:
    """What a release says that it spends."""
    spend = (manifest or {}).get("spend") or {}
    try:
        return Spend.from_json(spend)
    except (UsageError, AttributeError):
        raise InputError(
            "The manifest states a spend that is none.", "publish the release again."
        ) from None


def account(own: Spend, about: str, entries: Sequence[Entry]) -> Account:
    """The account of the people that a release is about, with this release in it."""
    spends = [
        Spend.from_json(one.body["spend"])
        for one in somewhere(entries)
        if one.body.get("about") == about and one.body.get("spend")
    ]
    return Account(own, sum(spends, own), budget(entries))


def budget(entries: Sequence[Entry]) -> Spend | None:
    """What the founding entry allows to spend; None: no limit."""
    told = next((one.body.get("budget") for one in entries if one.kind == "founding"), None)
    return None if told is None else Spend.from_json(told)
