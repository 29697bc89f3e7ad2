"""From a release to what a forecast works on: every published row a person, with own codes.

What the release says stands as it is: its classes, their cells, the values in them. What it does
not say is where in its cell a person is. The table it was made from tells: by the private companion
and the person column where both are at hand, else by the cells that hold somebody and the value.
Rows held back are in no class and are left out. Without that table people are put somewhere inside
their cells, by the population where one is given; the forecast says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import UNKNOWN, UNPUBLISHED, Needs, View
from shoal.axis import Axis
from shoal.column import in_a_row
from shoal.errors import InputError, UsageError
from shoal.flow.adversary import named_columns
from shoal.flow.crowd import Crowd, holders
from shoal.flow.forecast.placed import held, inside, seated
from shoal.flow.listing import read_as
from shoal.flow.request import Progress, quiet
from shoal.flow.seen import Seen
from shoal.flow.view import Scene, scene
from shoal.forecasts.ours import Ours
from shoal.kernels.group import combinations
from shoal.schema import Schema
from shoal.tally import Population


@dataclass(frozen=True)
class OurRelease:
    """A release read for a forecast, and what had to be supposed to read it."""

    seen: Seen
    view: View
    ours: Ours
    suppositions: tuple[str, ...]
    known: int
    """How many rows are somebody whose own columns are known."""
    left_out: int
    """How many people of the original table are in no class."""
    by_column: tuple[OurRelease, ...] = field(default=(), repr=False)
    """Where several columns are learnt: the same by each, of which this is the first."""

    @property
    def each(self) -> tuple[OurRelease, ...]:
        """The release by every column that is learnt."""
        return self.by_column or (self,)


def read_release(
    release: Any,
    *,
    original: Any = None,
    schema: Schema | None = None,
    on: str | Sequence[str] | None = None,
    population: Any = None,
    seed: int = 0,
    show: bool = False,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = quiet,
) -> OurRelease:
    """Read a release folder, a ``Release``, or any table with a schema: by each column to learn.

    ``original`` is the table it was made from; ``reading`` says how that and the ``population``
    are written. What is drawn is drawn by the ``seed``.
    """
    known = scene([release], schema, original, population, show, progress, reading, publisher=True)
    seen = known.releases[0]
    _refuse(seen, known)
    columns = learnt(seen.schema, on, seen.name)
    each = tuple(_on_column(known, column, seed, original is not None) for column in columns)
    return each[0] if len(each) == 1 else replace(each[0], by_column=each)


def _on_column(known: Scene, column: str, seed: int, original: bool) -> OurRelease:
    """The release by one column that is learnt; what is drawn is drawn alike for each."""
    seen = known.releases[0]
    view = known.view([0], Needs(people=original), column)
    people = None if known.control is None else _population(known.control, view)
    rng = np.random.default_rng(seed)
    published = view.releases[0]
    assert published.values is not None
    assert view.sensitive is not None
    keys, points = inside(published.cells, published.class_, people, rng)
    told = [] if original else [_drawn(points, people is not None)]
    found, left_out = 0, 0
    if original:
        rows, more = _rows(known, view, rng)
        here = rows >= 0
        assert view.people is not None
        keys[:, rows[here]] = view.people.keys[:, here]
        found, left_out = int(here.sum()), int((~here).sum())
        told = [*more, *_missing(len(published.class_) - found, left_out)]
    values, elsewhere = _values(known.control, view.sensitive)
    told += _lacking(values, elsewhere)
    ours = Ours(
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
    return OurRelease(seen, view, ours, tuple(told), found, left_out)


def _refuse(seen: Seen, known: Scene) -> None:
    """Refuse forms that have no cells, and people's tables that lack columns."""
    if seen.buckets:
        raise InputError(
            f"{seen.name} is published in buckets: its columns are exact, and another release "
            "meets each of its people at once.",
            "forecast a release of generalised cells.",
        )
    if seen.centroids:
        raise InputError(
            f"{seen.name} publishes centroids, which are no cells that hold people.",
            "forecast a release of generalised cells.",
        )
    if seen.answers:
        raise InputError(
            f"{seen.name} has answers in place of sensitive values: they exclude none, whatever "
            "release they are joined with.",
            "ask what they say at the most: shoal.semantic_privacy, or the attack intersection.",
        )
    for crowd, name in ((known.targets, "original table"), (known.control, "population")):
        if crowd is not None:
            _has_all(crowd, seen, name)


def _has_all(crowd: Crowd, seen: Seen, name: str) -> None:
    if missing := [column for column in seen.quasi if column not in crowd.listings]:
        raise InputError(
            f"The {name} lacks quasi-identifiers of the release: {', '.join(missing)}.",
            "name its columns as the release does.",
        )


def learnt(schema: Schema, on: str | Sequence[str] | None, whose: str) -> tuple[str, ...]:
    """The sensitive columns that a forecast is about: those asked for, else every one."""
    names, asked = [column.name for column in schema.sensitive], named_columns(on)
    if unknown := [name for name in asked if name not in names]:
        known = f"name one of: {in_a_row(names)}" if names else 'give it the role "sensitive"'
        raise UsageError(f"There is no sensitive column {unknown[0]!r}.", f"{known}.")
    if not names:
        raise InputError(
            f"{whose} has no sensitive column that another release could give away.",
            'give a column the role "sensitive".',
        )
    return asked or tuple(names)


def _population(crowd: Crowd, view: View) -> Population:
    """Everybody's codes on the view's axes, counted."""
    codes = [crowd.listings[axis.name].on(axis) for axis in view.axes]
    number, first = combinations(codes, [axis.size for axis in view.axes])
    keys = np.stack([column[first] for column in codes]).astype(np.int32)
    return Population(keys, np.bincount(number, minlength=len(first)).astype(np.int64))


def _values(crowd: Crowd | None, axis: Axis) -> tuple[NDArray[np.int64] | None, int]:
    """How many of the population have each of the release's values, and how many have another.

    None where nobody says.
    """
    if crowd is None or axis.name not in crowd.listings:
        return None, 0
    codes = read_as(crowd.listings[axis.name], axis)
    counts = np.bincount(codes[codes >= 0], minlength=axis.size).astype(np.int64)
    elsewhere = int((codes == UNPUBLISHED).sum())
    if elsewhere and not counts.any():
        raise InputError(
            f"Nobody of the population has a value of {axis.name!r} that the release has.",
            "write its values as the release does, or leave the column out.",
        )
    return (counts if counts.any() else None), elsewhere


def _lacking(values: NDArray[np.int64] | None, elsewhere: int) -> list[str]:
    total = elsewhere + (0 if values is None else int(values.sum()))
    told = f"{elsewhere:,} of {total:,} people of the population have values that none of ours has"
    return [told] if elsewhere else []


def _rows(
    known: Scene, view: View, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[str]]:
    """The row of the release that is each person's of the original (-1: none), and how it is known.

    The private companion says it; without one anybody who fits a class by cells and value may be
    one of its rows with that value, and no row is two people's.
    """
    crowd, published = known.targets, view.releases[0]
    assert crowd is not None
    own = None if crowd.persons is None else holders(known.releases[0], crowd.persons.values)
    if own is not None and crowd.persons is not None:
        rows = own[crowd.persons.codes]
        _fit(view, rows)
        return rows, ["people's own columns are known, by the companion"]
    assert view.people is not None
    assert published.values is not None
    if view.people.values is None:
        name = "" if view.sensitive is None else view.sensitive.name
        raise InputError(
            f"The original table lacks the sensitive column {name!r}.",
            "give the table that the release was made from.",
        )
    rows, several = seated(
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
    told = ["people's own columns are those of the original table, by cells and value"]
    if several:
        told.append(f"{several:,} people fit several classes; which is drawn at random")
    return rows, told


def _fit(view: View, rows: NDArray[np.int64]) -> None:
    """Refuse people who are not what the release says of their rows: it is another table."""
    published, people = view.releases[0], view.people
    assert people is not None
    assert published.values is not None
    here = np.flatnonzero(rows >= 0)
    own = rows[here]
    outside = ~held(published.cells, published.class_[own], people.keys[:, here])
    values = np.full(len(here), UNKNOWN) if people.values is None else people.values[here]
    differ = (values != UNKNOWN) & (values != published.values[own])
    if outside.any() or differ.any():
        raise InputError(
            f"{int(outside.sum()):,} people of the original table lie outside the cells of their "
            f"own rows of the release, and {int(differ.sum()):,} have another value there.",
            "give the table that the release was made from.",
        )


def _missing(unknown: int, left_out: int) -> list[str]:
    told = []
    if unknown:
        told.append(
            f"{unknown:,} rows are nobody of the original table: their columns are drawn inside "
            "the published cells"
        )
    if left_out:
        told.append(f"{left_out:,} people of the original table are in no class, and left out")
    return told


def _drawn(by_people: int, population: bool) -> str:
    told = "nobody's own columns are known: they are drawn inside the published cells"
    if not population:
        return f"{told}, each value alike"
    others = "" if by_people else ", each value alike: nobody of the population is in any cell"
    return f"{told}, as the population has them{others}" if by_people else f"{told}{others}"
