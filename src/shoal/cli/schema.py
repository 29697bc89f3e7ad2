"""``shoal schema``: a suggested schema to correct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    FILE,
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    add_role_options,
    format_examples,
    option,
    write_new_file,
)
from shoal.cli.printing import print_text, show_progress


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
@add_role_options
@add_reading_options
@add_output_options
def command(
    source: str, out: Path | None, roles: Roles, reading: dict[str, Any], as_json: bool, quiet: bool
) -> None:
    """Suggest a schema as TOML, for you to correct.

    Each role comes with its reason; what is not clear is left `undecided`. With -s the file is
    kept as it is, comments included, and columns that it lacks are added.
    """
    import shoal

    shoal.check_request(tables=[source], schema=roles.schema, outputs=[out], reading=reading)
    with show_progress(quiet) as step:
        step("looking", 0, 1)
        frame, schema = roles.suggested(source, reading)
        frame.check_header()
    text = schema.to_toml()
    if out is not None:
        write_new_file(out, text.encode())
    if as_json:
        columns = {
            column.name: {"role": column.role, "kind": column.kind, "reason": column.reason}
            for column in schema.columns
        }
        document = {"edition": 1, "columns": columns, "toml": text}
        print_text(json.dumps(document, ensure_ascii=False, indent=2))
    elif out is None:
        print_text(text.rstrip("\n"))
    elif not quiet:
        print_text(f"{len(schema.columns)} columns, {len(schema.undecided)} undecided, in {out}")
