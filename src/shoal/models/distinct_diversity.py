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

MOST_STEPS = 200_000
"""So many sets of negations are tried in one class before the search is given up."""


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
        """Which classes have at least l distinct values, or leave so many to sets of them."""
        h = groups.on(self.on, sets=True)
        if h.sets is None or self.l == 1:
            return np.asarray(h.concentrated.distinct >= self.l)
        holds = (_count_stated_values(h) >= self.l) & (h.max_same_value < groups.rows)
        alone = _single_values(h, h.sets)
        for class_ in np.flatnonzero(holds & (alone < self.l)).tolist():
            holds[class_] = count_min_negations(*h.sets.of_class(class_), self.l - 2) is None
        return np.asarray(holds)

    def broken_by(self, groups: Groups, most: NDArray[np.int64]) -> Collusion:
        """The coalitions that leave fewer than l distinct values.

        Rows whose value nobody knows may all be like others, so they count for no value.
        """
        shares = groups.contributed_on(self.on)
        if self.l == 1:  # somebody is left, who has a value
            return Collusion.none(len(shares))
        return find_value_breaches(shares.without_blanks, most, self.l)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """Distinct values per class; of sets one more than the fewest negations that settle one."""
        h = groups.on(self.on, sets=True)
        if h.sets is None:
            return h.concentrated.distinct.astype(np.float64)
        each, known = np.maximum(_single_values(h, h.sets), 1), _count_stated_values(h)
        for class_ in np.flatnonzero(each < known).tolist():
            each[class_] = _reached(h.sets, class_, int(known[class_]))
        return each.astype(np.float64)

    def worst_class(self, groups: Groups) -> int:
        """The class that meets the least; of sets, without searching classes that meet more."""
        h = groups.on(self.on, sets=True)
        return (
            super().worst_class(groups)
            if h.sets is None or not len(groups)
            else _worst(h, h.sets)[0]
        )

    def reached(self, groups: Groups) -> float:
        """The l of the worst class."""
        h = groups.on(self.on, sets=True)
        if h.sets is None or not len(groups):
            return super().reached(groups)
        return float(_worst(h, h.sets)[1])


def _count_stated_values(h: Histogram) -> NDArray[np.int64]:
    """Distinct values per class, without those that nobody knows."""
    return h.sum((~h.is_blank).astype(np.int64))


def _single_values(h: Histogram, sets: ValueSets) -> NDArray[np.int64]:
    """Per class the values that are somebody's only one; each must be negated, but for one."""
    class_ = np.repeat(np.arange(len(sets.start) - 1), np.diff(sets.start))[sets.is_only_value]
    pairs = np.unique(class_ * h.axis.size + sets.value[sets.is_only_value])
    return np.bincount(pairs // h.axis.size, minlength=len(h.distinct)).astype(np.int64)


def _worst(h: Histogram, sets: ValueSets) -> tuple[int, int]:
    """The class that reaches the least, and what it reaches."""
    low, known = np.maximum(_single_values(h, sets), 1), _count_stated_values(h)
    exact = low >= known
    worst, least = -1, int(known.max()) + 2
    for class_ in np.lexsort((~exact, low)).tolist():
        if low[class_] >= least:
            break
        reached = int(low[class_]) if exact[class_] else _reached(sets, class_, least)
        if reached < least:
            worst, least = class_, reached
    return worst, least


def _reached(sets: ValueSets, class_: int, most: int) -> int:
    """The l of one class of sets, or ``most`` where it is no less."""
    negations = count_min_negations(*sets.of_class(class_), most - 2)
    return most if negations is None else negations + 1


def count_min_negations(
    sets: Iterable[frozenset[int]], unsure: Iterable[frozenset[int]], most: int
) -> int | None:
    """The size of the smallest N of at most ``most`` values that settles a value; None: none does.

    N settles v where somebody has none of N, and everybody who has none of N has v. Of those with
    ``unsure`` sets a further value is not known: the worst is that it is v.

    >>> a, b, ab, c = frozenset({1}), frozenset({2}), frozenset({1, 2}), frozenset({3})
    >>> count_min_negations([a, ab], [], 5), count_min_negations([a, b, c], [], 5)
    (0, 2)
    >>> count_min_negations([a, b, c], [], 1), count_min_negations([a], [c], 1)
    (None, 0)
    """
    kinds, steps = set(sets), iter(range(MOST_STEPS))
    single = frozenset().union(*(values for values in kinds if len(values) == 1))
    least: int | None = None
    for left, value in _left(kinds, set(unsure)):
        bound = most if least is None else least - 1
        needed = single - {value}  # whoever has but one value is negated by that
        if len(needed) > bound or not needed.isdisjoint(left):
            continue
        others = {
            values - left for values in kinds if value not in values and needed.isdisjoint(values)
        }
        hits = _fewest_hits(_minimal(others), bound - len(needed), steps)
        least = least if hits is None else hits + len(needed)
    return least


def _left(
    kinds: set[frozenset[int]], unsure: set[frozenset[int]]
) -> Iterator[tuple[frozenset[int], int]]:
    """Who may be left with which value: sets that have no part with that value among the others.

    Whoever has fewer values forbids fewer negations. Where nothing is known, any value is as good.
    """
    for value in set().union(*kinds, *unsure) or {-1}:
        having = {values for values in kinds if value in values} | {
            values | {value} for values in unsure
        }
        for values in having:
            if not any(other < values for other in having):
                yield values, value


def _minimal(sets: set[frozenset[int]]) -> list[frozenset[int]]:
    """Those that contain no other: who hits them hits all."""
    minimal: list[frozenset[int]] = []
    for candidate in sorted(sets, key=len):
        if not any(other <= candidate for other in minimal):
            minimal.append(candidate)
    return minimal


def _fewest_hits(sets: list[frozenset[int]], most: int, steps: Iterator[int]) -> int | None:
    """The fewest values, at most ``most``, of which every set has one; None: there are none."""
    if next(steps, None) is None:
        raise UndecidedError(
            "Whether negations settle a value of a class takes too long to decide: its people "
            "have too many different sets of values.",
            'keep one row a person: --one-row "latest by COLUMN"; or ask for a smaller l.',
        )
    if not sets:
        return 0
    if not sets[0] or _count_disjoint(sets) > most:
        return None
    least: int | None = None
    for value in sorted(sets[0]):
        bound = (most if least is None else least - 1) - 1
        if bound < 0:
            break
        hits = _fewest_hits([values for values in sets if value not in values], bound, steps)
        least = least if hits is None else hits + 1
    return least


def _count_disjoint(sets: list[frozenset[int]]) -> int:
    """How many of the sets share nothing: each takes a value of its own."""
    covered: set[int] = set()
    number = 0
    for values in sets:
        if covered.isdisjoint(values):
            covered |= values
            number += 1
    return number
