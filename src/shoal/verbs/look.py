"""Look: a table's columns, their likely roles and why, and how many people stand out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from shoal.core.hierarchy import Flat
from shoal.core.release import EDITION, to_json_object
from shoal.core.schema import Column, Field, Profile, Schema
from shoal.engines.protocol import Frame
from shoal.measures.risk.subsets import Subset, rank_revealing_columns, subset_risks
from shoal.releases.people import DROPPED, ask_for_person_column
from shoal.releases.reader import open_frame
from shoal.releases.tallying import encode

MAX_COLUMNS = 12
"""Subsets of more columns than this are not all counted."""
MAX_QUASI = 24
"""Of more quasi-identifiers than this, those with the most entropy are counted."""


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
    steps: tuple[Subset, ...]
    """The quasi-identifiers added one by one, the most revealing first."""
    unique_with_undecided: int = 0
    """People who are alone for whoever knows the undecided columns as well."""
    notes: tuple[str, ...] = ()
    """Questions that only the publisher can answer."""

    @property
    def units(self) -> str:
        """What a row is: a person, unless a column says that some have several."""
        person = self.schema.person
        if person is None:
            return "people"
        profile = self.profiles[person.name]
        return "people" if profile.distinct == profile.rows else "rows"

    @property
    def unique(self) -> int:
        """People who are alone with their combination of the suggested quasi-identifiers."""
        return self.steps[-1].uniques if self.steps else 0

    @property
    def is_unsettled(self) -> bool:
        """Whether nobody is unique only because columns are still undecided."""
        return not self.unique and bool(self.schema.undecided)

    @property
    def counts_all_quasi(self) -> bool:
        """Whether uniqueness is counted on every quasi-identifier; else it is a lower bound."""
        return all(column.name in self.columns for column in self.schema.quasi)

    def describe_unique(self) -> str:
        """How many people stand out, and what undecided columns would add."""
        all_quasi = [column.name for column in self.schema.quasi]
        quasi = [name for name in all_quasi if name in self.columns]
        lines = []
        if all_quasi and not self.is_unsettled:
            is_partial = not self.counts_all_quasi
            which = f"{len(quasi):,} of the {len(all_quasi):,} " if is_partial else "the "
            lines.append(
                f"{'At least ' * is_partial}{self.unique:,} of {self.rows:,} {self.units} "
                f"({self.unique / self.rows:.1%}) are unique on "
                f"{which}quasi-identifiers: {', '.join(quasi)}."
            )
        elif not all_quasi:
            lines.append("No column is a quasi-identifier yet.")
        if undecided := self.schema.undecided:
            columns = "1 column is" if len(undecided) == 1 else f"{len(undecided):,} columns are"
            also = " as well" if all_quasi else ""
            is_partial = any(column.name not in self.columns for column in undecided)
            lines.append(
                f"{columns} undecided: whoever knows {'it' if len(undecided) == 1 else 'them'}"
                f"{also} finds {'at least ' * is_partial}{self.unique_with_undecided:,} of "
                f"{self.rows:,} {self.units} unique ({self.unique_with_undecided / self.rows:.1%})."
            )
        return "\n".join(lines)

    def _quasi(self) -> tuple[int, ...]:
        """Where the quasi-identifiers stand among the counted columns."""
        quasi = {column.name for column in self.schema.quasi}
        return tuple(i for i, name in enumerate(self.columns) if name in quasi)

    def growth(self) -> list[tuple[str, int]]:
        """How many become unique as quasi-identifiers are added, the most revealing first."""
        before: set[int] = set()
        steps = []
        for step in self.steps:
            (added,) = set(step.columns) - before
            before = set(step.columns)
            steps.append((self.columns[added], step.uniques))
        return steps

    def overlooked(self) -> list[tuple[str, int, int]]:
        """Columns left out of the quasi-identifier: name, unique people without and with it."""
        by_columns = {subset.columns: subset.uniques for subset in self.subsets}
        quasi = self._quasi()
        candidates = [
            (name, self.unique, by_columns[tuple(sorted((*quasi, i)))])
            for i, name in enumerate(self.columns)
            if i not in quasi
        ]
        return sorted(candidates, key=lambda candidate: -candidate[2])

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
                "columns": [self.columns[i] for i in subset.columns],
                "unique": subset.uniques,
                "classes": subset.classes,
            }
            for subset in self.subsets
        ]
        return to_json_object(
            {
                "edition": EDITION,
                "rows": self.rows,
                "columns": columns,
                "unique": None if self.is_unsettled else self.unique,
                "undecided": [column.name for column in self.schema.undecided],
                "unique_with_undecided": self.unique_with_undecided,
                "unique_on_all_quasi": self.counts_all_quasi,
                "growth": [{"column": c, "unique": u} for c, u in self.growth()],
                "overlooked": [
                    {"column": c, "unique_without": a, "unique_with": b}
                    for c, a, b in self.overlooked()
                ],
                "subsets": subsets,
                "notes": self.notes,
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows", str(self.schema), ""]
        lines.append(self.describe_unique())
        growth = [] if self.is_unsettled else self.growth()
        lines += [f"  + {name:<30} {unique:>9,} unique" for name, unique in growth]
        for name, without, with_ in self.overlooked()[:5]:
            if with_ > without:
                lines.append(
                    f"With {name} as well, {with_:,} would be unique instead of {without:,}."
                )
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def look(source: Any, schema: Schema | None = None, **reading: Any) -> Look:
    """Look at a table: suggested roles with reasons, and the risk of each subset of columns.

    Parameters
    ----------
    source
        A file, a release's folder, a data frame, a database's address, or an open ``Frame``.
    schema
        Roles that are decided already; the table's other columns get suggestions.
    **reading
        How the file is written, as in ``shoal.open``.

    Returns
    -------
    Look
        The columns with likely roles, and how many people are unique on which of them.

    Raises
    ------
    InputError
        The table cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> people = pa.table({"age": [20, 20, 30, 40], "sex": ["f", "f", "m", "m"]})
    >>> shoal.look(people, shoal.Schema.of(quasi=["age", "sex"])).unique
    2
    """
    with open_frame(source, kinds=schema.kinds if schema else None, **reading) as frame:
        profiles = frame.profile()
        suggested = _apply_stated_roles(Schema.suggest(frame), schema)
        columns = _find_known_columns(frame.fields, profiles, suggested)
        subsets, steps, unique = _measure_subsets(frame, columns, suggested)
    rows = next(iter(profiles.values())).rows
    dropped = [column for column in suggested.columns if column.role in DROPPED]
    questions = [] if suggested.person else ask_for_person_column(profiles, dropped)
    return Look(
        rows,
        frame.fields,
        profiles,
        suggested,
        tuple(columns),
        subsets,
        steps,
        unique,
        tuple(questions),
    )


def _apply_stated_roles(suggested: Schema, schema: Schema | None) -> Schema:
    stated_columns = schema.expand(suggested.names).columns if schema else ()
    stated = {column.name: column for column in stated_columns}
    return Schema(tuple(stated.get(column.name, column) for column in suggested.columns))


def _measure_subsets(
    frame: Frame, columns: Sequence[str], schema: Schema
) -> tuple[tuple[Subset, ...], tuple[Subset, ...], int]:
    """The risk of subsets of the columns, and of the quasi-identifiers one after the other.

    Last how many people are unique on quasi-identifiers and undecided columns together.

    Values are taken as they are. The quasi-identifiers with each other column are among the
    subsets in any case.
    """
    if not columns:
        return (), (), 0
    kinds = {field.name: field.kind for field in frame.fields}
    counted_schema = Schema(tuple(Column(name, "quasi", kinds[name], Flat()) for name in columns))
    tally = encode(frame, counted_schema).tally
    counted = tally.keys, [axis.size for axis in tally.quasi], tally.count
    quasi_at = [i for i, name in enumerate(columns) if schema.column(name).role == "quasi"]
    others = [(*quasi_at, i) for i in range(len(columns)) if i not in quasi_at]
    undecided = [i for i, name in enumerate(columns) if schema.column(name).role == "undecided"]
    together = tuple(sorted((*quasi_at, *undecided)))
    subsets = tuple(subset_risks(*counted, [*others, together] if together else others))
    unique = next((subset.uniques for subset in subsets if subset.columns == together), 0)
    return subsets, tuple(rank_revealing_columns(*counted, quasi_at)), unique


def _find_known_columns(
    fields: Sequence[Field], profiles: Mapping[str, Profile], schema: Schema
) -> list[str]:
    """The columns that an adversary might know: not those dropped, nor the sensitive ones alone."""
    roles = {column.name: column.role for column in schema.columns}
    able = [
        f.name
        for f in fields
        if f.kind != "text" and roles[f.name] in ("quasi", "keep", "undecided", "sensitive")
    ]
    able.sort(key=lambda name: -profiles[name].entropy)
    first = [name for name in able if roles[name] == "quasi"][:MAX_QUASI]
    rest = [name for name in able if roles[name] != "quasi"]
    chosen = {*first, *rest[: max(0, MAX_COLUMNS - len(first))]}
    return [f.name for f in fields if f.name in chosen]
