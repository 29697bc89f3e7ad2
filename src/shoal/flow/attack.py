"""Attack: put an adversary's view together from files, and run an attack on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacks import attacks
from shoal.attacks.view import Published, View
from shoal.axis import Axis
from shoal.errors import InputError, UsageError
from shoal.flow.encode import encode
from shoal.flow.examples import examples
from shoal.flow.opening import opened, opened_labels, released
from shoal.flow.recount import Recount, leaf, read_cells, recount
from shoal.hierarchy import Flat
from shoal.labels import text
from shoal.release import Finding
from shoal.schema import Column, Schema
from shoal.tally import Histogram, Tally


def attack(
    name: str,
    releases: Sequence[Any],
    *,
    targets: Any,
    schema: Schema | Sequence[Schema],
    on: str | None = None,
) -> Finding:
    """Run an attack by its name on releases, against the people of a table of targets.

    The schema gives the columns' roles and hierarchies; where the releases were made with
    different ones, give one schema for each. Its ``person`` column, where the targets have it,
    names the worst-hit in the finding.
    """
    known = attacks()
    if name not in known:
        raise UsageError(f"There is no attack {name!r}.", f"the attacks are: {', '.join(known)}.")
    schemas = [schema] * len(releases) if isinstance(schema, Schema) else list(schema)
    if len(schemas) != len(releases):
        raise UsageError("There is not one schema for each release.", "give one for all of them.")
    if not all(one.sensitive for one in schemas):
        raise UsageError("There is nothing to learn.", 'give a column the role "sensitive".')
    if on is None and len(schemas[0].sensitive) > 1:
        raise UsageError("Several columns are sensitive.", "name one with on=.")
    column = on or schemas[0].sensitive[0].name
    counts = [_recount(one, roles) for one, roles in zip(releases, schemas, strict=True)]
    people = [_people(targets, roles, counts) for roles in schemas]
    _same_leaves([one.tally for one in people])
    sets = [_published(count, one.tally, column) for count, one in zip(counts, people, strict=True)]
    values = sorted({value for _, texts in sets for value in texts.values()}, key=str)
    published = tuple(_on(one, texts, values) for one, texts in sets)
    first = people[0]
    return known[name](View(first.tally.quasi, published, first.tally.keys, first.who))


@dataclass(frozen=True)
class People:
    """The targets, one entry each, and who they are where a column says so."""

    tally: Tally
    who: tuple[Any, ...]


def _recount(source: Any, schema: Schema) -> Recount:
    release = released(source)
    table = source if release is None else release[0]
    with opened_labels(table, schema, exact=release is not None) as frame:
        return recount(frame, schema)


def _people(targets: Any, schema: Schema, releases: Sequence[Recount]) -> People:
    """The targets on axes that know their values and the releases' labels."""
    columns = list(schema.quasi)
    kinds = {column.name: column.kind for column in columns if column.kind}
    with opened(targets, kinds=kinds) as frame:
        there = {field.name for field in frame.fields}
        if schema.person and schema.person.name in there:  # told apart like the rows of providers
            columns.append(Column(schema.person.name, "provider", hierarchy=Flat()))
        names = {column.name for column in columns}
        fitted = Schema(tuple(columns)).fit([f for f in frame.fields if f.name in names])
        more: dict[str, list[Any]] = {}
        for count in releases:
            for name, values in examples(count, fitted).items():
                more.setdefault(name, []).extend(values)
        tally = encode(frame, fitted, also=more).tally
    entry = np.repeat(np.arange(tally.entries), tally.count)
    who: tuple[Any, ...] = ()
    if tally.provider is not None and tally.providers is not None:
        who = tuple(text(leaf(tally.provider, int(code))) for code in tally.providers[entry])
    ones = np.ones(len(entry), np.int64)
    return People(replace(tally, keys=tally.keys[:, entry], count=ones), who)


def _same_leaves(tallies: Sequence[Tally]) -> None:
    for axes in zip(*(tally.quasi for tally in tallies), strict=True):
        if any(axis.leaves != axes[0].leaves for axis in axes):
            raise UsageError(
                f"The hierarchies of column {axes[0].name!r} order its values differently.",
                "give the releases' schemas the same leaves in the same order.",
            )


def _published(count: Recount, people: Tally, on: str) -> tuple[Published, dict[int, Any]]:
    """One release on the targets' axes, with the values behind its sensitive codes."""
    cells = read_cells(count, people.quasi)
    names = [axis.name for axis in count.tally.sensitive]
    if on not in names:
        raise InputError(f"A release has no column {on!r}.", "name one with on=.")
    axis, codes = count.tally.sensitive[names.index(on)], count.tally.values[names.index(on)]
    values = Histogram.of(axis, count.cut.class_, codes, count.cut.count, count.cut.classes)
    return Published(cells, values), {code: leaf(axis, code) for code in range(axis.size)}


def _on(one: Published, texts: dict[int, Any], values: Sequence[Any]) -> Published:
    """The same release with its sensitive values numbered as in the other releases."""
    number = {value: i for i, value in enumerate(values)}
    code = np.array([number[texts[c]] for c in range(len(texts))], dtype=np.int32)
    axis = Axis.numbered(one.values.axis.name, len(values))
    return Published(
        one.cells,
        Histogram.of(
            axis, one.values.class_, code[one.values.value], one.values.count, len(one.cells)
        ),
    )
