"""Schema: what each column of a table is (role, kind, hierarchy, domain).

A schema is suggested from a frame, set by hand, or read from TOML; `fit` checks it against a
table's columns and settles whatever was left to the table.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Protocol

from shoal.core import schema_toml
from shoal.core.column import (
    KINDS,
    PUBLISHED_ROLES,
    ROLES,
    ROLES_LEFT_OUT,
    Column,
    Field,
    Profile,
    Role,
    RoleLike,
    default_hierarchy,
    drop,
    identifier,
    is_like_a_value,
    is_pattern,
    keep,
    list_columns,
    make_column,
    may_lack_header,
    person,
    provider,
    quasi,
    quote_name,
    role_hint,
    sensitive,
    weight,
)
from shoal.core.errors import SchemaError
from shoal.core.hierarchy import Flat, Hierarchy
from shoal.core.schema_suggest import suggest_columns
from shoal.core.schema_toml import EDITION, HierarchyReader, SchemaText

__all__ = [
    "EDITION",
    "KINDS",
    "ROLES",
    "Column",
    "Field",
    "Profile",
    "Role",
    "RoleLike",
    "Schema",
    "drop",
    "identifier",
    "keep",
    "person",
    "provider",
    "quasi",
    "sensitive",
    "weight",
]

_TEXT_KINDS = frozenset({"category", "code", "text"})


class ProfiledFrame(Protocol):
    """What a suggestion needs of a frame."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""

    def profile(self) -> Mapping[str, Profile]:
        """Counts for each column."""


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, each with its role.

    Made by `suggest`, `of` or `parse`, and changed by `set`, which returns a new one.

    Parameters
    ----------
    columns : tuple of Column
    source : SchemaText, optional
        The text it was read from, which `to_toml` edits in place.

    Raises
    ------
    SchemaError
        Where two columns have one name.

    Examples
    --------
    >>> schema = Schema.of(quasi=["age", "zip"], sensitive="disease").set(name=identifier)
    >>> [column.name for column in schema.quasi]
    ['age', 'zip']
    >>> print(schema)
    column   role        kind  hierarchy  reason
    age      quasi
    zip      quasi
    disease  sensitive
    name     identifier
    """

    columns: tuple[Column, ...]
    source: SchemaText | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _unique([column.name for column in self.columns], "The schema")

    @classmethod
    def suggest(cls, frame: ProfiledFrame) -> Schema:
        """A role with its reason for every column, `undecided` where name and counts leave doubt.

        Uses `frame.fields` and `frame.profile()` only.
        """
        _unique([field.name for field in frame.fields], "The table")
        return cls(suggest_columns(frame.fields, frame.profile()))

    @classmethod
    def of(
        cls,
        *,
        quasi: str | Iterable[str] = (),
        sensitive: str | Iterable[str] = (),
        provider: str | None = None,
        identifier: str | Iterable[str] = (),
        keep: str | Iterable[str] = (),
        person: str | None = None,
        weight: str | None = None,
        drop: str | Iterable[str] = (),
    ) -> Schema:
        """A schema in short, from the names of the columns of each role.

        Columns of the table that are not named here stay undecided. ``drop`` and ``identifier``
        take patterns: ``drop="*_id"``, or ``drop="*"`` for every column that is not named.

        Examples
        --------
        >>> Schema.of(quasi=["age", "zip"], sensitive="disease", drop="*").sensitive[0].name
        'disease'
        """
        names_by_role = {
            "quasi": quasi,
            "sensitive": sensitive,
            "provider": provider,
            "identifier": identifier,
            "keep": keep,
            "person": person,
            "weight": weight,
            "drop": drop,
        }
        columns = [
            Column(name, role) for role, names in names_by_role.items() for name in _several(names)
        ]
        return cls(tuple(columns))

    @classmethod
    def parse(cls, text: str, *, files: HierarchyReader | None = None) -> Schema:
        """A schema from TOML.

        Parameters
        ----------
        text : str
        files : callable, optional
            Returns the text of a hierarchy's file by its name; without it such a file is refused.

        Raises
        ------
        SchemaError, HierarchyError
            Where the text is no schema, or a hierarchy is broken.

        Examples
        --------
        >>> Schema.parse('[columns]\\nage = "quasi"').column("age").role
        'quasi'
        """
        columns = schema_toml.parse_schema(text, files)
        return cls(columns, SchemaText(text, columns))

    def to_toml(self) -> str:
        """The schema as TOML: the text it was read from, with what has changed edited in place.

        Comments and order survive; a comment on the line of a setting that is gone moves to the
        top.
        """
        return schema_toml.write_schema(self.columns, self.source)

    def set(self, roles: Mapping[str, RoleLike] | None = None, /, **named: RoleLike) -> Schema:
        """A new schema in which the named columns have these roles; new columns are added.

        A column's settings (hierarchy, bounds, ...) are replaced with its role; its kind stays.

        >>> Schema.of(quasi="age").set({"home town": quasi(kind="code")}, age="keep").quasi[0].name
        'home town'
        """
        requested = {**(roles or {}), **named}
        before = self._by_name
        after = before | {n: make_column(n, role, before.get(n)) for n, role in requested.items()}
        return replace(self, columns=tuple(after.values()))

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        """The column of that name."""
        if (column := self._by_name.get(name)) is not None:
            return column
        raise SchemaError(
            f"The schema has no column {quote_name(name)}.",
            _alike(name, self.names) or role_hint(name),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds that the schema states, by column: what `shoal.open(kinds=...)` takes."""
        return {column.name: column.kind for column in self.columns if column.kind}

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The quasi-identifiers, in order."""
        return self._with("quasi")

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns, in order."""
        return self._with("sensitive")

    @property
    def identifier(self) -> tuple[Column, ...]:
        """The columns that point at a person and are left out, in order."""
        return self._with("identifier")

    @property
    def drop(self) -> tuple[Column, ...]:
        """The columns that are left out and of which nothing is claimed, in order."""
        return self._with("drop")

    @property
    def keep(self) -> tuple[Column, ...]:
        """The columns that are published as they are, in order."""
        return self._with("keep")

    @property
    def undecided(self) -> tuple[Column, ...]:
        """The columns that nobody has decided on, in order."""
        return self._with("undecided")

    @property
    def provider(self) -> Column | None:
        """The column that says who provided a row, if any."""
        return next(iter(self._with("provider")), None)

    @property
    def person(self) -> Column | None:
        """The column that says who a row is about, if any."""
        return next(iter(self._with("person")), None)

    @property
    def weight(self) -> Column | None:
        """The survey weight, if any."""
        return next(iter(self._with("weight")), None)

    def _with(self, role: str) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role == role)

    def fit(self, fields: Sequence[Field]) -> Schema:
        """The schema settled for a table: its columns in the table's order, kinds and hierarchies
        filled in.

        Raises
        ------
        SchemaError
            Where the two do not fit, or something is undecided.
        """
        own = {column.name: column for column in self.check_names(fields).columns}
        fitted = replace(self, columns=tuple(_settle(own[field.name], field) for field in fields))
        _at_most_one(fitted)
        if not fitted.quasi:
            raise SchemaError(
                "The schema has no quasi-identifier, so there is nothing to generalise.",
                role_hint(fields[0].name if fields else "age"),
            )
        return fitted

    def check_names(self, fields: Sequence[Field], *, some: bool = False) -> Schema:
        """The schema with the table's columns in the place of patterns, and a role for each.

        Raises `SchemaError` where the table lacks a column; or, unless ``some`` columns need no
        role yet, where nobody has decided on one. The kinds of the fields are not looked at.
        """
        names = [field.name for field in fields]
        _unique(names, "The table")
        expanded = self.expand(names)
        _present(expanded.names, fields)
        if not some:
            own = set(expanded.names)
            missing = [name for name in names if name not in own]
            _decided(expanded.undecided, missing, fields if not own else ())
        return expanded

    def expand(self, names: Sequence[str]) -> Schema:
        """The schema with the table's columns in the place of patterns such as ``*_id``.

        A pattern only leaves columns out: what is published is named column by column. A column
        that is named keeps its own role; else the first pattern that fits decides.

        >>> schema = Schema.of(quasi="age", drop=["*_id", "*"]).expand(["age", "row_id", "note"])
        >>> [(column.name, column.role) for column in schema.columns]
        [('age', 'quasi'), ('row_id', 'drop'), ('note', 'drop')]
        """
        patterns = [
            column
            for column in self.columns
            if is_pattern(column.name)
            and column.role in ROLES_LEFT_OUT
            and column.name not in names
        ]
        own = [column for column in self.columns if column not in patterns]
        named = {column.name for column in own}
        matched: dict[str, Column] = {}
        for name in names:
            for pattern in patterns:
                if name not in named and fnmatch.fnmatchcase(name, pattern.name):
                    reason = f"the schema says so of {pattern.name}"
                    matched.setdefault(name, Column(name, pattern.role, reason=reason))
        return replace(self, columns=(*own, *matched.values()))

    def __repr__(self) -> str:
        rows = [_HEAD, *map(_row, self.columns)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{word}</th>' for word in _HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _row(column)) + "</tr>"
            for column in self.columns
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_HEAD = ("column", "role", "kind", "hierarchy", "reason")


def _row(column: Column) -> tuple[str, ...]:
    shown = (column.name, column.role, column.kind, _brief(column.hierarchy), column.reason)
    return tuple(" ".join(cell.split()) for cell in shown)


def _brief(hierarchy: Hierarchy | None) -> str:
    """A hierarchy in a few words; a tree's leaves are not listed."""
    if hierarchy is None:
        return ""
    value = hierarchy.to_toml()
    if isinstance(value, str):
        return value
    parts = [
        f"{key} {', '.join(map(str, part)) if isinstance(part, list | tuple) else part}"
        for key, part in value.items()
        if key not in ("tree", "arx")
    ]
    return "; ".join(parts) or "tree"


def _several(names: str | Iterable[str] | None) -> Iterable[str]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else names


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quote_name, names))


def _unique(names: Sequence[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SchemaError(
            f"{where} has columns named twice: {_list(twice)}.", "Rename one of them."
        )


def _alike(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, [n for n in names if not is_like_a_value(n)], n=1)
    return f"Did you mean {quote_name(close[0])}?" if close else ""


def _present(names: Sequence[str], fields: Sequence[Field]) -> None:
    table = {field.name for field in fields}
    gone = [name for name in names if name not in table]
    if gone and is_pattern(gone[0]):
        raise SchemaError(
            f"The pattern {quote_name(gone[0])} gives a role that is not for patterns.",
            "A pattern only leaves columns out (drop, identifier); name the others one by one.",
        )
    if gone:
        alike = "" if may_lack_header(fields) else _alike(gone[0], table)
        raise SchemaError(
            f"The table lacks columns of the schema: {_list(gone)}.",
            alike or list_columns(fields, names),
        )


def _decided(
    undecided: Sequence[Column], missing: Sequence[str], unknown: Sequence[Field] = ()
) -> None:
    """Refuse what nobody decided; ``unknown``: the table's columns, where none is known by name."""
    names = [*(column.name for column in undecided), *missing]
    if not names:
        return
    if may_lack_header(unknown):
        raise SchemaError("The schema names no column.", list_columns(unknown))
    first = undecided[0] if undecided else None
    why = f" About {quote_name(first.name)}: {first.reason}." if first and first.reason else ""
    unnamed = f" ({len(missing)} of them not in the schema)" if missing else ""
    raise SchemaError(
        f"Undecided columns: {_list(names)}{unnamed}.{why}",
        "Say what each is (quasi, sensitive, keep; identifier or drop to leave it out): "
        f"{role_hint(names[0])}. To leave out every column that is not named: --drop '*', or "
        '"*" = "drop" under [columns].',
    )


def _settle(column: Column, field: Field) -> Column:
    kind = column.kind or field.kind
    if kind != field.kind and not {kind, field.kind} <= _TEXT_KINDS:
        raise SchemaError(
            f"Column {quote_name(column.name)} is a {kind} in the schema and a {field.kind} in the "
            "table.",
            f'shoal.open(..., kinds={{{quote_name(column.name)}: "{kind}"}})',
        )
    if kind == "text" and column.role in PUBLISHED_ROLES:
        raise SchemaError(
            f"Column {quote_name(column.name)} is free text: it can name anybody and cannot be "
            f"generalised, so it is not published as {column.role}.",
            f"{role_hint(column.name, 'identifier')}; if it holds a few set values, "
            f'shoal.{"sensitive" if column.role == "keep" else column.role}(kind="category")',
        )
    if column.role == "weight" and kind != "number":
        raise SchemaError(
            f"Column {quote_name(column.name)} is the survey weight and not a number.",
            role_hint(column.name, "identifier"),
        )
    hierarchy = column.hierarchy or _default(column.role, field, kind)
    return replace(column, kind=kind, hierarchy=hierarchy)


def _default(role: str, field: Field, kind: str) -> Hierarchy | None:
    if role in PUBLISHED_ROLES:
        return default_hierarchy(field, kind)
    return Flat() if role == "provider" else None


def _at_most_one(schema: Schema) -> None:
    for role in ("provider", "person", "weight"):
        columns = [column.name for column in schema._with(role)]
        if len(columns) > 1:
            raise SchemaError(
                f"More than one column has the role {role}: {_list(columns)}.",
                role_hint(columns[1], "identifier"),
            )
