"""What small tables disclose, by trying all knowledge in all worlds, exactly.

A class is the counts of its values. What values and people are called does not matter, so that the
tables to be tried are those that differ in their counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

from shoal.studies.martin.ten_people import deal_values

Counts = tuple[int, ...]


def list_shapes(people: int) -> list[Counts]:
    """The counts that classes of at most so many people can have, in falling order."""
    return [
        counts
        for number in range(1, people + 1)
        for values in range(1, number + 1)
        for counts in combinations_with_replacement(range(number, 0, -1), values)
        if sum(counts) == number
    ]


def list_small_tables(classes: int, people: int, worlds: int) -> Iterator[tuple[Counts, ...]]:
    """All tables of at most so many classes, people in each of them, and worlds."""
    for number in range(1, classes + 1):
        for table in combinations_with_replacement(list_shapes(people), number):
            if math.prod(map(_count_worlds, table)) <= worlds:
                yield table


def find_least_probability(counts: Counts, atoms: int) -> Fraction:
    """The least probability that so many atoms about one class are all false."""
    true, everything = _list_atoms([counts])
    left = _remaining_worlds({everything}, {everything & ~atom for atom in true}, atoms)
    return Fraction(min(worlds.bit_count() for worlds in left), everything.bit_count())


def find_largest_belief(table: Sequence[Counts], pieces: int) -> Fraction:
    """The largest belief in anybody's value with so many simple implications."""
    true, everything = _list_atoms(table)
    implications = {
        (everything & ~premise) | conclusion for premise, conclusion in product(true, true)
    }
    left = _remaining_worlds({everything}, implications, pieces) - {0}
    return max(
        Fraction((worlds & atom).bit_count(), worlds.bit_count())
        for worlds in left
        for atom in set(true)
    )


def _remaining_worlds(left: set[int], statements: Iterable[int], pieces: int) -> set[int]:
    """Which sets of worlds are left by so many of the things that may be said."""
    for _ in range(pieces):
        left = left | {worlds & piece for worlds in left for piece in statements}
    return left


def _list_atoms(table: Sequence[Counts]) -> tuple[list[int], int]:
    """In which worlds each atom is true, a bit for each world; and all worlds."""
    classes = [Counter({str(value): n for value, n in enumerate(counts)}) for counts in table]
    where = {
        f"{at}.{i}": at
        for at, class_counts in enumerate(classes)
        for i in range(class_counts.total())
    }
    true = deal_values(classes, where).true
    bits = [sum(1 << int(world) for world in row.nonzero()[0]) for row in true]
    return bits, (1 << true.shape[1]) - 1


def _count_worlds(counts: Counts) -> int:
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
