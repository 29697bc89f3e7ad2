"""What an intersection truly finds, once both releases are there: the measure of all forecasts.

Sattar and Helal, Privacy risk against composition attack, 2018, definitions 2 to 4: a class of
our release is exposed (there: a vulnerable group) when somebody in it who is in the other release
too is left with fewer than l sensitive values, those of his class here that are also in his class
there; the risk is the share of our classes that are exposed. No common value at all is no
match, and nothing is learned (1 <= common < l).

A missing value may be any: it is not counted among the values, of ours or of theirs, so that it
never makes more look left. A class of nothing but missing values says nothing, and excludes none.

Each person's true class in either release is taken as known. Does not count people who are in our
release alone, nor what an adversary learns short of l values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.tally import SUPPRESSED, Cut
from shoal.forecasts.our_table import OurTable
from shoal.kernels.grouping import collect_code_sets

NOBODY = 0
"""Of a class: nobody in it is in the other release with a value that is left."""


@dataclass(frozen=True, eq=False)
class OtherRelease:
    """Another release as it concerns our people.

    ``class_`` (people of ours,): the class that holds each there, ``SUPPRESSED`` for whoever is not
    published there; ``bits`` (classes there, words): the sensitive values of each.
    """

    class_: NDArray[np.int32]
    bits: NDArray[np.uint64]


def find_exposed_classes(
    ours: OurTable, theirs: Sequence[OtherRelease], l: int
) -> NDArray[np.bool_]:
    """Per class of ours whether it is exposed."""
    left = count_values_left(ours, theirs)
    exposed: NDArray[np.bool_] = (left != NOBODY) & (left < l)
    return exposed


def count_values_left(ours: OurTable, theirs: Sequence[OtherRelease]) -> NDArray[np.int32]:
    """Per class of ours the fewest values left to somebody who is elsewhere too; 0: nobody.

    What is exposed at any l can be read from it.
    """
    common = ours.bits[ours.class_]
    elsewhere = np.zeros(ours.people, np.bool_)
    for release in theirs:
        values = release.bits & ours.nonblank_bits
        there = release.class_ != SUPPRESSED
        if ours.sensitive.unknown:  # what a class of nothing but missing values has, nobody knows
            there[there] = _says_something(release.bits, ours)[release.class_[there]]
        common[there] &= values[release.class_[there]]
        elsewhere |= there
    left = np.bitwise_count(common).sum(axis=1)
    counted = np.flatnonzero(elsewhere & (left > 0))
    unlimited = np.iinfo(np.int32).max
    min_left = np.full(ours.classes, unlimited, np.int32)
    np.minimum.at(min_left, ours.class_[counted], left[counted].astype(np.int32))
    return np.where(min_left == unlimited, NOBODY, min_left).astype(np.int32)


def _says_something(bits: NDArray[np.uint64], ours: OurTable) -> NDArray[np.bool_]:
    """Which classes there have more than missing values: a value of ours, or one that we lack."""
    null = ours.everywhere.null_code
    blank = np.zeros(bits.shape[1], np.uint64)
    if null >> 6 < len(blank):
        blank[null >> 6] = np.uint64(1) << np.uint64(null & 63)
    return np.asarray((bits & ~blank).any(axis=1))


def build_other_release(
    cut: Cut,
    entry: NDArray[np.int32],
    values: NDArray[np.int32],
    words: int,
    at: NDArray[Any],
    people: int,
    rng: np.random.Generator,
) -> OtherRelease:
    """Another's release from its cut.

    ``entry`` and ``values`` (rows of the other table,): each row's entry and sensitive value; the
    first rows are those of our people ``at``, of ``people`` in all.
    """
    place = assign_rows_to_classes(cut, entry, rng)
    bits = collect_code_sets(values, np.arange(len(values)), place, cut.classes, words)
    class_ = np.full(people, SUPPRESSED, np.int32)
    class_[at] = place[: len(at)]
    return OtherRelease(class_, bits)


def assign_rows_to_classes(
    cut: Cut, entry: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.int32]:
    """The class of each row, given its entry; who of a divided entry goes where is drawn."""
    among = rng.permutation(len(entry))
    rows = among[np.argsort(entry[among], kind="stable")]
    pieces = np.argsort(cut.entry, kind="stable")
    place = np.empty(len(entry), np.int32)
    place[rows] = np.repeat(cut.class_[pieces], cut.count[pieces])
    return place
