"""Counts per class, sparse: of one column's values, and of the providers they come from.

``Histogram``           per class the values of one column that occur, and how often
``ValueSets``           per class the sets of values that its persons have
``ProviderValuePairs``  the pairs of provider and value that occur in a table, numbered
``Contributions``       per class how many rows of each value each provider contributed
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.kernels.grouping import number_combinations, tabulate


@dataclass(frozen=True)
class Histogram:
    """Per class the values of one column that occur and how often: sparse, ascending by value.

    Class ``i`` has ``value[start[i]:start[i+1]]`` with ``count`` likewise; ``total`` counts each
    value over all published rows and is the reference of t-closeness and its kin.
    """

    axis: Axis
    start: NDArray[np.int64]
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    total: NDArray[np.int64]
    sets: ValueSets | None = field(default=None, kw_only=True)
    """Whose values they are, where counts are of persons and somebody has several values."""
    people: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """People per class, where shares are of people, who may have several values; None: shares are
    of what is counted."""
    persons: int | None = field(default=None, kw_only=True)
    """People in all classes, likewise; somebody in several classes is one of them."""

    @cached_property
    def class_(self) -> NDArray[np.int64]:
        """The class of each (value, count) pair."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows per class, or people."""
        return self.sum(self.count) if self.people is None else self.people

    @property
    def grand_total(self) -> int:
        """How many rows, or people, all classes have."""
        return int(self.total.sum()) if self.persons is None else self.persons

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Distinct values per class."""
        return np.diff(self.start)

    @property
    def is_blank(self) -> NDArray[np.bool_]:
        """Which (value, count) pairs are rows whose value nobody knows."""
        if not self.axis.unknown:
            return np.zeros(len(self.value), np.bool_)
        return np.asarray(self.value == self.axis.null_code)

    @cached_property
    def blanks(self) -> NDArray[np.int64]:
        """Rows per class whose value nobody knows."""
        return self.sum(np.where(self.is_blank, self.count, 0))

    @property
    def all_blanks(self) -> int:
        """Rows of the whole table whose value nobody knows."""
        return int(self.total[self.axis.null_code]) if self.axis.unknown else 0

    @cached_property
    def occurring_values(self) -> NDArray[np.int64]:
        """The values that occur in the table: those that a value nobody knows may be."""
        occurs = np.flatnonzero(self.total)
        return occurs[occurs != self.axis.null_code] if self.axis.unknown else occurs

    @cached_property
    def without_blanks(self) -> Histogram:
        """The histogram of known values alone: what is unknown adds no value to a class."""
        blank = self.is_blank
        if not blank.any():
            return self
        total = self.total.copy()
        total[self.axis.null_code] = 0
        run = np.concatenate(([0], np.cumsum(~blank)))
        return replace(
            self,
            start=run[self.start],
            value=self.value[~blank],
            count=self.count[~blank],
            total=total,
        )

    @cached_property
    def concentrated(self) -> Histogram:
        """The histogram where unknown values are their class's most frequent one.

        In the total they are the table's most frequent one.
        """
        if not self.all_blanks or not len(self.occurring_values):
            return self.completed(self.count)
        total = self.total.copy()
        total[self.occurring_values[np.argmax(total[self.occurring_values])]] += self.all_blanks
        total[self.axis.null_code] = 0
        return replace(self.completed(self.count), total=total)

    @cached_property
    def max_same_value(self) -> NDArray[np.int64]:
        """Per class the largest number of people who may have one value in common: who has an
        unknown one may have any."""
        if self.sets is None:
            return self.concentrated.largest(self.concentrated.count)
        return self.sets.max_same_value(self.axis.size)

    def completed(self, liking: NDArray[Any]) -> Histogram:
        """The histogram where the unknown values of a class are the one with the most liking.

        ``liking`` is one number per (value, count) pair. In a class of nothing but unknown
        values they are one value. Counts that are completed otherwise are majorised by these
        where the most frequent value is liked best, so that no other completion has fewer
        distinct values, less entropy, or more rows in its so many most frequent values.
        """
        blank = self.is_blank
        if not blank.any():
            return self
        lone = self.sum((~blank).astype(np.int64)) == 0
        best = np.lexsort((-liking, blank, self.class_))[self.start[:-1][self.distinct > 0]]
        joined = np.zeros(len(self.count), np.int64)
        joined[best] = np.where(lone, 0, self.blanks)[self.distinct > 0]
        retained = ~blank | lone[self.class_]
        run = np.concatenate(([0], np.cumsum(retained)))
        return replace(
            self,
            start=run[self.start],
            value=self.value[retained],
            count=(self.count + joined)[retained],
        )

    def sum(self, pairs: NDArray[Any]) -> NDArray[Any]:
        """Add up a number per (value, count) pair within each class."""
        return self._reduce(np.add, pairs)

    def largest(self, pairs: NDArray[Any]) -> NDArray[Any]:
        """The largest number per (value, count) pair within each class."""
        return self._reduce(np.maximum, pairs)

    def _reduce(self, ufunc: np.ufunc, pairs: NDArray[Any]) -> NDArray[Any]:
        filled = self.distinct > 0
        if filled.all():
            return ufunc.reduceat(pairs, self.start[:-1]) if len(filled) else pairs[:0]
        out = np.zeros(len(filled), dtype=pairs.dtype)  # reduceat misreads an empty class
        if filled.any():
            out[filled] = ufunc.reduceat(pairs, self.start[:-1][filled])
        return out

    def of_class(self, class_: int) -> tuple[list[int], list[int]]:
        """One class's values and counts."""
        part = slice(self.start[class_], self.start[class_ + 1])
        return self.value[part].tolist(), self.count[part].tolist()

    def take(self, classes: NDArray[Any]) -> Histogram:
        """The histogram of some classes only; the totals stay."""
        start, pick = _select(self.start, classes)
        return replace(
            self,
            start=start,
            value=self.value[pick],
            count=self.count[pick],
            sets=self.sets and self.sets.take(classes),
            people=None if self.people is None else self.people[classes],
        )

    @classmethod
    def of_persons(
        cls,
        axis: Axis,
        class_: NDArray[Any],
        value: NDArray[Any],
        person: NDArray[Any],
        classes: int,
        persons: int,
    ) -> Histogram:
        """Count distinct persons per class and value; ``person`` is a number below ``persons``.

        ``total`` counts each person of the table once for each of their values, however many
        classes they are in.
        """
        pair, first = number_combinations((person, value), (persons, axis.size))
        owner, values = person[first], value[first].astype(np.int32)
        total = np.bincount(values, minlength=axis.size).astype(np.int64)
        begin, pairs, _ = tabulate(class_, pair, np.ones(len(pair), np.int64), classes, len(first))
        class_ = np.repeat(np.arange(classes), np.diff(begin))
        once = np.ones(len(pairs), np.int64)
        counts = tabulate(class_, values[pairs], once, classes, axis.size)
        several = int((np.bincount(owner, minlength=persons) > 1).sum())
        blank = axis.null_code if axis.unknown else -1
        triples = class_, owner[pairs], values[pairs]
        sets = ValueSets.of(*triples, classes, several, blank) if several else None
        return cls(axis, *counts, total, sets=sets)

    def as_shares_of_people(self, class_: NDArray[Any], person: NDArray[Any]) -> Histogram:
        """Counts of persons as shares of a class's people, from the rows that say whose they are.

        What somebody with several values gives to each of them is then a share, not a sum.
        """
        classes = len(self.start) - 1
        _, first = number_combinations((class_, person), (classes, int(person.max(initial=-1)) + 1))
        people = np.bincount(class_[first], minlength=classes).astype(np.int64)
        return replace(self, people=people, persons=len(np.unique(person)), sets=None)

    @classmethod
    def of(
        cls,
        axis: Axis,
        class_: NDArray[Any],
        value: NDArray[Any],
        count: NDArray[Any],
        classes: int,
        total: NDArray[np.int64] | None = None,
    ) -> Histogram:
        """Count ``value`` per class; suppressed pieces (negative class) do not count."""
        start, values, counts = tabulate(class_, value, count, classes, axis.size)
        if total is None:
            total = np.bincount(values, weights=counts, minlength=axis.size).astype(np.int64)
        return cls(axis, start, values, counts, total)


@dataclass(frozen=True)
class ValueSets:
    """Per class the sets of values that its persons have: those of class ``i`` at
    ``start[i]:start[i+1]``, ascending by person, then by value."""

    start: NDArray[np.int64]
    person: NDArray[np.int64]
    value: NDArray[np.int32]
    with_several: int
    """How many persons of the whole table have more than one value."""
    blank: int = -1
    """The code of a value that nobody knows; -1: there is none."""

    @classmethod
    def of(
        cls,
        class_: NDArray[Any],
        person: NDArray[Any],
        value: NDArray[Any],
        classes: int,
        several: int,
        blank: int = -1,
    ) -> ValueSets:
        """The sets of triples that occur once each."""
        order = np.lexsort((value, person, class_))
        start = np.concatenate(([0], np.cumsum(np.bincount(class_, minlength=classes))))
        return cls(start, person[order].astype(np.int64), value[order], several, blank)

    @cached_property
    def class_(self) -> NDArray[np.int64]:
        """The class of each value."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """Where each person of each class begins."""
        first = np.ones(len(self.person), dtype=bool)
        first[1:] = (self.person[1:] != self.person[:-1]) | (self.class_[1:] != self.class_[:-1])
        return np.flatnonzero(first)

    @cached_property
    def length(self) -> NDArray[np.int64]:
        """How many values each person of each class has."""
        return np.diff(np.append(self.begins, len(self.person)))

    @cached_property
    def is_only_value(self) -> NDArray[np.bool_]:
        """Which of the values are the only one that their person has in the class, and known."""
        return np.asarray(np.repeat(self.length == 1, self.length) & (self.value != self.blank))

    @cached_property
    def has_unknown(self) -> NDArray[np.bool_]:
        """Which persons of each class have a value that nobody knows."""
        if not len(self.begins):
            return np.zeros(0, np.bool_)
        return np.logical_or.reduceat(self.value == self.blank, self.begins)

    def max_same_value(self, size: int) -> NDArray[np.int64]:
        """Per class the largest number of persons who may have one value in common."""
        classes = len(self.start) - 1
        known = np.repeat(~self.has_unknown, self.length)
        once = np.ones(int(known.sum()), np.int64)
        start, _, count = tabulate(self.class_[known], self.value[known], once, classes, size)
        largest = np.zeros(classes, np.int64)
        np.maximum.at(largest, np.repeat(np.arange(classes), np.diff(start)), count)
        of_person = self.class_[self.begins]
        unknown = np.bincount(of_person, weights=self.has_unknown, minlength=classes)
        return largest + unknown.astype(np.int64)

    def of_class(self, class_: int) -> tuple[set[frozenset[int]], set[frozenset[int]]]:
        """The sets of one class, each once however many persons have it; and what is known of
        those that have a value which nobody knows."""
        low, high = self.start[class_], self.start[class_ + 1]
        at = np.searchsorted(self.begins, (low, high))
        parts = np.split(self.value[low:high], self.begins[at[0] : at[1]][1:] - low)
        sets = {frozenset(part.tolist()) for part in parts if len(part)}
        incomplete = {values - {self.blank} for values in sets if self.blank in values}
        return {values for values in sets if self.blank not in values}, incomplete

    def take(self, classes: NDArray[Any]) -> ValueSets:
        """The sets of some classes only."""
        start, pick = _select(self.start, classes)
        return replace(self, start=start, person=self.person[pick], value=self.value[pick])


@dataclass(frozen=True)
class ProviderValuePairs:
    """The pairs of provider and value that occur, numbered in the order of (provider, value)."""

    provider: Axis
    axis: Axis | None
    """The sensitive column; None: there is none, and every value is 0."""
    contributor: NDArray[np.int32]
    value: NDArray[np.int32]
    """Provider and value of each number."""

    @classmethod
    def of(
        cls,
        provider: Axis,
        contributor: NDArray[Any],
        axis: Axis | None,
        values: NDArray[Any] | None,
    ) -> tuple[ProviderValuePairs, NDArray[np.int32]]:
        """The pairs of a table's entries, and the number of each entry's."""
        value = np.zeros_like(contributor) if values is None else values
        sizes = provider.size, 1 if axis is None else axis.size
        number, first = number_combinations((contributor, value), sizes)
        order = np.lexsort((value[first], contributor[first]))
        rank = np.argsort(order).astype(np.int32)
        codes = (column[first[order]].astype(np.int32) for column in (contributor, value))
        return cls(provider, axis, *codes), rank[number]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.contributor)

    def contributions(
        self,
        start: NDArray[np.int64],
        number: NDArray[Any],
        count: NDArray[np.int64],
        total: NDArray[np.int64],
    ) -> Contributions:
        """The contributions to classes whose pairs are counted, ascending, by number."""
        pairs = self.contributor[number], self.value[number]
        return Contributions(self.provider, self.axis, start, *pairs, count, total)


@dataclass(frozen=True)
class Contributions:
    """Who contributed which rows: per class the pairs (provider, value) that occur, with counts.

    Class ``i`` has ``contributor``, ``value`` and ``count`` at ``start[i]:start[i+1]``, ascending
    by provider, then by value. ``total`` counts each value over all published rows.
    """

    provider: Axis
    axis: Axis | None
    start: NDArray[np.int64]
    contributor: NDArray[np.int32]
    value: NDArray[np.int32]
    count: NDArray[np.int64]
    total: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def class_(self) -> NDArray[np.int64]:
        """The class of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def providers(self) -> Histogram:
        """Per class the rows of each provider."""
        total = np.bincount(self.contributor, weights=self.count, minlength=self.provider.size)
        at = np.flatnonzero(self.begins)
        run = np.concatenate(([0], np.cumsum(self.begins)))
        count = np.add.reduceat(self.count, at) if len(at) else self.count
        return Histogram(
            self.provider, run[self.start], self.contributor[at], count, total.astype(int)
        )

    @cached_property
    def begins(self) -> NDArray[np.bool_]:
        """Which pairs are the first of their provider in their class."""
        first = np.ones(len(self.contributor), dtype=bool)  # providers ascend in a class: runs
        first[1:] = (self.contributor[1:] != self.contributor[:-1]) | (
            self.class_[1:] != self.class_[:-1]
        )
        return first

    @property
    def contributors(self) -> NDArray[np.int32]:
        """The providers of any row."""
        return np.unique(self.contributor)

    @cached_property
    def values(self) -> Histogram:
        """Per class the rows of each sensitive value."""
        assert self.axis is not None, "without a sensitive column there are no values"
        counts = tabulate(self.class_, self.value, self.count, len(self), self.axis.size)
        return Histogram(self.axis, *counts, self.total)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows per class."""
        return self.providers.rows

    @property
    def provider_counts(self) -> NDArray[np.int64]:
        """Providers per class."""
        return self.providers.distinct

    def take(self, classes: NDArray[Any]) -> Contributions:
        """The contributions to some classes only; the totals stay."""
        start, pick = _select(self.start, classes)
        return replace(
            self,
            start=start,
            contributor=self.contributor[pick],
            value=self.value[pick],
            count=self.count[pick],
        )

    @property
    def without_blanks(self) -> Contributions:
        """The contributions without the rows whose value nobody knows."""
        if self.axis is None or not self.axis.unknown:
            return self
        filled = self.value != self.axis.null_code
        run = np.concatenate(([0], np.cumsum(filled)))
        return replace(
            self,
            start=run[self.start],
            contributor=self.contributor[filled],
            value=self.value[filled],
            count=self.count[filled],
        )

    def matrix(self, class_: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """One class: its providers, its values, and the rows of each provider with each value."""
        part = slice(self.start[class_], self.start[class_ + 1])
        providers, row = np.unique(self.contributor[part], return_inverse=True)
        values, column = np.unique(self.value[part], return_inverse=True)
        counts = np.zeros((len(providers), len(values)), dtype=np.int64)
        counts[row, column] = self.count[part]
        return providers, values, counts


def _select(
    start: NDArray[np.int64], classes: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where some of the classes begin once they lie side by side, and where their pairs lay."""
    length = start[classes + 1] - start[classes]
    begin = np.concatenate(([0], np.cumsum(length)))
    return begin, np.repeat(start[classes] - begin[:-1], length) + np.arange(begin[-1])
