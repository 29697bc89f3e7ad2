"""``shoal study``: the papers' tables and figures, made again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    FILE,
    Roles,
    Verb,
    add_table_options,
    format_examples,
    option,
)
from shoal.cli.printing import Output, format_table, print_text

if TYPE_CHECKING:
    from shoal import Study

EDITION = 1


@click.command(
    "study",
    cls=Verb,
    epilog=format_examples(
        "shoal study --list",
        "shoal study ganta-figure-1 -o studies/",
        "shoal study --all -o studies/",
        "shoal study ganta-figure-1 -o own/ --data patients.csv -s schema.toml",
    ),
)
@click.argument("name", required=False)
@option("--list", "listing", is_flag=True, help="Name every study, and what it shows.")
@option("--all", "every", is_flag=True, help="Run every study; one that was stopped goes on.")
@option("-o", "--out", type=FILE, metavar="DIR", help="Where the results go.")
@option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help="How often everything that is drawn is drawn again; else as the study says.",
)
@option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; else one for every core.")
@option("--stand-in", is_flag=True, help="Made-up people in place of the papers' data.")
@option("--replace", is_flag=True, help="Write over results of other settings.")
@option("--data", metavar="FILE", help="A table of your own in place of the paper's.")
@add_table_options
def command(
    name: str | None,
    listing: bool,
    every: bool,
    roles: Roles,
    reading: dict[str, Any],
    output: Output,
    **options: Any,
) -> None:
    """Make a paper's table or figure again.

    Every study writes its folder: a page with the charts, the numbers as CSV and JSON with
    parameters and seeds, and what the paper claims beside what came out. The folder's index says
    of all studies in it what the papers claim, checked. The data sets are read from the folder that
    SHOAL_DATA names, or from where `shoal data fetch` put them.
    """
    if sum((listing, every, name is not None)) != 1:
        raise click.UsageError("Name one study, or give --list or --all.")
    if listing:
        _list_studies(output)
    elif options["out"] is None:
        raise click.UsageError("Nothing says where the results go: give -o DIR.")
    elif every:
        _run_all(roles, options, output)
    else:
        _run_study(str(name), roles, reading, options, output)


def _list_studies(output: Output) -> None:
    import shoal

    studies = [
        {
            "name": name,
            "paper": paper.short,
            "shows": experiment.shows,
            "data": list(experiment.data),
            "own": experiment.own,
        }
        for name, (paper, experiment) in shoal.experiments().items()
    ]
    document = {"edition": EDITION, "studies": studies}
    if not output.prints_text:
        output.show_document(document, indent=1)
        return
    rows = [(study["name"], study["shows"]) for study in studies]
    print_text(format_table(("study", "shows"), rows))


def _run_study(
    name: str,
    roles: Roles,
    reading: dict[str, Any],
    options: dict[str, Any],
    output: Output,
) -> None:
    import shoal

    with output.show_progress() as step:
        study = shoal.study(name, schema=roles.schema(), reading=reading, progress=step, **options)
    output.show(study)


def _run_all(roles: Roles, options: dict[str, Any], output: Output) -> None:
    import shoal

    if options.pop("data") is not None or roles.is_stated:
        raise click.UsageError("--all runs on the papers' data: leave --data and its roles out.")

    def log_study(study: Study) -> None:
        if not output.quiet and not sys.stderr.isatty():  # where no bar is seen: a line for the log
            click.echo(f"{study.name}: {_describe_seconds(study.made)}", err=True)

    with output.show_progress() as step:
        summary = shoal.study_all(
            Path(options.pop("out")), progress=step, told=log_study, **options
        )
    output.show(summary)


def _describe_seconds(timing: Mapping[str, Any]) -> str:
    """What was measured now, and what before.

    >>> _describe_seconds({"seconds": 12.0, "before": 7.5})
    'measured in 4.5 s, 7.5 s more were measured before'
    """
    before = timing["before"]
    earlier = f", {before:.1f} s more were measured before" if before else ""
    return f"measured in {timing['seconds'] - before:.1f} s{earlier}"
