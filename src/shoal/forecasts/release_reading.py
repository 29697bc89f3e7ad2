"""From a release to what a forecast works on: every published row a person, with own codes.

What the release says stands as it is: its classes, their cells, the values in them. What it does
not say is where in its cell a person is. The table it was made from tells: by the private companion
and the person column where both are at hand, else by matching people to rows with their value whose
cells hold them. Suppressed rows are in no class and are left out. Without that table people are
drawn inside their cells, by the population where one is given; the forecast says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from shoal.adversary.context import AttackContext, build_context
from shoal.adversary.one_attack import as_column_names
from shoal.adversary.targets import PeopleTable, find_rows_of_people
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.column import join_column_names
from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Schema
from shoal.core.tally import Population
from shoal.core.theory.adversary_view import UNKNOWN, UNPUBLISHED, Needs, View
from shoal.forecasts.our_table import OurTable
from shoal.kernels.grouping import number_combinations
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.published_table import PublishedTable
from shoal.releases.row_listing import code_on_axis

Codes = NDArray[np.int32]
MAX_OFFERS = 20_000_000
"""So many offers of a row to a person are made at the most."""


def draw_points_inside(
    cells: Cells, class_: NDArray[Any], population: Population | None, rng: np.random.Generator
) -> tuple[Codes, int]:
    """A point (columns, rows) inside the cells of each row's class.

    Where somebody of a population is in the cells, one of them is drawn; else every leaf is as
    likely. Tells too how many rows are drawn from the population.
    """
    keys = _draw_leaves(cells, class_, rng)
    if population is None:
        return keys, 0
    start, classes = cells.contains(population.keys)
    point = np.repeat(np.arange(len(population.count)), np.diff(start))
    order = np.argsort(classes, kind="stable")
    point, classes = point[order], classes[order]
    upto = np.concatenate(([0], np.cumsum(population.count[point])))
    ends = np.searchsorted(classes, np.arange(len(cells) + 1))
    low, high = upto[ends[:-1]][class_], upto[ends[1:]][class_]
    there = np.flatnonzero(high > low)
    place = rng.integers(low[there], high[there])
    keys[:, there] = population.keys[:, point[np.searchsorted(upto, place, side="right") - 1]]
    return keys, len(there)


def _draw_leaves(cells: Cells, class_: NDArray[Any], rng: np.random.Generator) -> Codes:
    """One of the leaves of each cell, all as likely."""
    keys = np.empty((cells.low.shape[1], len(class_)), np.int32)
    for j in range(len(keys)):
        if j in cells.sets:
            keys[j] = _draw_members(cells.sets[j], class_, rng)
        else:
            keys[j] = rng.integers(cells.low[class_, j], cells.high[class_, j] + 1)
    return keys


def _draw_members(
    bits: NDArray[np.uint64], class_: NDArray[Any], rng: np.random.Generator
) -> Codes:
    raw = np.ascontiguousarray(bits, "<u8").view(np.uint8)
    of, member = np.nonzero(np.unpackbits(raw, axis=1, bitorder="little"))
    start = np.searchsorted(of, np.arange(len(bits) + 1))
    chosen = rng.integers(start[class_], start[class_ + 1])
    return np.asarray(member[chosen], np.int32)


def check_points_inside(
    cells: Cells, class_: NDArray[Any], keys: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether each point (columns, points) lies in the cells of its own class."""
    inside = np.ones(len(class_), np.bool_)
    for j, code in enumerate(keys):
        if j in cells.sets:
            word = cells.sets[j][class_, np.maximum(code, 0) >> 6]
            bit = (word >> (code & 63).astype(np.uint64)) & np.uint64(1)
            inside &= (code >= 0) & (bit == 1)
        else:
            inside &= (cells.low[class_, j] <= code) & (code <= cells.high[class_, j]) & (code >= 0)
    return inside


def match_people_to_rows(
    keys: NDArray[Any],
    values: Codes,
    cells: Cells,
    class_: NDArray[Any],
    published: Codes,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], int]:
    """A row of the release for each person (-1: none), no row for two; and how many had a choice.

    A person may be any row with its value in a class whose cells hold it. As many as possible are
    seated (Hopcroft and Karp: An n^5/2 algorithm for maximum matchings in bipartite graphs, 1973);
    of the ways to do so one is drawn.
    """
    size = 1 + int(max(values.max(initial=0), published.max(initial=0)))
    rows, first, free = _group_rows(class_, published, len(cells), size)
    person, group = _list_choices(keys, values, cells, size)
    fits = free[group] > 0
    person, group = person[fits], group[fits]
    several = int((np.bincount(person, minlength=len(values)) > 1).sum())
    # Of very large groups everybody is offered only some rows, all round alike.
    offered = np.minimum(free[group], max(1, MAX_OFFERS // max(len(group), 1)))
    begin = np.repeat(rng.integers(0, free[group]) if len(group) else group, offered)
    each, among = np.repeat(person, offered), np.repeat(group, offered)
    row = rows[first[among] + (begin + _rank(offered)) % free[among]]
    order = rng.permutation(len(class_))  # the first that is free is then any of them
    ones = np.ones(len(row), np.bool_)
    graph = csr_array((ones, (each, order[row])), shape=(len(values), len(class_)))
    graph.sort_indices()
    seat = maximum_bipartite_matching(graph, perm_type="column")
    back = np.append(np.argsort(order), -1)  # nobody's row is the last, which -1 finds
    return np.asarray(back[seat], np.int64), several


def _group_rows(
    class_: NDArray[Any], values: Codes, classes: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows by class and value, where those of each pair begin, and how many it has."""
    group = class_.astype(np.int64) * size + values
    free = np.bincount(group, minlength=classes * size).astype(np.int64)
    return np.argsort(group, kind="stable"), np.cumsum(free) - free, free


def _list_choices(
    keys: NDArray[Any], values: Codes, cells: Cells, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a person, and a class that holds it together with its value."""
    start, classes = cells.contains(keys)
    person = np.repeat(np.arange(len(values)), np.diff(start))
    has_value = values[person] >= 0
    person, classes = person[has_value], classes[has_value]
    return person, classes * size + values[person]


def _rank(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, … for each of so many times.

    >>> _rank(np.array([2, 1, 3])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    begins = np.cumsum(times) - times
    return np.arange(int(times.sum())) - np.repeat(begins, times)


@dataclass(frozen=True)
class OurRelease:
    """A release read for a forecast, and what had to be supposed to read it."""

    published: PublishedTable
    view: View
    ours: OurTable
    suppositions: tuple[str, ...]
    located: int
    """How many rows are somebody whose own columns are known."""
    left_out: int
    """How many people of the original table are in no class."""
    by_column: tuple[OurRelease, ...] = field(default=(), repr=False)
    """Where several columns are learnt: the same by each, of which this is the first."""

    @property
    def each(self) -> tuple[OurRelease, ...]:
        """The release by every column that is learnt."""
        return self.by_column or (self,)


def read_our_release(
    release: Any,
    *,
    original: Any = None,
    schema: Schema | None = None,
    on: str | Sequence[str] | None = None,
    population: Any = None,
    seed: int = 0,
    show: bool = False,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
) -> OurRelease:
    """Read a release folder, a ``Release``, or any table with a schema: by each column to learn.

    ``original`` is the table it was made from; ``reading`` says how that and the ``population``
    are written. What is drawn is drawn by the ``seed``.
    """
    context = build_context(
        [release], schema, original, population, show, progress, reading, publisher=True
    )
    published = context.releases[0]
    _refuse_form(published, context)
    columns = choose_learnt_columns(published.schema, on, published.name)
    each = tuple(_read_column(context, column, seed, original is not None) for column in columns)
    return each[0] if len(each) == 1 else replace(each[0], by_column=each)


def _read_column(context: AttackContext, column: str, seed: int, original: bool) -> OurRelease:
    """The release by one column that is learnt; what is drawn is drawn alike for each."""
    published_table = context.releases[0]
    view = context.view([0], Needs(people=original), column)
    people = None if context.control is None else _count_population(context.control, view)
    rng = np.random.default_rng(seed)
    published = view.releases[0]
    assert published.values is not None
    assert view.sensitive is not None
    keys, points = draw_points_inside(published.cells, published.class_, people, rng)
    suppositions = [] if original else [_describe_draw(points, people is not None)]
    located, left_out = 0, 0
    if original:
        rows, located_by = _locate_people(context, view, rng)
        here = rows >= 0
        assert view.people is not None
        keys[:, rows[here]] = view.people.keys[:, here]
        located, left_out = int(here.sum()), int((~here).sum())
        suppositions = [*located_by, *_note_unmatched(len(published.class_) - located, left_out)]
    values, elsewhere = _count_population_values(context.control, view.sensitive)
    if elsewhere:
        total = elsewhere + (0 if values is None else int(values.sum()))
        suppositions.append(
            f"{elsewhere:,} of {total:,} people of the population have values that none of ours has"
        )
    ours = OurTable(
        quasi=view.axes,
        sensitive=view.sensitive,
        keys=keys,
        values=published.values,
        class_=published.class_,
        cells=published.cells,
        population=people,
        population_values=values,
        population_elsewhere=elsewhere,
    )
    return OurRelease(published_table, view, ours, tuple(suppositions), located, left_out)


def _refuse_form(published: PublishedTable, context: AttackContext) -> None:
    """Refuse forms that have no cells, and people's tables that lack columns."""
    if published.buckets:
        raise InputError(
            f"{published.name} is published in buckets: its columns are exact, and another release "
            "meets each of its people at once.",
            "forecast a release of generalised cells.",
        )
    if published.centroids:
        raise InputError(
            f"{published.name} publishes centroids, which are no cells that hold people.",
            "forecast a release of generalised cells.",
        )
    if published.answers:
        raise InputError(
            f"{published.name} has answers in place of sensitive values: they exclude none, "
            "whatever release they are joined with.",
            "ask what they say at the most: shoal.semantic_privacy, or the attack intersection.",
        )
    for crowd, name in ((context.targets, "original table"), (context.control, "population")):
        if crowd is not None:
            _check_columns(crowd, published, name)


def _check_columns(crowd: PeopleTable, published: PublishedTable, name: str) -> None:
    if missing := [column for column in published.quasi if column not in crowd.listings]:
        raise InputError(
            f"The {name} lacks quasi-identifiers of the release: {', '.join(missing)}.",
            "name its columns as the release does.",
        )


def choose_learnt_columns(
    schema: Schema, on: str | Sequence[str] | None, whose: str
) -> tuple[str, ...]:
    """The sensitive columns that a forecast is about: those that are named, else every one."""
    names, chosen = [column.name for column in schema.sensitive], as_column_names(on)
    if unknown := [name for name in chosen if name not in names]:
        hint = (
            f"name one of: {join_column_names(names)}" if names else 'give it the role "sensitive"'
        )
        raise UsageError(f"There is no sensitive column {unknown[0]!r}.", f"{hint}.")
    if not names:
        raise InputError(
            f"{whose} has no sensitive column that another release could give away.",
            'give a column the role "sensitive".',
        )
    return chosen or tuple(names)


def _count_population(crowd: PeopleTable, view: View) -> Population:
    codes = [crowd.listings[axis.name].on(axis) for axis in view.axes]
    number, first = number_combinations(codes, [axis.size for axis in view.axes])
    keys = np.stack([column[first] for column in codes]).astype(np.int32)
    return Population(keys, np.bincount(number, minlength=len(first)).astype(np.int64))


def _count_population_values(
    crowd: PeopleTable | None, axis: Axis
) -> tuple[NDArray[np.int64] | None, int]:
    """How many of the population have each of the release's values, and how many have another.

    None where nobody says.
    """
    if crowd is None or axis.name not in crowd.listings:
        return None, 0
    codes = code_on_axis(crowd.listings[axis.name], axis)
    counts = np.bincount(codes[codes >= 0], minlength=axis.size).astype(np.int64)
    elsewhere = int((codes == UNPUBLISHED).sum())
    if elsewhere and not counts.any():
        raise InputError(
            f"Nobody of the population has a value of {axis.name!r} that the release has.",
            "write its values as the release does, or leave the column out.",
        )
    return (counts if counts.any() else None), elsewhere


def _locate_people(
    context: AttackContext, view: View, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[str]]:
    """The row of the release that is each person's of the original (-1: none), and how it is known.

    The private companion says it; without one anybody who fits a class by cells and value may be
    one of its rows with that value, and no row is two people's.
    """
    crowd, published = context.targets, view.releases[0]
    assert crowd is not None
    rows_of_people = (
        None
        if crowd.persons is None
        else find_rows_of_people(context.releases[0], crowd.persons.values)
    )
    if rows_of_people is not None and crowd.persons is not None:
        rows = rows_of_people[crowd.persons.codes]
        _check_people_fit(view, rows)
        return rows, ["people's own columns are known, by the companion"]
    assert view.people is not None
    assert published.values is not None
    if view.people.values is None:
        name = "" if view.sensitive is None else view.sensitive.name
        raise InputError(
            f"The original table lacks the sensitive column {name!r}.",
            "give the table that the release was made from.",
        )
    rows, several = match_people_to_rows(
        view.people.keys,
        view.people.values,
        published.cells,
        published.class_,
        published.values,
        rng,
    )
    if not (rows >= 0).any():
        raise InputError(
            "Nobody of the original table is in any class of the release.",
            "give the table that the release was made from.",
        )
    suppositions = ["people's own columns are those of the original table, by cells and value"]
    if several:
        suppositions.append(f"{several:,} people fit several classes; which is drawn at random")
    return rows, suppositions


def _check_people_fit(view: View, rows: NDArray[np.int64]) -> None:
    """Refuse people who are not what the release says of their rows: it is another table."""
    published, people = view.releases[0], view.people
    assert people is not None
    assert published.values is not None
    here = np.flatnonzero(rows >= 0)
    own_rows = rows[here]
    outside = ~check_points_inside(
        published.cells, published.class_[own_rows], people.keys[:, here]
    )
    values = np.full(len(here), UNKNOWN) if people.values is None else people.values[here]
    differ = (values != UNKNOWN) & (values != published.values[own_rows])
    if outside.any() or differ.any():
        raise InputError(
            f"{int(outside.sum()):,} people of the original table lie outside the cells of their "
            f"own rows of the release, and {int(differ.sum()):,} have another value there.",
            "give the table that the release was made from.",
        )


def _note_unmatched(unknown: int, left_out: int) -> list[str]:
    notes = []
    if unknown:
        notes.append(
            f"{unknown:,} rows are nobody of the original table: their columns are drawn inside "
            "the published cells"
        )
    if left_out:
        notes.append(f"{left_out:,} people of the original table are in no class, and left out")
    return notes


def _describe_draw(by_people: int, population: bool) -> str:
    note = "nobody's own columns are known: they are drawn inside the published cells"
    if not population:
        return f"{note}, each value alike"
    others = "" if by_people else ", each value alike: nobody of the population is in any cell"
    return f"{note}, as the population has them{others}" if by_people else f"{note}{others}"
