"""Two releases joined row by row, for the attacks that do so: order, complementary, temporal.

Rows that agree in class and in every column that both releases publish as they are, are of one
*kind*: nobody can tell them apart. A kind of one release may be the same people as a kind of the
other if the shared columns agree and the cells meet. What all largest assignments of rows have in
common is settled, and the linked cell of a settled row is the meet of its two cells.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.
It does not see columns that only one of the releases publishes as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.view import WORST, Published, View
from shoal.cells import Cells, everything, meet, meeting
from shoal.errors import InputError
from shoal.kernels.forced import forced
from shoal.kernels.group import combinations

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Kinds:
    """The kinds of one release's rows."""

    release: Published
    class_: Ints
    """The class of each kind."""
    of: Ints
    """The kind of each row."""
    cells: Cells
    """The cells of each kind's class, and the number of its shared values as one more column."""

    @cached_property
    def count(self) -> Ints:
        """How many rows each kind has."""
        return np.bincount(self.of, minlength=len(self.class_))

    @property
    def crowd(self) -> Ints:
        """How many rows each kind's class has."""
        return self.release.rows[self.class_]

    def rows(self, kind: int) -> Ints:
        """The rows of a kind, the first row of data being 1."""
        return np.flatnonzero(self.of == kind) + 1


class Pairs(NamedTuple):
    """Rows of a kind in the first release that are rows of a kind in the second."""

    kind: Ints
    partner: Ints
    rows: Ints
    """How many rows it is about."""
    crowd: Ints
    """The smallest class that these rows were in, in either release: how many rows it has."""
    cell: Ints
    """The number of their linked cell."""
    sole: Flags
    """Whether they can have no other partner."""

    def take(self, which: NDArray[np.bool_] | Ints) -> Pairs:
        """Some of the pairs."""
        return Pairs._make(column[which] for column in self)


@dataclass(frozen=True)
class Links:
    """What is settled when two releases are joined, and what is not."""

    kinds: tuple[Kinds, Kinds]
    paired: int
    """How many rows a largest assignment pairs."""
    settled: Pairs
    """Rows with a settled linked cell; of partners who all give the same, the first is named."""
    cells: Cells
    """The linked cells."""
    could: Ints
    """How many rows are in each linked cell, or may be."""
    unsettled: Ints
    """Kinds of the first release of which some rows may have one linked cell or another."""

    @property
    def resolved(self) -> int:
        """How many rows have a settled linked cell."""
        return int(self.settled.rows.sum())

    @cached_property
    def alone(self) -> Flags:
        """Whether a settled pair is about the only row that can have its linked cell."""
        return np.asarray(self.could[self.settled.cell] == 1)

    @cached_property
    def smallest(self) -> int:
        """How few rows somebody is hidden among now; rows not settled are in a class as before."""
        sizes = self.could[self.settled.cell], self.kinds[0].crowd[self.unsettled]
        return int(np.concatenate(sizes).min())

    @cached_property
    def exposed(self) -> Pairs:
        """Rows that are alone now and were so in neither release; from the largest class first."""
        new = self.settled.take(self.alone & (self.settled.crowd > 1))
        return new.take(np.lexsort((self.numbers(new), -new.crowd)))

    def numbers(self, pairs: Pairs) -> Ints:
        """A row of the first release for each pair; rows of one kind stand for each other."""
        kinds, kind = self.kinds[0], pairs.kind
        order = np.argsort(kind, kind="stable")
        turn = np.empty(len(kind), np.int64)
        turn[order] = np.arange(len(kind)) - np.searchsorted(kind[order], kind[order])
        start = np.cumsum(kinds.count) - kinds.count
        return np.asarray(np.argsort(kinds.of, kind="stable")[start[kind] + turn] + 1)


def pair_of(view: View) -> tuple[Published, Published]:
    """The view's two releases; raises where there are not two, or one is empty."""
    if len(view.releases) != 2:
        raise InputError(
            f"Rows are joined between two releases, not {len(view.releases)}.",
            "give two releases about the same people.",
        )
    one, other = view.releases
    if not len(one.class_) or not len(other.class_):
        raise InputError("One of the releases has no rows.", "give two releases with rows.")
    return one, other


def shared_values(view: View) -> tuple[Ints, Ints]:
    """For each row of the two releases a number: alike where all shared columns agree."""
    one, other = pair_of(view)
    rows = len(one.class_)
    if one.shared is None or other.shared is None or not len(one.shared):
        return np.zeros(rows, np.int64), np.zeros(len(other.class_), np.int64)
    codes = np.concatenate([one.shared, other.shared], axis=1).astype(np.int64)
    codes -= codes.min(axis=1, keepdims=True)
    number, _ = combinations(codes, (codes.max(axis=1) + 1).tolist())
    return number[:rows].astype(np.int64), number[rows:].astype(np.int64)


def said(view: View, cells: Cells, number: int) -> dict[str, Any]:
    """What one of these cells says, by column, for who asked to see it."""
    if not view.show:
        return {}
    one = cells.take(np.array([number]))
    return {axis.name: one.labels(view.axes, j)[1][0] for j, axis in enumerate(view.axes)}


def side(release: Published, class_: int, rows: Ints) -> dict[str, Any]:
    """One release's part of a witness: a class of it, and rows in it by number."""
    return {
        "release": release.name,
        "class": class_,
        "class_rows": int(release.rows[class_]),
        "rows": rows[:WORST].tolist(),
    }


def true_of(rows: int, labels: dict[str, Any]) -> str:
    """How many rows it is that something is true of, and what where it may be shown."""
    shown = ", ".join(f"{name} {label}" for name, label in labels.items())
    return f"{rows:,} row{'s' * (rows > 1)}{': ' * bool(shown)}{shown}."


def link(view: View) -> Links:
    """Pair the kinds of both releases, and keep what all largest assignments agree on."""
    releases = pair_of(view)
    _refuse_blind(view)
    one, other = (_kinds(*each) for each in zip(releases, shared_values(view), strict=True))
    start, others = meeting(one.cells, other.cells)
    known = forced(one.count, other.count, start, others)
    kind = np.repeat(np.arange(len(one.class_)), np.diff(start))[known.possible]
    partner, fixed = others[known.possible], known.fixed[known.possible]
    cell, cells = _meets(one, other, kind, partner)
    crowd = np.minimum(one.crowd[kind], other.crowd[partner])
    pairs = Pairs(kind, partner, known.rows[known.possible], crowd, cell, fixed)
    certain, open_ = pairs.take(fixed), pairs.take(~fixed)
    rest = one.count - _sums(certain.kind, certain.rows, len(one.count))
    agreed, still = _agreed(open_, rest, known.whole)
    settled = Pairs._make(map(np.concatenate, zip(certain, agreed, strict=True)))
    once = still.take(_firsts(still.kind * len(cells) + still.cell))
    could = _sums(settled.cell, settled.rows, len(cells))
    could += _sums(once.cell, rest[once.kind], len(cells))
    paired, unsettled = int(known.rows.sum()), np.unique(still.kind)
    return Links((one, other), paired, settled, cells, could, unsettled)


def _agreed(open_: Pairs, rest: Ints, whole: Flags) -> tuple[Pairs, Pairs]:
    """Kinds whose possible partners all give one linked cell, as one pair each; and the others.

    ``rest`` are the rows of each kind that have no certain partner.
    """
    most = np.iinfo(np.int64).max
    low, high, least = np.full(len(rest), most), np.full(len(rest), -1), np.full(len(rest), most)
    np.minimum.at(low, open_.kind, open_.cell)
    np.maximum.at(high, open_.kind, open_.cell)
    np.minimum.at(least, open_.kind, open_.crowd)
    same = (low == high) & whole
    first = open_.take(_firsts(open_.kind))
    first = first.take(same[first.kind])
    agreed = first._replace(rows=rest[first.kind], crowd=least[first.kind])
    return agreed, open_.take(~same[open_.kind])


def _refuse_blind(view: View) -> None:
    """Raises where no column in common could tell one pair of rows from another."""
    joined = any(release.shared is not None and len(release.shared) for release in view.releases)
    common = (all(_says(one, view, j) for one in view.releases) for j in range(len(view.axes)))
    if not joined and not any(common):
        raise InputError(
            "The releases have no column in common that tells rows apart.",
            "name the columns that both publish: quasi-identifiers, sensitive or kept ones.",
        )


def _says(release: Published, view: View, column: int) -> bool:
    """Whether some cell of the column is narrower than everything."""
    axis, cells = view.axes[column], release.cells
    if column in cells.sets:
        return bool((cells.sets[column] != everything(axis)).any())
    return bool(((cells.low[:, column] > 0) | (cells.high[:, column] < axis.size - 1)).any())


def _kinds(release: Published, number: Ints) -> Kinds:
    sizes = len(release.cells), int(number.max()) + 1
    of, first = combinations((release.class_, number), sizes)
    class_ = release.class_[first].astype(np.int64)
    cells = release.cells.take(class_)
    value = number[first].astype(np.int32)[:, None]
    low, high = np.hstack([cells.low, value]), np.hstack([cells.high, value])
    return Kinds(release, class_, of.astype(np.int64), Cells(low, high, cells.sets))


def _meets(one: Kinds, other: Kinds, kind: Ints, partner: Ints) -> tuple[Ints, Cells]:
    """The number of each pair's linked cell, and the distinct linked cells."""
    cells, others = one.release.cells, other.release.cells
    classes = one.class_[kind], other.class_[partner]
    number, first = combinations(classes, (len(cells), len(others)))
    both, _ = meet(cells.take(classes[0][first]), others.take(classes[1][first]))
    kept, same = both.unique()
    return same[number], both.take(kept)


def _sums(group: Ints, number: Ints, groups: int) -> Ints:
    return np.bincount(group, number, groups).astype(np.int64)


def _firsts(key: Ints) -> Ints:
    """Where each distinct key is first."""
    return np.unique(key, return_index=True)[1]
