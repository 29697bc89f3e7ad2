"""From rows in buckets to a cut: groups split off, their cells kept distinct, numbered as classes.

Rows that share all their cells are one class. Two groups with different values would not be even
together, so that all but one get cells that are a little wider, and no other signature's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Bits, Cells, all_leaves, cover_classes, cover_ranges
from shoal.core.errors import NotMetError
from shoal.core.model import Model
from shoal.core.tally import SUPPRESSED, Cut, Tally
from shoal.kernels.box_tree import find_set_ends
from shoal.methods._invariance.value_buckets import BucketRows, split_buckets
from shoal.methods._shared.progress import Advance

# How far apart people are: the widths of the ranges between them, summed over columns.


def measure_distances(
    tally: Tally, entries: NDArray[Any], others: NDArray[Any]
) -> NDArray[np.float64]:
    """Between each of some entries and each of others, by the columns' weights.

    Codes of a column lie in its order; where it has none, they are equal or not.
    """
    distances = np.zeros((len(entries), len(others)))
    for codes, axis, weight in zip(tally.keys, tally.quasi, tally.importance, strict=True):
        own_codes, other_codes = (codes[entry].astype(np.int64) for entry in (entries, others))
        difference = np.abs(own_codes[:, np.newaxis] - other_codes)
        distances += weight * (
            difference > 0 if axis.shape == "flat" else difference / max(axis.size - 1, 1)
        )
    return distances


# Tell classes apart: cells are widened where groups of different values would publish the same.


Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
MAX_WIDER_CELLS = 20_000
"""Where so many cells are taken, no wider ones are looked for."""


def separate_cells(
    tally: Tally, cells: Cells, signature: Numbers, rows: Numbers, first: Flags
) -> tuple[Cells, Flags]:
    """Cells that hold the given ones, equal only where signatures are; and who is left over.

    Of groups with equal cells the signature with most rows keeps them. The others take the
    cheapest free cells, as few steps wider as there are any. Left over are groups for which
    everything up to ``*`` in all columns, or very much of it, is other signatures'. Some groups
    come ``first``: their cells are what they would be if there were no others.
    """
    left = np.zeros(len(cells), np.bool_)
    rows = rows + np.where(first, rows.sum(), 0)  # so that no others take a cell from them
    for considered in (first, np.ones_like(first)):
        cells, left = _separate_equal_cells(tally, cells, signature, rows, considered, left)
    return cells, left


def _separate_equal_cells(
    tally: Tally, cells: Cells, signature: Numbers, rows: Numbers, considered: Flags, left: Flags
) -> tuple[Cells, Flags]:
    """The same of the groups that are there; others stay as they are."""
    separated, left = cells, left.copy()
    while True:
        owner, number = _find_owners(separated, signature, rows, considered & ~left)
        displaced = np.flatnonzero(considered & ~left & (owner[number] != signature))
        if not len(displaced):
            return separated, left
        staying = np.flatnonzero(considered & ~left & (owner[number] == signature))
        taken = separated.take(staying), signature[staying]
        moved, wider_cells = _find_cheapest_wider(
            tally, separated.take(displaced), signature[displaced], taken
        )
        if not len(moved):
            farther = _search_wider(
                tally, separated.take(displaced[:1]), int(signature[displaced[0]]), taken
            )
            left[displaced[0]] = farther is None
            moved, wider_cells = (
                (np.zeros(1, np.int64), farther) if farther else (moved, wider_cells)
            )
        separated = _replace_cells(separated, displaced[moved], wider_cells)


def _find_cheapest_wider(
    tally: Tally, cells: Cells, own: Numbers, taken: tuple[Cells, Numbers]
) -> tuple[Numbers, Cells]:
    wider, of = _widen_cells(tally, cells)
    free = np.flatnonzero(_is_free(*taken, wider, own[of]))
    wider, of = wider.take(free), of[free]
    order = np.lexsort((wider.widths(tally.quasi) @ tally.importance, of))
    first = order[np.unique(of[order], return_index=True)[1]]
    return of[first], wider.take(first)


def _search_wider(
    tally: Tally, cell: Cells, own: int, taken: tuple[Cells, Numbers]
) -> Cells | None:
    """The cheapest free cell that the fewest steps lead to; None where there is none."""
    reached = cell
    while len(reached) and len(reached) <= MAX_WIDER_CELLS:
        moved, new = _find_cheapest_wider(tally, reached, np.full(len(reached), own), taken)
        if len(moved):
            return new.take(np.argsort(new.widths(tally.quasi) @ tally.importance)[:1])
        reached = _widen_cells(tally, reached)[0]
        reached = reached.take(reached.unique()[0])
    return None


def _find_owners(
    cells: Cells, signature: Numbers, rows: Numbers, considered: Flags
) -> tuple[Numbers, Numbers]:
    """The signature that has most rows in each distinct cell, and each group's cell."""
    number = cells.unique()[1]
    size = int(signature.max()) + 1
    pair, at = np.unique(number[considered] * size + signature[considered], return_inverse=True)
    rows_of_pair = np.bincount(at.reshape(-1), rows[considered])
    order = np.lexsort(
        (-pair, rows_of_pair)
    )  # the last one stays: most rows, then the first signature
    owner = np.full(int(number.max()) + 1, -1, np.int64)
    owner[pair[order] // size] = pair[order] % size
    return owner, number


def _widen_cells(tally: Tally, cells: Cells) -> tuple[Cells, Numbers]:
    """Each cell widened by one step, in every way that there is; and which cell it was."""
    wider, of, every = [], [], np.arange(len(cells))
    for j, axis in enumerate(tally.quasi):
        for up in (False, True):
            low, high = cells.low.copy(), cells.high.copy()
            sets = {column: bits.copy() for column, bits in cells.sets.items()}
            if j in sets:
                can_widen = _add_next_leaf(axis, sets[j], up)
                low[:, j], high[:, j] = find_set_ends(sets[j])
            else:
                can_widen = high[:, j] < axis.size - 1 if up else low[:, j] > 0
                (high if up else low)[:, j] += np.where(can_widen, 1 if up else -1, 0)
            some = Cells(low, high, sets).take(every[can_widen])
            wider.append(cover_ranges(tally.quasi, some.low, some.high, some.sets))
            of.append(every[can_widen])
    return Cells.joined(wider), np.concatenate(of)


def _add_next_leaf(axis: Axis, bits: Bits, up: bool) -> Flags:
    """Add the first (or last) leaf that is not there, in place; whether there was one."""
    lacking = ~bits & all_leaves(axis)
    able = np.asarray(lacking.any(axis=1))
    first, last = find_set_ends(lacking[able])
    code = (last if up else first).astype(np.int64)
    bits[np.flatnonzero(able), code >> 6] |= np.uint64(1) << (code & 63).astype(np.uint64)
    return able


def _is_free(taken: Cells, signature: Numbers, wanted: Cells, own: Numbers) -> Flags:
    number = Cells.joined([taken, wanted]).unique()[1]
    owner = np.full(int(number.max()) + 1, -1, np.int64)
    owner[number[: len(taken)]] = signature
    of = owner[number[len(taken) :]]
    return np.asarray((of < 0) | (of == own))


def _replace_cells(cells: Cells, at: Numbers, new: Cells) -> Cells:
    low, high = cells.low.copy(), cells.high.copy()
    low[at], high[at] = new.low, new.high
    sets = {column: bits.copy() for column, bits in cells.sets.items()}
    for column, bits in sets.items():
        bits[at] = new.sets[column]
    return Cells(low, high, sets)


# From rows in buckets to a cut: groups split off, told apart, and numbered as classes.


MAX_NEIGHBOURS = 4096
"""Among so many people, drawn at random, neighbours of a class are looked for."""


def gather_classes(
    tally: Tally, model: Model, rows: BucketRows, advance: Advance, first: Flags | None = None
) -> tuple[Tally, Cut, int]:
    """The classes of these rows, and how many of the rows no cells are left for: suppressed.

    Entries about nobody have been given a place in the tally: that of somebody near their class.
    Groups with rows that come ``first`` (flags of the tally's entries) find cells before others.
    """
    group = split_buckets(tally, model, rows, advance)
    tally = _place_counterfeits(tally, rows, group)
    cells = cover_classes(tally.quasi, tally.keys, rows.entry, group)
    size = np.bincount(group)
    before = np.zeros(len(size), np.bool_)
    if first is not None:
        before[group[first[rows.entry]]] = True
    cells, left = separate_cells(tally, cells, _number_signatures(rows, group), size, before)
    class_ = np.where(left, SUPPRESSED, np.cumsum(~left) - 1)[group].astype(np.int32)
    published = cells.take(np.flatnonzero(~left))
    pair, count = np.unique(np.stack((rows.entry, class_)), axis=1, return_counts=True)
    cut = Cut(pair[0].astype(np.int32), pair[1].astype(np.int32), count.astype(np.int64), published)
    return tally, cut.merged(), int(size[left].sum())


def suppress_missing_rows(tally: Tally, cut: Cut) -> Cut:
    """The cut with the rows suppressed that are in none of its pieces."""
    missing = tally.count - np.bincount(cut.entry, cut.count, tally.entries).astype(np.int64)
    entry = np.flatnonzero(missing).astype(np.int32)
    suppressed = np.full(len(entry), SUPPRESSED, np.int32)
    return replace(
        cut,
        entry=np.concatenate((cut.entry, entry)),
        class_=np.concatenate((cut.class_, suppressed)),
        count=np.concatenate((cut.count, missing[entry])),
    )


def _number_signatures(rows: BucketRows, group: Numbers) -> Numbers:
    order = np.lexsort((rows.value, rows.bucket))
    bucket, value = rows.bucket[order], rows.value[order]
    new = np.append(True, (np.diff(bucket) != 0) | (np.diff(value) != 0))
    begin = np.flatnonzero(np.append(True, np.diff(bucket[new]) != 0))
    sets = [tuple(some.tolist()) for some in np.split(value[new], begin[1:])]
    number = {values: i for i, values in enumerate(dict.fromkeys(sets))}
    of_bucket = np.zeros(int(rows.bucket.max()) + 1, np.int64)
    of_bucket[bucket[new][begin]] = [number[values] for values in sets]
    of_group = np.zeros(int(group.max()) + 1, np.int64)
    of_group[group] = of_bucket[rows.bucket]
    return of_group


def _place_counterfeits(tally: Tally, rows: BucketRows, group: Numbers) -> Tally:
    """The tally with entries about nobody where the people are who are nearest to their group.

    Cells around the real rows alone would be somebody's own values where one of them is left.
    Where fewer others are published than are needed, people who are in none of the rows help out.
    """
    keys, unpublished = tally.keys.copy(), _list_unpublished(tally, rows)
    some = np.flatnonzero(~rows.is_counterfeit)[:MAX_NEIGHBOURS]
    order = np.argsort(group, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(group))))
    for group_number in np.unique(group[rows.is_counterfeit]).tolist():
        own = order[begin[group_number] : begin[group_number + 1]]
        real, counterfeit = own[~rows.is_counterfeit[own]], own[rows.is_counterfeit[own]]
        near = _sort_by_distance(
            tally, rows.entry[some[group[some] != group_number]], rows.entry[real]
        )
        if len(near) < len(counterfeit):
            near = np.append(near, _sort_by_distance(tally, unpublished, rows.entry[real]))
        near = near if len(near) else rows.entry[real]
        keys[:, rows.entry[counterfeit]] = tally.keys[:, np.resize(near, len(counterfeit))]
    return replace(tally, keys=keys)


def _list_unpublished(tally: Tally, rows: BucketRows) -> NDArray[Any]:
    """The entries of people who are in none of the rows, once for each of them."""
    entry = np.flatnonzero(np.bincount(rows.entry, minlength=tally.entries) == 0)
    return np.repeat(entry, tally.count[entry])[:MAX_NEIGHBOURS]


def _sort_by_distance(tally: Tally, entries: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
    distances = measure_distances(tally, entries, own).min(axis=1)
    return entries[np.argsort(distances, kind="stable")]


def explain_indistinct_groups(rows: int) -> NotMetError:
    """Where groups with different values cannot be told apart by any cells."""
    return NotMetError(
        f"{rows:,} rows are in groups that would have the cells of groups with other values, "
        "however wide.",
        "use more quasi-identifiers, or give them more values, or allow rows to be held back "
        "(--hold-back SHARE).",
    )
