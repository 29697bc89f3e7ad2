"""What other providers could learn about one provider's rows: counted class by class.

A coalition of up to s *other* providers takes its own rows out of a class. Two things can then go
wrong for those whose rows are left: they are fewer than k, or they share one sensitive value, which
the coalition then knows for certain. Each class is taken with the coalition that is worst for it,
so that the counts are an upper bound on what any one coalition could do. They do not say what
providers know besides their own rows, nor what they would guess without being certain.

Counts go to partners, so they are told in steps of k, zero among the first: neither a count under
k nor a difference of two that is smaller than k can be read from them. ``k`` is 2 or more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.histogram import Histogram, Shares
from shoal.tally import Groups

Rows = NDArray[np.int64]


def in_few(providers: Histogram, s: int, k: int) -> Rows:
    """Per provider its rows in classes of which s others can leave fewer than k rows."""
    return _rows(providers, left(providers, s) < k)


def left(providers: Histogram, s: int) -> Rows:
    """Per class and provider: the rows left of the class without the s largest of the others."""
    order = np.lexsort((-providers.count, providers.class_))
    class_, count = providers.class_, providers.count[order]  # sorted within their classes
    start, end = providers.start[class_], providers.start[class_ + 1]
    upto = np.concatenate(([0], np.cumsum(count)))

    def largest(number: int) -> Rows:
        return np.asarray(upto[np.minimum(start + number, end)] - upto[start])

    among = np.arange(len(count)) - start < s
    taken = np.where(among, largest(s + 1) - count, largest(s))
    found = np.empty_like(count)
    found[order] = providers.rows[class_] - taken
    return found


def certain(groups: Groups, s: int) -> Rows:
    """Per provider its rows whose value, in any sensitive column, s others can tell for sure."""
    found = np.any([_one_value(shares, s) for shares in groups.shares], axis=0)
    return _rows(groups.shares[0].providers, found)


def _one_value(shares: Shares, s: int) -> NDArray[np.bool_]:
    """Per class and provider: whether without s others all rows of the class have one value.

    That is the provider's own, so it must have one only; and all who have another must go.
    """
    providers = shares.providers
    number = np.cumsum(shares.begins) - 1
    single = np.bincount(number, minlength=len(providers.count)) == 1
    value = shares.value[shares.begins].astype(np.int64)
    same, alike = np.unique(np.stack((providers.class_, value)), axis=1, return_inverse=True)
    loyal = np.bincount(alike.ravel(), weights=single, minlength=same.shape[1])[alike.ravel()]
    return np.asarray(single & (providers.distinct[providers.class_] - loyal <= s))


def of_its_own(providers: Histogram) -> tuple[Rows, Rows]:
    """Per provider its rows in classes that nobody else has rows in, and how many those are."""
    alone = providers.distinct[providers.class_] == 1
    classes = np.bincount(providers.value[alone], minlength=providers.axis.size)
    return _rows(providers, alone), classes


def _rows(providers: Histogram, found: NDArray[np.bool_]) -> Rows:
    size = providers.axis.size
    rows = np.bincount(providers.value, weights=providers.count * found, minlength=size)
    return rows.astype(np.int64)


def in_steps(count: int, k: int) -> str:
    """A count as partners may know it: the step of k that it lies in.

    >>> in_steps(0, 5), in_steps(4, 5), in_steps(12, 5)
    ('fewer than 5', 'fewer than 5', '10 to 14')
    """
    low = count // k * k
    return f"{low:,} to {low + k - 1:,}" if low else f"fewer than {k:,}"


def in_short(count: int, k: int) -> str:
    """Whether a count reaches k, and no more.

    What a coalition leaves of a class is told like this: the rows of a class are public, so that a
    partner who takes its own away could read the others' from any closer number, a step of k too.

    >>> in_short(93, 5), in_short(4, 5)
    ('at least 5', 'fewer than 5')
    """
    return f"{'at least' if count >= k else 'fewer than'} {k:,}"
