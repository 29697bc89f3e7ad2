"""adaptive: top-down for a class that fulfils the rule with room to spare, else binary."""

from __future__ import annotations

from shoal.core.model import Model
from shoal.core.tally import Groups
from shoal.models._verifiers.binary import verify_binary
from shoal.models._verifiers.lattice import VerifierResult, score_classes
from shoal.models._verifiers.top_down import verify_top_down

STRONG = 10.0
"""The score from which even nearly all of a class's providers leave enough."""


def verify_adaptive(model: Model, class_: Groups, m: int) -> VerifierResult:
    """The verifier that the score of the class promises to be the quickest.

    "For large values of the privacy fitness score the top-down, otherwise the binary" (S. Goryczka,
    L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing, CollaborateCom 2011,
    section IV; it names no number).

    Does not give another answer than the two. Growing rules only.
    """
    strong = bool((score_classes(model, class_) >= STRONG).all())
    return (verify_top_down if strong else verify_binary)(model, class_, m)
