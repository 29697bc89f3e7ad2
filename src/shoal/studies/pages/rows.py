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
from shoal.studies.pages.words import apart, digits

Rows = Sequence[Mapping[str, Any]]
FEW, MOST = 60, 120
"""So many rows are printed as they are; so many means at the most."""
SEED = "seed"


def measurements(rows: Rows, parameters: Sequence[str] | None = None) -> tuple[str, Table]:
    """What is printed, in a sentence, and the table.

    ``parameters`` are the columns that say what was measured; where they are not known, nothing
    is averaged.
    """
    flat, left = _flat(rows)
    shared = _shared(flat)
    told = "".join([_alike(shared), _left(left)])
    if len(flat) <= FEW:
        return f"Every measurement, {_rows(len(flat))}.{told}", _table(flat, _open(flat, shared))
    found = flat if parameters is None else means(flat, parameters)
    spread = "mean ± standard deviation over the seeds" if len(found) < len(flat) else ""
    cut = f"the first {FEW} of {_rows(len(found))}" if len(found) > MOST else _rows(len(found))
    said = ", ".join(part for part in (cut, spread) if part)
    body = found[:FEW] if len(found) > MOST else found
    head = f"{said[:1].upper()}{said[1:]}; all {len(flat):,} measurements are in `results.csv`."
    return f"{head}{told}", _table(body, _open(found, shared))


def means(rows: Rows, parameters: Sequence[str]) -> list[dict[str, Any]]:
    """One row for all seeds, in the order in which they came; what no seed changes as it is.

    >>> rows = [{"k": k, "seed": s, "hit": k + s} for k in (5, 9) for s in (0, 1)]
    >>> means([*rows, {"k": 7, "hit": 3}], ["k", "seed"])
    [{'k': 5, 'hit': '5.5 ± 0.7'}, {'k': 9, 'hit': '9.5 ± 0.7'}, {'k': 7, 'hit': 3}]
    """
    groups, names = _groups(rows, _keys(rows, parameters)), _names(rows)
    drawn = [name for name in names if any(_differs(some, name) for some in groups)]
    return [
        {
            name: _mean(some, name) if name in drawn and len(some) > 1 else some[0].get(name)
            for name in names
            if any(name in row for row in some) and (name != SEED or len(some) == 1)
        }
        for some in groups
    ]


def _keys(rows: Rows, parameters: Sequence[str]) -> list[str]:
    """What rows must share to be averaged: parameters, and all words."""
    return [
        name
        for name in _names(rows)
        if name != SEED and (name in parameters or not _numbers(rows, name))
    ]


def _numbers(rows: Rows, name: str) -> bool:
    return all(row.get(name) is None or is_number(row.get(name)) for row in rows)


def _groups(rows: Rows, keys: Sequence[str]) -> list[list[Mapping[str, Any]]]:
    """The rows that are averaged together: the first of every seed, the second of every seed, …

    Where the seeds have not equally many rows, none is averaged.
    """
    kinds = [tuple(row.get(name) for name in keys) for row in rows]
    even = _even(rows, kinds)
    seen: Counter[tuple[Any, ...]] = Counter()
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for at, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        of = (kind, row.get(SEED))
        place = (kind, seen[of]) if kind in even and of[1] is not None else (at,)
        seen[of] += 1
        found.setdefault(place, []).append(row)
    return list(found.values())


def _even(rows: Rows, kinds: Sequence[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """The kinds of which every seed that has any has equally many rows."""
    counted = Counter((kind, row.get(SEED)) for row, kind in zip(rows, kinds, strict=True))
    sizes: dict[tuple[Any, ...], set[int]] = {}
    for (kind, seed), number in counted.items():
        if seed is not None:
            sizes.setdefault(kind, set()).add(number)
    return {kind for kind, some in sizes.items() if len(some) == 1}


def _differs(rows: Rows, name: str) -> bool:
    return len({row.get(name) for row in rows}) > 1


def _mean(rows: Rows, name: str) -> str | None:
    found = [float(row[name]) for row in rows if row.get(name) is not None]
    if not found:
        return None
    return apart(fmean(found), stdev(found)) if len(found) > 1 else digits(found[0])


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _flat(rows: Rows) -> tuple[list[dict[str, Any]], list[str]]:
    """Without the columns that hold lists, and their names."""
    left = [
        name
        for name in _names(rows)
        if any(isinstance(row.get(name), dict | list | tuple) for row in rows)
    ]
    return [{k: v for k, v in row.items() if k not in left} for row in rows], left


def _shared(rows: Rows) -> dict[str, Any]:
    """What every row has alike: it needs no column."""
    if len(rows) < 3:
        return {}
    first = rows[0]
    return {
        name: first[name]
        for name in _names(rows)
        if name in first and all(row.get(name) == first[name] for row in rows)
    }


def _open(rows: Rows, shared: Mapping[str, Any]) -> list[str]:
    return [name for name in _names(rows) if name not in shared]


def _table(rows: Rows, names: Sequence[str]) -> Table:
    heads = tuple(name.replace("_", " ") for name in names)
    return Table(heads, tuple(tuple(row.get(name) for name in names) for row in rows))


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _alike(shared: Mapping[str, Any]) -> str:
    told = [f"{name.replace('_', ' ')} = {value}" for name, value in shared.items()]
    return f" In all of them: {', '.join(told)}." if told else ""


def _left(names: Sequence[str]) -> str:
    return f" Lists are in the files alone: {', '.join(names)}." if names else ""
