"""Distinct l-diversity: every class holds at least l different sensitive values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UndecidedError
from shoal.core.histogram import Histogram, ValueSets
from shoal.core.model import Mask, Rule, parse_whole_number
from shoal.core.tally import Groups
from shoal.core.theory.collusion import Collusion, find_value_breaches

MAX_STEPS = 200_000
"""How many sets of negations are tried in one class before the search is given up."""


@dataclass(frozen=True)
class DistinctDiversity(Rule):
    """Every class has at least l distinct sensitive values.

    Parameters
    ----------
    l : int
        The smallest number of distinct values of a class, 1 or more.
    on : str, optional
        The sensitive column; not needed where the table has only one.

    Raises
    ------
    UsageError
        Where l is not a whole number of 1 or more.
    UndecidedError
        When judged, where people have several values and a class would take too long.

    Notes
    -----
    The simplest reading of "well represented" in [1], named in [2].

    Where people have several rows, a person's values in a class are a set, and l − 2 negations
    must not settle a value: for every set N of at most l − 2 values, the people of the class who
    have none of N, if there are any, have no value that all of them share. With one value a person
    that is the same. To find the smallest N is to hit sets by as few values as can be, which is
    NP-hard: a class that would take too long is not evaluated.

    Does not protect: against probable inference. One value may fill nearly the whole class, and
    distinct values may mean the same thing.

    References
    ----------
    [1] A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, l-diversity: privacy
    beyond k-anonymity, ACM Transactions on Knowledge Discovery from Data 1(1), 2007.

    [2] N. Li, T. Li and S. Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
    l-diversity, ICDE 2007.

    Examples
    --------
    >>> from shoal.testing.random_tables import groups
    >>> DistinctDiversity(2).per_class(groups([["flu", "flu", "ulcer"], ["flu"]])).tolist()
    [2.0, 1.0]
    """

    l: int
    on: str | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    parameter: ClassVar[str] = "l"
    row_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", parse_whole_number(self.l, "l", 1))

    @property
    def min_rows(self) -> int:
        """One row for each value."""
        return self.l

    def holds(self, groups: Groups) -> Mask:
        """Which classes have l distinct values; of sets, which l − 2 negations do not settle."""
        h = groups.on(self.on, sets=True)
        if h.sets is None or self.l == 1:
            return np.asarray(h.concentrated.distinct >= self.l)
        holds = (_count_stated_values(h) >= self.l) & (h.max_same_value < groups.rows)
        single = _count_single_values(h, h.sets)
        for class_ in np.flatnonzero(holds & (single < self.l)).tolist():
            holds[class_] = count_min_negations(*h.sets.of_class(class_), self.l - 2) is None
        return np.asarray(holds)

    def broken_by(self, groups: Groups, max_members: NDArray[np.int64]) -> Collusion:
        """The coalitions that leave fewer than l distinct values.

        Rows with an unknown value may all be like others, so they count for no value.
        """
        shares = groups.contributed_on(self.on)
        if self.l == 1:  # somebody is left, who has a value
            return Collusion.none(len(shares))
        return find_value_breaches(shares.without_blanks, max_members, self.l)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """Distinct values per class; of sets, 1 + the fewest negations that settle a value."""
        h = groups.on(self.on, sets=True)
        if h.sets is None:
            return h.concentrated.distinct.astype(np.float64)
        each, stated = np.maximum(_count_single_values(h, h.sets), 1), _count_stated_values(h)
        for class_ in np.flatnonzero(each < stated).tolist():
            each[class_] = _reached_in_class(h.sets, class_, int(stated[class_]))
        return each.astype(np.float64)

    def worst_class(self, groups: Groups) -> int:
        """The class with the smallest l; of sets, without searching classes that reach more."""
        h = groups.on(self.on, sets=True)
        if h.sets is None or not len(groups):
            return super().worst_class(groups)
        return _find_worst_class(h, h.sets)[0]

    def reached(self, groups: Groups) -> float:
        """The l of the worst class."""
        h = groups.on(self.on, sets=True)
        if h.sets is None or not len(groups):
            return super().reached(groups)
        return float(_find_worst_class(h, h.sets)[1])


def _count_stated_values(h: Histogram) -> NDArray[np.int64]:
    return h.sum((~h.is_blank).astype(np.int64))


def _count_single_values(h: Histogram, sets: ValueSets) -> NDArray[np.int64]:
    """Per class the values that are somebody's only one: all but one of them must be negated."""
    class_ = np.repeat(np.arange(len(sets.start) - 1), np.diff(sets.start))[sets.is_only_value]
    pairs = np.unique(class_ * h.axis.size + sets.value[sets.is_only_value])
    return np.bincount(pairs // h.axis.size, minlength=len(h.distinct)).astype(np.int64)


def _find_worst_class(h: Histogram, sets: ValueSets) -> tuple[int, int]:
    low, stated = np.maximum(_count_single_values(h, sets), 1), _count_stated_values(h)
    exact = low >= stated
    worst, smallest = -1, int(stated.max()) + 2
    for class_ in np.lexsort((~exact, low)).tolist():
        if low[class_] >= smallest:
            break
        reached = int(low[class_]) if exact[class_] else _reached_in_class(sets, class_, smallest)
        if reached < smallest:
            worst, smallest = class_, reached
    return worst, smallest


def _reached_in_class(sets: ValueSets, class_: int, limit: int) -> int:
    """The l of one class of sets, at most ``limit``."""
    negations = count_min_negations(*sets.of_class(class_), limit - 2)
    return limit if negations is None else negations + 1


def count_min_negations(
    sets: Iterable[frozenset[int]], partly_unknown: Iterable[frozenset[int]], limit: int
) -> int | None:
    """The size of the smallest N of at most ``limit`` values that settles a value, or None.

    N settles v where somebody has none of N, and everybody who has none of N has v. In
    ``partly_unknown`` sets a further value is not known: the worst is that it is v.

    >>> a, b, ab, c = frozenset({1}), frozenset({2}), frozenset({1, 2}), frozenset({3})
    >>> count_min_negations([a, ab], [], 5), count_min_negations([a, b, c], [], 5)
    (0, 2)
    >>> count_min_negations([a, b, c], [], 1), count_min_negations([a], [c], 1)
    (None, 0)
    """
    kinds, steps = set(sets), iter(range(MAX_STEPS))
    single = frozenset().union(*(values for values in kinds if len(values) == 1))
    smallest: int | None = None
    for left, value in _list_remainders(kinds, set(partly_unknown)):
        bound = limit if smallest is None else smallest - 1
        needed = single - {value}  # whoever has but one value is negated by that
        if len(needed) > bound or not needed.isdisjoint(left):
            continue
        others = {
            values - left for values in kinds if value not in values and needed.isdisjoint(values)
        }
        hits = _count_min_hits(_find_minimal(others), bound - len(needed), steps)
        smallest = smallest if hits is None else hits + len(needed)
    return smallest


def _list_remainders(
    kinds: set[frozenset[int]], partly_unknown: set[frozenset[int]]
) -> Iterator[tuple[frozenset[int], int]]:
    """Pairs of a person's set and a value of it that negations may settle.

    Only sets without a smaller one that has the value: fewer values forbid fewer negations. Where
    nothing is known, any value is as good.
    """
    for value in set().union(*kinds, *partly_unknown) or {-1}:
        having = {values for values in kinds if value in values} | {
            values | {value} for values in partly_unknown
        }
        for values in having:
            if not any(other < values for other in having):
                yield values, value


def _find_minimal(sets: set[frozenset[int]]) -> list[frozenset[int]]:
    # Whoever hits the sets that contain no other hits all.
    minimal: list[frozenset[int]] = []
    for candidate in sorted(sets, key=len):
        if not any(other <= candidate for other in minimal):
            minimal.append(candidate)
    return minimal


def _count_min_hits(sets: list[frozenset[int]], limit: int, steps: Iterator[int]) -> int | None:
    """The smallest number of values, at most ``limit``, of which every set has one, or None."""
    if next(steps, None) is None:
        raise UndecidedError(
            "Whether negations settle a value of a class takes too long to decide: its people "
            "have too many different sets of values.",
            'keep one row a person: --one-row "latest by COLUMN"; or ask for a smaller l.',
        )
    if not sets:
        return 0
    if not sets[0] or _count_disjoint(sets) > limit:
        return None
    smallest: int | None = None
    for value in sorted(sets[0]):
        bound = (limit if smallest is None else smallest - 1) - 1
        if bound < 0:
            break
        hits = _count_min_hits([values for values in sets if value not in values], bound, steps)
        smallest = smallest if hits is None else hits + 1
    return smallest


def _count_disjoint(sets: list[frozenset[int]]) -> int:
    # Sets that share nothing take a value each.
    covered: set[int] = set()
    number = 0
    for values in sets:
        if covered.isdisjoint(values):
            covered |= values
            number += 1
    return number
