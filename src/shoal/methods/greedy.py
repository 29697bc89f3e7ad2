"""Greedy: cut the table in two, again and again, where the published cells shrink most.

Each class starts as the whole table. At every step all cuts of all quasi-identifiers are weighed:
a cut costs the people of each half times the loss of the cells that would be published for it
(normalised certainty penalty). The cheapest cut whose halves both meet the rule is made; where the
rule refuses the cheapest of all, the cheapest of each column in each eighth of the people are
tried in order of their cost. People with equal codes stay together. Flat columns are cut into
their more and their less frequent values, trees between any two leaves. What is cheapest now need
not be so in the end: the whole search is made three times, and the classes that lose least are
kept. The second counts large halves a little more (people to the power of 1.1); the third cuts as
Mondrian does as long as a class has more than four times the rows it needs, because on trees
several cuts may have to be made before any of them pays.

J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu: Utility-based anonymization using local
recoding, KDD 2006 (the loss, and top-down cuts that are greedy by it); K. LeFevre, D. J. DeWitt,
R. Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006 (multidimensional cuts).

What it does not give: the least loss possible, which is NP-hard to find; and, as with Mondrian, an
adversary who knows the algorithm can use that a refused cut would have broken the rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import split
from shoal.kernels.cheapest import cheapest
from shoal.kernels.reach import Reach
from shoal.kernels.threads import share_out
from shoal.methods.segments import Candidates
from shoal.methods.topdown import Progress, Search, Whole, lost
from shoal.model import Model, least_rows
from shoal.reach import packed
from shoal.tally import Cut, Tally

WAYS: tuple[dict[str, float], ...] = ({}, {"lean": 1.1}, {"widest": 4.0})
"""How the searches differ that are made: see ``ByLoss``."""
BINS = 8
"""Where the rule refuses a segment's cheapest cut, so many are tried on each column."""


def greedy(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
) -> Cut:
    """Cut the tally top-down, always by least loss, into classes that meet the model.

    ``hold_back``: where the whole table does not meet the model, parts of it that cannot are held
    back instead of refused. Nothing is random: ``rng`` is not used. Under a rule that merging
    classes may break (δ-presence), columns with a tree or nulls are not cut.
    """
    cuts = []
    for turn, way in enumerate(WAYS):
        told = progress and _turn(progress, turn)
        how: dict[str, Any] = {"hold_back": hold_back, "progress": told, **way}
        cuts.append(ByLoss.of(tally, model, relaxed=False, rng=rng, **how).run(tally))
    return min(cuts, key=lambda cut: lost(tally, cut))


def _turn(progress: Progress, turn: int) -> Progress:
    """The progress of one search as that of all."""
    return lambda done, total: progress(turn * total + done, len(WAYS) * total)


@dataclass
class ByLoss(Search):
    """A search that makes the cut after which the least is lost."""

    lean: float = 1.0
    """A half costs its people to this power, times the widths of its cells."""
    widest: float = math.inf
    """Segments of more than so many times the least rows are cut on their widest column instead."""

    @cached_property
    def reach(self) -> Reach:
        """The columns' widths, as the kernels ask for them."""
        return packed(self.rows.axes, self.rows.importance)

    def chosen(self) -> Candidates:
        """For each segment its cheapest cut; where the rule refuses it, others by their cost."""
        able, widths = self.open_()
        large = self.rows.people > self.widest * least_rows(self.model)
        on_widest = self.first_cuts(np.flatnonzero(able & large & self.good), widths)
        best = self.best(self.cuts(*on_widest))
        able[best.segment] = False
        segment, column = np.nonzero((widths > 0) & able[:, np.newaxis])
        found = self.cheapest(segment, column, 1)
        first = np.unique(found.segment, return_index=True)[1]
        best = best.joined(self.best(found.take(first[self.good[found.segment[first]]])))
        left = np.isin(found.segment, best.segment, invert=True)
        again = self.cheapest(found.segment[left], found.column[left], BINS)
        best = best.joined(self.best(again))
        return best.take(np.argsort(self.rows.start[best.segment], kind="stable"))

    def cheapest(self, segment: Whole, column: Whole, bins: int) -> Candidates:
        """The cheapest cuts of these segments on these columns, by segment and cost."""
        rows, shape = self.rows, (len(segment), bins)
        least = np.where(self.good[segment], least_rows(self.model), 1)
        cut, left, cost = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.empty(shape)
        table = rows.keys, rows.count, rows.start, rows.stop, rows.spans.low, rows.spans.high
        share_out(
            cheapest, len(segment), rows.keys.shape[1],
            *table, segment, column, least, self.reach, self.lean, cut, left, cost,
        )  # fmt: skip
        at, bin_ = np.nonzero(left)
        order = np.lexsort((cost[at, bin_], segment[at]))
        return self._candidates(segment, column, cut, left, at[order], bin_[order])

    def _candidates(
        self,
        segment: Whole,
        column: Whole,
        cut: NDArray[np.int64],
        left: NDArray[np.int64],
        at: Whole,
        bin_: Whole,
    ) -> Candidates:
        """Candidates between codes, with everybody at the cut on the left."""
        found = self.rows.candidates(segment[at], column[at], np.ones(len(at), bool))
        found.begin[:], found.quota[:] = -1, split.EVERYBODY
        found.cut[:], found.left[:] = cut[at, bin_], left[at, bin_]
        return found
