"""What a table becomes at the door: a tally of codes, cut into classes, judged as groups.

``Tally``   the distinct combinations of codes with their counts
``Cut``     an assignment of the tally's entries to classes; an entry may be divided
``Groups``  what a model judges: per class the rows, a histogram of each sensitive column, and who
            contributed them
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells, cover_classes
from shoal.core.column import toml_key
from shoal.core.errors import NotEvaluatedError, UsageError
from shoal.core.histogram import Contributions, Histogram, ProviderValuePairs
from shoal.core.labels import format_people
from shoal.kernels.grouping import number_combinations, tabulate

SUPPRESSED = -1
"""The class of rows that are not published."""


@dataclass(frozen=True)
class Population:
    """Everybody the table could be about: points on the tally's own axes, with counts."""

    keys: NDArray[Any]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """Distinct combinations of codes with counts.

    ``keys`` (quasi-identifiers, entries) and ``values`` (sensitive columns, entries) hold one row
    of codes per column, so that a scan over one column is a scan over adjacent memory.
    """

    quasi: tuple[Axis, ...]
    sensitive: tuple[Axis, ...]
    keys: NDArray[Any]
    values: NDArray[np.int32]
    count: NDArray[np.int64]
    provider: Axis | None = None
    providers: NDArray[np.int32] | None = None
    population: Population | None = None
    weights: tuple[float, ...] = ()
    reference: tuple[NDArray[np.int64], ...] = ()
    """For a part of a table: per sensitive column the counts of its values in the whole table."""
    person: NDArray[np.int32] | None = None
    """Whom each entry is about, by number from 0 on, where some have several rows; then classes
    are judged by their distinct persons. None: each row is somebody else."""

    @property
    def entries(self) -> int:
        """How many distinct combinations there are."""
        return len(self.count)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.count.sum())

    @cached_property
    def persons(self) -> int:
        """How many people there are."""
        return self.rows if self.person is None else int(self.person.max(initial=-1)) + 1

    @property
    def importance(self) -> NDArray[np.float64]:
        """The weight of each quasi-identifier in choices and in loss; 1 unless set."""
        return np.array(self.weights or (1.0,) * len(self.quasi))


@dataclass(frozen=True)
class Cut:
    """Pieces of entries, each in a class (or ``SUPPRESSED``), and the classes' cells."""

    entry: NDArray[np.int32]
    class_: NDArray[np.int32]
    count: NDArray[np.int64]
    cells: Cells
    facts: dict[str, Any] = field(default_factory=dict, compare=False)
    """What the method wants to tell about its work: depth, nodes checked, levels chosen."""

    @property
    def classes(self) -> int:
        """How many classes are published."""
        return len(self.cells)

    @cached_property
    def suppressed(self) -> int:
        """How many rows are not published."""
        return int(self.count[self.class_ < 0].sum())

    @classmethod
    def of(
        cls,
        tally: Tally,
        entry: NDArray[np.int32],
        class_: NDArray[np.int32],
        count: NDArray[np.int64] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> Cut:
        """A cut whose cells are the smallest that can be published for each class's entries."""
        count = tally.count[entry] if count is None else count
        cells = cover_classes(tally.quasi, tally.keys, entry, class_)
        return cls(entry, class_, count, cells, facts or {}).merged()

    def merged(self) -> Cut:
        """The same cut where classes that publish the same cells are one class."""
        first, of_class = self.cells.unique()
        if len(first) == len(self.cells):
            return self
        class_ = np.where(self.class_ < 0, SUPPRESSED, of_class[self.class_]).astype(np.int32)
        return replace(self, class_=class_, cells=self.cells.take(first))

    def without(self, classes: NDArray[np.bool_]) -> Cut:
        """The same cut with the marked classes suppressed."""
        number = np.cumsum(~classes) - 1
        number = np.where(classes, SUPPRESSED, number).astype(np.int32)
        class_ = np.where(self.class_ < 0, SUPPRESSED, number[self.class_]).astype(np.int32)
        return replace(self, class_=class_, cells=self.cells.take(np.flatnonzero(~classes)))


def join_sensitive(
    histograms: Iterable[tuple[Axis, NDArray[Any]]],
) -> tuple[Axis, NDArray[np.int32]]:
    """Several sensitive columns as one: an axis of the combinations that occur, and their codes."""
    axes, codes = zip(*histograms, strict=True)
    name = "*".join(axis.name for axis in axes)
    blank = np.zeros(len(codes[0]), np.bool_)
    for axis, of_column in zip(axes, codes, strict=True):
        if axis.unknown:
            blank |= of_column == axis.null_code
    # A combination that is known in part may be less than any: taken for any, it is no better.
    complete = [of_column[~blank] for of_column in codes]
    number, first = number_combinations(complete, [axis.size for axis in axes])
    joint = np.full(len(blank), len(first), np.int32)
    joint[~blank] = number
    return Axis.numbered(name, len(first), unknown=bool(blank.any())), joint


@dataclass(frozen=True)
class Groups:
    """What a model judges: many classes at once, by numbers alone."""

    rows: NDArray[np.int64]
    """The people of each class: its rows, or its distinct persons where some have several."""
    sensitive: tuple[Histogram, ...] = ()
    contributions: tuple[Contributions, ...] = ()
    """Per sensitive column who contributed which rows; where there is none, one of rows alone."""
    cells: Cells | None = None
    population: NDArray[np.int64] | None = None
    max_presence: NDArray[np.float64] | None = None
    """Where cells overlap: per class the highest sum of rows / population, over all the classes
    that a person of the population in its cells could be in."""
    uncovered: int = 0
    """People of the population whom no class's cells contain."""
    written_rows: NDArray[np.int64] | None = None
    """The rows of each class as the table has them, where people are counted instead."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sensitive columns that can be named with ``on=``."""
        return tuple(h.axis.name for h in self.sensitive)

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """The rows of each class, whoever they are about."""
        return self.rows if self.written_rows is None else self.written_rows

    @property
    def contributed(self) -> Contributions:
        """Who contributed which rows, whatever their sensitive values."""
        if self.written_rows is not None:
            raise NotEvaluatedError(
                "Coalitions of providers are not judged where people have several rows.",
                'keep one row a person: --one-row "latest by COLUMN".',
            )
        if not self.contributions:
            raise UsageError(
                "The rule asks who brought the rows, and no column says so.",
                'give a column the role "provider".',
            )
        return self.contributions[0]

    def contributed_on(self, name: str | None = None) -> Contributions:
        """Who contributed which rows of one sensitive column; without a name, of the only one."""
        whole, column = self.contributed, self.names.index(self.on(name).axis.name)
        return self.contributions[column] if column else whole

    def on(self, name: str | None, *, sets: bool = False) -> Histogram:
        """The histogram of one sensitive column; without a name, of the only one.

        ``sets``: the caller can judge persons who have several values. Others are refused such a
        column: a distribution over values hides one that everybody shares.
        """
        histogram = self._find_sensitive(name)
        if histogram.sets is not None and not sets:
            several = histogram.sets.with_several
            raise NotEvaluatedError(
                f"{format_people(several)} {'has' if several == 1 else 'have'} several values of "
                f"{histogram.axis.name!r}, and a distribution over values hides one that all "
                "people of a class share.",
                'keep one row a person: --one-row "latest by COLUMN"; or ask for alpha-k or '
                "distinct-diversity, which judge sets of values.",
            )
        return histogram

    def _find_sensitive(self, name: str | None) -> Histogram:
        if name is None and len(self.sensitive) == 1:
            return self.sensitive[0]
        if name in self.names:
            return self.sensitive[self.names.index(name)]
        if name is not None:
            raise UsageError(f"There is no sensitive column {name!r}.", _name_one(self.names))
        if not self.sensitive:
            raise UsageError(
                "The rule needs a sensitive column and the schema names none.",
                'give a column the role "sensitive".',
            )
        raise UsageError(f"{len(self.sensitive)} columns are sensitive.", _name_one(self.names))

    def concentrated(self, name: str | None) -> Histogram:
        """The same with unknown values taken for their class's most frequent one.

        The worst completion for every rule that a more uneven class meets no better.
        """
        return self.on(name).concentrated

    def take(self, classes: NDArray[Any]) -> Groups:
        """Some of the classes only; totals stay."""
        return replace(
            self,
            rows=self.rows[classes],
            sensitive=tuple(h.take(classes) for h in self.sensitive),
            contributions=tuple(c.take(classes) for c in self.contributions),
            cells=self.cells and self.cells.take(classes),
            population=None if self.population is None else self.population[classes],
            max_presence=None if self.max_presence is None else self.max_presence[classes],
            written_rows=None if self.written_rows is None else self.written_rows[classes],
        )

    @classmethod
    def of(cls, tally: Tally, cut: Cut, products: Iterable[str] = ()) -> Groups:
        """Count a cut's published classes; ``products`` names joint columns as ``"a*b"``."""
        rows = np.bincount(
            cut.class_[cut.class_ >= 0], weights=cut.count[cut.class_ >= 0], minlength=cut.classes
        ).astype(np.int64)
        columns = sensitive_columns(tally, products)
        if tally.person is not None:
            whole = _by_person(tally, cut, tally.person, columns, rows)
            return whole if tally.population is None else _add_population(whole, tally.population)
        histograms = tuple(
            Histogram.of(axis, cut.class_, codes[cut.entry], cut.count, cut.classes, total)
            for (axis, codes), total in zip_longest(columns, tally.reference)
        )
        totals = [h.total for h in histograms] or [np.zeros(0, np.int64)]
        shares = tuple(
            pairs.contributions(
                *tabulate(cut.class_, number[cut.entry], cut.count, cut.classes, pairs.size), total
            )
            for (pairs, number), total in zip(
                number_provider_pairs(tally, columns), totals, strict=False
            )
        )
        whole = cls(rows, histograms, shares, cut.cells)
        return whole if tally.population is None else _add_population(whole, tally.population)


def _by_person(
    tally: Tally,
    cut: Cut,
    person: NDArray[np.int32],
    columns: Iterable[tuple[Axis, NDArray[np.int32]]],
    rows: NDArray[np.int64],
) -> Groups:
    """The same where some people have several rows: classes are counted by distinct persons.

    Persons do not add up over entries, so that no part of an entry is left out.
    """
    there = (cut.class_ >= 0) & (cut.count > 0)
    class_, entry = cut.class_[there], cut.entry[there]
    persons, once = person[entry], np.ones(len(entry), np.int64)
    begin, _, _ = tabulate(class_, persons, once, cut.classes, tally.persons)
    histograms = tuple(
        Histogram.of_persons(axis, class_, codes[entry], persons, cut.classes, tally.persons)
        for axis, codes in columns
    )
    return Groups(np.diff(begin), histograms, (), cut.cells, written_rows=rows)


def _add_population(groups: Groups, people: Population) -> Groups:
    assert groups.cells is not None
    start, classes = groups.cells.contains(people.keys)
    times = np.diff(start)
    point = np.repeat(np.arange(len(times)), times)
    counts = np.bincount(classes, weights=people.count[point], minlength=len(groups))
    population = counts.astype(np.int64)
    presence = None
    if (times > 1).any():
        share = (groups.rows / np.maximum(population, 1))[classes]
        of_point = np.bincount(point, weights=share, minlength=len(times))
        presence = np.zeros(len(groups))
        np.maximum.at(presence, classes, of_point[point])
    uncovered = int(people.count[times == 0].sum())
    return replace(groups, population=population, max_presence=presence, uncovered=uncovered)


def sensitive_columns(
    tally: Tally, products: Iterable[str] = ()
) -> list[tuple[Axis, NDArray[np.int32]]]:
    """Each sensitive axis with its codes, then the joint columns that were asked for."""
    columns = list(zip(tally.sensitive, tally.values, strict=True))
    names = [axis.name for axis in tally.sensitive]
    for joint in products:
        parts = joint.split("*")
        unknown = [part for part in parts if part not in names]
        if unknown:
            raise UsageError(f"There is no sensitive column {unknown[0]!r}.", _name_one(names))
        columns.append(join_sensitive(columns[names.index(part)] for part in parts))
    return columns


def number_provider_pairs(
    tally: Tally, columns: Iterable[tuple[Axis, NDArray[np.int32]]]
) -> list[tuple[ProviderValuePairs, NDArray[np.int32]]]:
    """Of each column the pairs (provider, value), or of the providers alone, and their numbers."""
    if tally.provider is None or tally.providers is None:
        return []
    provider, codes = tally.provider, tally.providers
    pairs = [ProviderValuePairs.of(provider, codes, axis, values) for axis, values in columns]
    return pairs or [ProviderValuePairs.of(provider, codes, None, None)]


def _name_one(names: Iterable[str]) -> str:
    names = tuple(names)
    if not names:
        return 'give a column the role "sensitive".'
    if len(names) == 1:
        return f"name it: on={toml_key(names[0])}."
    each = ", ".join(f"on={toml_key(name)}" for name in names)
    return f"write the requirement once for each column that it is about: {each}."
