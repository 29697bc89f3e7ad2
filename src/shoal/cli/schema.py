"""``shoal schema``: a suggested schema to correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    FILE,
    Roles,
    Verb,
    add_table_options,
    format_examples,
    option,
    write_new_file,
)
from shoal.cli.printing import Output, print_text


@click.command(
    "schema",
    cls=Verb,
    epilog=format_examples(
        "shoal schema patients.csv > schema.toml",
        "shoal schema patients.csv --identifier name --quasi age -o schema.toml",
    ),
)
@click.argument("source")
@option("-o", "--out", type=FILE, metavar="FILE", help="Write to a new file.")
@add_table_options
def command(
    source: str, out: Path | None, roles: Roles, reading: dict[str, Any], output: Output
) -> None:
    """Suggest a schema as TOML, for you to correct.

    Each role comes with its reason; what is not clear is left `undecided`. With -s the file is
    kept as it is, comments included, and columns that it lacks are added.
    """
    import shoal

    shoal.check_request(tables=[source], schema=roles.schema, outputs=[out], reading=reading)
    with output.show_progress() as step:
        step("looking", 0, 1)
        frame, schema = roles.suggested(source, reading)
        frame.check_header()
    text = schema.to_toml()
    if out is not None:
        write_new_file(out, text.encode())
    if out is None and not output.as_json:
        print_text(text.rstrip("\n"))  # the file that was asked for, also with --quiet
        return
    columns = {
        column.name: {"role": column.role, "kind": column.kind, "reason": column.reason}
        for column in schema.columns
    }
    output.show_document(
        {"edition": 1, "columns": columns, "toml": text},
        f"{len(schema.columns)} columns, {len(schema.undecided)} undecided, in {out}",
    )
