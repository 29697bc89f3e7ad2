"""Our table as it is published, on codes, and what is supposed about the other publishers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.tally import Population, Tally
from shoal.kernels.grouping import collect_code_sets, number_combinations


@dataclass(frozen=True, eq=False)
class OurTable:
    """The published people of our table: their codes, their values and their classes.

    ``keys`` (columns, people) are codes on ``quasi``, ``values`` (people,) codes on ``sensitive``,
    and ``class_`` (people,) numbers the classes of our release, whose ``cells`` are published.
    """

    quasi: tuple[Axis, ...]
    sensitive: Axis
    keys: NDArray[Any]
    values: NDArray[np.int32]
    class_: NDArray[np.int32]
    cells: Cells
    population: Population | None = None
    """Everybody the other tables could be about, on the same axes, where that is known."""
    population_values: NDArray[np.int64] | None = None
    """How many of the population have each sensitive value, where that is known."""
    population_elsewhere: int = 0
    """How many more of the population have a value that nobody of ours has."""

    def __post_init__(self) -> None:
        people = len(self.values)
        assert self.keys.shape == (len(self.quasi), people)
        assert self.class_.shape == (people,)
        if not people:
            raise InputError("Nobody is in the release.", "forecast for a table with rows.")
        assert 0 <= self.class_.min() <= self.class_.max() < len(self.cells)

    @property
    def people(self) -> int:
        """How many people are in our release."""
        return len(self.values)

    @property
    def classes(self) -> int:
        """How many classes our release has."""
        return len(self.cells)

    @cached_property
    def histogram(self) -> Histogram:
        """The sensitive values of every class."""
        ones = np.ones(self.people, np.int64)
        return Histogram.of(self.sensitive, self.class_, self.values, ones, self.classes)

    @cached_property
    def nonblank_histogram(self) -> Histogram:
        """The same of known values alone: a missing one adds none to those that are left."""
        return self.histogram.without_blanks

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """The known sensitive values of every class as sets, (classes, words)."""
        everyone = np.arange(self.people)
        class_bits: NDArray[np.uint64] = collect_code_sets(
            self.values, everyone, self.class_, self.classes, self.sensitive.words
        )
        return class_bits & self.nonblank_bits

    @cached_property
    def nonblank_bits(self) -> NDArray[np.uint64]:
        """The codes of the sensitive axis that are values, as bits (words,)."""
        axis = self.sensitive
        codes = np.arange(axis.null_code if axis.unknown else axis.size)
        class_bits: NDArray[np.uint64] = collect_code_sets(
            codes, codes, np.zeros(len(codes), np.int64), 1, axis.words
        )
        return np.asarray(class_bits[0])

    @property
    def missing(self) -> int:
        """How many of our people have no value, where that is none of its own."""
        return self.histogram.all_blanks

    @property
    def blank_assumption(self) -> tuple[str, ...]:
        """What is taken to be so of people without a value, where there are any."""
        if not self.missing:
            return ()
        nothing = int((self.nonblank_histogram.distinct == 0).sum())
        blank_classes = f"; {nothing:,} classes have nothing else, and count as not exposed"
        return (
            f"{self.missing:,} of our people have no {self.sensitive.name}: it may be any, and "
            f"adds none to the values left{blank_classes if nothing else ''}",
        )

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """P(s): how common each sensitive value is in the population, else among our people.

        A value of ours that nobody of the population has counts as one person's there: somebody
        has it. Where the population has values that we lack, the sum is less than 1.
        """
        return self.chances[:-1]

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """P(s) of each value of ours, and last of having any other: together 1."""
        count = np.bincount(self.values, minlength=self.sensitive.size)
        if self.population_values is not None:
            count = np.maximum(self.population_values, count > 0)
        count = np.append(count, self.population_elsewhere)
        share: NDArray[np.float64] = count / count.sum()
        return share

    @cached_property
    def everywhere(self) -> Axis:
        """The sensitive axis of others' tables: with a last code more where they have values that
        we lack. It lies beside all of ours, as null does; see ``on_everywhere``."""
        axis = self.sensitive
        if not self.population_elsewhere:
            return axis
        return replace(axis, leaves=(*axis.leaves, *([None] if axis.null else [])), null=True)

    def on_everywhere(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Codes of values on that axis, of which a missing one stays the last: where it is no value
        of its own, values that we lack have the code before it."""
        axis = self.sensitive
        if not (self.population_elsewhere and axis.unknown):
            return values
        codes = values.copy()
        codes[values == axis.null_code] = axis.size
        codes[values == axis.size] = axis.null_code
        return codes


@dataclass(frozen=True)
class OverlapScenario:
    """What is supposed about the other publishers.

    >>> OverlapScenario(overlap=0.1, rows=1000).shared(2000)
    200
    """

    overlap: float
    """The share of our people who are in another release too."""
    rows: int
    """How many rows each other release has."""
    l: int = 2
    """A person with fewer than so many values left is exposed."""
    others: int = 1
    """How many other releases there are."""
    confidence: float = 0.5
    """The paper's C: how sure it must be that l values are common."""
    same_people: float = 0.0
    """Of our people in one other release, the share who are in all of them; who else is in which
    is independent. 0: independent throughout; 1: the same people are in all."""

    def __post_init__(self) -> None:
        _check_share("The overlap", self.overlap, "0.1")
        _check_share("The confidence", self.confidence, "0.5")
        _check_share("same_people", self.same_people, "1")
        for name, least in (("l", 2), ("others", 1), ("rows", 1)):
            check_whole_number(name, getattr(self, name), least)

    def shared(self, people: int) -> int:
        """How many of so many people of ours each other release holds; it must have the room.

        At least one, where there is an overlap.
        """
        count = max(round(self.overlap * people), int(self.overlap > 0))
        if count > self.rows:
            raise UsageError(
                f"{count:,} of our people cannot be in a release of {self.rows:,} rows.",
                f"state a smaller overlap, or at least {count:,} rows of the other release.",
            )
        return count

    def in_all(self, people: int) -> int:
        """How many of so many people of ours are in every other release, where there are several.

        Whoever is in the only one is drawn like anybody.
        """
        return round(self.same_people * self.shared(people)) if self.others > 1 else 0

    @property
    def coincidence(self) -> tuple[str, ...]:
        """What is taken to be so of who is in which of several releases."""
        if self.others == 1:
            return ()
        share = f"{self.same_people:.0%}"
        texts = {
            0.0: "who of our people is in which other release is independent",
            1.0: "the same of our people are in every other release",
        }
        mixed = f"{share} of our people in one other release are in all, the rest independently"
        return (texts.get(self.same_people, mixed), "their other people are not the same")


def check_whole_number(name: str, value: object, least: int, example: int | None = None) -> None:
    """Refuse what is no whole number, or less than ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(
            f"{name} is a whole number from {least} on.",
            f"write for example {least if example is None else example}.",
        )


def _check_share(what: str, value: float, example: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or math.isnan(value) or not 0 <= value <= 1:
        raise UsageError(f"{what} is a share between 0 and 1.", f"write for example {example}.")


def tally_codes(
    quasi: tuple[Axis, ...], sensitive: Axis, keys: NDArray[Any], values: NDArray[np.int32]
) -> tuple[Tally, NDArray[np.int32]]:
    """A table of codes, a row for each person, as a tally, and the entry of each of its rows."""
    sizes = [*(axis.size for axis in quasi), sensitive.size]
    entry, first = number_combinations([*keys, values], sizes)
    count = np.bincount(entry, minlength=len(first)).astype(np.int64)
    distinct_keys = np.ascontiguousarray(keys[:, first])
    return Tally(quasi, (sensitive,), distinct_keys, values[first][np.newaxis], count), entry
