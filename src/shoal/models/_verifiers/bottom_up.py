"""bottom-up: ask about small coalitions first, and grow them."""

from __future__ import annotations

from shoal.core.model import Model
from shoal.core.tally import Groups
from shoal.models._verifiers.lattice import CoalitionLattice, VerifierResult


def verify_bottom_up(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Coalitions of 0, 1, …, m providers, the strongest of a size first, until one breaks the rule.

    Upward pruning: whatever contains a coalition that breaks the rule breaks it too, so the first
    found settles all larger ones (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for
    collaborative data publishing, CollaborateCom 2011, section III). The coalition it names is
    one of the smallest that break the class.

    Does not prune a safe class: it costs more checks than ``direct``. Growing rules only.
    """
    lattice = CoalitionLattice.of(model, class_, m, "bottom-up")
    sizes = range(lattice.most + 1)
    lattice.within(sizes)
    checks = 0
    for size in sizes:
        first = lattice.first(lattice.level(size, strongest=True))
        checks += first.checks
        if first.coalition is not None:
            return VerifierResult(first.coalition, checks)
    return VerifierResult(None, checks)
