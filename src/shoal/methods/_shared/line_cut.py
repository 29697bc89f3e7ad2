"""Classes along an order of people: what the methods share that put everybody in a line first.

People who follow each other in the line are alike; the line is cut into segments of k to 2k − 1
people (k: the fewest that could meet the rule) so that the sum of people × loss is least of all
ways to cut it, by a dynamic programme. Where the rule asks for more than k people, segments that
break it are joined with their neighbours, and longer segments are tried too; where cuts of the
whole table from the top down lose less than that, these are taken instead.

G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, Fast data anonymization with low information
loss, VLDB 2007: one-dimensional optimal partitioning along a space-filling curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Model, min_class_rows
from shoal.core.tally import Cut, Tally
from shoal.kernels.cell_width import AxisWidths
from shoal.kernels.grouping import number_combinations
from shoal.kernels.line_order import cut_into_segments
from shoal.methods._shared.breaking_classes import mend_classes
from shoal.methods._shared.cell_widths import pack_axis_widths, sum_cell_widths
from shoal.methods._shared.points import Points, order_people
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._topdown.least_loss_search import LossSearch
from shoal.methods._topdown.top_down_search import TopDownSearch

LENGTH_FACTOR = 1.5
"""Where segments had to be joined, longer ones by this factor are tried next."""
PATIENCE = 2
"""So many longer ones in a row that lose more end the trial."""


def cut_along_line(
    tally: Tally,
    model: Model,
    points: Points,
    order: NDArray[Any],
    *,
    rng: np.random.Generator | None,
    progress: Progress | None,
    hold_back: int = 0,
) -> Cut:
    """The cut into segments of the points in this order that meets the model and loses least.

    People at one point stand in random order (``rng``). The cut's facts: the ``shortest``
    segments that were made, and how many of them were ``joined`` with others; or that ``line`` is
    false, where cuts from the top down lose less.
    """
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    entry = order_people(tally, rng or np.random.default_rng(0))
    entry = entry[np.argsort(rank[points.of_entry[entry]], kind="stable")]
    keys = np.ascontiguousarray(points.keys[:, points.of_entry[entry]])
    return _PeopleInLine(tally, model, entry, keys).find_best_cut(hold_back, Advance(progress))


@dataclass(frozen=True)
class _PeopleInLine:
    """People in their order: the entry of each, and (columns, people) their codes."""

    tally: Tally
    model: Model
    entry: NDArray[np.int32]
    keys: NDArray[np.int32]

    def find_best_cut(self, hold_back: int, advance: Advance) -> Cut:
        length = max(1, min_class_rows(self.model))
        best = cut = self._cut_by_length(length, hold_back)
        worse = turn = 0
        while cut.facts.get("joined") and worse < PATIENCE and length < len(self.entry):
            advance.half(turn)(1, 1)
            length, turn = math.ceil(length * LENGTH_FACTOR), turn + 1
            cut = self._cut_by_length(length, hold_back)
            worse += 1
            if sum_cell_widths(self.tally, cut) < sum_cell_widths(self.tally, best):
                best, worse = cut, 0
        if best.facts.get("joined"):
            best = min(
                best,
                self._cut_top_down(hold_back),
                key=lambda cut: sum_cell_widths(self.tally, cut),
            )
        advance.end()
        return best

    def _cut_top_down(self, hold_back: int) -> Cut:
        """The cut of the whole table by loss, top-down: the line does not know what a rule asks of
        sensitive values, and joining many of its segments may lose more than that."""
        options: dict[str, Any] = {"relaxed": False, "rng": None, "hold_back": hold_back}
        searches = (
            TopDownSearch.of(self.tally, self.model, **options),
            LossSearch.of(self.tally, self.model, **options),
        )
        cut = min(
            (search.run(self.tally) for search in searches),
            key=lambda cut: sum_cell_widths(self.tally, cut),
        )
        return replace(cut, facts={"line": False})

    def _cut_by_length(self, length: int, hold_back: int) -> Cut:
        begins = np.zeros(len(self.entry), np.int32)
        begins[cut_into_segments(self.keys, self._axis_widths, length, 2 * length - 1)[0]] = 1
        class_ = np.cumsum(begins) - 1
        pieces, first = number_combinations((self.entry, class_), (self.tally.entries, len(begins)))
        options: dict[str, Any] = {"hold_back": hold_back, "facts": {"shortest": length}}
        count = np.bincount(pieces, minlength=len(first))
        return mend_classes(
            self.tally, self.model, self.entry[first], class_[first], count, **options
        )

    @cached_property
    def _axis_widths(self) -> AxisWidths:
        return pack_axis_widths(self.tally.quasi, self.tally.importance)
