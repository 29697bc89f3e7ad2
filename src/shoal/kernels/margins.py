"""Arrays of counts with given sums of rows and of columns: all of them, and how many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

Counts = tuple[int, ...]

DEEP = 100
"""Arrays with more rows or columns are not counted: there would be too many of them."""


def filled(rows: Sequence[int], columns: Counts) -> Iterator[tuple[Counts, ...]]:
    """Every array of counts with these sums of rows and columns.

    >>> list(filled([1, 1], (1, 1)))
    [((0, 1), (1, 0)), ((1, 0), (0, 1))]
    """
    if not rows:
        yield ()
        return
    for row in _rows(columns, rows[0]):
        for rest in filled(rows[1:], _minus(columns, row)):
            yield row, *rest


def fillings(rows: Sequence[int], columns: Counts, most: int) -> int:
    """How many such arrays there are; ``most`` + 1 where they are more than ``most``.

    >>> fillings([1, 1, 1], (2, 1), 10), fillings([1, 1, 1], (2, 1), 2)
    (3, 3)
    """
    if max(len(rows), len(columns)) > DEEP:
        return most + 1
    ways, total = {columns: 1}, 1  # by the columns' sums that are left
    for size in rows:
        after: dict[Counts, int] = defaultdict(int)
        total = 0
        for left, number in ways.items():
            for row in _rows(left, size):
                after[_minus(left, row)] += number
                total += number
                if total > most:  # each of them can be completed
                    return most + 1
        ways = after
    return total


def _rows(columns: Counts, size: int) -> Iterator[Counts]:
    """Every row of this sum whose counts are at most the columns' sums."""
    if not columns:
        yield ()
        return
    first, *rest = columns
    for number in range(max(0, size - sum(rest)), min(first, size) + 1):
        for others in _rows(tuple(rest), size - number):
            yield number, *others


def _minus(columns: Counts, row: Counts) -> Counts:
    return tuple(a - b for a, b in zip(columns, row, strict=True))
