"""Tables with hierarchies of random depth, and every combination of their levels."""

from __future__ import annotations

import itertools

import numpy as np

from shoal.core.axis import Axis, Level
from shoal.core.model import find_spoiling_classes, list_joint_columns
from shoal.core.tally import Groups, Tally
from shoal.methods._lattice.ladder import build_ladder, recode_to_rungs


def axis(name, rng, most=6):
    """A tree of some leaves, with up to two levels between them and the root; maybe with null."""
    leaves = int(rng.integers(2, most + 1))
    starts = [np.arange(leaves)]
    for _ in range(rng.integers(0, 3)):
        kept = rng.random(len(starts[-1])) < 0.6
        kept[0] = True
        starts.append(starts[-1][kept])
    levels = tuple(
        Level(s.astype(np.int32), tuple(f"{name}{i}.{at}" for at in s))
        for i, s in enumerate(starts[1:])
    )
    shape = "tree" if levels else str(rng.choice(["tree", "flat", "ordered"]))
    texts = tuple("abcdefgh"[:leaves])
    return Axis(name, "category", shape, texts, bool(rng.random() < 0.3), levels)


def table(seed, rows=40, columns=3, most=6):
    """A random tally with weights, a sensitive column and a provider."""
    rng = np.random.default_rng(seed)
    quasi = tuple(axis(f"q{j}", rng, most) for j in range(columns))
    sensitive, provider = Axis.numbered("s", 4), Axis.numbered("p", 3)
    sizes = [a.size for a in (*quasi, sensitive, provider)]
    drawn = np.stack([np.minimum(rng.geometric(0.4, rows) - 1, size - 1) for size in sizes])
    codes, count = np.unique(drawn, axis=1, return_counts=True)
    codes = codes.astype(np.int32)
    return Tally(
        quasi,
        (sensitive,),
        codes[:columns],
        codes[columns : columns + 1],
        count.astype(np.int64),
        provider,
        codes[-1],
        None,
        tuple(rng.choice([1.0, 2.0, 0.5], columns).tolist()),
    )


def every_node(tally, model):
    """Each combination of levels: the levels, its cut with what must be held back, and how many."""
    ladders = [build_ladder(one) for one in tally.quasi]
    for rungs in itertools.product(*ladders):
        cut = recode_to_rungs(tally, rungs)
        while cut.classes:
            bad = find_spoiling_classes(model, Groups.of(tally, cut, list_joint_columns(model)))
            if not bad.any():
                break
            cut = cut.without(bad)
        yield rungs, cut
