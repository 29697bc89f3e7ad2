"""Cut the table in two, again and again: what the methods that work from the top down share.

All segments of one depth are cut together and the rule is asked in batches. Which cuts are tried,
and in which order, is ``TopDownSearch.choose_cuts``; a method that chooses otherwise overrides it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, cover_ranges
from shoal.core.errors import UsageError
from shoal.core.model import Model, find_spoiling_classes, list_joint_columns, min_class_rows
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.core.theory.collusion import judge_by_halves
from shoal.methods._shared.progress import Progress
from shoal.methods._shared.refusals import check_quasi, explain_not_met
from shoal.methods._topdown.row_segments import CandidateCuts, Segments

Numbers = NDArray[np.int64]
"""Numbers of segments, of columns."""


@dataclass
class TopDownSearch:
    """The segments still open, which of them meet the model, and those that are done."""

    segments: Segments
    model: Model
    hold_back: int
    progress: Progress | None = None
    last_column: int | None = None
    """A column that is not published: a segment is cut on it where no other cut can be made."""
    closed: list[tuple[NDArray[np.int64], NDArray[np.bool_], Cells]] = field(default_factory=list)
    people_placed: int = 0
    depth: int = 0

    @classmethod
    def of(
        cls,
        tally: Tally,
        model: Model,
        *,
        relaxed: bool,
        rng: np.random.Generator | None,
        **options: Any,
    ) -> Self:
        """The search of a whole tally."""
        check_quasi(tally)
        if relaxed and not model.monotone:
            raise UsageError(
                f"Relaxed cuts may give two classes the same cells, which {model} may not survive.",
                "use strict cuts.",
            )
        rng = rng or np.random.default_rng(0)
        return cls(
            Segments.of(tally, model, list_joint_columns(model), relaxed, rng), model, **options
        )

    def __post_init__(self) -> None:
        whole = self.segments.count_groups(self.model)
        self.meets_rule = self.model.holds(whole)
        if not self.meets_rule.all() and not self.hold_back:
            raise explain_not_met(self.model, whole)
        self.judged_together = not self.model.local and bool(self.meets_rule.all())
        self.judged_alone = not self.model.local and not self.judged_together
        self.phases, self.phase = 1 + self.judged_alone, 0
        if self.judged_together:
            self._start_joint_judgement(whole)

    def _start_joint_judgement(self, classes: Groups) -> None:
        self.state = self.model.start(classes)  # type: ignore[attr-defined]
        self.n_classes = len(classes)
        self.class_number = np.arange(self.n_classes)

    def reopen_classes(self) -> None:
        """Open the classes again that are good apart, as far as they are good together.

        What follows a table that is not good as a whole: its bad parts have been cut off.
        """
        rows = self.segments
        bounds, meets_rule, spans = self.collect_closed()
        people = np.append(0, np.cumsum(rows.count))[bounds]
        rows.start, rows.stop = bounds.T.copy()
        rows.people, rows.spans = np.diff(people, axis=1)[:, 0], spans
        remaining, groups = np.flatnonzero(meets_rule), rows.count_groups(self.model)
        while (spoiling := find_spoiling_classes(self.model, groups.take(remaining))).any():
            remaining = remaining[~spoiling]
        self.meets_rule = np.isin(np.arange(len(meets_rule)), remaining)
        self.closed, self.people_placed = [], 0
        self._close_segments(~self.meets_rule)
        rows.start, rows.stop, rows.people = (
            part[remaining] for part in (rows.start, rows.stop, rows.people)
        )
        rows.spans, self.meets_rule = spans.take(remaining), self.meets_rule[remaining]
        self.judged_together, self.judged_alone, self.phase = True, False, 1
        self._start_joint_judgement(groups.take(remaining))
        self._report_progress()

    def run(self, tally: Tally) -> Cut:
        """Cut until nothing can be cut; the classes as a cut of the tally."""
        while self.running:
            self.deepen()
        if self.judged_alone:
            self.reopen_classes()
        while self.running:
            self.deepen()
        return self.cut(tally)

    @property
    def running(self) -> bool:
        """Whether segments are open."""
        return len(self.segments.start) > 0

    def deepen(self) -> None:
        """Cut every open segment that can be cut; close the others."""
        chosen = self.choose_cuts()
        closed = np.ones(len(self.segments.start), dtype=bool)
        closed[chosen.segment] = False
        self._close_segments(closed)
        if self.judged_together:
            self.class_number = np.stack((self.class_number, self.right_class))[
                :, chosen.segment
            ].T.ravel()
        self.meets_rule = self.segments.apply_cuts(chosen)
        self.depth += 1
        self._report_progress()

    def _report_progress(self) -> None:
        """How many people are placed; in two turns where parts are cut off before."""
        if self.progress:
            people = self.segments.people_total
            self.progress(self.phase * people + self.people_placed, self.phases * people)

    def find_cuttable(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which segments may be cut at all, and the widths of their columns."""
        rows, widths = self.segments, self.segments.widths()
        if not self.model.monotone:
            widths[:, rows.may_coincide] = 0
        if self.judged_together:
            self.right_class = np.full(len(rows.start), -1)
        large = rows.people >= 2 * min_class_rows(self.model)
        cuttable = ~self.meets_rule if self.judged_alone else large | ~self.meets_rule
        return cuttable & (widths > 0).any(axis=1), widths

    def choose_cuts(self) -> CandidateCuts:
        """For each segment that can be cut its best cut, at most one."""
        cuttable, widths = self.find_cuttable()
        best = self.pick_best(
            self.find_balanced_cuts(*self.propose_first_cuts(np.flatnonzero(cuttable), widths))
        )
        cuttable[best.segment] = False
        best = best.joined(self.pick_best(self.propose_all_cuts(np.flatnonzero(cuttable), widths)))
        return best.take(np.argsort(self.segments.start[best.segment], kind="stable"))

    def propose_first_cuts(
        self, segments: Numbers, widths: NDArray[np.float64]
    ) -> tuple[Numbers, Numbers]:
        """The cuts to be tried before all others, as segments and columns: on the widest one."""
        return segments, widths[segments].argmax(axis=1)

    def propose_all_cuts(self, segments: Numbers, widths: NDArray[np.float64]) -> CandidateCuts:
        """Every column of each segment, widest first, then inside the nodes of trees, then last."""
        order = np.argsort(-widths[segments], axis=1, kind="stable")
        segment, column = np.repeat(segments, order.shape[1]), order.ravel()
        has_width = widths[segment, column] > 0
        segment, column = segment[has_width], column[has_width]
        tree = self.segments.has_levels[column]
        divisible = segments[self.is_divisible(segments)]
        last_columns = np.full(len(divisible), self.last_column or 0)
        segment = np.concatenate((segment, segment[tree], divisible))
        column = np.concatenate((column, column[tree], last_columns))
        free = np.arange(len(segment)) >= len(tree)
        order = np.argsort(segment, kind="stable")
        return self.find_balanced_cuts(segment[order], column[order], free[order])

    def is_divisible(self, segments: Numbers) -> NDArray[np.bool_]:
        """Which of the segments can be cut on the last column."""
        if self.last_column is None:
            return np.zeros(len(segments), bool)
        spans = self.segments.spans
        return np.asarray(
            spans.high[segments, self.last_column] > spans.low[segments, self.last_column]
        )

    def find_balanced_cuts(
        self, segment: Numbers, column: Numbers, free: NDArray[np.bool_] | None = None
    ) -> CandidateCuts:
        """Balanced cuts of these segments on these columns, where both halves are large enough."""
        candidates = self.segments.create_candidates(segment, column, free)
        self.segments.balance(candidates)
        min_rows = min_class_rows(self.model)
        left = candidates.left_people
        right = self.segments.people[candidates.segment] - left
        large = np.minimum(left, right) >= np.where(
            self.meets_rule[candidates.segment], min_rows, 1
        )
        return candidates.take(np.flatnonzero(large & (left > 0)))

    def pick_best(self, candidates: CandidateCuts) -> CandidateCuts:
        """Of each segment's candidates the first whose halves meet the model.

        A segment that does not meet it itself is cut where most of its people end up in a half
        that does; where no half does, by its first candidate.
        """
        if self.judged_together:
            return self._admit_cuts(candidates)
        holds = self._judge_halves(candidates)
        people = np.stack(
            (
                candidates.left_people,
                self.segments.people[candidates.segment] - candidates.left_people,
            ),
            axis=1,
        )
        meets_rule = self.meets_rule[candidates.segment]
        score = np.where(meets_rule, holds.all(axis=1), 1 + (people * holds).sum(axis=1))
        possible = np.flatnonzero(score > 0)
        order = possible[np.lexsort((possible, -score[possible], candidates.segment[possible]))]
        first = np.unique(candidates.segment[order], return_index=True)[1]
        chosen = order[first]
        return candidates.take(chosen, holds[chosen])

    def _judge_halves(self, candidates: CandidateCuts) -> NDArray[np.bool_]:
        holds = np.zeros((len(candidates), 2), dtype=bool)
        for block in self.segments.iterate_blocks(candidates):
            groups = self.segments.count_halves(candidates.take(block), self.model)
            holds[block] = self._judge_alone(groups).reshape(-1, 2)
        return holds

    def _judge_alone(self, groups: Groups) -> NDArray[np.bool_]:
        """Which classes meet the model by themselves; what cannot be decided in time does not."""
        judge = self.model.holds if self.model.local else self.model.holds_alone  # type: ignore[attr-defined]
        return judge_by_halves(lambda some, _: judge(some), groups)

    def _admit_cuts(self, candidates: CandidateCuts) -> CandidateCuts:
        """Of each segment's candidates the first that the table survives, one after the other."""
        chosen = []
        for block in self.segments.iterate_blocks(candidates):
            block = block[self.right_class[candidates.segment[block]] < 0]
            undecided = candidates.take(block)
            class_ = self.class_number[undecided.segment]
            halves = self.segments.count_halves(undecided, self.model)
            self.state, admitted_here = self.model.admit(self.state, class_, halves)  # type: ignore[attr-defined]
            chosen.append(block[admitted_here])
            self.right_class[undecided.segment[admitted_here]] = self.n_classes + np.arange(
                admitted_here.sum()
            )
            self.n_classes += int(admitted_here.sum())
        admitted = np.concatenate([np.zeros(0, np.int64), *chosen])
        return candidates.take(admitted, np.ones((len(admitted), 2), dtype=bool))

    def _close_segments(self, closed: NDArray[np.bool_]) -> None:
        rows = self.segments
        numbers = np.flatnonzero(closed)
        bounds = np.stack((rows.start[numbers], rows.stop[numbers]), axis=1)
        self.closed.append((bounds, self.meets_rule[numbers], rows.spans.take(numbers)))
        self.people_placed += int(rows.people[numbers].sum())

    def collect_closed(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], Cells]:
        """The bounds of all that is done, which of it is good, and its spans."""
        bounds, meets_rule, spans = zip(*self.closed, strict=True)
        return np.concatenate(bounds), np.concatenate(meets_rule), Cells.joined(spans)

    def cut(self, tally: Tally) -> Cut:
        """The finished classes as a cut of the tally."""
        bounds, meets_rule, spans = self.collect_closed()
        number = np.where(meets_rule, np.cumsum(meets_rule) - 1, SUPPRESSED).astype(np.int32)
        class_ = np.empty(len(self.segments.entry), dtype=np.int32)
        order = np.argsort(bounds[:, 0])
        class_[:] = np.repeat(number[order], np.diff(bounds, axis=1)[order, 0])
        published, n_quasi = spans.take(np.flatnonzero(meets_rule)), len(tally.quasi)
        cells = cover_ranges(
            tally.quasi, published.low[:, :n_quasi], published.high[:, :n_quasi], published.sets
        )
        entry, class_, count = self.segments.pieces(class_)
        cut = Cut(entry, class_, count, cells, {"depth": self.depth})
        all_differ = (
            not self.segments.relaxed
            and self.last_column is None
            and not self.segments.may_coincide.any()
        )
        return cut if all_differ else cut.merged()  # where cells are the segments' own, all differ
