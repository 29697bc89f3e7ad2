"""One table as if several providers had brought it: who brought which row, drawn with a seed.

``uniform``      every provider is as likely as any other to have brought a row
``exponential``  provider i of n (from 0) has a share of the rows proportional to exp(-5 i / n):
                 the exponential law, read at n even steps from 0 to 5

The m-privacy paper (Goryczka, Xiong and Fung 2014) splits Adult by these two laws and gives no
parameter for the second. This one has the same shape for any n: with ten providers each has 61 %
of the rows of the one before it, the largest 40 % of all and the smallest .4 %, so that the small
ones are still there. Every provider has a row.

Does not give: what real providers are like. They differ in whom they see, not only in how
many; here every provider's rows are a sample of the same table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import UsageError

KINDS = ("uniform", "exponential")
REACH = 5.0
"""How far along the exponential law the providers stand."""


def split(rows: int, n: int, kind: str = "uniform", seed: int = 0) -> NDArray[np.int32]:
    """Divide the rows of a table among providers, each of whom gets at least one.

    Parameters
    ----------
    rows
        How many rows there are.
    n
        How many providers.
    kind
        ``"uniform"``, or ``"exponential"``: a few have most of the rows.
    seed
        What the draw starts from.

    Returns
    -------
    NDArray[np.int32]
        The provider of each row, from 0 to n - 1.

    Raises
    ------
    UsageError
        There are fewer than two providers, fewer rows than providers, or no such kind.

    Examples
    --------
    >>> split(6, 3, seed=1).tolist()
    [0, 2, 1, 0, 1, 2]
    >>> np.bincount(split(45_222, 10, "exponential")).tolist()
    [17718, 10961, 6767, 4066, 2333, 1398, 885, 550, 339, 205]
    """
    _check(rows, n, seed)
    rng = np.random.default_rng(seed)
    # One row for everybody first: a provider without rows would be none.
    others = rng.choice(n, rows - n, p=compute_provider_shares(n, kind))
    return rng.permutation(np.concatenate([np.arange(n), others])).astype(np.int32)


def compute_provider_shares(n: int, kind: str) -> NDArray[np.float64]:
    """How likely a row is each provider's, the largest first.

    >>> compute_provider_shares(3, "exponential").round(3).tolist()
    [0.817, 0.154, 0.029]
    """
    if kind not in KINDS:
        raise UsageError(f"There is no split {kind!r}.", f"the splits are: {', '.join(KINDS)}.")
    decay = REACH if kind == "exponential" else 0.0
    weight: NDArray[np.float64] = np.exp(-decay * np.arange(n) / n)
    share: NDArray[np.float64] = weight / weight.sum()
    return share


def _check(rows: int, n: int, seed: int) -> None:
    if n < 2:
        raise UsageError(f"{n} providers cannot share a table.", "split it among 2 or more.")
    if rows < n:
        raise UsageError(
            f"{rows:,} rows cannot be split among {n:,} providers.",
            "every provider needs a row: take fewer providers.",
        )
    if seed < 0:
        raise UsageError("A seed is 0 or more.", "write for example seed=0.")
