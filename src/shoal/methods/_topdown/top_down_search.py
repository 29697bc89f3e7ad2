"""Cut the table in two, again and again: what the methods that work from the top down share.

All segments of one depth are cut together and the rule is asked in batches. Which cuts are tried,
and in which order, is ``Search.chosen``; a method that chooses otherwise overrides it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells, cover_ranges
from shoal.core.errors import UsageError
from shoal.core.model import (
    Model,
    find_spoiling_classes,
    list_joint_columns,
    min_class_rows,
)
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.core.theory.collusion import judge_by_halves
from shoal.methods._shared.progress import Progress
from shoal.methods._shared.refusals import check_quasi, explain_not_met
from shoal.methods._topdown.row_segments import CandidateCuts, Segments

Whole = NDArray[np.int64]
"""Numbers of segments, of columns."""


@dataclass
class TopDownSearch:
    """The segments still open, which of them meet the model, and those that are done."""

    rows: Segments
    model: Model
    hold_back: int
    progress: Progress | None = None
    last: int | None = None
    """A column that is not published: a segment is cut on it where no other cut can be made."""
    done: list[tuple[NDArray[np.int64], NDArray[np.bool_], Cells]] = field(default_factory=list)
    placed: int = 0
    depth: int = 0

    @classmethod
    def of(
        cls,
        tally: Tally,
        model: Model,
        *,
        relaxed: bool,
        rng: np.random.Generator | None,
        **how: Any,
    ) -> Self:
        """The search of a whole tally."""
        check_quasi(tally)
        if relaxed and not model.monotone:
            raise UsageError(
                f"Relaxed cuts may give two classes the same cells, which {model} may not survive.",
                "use strict cuts.",
            )
        rng = rng or np.random.default_rng(0)
        return cls(Segments.of(tally, model, list_joint_columns(model), relaxed, rng), model, **how)

    def __post_init__(self) -> None:
        whole = self.rows.whole(self.model)
        self.good = self.model.holds(whole)
        if not self.good.all() and not self.hold_back:
            raise explain_not_met(self.model, whole)
        self.joint = not self.model.local and bool(self.good.all())
        self.apart = not self.model.local and not self.joint
        self.turns, self.turn = 1 + self.apart, 0
        if self.joint:
            self._start(whole)

    def _start(self, classes: Groups) -> None:
        """Begin to judge all classes together."""
        self.state = self.model.start(classes)  # type: ignore[attr-defined]
        self.numbers = len(classes)
        self.number = np.arange(self.numbers)

    def rejoin(self) -> None:
        """Open the classes again that are good apart, as far as they are good together.

        What follows a table that is not good as a whole: its bad parts have been cut off.
        """
        rows = self.rows
        bounds, good, spans = self.finished()
        people = np.append(0, np.cumsum(rows.count))[bounds]
        rows.start, rows.stop = bounds.T.copy()
        rows.people, rows.spans = np.diff(people, axis=1)[:, 0], spans
        remaining, groups = np.flatnonzero(good), rows.whole(self.model)
        while (bad := find_spoiling_classes(self.model, groups.take(remaining))).any():
            remaining = remaining[~bad]
        self.good = np.isin(np.arange(len(good)), remaining)
        self.done, self.placed = [], 0
        self._close(~self.good)
        rows.start, rows.stop, rows.people = (
            a[remaining] for a in (rows.start, rows.stop, rows.people)
        )
        rows.spans, self.good = spans.take(remaining), self.good[remaining]
        self.joint, self.apart, self.turn = True, False, 1
        self._start(groups.take(remaining))
        self._tell()

    def run(self, tally: Tally) -> Cut:
        """Cut until nothing can be cut; the classes as a cut of the tally."""
        while self.running:
            self.deepen()
        if self.apart:
            self.rejoin()
        while self.running:
            self.deepen()
        return self.cut(tally)

    @property
    def running(self) -> bool:
        """Whether segments are open."""
        return len(self.rows.start) > 0

    def deepen(self) -> None:
        """Cut every open segment that can be cut; close the others."""
        chosen = self.chosen()
        closed = np.ones(len(self.rows.start), dtype=bool)
        closed[chosen.segment] = False
        self._close(closed)
        if self.joint:
            self.number = np.stack((self.number, self.right))[:, chosen.segment].T.ravel()
        self.good = self.rows.part(chosen)
        self.depth += 1
        self._tell()

    def _tell(self) -> None:
        """How many people are placed; in two turns where parts are cut off before."""
        if self.progress:
            people = self.rows.people_total
            self.progress(self.turn * people + self.placed, self.turns * people)

    def open_(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which segments may be cut at all, and the widths of their columns."""
        rows, widths = self.rows, self.rows.widths()
        if not self.model.monotone:
            widths[:, rows.may_coincide] = 0
        if self.joint:
            self.right = np.full(len(rows.start), -1)
        large = rows.people >= 2 * min_class_rows(self.model)
        able = ~self.good if self.apart else large | ~self.good
        return able & (widths > 0).any(axis=1), widths

    def chosen(self) -> CandidateCuts:
        """For each segment that can be cut its best cut, at most one."""
        able, widths = self.open_()
        best = self.best(self.cuts(*self.first_cuts(np.flatnonzero(able), widths)))
        able[best.segment] = False
        best = best.joined(self.best(self.all_cuts(np.flatnonzero(able), widths)))
        return best.take(np.argsort(self.rows.start[best.segment], kind="stable"))

    def first_cuts(self, segments: Whole, widths: NDArray[np.float64]) -> tuple[Whole, Whole]:
        """The cuts to be tried before all others, as segments and columns: on the widest one."""
        return segments, widths[segments].argmax(axis=1)

    def all_cuts(self, segments: Whole, widths: NDArray[np.float64]) -> CandidateCuts:
        """Every column of each segment, widest first, then inside the nodes of trees, then last."""
        order = np.argsort(-widths[segments], axis=1, kind="stable")
        segment, column = np.repeat(segments, order.shape[1]), order.ravel()
        wide = widths[segment, column] > 0
        segment, column = segment[wide], column[wide]
        tree = self.rows.has_levels[column]
        several = segments[self.divisible(segments)]
        lasts = np.full(len(several), self.last or 0)
        segment = np.concatenate((segment, segment[tree], several))
        column = np.concatenate((column, column[tree], lasts))
        free = np.arange(len(segment)) >= len(tree)
        order = np.argsort(segment, kind="stable")
        return self.cuts(segment[order], column[order], free[order])

    def divisible(self, segments: Whole) -> NDArray[np.bool_]:
        """Which of the segments can be cut on the last column."""
        if self.last is None:
            return np.zeros(len(segments), bool)
        spans = self.rows.spans
        return np.asarray(spans.high[segments, self.last] > spans.low[segments, self.last])

    def cuts(
        self, segment: Whole, column: Whole, free: NDArray[np.bool_] | None = None
    ) -> CandidateCuts:
        """Balanced cuts of these segments on these columns, where both halves are large enough."""
        candidates = self.rows.candidates(segment, column, free)
        self.rows.balance(candidates)
        least = min_class_rows(self.model)
        left = candidates.left
        right = self.rows.people[candidates.segment] - left
        large = np.minimum(left, right) >= np.where(self.good[candidates.segment], least, 1)
        return candidates.take(np.flatnonzero(large & (left > 0)))

    def best(self, candidates: CandidateCuts) -> CandidateCuts:
        """Of each segment's candidates the first whose halves meet the model.

        A segment that does not meet it itself is cut where most of its people end up in a half
        that does; where no half does, by its first candidate.
        """
        if self.joint:
            return self._admitted(candidates)
        holds = self._judge(candidates)
        people = np.stack(
            (candidates.left, self.rows.people[candidates.segment] - candidates.left), axis=1
        )
        good = self.good[candidates.segment]
        score = np.where(good, holds.all(axis=1), 1 + (people * holds).sum(axis=1))
        possible = np.flatnonzero(score > 0)
        order = possible[np.lexsort((possible, -score[possible], candidates.segment[possible]))]
        first = np.unique(candidates.segment[order], return_index=True)[1]
        chosen = order[first]
        return candidates.take(chosen, holds[chosen])

    def _judge(self, candidates: CandidateCuts) -> NDArray[np.bool_]:
        """Whether the left and the right half of each candidate meet the model."""
        holds = np.zeros((len(candidates), 2), dtype=bool)
        for block in self.rows.blocks(candidates):
            groups = self.rows.halves(candidates.take(block), self.model)
            holds[block] = self._holds(groups).reshape(-1, 2)
        return holds

    def _holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Which classes meet the model by themselves; what cannot be decided in time does not."""
        judge = self.model.holds if self.model.local else self.model.holds_alone  # type: ignore[attr-defined]
        return judge_by_halves(lambda some, _: judge(some), groups)

    def _admitted(self, candidates: CandidateCuts) -> CandidateCuts:
        """Of each segment's candidates the first that the table survives, one after the other."""
        chosen = []
        for block in self.rows.blocks(candidates):
            block = block[self.right[candidates.segment[block]] < 0]
            some = candidates.take(block)
            class_, halves = self.number[some.segment], self.rows.halves(some, self.model)
            self.state, is_made = self.model.admit(self.state, class_, halves)  # type: ignore[attr-defined]
            chosen.append(block[is_made])
            self.right[some.segment[is_made]] = self.numbers + np.arange(is_made.sum())
            self.numbers += int(is_made.sum())
        admitted = np.concatenate([np.zeros(0, np.int64), *chosen])
        return candidates.take(admitted, np.ones((len(admitted), 2), dtype=bool))

    def _close(self, closed: NDArray[np.bool_]) -> None:
        """Move segments that are not cut again to the finished classes."""
        rows = self.rows
        pick = np.flatnonzero(closed)
        bounds = np.stack((rows.start[pick], rows.stop[pick]), axis=1)
        self.done.append((bounds, self.good[pick], rows.spans.take(pick)))
        self.placed += int(rows.people[pick].sum())

    def finished(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], Cells]:
        """The bounds of all that is done, which of it is good, and its spans."""
        bounds, good, spans = zip(*self.done, strict=True)
        return np.concatenate(bounds), np.concatenate(good), Cells.joined(spans)

    def cut(self, tally: Tally) -> Cut:
        """The finished classes as a cut of the tally."""
        bounds, good, spans = self.finished()
        number = np.where(good, np.cumsum(good) - 1, SUPPRESSED).astype(np.int32)
        class_ = np.empty(len(self.rows.entry), dtype=np.int32)
        order = np.argsort(bounds[:, 0])
        class_[:] = np.repeat(number[order], np.diff(bounds, axis=1)[order, 0])
        published, q = spans.take(np.flatnonzero(good)), len(tally.quasi)
        cells = cover_ranges(
            tally.quasi, published.low[:, :q], published.high[:, :q], published.sets
        )
        entry, class_, count = self.rows.pieces(class_)
        cut = Cut(entry, class_, count, cells, {"depth": self.depth})
        own = not self.rows.relaxed and self.last is None and not self.rows.may_coincide.any()
        return cut if own else cut.merged()  # where cells are the segments' own, all differ
