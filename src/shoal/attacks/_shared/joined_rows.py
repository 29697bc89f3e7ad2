"""What releases say together of people whose rows agree in a column that they publish as it is.

Whoever is in several releases has a row in each, alike in every column that all of them keep. So
the person's value is not just one that all of the classes have, but one that they have beside the
same kept value *w*: of classes c1, ..., cn

    left = union over w of  S1(c1, w) ∩ ... ∩ Sn(cn, w)

where Si(c, w) are the sensitive values of the rows of a class with w. The adversary need not know
the kept value. Who knows it is left with one member of that union alone, and *exposed* by it where
each release leaves more: 1 ≤ |∩ Si(ci, w)| < l, and fewer than each |Si(ci, w)|.

After Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy,
KDD 2008, with rows joined as in Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5),
2002, section 4.

A row without a sensitive value may have any, and adds none. It does not see kept values that
changed between the releases: ``worst_pair`` and ``intersection`` leave them aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.candidate_classes import group_by_key, locate
from shoal.core.cells import find_meeting_classes
from shoal.core.errors import InputError
from shoal.core.theory.adversary_view import View
from shoal.kernels.grouping import number_combinations
from shoal.kernels.narrowing import intersect_joined_values

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]

MAX_COMBINATIONS = 5_000_000
"""So many combinations of classes are looked at; with more it is not evaluated."""


@dataclass(frozen=True)
class JoinedRows:
    """The rows of a view's releases, joined by columns that all of them publish as they are."""

    view: View
    start: Ints
    """(releases, most classes + 1) where each class's parts begin; one part for each kept value."""
    kept_value: Ints
    values: Bits
    """(parts, words) the sensitive values of each part, as bits."""
    part: tuple[Ints, ...]
    """By release: the part of each row."""

    @classmethod
    def of(cls, view: View, names: Sequence[str]) -> JoinedRows:
        """Join the rows by some of the columns that all of the releases share."""
        assert view.sensitive is not None
        at = [view.shared.index(name) for name in names]
        codes = np.concatenate(
            [release.shared[at] for release in view.releases if release.shared is not None], axis=1
        )
        number, _ = number_combinations(list(codes), [int(c.max(initial=0)) + 1 for c in codes])
        ends = np.cumsum([len(release.class_) for release in view.releases])
        each = np.split(number.astype(np.int64), ends[:-1])
        most = max(len(release.cells) for release in view.releases)
        start = np.zeros((len(view.releases), most + 1), np.int64)
        kept_values, values, parts, before = [], [], [], 0
        blank = view.sensitive.null_code if view.sensitive.unknown else -1
        for side, (release, own) in enumerate(zip(view.releases, each, strict=True)):
            assert release.values is not None
            key = release.class_.astype(np.int64) * (int(number.max(initial=0)) + 1) + own
            _, first, part = np.unique(key, return_index=True, return_inverse=True)
            bits = np.zeros((len(first), -(-view.sensitive.size // 64)), np.uint64)
            there = (release.values >= 0) & (release.values != blank)
            value = release.values[there].astype(np.int64)
            bit = np.uint64(1) << (value & 63).astype(np.uint64)
            np.bitwise_or.at(bits, (part[there], value >> 6), bit)
            begins = np.cumsum(np.bincount(release.class_[first], minlength=most))
            start[side] = before + np.concatenate([[0], begins])
            kept_values.append(own[first])
            values.append(bits)
            parts.append(part + before)
            before += len(first)
        return cls(view, start, np.concatenate(kept_values), np.concatenate(values), tuple(parts))

    @cached_property
    def values_by_class(self) -> list[Bits]:
        """By release (classes, words): the values of each class."""
        sets = []
        for side, release in enumerate(self.view.releases):
            bits = np.zeros((len(release.cells), self.values.shape[1]), np.uint64)
            np.bitwise_or.at(bits, release.class_, self.values[self.part[side]])
            sets.append(bits)
        return sets

    def exposed_rows(self, l: int) -> NDArray[np.bool_]:
        """Which rows of the second release are of people whom a pair of classes could expose.

        The worst is assumed: that somebody is in every two classes whose cells meet.
        """
        first_release, second_release = self.view.releases
        start, first = find_meeting_classes(second_release.cells, first_release.cells)
        _refuse_many(len(first))
        second = np.repeat(np.arange(len(second_release.cells)), np.diff(start))
        left, narrowed = self._left(np.stack([first, second], axis=1).astype(np.int64), l)
        number, (own, own2) = _count_values(left), map(_count_values, self.values_by_class)
        few = (number > 0) & (number < l) & (number < np.minimum(own[first], own2[second]))
        classes = np.zeros(len(second_release.cells), np.bool_)
        classes[second[few]] = True
        return np.asarray(classes[second_release.class_] | narrowed[self.part[1]])

    def exposed_people(self, l: int, location: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the people are left fewer than ``l`` values, as many by each release alone.

        And who can be in all of the releases.
        """
        assert self.view.people is not None
        people, key = group_by_key(self.view.people, self.view.axes, location)
        person, chosen = np.arange(len(people)), np.zeros((len(people), 0), np.int64)
        by_each = np.full(len(people), l, np.int64)
        for release, values in zip(self.view.releases, self.values_by_class, strict=True):
            start, classes = locate(release, self.view.axes, people, location)
            by_each = np.minimum(
                by_each, _count_values(_join_values(values[classes], np.diff(start)))
            )
            several = np.diff(start)[person]
            _refuse_many(int(several.sum()))
            at = np.repeat(start[person] - np.cumsum(several) + several, several)
            more = classes[at + np.arange(int(several.sum()))]
            person = np.repeat(person, several)
            chosen = np.column_stack([np.repeat(chosen, several, axis=0), more])
        left, _ = self._left(np.ascontiguousarray(chosen, np.int64), l)
        number = _count_values(_join_values(left, np.bincount(person, minlength=len(people))))
        there = (number > 0)[key]
        if self.view.people.present is not None:
            there &= self.view.people.present
        return there & ((number < l) & (by_each >= l))[key], there

    def _left(self, chosen: Ints, l: int) -> tuple[Bits, NDArray[np.bool_]]:
        left = np.zeros((len(chosen), self.values.shape[1]), np.uint64)
        narrowed = np.zeros(len(self.kept_value), np.bool_)
        intersect_joined_values(self.start, self.kept_value, self.values, chosen, l, left, narrowed)
        return left, narrowed


def _refuse_many(number: int) -> None:
    if number > MAX_COMBINATIONS:
        raise InputError(
            f"{number:,} combinations of classes are more than the {MAX_COMBINATIONS:,} that are "
            "looked at.",
            "leave the columns out that both publish as they are.",
        )


def _count_values(values: Bits) -> Ints:
    return np.asarray(np.bitwise_count(values).sum(axis=1).astype(np.int64))


def _join_values(values: Bits, several: Ints) -> Bits:
    ends = np.concatenate([[0], np.cumsum(several)])
    joined = np.zeros((len(several), values.shape[1]), np.uint64)
    some = np.flatnonzero(several)
    if len(some):
        joined[some] = np.bitwise_or.reduceat(values, ends[:-1][some], axis=0)
    return joined
