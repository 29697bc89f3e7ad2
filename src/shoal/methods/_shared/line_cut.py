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

LONGER = 1.5
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
    return _Line(tally, model, entry, keys).best(hold_back, Advance(progress))


@dataclass(frozen=True)
class _Line:
    """People in their order: the entry of each, and (columns, people) their codes."""

    tally: Tally
    model: Model
    entry: NDArray[np.int32]
    keys: NDArray[np.int32]

    def best(self, hold_back: int, advance: Advance) -> Cut:
        """The cut with the least loss, of those that begin with shorter and longer segments."""
        length = max(1, min_class_rows(self.model))
        best = cut = self._cut(length, hold_back)
        worse = turn = 0
        while cut.facts.get("joined") and worse < PATIENCE and length < len(self.entry):
            advance.half(turn)(1, 1)
            length, turn = math.ceil(length * LONGER), turn + 1
            cut = self._cut(length, hold_back)
            worse += 1
            if sum_cell_widths(self.tally, cut) < sum_cell_widths(self.tally, best):
                best, worse = cut, 0
        if best.facts.get("joined"):
            best = min(
                best,
                self._from_the_top(hold_back),
                key=lambda cut: sum_cell_widths(self.tally, cut),
            )
        advance.end()
        return best

    def _from_the_top(self, hold_back: int) -> Cut:
        """The cut of the whole table by loss, top-down: the line does not know what a rule asks of
        sensitive values, and joining many of its segments may lose more than that."""
        how: dict[str, Any] = {"relaxed": False, "rng": None, "hold_back": hold_back}
        ways = (
            TopDownSearch.of(self.tally, self.model, **how),
            LossSearch.of(self.tally, self.model, **how),
        )
        cut = min(
            (way.run(self.tally) for way in ways), key=lambda cut: sum_cell_widths(self.tally, cut)
        )
        return replace(cut, facts={"line": False})

    def _cut(self, length: int, hold_back: int) -> Cut:
        """Segments of so many people and more, those joined that break the rule."""
        begins = np.zeros(len(self.entry), np.int32)
        begins[cut_into_segments(self.keys, self._reach, length, 2 * length - 1)[0]] = 1
        class_ = np.cumsum(begins) - 1
        pieces, first = number_combinations((self.entry, class_), (self.tally.entries, len(begins)))
        how: dict[str, Any] = {"hold_back": hold_back, "facts": {"shortest": length}}
        count = np.bincount(pieces, minlength=len(first))
        return mend_classes(self.tally, self.model, self.entry[first], class_[first], count, **how)

    @cached_property
    def _reach(self) -> AxisWidths:
        return pack_axis_widths(self.tally.quasi, self.tally.importance)
