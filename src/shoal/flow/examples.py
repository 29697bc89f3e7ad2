"""A few values that each published label covers, so that axes grown from other people know it.

Targets and populations need not have every value that a release has: nobody among them may live
in ``130**``. An axis grown from their values alone could not read that label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.flow.recount import Recount, leaf
from shoal.frames.write import restored
from shoal.hierarchy import Ordered, Tree
from shoal.labels import position, read_range, read_set
from shoal.meaning import MISSING, Meaning, Members, Span, kind_of, read, values
from shoal.schema import Column, Schema

Examples = dict[str, list[Any]]
"""By column, values that its labels cover; None where a label is null."""


def examples(count: Recount, schema: Schema, *, own: bool = False) -> Examples:
    """Values that the labels of a recounted table cover or end at, for each quasi-identifier.

    `own`: Shoal made the table. Then ``Black, other`` and ``NA`` are values, because Shoal writes
    a set in braces and a null as an empty cell. In the tables of others they may be a set and a
    suppressed cell; what nothing decides gets no example, and cannot be read.
    """
    columns = {column.name: column for column in schema.quasi}
    return {
        axis.name: covered(
            [restored(leaf(axis, code)) for code in range(axis.size)], columns[axis.name], own
        )
        for axis in count.tally.quasi
    }


def covered(labels: Sequence[str | None], column: Column, own: bool = False) -> list[Any]:
    """Values of a column that lie in its labels' cells; none for ``*`` and what is not understood.

    >>> covered(["130**"], Column("zip", "quasi", "code"))
    ['13000', '13011']
    >>> covered(["[20-29]", "<30"], Column("age", "quasi", "number"))
    [20.0, 29.0, 29.0, 30.0]
    """
    found: list[Any] = [None] if None in labels else []
    if isinstance(column.hierarchy, Tree):  # a taxonomy lists all its leaves
        return found
    kind = column.kind or kind_of(labels)
    texts = [label for label in labels if label is not None]
    if own and kind in ("category", "code"):
        meanings = [_own(label, column, kind) for label in texts]
    else:
        meanings = _foreign(texts, column, kind)
    found += [value for meaning in meanings for value in values(meaning, kind)]
    return [value for value in found if value is None or _allowed(value, column, kind)]


def _own(label: str, column: Column, kind: str) -> Meaning | None:
    if "*" in label:
        return read(label, kind) if kind == "code" or not label.strip("*") else Members((label,))
    if isinstance(column.hierarchy, Ordered) and (ends := read_range(label)):
        return Span(*ends)
    return Members(tuple(read_set(label) or [label]))


def _foreign(labels: Sequence[str], column: Column, kind: str) -> list[Meaning | None]:
    """What the labels mean; none where it is not certain, and no other label decides it."""
    domain = set(column.domain or ())
    ordered = isinstance(column.hierarchy, Ordered)
    found: list[Meaning | None] = []
    for label in labels:
        meaning = None if label in MISSING else read(label, kind)
        if kind == "category" and isinstance(meaning, Span) and not ordered:
            meaning = None
        found.append(Members((label,)) if label in domain else meaning)
    alone = domain.union(*(one.texts for one in found if isinstance(one, Members) and one.sure))
    return [
        None if isinstance(one, Members) and not one.sure and not alone.issuperset(one.texts)
        else one
        for one in found
    ]  # fmt: skip


def _allowed(value: Any, column: Column, kind: str) -> bool:
    """Whether the schema lets the column have this value."""
    if column.domain is not None:
        return value in column.domain
    if column.bounds is None or kind not in ("number", "date"):
        return True
    return column.bounds[0] <= position(value, kind) <= column.bounds[1]
