"""How findings about knowledge are worded: chances, counts, and values by name or by rank.

It decides nothing: whether a value may be named is asked elsewhere.
"""

from __future__ import annotations

from fractions import Fraction

from shoal.core.histogram import Histogram
from shoal.core.theory.adversary_view import View


def pluralise(number: int, singular: str, plural: str) -> str:
    """So many of them."""
    return f"{number:,} {singular if number == 1 else plural}"


def is_null(view: View, code: int) -> bool:
    """Whether a value is missing."""
    assert view.sensitive is not None
    return view.sensitive.null and code == view.sensitive.null_code


def rank_value(values: Histogram, class_: int, code: int) -> int:
    """How common a value is in a class: 1, the most common; among equals the first one first."""
    codes, counts = values.of_class(class_)
    own = counts[codes.index(code)]
    return 1 + sum(n > own or (n == own and c < code) for c, n in zip(codes, counts, strict=True))


def describe_rank(rank: int) -> str:
    """A value by its rank.

    >>> [describe_rank(rank) for rank in (1, 2, 11, 23)]
    ['most common', '2nd most common', '11th most common', '23rd most common']
    """
    if rank == 1:
        return "most common"
    last = 0 if rank % 100 in (11, 12, 13) else rank % 10
    return f"{rank}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') } most common"


def format_chance(chance: float | Fraction) -> str:
    """A chance in per cent, where only what is certain is 100 %.

    With a decimal, or what stays just under a promised 60 % would be told as 60 %.

    >>> [format_chance(chance) for chance in (Fraction(2, 3), Fraction(3, 5))]
    ['66.7% (2/3)', '60% (3/5)']
    >>> format_chance(Fraction(9999, 10000)), format_chance(1)
    ('over 99.9%', '100%')
    """
    number = f"{100 * float(chance):.1f}".removesuffix(".0")
    text = "over 99.9%" if 0.9995 <= chance < 1 else f"{number}%"
    short = isinstance(chance, Fraction) and 1 < chance.denominator <= 1000
    return f"{text} ({chance})" if short else text
