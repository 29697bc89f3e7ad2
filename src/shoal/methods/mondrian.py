"""Mondrian: cut the table in two, again and again, wherever both halves still meet the rule.

Each class starts as the whole table. At every step the quasi-identifier whose cell is widest is
cut nearest to the median of its people; where that half or this one would break the rule, the
next widest is tried. Strict: all people with equal codes stay together. Relaxed: people at the
median may be divided. On a tree, cuts fall between the children of a node before they fall
inside one. All nodes of one depth are cut together and the rule is asked in batches. A rule that
judges the whole table at once, such as (c,k)-safety, admits the cuts of one depth in turn: first
each class's widest column, then for the classes left whole their other columns.

LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.

What it does not give: the least loss possible (finding that is NP-hard); and an adversary who
knows the algorithm can use that a refused cut would have broken the rule (minimality attack).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.cells import Cells, publishable
from shoal.errors import NotMetError, UsageError
from shoal.methods.segments import Candidates, Segments
from shoal.model import Model, least_rows, parts, products, spoiling
from shoal.release import short
from shoal.tally import HELD_BACK, Cut, Groups, Tally

Progress = Callable[[int, int], None]
APART = True
"""A class is cut by its own people alone, so that one can be made again without the others."""


def mondrian(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    relaxed: bool = False,
    hold_back: bool = False,
) -> Cut:
    """Cut the tally top-down into classes that meet the model.

    ``hold_back``: where the whole table does not meet the model, parts of it that cannot are
    held back instead of refused; under a rule that judges all classes together they are cut off
    first, and what is left is cut further. ``rng`` chooses which of the people at a relaxed cut go
    where; strict cuts depend on the tally alone. Under a rule that merging classes may break
    (δ-presence), columns with a tree or nulls are not cut, because their cells may coincide.
    """
    if relaxed and not model.monotone:
        raise UsageError(
            f"Relaxed cuts may give two classes the same cells, which {model} may not survive.",
            "use strict cuts.",
        )
    rng = rng or np.random.default_rng(0)
    rows = Segments.of(tally, model, products(model), relaxed, rng)
    search = _Search(rows, model, hold_back, progress)
    while search.running:
        search.deepen()
    if search.apart:
        search.rejoin()
    while search.running:
        search.deepen()
    return search.cut(tally)


@dataclass
class _Search:
    """The segments still open, which of them meet the model, and those that are done."""

    rows: Segments
    model: Model
    hold_back: bool
    progress: Progress | None = None
    done: list[tuple[NDArray[np.int64], NDArray[np.bool_], Cells]] = field(default_factory=list)
    placed: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        whole = self.rows.whole(self.model)
        self.good = self.model.holds(whole)
        if not self.good.all() and not self.hold_back:
            raise refusal(self.model, whole)
        self.joint = not self.model.local and bool(self.good.all())
        self.apart = not self.model.local and not self.joint
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
        bounds, good, spans = self._finished()
        people = np.append(0, np.cumsum(rows.count))[bounds]
        rows.start, rows.stop = bounds.T.copy()
        rows.people, rows.spans = np.diff(people, axis=1)[:, 0], spans
        kept, groups = np.flatnonzero(good), rows.whole(self.model)
        while (bad := spoiling(self.model, groups.take(kept))).any():
            kept = kept[~bad]
        self.good = np.isin(np.arange(len(good)), kept)
        self.done, self.placed = [], 0
        self._close(~self.good)
        rows.start, rows.stop, rows.people = (a[kept] for a in (rows.start, rows.stop, rows.people))
        rows.spans, self.good = spans.take(kept), self.good[kept]
        self.joint, self.apart = True, False
        self._start(groups.take(kept))

    @property
    def running(self) -> bool:
        return len(self.rows.start) > 0

    def deepen(self) -> None:
        """Cut every open segment that can be cut; close the others."""
        chosen = self._choose()
        closed = np.ones(len(self.rows.start), dtype=bool)
        closed[chosen.segment] = False
        self._close(closed)
        if self.joint:
            self.number = np.stack((self.number, self.right))[:, chosen.segment].T.ravel()
        self.good = self.rows.part(chosen)
        self.depth += 1
        if self.progress:
            self.progress(self.placed, self.rows.people_total)

    def _choose(self) -> Candidates:
        """For each segment that can be cut its best cut, at most one."""
        rows, least = self.rows, least_rows(self.model)
        widths = rows.widths()
        if not self.model.monotone:
            widths[:, rows.has_levels] = 0
        able = ~self.good if self.apart else (rows.people >= 2 * least) | ~self.good
        widest = widths.argmax(axis=1)
        able &= widths[np.arange(len(widths)), widest] > 0
        first = np.flatnonzero(able)
        if self.joint:
            self.right = np.full(len(rows.start), -1)
        best = self._best(self._cut(rows.candidates(first, widest[first])))
        able[best.segment] = False
        best = best.joined(self._best(self._all(np.flatnonzero(able), widths)))
        return best.take(np.argsort(rows.start[best.segment], kind="stable"))

    def _all(self, segments: NDArray[Any], widths: NDArray[Any]) -> Candidates:
        """Every column of each segment, widest first, then inside the nodes of trees."""
        order = np.argsort(-widths[segments], axis=1, kind="stable")
        segment, column = np.repeat(segments, order.shape[1]), order.ravel()
        wide = widths[segment, column] > 0
        segment, column = segment[wide], column[wide]
        tree = self.rows.has_levels[column]
        both = np.concatenate((segment, segment[tree])), np.concatenate((column, column[tree]))
        free = np.concatenate((np.zeros(len(segment), bool), np.ones(int(tree.sum()), bool)))
        by_segment = np.argsort(both[0], kind="stable")
        found = self.rows.candidates(both[0][by_segment], both[1][by_segment], free[by_segment])
        return self._cut(found)

    def _cut(self, candidates: Candidates) -> Candidates:
        """Balance the candidates and keep those with two halves large enough."""
        self.rows.balance(candidates)
        least = least_rows(self.model)
        left = candidates.left
        right = self.rows.people[candidates.segment] - left
        large = np.minimum(left, right) >= np.where(self.good[candidates.segment], least, 1)
        return candidates.take(np.flatnonzero(large & (left > 0)))

    def _best(self, candidates: Candidates) -> Candidates:
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

    def _judge(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Whether the left and the right half of each candidate meet the model."""
        holds = np.zeros((len(candidates), 2), dtype=bool)
        for block in self.rows.blocks(candidates):
            groups = self.rows.halves(candidates.take(block), self.model)
            found = self.model.holds(groups) if self.model.local else self.model.alone(groups)  # type: ignore[attr-defined]
            holds[block] = found.reshape(-1, 2)
        return holds

    def _admitted(self, candidates: Candidates) -> Candidates:
        """Of each segment's candidates the first that the table survives, one after the other."""
        chosen = []
        for block in self.rows.blocks(candidates):
            block = block[self.right[candidates.segment[block]] < 0]
            some = candidates.take(block)
            class_, halves = self.number[some.segment], self.rows.halves(some, self.model)
            self.state, made = self.model.admit(self.state, class_, halves)  # type: ignore[attr-defined]
            chosen.append(block[made])
            self.right[some.segment[made]] = self.numbers + np.arange(made.sum())
            self.numbers += int(made.sum())
        found = np.concatenate([np.zeros(0, np.int64), *chosen])
        return candidates.take(found, np.ones((len(found), 2), dtype=bool))

    def _close(self, closed: NDArray[np.bool_]) -> None:
        """Move segments that are not cut again to the finished classes."""
        rows = self.rows
        pick = np.flatnonzero(closed)
        bounds = np.stack((rows.start[pick], rows.stop[pick]), axis=1)
        self.done.append((bounds, self.good[pick], rows.spans.take(pick)))
        self.placed += int(rows.people[pick].sum())

    def _finished(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], Cells]:
        """The bounds of all that is done, which of it is good, and its spans."""
        bounds, good, spans = zip(*self.done, strict=True)
        return np.concatenate(bounds), np.concatenate(good), Cells.joined(spans)

    def cut(self, tally: Tally) -> Cut:
        """The finished classes as a cut of the tally."""
        bounds, good, spans = self._finished()
        number = np.where(good, np.cumsum(good) - 1, HELD_BACK).astype(np.int32)
        class_ = np.empty(len(self.rows.entry), dtype=np.int32)
        order = np.argsort(bounds[:, 0])
        class_[:] = np.repeat(number[order], np.diff(bounds, axis=1)[order, 0])
        kept = spans.take(np.flatnonzero(good))
        cells = publishable(tally.quasi, kept.low, kept.high, kept.sets)
        entry, class_, count = self.rows.pieces(class_)
        cut = Cut(entry, class_, count, cells, {"depth": self.depth})
        apart = not self.rows.relaxed and all(a.shape != "tree" and not a.null for a in tally.quasi)
        return cut if apart else cut.merged()  # where cells are the segments' own, all differ


def refusal(model: Model, whole: Groups) -> NotMetError:
    """Why a table cannot meet a rule even as one class: what fails, and what it reaches."""
    failed = [part for part in parts(model) if not part.holds(whole).all()]
    partial = any(h.total.sum() > whole.rows.sum() for h in whole.sensitive)
    table = "that part of it" if partial else "the whole table"
    told = "; ".join(f"{part}{_reached(part, whole, table)}" for part in failed)
    advice = [str(part.advice(whole)) for part in failed if hasattr(part, "advice")]
    return NotMetError(
        f"{'A part of the table' if partial else 'The table'} as a single class does not meet the "
        f"rule: {told}.",
        " ".join(filter(None, advice))
        or "weaken the rule to what the whole table reaches, or, where some parts of it could meet "
        "the rule, allow rows to be held back (--hold-back SHARE).",
    )


def _reached(part: Model, whole: Groups, table: str) -> str:
    """What a table reaches, in brackets; where the rule asks for less than its parameter, that too.

    Nothing where no parameter would do.
    """
    value = part.reached(whole)
    if not math.isfinite(value):
        return ""
    advised = hasattr(part, "advice") and part.advice(whole)
    if advised or not getattr(part, "strict", False):
        return f" ({table} reaches {short(value)})"
    return f" ({table} reaches {short(value)}, and {part.parameter} must be above that)"  # type: ignore[attr-defined]
