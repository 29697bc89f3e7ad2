"""What an auditor looks at in the outputs of a mechanism: numbers that may tell two tables apart.

Every output is a row of cells. The person's own cells are those in which the two tables differ. Sum
and nearness are the likelihood ratios of Gaussian and of Laplace noise, meeting exactly that of
randomised response; the person's cells beside the others betray noise that is used twice. Two look
at all cells: a linear separator, learnt from runs that nothing else is decided by (Fisher: The use
of multiple measurements in taxonomic problems, 1936), sees what leaks into cells that the person is
not in; cells that are met exactly, the person's and all others together, betray counts that are now
and then published without noise.

It does not see what none of these numbers shows: a leak into the variance of a cell, into the order
of rows, or into two cells together of which each alone is as it should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

EVENTS = (
    "the sum of the person's cells",
    "which table the person's cells are nearer to",
    "in how many cells one table is met exactly",
    "the person's cells beside the others",
    "which cells are printed",
    "in how many of all cells a table is met exactly",
    "all cells, weighed as other runs tell",
)
"""What is looked at where nobody says: the best of them is chosen."""
FITTED = EVENTS[-1:]
"""Those that are learnt from outputs."""
TELLING, MOST = 2.5, 100
"""A cell is weighed where its means differ by so many standard errors; at most so many cells."""
OWN_NOISE = 0.1
"""The share of a cell's covariance with others that is taken for chance."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outputs:
    """What runs published: a row of cells for each, NaN where a cell is not printed."""

    cells: Floats
    lengths: NDArray[np.int64]
    """How many cells each run printed, where they are not even as many as there are."""

    @classmethod
    def of(cls, found: Sequence[Any], size: int) -> Outputs:
        """The outputs of runs on a table of so many cells; of other lengths only that is known."""
        rows = [np.asarray(one, np.float64).ravel() for one in found]
        lengths = np.array([len(row) for row in rows])
        cells = np.full((len(rows), size), np.nan)
        for row, into in zip(rows, cells, strict=True):
            if len(row) == size:
                into[:] = row
        return cls(cells, lengths)

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """Several, one after the other."""
        cells, lengths = ([getattr(one, name) for one in parts] for name in ("cells", "lengths"))
        return cls(np.concatenate(cells), np.concatenate(lengths))


@dataclass(frozen=True)
class Looks:
    """The statistics of outputs, in the order of ``EVENTS``."""

    before: Floats
    after: Floats
    weights: Floats
    """Of all cells, and of whether each is printed."""

    @classmethod
    def of(cls, before: NDArray[Any], after: NDArray[Any], one: Outputs, other: Outputs) -> Looks:
        """Looks at two tables; weights are learnt from outputs of the one and of the other."""
        unfitted = cls(before.astype(np.float64), after.astype(np.float64), np.zeros(0))
        weights = separator(unfitted._features(one), unfitted._features(other))
        return cls(unfitted.before, unfitted.after, weights)

    def __call__(self, outputs: Outputs) -> Floats:
        """A row of statistics for each output."""
        own = self.before != self.after
        here, there, cells = self.before[own], self.after[own], self._filled(outputs)
        mine, others = cells[:, own], cells[:, ~own] - self.before[~own]
        noise = others.mean(axis=1) if others.shape[1] else np.zeros(len(cells))
        side, whole = np.sign(there - here), outputs.lengths == len(own)
        met_there, met_here = mine == there, mine == here
        which = met_there.all(axis=1) * 1.0 - met_here.all(axis=1)
        found = (
            (mine - (here + there) / 2) @ (there - here),
            (np.abs(mine - here) - np.abs(mine - there)).sum(axis=1),
            met_there.sum(axis=1) - met_here.sum(axis=1),
            np.round((side * (mine - here)).mean(axis=1) - side.mean() * noise, 9),
            np.where(whole, np.isfinite(outputs.cells[:, own]).sum(axis=1), outputs.lengths),
            which * (1 + (others == 0).sum(axis=1)),
            np.round(self._features(outputs) @ self.weights, 9),
        )
        return np.stack(found, axis=1).astype(np.float64)

    def _filled(self, outputs: Outputs) -> Floats:
        """The cells, with what says nothing of either table where none is printed."""
        middle = (self.before + self.after) / 2
        middle[self.before == self.after] += 0.5  # not met exactly
        return np.where(np.isnan(outputs.cells), middle, outputs.cells)

    def _features(self, outputs: Outputs) -> Floats:
        printed = np.isfinite(outputs.cells)
        middle = (self.before + self.after) / 2
        return np.hstack([np.where(printed, outputs.cells - middle, 0.0), printed])


def separator(one: Floats, other: Floats) -> Floats:
    """The weights of Fisher's linear separator of two sets of rows; 0 for what tells nothing.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2, 500, 3))
    >>> (separator(noise[0], noise[1] + [0, 1, 0]) > 0.3).tolist()
    [False, True, False]
    """
    apart = other.mean(axis=0) - one.mean(axis=0)
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other)) + 1e-9
    weights, telling = np.zeros(one.shape[1]), np.abs(apart) / error
    kept = np.flatnonzero(telling > TELLING)
    kept = kept[np.argsort(-telling[kept], kind="stable")[:MOST]]
    if len(kept):
        within = sum(np.atleast_2d(np.cov(side[:, kept], rowvar=False)) for side in (one, other))
        own = np.diag(np.diag(within) + 1e-6)
        weights[kept] = np.linalg.solve((1 - OWN_NOISE) * within + OWN_NOISE * own, apart[kept])
    return weights
