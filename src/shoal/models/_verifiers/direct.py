"""direct: ask about every coalition of exactly m providers, the strongest first."""

from __future__ import annotations

from shoal.core.model import Model
from shoal.core.tally import Groups
from shoal.models._verifiers.lattice import CoalitionLattice, VerifierResult


def verify_direct(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Every coalition of the largest size, until one breaks the rule.

    The largest size is min(m, n_G − 1) of the class's n_G providers. Smaller coalitions need no
    check: what they leave contains what larger ones leave. (S. Goryczka, L. Xiong and B. C. M.
    Fung, m-privacy for collaborative data publishing, CollaborateCom 2011, section III.)

    Does not prune: a class that is safe costs all checks. Growing rules only.
    """
    lattice = CoalitionLattice.of(model, class_, m, "direct")
    size = lattice.most
    return lattice.within([size]).first(lattice.level(size, strongest=True))
