"""From rows in buckets to a cut: groups split off, told apart, and numbered as classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.cells import cover_classes
from shoal.errors import NotMetError
from shoal.methods.cutting.progress import Advance
from shoal.methods.invariance.nearness import distances
from shoal.methods.invariance.splitting import Flags, Numbers, Rows, split
from shoal.methods.invariance.telling import told_apart
from shoal.model import Model
from shoal.tally import HELD_BACK, Cut, Tally

NEAR = 4096
"""Among so many people, drawn at random, neighbours of a class are looked for."""


def gathered(
    tally: Tally, model: Model, rows: Rows, advance: Advance, first: Flags | None = None
) -> tuple[Tally, Cut, int]:
    """The classes of these rows, and how many of the rows no cells are left for: held back.

    Entries about nobody have been given a place in the tally: that of somebody near their class.
    Groups with rows that come ``first`` (flags of the tally's entries) find cells before others.
    """
    group = split(tally, model, rows, advance)
    tally = _placed(tally, rows, group)
    cells = cover_classes(tally.quasi, tally.keys, rows.entry, group)
    size = np.bincount(group)
    before = np.zeros(len(size), np.bool_)
    if first is not None:
        before[group[first[rows.entry]]] = True
    cells, left = told_apart(tally, cells, _signatures(rows, group), size, before)
    class_ = np.where(left, HELD_BACK, np.cumsum(~left) - 1)[group].astype(np.int32)
    kept = cells.take(np.flatnonzero(~left))
    pair, count = np.unique(np.stack((rows.entry, class_)), axis=1, return_counts=True)
    cut = Cut(pair[0].astype(np.int32), pair[1].astype(np.int32), count.astype(np.int64), kept)
    return tally, cut.merged(), int(size[left].sum())


def completed(tally: Tally, cut: Cut) -> Cut:
    """The cut with the rows held back that are in none of its pieces."""
    gone = tally.count - np.bincount(cut.entry, cut.count, tally.entries).astype(np.int64)
    entry = np.flatnonzero(gone).astype(np.int32)
    back = np.full(len(entry), HELD_BACK, np.int32)
    return replace(
        cut,
        entry=np.concatenate((cut.entry, entry)),
        class_=np.concatenate((cut.class_, back)),
        count=np.concatenate((cut.count, gone[entry])),
    )


def _signatures(rows: Rows, group: Numbers) -> Numbers:
    """A number for the set of values of each group: groups of a bucket share it."""
    order = np.lexsort((rows.value, rows.bucket))
    bucket, value = rows.bucket[order], rows.value[order]
    new = np.append(True, (np.diff(bucket) != 0) | (np.diff(value) != 0))
    begin = np.flatnonzero(np.append(True, np.diff(bucket[new]) != 0))
    sets = [tuple(some.tolist()) for some in np.split(value[new], begin[1:])]
    number = {one: i for i, one in enumerate(dict.fromkeys(sets))}
    of_bucket = np.zeros(int(rows.bucket.max()) + 1, np.int64)
    of_bucket[bucket[new][begin]] = [number[one] for one in sets]
    found = np.zeros(int(group.max()) + 1, np.int64)
    found[group] = of_bucket[rows.bucket]
    return found


def _placed(tally: Tally, rows: Rows, group: Numbers) -> Tally:
    """The tally with entries about nobody where the people are who are nearest to their group.

    Cells around the real rows alone would be somebody's own values where one of them is left.
    Where fewer others are published than are needed, people who are in none of the rows help out.
    """
    keys, waiting = tally.keys.copy(), _waiting(tally, rows)
    some, order = np.flatnonzero(~rows.nobody)[:NEAR], np.argsort(group, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(group))))
    for one in np.unique(group[rows.nobody]).tolist():
        own = order[begin[one] : begin[one + 1]]
        real, made = own[~rows.nobody[own]], own[rows.nobody[own]]
        near = _nearest(tally, rows.entry[some[group[some] != one]], rows.entry[real])
        if len(near) < len(made):
            near = np.append(near, _nearest(tally, waiting, rows.entry[real]))
        near = near if len(near) else rows.entry[real]
        keys[:, rows.entry[made]] = tally.keys[:, np.resize(near, len(made))]
    return replace(tally, keys=keys)


def _waiting(tally: Tally, rows: Rows) -> NDArray[Any]:
    """The entries of people who are in none of the rows, once for each of them."""
    entry = np.flatnonzero(np.bincount(rows.entry, minlength=tally.entries) == 0)
    return np.repeat(entry, tally.count[entry])[:NEAR]


def _nearest(tally: Tally, entries: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
    """Some entries in the order of how near they are to any of a group's own."""
    far = distances(tally, entries, own).min(axis=1)
    return entries[np.argsort(far, kind="stable")]


def indistinct(rows: int) -> NotMetError:
    """Where groups with different values cannot be told apart by any cells."""
    return NotMetError(
        f"{rows:,} rows are in groups that would have the cells of groups with other values, "
        "however wide.",
        "use more quasi-identifiers, or give them more values, or allow rows to be held back "
        "(--hold-back SHARE).",
    )
