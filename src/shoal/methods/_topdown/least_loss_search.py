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
from shoal.methods._topdown.top_down_search import Numbers, TopDownSearch

BINS = 8
"""Where the rule refuses a segment's cheapest cut, so many are tried on each column."""


@dataclass
class LossSearch(TopDownSearch):
    """A search that makes the cut after which the least is lost."""

    power: float = 1.0
    """A half costs its people to this power, times the widths of its cells."""
    widest_above: float = math.inf
    """Segments of more than so many times the least rows are cut on their widest column instead."""

    @cached_property
    def axis_widths(self) -> AxisWidths:
        """The columns' widths, as the kernels ask for them."""
        return pack_axis_widths(self.segments.axes, self.segments.importance)

    def choose_cuts(self) -> CandidateCuts:
        """For each segment its cheapest cut; where the rule refuses it, others by their cost."""
        cuttable, widths = self.find_cuttable()
        is_large = self.segments.people > self.widest_above * min_class_rows(self.model)
        on_widest = self.propose_first_cuts(
            np.flatnonzero(cuttable & is_large & self.meets_rule), widths
        )
        best = self.pick_best(self.find_balanced_cuts(*on_widest))
        cuttable[best.segment] = False
        segment, column = np.nonzero((widths > 0) & cuttable[:, np.newaxis])
        cheapest = self.find_cheapest(segment, column, 1)
        first = np.unique(cheapest.segment, return_index=True)[1]
        best = best.joined(
            self.pick_best(cheapest.take(first[self.meets_rule[cheapest.segment[first]]]))
        )
        uncut = np.isin(cheapest.segment, best.segment, invert=True)
        further = self.find_cheapest(cheapest.segment[uncut], cheapest.column[uncut], BINS)
        best = best.joined(self.pick_best(further))
        return best.take(np.argsort(self.segments.start[best.segment], kind="stable"))

    def find_cheapest(self, segment: Numbers, column: Numbers, bins: int) -> CandidateCuts:
        """The cheapest cuts of these segments on these columns, by segment and cost."""
        rows, shape = self.segments, (len(segment), bins)
        min_rows = np.where(self.meets_rule[segment], min_class_rows(self.model), 1)
        cut = np.zeros(shape, np.int64)
        left_people = np.zeros(shape, np.int64)
        cost = np.empty(shape)
        table = rows.keys, rows.count, rows.start, rows.stop, rows.spans.low, rows.spans.high
        share_out(
            find_cheapest_cuts,
            len(segment),
            rows.keys.shape[1],
            *table,
            segment,
            column,
            min_rows,
            self.axis_widths,
            self.power,
            cut,
            left_people,
            cost,
        )
        candidate, bin_ = np.nonzero(left_people)
        order = np.lexsort((cost[candidate, bin_], segment[candidate]))
        return self._build_candidates(
            segment, column, cut, left_people, candidate[order], bin_[order]
        )

    def _build_candidates(
        self,
        segment: Numbers,
        column: Numbers,
        cut: NDArray[np.int64],
        left_people: NDArray[np.int64],
        candidate: Numbers,
        bin_: Numbers,
    ) -> CandidateCuts:
        """Candidates between codes, with everybody at the cut on the left."""
        candidates = self.segments.create_candidates(
            segment[candidate], column[candidate], np.ones(len(candidate), bool)
        )
        candidates.begin[:], candidates.quota[:] = -1, split.NO_QUOTA
        candidates.cut[:], candidates.left_people[:] = (
            cut[candidate, bin_],
            left_people[candidate, bin_],
        )
        return candidates
