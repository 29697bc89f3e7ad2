"""A schema as TOML text: read strictly, and edited in place so that comments and order survive.

    edition = 1

    [columns.age]
    role = "quasi"
    kind = "number"
    hierarchy = {intervals = [5, 10, 20]}

`visits = "keep"` under `[columns]` is short for a column with only a role. A hierarchy kept in
ARX's CSV format is named by its file, `{file = "age.csv"}`; nothing here opens it: who reads a
schema passes a function that does.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.core.column import Column, quote_name
from shoal.core.errors import HierarchyError, SchemaError
from shoal.core.hierarchy import Hierarchy, from_arx_csv

EDITION = 1
"""The edition of the schema format that this version writes, and the latest it reads."""

HEADER = """\
# What each column is: identifier, quasi, sensitive, provider, person, weight, keep or drop.
# A column left undecided stops publishing; "*" = "drop" leaves out all others.
"""

COLUMN_KEYS = ("role", "kind", "hierarchy", "weight", "bounds", "domain", "missing", "reason")

HierarchyReader = Callable[[str], str]


@dataclass(frozen=True)
class SchemaText:
    """A schema's text as it was read, and the columns it stood for."""

    text: str
    columns: tuple[Column, ...]


def parse_schema(text: str, files: HierarchyReader | None = None) -> tuple[Column, ...]:
    """The columns in a schema's text; `files` returns the text of a hierarchy's file.

    >>> parse_schema('edition = 1\\n[columns]\\nvisits = "keep"')[0].role
    'keep'
    """
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"The schema is not valid TOML: {error}.", _EXAMPLE) from error
    except (ValueError, RecursionError):
        raise SchemaError(
            "The schema holds a number or a date that is none, or nests too deeply.", _EXAMPLE
        ) from None
    _check_edition(document)
    _refuse_unknown_keys(document, ("edition", "columns"), "The schema")
    columns = document.get("columns", {})
    if not isinstance(columns, dict):
        raise SchemaError("The schema's `columns` is not a table.", _EXAMPLE)
    return tuple(_column(name, entry, files) for name, entry in columns.items())


def write_schema(columns: Sequence[Column], source: SchemaText | None) -> str:
    """The columns as text: the source's with what changed edited in place, else a new one.

    No comment is lost: one whose line is gone moves to the top.
    """
    if source is None:
        return _write_anew(columns)
    edited = _edit(columns, source)
    # An editor can misplace a key in an unusual layout; the meaning goes before the layout, so
    # what does not read back as meant is written anew.
    text = edited if _reads_back(edited, columns, source) else _write_anew(columns)
    homeless = Counter(_comments(source.text)) - Counter(_comments(text))
    return "".join(f"{comment}\n" for comment in homeless.elements()) + text


_EXAMPLE = 'A column looks like: columns.age = { role = "quasi" }'


def _check_edition(document: Mapping[str, Any]) -> None:
    edition = document.get("edition", EDITION)
    if type(edition) is not int or edition < 1:
        raise SchemaError("The schema's edition is not a number.", f"edition = {EDITION}")
    if edition > EDITION:
        raise SchemaError(
            f"The schema is of edition {edition}; this version of Shoal reads up to {EDITION}.",
            "pip install --upgrade shoal",
        )


def _refuse_unknown_keys(entry: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    unknown = [quote_name(key) for key in entry if key not in keys]
    if unknown:
        raise SchemaError(
            f"{where} has unknown keys: {', '.join(unknown)}.", f"The keys are: {', '.join(keys)}."
        )


def _column(name: str, entry: Any, files: HierarchyReader | None) -> Column:
    if isinstance(entry, str):
        return Column(name, entry)
    where = f"Column {quote_name(name)}"
    if not isinstance(entry, dict):
        raise SchemaError(f"{where} is not a table.", _EXAMPLE)
    _refuse_unknown_keys(entry, COLUMN_KEYS, where)
    for key, fits in _FITS.items():
        if key in entry and not fits(entry[key]):
            raise SchemaError(f"{where} has a {key} of the wrong type.", _SHAPES[key])
    bounds, domain = entry.get("bounds"), entry.get("domain")
    return Column(
        name,
        entry.get("role", "undecided"),
        entry.get("kind", ""),
        _hierarchy(where, entry.get("hierarchy"), files),
        None if domain is None else tuple(domain),
        None if bounds is None else (bounds[0], bounds[1]),
        entry.get("weight", 1),
        entry.get("reason", ""),
        entry.get("missing", ""),
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_day(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_bounds(value: Any) -> bool:
    ends = isinstance(value, list) and len(value) == 2
    return ends and all(_is_number(end) or _is_day(end) for end in value)


def _is_domain(value: Any) -> bool:
    scalar = isinstance(value, list)
    return scalar and all(isinstance(v, str | bool) or _is_number(v) or _is_day(v) for v in value)


_FITS: dict[str, Callable[[Any], bool]] = {
    "role": _is_text,
    "kind": _is_text,
    "reason": _is_text,
    "weight": _is_number,
    "bounds": _is_bounds,
    "domain": _is_domain,
    "missing": _is_text,
}
_SHAPES = {
    "role": 'role = "quasi"',
    "kind": 'kind = "number"',
    "reason": 'reason = "..."',
    "weight": "weight = 2",
    "bounds": "bounds = [0, 120]",
    "domain": 'domain = ["F", "M"]',
    "missing": 'missing = "value"',
}


def _hierarchy(where: str, value: Any, files: HierarchyReader | None) -> Hierarchy | None:
    if value is None:
        return None
    try:
        if isinstance(value, dict) and "file" in value:
            return _from_file(where, value, files)
        return Hierarchy.from_toml(value)
    except HierarchyError as error:
        raise HierarchyError(f"{where}: {error.fact}", error.hint) from error


def _from_file(where: str, value: Mapping[str, Any], files: HierarchyReader | None) -> Hierarchy:
    name = value["file"]
    if files is None or not isinstance(name, str) or len(value) > 1:
        raise SchemaError(
            f"{where} keeps its hierarchy in a file, which cannot be opened from here.",
            'shoal.Schema.parse(text, files=lambda name: open(name, encoding="utf-8").read())',
        )
    return from_arx_csv(files(name), source=name)


def _plain(column: Column) -> dict[str, Any]:
    """The column as a TOML table's keys and values; what is at its default is left out."""
    entry: dict[str, Any] = {"role": column.role}
    if column.kind:
        entry["kind"] = column.kind
    if column.hierarchy is not None:
        entry["hierarchy"] = column.hierarchy.to_toml()
    if column.weight != 1:
        entry["weight"] = column.weight
    if column.bounds is not None:
        entry["bounds"] = [_bound(bound, column.kind) for bound in column.bounds]
    if column.domain is not None:
        entry["domain"] = list(column.domain)
    if column.missing:
        entry["missing"] = column.missing
    if column.reason:
        entry["reason"] = column.reason
    return entry


def _bound(bound: float, kind: str) -> float | datetime.date:
    if not bound.is_integer():
        return bound
    whole = int(bound)
    day = kind == "date" and 1 <= whole <= datetime.date.max.toordinal()
    return datetime.date.fromordinal(whole) if day else whole


def format_column_section(column: Column) -> str:
    """A column's own part of a schema: it stands in place of what is said of it there, or last.

    >>> print(format_column_section(Column("home town", "quasi", domain=("A", "B"))))
    [columns."home town"]
    role = "quasi"
    domain = ["A", "B"]
    """
    import tomlkit

    document = tomlkit.document()
    _append(document, column)
    return document.as_string().strip()


def _write_anew(columns: Sequence[Column]) -> str:
    """A text of its own; what many columns have alike is written once and repeated."""
    import tomlkit

    settings: dict[str, str] = {}
    sections = []
    for column in columns:
        entry = _plain(column)
        if (same := repr(entry)) not in settings:
            table = tomlkit.document()
            for key, value in entry.items():
                table[key] = _item(value)
            settings[same] = table.as_string()
        sections.append(f"\n[columns.{tomlkit.key(column.name).as_string()}]\n{settings[same]}")
    return f"{HEADER}edition = {EDITION}\n{''.join(sections)}"


def _edit(columns: Sequence[Column], source: SchemaText) -> str:
    """The source's text with the changed columns replaced; empty where that cannot be done."""
    import tomlkit

    before = {column.name: column for column in source.columns}
    try:
        document = tomlkit.parse(source.text.removeprefix("\ufeff"))
        for column in columns:
            if column.name not in before:
                _append(document, column)
            elif column != before[column.name]:
                _replace(document["columns"], column)
    except (LookupError, ValueError):  # tomlkit on layouts such as `columns = {a = "keep"}`
        return ""
    return document.as_string()


def _comments(text: str) -> list[str]:
    """The comments of a TOML text, in order; a # inside a string is none.

    >>> _comments('a = "#1" # one\\n# two')
    ['# one', '# two']
    """
    return [match[1].rstrip() for match in _COMMENT.finditer(text) if match[1]]


_COMMENT = re.compile(
    r'"{3}(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'|(#[^\n]*)', re.DOTALL
)
"""Strings of all four kinds, so that they are passed over, or a comment."""


def _append(document: Any, column: Column) -> None:
    import tomlkit

    if "columns" not in document:
        document["columns"] = tomlkit.table(is_super_table=True)
    table = tomlkit.table()
    for key, value in _plain(column).items():
        table[key] = _item(value)
    document["columns"][column.name] = table


def _replace(columns: Any, column: Column) -> None:
    import tomlkit

    want, entry = _plain(column), columns[column.name]
    if isinstance(entry, str):
        columns[column.name] = tomlkit.inline_table() if len(want) > 1 else column.role
        entry = columns[column.name]
    if isinstance(entry, str):
        return
    for key in [key for key in entry if key not in want]:
        del entry[key]
    for key, value in want.items():
        if key not in entry or entry[key].unwrap() != value:
            entry[key] = _item(value)


def _item(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    for key, part in value.items():
        table[key] = _item(part)
    return table


def _reads_back(text: str, columns: Sequence[Column], source: SchemaText) -> bool:
    """Whether the text holds these columns in this order, the changed ones as they are now."""
    try:
        entries = tomllib.loads(text).get("columns", {})
    except tomllib.TOMLDecodeError:
        return False
    before = {column.name: column for column in source.columns}
    return list(entries) == [column.name for column in columns] and all(
        column == before.get(column.name) or _long(entries[column.name]) == _plain(column)
        for column in columns
    )


def _long(entry: Any) -> Any:
    return {"role": entry} if isinstance(entry, str) else entry
