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

from typing import Any

import numpy as np

from shoal.core.model import Model
from shoal.core.tally import Cut, Tally
from shoal.kernels import cheapest_cut, split
from shoal.methods._shared.cell_widths import sum_cell_widths
from shoal.methods._shared.progress import Advance, Progress
from shoal.methods._topdown.least_loss_search import LossSearch

SEARCHES: tuple[dict[str, float], ...] = ({}, {"power": 1.1}, {"widest_above": 4.0})
"""How the searches differ that are made: see ``LossSearch``."""
KERNELS = (cheapest_cut, split)
"""What is compiled when it first runs on a machine."""


def greedy(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
) -> Cut:
    """Cut the tally top-down, always by least loss, into classes that meet the model.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet. Under a rule that merging classes may break
        (δ-presence) columns with a tree or nulls are not cut.
    rng
        Not used: nothing is random.
    progress
        Called with how much of how much is done.
    hold_back
        Above 0: where the whole table does not meet the model, parts that cannot are suppressed.

    Returns
    -------
    Cut
        The classes of the search that loses least; its facts: the ``depth`` of the cuts.

    Raises
    ------
    NotMetError
        The whole table does not meet the model, and no row may be suppressed.
    """
    cuts, advance = [], Advance(progress)
    for turn, settings in enumerate(SEARCHES):
        report = advance.part(turn / len(SEARCHES), (turn + 1) / len(SEARCHES))
        options: dict[str, Any] = {"hold_back": hold_back, "progress": report, **settings}
        cuts.append(LossSearch.of(tally, model, relaxed=False, rng=rng, **options).run(tally))
    return min(cuts, key=lambda cut: sum_cell_widths(tally, cut))
