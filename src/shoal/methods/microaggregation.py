"""Microaggregation: groups of k people who are near each other, made from the outside in.

MDAV, maximum distance to average vector. While 3k people or more are left: of these, r is the one
farthest from their mean and s the one farthest from r; the k people nearest to r, r among them,
are a class, then the k nearest to s. Of 2k to 3k - 1 people the k around the one farthest from the
mean are a class, and the others the last; fewer are the last. Classes have k to 2k - 1 people.

Numbers and dates are measured in standard deviations, and so are the ranks of ordered words.
Unordered columns and trees are "ordinal": their codes, in the order of the tree or from the most
frequent value down, count as numbers; or "one-hot": two different values are as far apart as one
standard deviation. Null differs from every value by 1, and is no number besides. A column's weight
multiplies its squared distances.

The work grows with the square of the people. Larger tables are therefore cut into blocks of near
people first, at medians of the column that varies most, and each block is done by itself: what
that costs is on the page of the method.

Domingo-Ferrer, Torra: Ordinal, continuous and heterogeneous k-anonymity through microaggregation,
Data Mining and Knowledge Discovery 11(2), 2005 (MDAV). Domingo-Ferrer, Mateo-Sanz: Practical
data-oriented microaggregation for statistical disclosure control, IEEE TKDE 14(1), 2002.

What it does not give: the least loss possible (finding that is NP-hard). Cells may overlap, so
that somebody could be in several classes; nearest to the centroid is still a good guess. Sensitive
values play no part: where a rule asks for more than size, classes are joined with near ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.core.model import Model, min_class_rows, parse_whole_number
from shoal.core.tally import Cut, Tally
from shoal.kernels import mdav
from shoal.kernels.mdav import cluster_by_mdav, halve_points
from shoal.kernels.threads import share_out
from shoal.methods._shared.breaking_classes import mend_classes
from shoal.methods._shared.points import Points, order_people
from shoal.methods._shared.progress import Advance, Progress

BLOCK = 20_000
"""So many people at the most are clustered together."""
HEAVY = 16
"""A person is as much work as so many rows are elsewhere."""
MADE = 0.9
"""So much of the work is done once classes are made that are not mended yet."""
CODINGS = ("ordinal", "one-hot")

Numbers = NDArray[np.int64]
Pieces = tuple[Numbers, Numbers, Numbers]
"""Which point, or entry, in which class, and how many people."""
KERNELS = (mdav,)
"""What is compiled when it first runs on a machine."""


def microaggregation(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    k: int = 0,
    block: int = BLOCK,
    categories: str = "ordinal",
) -> Cut:
    """Classes of near people by MDAV, as many in each as the model needs at the least.

    ``k`` asks for larger ones. ``block``: so many people are clustered together, the table being
    cut into blocks of near people where it has more. ``categories`` says how far apart values of
    trees and unordered columns are. ``rng`` chooses which of several people with equal
    quasi-identifiers go where. Where the model asks for more than size, classes are joined with
    neighbours; ``hold_back``: or rows held back, where that does not help.
    """
    k, most = _size(model, k), parse_whole_number(block, "block", 1)
    points, advance = Points.of(tally), Advance(progress)
    cloud = EmbeddedPoints.of(tally, points, _check_coding(categories))
    pieces, blocks = cloud.clustered(k, most, advance.part(0.0, MADE))
    pieces = _people(tally, points, cloud.in_order(pieces), rng)
    facts = {"k": k, "block": most, "blocks": blocks, "categories": categories}
    cut = mend_classes(tally, model, *pieces, hold_back=hold_back, facts=facts)
    advance.end()
    return cut


def _size(model: Model, k: int) -> int:
    """How many people a class has: what the model needs, or more."""
    least = min_class_rows(model)
    asked = parse_whole_number(k, "k", 0) or least
    if asked < least:
        raise UsageError(
            f"{model} needs classes of {least:,} rows.", f"leave k out, or write k={least}."
        )
    return asked


def _check_coding(categories: str) -> str:
    if categories not in CODINGS:
        raise UsageError(
            f"There is no coding {categories!r} of categories.", f"one of: {', '.join(CODINGS)}."
        )
    return categories


@dataclass(frozen=True)
class EmbeddedPoints:
    """Points as places, so that they can be sorted and be near each other."""

    people: Numbers
    line: NDArray[np.float64]
    """(quasi-identifiers, points): every column as numbers, by which points can be sorted."""
    places: NDArray[np.float64]
    """(columns, points): those that are measured as numbers."""
    codes: NDArray[np.int32]
    """(columns, points): those that are equal or not, numbered on from column to column."""
    cost: NDArray[np.float64]
    base: Numbers

    @classmethod
    def of(cls, tally: Tally, points: Points, categories: str) -> EmbeddedPoints:
        """Where the points of a tally are."""
        keys, people = points.keys, points.count
        pairs = list(zip(tally.quasi, keys, strict=True))
        line = np.stack([_line(axis, codes, people) for axis, codes in pairs])
        line *= np.sqrt(tally.importance)[:, None]
        ranked = np.array([_ranked(axis, categories) for axis in tally.quasi])
        matched = np.flatnonzero(~ranked | [axis.null for axis in tally.quasi])
        sizes = [2 if ranked[i] else tally.quasi[i].size for i in matched]
        base = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        codes = np.empty((len(sizes), len(people)), np.int32)
        for j, i in enumerate(matched.tolist()):
            own = keys[i] == tally.quasi[i].null_code if ranked[i] else keys[i]
            codes[j] = own + base[j]
        return cls(people, line, line[ranked], codes, tally.importance[matched], base)

    def clustered(self, k: int, most: int, progress: Progress | None = None) -> tuple[Pieces, int]:
        """The points in classes of k people or more, and how many blocks they were."""
        if k == 1:  # everybody alone, and equal people are one class
            alone = np.arange(len(self.people))
            return (alone, alone, self.people), 1
        order, edges = halve_points(self.line, self.people, max(most, 3 * k), k)
        places, codes = (np.ascontiguousarray(a[:, order]) for a in (self.places, self.codes))
        people, blocks = self.people[order], len(edges) - 1
        inside = np.add.reduceat(people, edges[:-1])
        room = np.concatenate(([0], np.cumsum(np.diff(edges) + inside // k + 1)))
        point, class_, count = np.zeros((3, room[-1]), np.int64)
        written = np.zeros((blocks, 2), np.int64)
        cloud = places, codes, self.cost, self.base, people
        outputs, rows = (room, point, class_, count, written), HEAVY * int(people.sum())
        share_out(cluster_by_mdav, blocks, rows, edges, *cloud, k, *outputs, progress=progress)
        before = np.repeat(np.cumsum(written[:, 1]) - written[:, 1], np.diff(room))
        used = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(room, written[:, 0], strict=False)]
        )
        return (order[point[used]], (class_ + before)[used], count[used]), blocks

    def in_order(self, pieces: Pieces) -> Pieces:
        """The classes numbered so that neighbours are alike, by their means."""
        point, class_, people = pieces
        rows = np.bincount(class_, people)
        means = [np.bincount(class_, people * column[point]) / rows for column in self.line]
        order, _ = halve_points(np.stack(means), np.ones(len(rows), np.int64), 1)
        return point, np.argsort(order)[class_], people


def _ranked(axis: Axis, categories: str) -> bool:
    """Whether a column is measured as numbers."""
    return categories == "ordinal" or axis.positions is not None or axis.shape == "ordered"


def _line(axis: Axis, codes: NDArray[Any], people: Numbers) -> NDArray[np.float64]:
    """A column as numbers with the mean 0 and the standard deviation 1 over people; null is 0."""
    known = codes != axis.null_code
    places = np.arange(axis.size, dtype=np.float64)
    if axis.positions is not None:
        places[: len(axis.leaves)] = axis.positions
    value, weight = places[codes], np.where(known, people, 0)
    if not known.any():
        return np.zeros(len(codes))
    value = value - np.average(value, weights=weight)
    spread = np.sqrt(np.average(value**2, weights=weight))
    return np.where(known, value / (spread if spread > 0 else 1.0), 0.0)


def _people(
    tally: Tally,
    points: Points,
    pieces: Pieces,
    rng: np.random.Generator | None,
) -> Pieces:
    """The pieces of points as pieces of entries, people of one point being drawn."""
    class_, people = (column[np.lexsort(pieces[1::-1])] for column in pieces[1:])
    entry = order_people(tally, rng or np.random.default_rng(0))
    entry = entry[np.argsort(points.of_entry[entry], kind="stable")]
    joint = entry.astype(np.int64) * (int(class_.max()) + 1) + np.repeat(class_, people)
    distinct, count = np.unique(joint, return_counts=True)
    return (*np.divmod(distinct, int(class_.max()) + 1), count.astype(np.int64))
