"""What releases spend of a differential-privacy budget: exact numbers, in all that is stated.

A release that is (ε, δ)-differentially private spends (ε, δ). Numbers are rationals: a tenth is a
tenth, however it is written, so that ten of them are 1, and whether a budget is exceeded is never
a matter of rounding. What is computed (a bound that has a root or a logarithm) is rounded up.

It says how much is spent, not what of: the unit of protection stands beside it in a release.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from shoal.core.errors import UsageError

Number = Fraction | int | float | str
"""A number as somebody writes it: 0.1, "0.1", "1/10" and Fraction(1, 10) are the same."""

_WRITTEN = re.compile(r"[+-]?(\d+(/\d+)?|\d*\.?\d+|\d+\.)([eE][+-]?\d{1,3})?")
_LONGEST = 700
"""Digits of a number in text: those of the smallest float, written as a fraction, with room."""
_DIGITS = 6
"""Digits that a person reads of a number that has no short form."""
MAX_EPSILON = 100
"""The largest epsilon that may be asked for: beyond it noise is gone, whatever is promised."""


def to_exact(number: Number) -> Fraction:
    """The number that is meant: a tenth, not the binary fraction next to it.

    >>> to_exact(0.1) == to_exact("0.1") == to_exact("1/10") == Fraction(1, 10)
    True
    """
    wrong = UsageError("A privacy budget is a finite number.", 'write for example 0.1 or "1/10".')
    if isinstance(number, bool) or not isinstance(number, Fraction | int | float | str):
        raise wrong
    try:
        exact = Fraction(_plain(number))
        float(exact)  # one beyond all floats is no budget, and could not be printed
    except (ValueError, ZeroDivisionError, OverflowError):
        raise wrong from None
    return exact


def _plain(number: Number) -> Fraction | int | str:
    """The number as a fraction reads it: a float by its shortest decimals."""
    if isinstance(number, str):
        text = number.strip()
        if len(text) > _LONGEST or not _WRITTEN.fullmatch(text):
            raise ValueError
        return text
    return repr(float(number)) if isinstance(number, float) else number


def round_up(bound: float) -> Fraction:
    """A computed bound as an exact rational: the float itself, which is never below it.

    >>> round_up(0.1) >= to_exact(0.1), round_up(0.5)
    (True, Fraction(1, 2))
    """
    if not math.isfinite(bound):
        raise UsageError(
            "The privacy that is spent has no finite bound.", "ask for a smaller epsilon."
        )
    return Fraction(bound)


def format_budget(number: Fraction, exact: bool = False) -> str:
    """A number as a person reads it: exact where that is short or asked for, else rounded up.

    >>> [format_budget(to_exact(n)) for n in ("1/10", "1e-6", "1/3", "12345/98765431")]
    ['0.1', '1e-06', '1/3', '0.000124994']
    """
    short = f"{float(number):.9g}"
    if Fraction(short) == number:
        return short
    if exact or number.denominator < 1000:
        return str(number)
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    rounded = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{rounded.normalize():g}"


@dataclass(frozen=True, init=False)
class Spend:
    """What a release spends: ε and δ, and where it is known the ρ of zero-concentrated privacy.

    Sequential composition: mechanisms that are (ε1, δ1)- and (ε2, δ2)-differentially private are
    (ε1 + ε2, δ1 + δ2)-private together (Dwork, Roth: The algorithmic foundations of differential
    privacy, 2014, theorem 3.16), which is what ``+`` says. It is a bound; ``shoal.dp.accounting``
    has tighter ones. A sum has no ρ of its own.

    Parameters
    ----------
    epsilon, delta : number
        Exact as written: 0.1, ``"0.1"`` and ``"1/10"`` are the same.
    rho : number, optional
        The loss in zero-concentrated privacy.

    Raises
    ------
    UsageError
        Where epsilon is below 0, or delta is not from 0 to 1.

    Examples
    --------
    >>> print(Spend(0.1) + Spend("0.2", 1e-6))
    ε 0.3, δ 1e-06
    >>> (Spend(0.1) + Spend(0.2)).within(Spend(0.3))
    True
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    def __init__(self, epsilon: Number = 0, delta: Number = 0, rho: Number | None = None) -> None:
        exact = {"epsilon": to_exact(epsilon), "delta": to_exact(delta)}
        concentrated = None if rho is None else to_exact(rho)
        if min(*exact.values(), concentrated or 0) < 0 or exact["delta"] > 1:
            raise UsageError(
                "A spend is an epsilon of at least 0 and a delta from 0 to 1.",
                "write for example epsilon=0.5, delta=1e-6.",
            )
        for name, value in {**exact, "rho": concentrated}.items():
            object.__setattr__(self, name, value)

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.epsilon + other.epsilon, min(self.delta + other.delta, Fraction(1)))

    def __bool__(self) -> bool:
        """Whether anything is spent."""
        return bool(self.epsilon or self.delta)

    def within(self, budget: Spend) -> bool:
        """Whether it is no more than a budget, in epsilon and in delta."""
        return self.epsilon <= budget.epsilon and self.delta <= budget.delta

    def to_json(self) -> dict[str, str]:
        """Exact texts for JSON.

        >>> Spend(0.1).to_json()
        {'epsilon': '1/10', 'delta': '0'}
        """
        rho = {} if self.rho is None else {"rho": str(self.rho)}
        return {"epsilon": str(self.epsilon), "delta": str(self.delta), **rho}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spend:
        """The spend that ``to_json`` wrote; numbers, as ledgers once had them, are read too."""
        return cls(data.get("epsilon", 0), data.get("delta", 0), data.get("rho"))

    def in_words(self, exact: bool = False) -> str:
        """The spend as a person reads it; long numbers rounded up, unless they are to be exact."""
        delta = f", δ {format_budget(self.delta, exact)}" if self.delta else ""
        return f"ε {format_budget(self.epsilon, exact)}{delta}"

    def __str__(self) -> str:
        return self.in_words()


def parse_spend(epsilon: Number | None, delta: Number = 0) -> Spend:
    """What a release may spend, as its publisher asks for it.

    >>> print(parse_spend("1/3", 1e-6))
    ε 1/3, δ 1e-06
    """
    if epsilon is None:
        raise UsageError(
            "Nobody says how much of a privacy budget may be spent.", "add --epsilon 1."
        )
    amount, slack = _finite(epsilon, "epsilon"), _finite(delta, "delta")
    if amount <= 0:
        raise UsageError(
            "Epsilon must be more than 0: at 0 nothing could be said of anybody.",
            "write for example --epsilon 1.",
        )
    if amount > MAX_EPSILON:
        raise UsageError(
            f"A promise with an epsilon above {MAX_EPSILON} says nothing about anybody.",
            f"write for example --epsilon 1; {MAX_EPSILON} is the most.",
        )
    if slack < 0:
        raise UsageError("Delta is a chance, and not below 0.", "leave it out, or --delta 1e-6.")
    if slack >= 1:
        raise UsageError(
            "At a delta of 1 or more nothing is promised to anybody.",
            "choose one far below 1 divided by the number of people: --delta 1e-6.",
        )
    return Spend(amount, slack)


def _finite(number: Number, name: str) -> Fraction:
    try:
        return to_exact(number)
    except UsageError as error:
        word = isinstance(number, str) and not _is_number(number)
        fact = "is not a number" if word else "must be a finite number"
        raise UsageError(f"{name.capitalize()} {fact}.", error.hint) from None


def _is_number(written: str) -> bool:
    try:
        float(written)
    except ValueError:
        return _WRITTEN.fullmatch(written.strip()) is not None
    return True
