"""What an adversary has: published tables, and what it knows of the people it looks for.

Everything is codes: labels were read on common axes, values numbered alike in all releases.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, find_meeting_classes
from shoal.core.errors import InputError
from shoal.core.histogram import Contributions, Histogram, ProviderValuePairs
from shoal.core.labels import format_value
from shoal.core.model import format_parameter
from shoal.core.tally import Cut, Tally
from shoal.kernels.grouping import number_combinations, tabulate

WORST_LISTED = 20
"""How many of the worst-hit people a finding lists."""


UNKNOWN, UNPUBLISHED = -1, -2
"""True values that have no code: not known, and known but in no release."""


class NobodyFoundError(InputError):
    """No person could be found in the releases, so there is nothing to attack."""


class RowsOnlyError(InputError):
    """People have several rows, and the attack could only count rows."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Not evaluated: {reason}.",
            "linking, intersection, homogeneity and skewness count people; or publish one row a "
            'person: --one-row "latest by COLUMN".',
        )


def state_missing_values(values: Histogram) -> tuple[str, ...]:
    """What is taken to be so of rows whose sensitive value is missing, where there are any."""
    missing = int(values.blanks.sum())
    if not missing:
        return ()
    return (f"of {missing:,} rows without a {values.axis.name} nothing is learnt",)


def count_missing_values(view: View) -> dict[str, Any]:
    """How many rows of the releases have no sensitive value, and how many are in classes of nothing
    but such rows: details of a finding, where there are any.
    """
    assert view.sensitive is not None
    values = [release.row_histogram(view.sensitive) for release in view.releases]
    missing = sum(int(histogram.blanks.sum()) for histogram in values)
    if not missing:
        return {}
    nothing = sum(
        int(histogram.blanks[histogram.without_blanks.distinct == 0].sum()) for histogram in values
    )
    return {"missing": missing, "in_classes_of_missing": nothing}


def state_no_value_added(view: View) -> tuple[str, ...]:
    """What is taken to be so of rows without a value where the values left are counted."""
    assert view.sensitive is not None
    counts = count_missing_values(view)
    if not counts:
        return ()
    name, nothing = view.sensitive.name, counts["in_classes_of_missing"]
    only_missing = f"; {nothing:,} of them are in classes of nothing else, which tell nothing"
    return (
        f"{counts['missing']:,} rows have no {name}: it may be any, and adds none to the values "
        f"left{only_missing if nothing else ''}",
    )


@dataclass(frozen=True)
class Needs:
    """What an attack needs before it can run; each attack's file states it as ``NEEDS``."""

    releases: int = 1
    max_releases: int | None = None
    """At most so many releases; None: any number."""
    people: bool = False
    """A table of people to look for: targets, or a register."""
    sensitive: bool = True
    """A column to learn."""
    learns: bool = True
    """Whether what it finds depends on the column to learn, where there is one: it is then run on
    every sensitive column."""
    relation: str = ""
    """What the releases must be of each other: "same table", "over time", or anything."""
    method: bool = False
    """How the release was made."""
    name_option: str = ""
    """The option that speaks of people by name: where it is given, so are the targets' names."""
    supposition_option: str = ""
    """The option that says how much, where it supposes what nobody is shown to know: red-team
    leaves it out unless one of its own options is given."""
    provider: bool = False
    """Who provided each row: of a release its publisher alone knows it."""
    counts_people: bool = False
    """Whether it counts people where they have several rows; else it is not evaluated there."""
    reads_answers: bool = False
    """Whether it can tell answers from values, where values may have been exchanged for others."""
    targets_last_release: bool = False
    """Whether its people are the rows of the last release, which those before are taken with."""


@dataclass(frozen=True)
class ReleaseView:
    """One release as it stands: the cells of its classes, and of each row the class and values."""

    name: str
    cells: Cells
    class_: NDArray[np.int32]
    """The class of each row, in the order of the table."""
    values: NDArray[np.int32] | None = None
    """Each row's code on the view's sensitive axis."""
    shared: NDArray[np.int32] | None = None
    """(columns, rows): codes of the columns that all releases publish as they are."""
    true_class: NDArray[np.int32] | None = None
    """The class that truly holds each of the view's people (-1: none does), where it is known."""
    judged: NDArray[np.int32] | None = None
    """(columns, rows): codes of the columns that the method looked at, on the view's axes."""
    labels: Callable[[int], Mapping[str, Any]] | None = None
    """A class's labels by column, for who asked to see them."""
    providers: NDArray[np.int32] | None = None
    """Who provided each row, as codes on the view's axis, where it is known."""
    centroids: bool = False
    """Whether its cells are the centroids of classes: people are in none, but near to one."""
    response: NDArray[np.float64] | None = None
    """P(answer | true) on the view's sensitive axis, where values may have been exchanged: a row
    for each true value, all 0 for one that the release says nobody has. None: values are true."""
    spent_epsilon: float | None = None
    """The epsilon of a person's answers in all columns of the release, where it states one."""
    person: NDArray[np.int32] | None = None
    """Whose each row is, as numbers, where somebody has several; None: a row is a person."""
    rows_held: NDArray[np.int64] | None = None
    """How many rows each of the view's people has, where that is known and somebody has several."""

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.class_, minlength=len(self.cells)).astype(np.int64)

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """How many people each class has; somebody in several classes counts in each."""
        first = self.first_rows
        return np.bincount(self.class_[first], minlength=len(self.cells)).astype(np.int64)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """The first row of each person in each of their classes, ascending."""
        if self.person is None:
            return np.arange(len(self.class_))
        sizes = len(self.cells), int(self.person.max(initial=-1)) + 1
        return np.sort(number_combinations((self.class_, self.person), sizes)[1])

    def people_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The people whom some rows (numbers, or whether each) are about, each once."""
        return np.unique(
            (np.arange(len(self.class_)) if self.person is None else self.person)[rows]
        )

    @cached_property
    def persons(self) -> int:
        """How many people it is about."""
        return len(self.class_) if self.person is None else len(np.unique(self.person))

    @property
    def unit(self) -> str:
        """What is counted, in words."""
        return "rows" if self.person is None else "people"

    @cached_property
    def is_constant(self) -> bool:
        """Whether nobody has two different sensitive values."""
        if self.person is None or self.values is None:
            return True
        sizes = int(self.person.max(initial=-1)) + 1, int(self.values.max(initial=-1)) + 1
        pairs = number_combinations((self.person, self.values), sizes)
        return len(pairs[1]) == self.persons

    def is_constant_but_for(self, blank: int) -> bool:
        """The same where one of the codes is a missing value, which may be any."""
        if self.person is None or self.values is None:
            return True
        filled = self.values != blank
        return replace(
            self, class_=self.class_[filled], values=self.values[filled], person=self.person[filled]
        ).is_constant

    def histogram(self, axis: Axis) -> Histogram:
        """The sensitive values of each class with their counts: of rows, or of people."""
        assert self.values is not None
        if self.person is not None:
            persons = int(self.person.max(initial=-1)) + 1
            rows = self.class_, self.values, self.person
            histogram = Histogram.of_persons(axis, *rows, len(self.cells), persons)
            return histogram.as_shares_of_people(self.class_, self.person)
        return self.row_histogram(axis)

    def row_histogram(self, axis: Axis) -> Histogram:
        """The same of rows, whosever they are."""
        assert self.values is not None
        ones = np.ones(len(self.class_), np.int64)
        return Histogram.of(axis, self.class_, self.values, ones, len(self.cells))

    def contributions(self, provider: Axis, axis: Axis) -> Contributions:
        """Who provided which sensitive values of each class, with their counts."""
        assert self.values is not None
        assert self.providers is not None
        pairs, number = ProviderValuePairs.of(provider, self.providers, axis, self.values)
        ones = np.ones(len(self.class_), np.int64)
        counts = tabulate(self.class_, number, ones, len(self.cells), pairs.size)
        total = np.bincount(self.values, minlength=axis.size).astype(np.int64)
        return pairs.contributions(*counts, total)


@dataclass(frozen=True)
class Targets:
    """The people the adversary looks for, by what it knows about them."""

    keys: NDArray[Any]
    """(columns, people): codes on the view's axes. Somebody who is listed several times has as
    many of them, and of everything below; see ``person``."""
    rows: NDArray[np.int64]
    """Each person's row in the table they come from, the first row of data being 1."""
    values: NDArray[np.int32] | None = None
    """Their true sensitive values, where the tester knows them: to score, never to attack with.

    ``UNKNOWN`` where nobody says; ``UNPUBLISHED`` for a value that no release has, so that
    whatever is guessed is wrong.
    """
    judged: NDArray[np.int32] | None = None
    """(columns, people): the same of the columns that the method looked at."""
    present: NDArray[np.bool_] | None = None
    """Whether each is in every release, where the tester knows that of some release."""
    names: tuple[str, ...] | None = None
    """What each is called in what an adversary is said to know; empty where that is not known."""
    cells: Cells | None = None
    """What is known of each, where that is not a single value in every column: a cell holds all
    values that somebody may have. None: the keys say it."""
    person: NDArray[np.int64] | None = None
    """Whom each row of their table is about, as numbers from 0 in the order of their first rows,
    where somebody is listed several times; None: nobody is."""

    def __len__(self) -> int:
        return int(self.keys.shape[1] if self.person is None else self.person.max(initial=-1) + 1)

    @property
    def table_rows(self) -> int:
        """How many rows their table has."""
        return int(self.keys.shape[1])

    def take(self, people: NDArray[Any]) -> Targets:
        """What is known of some of them, by their numbers."""
        cells = None if self.cells is None else self.cells.take(people)
        values = None if self.values is None else self.values[people]
        return Targets(self.keys[:, people], self.rows[people], values, cells=cells)

    def find_classes(self, classes: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The classes that each may be in: start (people + 1), classes."""
        return (
            classes.contains(self.keys)
            if self.cells is None
            else find_meeting_classes(self.cells, classes)
        )


@dataclass(frozen=True)
class View:
    """Releases on common axes, and the people to look for."""

    axes: tuple[Axis, ...]
    releases: tuple[ReleaseView, ...]
    sensitive: Axis | None = None
    shared: tuple[str, ...] = ()
    """The names of the columns in ``ReleaseView.shared``."""
    people: Targets | None = None
    method: Callable[[Tally], Cut] | None = None
    """The publisher's method with its rule, as it would treat a table; for who knows it."""
    judged: tuple[Axis, ...] = ()
    """The sensitive columns that the method looked at when it made the classes; empty where it
    looked at none, or nobody says: then the one to learn stands for them."""
    show: bool = False
    """Whether the finding may name labels, values and providers."""
    providers: Axis | None = None
    """The names of those who provided the rows, where it is known who provided which."""
    max_coalition: int = 1
    """How many providers together the release promises to withstand; 1 where it promises none."""
    has_other_sensitive: bool = False
    """Whether a release has other sensitive columns beside the one to learn."""
    wider: Callable[[], View] | None = None
    """The same with every further column that is shared, whatever its role; None: there is none."""
    insider: Callable[[], View] | None = None
    """That with the other sensitive columns too which the people's table holds, where it holds the
    one to learn: a tester's table, of which nobody says that an adversary has it."""

    def quote_requirement(self, requirement: str) -> str:
        """A requirement as it is written of this release: of several columns it names the one."""
        if self.sensitive is None or not self.has_other_sensitive:
            return f'"{requirement}"'
        model_text = f"{requirement} on={format_parameter(self.sensitive.name)}"
        return shlex.quote(model_text) if '"' in model_text else f'"{model_text}"'

    def format_sensitive(self, code: int) -> str:
        """A sensitive value in words, where values may be shown."""
        assert self.sensitive is not None
        null = self.sensitive.null and code == self.sensitive.null_code
        return "null" if null else format_value(self.sensitive.leaves[code])


def get_single_release(view: View) -> tuple[ReleaseView, Histogram]:
    """The view's release with the sensitive values of its classes, where there are any."""
    release = view.releases[0] if view.releases else None
    if release is None or view.sensitive is None or release.values is None:
        raise InputError(
            "There is no sensitive column to learn.", 'give a column the role "sensitive".'
        )
    if not len(release.class_):
        raise InputError("The release has no rows.", "give a release that has rows.")
    return release, release.histogram(view.sensitive)


def refuse_repeated_people(view: View, reason: str) -> None:
    """Refuse to count rows where people have several, or are listed several times."""
    several = any(release.person is not None for release in view.releases)
    if several or (view.people is not None and view.people.person is not None):
        raise RowsOnlyError(reason)


def get_contributions(view: View) -> tuple[ReleaseView, Contributions]:
    """The view's release with who provided which values of its classes, where that is known."""
    release, _ = get_single_release(view)
    if view.providers is None or release.providers is None:
        raise InputError(
            "Nothing says who provided the rows.",
            "attack a release folder with its private companion, or a table with a column of the "
            'role "provider".',
        )
    assert view.sensitive is not None
    return release, release.contributions(view.providers, view.sensitive)


def find_pairs(values: Histogram, class_: NDArray[Any], value: NDArray[Any]) -> NDArray[np.int64]:
    """Where classes and values stand among the pairs of a histogram that has them."""
    size = values.axis.size
    pairs = values.class_ * size + values.value
    return np.asarray(np.searchsorted(pairs, class_.astype(np.int64) * size + value))


def show_labels(view: View, class_: int) -> dict[str, Any]:
    """The labels of one class of the first release, for who asked to see them."""
    labels = view.releases[0].labels
    return {"labels": dict(labels(class_))} if view.show and labels else {}
