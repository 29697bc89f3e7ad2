"""Provider-aware: Mondrian that parts the rows of different providers where nothing else helps.

As Mondrian, the table is cut in two again and again wherever both halves meet the rule. Providers
are a further column to cut on, which is not published: ordered by how many rows they brought, and
cut nearest to the median row. Fewer providers in a class are fewer coalitions to fear; in a class
of a single provider there are none. ``choice`` says when that cut is taken:

``quasi``  last: only where no quasi-identifier can be cut. Best where providers are alike.
``apart``  first: providers are parted as far as the rule allows, before any quasi-identifier is
           cut. Best where a few providers have most of the rows: with them among the others every
           class must be large enough to lose them.
``least``  both, and the one that loses less is kept: the default.
``score``  the paper's rule: of all cuts that can be made the one whose halves fulfil the rule
           best, by (1 − a) rows / k + a values / l of the worse half, a = .8. It loses far more.

Whether halves withstand coalitions is decided exactly and in batches, so that the paper's adaptive
choice between its verifiers is not needed (they are in ``shoal.models._verifiers``, for
comparison).

S. Goryczka, L. Xiong and B. C. M. Fung: m-privacy for collaborative data publishing,
CollaborateCom 2011 (algorithm 2).

What it does not give: the least loss possible; classes that do not overlap (two classes of
different providers may cover the same people). Under a rule that merging classes may break, such
as m-privacy of entropy diversity, providers are not cut, and it is Mondrian.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.core.model import Model
from shoal.core.tally import Cut, Tally
from shoal.core.theory.collusion import score_fitness
from shoal.kernels import split
from shoal.methods._shared.cell_widths import sum_cell_widths
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._topdown.row_segments import CandidateCuts
from shoal.methods._topdown.top_down_search import Numbers, TopDownSearch

ALPHA = 0.8
"""What values count for in the paper's score, against rows."""
KERNELS = (split,)
"""What is compiled when it first runs on a machine."""


def provider_aware(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    relaxed: bool = False,
    hold_back: int = 0,
    choice: str = "least",
) -> Cut:
    """Cut the tally top-down into classes that meet the model, on providers too.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet. Where it does not ask who provided the rows, the method
        is Mondrian.
    rng
        Chooses which of the people at a relaxed cut go where.
    progress
        Called with how much of how much is done.
    relaxed
        Whether people with equal codes at the median may be divided.
    hold_back
        Above 0: where the whole table does not meet the model, parts that cannot are suppressed.
    choice
        When providers are cut: ``least``, ``quasi``, ``apart`` or ``score``, as above.

    Returns
    -------
    Cut
        The classes; its facts: the ``depth`` of the cuts.

    Raises
    ------
    NotMetError
        The whole table does not meet the model, and no row may be suppressed.
    UsageError
        There is no such choice.
    """
    if choice not in CHOICES:
        raise UsageError(f"There is no choice {choice!r}.", f"it is one of {', '.join(CHOICES)}.")
    options: dict[str, Any] = {"relaxed": relaxed, "hold_back": hold_back}
    searches, table = CHOICES[choice], tally
    if tally.providers is not None and "provider" in model.needs and model.monotone:
        table, options = _add_provider_column(tally), options | {"last_column": len(tally.quasi)}
    else:
        searches = (TopDownSearch,)
    seed = rng or np.random.default_rng(0)
    cuts, advance = [], Advance(progress)
    for turn, search in enumerate(searches):
        report = advance.part(turn / len(searches), (turn + 1) / len(searches))
        started = search.of(table, model, rng=deepcopy(seed), progress=report, **options)
        cuts.append(started.run(tally))
    return min(cuts, key=lambda cut: sum_cell_widths(tally, cut))


def _add_provider_column(tally: Tally) -> Tally:
    """The tally with the provider as one more column, which weighs nothing: most rows last."""
    assert tally.providers is not None
    rows = np.bincount(tally.providers, weights=tally.count)
    place = np.argsort(np.argsort(rows, kind="stable"))[tally.providers]
    column = Axis("", "category", "ordered", tuple(map(str, range(len(rows)))))
    return replace(
        tally,
        quasi=(*tally.quasi, column),
        keys=np.concatenate((tally.keys, place[np.newaxis].astype(np.int32))),
        weights=(*tally.importance.tolist(), 0.0),
    )


class _ProvidersFirst(TopDownSearch):
    """Providers are parted first."""

    def propose_first_cuts(
        self, segments: Numbers, widths: NDArray[np.float64]
    ) -> tuple[Numbers, Numbers]:
        _, widest = super().propose_first_cuts(segments, widths)
        return segments, np.where(self.is_divisible(segments), self.last_column or 0, widest)


class _ByScore(TopDownSearch):
    """Of all cuts that can be made the one that fulfils the rule best."""

    def choose_cuts(self) -> CandidateCuts:
        cuttable, widths = self.find_cuttable()
        candidates = self.propose_all_cuts(np.flatnonzero(cuttable), widths)
        order = np.lexsort((-self._score_candidates(candidates), candidates.segment))
        return self.pick_best(candidates.take(order))

    def _score_candidates(self, candidates: CandidateCuts) -> NDArray[np.float64]:
        score = np.zeros(len(candidates))
        for block in self.segments.iterate_blocks(candidates):
            halves = self.segments.count_halves(candidates.take(block), self.model)
            score[block] = score_fitness(self.model, halves, ALPHA).reshape(-1, 2).min(axis=1)
        return score


CHOICES: dict[str, tuple[type[TopDownSearch], ...]] = {
    "least": (TopDownSearch, _ProvidersFirst),
    "quasi": (TopDownSearch,),
    "apart": (_ProvidersFirst,),
    "score": (_ByScore,),
}
