"""Numbers in words: how a share, a value or a list of names is printed, the same everywhere.

A share is never rounded to nothing or to everything: what reads 0% or 100% is exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.pages.drawing import clean


def percent(part: float, whole: float) -> str:
    """A share in words that never claims nobody or everybody unless it is so.

    >>> percent(0, 7), percent(1, 5000), percent(71, 1000), percent(4999, 5000)
    ('0%', '<0.1%', '7.1%', '>99.9%')
    """
    if whole <= 0 or part <= 0:
        return "0%"
    share = 100 * part / whole
    if part < whole and share > 99.5:
        return ">99.9%" if share > 99.9 else f"{share:.1f}%"
    if share < 0.1:
        return "<0.1%"
    return f"{share:.1f}%" if share < 9.95 else f"{share:.0f}%"


def brief(part: float, whole: float) -> str:
    """A share short enough to stand on a narrow column.

    >>> brief(0, 9), brief(1, 500), brief(1, 4), brief(499, 500), brief(9, 9)
    ('0', '<1%', '25%', '>99%', '100%')
    """
    if part <= 0:
        return "0"
    share = 100 * part / whole
    if share < 1:
        return "<1%"
    return ">99%" if part < whole and share >= 99.5 else f"{share:.0f}%"


def spoken(share: str) -> str:
    """A share inside a sentence.

    >>> spoken("<0.1%")
    'less than 0.1%'
    """
    return share.replace("<", "less than ").replace(">", "more than ")


def number(value: float) -> str:
    """A value reached: whole numbers whole, others to three digits.

    >>> number(12345.0), number(0.26249), number(float("inf"))
    ('12,345', '0.262', 'infinite')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite"
    return f"{int(value):,}" if value == int(value) else f"{value:,.3g}"


def listed(names: Sequence[str]) -> str:
    """Names inside a sentence.

    >>> listed(["age", "sex", "zip"]), listed(list("abcde"))
    ('age, sex and zip', 'a, b, c and 2 more')
    """
    texts = [clean(name) for name in names]
    if len(texts) > 4:
        texts = [*texts[:3], f"{len(texts) - 3} more"]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def rounded(count: float, fewest: int = 1) -> int:
    """A count as far as it may be published: whole multiples of ``fewest``; 0 below that.

    >>> rounded(7), rounded(7, 10), rounded(17, 10), rounded(234, 10)
    (7, 0, 20, 230)
    """
    return 0 if count < fewest else fewest * math.floor(count / fewest + 0.5)


def counted(count: float, fewest: int = 1) -> str:
    """The same in words: a few people are never nobody.

    >>> counted(1234), counted(0, 10), counted(7, 10), counted(1234, 10)
    ('1,234', '0', 'fewer than 10', '1,230')
    """
    if 0 < count < fewest:
        return f"fewer than {fewest:,}"
    return f"{rounded(count, fewest):,}"


def share(part: float, whole: float, fewest: int = 1) -> str:
    """A share as far as it may be published: few people, or all but a few, only as a bound.

    >>> share(71, 1000), share(71, 1000, 10), share(7, 1000, 10), share(999, 1000, 10)
    ('7.1%', '7%', '<1%', '>99%')
    """
    if fewest <= 1 or part <= 0 or part >= whole:
        return percent(part, whole)
    edge = min(100, math.ceil(100 * fewest / whole))
    if part < fewest:
        return f"<{edge}%"
    if whole - part < fewest:
        return f">{100 - edge}%"
    return f"{100 * rounded(part, fewest) / whole:.0f}%"
