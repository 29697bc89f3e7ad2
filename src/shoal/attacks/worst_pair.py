"""Worst pair: the intersection of two releases when nobody says who is in both.

Two classes, one of each release, whose cells meet in every column may hold the same person, whose
value is then one that both classes have. A pair *exposes* whoever is in both if its classes have
at least one value in common, fewer than ``l`` of them, and fewer than either class has alone:

    1 ≤ |S1 ∩ S2| < l   and   |S1 ∩ S2| < min(|S1|, |S2|)

Every row of the second release that is in a class with such a pair counts as exposed.

After Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy,
KDD 2008, with the worst assumed about who is in both; 1 ≤ |S1 ∩ S2| < l is the vulnerable class of
Sattar and Helal: Privacy risk against composition attack, 2018, definitions 2 to 4.

It does not say that anybody is in both: cells may meet where nobody is. Nor does it see somebody
who could be in several classes of a release, which leaves more values. Give the intersection the
people, where they are known, for what is true of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.exchanged import exchanges, unpaired
from shoal.attacks.linked import pair_of, side
from shoal.attacks.view import WORST, Needs, NobodyFoundError, Published, View
from shoal.cells import meet
from shoal.errors import InputError, UsageError
from shoal.histogram import Histogram
from shoal.kernels.pairing import Paired, Side, paired
from shoal.release import Finding

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]

NAMED = 10
"""How many values a witness lists."""

ASSUMPTIONS = (
    "the worst is assumed, for nobody says who is in both releases: somebody is in both classes "
    "of every pair whose cells meet and that have a value in common",
    "whoever is in both has the same sensitive value in both",
    "the adversary knows the person's quasi-identifiers, and by them the class in each release",
)
DEFENCE = (
    "ask for larger and more varied classes (composition), publish one table together with the "
    "other publisher, or give the people, to see whom it is true of."
)


def known_l(l: Any) -> int:
    """The number of values below which a pair exposes somebody, if it can be one."""
    if isinstance(l, bool) or not isinstance(l, int) or l < 2:
        raise UsageError("l is a number of values, at least 2.", "write for example l=2.")
    return l


NEEDS = Needs(releases=2, most=2, supposed="--l 2", answers=True)
OPTIONS = {"l": known_l}


class _Pair(NamedTuple):
    """Two classes whose cells meet, and how many values they have in common."""

    one: int
    other: int
    common: int


def worst_pair(view: View, *, rng: np.random.Generator | None = None, l: int = 2) -> Finding:
    """Intersect the values of every two classes that meet, and count the rows in the worst."""
    one, other = pair_of(view)
    sensitive, least = view.sensitive, known_l(l)
    if sensitive is None or one.values is None or other.values is None:
        raise InputError(
            "The worst pair needs a sensitive column that both releases publish.",
            "name one with --on.",
        )
    if exchanges(view):
        return unpaired(view, least)
    values = one.histogram(sensitive), other.histogram(sensitive)
    if not ((values[0].total > 0) & (values[1].total > 0)).any():
        raise InputError(
            f"The releases have no value of {sensitive.name} in common.",
            "name values alike in both; releases about other people have nothing to intersect.",
        )
    meet(one.cells.take(np.arange(1)), other.cells.take(np.arange(1)))  # raises if not comparable
    (first, words), (second, _) = (_side(*each) for each in zip((one, other), values, strict=True))
    found = paired(first, second, words, least)
    if not found.met.any():
        raise NobodyFoundError(
            "Nobody can be in both releases: no two classes meet and have a value in common.",
            "check that the releases are about the same people, and name columns and values alike.",
        )
    return _finding(view, values, found, least)


def _side(release: Published, values: Histogram) -> tuple[Side, Ints]:
    """A release's classes as boxes with values, and where each column's set ends."""
    cells = release.cells
    ranges = [j for j in range(cells.low.shape[1]) if j not in cells.sets]
    low, high = (np.ascontiguousarray(end[:, ranges]) for end in (cells.low, cells.high))
    parts = [cells.sets[j] for j in sorted(cells.sets)]
    sets = np.concatenate([np.zeros((len(cells), 0), np.uint64), *parts], axis=1)
    words = np.cumsum([part.shape[1] for part in parts], dtype=np.int64)
    return Side(low, high, sets, _bits(values), values.distinct, release.rows), words


def _bits(values: Histogram) -> Bits:
    """The values of each class as bits (classes, words)."""
    bits = np.zeros((len(values.rows), -(-values.axis.size // 64)), np.uint64)
    word, bit = values.value >> 6, (values.value & 63).astype(np.uint64)
    np.bitwise_or.at(bits, (values.class_, word), np.uint64(1) << bit)
    return bits


def _finding(view: View, values: tuple[Histogram, Histogram], found: Paired, l: int) -> Finding:
    assert view.sensitive is not None
    one, other = view.releases
    left = np.where(found.few > 0, found.common, 0)[other.class_]
    rows = np.flatnonzero(left)
    total, pair = values[0].total + values[1].total, _worst(view, found)
    return Finding(
        attack="worst-pair",
        people=len(left),
        exposed=len(rows),
        sure=1 / pair.common,
        guessing=float(total.max() / total.sum()),
        sentence=f"If the worst is so, {len(rows):,} of {len(left):,} rows of {other.name} are of "
        f"people whom {one.name} leaves fewer than {l} values of {view.sensitive.name}: of "
        f"{found.met.sum():,} pairs of classes that somebody could be in, {found.few.sum():,} "
        "leave so few.",
        defence=DEFENCE,
        example=_example(view, values, pair),
        assumptions=ASSUMPTIONS,
        worst=tuple((rows[np.lexsort((rows, left[rows]))[:WORST]] + 1).tolist()),
        table="release 2",
        witness=_witness(view, values, pair),
        details={
            "l": l,
            "pairs": int(found.met.sum()),
            "pairs_exposing": int(found.few.sum()),
            "classes_exposed": int((found.few > 0).sum()),
            "values_left": {n: int((left == n).sum()) for n in np.unique(left[rows]).tolist()},
        },
    )


def _worst(view: View, found: Paired) -> _Pair:
    """The pair that leaves fewest values, an exposing one if any is; of equals the largest."""
    one, other = view.releases
    rows = np.minimum(one.rows[found.first], other.rows)
    order = np.lexsort((-rows, found.common, found.few == 0, found.met == 0))
    at = int(order[0])
    return _Pair(int(found.first[at]), at, int(found.common[at]))


def _example(view: View, values: tuple[Histogram, Histogram], pair: _Pair) -> str:
    has = [int(each.distinct[class_]) for each, class_ in zip(values, pair[:2], strict=True)]
    rows = [int(one.rows[class_]) for one, class_ in zip(view.releases, pair[:2], strict=True)]
    several = "are in both; whoever is in both has one of them"
    return (
        f"A class of release 1 has {has[0]:,} values ({rows[0]:,} rows), a class of release 2 that "
        f"its cells meet has {has[1]:,} ({rows[1]:,} rows); {pair.common:,} "
        f"{'is in both; whoever is in both has it' if pair.common == 1 else several}."
    )


def _witness(view: View, values: tuple[Histogram, Histogram], pair: _Pair) -> dict[str, Any]:
    sides = []
    for one, each, class_ in zip(view.releases, values, pair[:2], strict=True):
        step = side(one, class_, np.flatnonzero(one.class_ == class_) + 1)
        step["values"] = int(each.distinct[class_])
        if view.show and one.labels is not None:
            step["labels"] = dict(one.labels(class_))
        sides.append(step)
    witness: dict[str, Any] = {"releases": sides, "left": pair.common}
    if view.show:
        both = set(values[0].of_class(pair.one)[0]) & set(values[1].of_class(pair.other)[0])
        witness["left_named"] = [view.value(code) for code in sorted(both)[:NAMED]]
    return witness
