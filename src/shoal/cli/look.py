"""``shoal look``: a table before anything is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    add_role_options,
    format_examples,
)
from shoal.cli.printing import format_table, print_result, show_progress

if TYPE_CHECKING:
    from shoal import Look

HEAD = ("column", "kind", "role", "distinct", "nulls", "why")


@click.command(
    "look",
    cls=Verb,
    epilog=format_examples(
        "shoal look patients.csv", "shoal look survey.xlsx --sheet answers --null NA"
    ),
)
@click.argument("source")
@add_role_options
@add_reading_options
@add_output_options
def command(source: str, roles: Roles, reading: dict[str, Any], as_json: bool, quiet: bool) -> None:
    """Show columns, likely roles and why, and how many people are unique.

    SOURCE is a file (CSV, Excel, Parquet, Feather), a release folder or a database URL.
    """
    import shoal

    shoal.check_request(tables=[source], schema=roles.schema, reading=reading)
    with show_progress(quiet) as step:
        step("looking", 0, 1)
        if roles.given:
            found = shoal.look(*roles.suggested(source, reading))
        else:
            found = shoal.look(source, **reading)
    text = None if as_json or quiet else _text(found)
    print_result(found, as_json, quiet, text)


def _text(found: Look) -> str:
    notes = [f"{field.name}: {'; '.join(field.notes)}" for field in found.fields if field.notes]
    parts = [f"{found.rows:,} rows", _columns(found)]
    if notes:
        parts.append("\n".join(("Read as", *(f"  {note}" for note in notes))))
    return "\n\n".join((*parts, *_unique(found)))


def _columns(found: Look) -> str:
    rows = []
    for field in found.fields:
        column, profile = found.schema.column(field.name), found.profiles[field.name]
        why = column.reason or "as you said"
        counts = f"{profile.distinct:,}", f"{profile.nulls:,}"
        rows.append((field.name, field.kind, column.role, *counts, why))
    return format_table(HEAD, rows, right=(3, 4))


def _unique(found: Look) -> list[str]:
    """How many people are unique, and how that grows with what an adversary knows."""
    rows = [
        (("+ " if at else "") + name, f"{unique:,}", f"{unique / found.rows:.1%}")
        for at, (name, unique) in enumerate([] if found.is_unsettled else found.growth())
    ]
    grown = (
        [format_table(("whoever knows", "finds unique", "share"), rows, right=(1, 2))]
        if rows
        else []
    )
    more = [
        f"With {name} as well, {with_:,} instead of {without:,} would be unique."
        for name, without, with_ in found.overlooked()[:5]
        if with_ > without
    ]
    told = [found.describe_unique(), *grown, *(["\n".join(more)] if more else [])]
    return [*told, *found.notes]
