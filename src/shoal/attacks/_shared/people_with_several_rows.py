"""People with several rows: whom rows are about is counted, never the rows.

A person may have several rows in a release, in one class or in several, and several values there;
and a table of people may list somebody several times, by the quasi-identifiers of several rows.
Nobody sees in a release which rows are one person's; its publisher does, or a column says it, and
counts by that. Where everybody has one row, everything here is what it is by rows.

The number of candidates does not add up over classes: somebody may be in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.candidate_classes import Located, expand_ranges
from shoal.attacks._shared.value_evidence import ValueEvidence, find_silent_releases
from shoal.core.axis import Axis
from shoal.core.theory.adversary_view import UNKNOWN, ReleaseView, Targets, View
from shoal.kernels.grouping import collect_code_sets, number_combinations

ROWS_AT_ONCE = 10**7
"""So many rows of classes are looked at together at most."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def count_people_fitting(
    release: ReleaseView, axis: Axis | None, located: Located
) -> tuple[Ints, NDArray[np.int32]]:
    """Of each key how many people, or rows, the classes that fit it have, and the value on the axis
    that all of these have there; -1 where there is none.
    """
    values = None if axis is None else release.values
    if release.person is None:
        candidates, agreed = _count_rows_fitting(release, None if values is None else axis, located)
        return candidates, _drop_missing(agreed, axis)
    start, classes = located
    rows = np.argsort(release.class_, kind="stable")
    begin, length = np.cumsum(release.rows) - release.rows, np.diff(start)
    weight = np.concatenate(([0], np.cumsum(release.rows[classes])))[start]
    candidates = np.zeros(len(length), np.int64)
    agreed = np.full(len(length), -1, np.int32)
    representative, representative_of = _group_single_classes(start, classes)
    for portion in _slice_portions(np.diff(weight)[representative]):
        keys = representative[portion]
        fitting = classes[expand_ranges(start[keys], length[keys])]
        key = np.repeat(np.repeat(np.arange(len(keys)), length[keys]), release.rows[fitting])
        row = rows[expand_ranges(begin[fitting], release.rows[fitting])]
        candidates[keys], agreed[keys] = _count_and_agree(key, row, release, values, len(keys))
    return candidates[representative][representative_of], _drop_missing(
        agreed[representative][representative_of], axis
    )


def _drop_missing(agreed: NDArray[np.int32], axis: Axis | None) -> NDArray[np.int32]:
    """The values that all have, without the one that nobody knows: a missing one."""
    if axis is None or not axis.unknown:
        return agreed
    return np.where(agreed == axis.null_code, np.int32(-1), agreed)


def _count_rows_fitting(
    release: ReleaseView, axis: Axis | None, located: Located
) -> tuple[Ints, NDArray[np.int32]]:
    """The same where a row is a person: rows add up, and the ends of a class's values tell."""
    start, classes = located
    before = np.concatenate(([0], np.cumsum(release.rows[classes])))
    candidates = before[start[1:]] - before[start[:-1]]
    agreed = np.full(len(candidates), -1, np.int32)
    is_found = np.diff(start) > 0
    if axis is None or not is_found.any():
        return candidates, agreed
    values = release.histogram(axis)
    low, high = values.value[values.start[:-1]], values.value[values.start[1:] - 1]
    at = start[:-1][is_found]  # values ascend in a class: all agree where the ends do
    lowest = np.minimum.reduceat(low[classes], at)
    agreed[is_found] = np.where(lowest == np.maximum.reduceat(high[classes], at), lowest, -1)
    return candidates, agreed


def _group_single_classes(start: Ints, classes: Ints) -> tuple[Ints, Ints]:
    """One key of those that fit the same single class, and all others; which stands for each."""
    number = np.diff(start)
    is_single = number == 1
    label = np.zeros(len(number), np.int64)
    label[is_single] = classes[start[:-1][is_single]]
    size = int(classes.max(initial=-1)) + 1
    label[~is_single] = np.where(
        number[~is_single] == 0, size, size + 1 + np.flatnonzero(~is_single)
    )
    _, representative, representative_of = np.unique(label, return_index=True, return_inverse=True)
    return representative, representative_of


def _slice_portions(weights: Ints) -> Iterator[slice]:
    portion = np.cumsum(weights) // ROWS_AT_ONCE
    ends = np.flatnonzero(np.diff(portion)) + 1
    edges = [0, *ends.tolist(), len(weights)]
    for first, last in pairwise(edges):
        yield slice(first, last)


def _count_and_agree(
    key: Ints, row: Ints, release: ReleaseView, values: NDArray[Any] | None, keys: int
) -> tuple[Ints, NDArray[np.int32]]:
    assert release.person is not None
    person, size = release.person[row], int(release.person.max(initial=-1)) + 1
    _, distinct = number_combinations((key, person), (keys, size))
    candidates = np.bincount(key[distinct], minlength=keys)
    agreed = np.full(keys, -1, np.int32)
    if values is None:
        return candidates, agreed
    value, n_values = values[row], int(values.max(initial=-1)) + 1
    _, having = number_combinations((key, person, value), (keys, size, n_values))
    pair, first = number_combinations((key[having], value[having]), (keys, n_values))
    common = np.bincount(pair, minlength=len(first)) == candidates[key[having][first]]
    agreed[key[having][first[common]]] = value[having][first[common]]
    return candidates, agreed


def count_people_covered(located: Located, key: Ints, people: Targets, classes: int) -> Ints:
    """How many people of a register fit each class, each counted once."""
    start, fitting = located
    if people.person is None:
        people_of_key = np.repeat(np.bincount(key, minlength=len(start) - 1), np.diff(start))
        return np.bincount(fitting, people_of_key, classes).astype(np.int64)
    length = np.diff(start)[key]
    class_ = fitting[expand_ranges(start[:-1][key], length)]
    person = np.repeat(people.person, length)
    _, distinct = number_combinations((class_, person), (classes, len(people)))
    return np.bincount(class_[distinct], minlength=classes).astype(np.int64)


def find_certain_by_number(release: ReleaseView, axis: Axis) -> NDArray[Any]:
    """The people of whom a value is certain for who knows how many rows they have in a class.

    Somebody with more rows than lack a value has it: the others cannot all lack it.
    """
    assert release.person is not None
    values = release.row_histogram(axis)
    known = np.where(values.is_blank, 0, values.count)  # a missing value is none that one learns
    lacking = release.rows - values.largest(known)
    sizes = len(release.cells), int(release.person.max()) + 1
    number, first = number_combinations((release.class_, release.person), sizes)
    certain = np.bincount(number) > lacking[release.class_[first]]
    return release.people_of(first[certain])


def find_certain_by_classes(release: ReleaseView, axis: Axis) -> NDArray[Any]:
    """The people whose classes have one value in common, where nobody has two values.

    A class in which somebody's value is missing excludes none, so that the others decide.
    """
    assert release.person is not None
    assert release.values is not None
    values, size = release.row_histogram(axis), int(release.person.max()) + 1
    known = np.flatnonzero(~(axis.unknown & (release.values == axis.null_code)))
    sizes = len(release.cells), size
    _, first = number_combinations((release.class_[known], release.person[known]), sizes)
    class_, person = release.class_[known[first]], release.person[known[first]]
    length = values.distinct[class_]
    value = values.value[expand_ranges(values.start[:-1][class_], length)]
    holder = np.repeat(person, length)
    pair, first_pair = number_combinations((holder, value), (size, axis.size))
    in_all = np.bincount(pair) == np.bincount(person, minlength=size)[holder[first_pair]]
    values_left = np.bincount(holder[first_pair][in_all], minlength=size)
    missing = in_all & (value[first_pair] == axis.null_code) & axis.unknown
    values_left[holder[first_pair][missing]] = 0
    return np.flatnonzero(values_left == 1)


@dataclass(frozen=True)
class BestRows:
    """Of each person the row that tells most: a value, a match, then the fewest candidates."""

    row: Ints
    """Its place among all rows of their table."""
    candidates: Ints
    """The fewest of all rows that fit any; 0 where none does."""
    certain: Flags
    """Whether any of their rows is a match."""
    agreed: NDArray[np.int32]
    """The value that is settled; -1 where none is."""

    @classmethod
    def of(
        cls, people: Targets, candidates: Ints, certain: Flags, agreed: NDArray[np.int32]
    ) -> BestRows:
        """The best of everybody's rows."""
        if people.person is None:
            return cls(np.arange(people.table_rows), candidates, certain, agreed)
        candidates_or_max = np.where(candidates == 0, np.iinfo(np.int64).max, candidates)
        order = np.lexsort((candidates_or_max, ~certain, agreed < 0, people.person))
        _, first = np.unique(people.person[order], return_index=True)
        min_candidates = np.minimum.reduceat(candidates_or_max[order], first)
        min_candidates[min_candidates == np.iinfo(np.int64).max] = 0
        is_certain = np.logical_or.reduceat(certain[order], first)
        return cls(order[first], min_candidates, is_certain, agreed[order[first]])


@dataclass(frozen=True)
class RemainingValues:
    """What several releases leave of the values of people with several rows."""

    first: Ints
    """Everybody's first row in their table."""
    prior: NDArray[np.int32]
    """(releases, people): how many values each release leaves; 0 where it has no class."""
    posterior: NDArray[np.int32]
    is_constant: bool
    """Whether nobody has two different values, as far as anything says."""
    nothing_known: Flags | None
    """Of whom no release says anything, where values are missing; None: of nobody."""
    _person: Ints

    @classmethod
    def of(cls, view: View, evidence: ValueEvidence, people: Targets) -> RemainingValues:
        """What is left of everybody, by all of their rows."""
        person = np.arange(people.table_rows) if people.person is None else people.person
        order = np.argsort(person, kind="stable")
        _, start = np.unique(person[order], return_index=True)
        every, known = range(len(view.releases)), evidence.without_blanks
        sets = np.stack([known.possible_values(j) for j in every])
        is_constant = _has_constant_values(view, people, person)
        if is_constant:
            blank = np.asarray(~sets.any(axis=2))  # a known row that is in no class says nothing
            joined = np.bitwise_and.reduceat(_fill_blanks(sets, blank)[:, order], start, axis=1)
            nowhere = np.logical_and.reduceat(blank[:, order], start, axis=1)
            joined[nowhere] = 0
        else:
            joined = np.bitwise_or.reduceat(sets[:, order], start, axis=1)
        is_intersected = is_constant | ~_has_several_rows(view, people, person)
        nothing_known = None
        if known is not evidence:
            may_lack_value = np.stack([evidence.may_lack_value(j) for j in every])[:, order]
            may_lack_value = np.logical_or.reduceat(may_lack_value, start, axis=1)
            silent = find_silent_releases(joined, may_lack_value, is_intersected)
            joined[silent] = _as_bits(known.total)
            nothing_known = np.asarray(silent.all(axis=0))
        prior = np.bitwise_count(joined).sum(axis=2).astype(np.int32)
        common = np.bitwise_count(np.bitwise_and.reduce(joined, axis=0)).sum(axis=1)
        posterior = np.where(is_intersected, common, prior.min(axis=0)).astype(np.int32)
        if nothing_known is not None:
            posterior[nothing_known] = 0
        return cls(order[start], prior, posterior, is_constant, nothing_known, person)

    def any_row(self, flags: Flags) -> Flags:
        """Whether anything holds of any row of each person."""
        has_row = np.zeros(len(self.first), np.bool_)
        has_row[self._person[flags]] = True
        return has_row

    @property
    def assumption(self) -> str:
        """What the count of values takes for granted."""
        if self.is_constant:
            return (
                "all rows of a person have the same value, and every known row is in the releases"
            )
        return (
            "people with several rows may have several values: what releases leave of them is not "
            "intersected"
        )


def _as_bits(total: Ints) -> NDArray[np.uint64]:
    codes = np.flatnonzero(total)
    words, single_set = (len(total) + 63) // 64, np.zeros(len(codes), np.int64)
    return np.asarray(collect_code_sets(codes, np.arange(len(codes)), single_set, 1, words)[0])


def _fill_blanks(sets: NDArray[np.uint64], blank: Flags) -> NDArray[np.uint64]:
    full = sets.copy()
    full[blank] = np.uint64(2**64 - 1)
    return full


def _has_constant_values(view: View, people: Targets, person: Ints) -> bool:
    """Whether nobody has two different values, by the releases and by the truth, where any says it
    of somebody with several rows.
    """
    repeated = [release for release in view.releases if release.person is not None]
    axis = view.sensitive
    blank = axis.null_code if axis is not None and axis.unknown else UNKNOWN
    if not all(release.is_constant_but_for(blank) for release in repeated):
        return False
    if people.values is None:
        return bool(repeated)
    known = (people.values != UNKNOWN) & (people.values != blank)
    pairs = np.unique(np.stack((person[known], people.values[known])), axis=1)
    return pairs.shape[1] == len(np.unique(person[known])) and bool(repeated or known.any())


def _has_several_rows(view: View, people: Targets, person: Ints) -> Flags:
    """Whether somebody has several rows, in their table or in any release, as far as is known."""
    several = np.bincount(person) > 1
    for release in view.releases:
        if release.rows_held is not None:
            several[person[release.rows_held > 1]] = True
    return several
