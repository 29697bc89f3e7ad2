"""``shoal audit``: measure any table, whoever made it."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import Roles, Verb, example, output, own, reading, roles
from shoal.cli.printing import progress, show


@click.command(
    "audit",
    cls=Verb,
    epilog=example(
        "shoal audit any.csv -s schema.toml --json",
        "shoal audit release/ --original patients.csv",
    ),
)
@click.argument("source")
@own("--original", metavar="FILE", help="The table before, to measure what was lost.")
@own("--population", metavar="FILE", help="The population, for the journalist's risk.")
@own(
    "--sampling-fraction",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Share of the population in the table, to estimate who is unique in the population.",
)
@roles
@reading
@output
def command(
    source: str, roles: Roles, reading: dict[str, Any], as_json: bool, quiet: bool, **asked: Any
) -> None:
    """Measure any table, whoever made it.

    Shows the strongest parameter of each model that the table reaches, the risk that people are
    found, and what is left of the data. SOURCE is any table, or a release folder.
    """
    import shoal

    shoal.check_request(
        tables=[source],
        files=[asked["original"], asked["population"]],
        schema=roles.schema,
        reading=reading,
    )
    with progress(quiet) as step:
        step("measuring", 0, 1)
        found = shoal.audit(source, roles.schema(), **asked, **reading)
    show(found, as_json, quiet)
