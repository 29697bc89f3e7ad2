"""What helps a release that the budget alone speaks against: only what does is told.

A smaller ε helps where ε is exceeded and the earlier releases leave some of it; a smaller δ where δ
is. Where the earlier ones leave nothing, neither does. For sensitive values those that protect a
whole person count twice (``units``), so that a first randomised release may find nothing left
where counts or a synthetic table, which are added up as they stand, would.

By basic composition it says how large ε may be; by the others that depends on δ and ρ as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from shoal.flow.ledger.budget import Account
from shoal.flow.ledger.units import PERSON, VALUES, Unit
from shoal.noise.totals import BASIC, ZCDP, lacking
from shoal.spend import Spend, in_words

_USED_UP = (
    "the earlier releases use the budget up, so that no epsilon or delta is small enough: leave "
    "this release out."
)
_ANOTHER_FORM = (
    "the earlier releases, counted twice, leave nothing for sensitive values, so that no epsilon "
    "is small enough: leave the randomised release out, and publish counts or a synthetic table."
)


def cheaper(spend: Account) -> str:
    """What helps where the budget alone speaks against a release."""
    if spend.exceeded and spend.total is None:
        return _no_total(spend)
    over = [one for one in spend.units if one.exceeded]
    if not all(_has_room(one, _earlier(spend, one)) for one in over):
        return _ANOTHER_FORM if _fits_otherwise(spend) else _USED_UP
    return _smaller(spend, over)


def _no_total(spend: Account) -> str:
    if lacking(spend.composition, (spend.own,), Fraction(1, 2)):
        return "publish it so that its manifest states ρ, or without a delta."
    return (
        "an entry of the account has a delta and no ρ, and will not get one: begin another ledger, "
        "with --composition basic, for these people."
    )


def _earlier(spend: Account, unit: Unit) -> tuple[Spend, ...]:
    """What the releases before this one, which is the last, spend of a unit."""
    randomised = len(spend.spends) - 1 in spend.narrow
    return unit.spends if randomised and unit.name == PERSON else unit.spends[:-1]


def _has_room(unit: Unit, earlier: Sequence[Spend]) -> bool:
    """Whether some release of a pure ε, however small, may follow the earlier ones."""
    if unit.budget is None:
        return True
    counted = unit.counted(earlier)
    return counted.within(unit.budget) and counted.epsilon < unit.budget.epsilon


def _fits_otherwise(spend: Account) -> bool:
    """Whether this is the only randomised release, and counts would find something left."""
    only = spend.narrow == {len(spend.spends) - 1}
    whole = [one for one in spend.units if one.name == PERSON]
    return only and all(_has_room(one, one.spends) for one in whole)


def _smaller(spend: Account, over: Sequence[Unit]) -> str:
    """Which of ε and δ is to be smaller, where that helps."""
    if spend.alone and spend.composition == ZCDP and not spend.narrow:
        return "publish with a smaller epsilon, or with a delta: Gaussian noise has a smaller ρ."
    epsilon, delta = (any(_beyond(one, name) for one in over) for name in ("epsilon", "delta"))
    if not delta:
        wide = spend.budget is not None and spend.own.delta > spend.budget.delta
        return (
            f"publish with a smaller epsilon{' or delta' if wide else ''}.{_at_most(spend, over)}"
        )
    none = any(_delta_left(spend, one) <= 0 for one in over)
    way = "without a delta" if none else "with a smaller delta, or without one"
    if len(spend.spends) == 1:  # with a delta that fits, it spends what it states
        epsilon = not Spend(spend.own.epsilon).within(spend.budget or spend.own)
    return f"publish {way}{', and with a smaller epsilon' if epsilon else ''}."


def _at_most(spend: Account, over: Sequence[Unit]) -> str:
    """The largest ε that fits beside the earlier releases, rounded down."""
    if spend.composition != BASIC or spend.budget is None:
        return ""
    randomised = len(spend.spends) - 1 in spend.narrow
    left = [
        (unit.budget.epsilon - unit.counted(_earlier(spend, unit)).epsilon)
        / (2 if unit.name == VALUES and not randomised else 1)
        for unit in over if unit.budget is not None
    ]  # fmt: skip
    most = min(left)
    words = in_words(most)
    if Fraction(words) > most:  # it is rounded up, as spends are
        context = Context(prec=6, rounding=ROUND_FLOOR)
        words = f"{context.divide(Decimal(most.numerator), Decimal(most.denominator)):f}"
    return f" At most --epsilon {words} is left."


def _beyond(unit: Unit, name: str) -> bool:
    total, budget = unit.total, unit.budget
    return bool(total and budget and getattr(total, name) > getattr(budget, name))


def _delta_left(spend: Account, unit: Unit) -> Fraction:
    """What of δ the earlier releases leave; alone, a release may have all of it."""
    earlier = _earlier(spend, unit)
    limit = Fraction(0) if unit.budget is None else unit.budget.delta
    return limit - unit.counted(earlier).delta if earlier else limit
