"""One class: everybody in one class, if that meets the rule.

What it does not give: anything to read. It is the top of the lattice of P. Samarati, Protecting
respondents' identities in microdata release, IEEE TKDE 13(6), 2001.
"""

from __future__ import annotations

import numpy as np

from shoal.core.errors import NotMetError
from shoal.core.model import Model
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods._shared.progress import Progress


def one_class(
    tally: Tally,
    model: Model,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    hold_back: int = 0,
) -> Cut:
    """Publish everybody with the same cells, or refuse."""
    entry = np.arange(tally.entries, dtype=np.int32)
    cut = Cut.of(tally, entry, np.zeros_like(entry))
    if not model.holds(Groups.of(tally, cut)).all():
        raise NotMetError("All rows together do not meet the rule.", "ask for less.")
    return cut
