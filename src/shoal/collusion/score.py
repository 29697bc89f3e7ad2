"""The paper's score: how far a class fulfils a rule of k rows and l values.

S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing,
CollaborateCom 2011. It orders providers and cuts; it does not decide anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model import Model, inner
from shoal.tally import Groups


def fitness(model: Model, groups: Groups, alpha: float) -> NDArray[np.float64]:
    """The paper's score of each class: (1 − α) rows / k + α values / l, of the rule's k and l.

    A part that the rule does not have counts nothing; where several columns must be diverse, the
    one that is least so counts.
    """
    rules, score = inner(model), np.zeros(len(groups))
    crowds = [part.k for part in rules if getattr(part, "identity", False) and hasattr(part, "k")]
    if crowds:
        score += (1 - alpha) * groups.rows / float(max(crowds))
    diverse = [(groups.concentrated(getattr(p, "on", None)), p.l) for p in rules if hasattr(p, "l")]
    if diverse:
        score += alpha * np.min([h.distinct / float(l) for h, l in diverse], axis=0)
    return score
