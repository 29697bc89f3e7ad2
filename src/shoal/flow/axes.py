"""The axes on which an adversary compares: one for each quasi-identifier, for all releases.

An axis grows from the people's values and from values that the releases' labels cover. Releases
that were made with different hierarchies are read each by its own; their leaves must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.axis import Axis
from shoal.column import DEFAULTS, Column
from shoal.errors import InputError, UsageError
from shoal.flow.crowd import Crowd
from shoal.flow.examples import examples
from shoal.flow.seen import Seen
from shoal.hierarchy import Tree
from shoal.labels import text
from shoal.meaning import kind_of
from shoal.schema import Schema

_WORDS = frozenset({"category", "code", "text"})


def common_axes(seen: Sequence[Seen], crowds: Sequence[Crowd]) -> list[dict[str, Axis]]:
    """For each release the axes of its quasi-identifiers, by name; alike but for their labels."""
    names = dict.fromkeys(name for one in seen for name in one.quasi)
    columns = {name: _settled(name, seen, crowds) for name in names}
    values: dict[str, dict[Any, None]] = {
        name: _known(name, columns[name], crowds) for name in names
    }
    for i, one in enumerate(seen):
        schema = Schema(tuple(columns[name][i] for name in one.quasi))
        for name, covered in examples(one.count, schema, own=one.manifest is not None).items():
            values[name].update(dict.fromkeys(covered))
    grown = {name: _grown(columns[name], list(values[name])) for name in names}
    return [{name: grown[name][i] for name in one.quasi} for i, one in enumerate(seen)]


def _settled(name: str, seen: Sequence[Seen], crowds: Sequence[Crowd]) -> list[Column]:
    """The column as each release has it, with one kind for all and a hierarchy where one has."""
    stated = [one.schema.column(name) if name in one.quasi else None for one in seen]
    there = [column for column in stated if column is not None]
    kind = _kind(name, there, seen, crowds)
    lent = next((column.hierarchy for column in there if column.hierarchy), DEFAULTS[kind])
    return [
        replace(column or there[0], kind=kind, hierarchy=(column or there[0]).hierarchy or lent)
        for column in stated
    ]


def _kind(
    name: str, stated: Sequence[Column], seen: Sequence[Seen], crowds: Sequence[Crowd]
) -> str:
    """What the schema says, else how the people's table is read, else what the labels read as."""
    kinds = list(dict.fromkeys(column.kind for column in stated if column.kind))
    if len(kinds) > 1:
        raise UsageError(
            f"Column {name!r} is a {kinds[0]} in one release and a {kinds[1]} in another.",
            "give it one kind in all schemas.",
        )
    read = [crowd.kinds[name] for crowd in crowds if name in crowd.listings]
    labels = [one.listings[name].words() for one in seen if name in one.quasi]
    kind = next(iter((*kinds, *read)), None) or _kind_of(labels)
    kind = "category" if kind == "text" else kind
    if any(other != kind and not {other, kind} <= _WORDS for other in read):
        raise InputError(
            f"Column {name!r} is read as a {kind}, and people's values in it are of another kind.",
            "state its kind in the schema, or correct the values.",
        )
    return kind


def _kind_of(labels: Sequence[Sequence[str | None]]) -> str:
    """The kind of all labels; where one release's make it words, that of the others."""
    together = kind_of([word for words in labels for word in words])
    apart = (kind_of(words) for words in labels)
    return next((kind for kind in (together, *apart) if kind != "category"), "category")


def _known(name: str, columns: Sequence[Column], crowds: Sequence[Crowd]) -> dict[Any, None]:
    """The values that are known without any label."""
    listings = [crowd.listings[name] for crowd in crowds if name in crowd.listings]
    people = (value for one in listings for value in one.values)
    domains = (value for column in columns for value in column.domain or ())
    return dict.fromkeys((*people, *domains))


def _grown(columns: Sequence[Column], values: Sequence[Any]) -> list[Axis]:
    """An axis for each of the columns; the same one where they generalise alike."""
    axes: list[Axis] = []
    for i, column in enumerate(columns):
        same = next((j for j in range(i) if columns[j] == column), None)
        axes.append(_grow(column, values) if same is None else axes[same])
        if axes[i].leaves != axes[0].leaves:
            raise UsageError(
                f"The hierarchies of column {column.name!r} order its values differently.",
                "give the releases' schemas the same leaves in the same order.",
            )
    return axes


def _grow(column: Column, values: Sequence[Any]) -> Axis:
    assert column.hierarchy is not None
    present = [value for value in values if value is not None]
    # Where every label is `*` and nobody's value is known, null stands for whatever it may be.
    null = len(present) < len(values) or not present
    return column.hierarchy.grow(column.name, column.kind, present, None, null, column.bounds)


def value_axis(column: Column, kind: str, values: Sequence[Any]) -> Axis:
    """The axis of a column that is published as it is, by the schema's hierarchy where it fits."""
    hierarchy = column.hierarchy if column.kind in ("", kind) else None
    if isinstance(hierarchy, Tree):  # a release names only the leaves that it has itself
        leaves = {row[0] for row in hierarchy.rows}
        hierarchy = hierarchy if leaves >= {text(v) for v in values if v is not None} else None
    settled = replace(column, kind=kind, hierarchy=hierarchy or DEFAULTS[kind], bounds=None)
    return _grow(settled, list(dict.fromkeys(values)))
