"""Tree order: put people in a line by a tree that cuts where least is lost, then cut the line.

The table is cut in two, again and again, down to single combinations of quasi-identifiers. Each
time every cut of every column is looked at, and the one taken for which people × loss, added up
over both halves, is least. That looks one cut ahead, and on trees several may have to be made
before any of them pays: so lines are also made in which nodes of more than 4 k and 32 k people are
cut as Mondrian does, on the widest column at its median; and one whose cuts are more even (people
to the power of 1.1 × loss). Which line loses least is found out, on a sample where the table is
large. The leaves of the tree from left to right are the line; of two halves the one comes first to
which whoever stands before them is nearer on the column that was cut. The line is then cut into
classes of k to 2k − 1 people at the least loss of all ways to cut it (``_shared/line_cut.py``). A
rule that asks for more than k people joins classes that break it with their neighbours; where it
judges classes one by one and the table is not large, that is done with every line.

The one-dimensional programme: G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, Fast data
anonymization with low information loss, VLDB 2007. They put people in line along a space-filling
curve (``hilbert``); the tree takes its place, with the cuts of LeFevre, DeWitt, Ramakrishnan:
Mondrian multidimensional k-anonymity, ICDE 2006, chosen by loss.

What it does not give: cells that do not overlap. People with equal quasi-identifiers may be in
different classes, and somebody's values may lie in the cells of classes that they are not in. The
least loss possible: that is NP-hard. Nor does it protect by itself: the rule does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Model, min_class_rows
from shoal.core.tally import Cut, Tally
from shoal.kernels import line_order
from shoal.kernels.cell_width import AxisWidths
from shoal.kernels.line_order import cut_into_segments
from shoal.kernels.line_order import order_by_tree as leaves
from shoal.methods._shared.cell_widths import pack_axis_widths, sum_cell_widths
from shoal.methods._shared.line_cut import cut_along_line
from shoal.methods._shared.points import Points
from shoal.methods._shared.progress import Advance, Progress

NEVER = 1 << 40
TREE_SETTINGS = ((1.0, NEVER), (1.1, NEVER), (1.0, 4), (1.0, 32))
"""To which power the people of a half count in what a cut costs, and from how many times k people
on a node is cut in the middle instead: all are tried."""
SAMPLE_POINTS = 20_000
"""On about so many combinations of quasi-identifiers."""
KERNELS = (line_order,)
"""What is compiled when it first runs on a machine."""


def tree_order(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
) -> Cut:
    """Cut the line of people that a tree makes into classes that meet the model.

    Parameters
    ----------
    tally
        The table, as counts of its distinct codes.
    model
        The rule that every class must meet.
    rng
        Puts people with equal quasi-identifiers in random order.
    progress
        Called with how much of how much is done.
    hold_back
        Above 0: where not even one class of everybody meets the model, classes that cannot are
        suppressed.

    Returns
    -------
    Cut
        The classes; its facts: the ``shortest`` that were made, and how many were ``joined`` with
        others because they broke the rule.

    Raises
    ------
    NotMetError
        One class of everybody does not meet the model, and no row may be suppressed.
    """
    points, advance = Points.of(tally), Advance(progress)
    widths = pack_axis_widths(tally.quasi, tally.importance)
    orders = _order_by_trees(points, widths, max(2, min_class_rows(model)), advance.half(0))
    rng = rng or np.random.default_rng(0)
    cuts: list[Cut] = []
    for turn, order in enumerate(orders, 1):
        options: dict[str, Any] = {
            "rng": rng,
            "hold_back": hold_back,
            "progress": advance.half(turn),
        }
        cuts.append(cut_along_line(tally, model, points, order, **options))
        if not (cuts[0].facts.get("joined") and model.local):
            break  # else all lines break the rule, each elsewhere
    advance.end()
    return min(cuts, key=lambda cut: sum_cell_widths(tally, cut))


def _order_by_trees(
    points: Points, widths: AxisWidths, min_rows: int, progress: Progress
) -> list[NDArray[np.int32]]:
    """The points in the order of each tree, from the line that loses least in classes of so many.

    Where the ways were tried on a sample, by the best way only.
    """
    step = max(1, len(points.count) // SAMPLE_POINTS)
    keys, count = points.keys[:, ::step], points.count[::step]
    orders, losses = [], []
    for done, (power, median_above) in enumerate(TREE_SETTINGS, 1):
        order = leaves(
            keys.copy(), count.copy(), widths, power, min(min_rows * median_above, NEVER)
        )
        orders.append(order)
        losses.append(_measure_line_loss(keys[:, order], count[order], widths, min_rows))
        progress(done, len(TREE_SETTINGS) * (1 if step == 1 else 2))
    ranked = np.argsort(losses, kind="stable")
    if step == 1:
        return [orders[at] for at in ranked]
    power, median_above = TREE_SETTINGS[ranked[0]]
    return [
        leaves(
            points.keys.copy(),
            points.count.copy(),
            widths,
            power,
            min(min_rows * median_above, NEVER),
        )
    ]


def _measure_line_loss(
    keys: NDArray[np.int32], count: NDArray[np.int64], widths: AxisWidths, min_rows: int
) -> float:
    """What a line of points loses; whoever stands among many equals can only lose nothing."""
    people = np.repeat(keys, np.minimum(count, 4 * min_rows), axis=1)
    return float(cut_into_segments(people, widths, min_rows, 2 * min_rows - 1)[1])
