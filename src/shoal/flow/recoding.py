"""How a release was recoded, read from its table and its private companion.

One level of each column for everybody, where the companion says so, the table's labels are those of
that level, and new data does not change what the levels are; else the classes' cells, as their
labels say. Hierarchies that follow the data (bins of equal width or frequency) are known by the
labels they left, as ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import InputError, SchemaError, UsageError
from shoal.flow.companion import Companion, read_companion, released
from shoal.flow.examples import examples
from shoal.flow.opening import opened_labels, released_schema
from shoal.flow.recount import Recount, leaf, recount
from shoal.flow.request import PARTITION
from shoal.hierarchy import (
    EqualFrequency,
    EqualWidth,
    Flat,
    Hierarchy,
    Ordered,
    Prefixes,
    Tree,
)
from shoal.labels import ROOT, restored
from shoal.methods.lattice.ladder import rung_at
from shoal.schema import Column, Schema

Levels = dict[str, int]
ANEW = "make a new release without --like"
_TOP = 1_000_000
"""More than any hierarchy has levels: ``*``."""


@dataclass(frozen=True)
class Recoding:
    """A release, as far as it says what became of values."""

    table: Path
    manifest: Mapping[str, Any]
    companion: Companion

    @property
    def sha256(self) -> str:
        """The hash of the release's table."""
        return self.companion.table_sha256

    @property
    def rule(self) -> str:
        """What the release promises."""
        return str(self.companion.promised.get("rule", self.manifest.get("rule", "")))

    @property
    def method(self) -> str:
        """The method that made the release's classes."""
        return str(self.manifest.get("method", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of that method."""
        told = self.manifest.get("parameters", {})
        if not isinstance(told, Mapping):
            raise InputError("The manifest is damaged: parameters.", "publish the release again.")
        return dict(told)

    def schema(self, given: Schema | None) -> Schema:
        """The release's own schema, or a given one that agrees with it on quasi-identifiers."""
        return self.companion.schema if given is None else _agreed(given, self.companion.schema)

    @cached_property
    def count(self) -> Recount:
        """The release's classes by their labels."""
        shown = released_schema(dict(self.manifest))
        with opened_labels(self.table, shown, exact=True) as frame:
            return recount(frame, shown)

    @cached_property
    def classes(self) -> Recount:
        """The same without the class of nothing but ``*``, unless it is the only one.

        Rows held back may stand there: it is not what became of values.
        """
        cut, axes = self.count.cut, self.count.tally.quasi
        hidden = np.ones(cut.classes, np.bool_)
        for axis, codes in zip(axes, cut.cells.low.T, strict=True):
            root = [restored(leaf(axis, code)) == ROOT for code in range(axis.size)]
            hidden &= np.array(root)[codes]
        return self.count if hidden.all() else replace(self.count, cut=cut.without(hidden))

    def levels(self, schema: Schema) -> tuple[Schema, Levels] | None:
        """One level of each column for everybody, under hierarchies that new data does not change.

        None where the release has no such levels, or what they are depends on its own people.
        """
        told = self.companion.levels
        if self.manifest.get("based_on") or any(c.name not in told for c in schema.quasi):
            return None
        found = [_fixed(c, told[c.name], self._labels(c.name)) for c in schema.quasi]
        fixed = [one for one in found if one is not None]
        if len(fixed) < len(found):
            return None
        columns = {column.name: column for column, _ in fixed}
        settled = tuple(columns.get(c.name, c) for c in schema.columns)
        return Schema(settled), {column.name: level for column, level in fixed}

    def readable(self, schema: Schema) -> Schema:
        """The schema by which the release's labels are read: bins of its own data are ranges."""
        by_level = self.levels(schema)
        if by_level is not None:
            return by_level[0]
        return Schema(tuple(_unbinned(column) for column in schema.columns))

    def known(self, schema: Schema) -> dict[str, list[Any]]:
        """By column, values that let an axis print the release's labels as they were.

        Null is one of them where ``*`` could be taken for the only value, or a set for ``*``.
        """
        read = self.readable(schema)
        found = examples(self.count, read, own=True)
        for column in read.quasi:
            values = found[column.name]
            if _needs_null(column, values, self._labels(column.name)):
                values.append(None)
        return found

    def check_levels(self) -> None:
        """Refuse levels that cannot give the labels of the table: they are not the release's."""
        own = self.companion.schema
        by_level = self.levels(own)
        if by_level is None:
            return
        told = [c for c in by_level[0].quasi if c == own.column(c.name)]  # not by their labels
        known = self.known(own)
        wrong = [
            c.name
            for c in told
            if not _gives(c, by_level[1][c.name], known[c.name], self._labels(c.name) - {ROOT})
        ]
        if wrong:
            raise InputError(
                f"The private companion {self.companion.folder.name!r} has levels that do not give "
                f"the labels of the table: {', '.join(wrong)}.",
                f"take the release and the companion that were written together, or {ANEW}.",
            )

    def _labels(self, name: str) -> set[str]:
        axis = next(axis for axis in self.count.tally.quasi if axis.name == name)
        labels = (restored(leaf(axis, code)) for code in range(axis.size))
        return {label for label in labels if label is not None}


def recoding(source: Any) -> Recoding:
    """Read how a release (its folder, or a ``Release``) was recoded, with its companion."""
    found = released(source)
    if found is None:
        raise UsageError(
            "Only a release's folder says how its table was recoded.",
            "give the folder, not the table.",
        )
    table, manifest = found
    if manifest.get("form", PARTITION) != PARTITION:
        raise UsageError(
            "The release has no generalised cells that others could be given.",
            "name one that was published with --form partition.",
        )
    companion = read_companion(source, table)
    of = Recoding(table, manifest, companion)
    of.check_levels()
    return of


def check_alone(given: Mapping[str, Any], form: str, auto_hierarchies: bool) -> None:
    """Refuse what decides how classes are made: where a recoding is applied, it is decided."""
    chosen = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    chosen += [f"--form {form}"] * (form != PARTITION)
    chosen += ["--auto-hierarchies"] * auto_hierarchies
    if chosen:
        raise UsageError(
            f"With --like how rows are recoded is decided: it cannot be combined with {chosen[0]}.",
            "leave one of the two out; for the same people again there is --based-on.",
        )


def _agreed(given: Schema, then: Schema) -> Schema:
    """A given schema, its quasi-identifiers completed by the release's and checked against them."""
    before = {column.name: column for column in then.quasi}
    differ = sorted({column.name for column in given.quasi} ^ before.keys())
    for now in (column for column in given.quasi if column.name in before):
        old = before[now.name]
        differ += [f"{now.name} (kind)"] * (now.kind not in ("", old.kind))
        differ += [f"{now.name} (hierarchy)"] * (not _continues(old.hierarchy, now.hierarchy))
    if differ:
        raise SchemaError(
            "The quasi-identifiers are not those of the release whose recoding is asked for: "
            f"{', '.join(differ)}.",
            f"leave the schema out, so that the release's own is used, or {ANEW}.",
        )
    return replace(
        given,
        columns=tuple(
            _completed(c, before[c.name]) if c.name in before else c for c in given.columns
        ),
    )


def _continues(old: Hierarchy | None, new: Hierarchy | None) -> bool:
    if isinstance(old, Tree) and isinstance(new, Tree):
        return set(old.rows) <= set(new.rows)
    return new is None or old == new


def _completed(now: Column, then: Column) -> Column:
    return replace(
        now,
        kind=then.kind,
        hierarchy=now.hierarchy or then.hierarchy,
        domain=now.domain or then.domain,
        bounds=now.bounds or then.bounds,
    )


def _needs_null(column: Column, values: Sequence[Any], labels: set[str]) -> bool:
    """Whether one more leaf is needed to tell ``*`` from what else is printed."""
    if isinstance(column.hierarchy, Tree):
        return len(column.hierarchy.rows) < 2
    between = isinstance(column.hierarchy, Flat | Ordered) and ROOT in labels
    return len(values) < 2 or (between and labels != {ROOT})


def _gives(column: Column, level: int, values: Sequence[Any], labels: set[str]) -> bool:
    """Whether a level has these labels, in a column with these values (None: null).

    >>> from shoal.hierarchy import Intervals
    >>> age = Column("age", "quasi", "number", Intervals((10, 20)))
    >>> [_gives(age, level, [20.0, 29.0, 30.0], {"[20-29]"}) for level in (0, 1, 2)]
    [False, True, False]
    """
    assert column.hierarchy is not None, "the schema of a companion is complete"
    there = dict.fromkeys(v for v in (*values, *(column.listed or ())) if v is not None)
    named = column.name, column.kind, list(there)
    axis = column.hierarchy.grow(*named, null=None in values, bounds=column.bounds)
    low, high, readable = axis.parse(sorted(labels))
    rung = rung_at(axis, level)
    node = rung.node[low]
    return bool((readable & (rung.low[node] == low) & (rung.high[node] == high)).all())


def _unbinned(column: Column) -> Column:
    binned = isinstance(column.hierarchy, EqualWidth | EqualFrequency)
    return replace(column, hierarchy=Ordered()) if binned and column.role == "quasi" else column


def _fixed(column: Column, level: int, labels: set[str]) -> tuple[Column, int] | None:
    """A column and its level so that they mean what they did, whatever values there are now.

    Without stated lengths, which prefixes are a level is decided by the codes that there are; a
    label is as long as the codes under it allow, so that the shortest one is the level's.

    >>> zips = Column("zip", "quasi", "code", Prefixes())
    >>> fixed = _fixed(zips, 2, {"130**", "1485*", "22222", "*"})
    >>> fixed and (fixed[0].hierarchy, fixed[1])
    (Prefixes(lengths=(3,)), 1)
    """
    if level == 0:
        return column, 0
    if labels == {ROOT}:
        return column, _TOP
    if isinstance(column.hierarchy, EqualWidth | EqualFrequency):
        return None
    if column.hierarchy != Prefixes():
        return column, level
    masked = (one.rstrip("*") for one in labels - {ROOT} if one.endswith("*"))
    shortest = min(map(len, masked), default=0)
    return (replace(column, hierarchy=Prefixes((shortest,))), 1) if shortest else None
