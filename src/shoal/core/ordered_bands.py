"""Categories that have an order of their own: bands of numbers, sizes, degrees, chapters.

[10-20)  10-19  10 to 19  <30  80+        bands of numbers
A00-B99                                   ranges of codes, such as ICD chapters
I  II  IX                                 chapters by Roman numerals
S M L   low medium high   mild severe     sizes and degrees
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

MAX_BANDS = 200
"""A column of more values is no column of bands."""

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_BETWEEN = re.compile(
    rf"(?P<open>[\[(]?)\s*(?P<low>{_NUMBER})\s*(?:-|–|—|,(?=\s)|;|\.\.|to|bis)\s*"
    rf"(?P<high>{_NUMBER})\s*(?P<close>[\])]?)",
    re.IGNORECASE,
)
_COMMA_BETWEEN = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]")
_BELOW = re.compile(
    rf"(?:<=?|≤|under|below|less than|up to|unter|bis)\s*({_NUMBER})", re.IGNORECASE
)
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|from|über|ab)\s*({_NUMBER})"
    rf"|({_NUMBER})\s*(?:\+|and (?:over|older|above|more)|or (?:older|over|more)|und mehr)",
    re.IGNORECASE,
)
_CODES = re.compile(r"([A-Za-z])(\d{2,3})\s*[-–]\s*([A-Za-z])(\d{2,3})")
_ROMAN = re.compile(r"(?:chapter |kapitel )?(x{0,3})(ix|iv|v?i{0,3})", re.IGNORECASE)
_UNIT = re.compile(r"\s*(?:years?|yrs?|jahre?|y|kg|cm|mg|days?|tage?|%|€|\$|eur|usd)\.?$", re.I)

_SCALES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("xxxs",),
        ("xxs",),
        ("xs",),
        ("s",),
        ("m",),
        ("l",),
        ("xl",),
        ("xxl", "2xl"),
        ("xxxl", "3xl"),
    ),
    (("very small",), ("small",), ("medium", "middle"), ("large",), ("very large",)),
    (
        ("very low",),
        ("low",),
        ("medium", "moderate", "middle", "normal"),
        ("high",),
        ("very high",),
    ),
    (("minimal",), ("mild",), ("moderate",), ("severe",), ("critical", "very severe")),
    (("never",), ("rarely", "seldom"), ("sometimes",), ("often",), ("always",)),
    (("sehr niedrig",), ("niedrig", "gering"), ("mittel",), ("hoch",), ("sehr hoch",)),
    (("leicht",), ("mittel", "mäßig"), ("schwer",)),
)
"""Words that have an order; those in one bracket mean the same place of it."""
_ASIDE = frozenset(
    (
        "na",
        "n/a",
        "nan",
        "unknown",
        "not known",
        "missing",
        "other",
        "others",
        "refused",
        "unbekannt",
        "keine angabe",
        "k.a.",
        "andere",
    )
)
"""Words that stand beside bands for those who are in none; they come last."""
_MIN_WORDS = 3
"""`S` and `M` alone may be single and married: so many words of a scale make an order."""


def order_bands(values: Iterable[str]) -> tuple[str, ...] | None:
    """The values in their own order; None where they are no bands, or bands that overlap.

    >>> order_bands(["[20-30)", "[0-10)", "[10-20)"])
    ('[0-10)', '[10-20)', '[20-30)')
    >>> order_bands(["80+", "<30", "30-79"]), order_bands(["L", "S", "M"])
    (('<30', '30-79', '80+'), ('S', 'M', 'L'))
    >>> order_bands(["NA", "10-19", "5-9"])
    ('5-9', '10-19', 'NA')
    >>> order_bands(["C00-D48", "A00-B99"]), order_bands(["flu", "asthma"])
    (('A00-B99', 'C00-D48'), None)
    """
    every = sorted(set(values))
    aside = [text for text in every if text.strip().casefold() in _ASIDE]
    texts = [text for text in every if text not in aside]
    if not 2 <= len(texts) <= MAX_BANDS:
        return None
    ordered = (
        _order_by_ends(texts, _number_ends)
        or _order_by_ends(texts, _code_ends)
        or _order_numerals(texts)
        or _order_words(texts)
    )
    return None if ordered is None else (*ordered, *aside)


def _order_by_ends(
    texts: Sequence[str], read: Callable[[str], tuple[float, float] | None]
) -> tuple[str, ...] | None:
    """The texts by their ends, where each can be read, none overlaps and one is more than a point.

    Bands may share an end: whether 20 belongs to 10-20 or to 20-30 does not change their order.
    """
    ends = {}
    for text in texts:
        band = read(text)
        if band is None or band[0] > band[1]:
            return None
        ends[text] = band
    ordered = sorted(texts, key=lambda text: ends[text])
    if any(ends[later][0] < ends[earlier][1] for earlier, later in pairwise(ordered)):
        return None
    same = len(set(ends.values())) < len(ends)
    points = all(low == high for low, high in ends.values())
    return None if same or points else tuple(ordered)


def _number_ends(text: str) -> tuple[float, float] | None:
    bare = _UNIT.sub("", text.strip())
    if between := _COMMA_BETWEEN.fullmatch(bare):
        return _number(between[1]), _number(between[2])
    if between := _BETWEEN.fullmatch(bare):
        return _number(between["low"]), _number(between["high"])
    if below := _BELOW.fullmatch(bare):
        return -math.inf, _number(below[1])
    if above := _ABOVE.fullmatch(bare):
        return _number(above[1] or above[2]), math.inf
    return (_number(bare), _number(bare)) if re.fullmatch(_NUMBER, bare) else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _code_ends(text: str) -> tuple[float, float] | None:
    codes = _CODES.fullmatch(text.strip())
    return codes and (_code_place(codes[1], codes[2]), _code_place(codes[3], codes[4]))


def _code_place(letter: str, digits: str) -> float:
    return ord(letter.upper()) * 1000.0 + float(digits.ljust(3, "0"))


def _order_numerals(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Roman numerals up to 39; one of them has two letters, for `I`, `V` and `X` may be codes."""
    numerals = [_ROMAN.fullmatch(text.strip()) for text in texts]
    parts = [(match[1], match[2]) for match in numerals if match and (match[1] or match[2])]
    if not _MIN_WORDS <= len(texts) == len(parts):
        return None
    places = {
        text: 10 * len(tens) + _ONES.index(ones.casefold())
        for text, (tens, ones) in zip(texts, parts, strict=True)
    }
    long = any(len(tens + ones) > 1 for tens, ones in parts)
    if not long or len(set(places.values())) < len(places):
        return None
    return tuple(sorted(texts, key=lambda text: places[text]))


_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def _order_words(texts: Sequence[str]) -> tuple[str, ...] | None:
    if len(texts) < _MIN_WORDS:
        return None
    for scale in _SCALES:
        place = {word: at for at, words in enumerate(scale) for word in words}
        places = {text: place.get(" ".join(text.split()).casefold()) for text in texts}
        known = [at for at in places.values() if at is not None]
        if len(known) == len(texts) == len(set(known)):
            return tuple(sorted(texts, key=lambda text: places[text] or 0))
    return None
