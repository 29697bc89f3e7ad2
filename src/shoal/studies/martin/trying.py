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

from shoal.studies.martin.ten_people import deal

Counts = tuple[int, ...]


def shapes(people: int) -> list[Counts]:
    """The counts that classes of at most so many people can have, in falling order."""
    return [
        counts
        for number in range(1, people + 1)
        for values in range(1, number + 1)
        for counts in combinations_with_replacement(range(number, 0, -1), values)
        if sum(counts) == number
    ]


def tables(classes: int, people: int, worlds: int) -> Iterator[tuple[Counts, ...]]:
    """All tables of at most so many classes, people in each of them, and worlds."""
    for number in range(1, classes + 1):
        for table in combinations_with_replacement(shapes(people), number):
            if math.prod(map(_ways, table)) <= worlds:
                yield table


def least(counts: Counts, atoms: int) -> Fraction:
    """The least probability that so many atoms about one class are all false."""
    true, everything = _atoms([counts])
    left = _kept({everything}, {everything & ~one for one in true}, atoms)
    return Fraction(min(one.bit_count() for one in left), everything.bit_count())


def largest(table: Sequence[Counts], pieces: int) -> Fraction:
    """The largest belief in anybody's value with so many simple implications."""
    true, everything = _atoms(table)
    said = {(everything & ~given) | then for given, then in product(true, true)}
    left = _kept({everything}, said, pieces) - {0}
    return max(
        Fraction((one & atom).bit_count(), one.bit_count()) for one in left for atom in set(true)
    )


def _kept(left: set[int], said: Iterable[int], pieces: int) -> set[int]:
    """Which sets of worlds are left by so many of the things that may be said."""
    for _ in range(pieces):
        left = left | {one & piece for one in left for piece in said}
    return left


def _atoms(table: Sequence[Counts]) -> tuple[list[int], int]:
    """In which worlds each atom is true, a bit for each world; and all worlds."""
    found = [Counter({str(value): n for value, n in enumerate(one)}) for one in table]
    where = {f"{at}.{i}": at for at, one in enumerate(found) for i in range(one.total())}
    true = deal(found, where).true
    bits = [sum(1 << int(world) for world in row.nonzero()[0]) for row in true]
    return bits, (1 << true.shape[1]) - 1


def _ways(counts: Counts) -> int:
    """How many worlds a class has."""
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
