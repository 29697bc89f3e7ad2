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
LARGEST = 50_000
"""How many it may have at most: clustering takes the square of it in time."""
TURNS = 12
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

    ``block``: how many different people a block may have; larger ones lose less and take longer.
    ``hold_back``: where no joining of clusters meets the rule, those that break it are held back.
    Nothing is random: ``rng`` is not used.
    """
    block = parse_whole_number(block, "block", 2)
    if block > LARGEST:
        raise UsageError(f"block is at most {LARGEST:,}.", f"write for example block={BLOCK}.")
    blocks = _Blocks.of(tally, block)
    advance = Advance(progress)
    cuts: list[Cut] = []
    losses: list[float] = []
    size = min_class_rows(model)
    for turn in range(TURNS):
        first = blocks.clustered(size, advance.half(turn))
        clusters, joined = _joined(tally, model, first, hold_back)
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


def _joined(
    tally: Tally, model: Model, clusters: _Clusters, hold_back: int
) -> tuple[_Clusters, int]:
    """Join clusters that break the rule with others of their block, as long as there are any.

    Returns what is left, and how many were joined; where rows may be held back and some break the
    rule to the end, what is left when the fewest did. Where merging may break the rule, none is.
    """
    first, best, fewest = clusters.number, clusters, tally.rows + 1
    while model.monotone:
        groups, published = clusters.count_groups(tally, model)
        bad = find_breaking_classes(model, groups)
        rows = int(groups.rows[bad].sum())
        if rows < fewest or not hold_back:
            best, fewest = clusters, rows
        after = clusters.joined(bad[published]) if rows else clusters
        if after.number == clusters.number:
            break
        clusters = after
    return best, first - best.number


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
        order, start, stop = _divided(_bare(table, points.keys, points.count), block)
        tally = _bare(table, points.keys[:, order], points.count[order])
        return cls(tally, start, stop, np.argsort(order)[points.of_entry])

    def clustered(self, least: int, progress: Progress) -> _Clusters:
        """Clusters of at least so many people, numbered so that neighbours are alike."""
        of, clusters = np.empty(self.tally.entries, np.int64), np.empty(len(self.start), np.int64)
        self.share(cluster_blocks, least, self.reach, of, clusters, progress=progress)
        return _Clusters(self, of, clusters)

    @property
    def reach(self) -> AxisWidths:
        """The columns' widths, as the kernels ask for them."""
        return pack_axis_widths(self.tally.quasi, self.tally.importance)

    def share(
        self, kernel: Callable[..., None], *arguments: Any, progress: Progress | None = None
    ) -> None:
        """Run a kernel on all blocks."""
        table = self.tally.keys, self.tally.count, self.start, self.stop
        rows = self.tally.entries
        share_out(kernel, len(self.start), rows, *table, *arguments, progress=progress)


class _Clusters(NamedTuple):
    """Points in clusters, numbered from 0 in each block."""

    blocks: _Blocks
    of: NDArray[np.int64]
    clusters: NDArray[np.int64]
    """How many there are in each block."""

    @property
    def number(self) -> int:
        """How many there are in all."""
        return int(self.clusters.sum())

    @property
    def before(self) -> NDArray[np.int64]:
        """How many clusters the blocks before each one have."""
        return np.asarray(np.cumsum(self.clusters) - self.clusters)

    @property
    def of_entry(self) -> NDArray[np.int64]:
        """The cluster of each of the table's entries."""
        blocks = self.blocks
        whole = self.of + np.repeat(self.before, blocks.stop - blocks.start)
        return np.asarray(whole[blocks.of_entry])

    def count_groups(self, tally: Tally, model: Model) -> tuple[Groups, NDArray[np.int32]]:
        """The classes they are published as, and which of them each cluster is."""
        class_ = self.of_entry
        cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
        published = np.empty(self.number, np.int32)
        published[class_] = cut.class_
        return Groups.of(tally, cut, list_joint_columns(model)), published

    def joined(self, bad: Mask) -> _Clusters:
        """Each bad cluster joined with the one of its block that costs least."""
        after = _Clusters(self.blocks, self.of.copy(), self.clusters.copy())
        self.blocks.share(
            join_bad_clusters, self.blocks.reach, self.before, bad, after.of, after.clusters
        )
        return after


def _bare(table: Tally, keys: NDArray[Any], count: NDArray[np.int64]) -> Tally:
    """Points as a tally of their own."""
    nothing = np.zeros((0, len(count)), np.int32)
    return Tally(table.quasi, (), np.ascontiguousarray(keys), nothing, count, weights=table.weights)


def _divided(points: Tally, most: int) -> tuple[NDArray[np.int64], ...]:
    """The points in an order of blocks of similar ones, and where each block starts and stops."""
    each = _bare(points, points.keys, np.ones(points.entries, np.int64))
    model = _Enough(min(max(most // 4, 1), points.entries))
    search = _Halving.of(each, model, relaxed=False, rng=None, hold_back=0, most=most)
    while search.running:
        search.deepen()
    start, stop = search.bounds()
    # where no cut leaves enough on both sides, blocks are cut by number
    ends = zip(start, stop, -(-(stop - start) // most), strict=True)
    edges = [np.linspace(a, b, n + 1).astype(np.int64) for a, b, n in ends]
    begin, end = (np.concatenate([e[part] for e in edges]) for part in (slice(-1), slice(1, None)))
    return search.rows.entry.astype(np.int64), begin, end


@dataclass
class _Halving(LossSearch):
    """Cuts until no segment has more than so many rows."""

    most: int = BLOCK

    def open_(self) -> tuple[Mask, NDArray[np.float64]]:
        """The segments that have too many rows."""
        able, widths = super().open_()
        return able & (self.rows.stop - self.rows.start > self.most), widths

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the finished segments start and stop, in the order of their rows."""
        bounds = self.finished()[0]
        start, stop = bounds[np.argsort(bounds[:, 0])].T
        return start, stop


@dataclass(frozen=True)
class _Enough:
    """So many rows in every segment."""

    min_rows: int
    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    local: ClassVar[bool] = True

    def holds(self, groups: Groups) -> Mask:
        """Which segments have as many."""
        return np.asarray(groups.rows >= self.min_rows)

    def reached(self, groups: Groups) -> float:
        """The fewest rows."""
        return float(groups.rows.min())
