"""``shoal data``: the bundled tables."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.cli.options import FILE, Verb, example, output, own, write
from shoal.cli.printing import emit


@click.group("data", epilog=example("shoal data list", "shoal data copy st_anna.csv"))
def command() -> None:
    """List and copy the bundled tables.

    Two synthetic hospitals, in which nobody exists, and the small tables printed in the papers.
    """


@command.command("list", cls=Verb, epilog=example("shoal data list"))
@output
def list_(as_json: bool, quiet: bool) -> None:
    """List the bundled tables."""
    from shoal import bundled

    if as_json:
        emit(json.dumps({"edition": 1, "tables": bundled.names()}, indent=2))
    elif not quiet:
        emit("\n".join(bundled.names()))


@command.command("copy", cls=Verb, epilog=example("shoal data copy st_anna.csv -o patients.csv"))
@click.argument("name")
@own("-o", "--out", type=FILE, metavar="FILE", help="The new file; else NAME, here.")
@output
def copy(name: str, out: Path | None, as_json: bool, quiet: bool) -> None:
    """Copy a bundled table."""
    from shoal import bundled

    target = out or Path(name)
    write(target, bundled.path(name).read_bytes())
    if as_json:
        emit(json.dumps({"edition": 1, "name": name, "file": str(target)}, ensure_ascii=False))
    elif not quiet:
        emit(f"{name} copied to {target}")
