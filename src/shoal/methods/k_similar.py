"""k-Similar: gather people who are alike into clusters of k or more, and publish what they share.

Sweeney's k-Similar divides the table into clusters of k to 2k - 1 rows so that the rows of a
cluster are as little apart as possible, and recodes each cluster to its least common
generalisation; the distance is what that generalisation loses. The original's division is said to
be optimal, which nobody could check; here it is made by greedy k-member: a cluster grows from the
person least like the one the last cluster grew from, always by whoever costs the least loss. Equal
people stay together; k of them or more are a class by themselves. Afterwards people move to where
less is lost, out of clusters that can spare them. So that time grows with the rows and not with
their square, all this happens inside blocks of similar people, made by ``greedy`` cuts.

Under other rules than k-anonymity, clusters that break the rule are joined with those of their
block for which the least more is lost; where that was needed, larger clusters are tried too, and
the classes that lose least are kept.

L. Sweeney: Computational disclosure control, PhD thesis, MIT 2001 (k-Similar); J.-W. Byun,
A. Kamra, E. Bertino, N. Li: Efficient k-anonymization using clustering techniques, DASFAA 2007
(greedy k-member).

What it does not give: the least loss possible; cells that do not overlap, so that somebody may
fit the cells of several classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.model import Mask, Model, list_joint_columns, min_class_rows, parse_whole_number
from shoal.core.tally import Cut, Groups, Tally
from shoal.kernels import cheapest_cut, k_member, split
from shoal.kernels.cell_width import AxisWidths
from shoal.kernels.k_member import cluster_blocks, join_bad_clusters
from shoal.kernels.threads import share_out
from shoal.methods._shared.breaking_classes import find_breaking_classes, mend_classes
from shoal.methods._shared.cell_widths import pack_axis_widths, sum_cell_widths
from shoal.methods._shared.points import Points
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._topdown.least_loss_search import LossSearch

BLOCK = 2000
"""How many different people a block may have."""
MAX_BLOCK = 50_000
"""How many it may have at most: clustering takes the square of it in time."""
MAX_SIZES_TRIED = 12
"""So many sizes of clusters are tried at most, each twice the last, where they had to be joined."""
PATIENCE = 2
"""After so many sizes that lose no less than the best, no more are tried."""
KERNELS = (k_member, cheapest_cut, split)
"""What is compiled when it first runs on a machine."""


def k_similar(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
    block: int = BLOCK,
) -> Cut:
    """Clusters of people who are alike, each published with the cells that they share.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        Above 0: where no joining of clusters meets the rule, those that break it are suppressed.
    block
        How many different people a block may have; larger ones lose less and take longer.

    Returns
    -------
    Cut
        The classes; its facts: the number of ``blocks``, the ``size`` that clusters began with, and
        how many were ``joined``.

    Raises
    ------
    NotMetError
        One class of everybody does not meet the model, and no row may be suppressed.
    UsageError
        ``block`` is too large or too small.
    """
    block = parse_whole_number(block, "block", 2)
    if block > MAX_BLOCK:
        raise UsageError(f"block is at most {MAX_BLOCK:,}.", f"write for example block={BLOCK}.")
    blocks = _Blocks.of(tally, block)
    advance = Advance(progress)
    cuts: list[Cut] = []
    losses: list[float] = []
    size = min_class_rows(model)
    for turn in range(MAX_SIZES_TRIED):
        initial = blocks.cluster(size, advance.half(turn))
        clusters, joined = _join_breaking_clusters(tally, model, initial, hold_back)
        class_, entry = clusters.of_entry, np.arange(tally.entries, dtype=np.int32)
        cut = mend_classes(tally, model, entry, class_, tally.count, hold_back=hold_back)
        joined += cut.facts.get("joined", 0)
        facts = {"blocks": len(blocks.start), "size": size, "joined": joined}
        cuts.append(replace(cut, facts=facts))
        losses.append(sum_cell_widths(tally, cut))
        best = int(np.argmin(losses))
        if not (joined or cut.suppressed) or turn - best == PATIENCE or size >= tally.rows:
            break
        size *= 2
    advance.end()
    return cuts[best]


def _join_breaking_clusters(
    tally: Tally, model: Model, clusters: _Clusters, hold_back: int
) -> tuple[_Clusters, int]:
    """Join clusters that break the rule with others of their block, as long as there are any.

    Returns what is left, and how many were joined; where rows may be suppressed and some break the
    rule to the end, what is left when the fewest did. Where merging may break the rule, none is.
    """
    initial_total, best, fewest = clusters.total, clusters, tally.rows + 1
    while model.monotone:
        groups, published = clusters.count_groups(tally, model)
        breaking = find_breaking_classes(model, groups)
        rows = int(groups.rows[breaking].sum())
        if rows < fewest or not hold_back:
            best, fewest = clusters, rows
        joined_clusters = clusters.join(breaking[published]) if rows else clusters
        if joined_clusters.total == clusters.total:
            break
        clusters = joined_clusters
    return best, initial_total - best.total


class _Blocks(NamedTuple):
    """The different people of a tally, block by block."""

    tally: Tally
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    of_entry: NDArray[np.int64]
    """The point of each of the table's entries."""

    @classmethod
    def of(cls, table: Tally, block: int) -> _Blocks:
        """The points of a tally, in an order of blocks that depends on them alone."""
        points = Points.of(table)
        order, start, stop = _divide_into_blocks(_as_tally(table, points.keys, points.count), block)
        tally = _as_tally(table, points.keys[:, order], points.count[order])
        return cls(tally, start, stop, np.argsort(order)[points.of_entry])

    def cluster(self, min_rows: int, progress: Progress) -> _Clusters:
        """Clusters of at least so many people, numbered so that neighbours are alike."""
        of_point = np.empty(self.tally.entries, np.int64)
        per_block = np.empty(len(self.start), np.int64)
        self.run_kernel(
            cluster_blocks, min_rows, self.axis_widths, of_point, per_block, progress=progress
        )
        return _Clusters(self, of_point, per_block)

    @property
    def axis_widths(self) -> AxisWidths:
        return pack_axis_widths(self.tally.quasi, self.tally.importance)

    def run_kernel(
        self, kernel: Callable[..., None], *arguments: Any, progress: Progress | None = None
    ) -> None:
        table = self.tally.keys, self.tally.count, self.start, self.stop
        rows = self.tally.entries
        share_out(kernel, len(self.start), rows, *table, *arguments, progress=progress)


class _Clusters(NamedTuple):
    """Points in clusters, numbered from 0 in each block."""

    blocks: _Blocks
    of_point: NDArray[np.int64]
    per_block: NDArray[np.int64]
    """How many there are in each block."""

    @property
    def total(self) -> int:
        return int(self.per_block.sum())

    @property
    def offsets(self) -> NDArray[np.int64]:
        """How many clusters the blocks before each one have."""
        return np.asarray(np.cumsum(self.per_block) - self.per_block)

    @property
    def of_entry(self) -> NDArray[np.int64]:
        blocks = self.blocks
        whole = self.of_point + np.repeat(self.offsets, blocks.stop - blocks.start)
        return np.asarray(whole[blocks.of_entry])

    def count_groups(self, tally: Tally, model: Model) -> tuple[Groups, NDArray[np.int32]]:
        """The classes they are published as, and which of them each cluster is."""
        class_ = self.of_entry
        cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
        published = np.empty(self.total, np.int32)
        published[class_] = cut.class_
        return Groups.of(tally, cut, list_joint_columns(model)), published

    def join(self, breaking: Mask) -> _Clusters:
        after = _Clusters(self.blocks, self.of_point.copy(), self.per_block.copy())
        self.blocks.run_kernel(
            join_bad_clusters,
            self.blocks.axis_widths,
            self.offsets,
            breaking,
            after.of_point,
            after.per_block,
        )
        return after


def _as_tally(table: Tally, keys: NDArray[Any], count: NDArray[np.int64]) -> Tally:
    nothing = np.zeros((0, len(count)), np.int32)
    return Tally(table.quasi, (), np.ascontiguousarray(keys), nothing, count, weights=table.weights)


def _divide_into_blocks(points: Tally, max_rows: int) -> tuple[NDArray[np.int64], ...]:
    """The points in an order of blocks of similar ones, and where each block starts and stops."""
    single_points = _as_tally(points, points.keys, np.ones(points.entries, np.int64))
    model = _MinRows(min(max(max_rows // 4, 1), points.entries))
    search = _BlockSearch.of(
        single_points, model, relaxed=False, rng=None, hold_back=0, max_rows=max_rows
    )
    while search.running:
        search.deepen()
    start, stop = search.find_bounds()
    # where no cut leaves enough on both sides, blocks are cut by number
    ends = zip(start, stop, -(-(stop - start) // max_rows), strict=True)
    edges = [np.linspace(a, b, n + 1).astype(np.int64) for a, b, n in ends]
    begin, end = (np.concatenate([e[part] for e in edges]) for part in (slice(-1), slice(1, None)))
    return search.segments.entry.astype(np.int64), begin, end


@dataclass
class _BlockSearch(LossSearch):
    """Cuts until no segment has more than so many rows."""

    max_rows: int = BLOCK

    def find_cuttable(self) -> tuple[Mask, NDArray[np.float64]]:
        cuttable, widths = super().find_cuttable()
        return cuttable & (self.segments.stop - self.segments.start > self.max_rows), widths

    def find_bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the finished segments start and stop, in the order of their rows."""
        bounds = self.collect_closed()[0]
        start, stop = bounds[np.argsort(bounds[:, 0])].T
        return start, stop


@dataclass(frozen=True)
class _MinRows:
    """So many rows in every segment."""

    min_rows: int
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    local: ClassVar[bool] = True

    def holds(self, groups: Groups) -> Mask:
        return np.asarray(groups.rows >= self.min_rows)

    def reached(self, groups: Groups) -> float:
        return float(groups.rows.min())
