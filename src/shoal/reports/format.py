"""Numbers in words: how a share, a value or a list of names is printed, the same everywhere.

A share is never rounded to nothing or to everything: what reads 0% or 100% is exactly that.

What is published (``fewest`` above 1) is made of rounded counts alone: a share divides a rounded
part by a rounded whole, so it discloses no more than the two; of few people none is stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.reports.charts.theme import Spec, clean_text

ENOUGH = 10
"""A share is stated of this many times ``fewest`` people or more: of fewer it is too coarse."""
UNDISCLOSED_SHARE = "an untold share"
"""What stands, also inside a sentence, for a share of too few people."""


def format_percent(part: float, whole: float) -> str:
    """A share in words that never claims nobody or everybody unless it is so.

    >>> [format_percent(part, 5000) for part in (0, 1, 355, 4999)]
    ['0%', '<0.1%', '7.1%', '>99.9%']
    """
    if whole <= 0 or part <= 0:
        return "0%"
    share = 100 * part / whole
    if part < whole and share > 99.5:
        return ">99.9%" if share > 99.9 else f"{share:.1f}%"
    if share < 0.1:
        return "<0.1%"
    return f"{share:.1f}%" if share < 9.95 else f"{share:.0f}%"


def format_brief_percent(part: float, whole: float) -> str:
    """A share short enough to stand on a narrow column.

    >>> [format_brief_percent(part, 500) for part in (0, 1, 125, 499, 500)]
    ['0', '<1%', '25%', '>99%', '100%']
    """
    if part <= 0:
        return "0"
    share = 100 * part / whole
    if share < 1:
        return "<1%"
    return ">99%" if part < whole and share >= 99.5 else f"{share:.0f}%"


def speak_share(share: str) -> str:
    """A share inside a sentence.

    >>> speak_share("<0.1%")
    'less than 0.1%'
    """
    return share.replace("<", "less than ").replace(">", "more than ")


def format_real(value: float) -> str:
    """A value reached: whole numbers whole, others to three digits.

    >>> [format_real(value) for value in (12345.0, 0.26249, 1086.4, float("inf"))]
    ['12,345', '0.262', '1,090', 'infinite']
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite"
    short = value if value == int(value) else float(f"{value:.3g}")
    return f"{int(short):,}" if short == int(short) else f"{short:.3g}"


def list_names(names: Sequence[str]) -> str:
    """Names inside a sentence.

    >>> list_names(["age", "sex", "zip"]), list_names(list("abcde"))
    ('age, sex and zip', 'a, b, c and 2 more')
    """
    texts = [clean_text(name) for name in names]
    if len(texts) > 4:
        texts = [*texts[:3], f"{len(texts) - 3} more"]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def join_all_names(names: Sequence[str]) -> str:
    """All names inside a sentence, however many: none is hidden behind a number.

    >>> join_all_names(["age"]), join_all_names(list("abcde"))
    ('age', 'a, b, c, d and e')
    """
    *first, last = [clean_text(name) for name in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def round_count(count: float, fewest: int = 1) -> int:
    """A count as far as it may be published: whole multiples of ``fewest``; 0 below that.

    >>> round_count(7), round_count(7, 10), round_count(17, 10), round_count(234, 10)
    (7, 0, 20, 230)
    """
    return 0 if count < fewest else fewest * math.floor(count / fewest + 0.5)


def state_count(count: float, fewest: int = 1) -> str:
    """The same in words: a few people are never nobody.

    >>> state_count(1234), state_count(0, 10), state_count(7, 10), state_count(1234, 10)
    ('1,234', '0', 'fewer than 10', '1,230')
    """
    if 0 < count < fewest:
        return f"fewer than {fewest:,}"
    return f"{round_count(count, fewest):,}"


def has_enough_people(whole: float, fewest: int = 1) -> bool:
    """Whether these are enough people to state shares of them.

    >>> has_enough_people(5), has_enough_people(80, 10), has_enough_people(120, 10)
    (True, False, True)
    """
    return fewest <= 1 or round_count(whole, fewest) >= ENOUGH * fewest


def state_share(part: float, whole: float, fewest: int = 1) -> str:
    """A share as far as it may be published: few people, or all but a few, only as a bound.

    >>> state_share(71, 1000)
    '7.1%'
    >>> [state_share(part, 1000, fewest=10) for part in (71, 7, 999)]
    ['7%', '<1%', '>99%']
    >>> state_share(30, 60, fewest=10)
    'an untold share'
    """
    if fewest <= 1 or part <= 0:
        return format_percent(part, whole)
    if not has_enough_people(whole, fewest):
        return UNDISCLOSED_SHARE
    return _bound_share(part, whole, round_count(whole, fewest), fewest)


def round_share(part: float, whole: float, fewest: int = 1) -> float:
    """The same as a number to draw.

    >>> round_share(71, 1000), round_share(71, 1000, 10), round_share(7, 1000, 10)
    (0.071, 0.07, 0.0)
    >>> round_share(30, 60, 10)
    0.0
    """
    if fewest <= 1:
        return part / whole if whole else 0.0
    if not has_enough_people(whole, fewest):
        return 0.0
    return min(100, _round_percent(round_count(part, fewest), round_count(whole, fewest))) / 100


def make_share_bars(
    counts: Sequence[float], total: float | None = None, fewest: int = 1
) -> list[Spec]:
    """What is drawn of counts that make up a total, or a part of it: adds up as they do.

    To be published, the whole is the sum of the rounded parts, all those with too few people to
    be stated being one part: parts and whole are rounded alike, so the shares make 100%.

    >>> [bar["text"] for bar in make_share_bars([155, 145], fewest=10)]
    ['52%', '48%']
    >>> [bar["text"] for bar in make_share_bars([296], 300, fewest=10)]
    ['>96%']
    """
    total = sum(counts) if total is None else total
    if fewest <= 1:
        return [
            {
                "people": n,
                "share": round_share(n, total),
                "text": format_percent(n, total),
                "brief": format_brief_percent(n, total),
            }
            for n in counts
        ]
    rounded = [round_count(n, fewest) for n in counts]
    few = total - sum(n for n in counts if n >= fewest)
    whole = sum(rounded) + round_count(few, fewest)
    texts = [_bound_share(n, total, whole, fewest) for n in counts]
    return [
        {
            "share": _round_percent(n, whole) / 100,
            "text": text,
            "brief": "0" if text == "0%" else text,
        }
        for n, text in zip(rounded, texts, strict=True)
    ]


def _bound_share(part: float, exact: float, whole: int, fewest: int) -> str:
    """Whole per cents of a rounded whole; everybody and nobody only where that is exactly so."""
    if part <= 0 or part >= exact:
        return "0%" if part <= 0 else "100%"
    edge = min(100, math.ceil(100 * fewest / whole)) if whole else 100
    rounded = round_count(part, fewest)
    if not rounded:
        return f"<{edge}%"
    if rounded >= whole:
        return f">{100 - edge}%"
    return f"{_round_percent(rounded, whole)}%"


def _round_percent(part: int, whole: int) -> int:
    return math.floor(100 * part / whole + 0.5) if whole else 0
