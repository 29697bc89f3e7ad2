"""A study's measurements as a table for people: every row where they are few, else means.

Means are over the seeds alone: of the rows that have the same parameters and words, and that are
at the same place among those of their seed. Rows without a seed are printed as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from shoal.reports.document import Table
from shoal.studies.pages.series import is_number
from shoal.studies.pages.words import format_digits, format_spread

Rows = Sequence[Mapping[str, Any]]
FEW, MOST = 60, 120
"""So many rows are printed as they are; so many means at the most."""
SEED = "seed"


def describe_measurements(rows: Rows, parameters: Sequence[str] | None = None) -> tuple[str, Table]:
    """What is printed, in a sentence, and the table.

    ``parameters`` are the columns that say what was measured; where they are not known, nothing
    is averaged.
    """
    flat, left = _drop_lists(rows)
    shared = _find_shared(flat)
    notes = "".join([_describe_shared(shared), _describe_left_out(left)])
    if len(flat) <= FEW:
        return f"Every measurement, {_count_rows(len(flat))}.{notes}", _make_table(
            flat, _list_open_columns(flat, shared)
        )
    averages = flat if parameters is None else average_seeds(flat, parameters)
    spread = "mean ± standard deviation over the seeds" if len(averages) < len(flat) else ""
    cut = (
        f"the first {FEW} of {_count_rows(len(averages))}"
        if len(averages) > MOST
        else _count_rows(len(averages))
    )
    parts = ", ".join(part for part in (cut, spread) if part)
    body = averages[:FEW] if len(averages) > MOST else averages
    head = f"{parts[:1].upper()}{parts[1:]}; all {len(flat):,} measurements are in `results.csv`."
    return f"{head}{notes}", _make_table(body, _list_open_columns(averages, shared))


def average_seeds(rows: Rows, parameters: Sequence[str]) -> list[dict[str, Any]]:
    """One row for all seeds, in the order in which they came; what no seed changes as it is.

    >>> rows = [{"k": k, "seed": s, "hit": k + s} for k in (5, 9) for s in (0, 1)]
    >>> average_seeds([*rows, {"k": 7, "hit": 3}], ["k", "seed"])
    [{'k': 5, 'hit': '5.5 ± 0.7'}, {'k': 9, 'hit': '9.5 ± 0.7'}, {'k': 7, 'hit': 3}]
    """
    groups, names = _group_rows(rows, _list_keys(rows, parameters)), _list_columns(rows)
    drawn = [name for name in names if any(_has_differences(some, name) for some in groups)]
    return [
        {
            name: _average(some, name) if name in drawn and len(some) > 1 else some[0].get(name)
            for name in names
            if any(name in row for row in some) and (name != SEED or len(some) == 1)
        }
        for some in groups
    ]


def _list_keys(rows: Rows, parameters: Sequence[str]) -> list[str]:
    """What rows must share to be averaged: parameters, and all words."""
    return [
        name
        for name in _list_columns(rows)
        if name != SEED and (name in parameters or not _has_numbers(rows, name))
    ]


def _has_numbers(rows: Rows, name: str) -> bool:
    return all(row.get(name) is None or is_number(row.get(name)) for row in rows)


def _group_rows(rows: Rows, keys: Sequence[str]) -> list[list[Mapping[str, Any]]]:
    """The rows that are averaged together: the first of every seed, the second of every seed, …

    Where the seeds have not equally many rows, none is averaged.
    """
    kinds = [tuple(row.get(name) for name in keys) for row in rows]
    even = _find_even_kinds(rows, kinds)
    counts: Counter[tuple[Any, ...]] = Counter()
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for at, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        of = (kind, row.get(SEED))
        place = (kind, counts[of]) if kind in even and of[1] is not None else (at,)
        counts[of] += 1
        groups.setdefault(place, []).append(row)
    return list(groups.values())


def _find_even_kinds(rows: Rows, kinds: Sequence[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """The kinds of which every seed that has any has equally many rows."""
    counts = Counter((kind, row.get(SEED)) for row, kind in zip(rows, kinds, strict=True))
    sizes: dict[tuple[Any, ...], set[int]] = {}
    for (kind, seed), number in counts.items():
        if seed is not None:
            sizes.setdefault(kind, set()).add(number)
    return {kind for kind, some in sizes.items() if len(some) == 1}


def _has_differences(rows: Rows, name: str) -> bool:
    return len({row.get(name) for row in rows}) > 1


def _average(rows: Rows, name: str) -> str | None:
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    if not values:
        return None
    return (
        format_spread(fmean(values), stdev(values)) if len(values) > 1 else format_digits(values[0])
    )


def _list_columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _drop_lists(rows: Rows) -> tuple[list[dict[str, Any]], list[str]]:
    """Without the columns that hold lists, and their names."""
    left = [
        name
        for name in _list_columns(rows)
        if any(isinstance(row.get(name), dict | list | tuple) for row in rows)
    ]
    return [{k: v for k, v in row.items() if k not in left} for row in rows], left


def _find_shared(rows: Rows) -> dict[str, Any]:
    """What every row has alike: it needs no column."""
    if len(rows) < 3:
        return {}
    first = rows[0]
    return {
        name: first[name]
        for name in _list_columns(rows)
        if name in first and all(row.get(name) == first[name] for row in rows)
    }


def _list_open_columns(rows: Rows, shared: Mapping[str, Any]) -> list[str]:
    return [name for name in _list_columns(rows) if name not in shared]


def _make_table(rows: Rows, names: Sequence[str]) -> Table:
    heads = tuple(name.replace("_", " ") for name in names)
    return Table(heads, tuple(tuple(row.get(name) for name in names) for row in rows))


def _count_rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _describe_shared(shared: Mapping[str, Any]) -> str:
    settings = [f"{name.replace('_', ' ')} = {value}" for name, value in shared.items()]
    return f" In all of them: {', '.join(settings)}." if settings else ""


def _describe_left_out(names: Sequence[str]) -> str:
    return f" Lists are in the files alone: {', '.join(names)}." if names else ""
