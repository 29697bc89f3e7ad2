"""``shoal data``: the bundled tables, and the papers' data sets."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.options import (
    FILE,
    Verb,
    add_output_options,
    format_examples,
    option,
    write_new_file,
)
from shoal.cli.printing import Output, format_table, print_text


@click.group(
    "data",
    epilog=format_examples("shoal data list", "shoal data copy st_anna.csv", "shoal data fetch"),
)
def command() -> None:
    """List, copy and fetch tables.

    Bundled are two synthetic hospitals, in which nobody exists, and the small tables printed in the
    papers. The data sets that the papers' experiments ran on are fetched from their archive.
    """


@command.command("list", cls=Verb, epilog=format_examples("shoal data list"))
@add_output_options
def list_tables(output: Output) -> None:
    """List the bundled tables, and which of the papers' data sets are here."""
    import shoal

    names, datasets = shoal.bundled.names(), shoal.datasets()
    if not output.prints_text:
        output.show_document({"edition": 1, "tables": names, "datasets": datasets})
        return
    rows = [
        (
            dataset["name"],
            f"{dataset['rows']:,}",
            ", ".join(dict.fromkeys(str(Path(file).parent) for file in dataset["files"].values()))
            if dataset["here"]
            else "not here: shoal data fetch",
        )
        for dataset in datasets
    ]
    table = format_table(("data set", "rows", "where"), rows, right=(1,))
    print_text("\n".join((*names, "", table)))


@command.command(
    "copy", cls=Verb, epilog=format_examples("shoal data copy st_anna.csv -o patients.csv")
)
@click.argument("name")
@option("-o", "--out", type=FILE, metavar="FILE", help="The new file; else NAME, here.")
@add_output_options
def copy_table(name: str, out: Path | None, output: Output) -> None:
    """Copy a bundled table."""
    from shoal.data import bundled

    target = out or Path(name)
    write_new_file(target, bundled.path(name).read_bytes())
    document = {"edition": 1, "name": name, "file": str(target)}
    output.show_document(document, f"{name} copied to {target}", indent=None)


@command.command(
    "fetch",
    cls=Verb,
    epilog=format_examples(
        "shoal data fetch", "shoal data fetch adult -o data/", "shoal data fetch --from downloads/"
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option(
    "-o",
    "--out",
    type=FILE,
    metavar="DIR",
    help="Where it goes; else the folder SHOAL_DATA names, or your data folder.",
)
@option(
    "--from",
    "source",
    metavar="PLACE",
    help="A folder with the archive's files, or a mirror's address.",
)
@option("--replace", is_flag=True, help="Write over files with another content.")
@add_output_options
def fetch_tables(
    names: tuple[str, ...],
    out: Path | None,
    source: str | None,
    replace: bool,
    output: Output,
) -> None:
    """Get the papers' data sets: all, or those named (as `shoal data list` names them).

    Adult and IPUMS Los Angeles are downloaded from the UCI archive, converted, compared with a
    known hash and kept; LICENCES.txt beside them says under which terms they may be used. Proxies
    are those of the usual variables. No other verb downloads anything.
    """
    import shoal

    with output.show_progress() as step:
        fetched = shoal.fetch(*names, out=out, source=source, replace=replace, progress=step)
    output.show(fetched)
