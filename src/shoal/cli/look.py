"""``shoal look``: a table before anything is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    Roles,
    Verb,
    add_table_options,
    format_examples,
)
from shoal.cli.printing import Output, format_table

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
@add_table_options
def command(source: str, roles: Roles, reading: dict[str, Any], output: Output) -> None:
    """Show columns, likely roles and why, and how many people are unique.

    SOURCE is a file (CSV, Excel, Parquet, Feather), a release folder or a database URL.
    """
    import shoal

    shoal.check_request(tables=[source], schema=roles.schema, reading=reading)
    with output.show_progress() as step:
        step("looking", 0, 1)
        if roles.is_stated:
            look = shoal.look(*roles.suggested(source, reading))
        else:
            look = shoal.look(source, **reading)
    output.show(look, _describe_look(look) if output.prints_text else None)


def _describe_look(look: Look) -> str:
    notes = [f"{field.name}: {'; '.join(field.notes)}" for field in look.fields if field.notes]
    parts = [f"{look.rows:,} rows", _format_columns(look)]
    if notes:
        parts.append("\n".join(("Read as", *(f"  {note}" for note in notes))))
    return "\n\n".join((*parts, *_describe_unique(look)))


def _format_columns(look: Look) -> str:
    rows = []
    for field in look.fields:
        column, profile = look.schema.column(field.name), look.profiles[field.name]
        why = column.reason or "as you said"
        counts = f"{profile.distinct:,}", f"{profile.nulls:,}"
        rows.append((field.name, field.kind, column.role, *counts, why))
    return format_table(HEAD, rows, right=(3, 4))


def _describe_unique(look: Look) -> list[str]:
    rows = [
        (("+ " if at else "") + name, f"{unique:,}", f"{unique / look.rows:.1%}")
        for at, (name, unique) in enumerate([] if look.is_unsettled else look.growth())
    ]
    growth = (
        [format_table(("whoever knows", "finds unique", "share"), rows, right=(1, 2))]
        if rows
        else []
    )
    overlooked = [
        f"With {name} as well, {with_:,} instead of {without:,} would be unique."
        for name, without, with_ in look.overlooked()[:5]
        if with_ > without
    ]
    parts = [look.describe_unique(), *growth, *(["\n".join(overlooked)] if overlooked else [])]
    return [*parts, *look.notes]
