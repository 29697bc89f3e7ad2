"""Look: a table's columns, their likely roles and why, and how many people stand out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.flow.encode import encode
from shoal.flow.opening import opened
from shoal.frames.frame import Frame
from shoal.hierarchy import Flat
from shoal.release import EDITION, json_object
from shoal.risk import Subset, subset_risks
from shoal.schema import Column, Field, Profile, Schema

MOST_COLUMNS = 12
"""Subsets of more columns than this are not all counted."""


@dataclass(frozen=True)
class Look:
    """What a table shows of itself before anything is decided."""

    rows: int
    fields: tuple[Field, ...]
    profiles: Mapping[str, Profile]
    schema: Schema
    columns: tuple[str, ...]
    """The columns whose subsets were counted: what an adversary might know."""
    subsets: tuple[Subset, ...]

    @property
    def unique(self) -> int:
        """People who are alone with their combination of the suggested quasi-identifiers."""
        known = self._quasi()
        return next((one.uniques for one in self.subsets if one.columns == known), 0)

    def _quasi(self) -> tuple[int, ...]:
        """Where the quasi-identifiers stand among the counted columns."""
        quasi = {column.name for column in self.schema.quasi}
        return tuple(i for i, name in enumerate(self.columns) if name in quasi)

    def growth(self) -> list[tuple[str, int]]:
        """How many become unique as quasi-identifiers are added, the most revealing first."""
        quasi = self._quasi()
        by_columns = {one.columns: one.uniques for one in self.subsets}
        chosen: tuple[int, ...] = ()
        steps: list[tuple[str, int]] = []
        while len(chosen) < len(quasi):
            after = {
                i: by_columns.get(tuple(sorted((*chosen, i)))) for i in quasi if i not in chosen
            }
            known = {i: uniques for i, uniques in after.items() if uniques is not None}
            if not known:
                break
            best = max(known, key=lambda i: (known[i], -i))
            chosen = tuple(sorted((*chosen, best)))
            steps.append((self.columns[best], known[best]))
        return steps

    def overlooked(self) -> list[tuple[str, int, int]]:
        """Columns left out of the quasi-identifier: name, unique people without and with it."""
        by_columns = {one.columns: one.uniques for one in self.subsets}
        known = self._quasi()
        found = []
        for i, name in enumerate(self.columns):
            both = by_columns.get(tuple(sorted((*known, i))))
            if i not in known and both is not None:
                found.append((name, by_columns.get(known, 0), both))
        return sorted(found, key=lambda one: -one[2])

    def to_json(self) -> dict[str, Any]:
        """Columns with roles and reasons, uniqueness, and the risk of each subset."""
        columns = [
            {
                "name": f.name,
                "kind": f.kind,
                "notes": f.notes,
                "role": self.schema.column(f.name).role,
                "reason": self.schema.column(f.name).reason,
                **vars(self.profiles[f.name]),
            }
            for f in self.fields
        ]
        subsets = [
            {
                "columns": [self.columns[i] for i in one.columns],
                "unique": one.uniques,
                "classes": one.classes,
            }
            for one in self.subsets
        ]
        return json_object(
            {
                "edition": EDITION,
                "rows": self.rows,
                "columns": columns,
                "unique": self.unique,
                "growth": [{"column": c, "unique": u} for c, u in self.growth()],
                "overlooked": [
                    {"column": c, "unique_without": a, "unique_with": b}
                    for c, a, b in self.overlooked()
                ],
                "subsets": subsets,
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows", str(self.schema), ""]
        quasi = ", ".join(column.name for column in self.schema.quasi) or "none"
        lines.append(
            f"{self.unique:,} of {self.rows:,} people ({self.unique / self.rows:.1%}) are unique "
            f"on the quasi-identifiers ({quasi})."
        )
        lines += [f"  + {name:<30} {unique:>9,} unique" for name, unique in self.growth()]
        for name, without, with_ in self.overlooked()[:5]:
            if with_ > without:
                lines.append(
                    f"With {name} as well, {with_:,} would be unique instead of {without:,}."
                )
        return "\n".join(lines)

    __repr__ = __str__


def look(source: Any, schema: Schema | None = None, **reading: Any) -> Look:
    """Look at a table: suggested roles with reasons, and the risk of each subset of columns."""
    with opened(source, kinds=schema.kinds if schema else None, **reading) as frame:
        profiles = frame.profile()
        suggested = _stated(Schema.suggest(frame), schema)
        columns = _known(frame.fields, profiles, suggested)
        subsets = _subsets(frame, columns)
    rows = next(iter(profiles.values())).rows
    return Look(rows, frame.fields, profiles, suggested, tuple(columns), subsets)


def _stated(suggested: Schema, schema: Schema | None) -> Schema:
    """The suggestion, with what the publisher has decided already in its place."""
    own = {column.name: column for column in schema.columns} if schema else {}
    return Schema(tuple(own.get(column.name, column) for column in suggested.columns))


def _subsets(frame: Frame, columns: Sequence[str]) -> tuple[Subset, ...]:
    """The risk of every subset of the columns, their values taken as they are."""
    if not columns:
        return ()
    kinds = {field.name: field.kind for field in frame.fields}
    quasi = Schema(tuple(Column(name, "quasi", kinds[name], Flat()) for name in columns))
    tally = encode(frame, quasi).tally
    return tuple(subset_risks(tally.keys, [axis.size for axis in tally.quasi], tally.count))


def _known(fields: Sequence[Field], profiles: Mapping[str, Profile], schema: Schema) -> list[str]:
    """The columns that an adversary might know: not those dropped, nor the sensitive ones alone."""
    able = [
        f.name
        for f in fields
        if f.kind != "text"
        and schema.column(f.name).role in ("quasi", "keep", "undecided", "sensitive")
    ]
    first = [name for name in able if schema.column(name).role == "quasi"]
    rest = sorted((n for n in able if n not in first), key=lambda n: -profiles[n].entropy)
    chosen = set((first + rest)[:MOST_COLUMNS])
    return [f.name for f in fields if f.name in chosen]
