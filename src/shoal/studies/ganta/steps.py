"""Numbers that follow each other: whether a step goes up or down, and how ends are told.

Runs differ, so that of two means one is nearly always the larger. A step counts as going up or
down where the means differ by more than the sum of their standard deviations over the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from shoal.studies.claims import Number, Rows

BEYOND = (
    "One number counts as above another where their means differ by more than the sum of their "
    "standard deviations over the runs; the bound is ours."
)


def compare_means(before: Number, after: Number) -> int:
    """1 where it goes up beyond the spread of the runs, -1 where down, 0 where neither.

    >>> from shoal.studies.claims import compute_mean
    >>> compare_means(compute_mean([{"n": 5}], "n"), compute_mean([{"n": 7}], "n"))
    1
    """
    spread = before.spread + after.spread
    return (after.mean - before.mean > spread) - (before.mean - after.mean > spread)


def list_steps(numbers: Iterable[Number]) -> list[int]:
    """Every step from one number to the next."""
    return [compare_means(a, b) for a, b in pairwise(numbers)]


def describe_ends(ends: Mapping[str, tuple[Number, Number]], unit: str = "") -> str:
    """For every table the first and the last mean, for the title of a chart.

    >>> from shoal.studies.claims import compute_mean
    >>> few, many = compute_mean([{"n": 5}], "n"), compute_mean([{"n": 2100}], "n")
    >>> describe_ends({"Adult": (few, many)}, " rows")
    '5 to 2,100 rows (Adult)'
    """
    return ", ".join(
        f"{_short(first.mean)} to {_short(last.mean)}{unit} ({table})"
        for table, (first, last) in ends.items()
    )


def _short(mean: float) -> str:
    return f"{mean:,.0f}" if mean >= 10 or mean == round(mean) else f"{mean:.1f}"


def describe_tables(rows: Rows) -> str:
    """Which tables, and which of their rows, a chart is of: a sentence for below it."""
    return f"Of: {'; '.join(dict.fromkeys(str(row['table']) for row in rows))}."
