"""What several releases spend together: three theorems, each rounded up, as exact rationals.

basic     (Σ ε_i, Σ δ_i). Dwork, Roth: The algorithmic foundations of differential privacy, 2014,
          theorem 3.16.
advanced  (√(2 ln(1/δ') Σ ε_i²) + ½ Σ ε_i², δ' + Σ δ_i), also where each ε_i is chosen by what the
          releases before it say. Whitehouse, Ramdas, Rogers, Wu: Fully-adaptive composition in
          differential privacy, ICML 2023: a filter, with the slack δ' fixed in advance.
zcdp      Σ ρ_i, and (ε, δ) of that by OpenDP. A pure ε is ρ = ε²/2; ρ adds up. Bun, Steinke:
          Concentrated differential privacy, TCC 2016; chosen adaptively: Whitehouse et al.

Half of a budget's δ is the slack of *advanced*, the other half is for the releases' own δ: the
theorem asks for both before anything is seen. *zcdp* has no δ of single releases, and converts at
the whole δ. One that is approximately private and states no ρ cannot enter it.

A release that is the only one spends no more than it states itself, where its δ is within the
budget's, though a theorem may count it as more: the way from (ε, δ) to ρ and back loses a little,
and for a pure ε much. This is no choice by what was seen, as nothing was seen before the first
release. Where the theorem counts it as more than the budget, nothing further can be admitted: any
total of it and another is the theorem's. Else the filter goes on as if it had been asked at once.

What protects a person's row when it is added or removed protects a change of it too, which is one
row less and another more, at (2ε, (1 + e^ε)δ) or 4ρ: privacy of a group of two (Dwork, Roth 2014,
theorem 2.2; Bun, Steinke 2016).

None says anything of releases that are not counted in, nor which theorem to hold by: whoever takes
the smallest after seeing the releases has none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from shoal.core.errors import NotMetError
from shoal.core.spend import Spend, round_up
from shoal.dp.mechanisms import check_delta
from shoal.dp.opendp_library import load_opendp, round_down

COMPOSITIONS = BASIC, ADVANCED, ZCDP = "basic", "advanced", "zcdp"
"""The theorems, by name."""

_LONG = Context(prec=50)
_DIGITS = 12
"""So many digits a computed bound has, the last one rounded up."""
_MIN_RHO = Fraction(1, 10**20)
"""A smaller ρ is taken to be this one: the library cannot convert it."""
_MAX_GROUP_EPSILON = 1000
"""Beyond this ε any δ of a group of two is taken to be 1."""
_STEPS = 1000
"""What is left is found to a thousandth of ε, rounded down."""


def explain_missing_total(name: str, spends: Sequence[Spend], delta: Fraction) -> str:
    """Why a theorem has no total for these spends, at a budget of this δ; empty where it has.

    >>> explain_missing_total("zcdp", [Spend(1)], Fraction(0))
    'It needs a budget with a δ above 0.'
    """
    if name != BASIC and not round_down(delta) > 0:
        return "It needs a budget with a δ above 0."
    if name == ZCDP and any(_rho(spend) is None for spend in spends):
        return "A release with a δ states no ρ, so that it cannot be added up."
    return ""


def compose_spends(name: str, spends: Sequence[Spend], delta: Fraction = Fraction(0)) -> Spend:
    """What the releases spend together by one theorem, at a budget of this δ.

    A single one spends no more than it states.

    >>> print(compose_spends("basic", [Spend("1/10")] * 10))
    ε 1
    >>> print(compose_spends("zcdp", [Spend(1)], Fraction(1, 10**6)))
    ε 1
    """
    total = compose_by_theorem(name, spends, delta)
    spent = [spend for spend in spends if spend]
    if len(spent) == 1 and spent[0].delta <= delta and spent[0].epsilon <= total.epsilon:
        return Spend(spent[0].epsilon, spent[0].delta, total.rho)
    return total


def compose_by_theorem(name: str, spends: Sequence[Spend], delta: Fraction) -> Spend:
    """What the theorem itself counts, of a single release too: what others are added to.

    >>> print(compose_by_theorem("zcdp", [Spend(1)], Fraction(1, 10**6)))
    ε 5.22154, δ 1e-06
    """
    if why := explain_missing_total(name, spends, delta):
        raise NotMetError(f"There is no {name} total. {why}", "hold by another theorem: basic.")
    spent = [spend for spend in spends if spend]
    if name == BASIC or not spent:
        return sum(spent, Spend())
    if name == ADVANCED:
        return compose_advanced(spent, delta / 2)
    return convert_concentrated(sum(filter(None, map(_rho, spent)), Fraction(0)), delta)


def compose_advanced(spends: Sequence[Spend], slack: Fraction) -> Spend:
    """The total by advanced composition as a privacy filter, with a slack δ' above 0.

    >>> print(compose_advanced([Spend("1/100")] * 100, Fraction(1, 10**6)))
    ε 0.530653, δ 1e-06
    """
    squares = sum((spend.epsilon**2 for spend in spends), Fraction(0))
    logarithm = _decimal(1 / slack).ln(_LONG)
    root = _LONG.sqrt(_LONG.multiply(logarithm, _decimal(2 * squares)))
    epsilon = _above(_LONG.add(root, _decimal(squares / 2)))
    return Spend(
        epsilon, min(slack + sum((spend.delta for spend in spends), Fraction(0)), Fraction(1))
    )


def convert_concentrated(rho: Fraction, delta: Fraction) -> Spend:
    """The (ε, δ) of ρ-zero-concentrated differential privacy, by OpenDP's conversion.

    >>> print(convert_concentrated(Fraction(1, 32), Fraction(1, 1000)))
    ε 0.688003, δ 0.001
    """
    check_delta(delta)
    library = load_opendp()
    space = library.atom_domain(T=float, nan=False), library.absolute_distance(T=float)
    gauss = library.c.make_zCDP_to_approxDP(library.m.make_gaussian(*space, 1.0))
    # noise of scale 1 at a distance d has ρ = d²/2; a smaller δ only makes ε larger
    epsilon = gauss.map(_distance(max(rho, _MIN_RHO))).epsilon(round_down(delta))
    return Spend(round_up(epsilon), delta, rho)


def convert_to_replacement(spend: Spend) -> Spend:
    """What a release spends for a change of a row, where adding or removing one spends this.

    >>> print(convert_to_replacement(Spend(1, 1e-6)))
    ε 2, δ 0.00000371829
    """
    if spend.epsilon > _MAX_GROUP_EPSILON:
        delta = Fraction(bool(spend.delta))
    else:
        delta = min((1 + _above(_LONG.exp(_decimal(spend.epsilon)))) * spend.delta, Fraction(1))
    return Spend(2 * spend.epsilon, delta, None if spend.rho is None else 4 * spend.rho)


def compute_remaining(name: str, spends: Sequence[Spend], budget: Spend) -> Spend | None:
    """What one more release may spend; None where the theorem has no total.

    By basic composition ε and δ; by the others the largest ε of one that has no δ.

    >>> print(compute_remaining("basic", [Spend("1/3")], Spend(1)))
    ε 2/3
    """
    if explain_missing_total(name, spends, budget.delta):
        return None
    if name == BASIC:
        spent = compose_spends(BASIC, spends)
        left = budget.epsilon - spent.epsilon, budget.delta - spent.delta
        return Spend(*left) if min(left) >= 0 else Spend()
    low, high = 0, math.floor(budget.epsilon * _STEPS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        candidate = Spend(Fraction(middle, _STEPS))
        fits = compose_spends(name, [*spends, candidate], budget.delta).within(budget)
        low, high = (middle, high) if fits else (low, middle)
    return Spend(Fraction(low, _STEPS))


def _rho(spend: Spend) -> Fraction | None:
    """The ρ of a spend; None where it has a δ and states none.

    Of a pure ε it is ε²/2 at least: a smaller one that is stated is nobody's proof.
    """
    if not spend.delta:
        return max(spend.epsilon**2 / 2, spend.rho or Fraction(0))
    return spend.rho


def _distance(rho: Fraction) -> float:
    """The float d next above √(2ρ)."""
    distance = float(_LONG.sqrt(_decimal(2 * rho)))
    while Fraction(distance) ** 2 < 2 * rho:
        distance = math.nextafter(distance, math.inf)
    return distance


def _decimal(number: Fraction) -> Decimal:
    return _LONG.divide(Decimal(number.numerator), Decimal(number.denominator))


def _above(number: Decimal) -> Fraction:
    """A number rounded up to twelve digits, with room for what fifty digits lost before."""
    room = _LONG.multiply(number, Decimal("1e-40"))
    return Fraction(Context(prec=_DIGITS, rounding=ROUND_CEILING).add(number, room))
