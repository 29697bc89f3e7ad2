"""The fewest rows and the fewest values that coalitions can leave: the growing rules' tests.

Rows: the providers with the most rows leave fewest. Values: one is gone when all its providers
are, so that some d − l + 1 values must have few providers together, the minimum q-union problem:
hard in general, polynomial for fixed l, and searched from both sides (``kernels.collude``).

Does not see what a coalition keeps: all of its rows are taken away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.collusion.found import NOBODY, Collusion
from shoal.errors import UndecidedError
from shoal.histogram import Shares
from shoal.kernels import collude
from shoal.kernels.threads import share_out

SECONDS = 60.0
"""The longest that an integer program may take for one class."""


def strongest(
    shares: Shares, most: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Per class how many rows the providers with the most rows have, and who they are."""
    h = shares.providers
    taken, members = np.zeros(len(shares), np.int64), _room(most)
    pairs = h.start, h.value, h.count
    share_out(collude.strongest, len(shares), len(h.count), *pairs, most, taken, members)
    return taken, members


def fewest_rows(shares: Shares, most: NDArray[np.int64], k: int) -> Collusion:
    """The coalitions that leave fewer than ``k`` rows: those with the most rows leave fewest."""
    taken, members = strongest(shares, most)
    members[shares.rows < k] = NOBODY  # fails by itself
    return Collusion(shares.rows - taken < k, members)


def fewest_values(shares: Shares, most: NDArray[np.int64], l: int) -> Collusion:
    """The coalitions that leave fewer than ``l`` values: exact, though hard in general.

    Where the search of a class is given up, an integer program decides it.
    """
    state, members = np.full(len(shares), collude.SAFE, np.int8), _room(most)
    pairs = shares.start, shares.who, shares.value
    share_out(
        collude.values_left, len(shares), len(shares.who),
        *pairs, most, l, len(shares.total), state, members,
    )  # fmt: skip
    for c in np.flatnonzero(state == collude.UNDECIDED).tolist():
        found = smallest_union(shares, c, l)
        if len(found) <= most[c]:
            state[c] = collude.BROKEN
            members[c, : len(found)] = found
    return Collusion(state == collude.BROKEN, members)


def _room(most: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.full((len(most), int(most.max(initial=0))), NOBODY, np.int32)


def smallest_union(shares: Shares, class_: int, l: int) -> list[int]:
    """The fewest providers without whom a class has fewer than ``l`` values: an integer program.

    x says of each value whether it is gone, y of each provider whether they are: y >= x for each
    provider of a value, at least d − l + 1 values are gone, and Σ y is least.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load, and seldom needed
    from scipy.sparse import coo_array

    who, _, counts = shares.matrix(class_)
    provider, value = np.nonzero(counts)
    n, d = counts.shape
    each = np.arange(len(provider))
    holds = coo_array(
        (np.tile([-1.0, 1.0], (len(each), 1)).T.ravel(),
         (np.tile(each, 2), np.concatenate((value, d + provider)))),
        shape=(len(each), d + n),
    )  # fmt: skip
    gone = np.concatenate((np.ones(d), np.zeros(n)))
    found = milp(
        1 - gone,
        constraints=[LinearConstraint(holds, 0), LinearConstraint(gone, d - l + 1)],
        integrality=np.ones(d + n),
        bounds=Bounds(0, 1),
        options={"time_limit": SECONDS},
    )
    if not found.success:  # taking all providers away would do: it was the time
        raise UndecidedError(
            f"A class has {d:,} values of {n:,} providers, too many to tell in time whether fewer "
            f"than {l:,} can be left.",
            "ask for fewer values (l) or members (m), or take a coarser sensitive column.",
        )
    return who[found.x[d:] > 0.5].tolist()  # type: ignore[no-any-return]
