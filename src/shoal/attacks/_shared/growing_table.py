"""Correspondence: every row of a release has its own row in a later release of the grown table.

R1 publishes a table, R2 the same rows and new ones; nothing is removed or changed. A valid
correspondence gives every row of R1 a row of R2 of its own: their cells meet, and the columns that
both publish as they are agree. Rows of one class that agree in those columns are twins.

Fung, Wang, Fu, Pei: Anonymity for continuous data publishing, EDBT 2008 (BCF-anonymity). With g1
and g2 the twins of one value in a class of R1 and in one of R2, G1 the rows of R1 that could be of
g2, and G2 those of R2 that G1 could be, the paper cracks

    forward   |g1| - min(|g1|, |g2|)            of the victim's class in R1
    cross     |g2| - min(|g1|, |g2|)            of the victim's class in R2
    backward  max(0, |G1| - (|G2| - |g2|))      of the newcomer's class in R2

These hold, but are only the least that is cracked: other rows may need the places of g2, and a part
of G1 may be worse off than all of it. Here the numbers are exact, over all valid correspondences:
the most rows of g1 that can be in g2, not min(|g1|, |g2|), and the fewest old rows in g2.

It does not see rows that were removed or changed (that is the temporal attack), nor columns that
only one release publishes as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.row_matching import (
    Twins,
    compute_row_baseline,
    describe_class,
    join_twins,
)
from shoal.core.errors import InputError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import WORST_LISTED, ReleaseView, View
from shoal.kernels.assignment import (
    Assignment,
    assign,
    count_min_rows_on_pairs,
    find_max_rows_per_pair,
    find_min_rows_per_place,
)
from shoal.kernels.grouping import number_combinations

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

GROWN = (
    "every row of the first release is in the second, unchanged in the columns that both publish "
    "as they are, and the second may have new ones"
)
FROM_THE_BEGINNING = "the adversary knows that the person was in the first release"
KNOWN = "the adversary knows the person's quasi-identifiers, and by them the class in each release"
DEFENCE = (
    "keep the rows that were published before in their classes, with their cells or wider ones, "
    "and put new rows into these or into classes of their own."
)


@dataclass(frozen=True)
class GrowingTable:
    """An earlier and a later release of a growing table, and which twins could be the same rows."""

    earlier: Twins
    later: Twins
    start: Ints
    partner: Ints
    """Twins ``i`` of the first could be the twins ``partner[start[i]:start[i + 1]]``."""
    assigned: Assignment
    """One valid correspondence, and which pairs some valid one uses."""

    @cached_property
    def twins(self) -> Ints:
        """The first release's twins of each pair."""
        return np.repeat(np.arange(len(self.earlier.count)), np.diff(self.start))

    @property
    def new(self) -> int:
        """How many rows have come since."""
        return int(self.later.count.sum() - self.earlier.count.sum())

    @property
    def _pairs(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.earlier.count, self.later.count, self.start, self.partner, self.assigned.rows

    @cached_property
    def max_rows_per_pair(self) -> tuple[Ints, int]:
        """The most rows that take each pair, and of how many pairs that is only a limit."""
        return find_max_rows_per_pair(*self._pairs, self.assigned.possible)

    @cached_property
    def min_old_rows(self) -> tuple[Ints, int]:
        """The fewest old rows of the second's twins, and of how many that is only a limit."""
        return find_min_rows_per_place(*self._pairs)

    def count_placeable(self, some: Flags) -> int:
        """How many rows of the first could be rows of the second at once by these pairs alone."""
        return int(assign(*self._restrict_pairs(some)).rows.sum())

    def count_min_rows(self, some: Flags) -> int:
        """How many rows of the first take these pairs in every valid correspondence, at least."""
        possible = self.assigned.possible
        return count_min_rows_on_pairs(*self._restrict_pairs(possible), some[possible])

    def _restrict_pairs(self, some: Flags) -> tuple[Ints, Ints, Ints, Ints]:
        """What ``assign`` takes, with some of the pairs alone."""
        number = np.bincount(self.twins[some], minlength=len(self.earlier.count))
        start = np.concatenate([[0], number.cumsum()])
        return self.earlier.count, self.later.count, start, self.partner[some]


def match_growing_table(view: View) -> GrowingTable:
    """Which rows could be the same; raises where some row of the first has no row in the second."""
    table = GrowingTable(*join_twins(view))
    rows = int(table.earlier.count.sum())
    if lost := rows - int(table.assigned.rows.sum()):
        raise InputError(
            f"{lost:,} of {rows:,} rows of the first release cannot be in the "
            "second: it is no release of the same table grown.",
            "give the earlier release first; where rows were removed or changed, use temporal.",
        )
    return table


@dataclass(frozen=True)
class RemainingRows:
    """Who is left of each of several groups of people: rows, and their sensitive values."""

    rows: Ints
    """How many rows could be the person's; 0: nobody is in such a group."""
    exposed: Flags
    """Whether one row or one value is left, of more than each release leaves by itself."""


@dataclass(frozen=True)
class ClassPairs:
    """The pairs of classes that somebody could be in, and what is left of each."""

    classes: tuple[Ints, Ints]
    pair_of_twins: Ints
    """The pair of classes that each pair of twins is in."""
    remaining: RemainingRows
    n_cut_short: int
    """Of how many pairs of twins only a limit is known."""


def find_class_pairs(table: GrowingTable) -> ClassPairs:
    """What is left of every pair of classes for who was in the table from the beginning."""
    rows_per_pair, n_cut_short = table.max_rows_per_pair
    earlier, later = table.earlier, table.later
    class_pairs = earlier.class_[table.twins], later.class_[table.partner]
    pair_of_twins, first = number_combinations(
        class_pairs, [len(side.release.cells) for side in (earlier, later)]
    )
    classes = class_pairs[0][first], class_pairs[1][first]
    rows = np.bincount(pair_of_twins, rows_per_pair, len(first)).astype(np.int64)
    smaller = np.minimum(earlier.release.rows[classes[0]], later.release.rows[classes[1]])
    exposed = (rows == 1) & (smaller > 1)
    values = find_twin_values(earlier), find_twin_values(later)
    if values[0] is not None and values[1] is not None:
        is_taken = rows_per_pair > 0
        after = count_values_by_group(
            pair_of_twins[is_taken], values[0][table.twins[is_taken]], len(first)
        )
        before = (
            has_several_values(earlier, values[0])[classes[0]],
            has_several_values(later, values[1])[classes[1]],
        )
        exposed |= (after == 1) & before[0] & before[1]
    return ClassPairs(
        classes, pair_of_twins.astype(np.int64), RemainingRows(rows, exposed), n_cut_short
    )


def find_twin_values(twins: Twins) -> Ints | None:
    """The sensitive value of each set of twins; None where there is none or they may differ."""
    values = twins.release.values
    if values is None:
        return None
    codes = np.empty(len(twins.class_), np.int64)
    codes[twins.of_row] = values
    return codes if bool((codes[twins.of_row] == values).all()) else None


def has_several_values(twins: Twins, values: Ints) -> Flags:
    """Whether each class of the twins' release has more than one sensitive value."""
    return count_values_by_group(twins.class_, values, len(twins.release.cells)) > 1


def count_values_by_group(group: NDArray[Any], value: Ints, groups: int) -> Ints:
    """How many different values each group has."""
    _, first = number_combinations((group, value), (groups, int(value.max(initial=0)) + 1))
    return np.bincount(group[first], minlength=groups)


def find_smallest_remainder(rows: Ints, surely: Callable[[Flags], bool]) -> int:
    """The fewest rows that are left to somebody who is surely there.

    ``rows`` are left of each group, and ``surely`` says whether somebody must be in some of them.
    """
    sizes = np.unique(rows[rows > 0]).tolist()
    return int(sizes[bisect_left(sizes[:-1], True, key=lambda size: surely(rows <= size))])


def find_worst_group(remaining: RemainingRows, before: Ints) -> int:
    """The exposed group with the fewest rows left, or else any; of equals where most was before."""
    order = np.lexsort((-before, remaining.rows, ~remaining.exposed, remaining.rows == 0))
    return int(order[0])


def list_rows_of_twins(twins: Twins, rows_per_twins: Ints) -> tuple[int, ...]:
    """So many rows of each set of twins, the first ones, by number; as many as are listed."""
    order = np.argsort(twins.of_row, kind="stable")
    begin = np.cumsum(twins.count) - twins.count
    listed = [
        order[begin[i] : begin[i] + rows_per_twins[i]]
        for i in np.flatnonzero(rows_per_twins)[:WORST_LISTED]
    ]
    return tuple((np.concatenate([*listed, order[:0]])[:WORST_LISTED] + 1).tolist())


def describe_limits(n_cut_short: int, instead: str) -> tuple[str, ...]:
    """An assumption, where searches were cut short."""
    text = f"{n_cut_short:,} numbers were too many to work out, and for these {instead} stands"
    return (f"{text}: more may be cracked",) if n_cut_short else ()


def describe_cut_short(n_cut_short: int) -> str:
    """What a sentence says besides, where searches were cut short; nothing else."""
    text = f" The search was cut short, {n_cut_short:,} numbers being too many to work out: more"
    return f"{text} people may be exposed than this says." if n_cut_short else ""


@dataclass(frozen=True)
class CorrespondenceAttack:
    """What an attack on people who were in the table from the beginning says of itself."""

    name: str
    number: int
    """Whose rows are told: those of release 1 or 2."""
    sentence: str
    example: str
    """Both are given the numbers to fill in."""


def attack_growing_table(view: View, attack: CorrespondenceAttack) -> Finding:
    """The finding about people who were in the table from the beginning."""
    table = match_growing_table(view)
    pairs = find_class_pairs(table)
    remaining, people = pairs.remaining, len(view.releases[0].class_)

    def surely(some: Flags) -> bool:
        return table.count_placeable(~some[pairs.pair_of_twins] & table.assigned.possible) < people

    exposed = (
        table.count_min_rows(remaining.exposed[pairs.pair_of_twins])
        if remaining.exposed.any()
        else 0
    )
    after = find_smallest_remainder(remaining.rows, surely)
    before = view.releases[attack.number - 1].rows[pairs.classes[attack.number - 1]]
    max_exposed, rows = _bound_exposed(table, pairs, attack.number)
    details = {
        "joined_on": list(view.shared),
        "new": table.new,
        **summarise_groups("pairs", remaining, before),
        "k_after": after,
        "could_be_exposed": max_exposed,
        "limits": pairs.n_cut_short,
    }
    worst = find_worst_group(remaining, before)
    classes = [int(each[worst]) for each in pairs.classes]
    witness = describe_worst_group(
        remaining, before, worst, zip(view.releases, classes, strict=True)
    )
    names = {"one": view.releases[0].name, "other": view.releases[1].name}
    fill = {**names, "people": people, "exposed": exposed, **details}
    sizes = [side["class_rows"] for side in witness["releases"]]
    return Finding(
        attack=attack.name,
        people=people,
        exposed=exposed,
        sure=1.0 if exposed else 1 / after,
        guessing=compute_row_baseline(view),
        sentence=attack.sentence.format(**fill) + describe_cut_short(pairs.n_cut_short),
        defence=DEFENCE,
        example=attack.example.format(sizes=sizes, **witness),
        assumptions=(
            GROWN,
            FROM_THE_BEGINNING,
            KNOWN,
            *describe_limits(pairs.n_cut_short, "the formula"),
        ),
        worst=rows if exposed else (),
        table=f"release {attack.number}",
        witness=witness,
        details=details,
    )


def summarise_groups(groups: str, remaining: RemainingRows, before: Ints) -> dict[str, Any]:
    """How much is cracked of the groups that somebody could be in, and how few rows are left."""
    is_possible = remaining.rows > 0
    cracked = (before - remaining.rows)[is_possible]
    return {
        groups: int(is_possible.sum()),
        f"{groups}_cracked": int((cracked > 0).sum()),
        f"{groups}_exposed": int(remaining.exposed.sum()),
        "most_cracked": int(cracked.max()),
        "lowest": int(remaining.rows[is_possible].min()),
        "k_before": int(before[is_possible].min()),
    }


def describe_worst_group(
    remaining: RemainingRows, before: Ints, worst: int, classes: Iterable[tuple[ReleaseView, int]]
) -> dict[str, Any]:
    """The witness: the classes of one group with their first rows, and what is left of it."""
    rows = [
        (release, class_, np.flatnonzero(release.class_ == class_) + 1)
        for release, class_ in classes
    ]
    return {
        "releases": [describe_class(*each) for each in rows],
        "before": int(before[worst]),
        "cracked": int(before[worst] - remaining.rows[worst]),
        "left": int(remaining.rows[worst]),
        "exposed": bool(remaining.exposed[worst]),
    }


def _bound_exposed(
    table: GrowingTable, pairs: ClassPairs, number: int
) -> tuple[int, tuple[int, ...]]:
    """How many people could be in an exposed pair of classes at most, and rows that could be."""
    rows_per_pair = np.where(
        pairs.remaining.exposed[pairs.pair_of_twins], table.max_rows_per_pair[0], 0
    )
    sides = (table.earlier, table.twins), (table.later, table.partner)
    taken = (
        np.bincount(of, rows_per_pair, len(twins.count)).astype(np.int64) for twins, of in sides
    )
    rows_fitting = [np.minimum(twins.count, n) for (twins, _), n in zip(sides, taken, strict=True)]
    return min(int(rows.sum()) for rows in rows_fitting), list_rows_of_twins(
        sides[number - 1][0], rows_fitting[number - 1]
    )
