"""Tell classes apart: cells are widened where groups of different values would publish the same.

Rows that share all their cells are one class. Two groups with different values would not be even
together, so that all but one get cells that are a little wider, and no other signature's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Bits, Cells, everything, publishable
from shoal.kernels.boxtree import ends
from shoal.tally import Tally

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
FAR = 20_000
"""Where so many cells are taken, no wider ones are looked for."""


def told_apart(
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
    for there in (first, np.ones_like(first)):
        cells, left = _apart(tally, cells, signature, rows, there, left)
    return cells, left


def _apart(
    tally: Tally, cells: Cells, signature: Numbers, rows: Numbers, there: Flags, left: Flags
) -> tuple[Cells, Flags]:
    """The same of the groups that are there; others stay as they are."""
    now, left = cells, left.copy()
    while True:
        owner, number = _owners(now, signature, rows, there & ~left)
        at = np.flatnonzero(there & ~left & (owner[number] != signature))
        if not len(at):
            return now, left
        staying = np.flatnonzero(there & ~left & (owner[number] == signature))
        taken = now.take(staying), signature[staying]
        moved, new = _cheapest(tally, now.take(at), signature[at], taken)
        if not len(moved):
            found = _farther(tally, now.take(at[:1]), int(signature[at[0]]), taken)
            left[at[0]] = found is None
            moved, new = (np.zeros(1, np.int64), found) if found else (moved, new)
        now = _replaced(now, at[moved], new)


def _cheapest(
    tally: Tally, cells: Cells, own: Numbers, taken: tuple[Cells, Numbers]
) -> tuple[Numbers, Cells]:
    """The cells that have a free one a step wider, and the cheapest such."""
    wider, of = _wider(tally, cells)
    free = np.flatnonzero(_free(*taken, wider, own[of]))
    wider, of = wider.take(free), of[free]
    order = np.lexsort((wider.widths(tally.quasi) @ tally.importance, of))
    first = order[np.unique(of[order], return_index=True)[1]]
    return of[first], wider.take(first)


def _farther(tally: Tally, cell: Cells, own: int, taken: tuple[Cells, Numbers]) -> Cells | None:
    """The cheapest free cell that the fewest steps lead to; None where there is none."""
    reached = cell
    while len(reached) and len(reached) <= FAR:
        moved, new = _cheapest(tally, reached, np.full(len(reached), own), taken)
        if len(moved):
            return new.take(np.argsort(new.widths(tally.quasi) @ tally.importance)[:1])
        reached = _wider(tally, reached)[0]
        reached = reached.take(reached.unique()[0])
    return None


def _owners(
    cells: Cells, signature: Numbers, rows: Numbers, there: Flags
) -> tuple[Numbers, Numbers]:
    """The signature that has most rows in each distinct cell, and each group's cell."""
    number = cells.unique()[1]
    size = int(signature.max()) + 1
    pair, at = np.unique(number[there] * size + signature[there], return_inverse=True)
    have = np.bincount(at.reshape(-1), rows[there])
    order = np.lexsort((-pair, have))  # the last one stays: most rows, then the first signature
    owner = np.full(int(number.max()) + 1, -1, np.int64)
    owner[pair[order] // size] = pair[order] % size
    return owner, number


def _wider(tally: Tally, cells: Cells) -> tuple[Cells, Numbers]:
    """Each cell widened by one step, in every way that there is; and which cell it was."""
    found, of, every = [], [], np.arange(len(cells))
    for j, axis in enumerate(tally.quasi):
        for up in (False, True):
            low, high = cells.low.copy(), cells.high.copy()
            sets = {column: bits.copy() for column, bits in cells.sets.items()}
            if j in sets:
                able = _one_more(axis, sets[j], up)
                low[:, j], high[:, j] = ends(sets[j])
            else:
                able = high[:, j] < axis.size - 1 if up else low[:, j] > 0
                (high if up else low)[:, j] += np.where(able, 1 if up else -1, 0)
            some = Cells(low, high, sets).take(every[able])
            found.append(publishable(tally.quasi, some.low, some.high, some.sets))
            of.append(every[able])
    return Cells.joined(found), np.concatenate(of)


def _one_more(axis: Axis, bits: Bits, up: bool) -> Flags:
    """Add the first (or last) leaf that is not there, in place; whether there was one."""
    lacking = ~bits & everything(axis)
    able = np.asarray(lacking.any(axis=1))
    first, last = ends(lacking[able])
    code = (last if up else first).astype(np.int64)
    bits[np.flatnonzero(able), code >> 6] |= np.uint64(1) << (code & 63).astype(np.uint64)
    return able


def _free(there: Cells, signature: Numbers, wanted: Cells, own: Numbers) -> Flags:
    """Whether each wanted cell is nobody's, or of its own signature."""
    number = Cells.joined([there, wanted]).unique()[1]
    owner = np.full(int(number.max()) + 1, -1, np.int64)
    owner[number[: len(there)]] = signature
    of = owner[number[len(there) :]]
    return np.asarray((of < 0) | (of == own))


def _replaced(cells: Cells, at: Numbers, new: Cells) -> Cells:
    low, high = cells.low.copy(), cells.high.copy()
    low[at], high[at] = new.low, new.high
    sets = {column: bits.copy() for column, bits in cells.sets.items()}
    for column, bits in sets.items():
        bits[at] = new.sets[column]
    return Cells(low, high, sets)
