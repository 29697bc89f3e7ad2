"""A value or two that each published label covers, so that axes grown from other people know it.

Targets and populations need not have every value that a release has: nobody among them may live
in ``130**``. An axis grown from their values alone could not read that label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from shoal.flow.recount import Recount, leaf
from shoal.hierarchy import Tree
from shoal.labels import ROOT, position, read_range, read_set
from shoal.schema import Column, Schema

_OPEN = re.compile(r"(<|>=)(.+)")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_QUARTER = re.compile(r"(\d{4})-Q([1-4])")
_YEARS = re.compile(r"(\d{4})(?:-\d{2,4})?")

Examples = dict[str, list[Any]]
"""By column, values that its labels cover; None where a label is null."""


def examples(count: Recount, schema: Schema) -> Examples:
    """Values that the labels of a recounted table cover, for each quasi-identifier."""
    columns = {column.name: column for column in schema.quasi}
    return {
        axis.name: [
            value
            for code in range(axis.size)
            for value in covered(leaf(axis, code), columns[axis.name])
        ]
        for axis in count.tally.quasi
    }


def covered(label: str | None, column: Column) -> Iterator[Any]:
    """Values of a column that lie in a label's cell; none for ``*`` and what is not understood.

    >>> list(covered("130**", Column("zip", "quasi", "code")))
    ['13000', '13011']
    >>> list(covered("[20-29]", Column("age", "quasi", "number")))
    [20.0, 29.0]
    """
    if label == ROOT or isinstance(column.hierarchy, Tree):  # a taxonomy lists all its leaves
        return
    words = [None] if label is None else read_set(label) or read_range(label) or [label]
    for word in words:
        if word is None or column.kind == "category":
            yield word
        elif column.kind == "code":
            yield from {word.replace("*", end): None for end in "01"}  # two, to share a prefix
        elif column.kind == "number":
            yield from _number(word)
        elif column.kind == "date":
            yield from _date(word)


def _number(word: str) -> Iterator[float]:
    opened = _OPEN.fullmatch(word)
    try:
        value = position(opened[2] if opened else word, "number")
    except ValueError:
        return
    yield value - 1 if opened and opened[1] == "<" else value


def _date(word: str) -> Iterator[date]:
    month = _MONTH.fullmatch(word)
    if month and 1 <= int(month[2]) <= 12:
        yield date(int(month[1]), int(month[2]), 1)
    elif quarter := _QUARTER.fullmatch(word):
        yield date(int(quarter[1]), 3 * int(quarter[2]) - 2, 1)
    elif years := _YEARS.fullmatch(word):
        yield date(int(years[1]), 1, 1)
    else:
        try:
            yield date.fromisoformat(word)
        except ValueError:
            return
