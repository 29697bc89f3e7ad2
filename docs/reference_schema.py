"""The page of the schema's format: every key, role, kind and hierarchy of a schema.toml."""

from __future__ import annotations

import datetime
import inspect
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.cli.options import ROLES as FLAGS
from shoal.core.column import DEFAULT_HIERARCHIES, KINDS, PUBLISHED_ROLES, ROLES
from shoal.core.hierarchy import DATE_LEVELS, Hierarchy
from shoal.core.schema import Schema
from shoal.core.schema_toml import COLUMN_KEYS, EDITION

UNDECIDED = "Not said yet. Publishing stops, and names the column."

KEY_MEANINGS = {
    "role": ("text", 'role = "quasi"', "What the column is to an adversary: one of the roles."),
    "kind": ("text", 'kind = "number"', "How its values are read; unsaid, as the table has them."),
    "hierarchy": (
        "text or table",
        "hierarchy = { intervals = [5, 10] }",
        "How it generalises; unsaid, by its kind.",
    ),
    "weight": (
        "number above 0",
        "weight = 2",
        "How much its precision matters to the methods, beside the 1 of the others.",
    ),
    "bounds": (
        "two numbers or dates",
        "bounds = [0, 120]",
        "The least and the largest value that there may be, whatever the table holds. "
        "Noise needs it.",
    ),
    "domain": (
        "list",
        'domain = ["f", "m"]',
        'Every value that there may be; `""`: cells may be empty. Noise needs it.',
    ),
    "missing": (
        "text",
        'missing = "value"',
        "Of a sensitive column: an empty cell is a value of its own, such as not tested. Unsaid, "
        "it is a value that nobody knows, and rules are judged as if it were the worst for them.",
    ),
    "reason": (
        "text",
        'reason = "1 of 3 rows is unique"',
        "Why the role was suggested. Read by people; it never reaches a release.",
    ),
}
KIND_MEANINGS = {
    "number": "Numbers; whole ones are published whole.",
    "category": "Words of a list: sex, diagnosis, country.",
    "date": "Days, however they are written; published as 2024-03-31, 2024-03, 2024-Q1, …",
    "code": "Characters that are no number though they may look like one: ZIP codes.",
    "text": "Free text. Never published: a schema that would is refused.",
}


class Shown(NamedTuple):
    """A hierarchy as a schema has it, and a column to show it on."""

    written: str
    kind: str
    values: Sequence[Any]
    options: str = ""


NUMBERS: Sequence[Any] = [21.0, 23.0, 28.0, 34.0, 47.0, 66.0]
DAYS: Sequence[Any] = [datetime.date(2024, 1, d) for d in (5, 9)] + [
    datetime.date(*day) for day in ((2024, 2, 1), (2024, 8, 3), (2025, 1, 2), (2031, 5, 5))
]
HIERARCHIES = (
    Shown('"flat"', "category", ["A", "B", "C"]),
    Shown('"ordered"', "number", NUMBERS),
    Shown(
        "{ intervals = [5, 10, 20], top = 60 }",
        "number",
        NUMBERS,
        "`origin` (where an interval begins; 0), `bottom` and `top` (open ends)",
    ),
    Shown('"prefixes"', "code", ["04101", "04102", "04111", "04201"]),
    Shown("{ prefixes = [3] }", "code", ["04101", "04102", "04111", "04201"]),
    Shown('"dates"', "date", DAYS),
    Shown(
        '{ dates = ["month", "year"] }', "date", DAYS, f"some of {', '.join(DATE_LEVELS)}, in order"
    ),
    Shown(
        '{ tree = [["Rome", "Italy", "*"], ["Milan", "Italy", "*"], ["Lyon", "France", "*"]] }',
        "category",
        ["Rome", "Milan", "Lyon"],
        '`{ file = "towns.csv" }` reads the same rows from ARX\'s CSV (`Rome;Italy;*`)',
    ),
    Shown("{ equal-width = [4, 2] }", "number", NUMBERS, "bins of each level, fine to coarse"),
    Shown("{ equal-frequency = [3, 1] }", "number", NUMBERS, "bins of each level, fine to coarse"),
)


def kinds_of_hierarchy(of: type[Hierarchy] = Hierarchy) -> Iterator[type[Hierarchy]]:
    """Every class of hierarchies that can be written in a schema."""
    for below in of.__subclasses__():
        if inspect.isabstract(below):
            yield from kinds_of_hierarchy(below)
        else:
            yield below


def widening(shown: Shown) -> list[str]:
    """The labels that hold the first value, from the value itself to all values."""
    hierarchy = _hierarchy(shown)
    axis = hierarchy.grow("column", shown.kind, shown.values)
    last = np.arange(axis.size)
    if axis.shape == "flat":
        made = axis.set_labels(np.tri(axis.size, dtype=bool))
    else:
        made = axis.labels(np.zeros_like(last), last)
    return list(dict.fromkeys(str(label) for label in made))


def _hierarchy(shown: Shown) -> Hierarchy:
    return Hierarchy.from_toml(tomllib.loads(f"h = {shown.written}")["h"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _keys() -> str:
    rows = [(f"`{key}`", *_key(key)) for key in COLUMN_KEYS]
    return _table(("key", "type", "example", "says"), rows)


def _key(key: str) -> tuple[str, str, str]:
    type_, example, meaning = KEY_MEANINGS[key]
    Schema.parse(f"[columns.a]\n{example}")  # what the page shows can be read
    return type_, f"`{example}`", meaning


def _roles() -> str:
    rows = []
    for role in ROLES:
        flag = f"`--{role}`" if role in FLAGS else "–"
        told = FLAGS.get(role, UNDECIDED)
        rows.append((f"`{role}`", flag, "yes" if role in PUBLISHED_ROLES else "no", told))
    return _table(("role", "flag", "in the published file", "says"), rows)


def _kinds() -> str:
    rows = [
        (
            f"`{kind}`",
            KIND_MEANINGS[kind],
            _unsaid(DEFAULT_HIERARCHIES[kind]) if kind in DEFAULT_HIERARCHIES else "–",
        )
        for kind in KINDS
    ]
    return _table(("kind", "holds", "hierarchy unless said"), rows)


def _unsaid(hierarchy: Hierarchy) -> str:
    return f'`"{hierarchy.to_toml()}"`'


def _hierarchies() -> str:
    parts = []
    for shown in HIERARCHIES:
        said = (inspect.getdoc(type(_hierarchy(shown))) or "").replace("``", "`")
        said = re.sub(r"(`[^`]*`)|\*", lambda found: found[1] or r"\*", said)  # no emphasis
        extra = f"\n\nOptions: {shown.options}." if shown.options else ""
        parts.append(
            f"### `{shown.written}`\n\n{said}{extra}\n\n"
            f"One {shown.kind}, wider and wider: {', '.join(f'`{x}`' for x in widening(shown))}.\n"
        )
    return "\n".join(parts)


def page() -> str:
    """The page as Markdown."""
    return f"""# schema.toml

What each column is, as a TOML file of edition {EDITION}. [Write a schema](../how-to/schema.md) \
shows one; `shoal schema TABLE` suggests one; `Schema.parse` and `Schema.to_toml` read and write \
it, and comments survive.

```toml
edition = {EDITION}

[columns]
name = "identifier"          # a role alone

[columns.age]                # a role and more
role = "quasi"
hierarchy = {{ intervals = [5, 10, 20] }}
```

`edition` may be left out, and then is {EDITION}; a later one is refused. A key that is not listed \
here is an error, and so is a hierarchy that does not fit its kind.

## Keys of a column

{_keys()}
## Roles

{_roles()}
## Kinds

{_kinds()}
## Hierarchies

{_hierarchies()}"""
