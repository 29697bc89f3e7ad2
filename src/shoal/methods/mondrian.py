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

from typing import Any

import numpy as np

from shoal.core.model import Model
from shoal.core.tally import Cut, Tally
from shoal.kernels import split
from shoal.methods._shared.progress import Progress
from shoal.methods._topdown.top_down_search import TopDownSearch

SPLITS_LOCALLY = True
"""A class is cut by its own people alone, so that one can be made again without the others."""
KERNELS = (split,)
"""What is compiled when it first runs on a machine."""


def mondrian(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    relaxed: bool = False,
    hold_back: int = 0,
) -> Cut:
    """Cut the tally top-down into classes that meet the model, at medians of the widest columns.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet. Under a rule that merging classes may break
        (δ-presence) columns with a tree or nulls are not cut, because their cells may coincide.
    rng
        Chooses which of the people at a relaxed cut go where; strict cuts depend on the tally
        alone.
    progress
        Called with how much of how much is done.
    relaxed
        Whether people with equal codes at the median may be divided.
    hold_back
        Above 0: where the whole table does not meet the model, parts that cannot are suppressed.
        Under a rule that judges all classes together they are cut off first.

    Returns
    -------
    Cut
        The classes; its facts: the ``depth`` of the cuts.

    Raises
    ------
    NotMetError
        The whole table does not meet the model, and no row may be suppressed.
    UsageError
        Nothing is to be generalised, or relaxed cuts do not go with the rule.
    """
    how: dict[str, Any] = {"hold_back": hold_back, "progress": progress}
    return TopDownSearch.of(tally, model, relaxed=relaxed, rng=rng, **how).run(tally)
