"""Small random tables for the checks, and changes to a table that must change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.core.axis import Axis, Level
from shoal.core.cells import Cells
from shoal.core.histogram import Histogram
from shoal.core.model import Model, list_joint_columns
from shoal.core.tally import Cut, Groups, Population, Tally

Sample = tuple[Tally, Cut]


def groups(classes: Sequence[Sequence[Any]], name: str = "sensitive") -> Groups:
    """Classes written as lists of one sensitive column's values; None is null.

    >>> groups([["flu", "flu", None], ["cold"]]).on(None).distinct.tolist()
    [2, 1]
    """
    values = sorted({value for rows in classes for value in rows if value is not None})
    null = any(value is None for rows in classes for value in rows)
    axis = Axis(name, "category", "ordered", tuple(values), null)
    class_ = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    codes = axis.codes([value for rows in classes for value in rows])
    histogram = Histogram.of(axis, class_, codes, np.ones(len(codes), np.int64), len(classes))
    return Groups(np.array([len(rows) for rows in classes]), (histogram,))


def sample(seed: int, sensitive: Sequence[str] = ("sensitive",)) -> Sample:
    """A small random table with nulls, unused values, a provider and a population, and a cut."""
    rng = np.random.default_rng(seed)
    quasi = (_axis("age", 6), _axis("zip", 5, null=False))
    columns = tuple(_axis(name, 5) for name in sensitive)
    sizes = [axis.size for axis in (*quasi, *columns)] + [3]
    rows = np.stack([rng.integers(0, size, 150) for size in sizes])
    rows[2:-1][rows[2:-1] == 3] = 0  # the value 3 occurs nowhere
    few = rng.integers(0, len(quasi[0].leaves), 150) == 0
    rows[2:-1, few] = 0  # and some classes are less diverse than others
    codes = np.unique(rows, axis=1).astype(np.int32)
    count = rng.integers(1, 6, (codes.shape[1],))
    everybody = Population(
        np.concatenate([codes[:2], rng.integers(0, 5, (2, 80), dtype=np.int32)], axis=1),
        np.concatenate([count * rng.integers(1, 4, len(count)), np.ones(80, np.int64)]),
    )
    tally = Tally(
        quasi,
        columns,
        codes[:2],
        codes[2:-1],
        count,
        Axis.numbered("provider", 3),
        codes[-1],
        everybody,
    )
    coarse = 2 - seed % 2  # odd seeds have small classes
    class_ = np.unique(codes[0] // coarse * 5 + codes[1] // coarse, return_inverse=True)[1]
    return tally, Cut.of(tally, np.arange(len(count), dtype=np.int32), class_.astype(np.int32))


def list_same_tables(
    model: Model, tally: Tally, cut: Cut, rng: np.random.Generator
) -> Iterator[tuple[str, Sample]]:
    """The same table in other words, by what was changed: every verdict must stay."""
    yield "the order of entries", shuffle_entries(tally, cut, rng)
    yield "dividing entries", (tally, _divide_entries(cut))
    yield "calling null a value like others", (_recode(tally, _null_as_leaf, 0), cut)
    yield "a value that never occurs", (_recode(tally, _add_unused_leaf, 1), cut)
    if getattr(model, "symmetric", True) and all("*" not in on for on in list_joint_columns(model)):
        yield "renaming the sensitive values", (_rename_values(tally, rng), cut)


def shuffle_entries(tally: Tally, cut: Cut, rng: np.random.Generator) -> Sample:
    """The entries and the pieces in another order."""
    order = rng.permutation(tally.entries)
    place = np.argsort(order).astype(np.int32)
    providers = None if tally.providers is None else tally.providers[order]
    moved = replace(
        tally,
        keys=tally.keys[:, order],
        values=tally.values[:, order],
        count=tally.count[order],
        providers=providers,
    )
    pick = rng.permutation(len(cut.entry))
    return moved, replace(
        cut, entry=place[cut.entry[pick]], class_=cut.class_[pick], count=cut.count[pick]
    )


def _divide_entries(cut: Cut) -> Cut:
    half = cut.count // 2
    count = np.concatenate([cut.count - half, half])
    nonempty = count > 0
    return replace(
        cut,
        entry=np.tile(cut.entry, 2)[nonempty],
        class_=np.tile(cut.class_, 2)[nonempty],
        count=count[nonempty],
    )


def double_people(tally: Tally, cut: Cut) -> Sample:
    """Everybody twice."""
    people = tally.population
    people = people and replace(people, count=people.count * 2)
    return (
        replace(tally, count=tally.count * 2, population=people),
        replace(cut, count=cut.count * 2),
    )


def _recode(tally: Tally, change: Callable[[Axis], Axis], shift: int) -> Tally:
    sensitive = tuple(change(axis) for axis in tally.sensitive)
    return replace(tally, sensitive=sensitive, values=tally.values + np.int32(shift))


def _null_as_leaf(axis: Axis) -> Axis:
    levels = tuple(
        Level(np.append(level.starts, np.int32(len(axis.leaves))), (*level.labels, "none"))
        for level in axis.levels
    )
    return replace(axis, leaves=(*axis.leaves, "none"), null=False, levels=levels)


def _add_unused_leaf(axis: Axis) -> Axis:
    levels = tuple(
        Level(np.append(np.int32(0), level.starts[1:] + np.int32(1)), level.labels)
        for level in axis.levels
    )
    return replace(axis, leaves=("", *axis.leaves), levels=levels)


def _rename_values(tally: Tally, rng: np.random.Generator) -> Tally:
    names = [rng.permutation(axis.size).astype(np.int32) for axis in tally.sensitive]
    values = np.stack([name[codes] for name, codes in zip(names, tally.values, strict=True)])
    axes = tuple(Axis.numbered(axis.name, axis.size) for axis in tally.sensitive)
    return replace(tally, sensitive=axes, values=values)


def _axis(name: str, leaves: int, null: bool = True) -> Axis:
    """Letters in a tree of two levels, so that every distance and every method can use it."""
    starts = np.arange(0, leaves, 2, dtype=np.int32)
    letters = tuple(chr(ord("a") + i) for i in range(leaves))
    level = Level(starts, tuple(f"{letters[i]}+" for i in starts))
    return Axis(name, "category", "tree", letters, null, (level,))


def join_everybody(tally: Tally) -> Cut:
    """Everybody in one class whose cells are all ``*``."""
    high = np.array([[axis.size - 1 for axis in tally.quasi]], dtype=np.int32)
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut(entry, np.zeros_like(entry), tally.count, Cells(np.zeros_like(high), high))
