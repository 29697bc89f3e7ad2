"""Attack: put an adversary's view together from files, and run an attack on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.attacks import attacks
from shoal.attacks.view import Published, View
from shoal.axis import Axis
from shoal.errors import InputError, UsageError
from shoal.flow.encode import encode
from shoal.flow.recount import leaf, read_cells, recount
from shoal.flow.verify import open_published, release_folder
from shoal.frames import open as open_frame
from shoal.hierarchy import Flat
from shoal.release import Finding
from shoal.schema import Column, Schema
from shoal.tally import Histogram, Tally


def attack(
    name: str,
    releases: Sequence[Any],
    *,
    targets: Any,
    schema: Schema,
    on: str | None = None,
) -> Finding:
    """Run an attack by its name on releases, against the people of a table of targets.

    The schema gives the columns' roles and hierarchies; its ``person`` column, where the targets
    have it, names the worst-hit in the finding.
    """
    known = attacks()
    if name not in known:
        raise UsageError(f"There is no attack {name!r}.", f"the attacks are: {', '.join(known)}.")
    if not schema.sensitive:
        raise UsageError("There is nothing to learn.", 'give a column the role "sensitive".')
    column = schema.column(on) if on else schema.sensitive[0]
    people, who = _people(targets, schema)
    sets = [_published(one, schema, people, column.name) for one in releases]
    values = sorted({value for _, texts in sets for value in texts.values()}, key=str)
    published = tuple(_on(one, texts, values) for one, texts in sets)
    return known[name](View(people.quasi, published, people.keys, who))


def _people(targets: Any, schema: Schema) -> tuple[Tally, tuple[Any, ...]]:
    """The targets on the axes that their own values and the hierarchies make, and who they are."""
    columns = list(schema.quasi)
    frame = open_frame(targets, kinds=schema.kinds)
    there = {field.name for field in frame.fields}
    if schema.person and schema.person.name in there:  # told apart like the rows of providers
        columns.append(Column(schema.person.name, "provider", "code", Flat()))
    names = {column.name for column in columns}
    fields = [field for field in frame.fields if field.name in names]
    tally = encode(frame, Schema(tuple(columns)).fit(fields)).tally
    entry = np.repeat(np.arange(tally.entries), tally.count)
    who: tuple[Any, ...] = ()
    if tally.provider is not None and tally.providers is not None:
        who = tuple(leaf(tally.provider, int(code)) for code in tally.providers[entry])
    return replace(tally, keys=tally.keys[:, entry], count=np.ones(len(entry), np.int64)), who


def _published(
    source: Any, schema: Schema, people: Tally, on: str
) -> tuple[Published, dict[int, Any]]:
    """One release on the targets' axes, with the values behind its sensitive codes."""
    folder = release_folder(source)
    if folder is not None:
        source = folder
    frame = open_published(source, schema, exact=folder is not None)
    count = recount(frame, schema)
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
