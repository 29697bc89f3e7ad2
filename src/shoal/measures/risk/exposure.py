"""What an adversary who knows everybody's quasi-identifiers gains from classes.

The people are those published: the worst that may be known. A person could be in every class whose
cells contain them (honest location). Two adversaries are tried, and the more successful one is the
risk; success is counted by who is truly where, not by the adversary's confidence:

even      every row of these classes is as likely as another
weighed   a class is as likely as it has rows for the people it fits, so that narrow cells count
          more than wide ones, which fit nearly everybody

identity  the share of people whose row is picked: any of the rows that fit, or any of the class
          that fits the fewest people
value     the share of people of whom the likeliest value of these rows is right

A missing value is none to be guessed, unless the schema says that it is one: people without a
value are left out of the share.

Where things are equally likely one of them is picked at random, and the expected share is counted.
A third figure, ``known``, is that of an insider who knows the class of each person (assumed
location): where cells do not overlap it is the same. The even adversary's identity equals the
linking attack's figure for its even adversary.

None of them knows more than the columns, how classes were made, or other releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from shoal.core.histogram import Histogram
from shoal.core.tally import Cut, Tally
from shoal.core.theory.location import Narrowest
from shoal.kernels.grouping import number_combinations

AT_ONCE, CELLS = 2**15, 2**22
"""How many different people are located at once, and how many of their values at most."""
NEAR = 1e-9
"""Sums that differ by less, relative to the larger, are equal but for rounding."""

ASSUMPTIONS = (
    "the adversary knows the quasi-identifiers of everybody in the table, and who is published",
    "a person could be in every class whose cells contain them (honest location); either all rows "
    "of these are equally likely, or narrow classes are likelier than wide ones: whichever "
    "succeeds more often counts",
    "the value that is guessed is the likeliest one of these rows; people whose value is missing "
    "are left out, for nobody can say whether a guess is right",
    "nothing else is known: no other release, no other column, not how the classes were made",
)


@dataclass(frozen=True)
class AdversarySuccess:
    """The share of people of whom an adversary is right."""

    even: float
    weighed: float
    known: float
    """Where the class that holds each person is known."""

    @classmethod
    def of(cls, rates: NDArray[Any], known: float) -> AdversarySuccess:
        """From the rates of the even and the weighed adversary, and of one who knows the class."""
        even, weighed = rates.tolist()
        return cls(even, weighed, float(known))

    @property
    def rate(self) -> float:
        """The rate of the more successful of the two who do not know the class."""
        return max(self.even, self.weighed)


@dataclass(frozen=True)
class Exposure:
    """What an adversary gains from classes; of values nothing where no column is sensitive."""

    identity: AdversarySuccess
    value: AdversarySuccess | None = None
    base: float | None = None
    """How often guessing the most common published value is right."""


def measure_exposure(tally: Tally, cut: Cut, column: int | None = None) -> Exposure:
    """The exposure by the classes of a cut; ``column`` is the number of the sensitive column."""
    people = _People.of(tally, cut)
    rows = np.bincount(people.class_, people.count, cut.classes)
    everybody = float(rows.sum())
    covered = sum((part.covered() for part in people.located(cut)), np.zeros(cut.classes))
    picked = sum((part.picked(rows, covered) for part in people.located(cut)), np.zeros(2))
    identity = AdversarySuccess.of(picked / everybody, cut.classes / everybody)
    if column is None:
        return Exposure(identity)
    axis, codes = tally.sensitive[column], tally.values[column]
    values = Histogram.of(axis, cut.class_, codes[cut.entry], cut.count, cut.classes).without_blanks
    valued = float(values.total.sum())
    if not valued:
        return Exposure(identity)
    step = max(1, min(AT_ONCE, CELLS // axis.size))
    parts = (part.guessed(values, codes, covered) for part in people.located(cut, step))
    right = sum(parts, np.zeros(2)) / valued
    known = values.largest(values.count).sum() / valued
    return Exposure(identity, AdversarySuccess.of(right, known), float(values.total.max() / valued))


@dataclass(frozen=True)
class _People:
    """The people who are published, as pieces of entries in the order of their keys."""

    keys: NDArray[Any]
    """(columns, keys): the distinct combinations of quasi-identifiers that are published."""
    start: NDArray[np.int64]
    """Where the pieces of each key begin."""
    entry: NDArray[np.int32]
    class_: NDArray[np.int32]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, tally: Tally, cut: Cut) -> _People:
        published = np.flatnonzero((cut.class_ >= 0) & (cut.count > 0))
        sizes = [axis.size for axis in tally.quasi]
        number, first = number_combinations(tally.keys[:, cut.entry[published]], sizes)
        order = published[np.argsort(number, kind="stable")]
        start = np.concatenate(([0], np.cumsum(np.bincount(number, minlength=len(first)))))
        keys = tally.keys[:, cut.entry[published[first]]]
        return cls(keys, start, cut.entry[order], cut.class_[order], cut.count[order])

    def located(self, cut: Cut, step: int = AT_ONCE) -> Iterator[_Part]:
        """Some keys after the other, each with the classes that fit it."""
        for begin in range(0, self.keys.shape[1], step):
            points = self.keys[:, begin : begin + step]
            start, classes = cut.cells.contains(points)
            shape = points.shape[1], cut.classes
            fits = csr_array((np.ones(len(classes)), classes, start), shape=shape)
            bounds = self.start[begin : begin + step + 1]
            key = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            pieces = slice(bounds[0], bounds[-1])
            yield _Part(fits, key, self.entry[pieces], self.class_[pieces], self.count[pieces])


@dataclass(frozen=True)
class _Part:
    """Some of the people by their keys, and the classes that fit these: (keys, classes)."""

    fits: csr_array
    key: NDArray[np.int64]
    entry: NDArray[np.int32]
    class_: NDArray[np.int32]
    count: NDArray[np.int64]

    def covered(self) -> NDArray[np.float64]:
        """How many of these people each class fits."""
        people = np.bincount(self.key, self.count, self.fits.shape[0])
        return np.asarray(people @ self.fits)

    def picked(self, rows: NDArray[Any], covered: NDArray[Any]) -> NDArray[np.float64]:
        """How many of them are picked from all rows that fit, and from the narrowest class."""
        among = (self.fits @ rows)[self.key]
        narrowest = Narrowest.of(self.fits.indptr, self.fits.indices, rows, covered)
        chance = narrowest.chance_right(self.key, self.class_)
        return np.array([np.dot(self.count, 1 / among), np.dot(self.count, chance)])

    def guessed(
        self, values: Histogram, codes: NDArray[Any], covered: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Of how many the likeliest value is right: by rows, and weighed by the people who fit."""
        weighed = values.count / covered[values.class_]
        counts = (self.fits @ _to_matrix(values, weights) for weights in (values.count, weighed))
        return np.array(
            [self._count_right(likely.toarray(), codes, values.total > 0) for likely in counts]
        )

    def _count_right(
        self, likely: NDArray[np.float64], codes: NDArray[Any], stated: NDArray[np.bool_]
    ) -> float:
        best = likely >= likely.max(axis=1, keepdims=True) * (1 - NEAR)
        best &= stated
        own = best[self.key, codes[self.entry]]
        return float(np.dot(self.count, own / best.sum(axis=1)[self.key]))


def _to_matrix(values: Histogram, weights: NDArray[Any]) -> csr_array:
    shape = len(values.start) - 1, values.axis.size
    return csr_array((weights.astype(np.float64), values.value, values.start), shape=shape)
