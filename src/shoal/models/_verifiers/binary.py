"""binary: halve the way between a coalition of m providers and one of all but one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.core.model import Model
from shoal.core.tally import Groups
from shoal.models._verifiers.lattice import (
    CoalitionLattice,
    Masks,
    VerifierResult,
    decode_coalition,
    encode_coalitions,
)

Asks = Callable[[int], bool]


def verify_binary(model: Model, class_: Groups, m: int) -> VerifierResult:
    """Algorithm 1 of the paper: settle many coalitions of m providers by one harmless larger one.

    Take a coalition of n_G − 1 providers, the weakest first, that contains an unsettled one of m.
    If it is harmless, all inside it are. If not, take the strongest unsettled one inside it: if
    that breaks the rule, the class is not m-private; else halve the way between the two, adding
    the weakest half of the missing providers, until the largest harmless one is found, and settle
    all inside it. (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data
    publishing, CollaborateCom 2011, algorithm 1; there line 6 lacks a "not" and line 5 says n for
    n_G.) No coalition is asked about twice.

    Does not help a rule that is not row-monotone. Keeps all coalitions of m providers in memory.
    """
    lattice = CoalitionLattice.of(model, class_, m, "binary")
    unsettled = encode_coalitions(
        lattice.within([lattice.most]).level(lattice.most, strongest=True)
    )
    answers: dict[int, bool] = {}

    def breaks(coalition: int) -> bool:
        if coalition not in answers:
            answers[coalition] = bool(lattice.broken(decode_coalition(coalition))[0])
        return answers[coalition]

    while len(unsettled):
        above = _weakest_above(unsettled, lattice.providers)
        if breaks(above):
            inside = int(unsettled[unsettled & ~np.uint64(above) == 0][0])
            if breaks(inside):
                return VerifierResult(
                    lattice.provider_codes(decode_coalition(inside)[0]), len(answers)
                )
            above = _halved(inside, above, breaks)
        unsettled = unsettled[unsettled & ~np.uint64(above) > 0]
    return VerifierResult(None, len(answers))


def _weakest_above(unsettled: Masks, providers: int) -> int:
    """Of the coalitions of all but one, the weakest that contains an unsettled coalition."""
    everybody = (1 << providers) - 1
    lacking = ~int(np.bitwise_and.reduce(unsettled)) & everybody  # some unsettled one lacks them
    return everybody ^ (1 << lacking.bit_length() - 1)


def _halved(harmless: int, harmful: int, breaks: Asks) -> int:
    """The largest harmless coalition on one way between the two."""
    while (missing := decode_coalition(harmless ^ harmful)[0]).size > 1:
        half = harmless | sum(1 << rank for rank in missing[: missing.size // 2].tolist())
        if breaks(half):
            harmful = half
        else:
            harmless = half
    return harmless
