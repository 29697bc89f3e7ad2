"""Tiny classes, and all that is left of them, whoever takes away whichever of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model import Mask, Model
from shoal.tally import Cut, Groups, Tally
from shoal.testing.tables import one_class

CLASSES, ROWS = 9, 6
"""So many classes of so many rows: 2 to the rows remainders of each, all of which are tried."""


@dataclass(frozen=True)
class Attempts:
    """Every remainder of each of a few classes, and whose rows it lacks."""

    classes: Groups
    left: Groups
    """The remainders of the first class, then those of the next."""
    takers: NDArray[np.int64]
    """(classes, remainders): the providers who took rows away, a bit for each."""
    present: NDArray[np.int64]
    """Per class its providers, a bit for each."""

    @classmethod
    def of(cls, tally: Tally, seed: int, products: Iterable[str]) -> Attempts:
        """Draw classes of one, two and three providers; even seeds have few different values."""
        assert tally.providers is not None
        rng, products = np.random.default_rng(seed), tuple(products)
        values = tally.values[0] if seed % 2 == 0 else np.zeros_like(tally.providers)
        drawn = [
            rng.choice(np.flatnonzero((values < 3) & (tally.providers < 1 + i % 3)), ROWS)
            for i in range(CLASSES)
        ]
        entry = np.array(drawn, dtype=np.int32)
        kept = np.arange(1, 1 << ROWS)[:, np.newaxis] >> np.arange(ROWS) & 1 == 1
        who = np.int64(1) << tally.providers[entry].astype(np.int64)
        takers = np.bitwise_or.reduce(np.where(kept, 0, who[:, np.newaxis]), axis=2)
        bare = replace(tally, population=None)
        whole = _counted(bare, entry[:, np.newaxis], kept[-1:], products)
        fixed = replace(bare, reference=tuple(h.total for h in whole.sensitive))
        left = _counted(fixed, entry[:, np.newaxis], kept, products)
        return cls(whole, left, takers, np.bitwise_or.reduce(who, axis=1))

    def most(self, m: int) -> NDArray[np.int64]:
        """How many providers of each class can be a coalition that leaves somebody."""
        return np.minimum(m, _ones(self.present) - 1)

    def failed(self, model: Model, m: int) -> Mask:
        """(classes, remainders): which fail, of those that m providers of a class can leave."""
        fails = ~model.holds(self.left).reshape(self.takers.shape)
        return np.asarray(fails & self.reached_by(m))

    def reached_by(self, m: int) -> Mask:
        """(classes, remainders): which m providers of a class can leave."""
        return np.asarray(_ones(self.takers) <= self.most(m)[:, np.newaxis])

    def by(self, class_: int, coalition: Iterable[int]) -> Mask:
        """Which remainders of a class this coalition can leave."""
        bits = sum(1 << one for one in coalition)
        return np.asarray(self.takers[class_] & ~bits == 0)


def parted(tally: Tally, cut: Cut) -> Cut:
    """The cut with a class for each class and each of its providers."""
    assert tally.providers is not None
    pairs = np.stack((cut.class_, tally.providers[cut.entry]))
    found, number = np.unique(pairs, axis=1, return_inverse=True)
    class_ = number.reshape(-1).astype(np.int32)
    return replace(cut, class_=class_, cells=cut.cells.take(found[0]))


def _counted(
    tally: Tally, entry: NDArray[Any], kept: NDArray[np.bool_], products: Iterable[str]
) -> Groups:
    """One class for each class of entries and each choice of them."""
    shape = (len(entry), *kept.shape)
    number = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(*shape[:2], 1)
    some = np.broadcast_to(kept, shape)
    entry, class_ = np.broadcast_to(entry, shape)[some], np.broadcast_to(number, shape)[some]
    cells = one_class(tally).cells.take(np.zeros(number.size, np.int64))
    return Groups.of(tally, Cut(entry, class_, np.ones(len(entry), np.int64), cells), products)


def _ones(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bitwise_count(bits).astype(np.int64)
