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

MAX_BLOCK = 20_000
"""So many people at the most are clustered together."""
WORK_PER_PERSON = 16
"""A person is as much work as so many rows are elsewhere."""
CLUSTERING_SHARE = 0.9
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
    block: int = MAX_BLOCK,
    categories: str = "ordinal",
) -> Cut:
    """Classes of near people by MDAV, as small as the model allows.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet. Where it asks for more than size, classes are joined
        with neighbours.
    rng
        Chooses which of several people with equal quasi-identifiers go where.
    progress
        Called with how much of how much is done.
    hold_back
        Above 0: where joining does not help, classes that break the rule are suppressed.
    k
        Asks for larger classes than the model needs.
    block
        How many people are clustered together; a larger table is cut into blocks of near people.
    categories
        How far apart values of trees and unordered columns are: ``ordinal`` or ``one-hot``.

    Returns
    -------
    Cut
        The classes; its facts: ``k``, ``block``, the number of ``blocks``, ``categories``, and how
        many classes were ``joined``.

    Raises
    ------
    NotMetError
        One class of everybody does not meet the model, and no row may be suppressed.
    UsageError
        ``k`` is less than the model needs, or there is no such coding.
    """
    k, max_block = _choose_class_size(model, k), parse_whole_number(block, "block", 1)
    points, advance = Points.of(tally), Advance(progress)
    embedded = EmbeddedPoints.of(tally, points, _check_coding(categories))
    pieces, blocks = embedded.cluster(k, max_block, advance.part(0.0, CLUSTERING_SHARE))
    pieces = _assign_entries(tally, points, embedded.order_clusters(pieces), rng)
    facts = {"k": k, "block": max_block, "blocks": blocks, "categories": categories}
    cut = mend_classes(tally, model, *pieces, hold_back=hold_back, facts=facts)
    advance.end()
    return cut


def _choose_class_size(model: Model, k: int) -> int:
    min_rows = min_class_rows(model)
    requested = parse_whole_number(k, "k", 0) or min_rows
    if requested < min_rows:
        raise UsageError(
            f"{model} needs classes of {min_rows:,} rows.", f"leave k out, or write k={min_rows}."
        )
    return requested


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
    standardised: NDArray[np.float64]
    """(quasi-identifiers, points): every column as numbers, by which points can be sorted."""
    coordinates: NDArray[np.float64]
    """(columns, points): those that are measured as numbers."""
    codes: NDArray[np.int32]
    """(columns, points): those that are equal or not, numbered on from column to column."""
    match_weights: NDArray[np.float64]
    code_offsets: Numbers

    @classmethod
    def of(cls, tally: Tally, points: Points, categories: str) -> EmbeddedPoints:
        """Where the points of a tally are."""
        keys, people = points.keys, points.count
        pairs = list(zip(tally.quasi, keys, strict=True))
        standardised = np.stack([_standardise(axis, codes, people) for axis, codes in pairs])
        standardised *= np.sqrt(tally.importance)[:, None]
        is_measured = np.array([_is_measured(axis, categories) for axis in tally.quasi])
        compared = np.flatnonzero(~is_measured | [axis.null for axis in tally.quasi])
        sizes = [2 if is_measured[i] else tally.quasi[i].size for i in compared]
        code_offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        codes = np.empty((len(sizes), len(people)), np.int32)
        for j, i in enumerate(compared.tolist()):
            matched_codes = keys[i] == tally.quasi[i].null_code if is_measured[i] else keys[i]
            codes[j] = matched_codes + code_offsets[j]
        return cls(
            people,
            standardised,
            standardised[is_measured],
            codes,
            tally.importance[compared],
            code_offsets,
        )

    def cluster(
        self, k: int, max_block: int, progress: Progress | None = None
    ) -> tuple[Pieces, int]:
        """The points in classes of k people or more, and how many blocks they were."""
        if k == 1:  # everybody alone, and equal people are one class
            alone = np.arange(len(self.people))
            return (alone, alone, self.people), 1
        order, edges = halve_points(self.standardised, self.people, max(max_block, 3 * k), k)
        coordinates, codes = (
            np.ascontiguousarray(a[:, order]) for a in (self.coordinates, self.codes)
        )
        people, blocks = self.people[order], len(edges) - 1
        block_people = np.add.reduceat(people, edges[:-1])
        room = np.concatenate(([0], np.cumsum(np.diff(edges) + block_people // k + 1)))
        point, class_, count = np.zeros((3, room[-1]), np.int64)
        written = np.zeros((blocks, 2), np.int64)
        table = coordinates, codes, self.match_weights, self.code_offsets, people
        outputs, rows = (room, point, class_, count, written), WORK_PER_PERSON * int(people.sum())
        share_out(cluster_by_mdav, blocks, rows, edges, *table, k, *outputs, progress=progress)
        before = np.repeat(np.cumsum(written[:, 1]) - written[:, 1], np.diff(room))
        used = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(room, written[:, 0], strict=False)]
        )
        return (order[point[used]], (class_ + before)[used], count[used]), blocks

    def order_clusters(self, pieces: Pieces) -> Pieces:
        """The classes numbered so that neighbours are alike, by their means."""
        point, class_, people = pieces
        rows = np.bincount(class_, people)
        means = [np.bincount(class_, people * column[point]) / rows for column in self.standardised]
        order, _ = halve_points(np.stack(means), np.ones(len(rows), np.int64), 1)
        return point, np.argsort(order)[class_], people


def _is_measured(axis: Axis, categories: str) -> bool:
    return categories == "ordinal" or axis.positions is not None or axis.shape == "ordered"


def _standardise(axis: Axis, codes: NDArray[Any], people: Numbers) -> NDArray[np.float64]:
    """A column as numbers with the mean 0 and the standard deviation 1 over people; null is 0."""
    is_known = codes != axis.null_code
    positions = np.arange(axis.size, dtype=np.float64)
    if axis.positions is not None:
        positions[: len(axis.leaves)] = axis.positions
    value, weight = positions[codes], np.where(is_known, people, 0)
    if not is_known.any():
        return np.zeros(len(codes))
    value = value - np.average(value, weights=weight)
    spread = np.sqrt(np.average(value**2, weights=weight))
    return np.where(is_known, value / (spread if spread > 0 else 1.0), 0.0)


def _assign_entries(
    tally: Tally, points: Points, pieces: Pieces, rng: np.random.Generator | None
) -> Pieces:
    """The pieces of points as pieces of entries, people of one point being drawn."""
    class_, people = (column[np.lexsort(pieces[1::-1])] for column in pieces[1:])
    entry = order_people(tally, rng or np.random.default_rng(0))
    entry = entry[np.argsort(points.of_entry[entry], kind="stable")]
    joint = entry.astype(np.int64) * (int(class_.max()) + 1) + np.repeat(class_, people)
    distinct, count = np.unique(joint, return_counts=True)
    return (*np.divmod(distinct, int(class_.max()) + 1), count.astype(np.int64))
