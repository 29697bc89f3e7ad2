"""``shoal audit``: measure any table, whoever made it."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import (
    Roles,
    Verb,
    add_table_options,
    format_examples,
    option,
)
from shoal.cli.printing import Output


@click.command(
    "audit",
    cls=Verb,
    epilog=format_examples(
        "shoal audit any.csv -s schema.toml --json",
        "shoal audit release/ --original patients.csv",
    ),
)
@click.argument("source")
@option("--original", metavar="FILE", help="The table before, to measure what was lost.")
@option("--population", metavar="FILE", help="The population, for the journalist's risk.")
@option(
    "--sampling-fraction",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Share of the population in the table, to estimate who is unique in the population.",
)
@add_table_options
def command(
    source: str, roles: Roles, reading: dict[str, Any], output: Output, **options: Any
) -> None:
    """Measure any table, whoever made it.

    Shows the strongest parameter of each model that the table reaches, the risk that people are
    found, and what is left of the data. SOURCE is any table, or a release folder.
    """
    import shoal

    shoal.check_request(
        tables=[source],
        files=[options["original"], options["population"]],
        schema=roles.schema,
        reading=reading,
    )
    with output.show_progress() as step:
        step("measuring", 0, 1)
        measured = shoal.audit(source, roles.schema(), **options, **reading)
    output.show(measured)
