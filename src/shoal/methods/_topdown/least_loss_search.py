"""Cuts by loss: of all cuts of all columns the one after which the published cells lose least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import min_class_rows
from shoal.kernels import split
from shoal.kernels.cell_width import AxisWidths
from shoal.kernels.cheapest_cut import find_cheapest_cuts
from shoal.kernels.threads import share_out
from shoal.methods._shared.cell_widths import pack_axis_widths
from shoal.methods._topdown.row_segments import CandidateCuts
from shoal.methods._topdown.top_down_search import TopDownSearch, Whole

BINS = 8
"""Where the rule refuses a segment's cheapest cut, so many are tried on each column."""


@dataclass
class LossSearch(TopDownSearch):
    """A search that makes the cut after which the least is lost."""

    lean: float = 1.0
    """A half costs its people to this power, times the widths of its cells."""
    widest: float = math.inf
    """Segments of more than so many times the least rows are cut on their widest column instead."""

    @cached_property
    def reach(self) -> AxisWidths:
        """The columns' widths, as the kernels ask for them."""
        return pack_axis_widths(self.rows.axes, self.rows.importance)

    def chosen(self) -> CandidateCuts:
        """For each segment its cheapest cut; where the rule refuses it, others by their cost."""
        able, widths = self.open_()
        large = self.rows.people > self.widest * min_class_rows(self.model)
        on_widest = self.first_cuts(np.flatnonzero(able & large & self.good), widths)
        best = self.best(self.cuts(*on_widest))
        able[best.segment] = False
        segment, column = np.nonzero((widths > 0) & able[:, np.newaxis])
        cheapest = self.cheapest(segment, column, 1)
        first = np.unique(cheapest.segment, return_index=True)[1]
        best = best.joined(self.best(cheapest.take(first[self.good[cheapest.segment[first]]])))
        left = np.isin(cheapest.segment, best.segment, invert=True)
        again = self.cheapest(cheapest.segment[left], cheapest.column[left], BINS)
        best = best.joined(self.best(again))
        return best.take(np.argsort(self.rows.start[best.segment], kind="stable"))

    def cheapest(self, segment: Whole, column: Whole, bins: int) -> CandidateCuts:
        """The cheapest cuts of these segments on these columns, by segment and cost."""
        rows, shape = self.rows, (len(segment), bins)
        least = np.where(self.good[segment], min_class_rows(self.model), 1)
        cut, left, cost = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.empty(shape)
        table = rows.keys, rows.count, rows.start, rows.stop, rows.spans.low, rows.spans.high
        share_out(
            find_cheapest_cuts,
            len(segment),
            rows.keys.shape[1],
            *table,
            segment,
            column,
            least,
            self.reach,
            self.lean,
            cut,
            left,
            cost,
        )
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
    ) -> CandidateCuts:
        """Candidates between codes, with everybody at the cut on the left."""
        candidates = self.rows.candidates(segment[at], column[at], np.ones(len(at), bool))
        candidates.begin[:], candidates.quota[:] = -1, split.NO_QUOTA
        candidates.cut[:], candidates.left[:] = cut[at, bin_], left[at, bin_]
        return candidates
