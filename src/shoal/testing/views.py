"""An adversary's view in another order: whatever attacks find must stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def reordered(view: Any, rng: np.random.Generator, *, rows: bool = True) -> Any:
    """The view with people and classes (and with ``rows`` each release's rows) in another order.

    The releases get other names too.
    """
    people, order = view.people, None
    if people is not None:
        order = rng.permutation(len(people))
        people = replace(
            people,
            keys=people.keys[:, order],
            rows=people.rows[order],
            values=None if people.values is None else people.values[order],
            present=None if people.present is None else people.present[order],
            names=None if people.names is None else tuple(people.names[i] for i in order),
        )
    releases = tuple(
        _reordered(replace(one, name=f"table {i}"), rng, order, rows)
        for i, one in enumerate(view.releases)
    )
    return replace(view, people=people, releases=releases)


def _reordered(
    release: Any, rng: np.random.Generator, people: NDArray[Any] | None, rows: bool
) -> Any:
    moved = rng.permutation(len(release.cells))
    number = np.argsort(moved).astype(np.int32)  # the new number of each class
    order = rng.permutation(len(release.class_)) if rows else np.arange(len(release.class_))
    holds = release.holds
    if holds is not None and people is not None:
        holds = np.where(holds < 0, holds, number[holds])[people]
    return replace(
        release,
        cells=release.cells.take(moved),
        class_=number[release.class_[order]],
        values=None if release.values is None else release.values[order],
        shared=None if release.shared is None else release.shared[:, order],
        providers=None if release.providers is None else release.providers[order],
        holds=holds,
        labels=None,
    )
