"""Numbers in words: how a share, a value or a list of names is printed, the same everywhere.

A share is never rounded to nothing or to everything: what reads 0% or 100% is exactly that.

What is published (``fewest`` above 1) is made of rounded counts alone: a share divides a rounded
part by a rounded whole, so that it tells no more than the two, and of few people none is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.reports.charts.theme import Spec, clean

ENOUGH = 10
"""A share is told of this many times ``fewest`` people or more: of less it would be too coarse."""
UNTOLD = "an untold share"
"""What stands, also inside a sentence, for a share of too few people."""


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

    >>> number(12345.0), number(0.26249), number(1086.4), number(float("inf"))
    ('12,345', '0.262', '1,090', 'infinite')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite"
    short = value if value == int(value) else float(f"{value:.3g}")
    return f"{int(short):,}" if short == int(short) else f"{short:.3g}"


def listed(names: Sequence[str]) -> str:
    """Names inside a sentence.

    >>> listed(["age", "sex", "zip"]), listed(list("abcde"))
    ('age, sex and zip', 'a, b, c and 2 more')
    """
    texts = [clean(name) for name in names]
    if len(texts) > 4:
        texts = [*texts[:3], f"{len(texts) - 3} more"]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def in_full(names: Sequence[str]) -> str:
    """All names inside a sentence, however many: none is hidden behind a number.

    >>> in_full(["age"]), in_full(list("abcde"))
    ('age', 'a, b, c, d and e')
    """
    *first, last = [clean(name) for name in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


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


def enough(whole: float, fewest: int = 1) -> bool:
    """Whether these are enough people to tell shares of them.

    >>> enough(5), enough(80, 10), enough(120, 10)
    (True, False, True)
    """
    return fewest <= 1 or rounded(whole, fewest) >= ENOUGH * fewest


def share(part: float, whole: float, fewest: int = 1) -> str:
    """A share as far as it may be published: few people, or all but a few, only as a bound.

    >>> share(71, 1000), share(71, 1000, 10), share(7, 1000, 10), share(999, 1000, 10)
    ('7.1%', '7%', '<1%', '>99%')
    >>> share(30, 60, 10)
    'an untold share'
    """
    if fewest <= 1 or part <= 0:
        return percent(part, whole)
    if not enough(whole, fewest):
        return UNTOLD
    return _bounded(part, whole, rounded(whole, fewest), fewest)


def fraction(part: float, whole: float, fewest: int = 1) -> float:
    """The same as a number to draw.

    >>> fraction(71, 1000), fraction(71, 1000, 10), fraction(7, 1000, 10), fraction(30, 60, 10)
    (0.071, 0.07, 0.0, 0.0)
    """
    if fewest <= 1:
        return part / whole if whole else 0.0
    if not enough(whole, fewest):
        return 0.0
    return min(100, _per_cent(rounded(part, fewest), rounded(whole, fewest))) / 100


def shares(counts: Sequence[float], total: float | None = None, fewest: int = 1) -> list[Spec]:
    """What is drawn of counts that make up a total, or a part of it: adds up as they do.

    To be published, the whole is the sum of the rounded parts, all those with too few people to
    be told being one part: parts and whole are rounded alike, so the shares make 100%.

    >>> [bar["text"] for bar in shares([155, 145], fewest=10)]
    ['52%', '48%']
    >>> [bar["text"] for bar in shares([296], 300, fewest=10)]
    ['>96%']
    """
    total = sum(counts) if total is None else total
    if fewest <= 1:
        return [
            {
                "people": n,
                "share": fraction(n, total),
                "text": percent(n, total),
                "brief": brief(n, total),
            }
            for n in counts
        ]
    told = [rounded(n, fewest) for n in counts]
    few = total - sum(n for n in counts if n >= fewest)
    whole = sum(told) + rounded(few, fewest)
    texts = [_bounded(n, total, whole, fewest) for n in counts]
    return [
        {"share": _per_cent(n, whole) / 100, "text": text, "brief": "0" if text == "0%" else text}
        for n, text in zip(told, texts, strict=True)
    ]


def _bounded(part: float, exact: float, whole: int, fewest: int) -> str:
    """Whole per cents of a rounded whole; everybody and nobody only where that is exactly so."""
    if part <= 0 or part >= exact:
        return "0%" if part <= 0 else "100%"
    edge = min(100, math.ceil(100 * fewest / whole)) if whole else 100
    told = rounded(part, fewest)
    if not told:
        return f"<{edge}%"
    if told >= whole:
        return f">{100 - edge}%"
    return f"{_per_cent(told, whole)}%"


def _per_cent(part: int, whole: int) -> int:
    return math.floor(100 * part / whole + 0.5) if whole else 0
