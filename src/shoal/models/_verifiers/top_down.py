"""top-down: ask about large coalitions first, and skip what lies inside the harmless ones."""

from __future__ import annotations

import numpy as np

from shoal.core.model import Model
from shoal.core.tally import Groups
from shoal.models._verifiers.lattice import (
    CoalitionLattice,
    Coalitions,
    Masks,
    VerifierResult,
    encode_coalitions,
)


def verify_top_down(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Coalitions of n_G − 1, n_G − 2, …, m providers, without those inside a harmless one.

    Downward pruning: a coalition inside one that does not break the rule does not break it, so a
    size of which none breaks it settles all smaller ones (S. Goryczka, L. Xiong and B. C. M. Fung,
    m-privacy for collaborative data publishing, CollaborateCom 2011, section III).

    Does not stop early where a class is weak: every coalition above m may have to be asked about
    before one of m providers is found. Growing rules only.
    """
    lattice = CoalitionLattice.of(model, class_, m, "top-down")
    lattice.within(range(lattice.most, lattice.providers))
    checks, safe = 0, np.zeros(0, np.uint64)
    for size in range(lattice.providers - 1, lattice.most, -1):
        checked = _without(lattice.level(size), safe)
        broken = lattice.broken(checked)
        checks += len(checked)
        if not broken.any():
            return VerifierResult(None, checks)
        safe = _inside(
            np.concatenate([safe, encode_coalitions(checked[~broken])]), lattice.providers
        )
    first = lattice.first(_without(lattice.level(lattice.most, strongest=True), safe))
    return VerifierResult(first.coalition, checks + first.checks)


def _without(coalitions: Coalitions, safe: Masks) -> Coalitions:
    return coalitions[~np.isin(encode_coalitions(coalitions), safe)]


def _inside(coalitions: Masks, providers: int) -> Masks:
    """The coalitions with one member fewer."""
    bits = np.uint64(1) << np.arange(providers, dtype=np.uint64)
    fewer = [coalitions[coalitions & bit > 0] ^ bit for bit in bits]
    return np.unique(np.concatenate(fewer))
