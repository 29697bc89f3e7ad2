"""Classes written row by row, as (provider, value), for the code under test."""

from __future__ import annotations

import numpy as np

from shoal.core.axis import Axis
from shoal.core.tally import Cut, Groups, Tally


def provided(classes) -> Groups:
    """Classes as lists of rows (provider, value), each a small whole number."""
    rows = np.array([row for rows in classes for row in rows], dtype=np.int32).reshape(-1, 2)
    class_ = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes]).astype(np.int32)
    place = Axis.numbered("place", len(classes))
    value = Axis.numbered("disease", int(rows[:, 1].max()) + 1)
    provider = Axis.numbered("hospital", int(rows[:, 0].max()) + 1)
    ones = np.ones(len(rows), np.int64)
    tally = Tally(
        (place,), (value,), class_[np.newaxis], rows[np.newaxis, :, 1], ones, provider, rows[:, 0]
    )
    return Groups.of(tally, Cut.of(tally, np.arange(len(rows), dtype=np.int32), class_))


def random_classes(number, seed=0):
    """Small classes of every shape: even and lopsided shares, few and many values."""
    rng = np.random.default_rng(seed)
    classes = []
    for _ in range(number):
        size, n, d = int(rng.integers(1, 13)), int(rng.integers(1, 7)), int(rng.integers(1, 7))
        lean = rng.choice([0.0, 1.5])  # lopsided: the first provider brings most
        share = np.exp(-lean * np.arange(n))
        who = rng.choice(n, size, p=share / share.sum())
        classes.append(list(zip(who.tolist(), rng.integers(0, d, size).tolist(), strict=True)))
    return classes
