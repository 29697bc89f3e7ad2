"""Lower bounds on ε and ρ: how far apart two tables' outputs are, from how often an event happens.

An event that happens with chance p on one of two neighbouring tables, and with chance q on the
other, proves ε >= ln((p - δ) / q). Both are known by counts alone: Clopper and Pearson (The use of
confidence or fiducial limits, Biometrika 1934) bound p from below and q from above, each with half
of the doubt.

With δ > 0 that says little: Gaussian noise spends its ε on events as rare as δ. Where ρ of
zero-concentrated privacy is claimed too, the same event bounds that from below: what is left of an
output after asking for one event is no further apart than the outputs, so that for all α > 1
ρ >= D_α(P[M(D) in E] ‖ P[M(D') in E]) / α, D_α the Rényi divergence of two coins (Bun, Steinke:
Concentrated differential privacy, TCC 2016).

No bound from above comes of it: another event, or other tables, may prove more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

THRESHOLDS = 250
"""At most so many thresholds of a statistic are tried."""
ORDERS = np.concatenate((1 + np.geomspace(1e-3, 1, 8), np.geomspace(2.5, 100, 16)))
"""The orders α of divergence that ρ is bounded by."""


@dataclass(frozen=True)
class Event:
    """A statistic at or beyond a level: what it proves, and of which table it is the likelier."""

    bound: float
    statistic: int
    level: float
    above: bool
    of_other: bool

    def counts(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[int, int]:
        """How often it happens: on the table of which it is the likelier, and on the other."""
        first, second = (other, one) if self.of_other else (one, other)
        return self._often(first), self._often(second)

    def _often(self, runs: NDArray[np.float64]) -> int:
        values = runs[:, self.statistic]
        return int((values >= self.level if self.above else values <= self.level).sum())


@dataclass(frozen=True)
class Doubts:
    """How a bound is made of two counts: the δ that is taken off, the doubt of each count."""

    delta: float
    doubt: float
    concentrated: bool
    """Whether events are chosen by what they say of ρ."""

    def epsilon(self, hits: Any, other: Any, runs: int) -> NDArray[np.float64]:
        """Lower bounds on ε where an event happens so often on one table and on the other."""
        likely = np.maximum(share_low(hits, runs, self.doubt) - self.delta, 0)
        with np.errstate(divide="ignore"):  # what proves nothing is minus infinity
            return np.asarray(np.log(likely / share_high(other, runs, self.doubt)))

    def rho(self, hits: Any, other: Any, runs: int) -> NDArray[np.float64]:
        """Lower bounds on ρ, by the best of several orders; 0 where nothing is proven."""
        p, q = share_low(hits, runs, self.doubt), share_high(other, runs, self.doubt)
        p = np.maximum(p, q)  # equal coins: nothing
        p, q = (np.clip(side, 1e-12, 1 - 1e-12)[..., np.newaxis] for side in (p, q))
        up = ORDERS * np.log(p) + (1 - ORDERS) * np.log(q)
        down = ORDERS * np.log1p(-p) + (1 - ORDERS) * np.log1p(-q)
        return np.asarray((np.logaddexp(up, down) / (ORDERS - 1) / ORDERS).max(axis=-1))

    def best(self, one: NDArray[np.float64], other: NDArray[np.float64], statistic: int) -> Event:
        """The event of a statistic that proves most on these runs."""
        sides = [np.sort(side[:, statistic]) for side in (one, other)]
        runs, levels = len(one), np.unique(np.concatenate(sides))
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, THRESHOLDS).astype(int))]
        bound = self.rho if self.concentrated else self.epsilon
        above = [runs - np.searchsorted(side, levels, "left") for side in sides]
        below = [np.searchsorted(side, levels, "right") for side in sides]
        found = np.array([
            bound(tail[of_other], tail[1 - of_other], runs)
            for tail in (above, below) for of_other in (0, 1)
        ])  # fmt: skip
        row, at = divmod(int(found.argmax()), len(levels))
        return Event(float(found[row, at]), statistic, float(levels[at]), row < 2, row % 2 == 1)


def share_low(hits: ArrayLike, runs: int, doubt: float) -> NDArray[np.float64]:
    """The lower end of a share by Clopper and Pearson, missed with a chance of ``doubt`` at most.

    >>> share_low([0, 10], 10, 0.05).round(4).tolist()
    [0.0, 0.7411]
    """
    from scipy.special import betaincinv

    happened = np.asarray(hits)
    found = betaincinv(np.maximum(happened, 1), runs - happened + 1, doubt)
    return np.where(happened > 0, found, 0.0)


def share_high(hits: ArrayLike, runs: int, doubt: float) -> NDArray[np.float64]:
    """The upper end of a share.

    >>> share_high([0, 10], 10, 0.05).round(4).tolist()
    [0.2589, 1.0]
    """
    return 1.0 - share_low(runs - np.asarray(hits), runs, doubt)
