"""``shoal verify``: recount a published file from scratch."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.options import (
    ACCEPT_KEEP,
    Roles,
    Verb,
    add_table_options,
    format_examples,
    model_option,
    option,
    population_option,
)
from shoal.cli.printing import NOT_MET, Output, describe_verdict


@click.command(
    "verify",
    cls=Verb,
    epilog=format_examples(
        "shoal verify release/",
        'shoal verify theirs.csv --quasi age --quasi zip -m "k-anonymity k=5"',
    ),
)
@click.argument("source")
@model_option(
    help="A requirement; repeatable. A release brings its own.",
)
@population_option()
@option(
    "--after",
    multiple=True,
    metavar="RELEASE",
    help="A release that is public already; repeatable. Columns it has are judged too; "
    "what linking the two tables gives is not.",
)
@ACCEPT_KEEP
@option(
    "--with-persons",
    is_flag=True,
    help="Count people by the person column of this copy; what is published has none.",
)
@option(
    "--show",
    "labels",
    is_flag=True,
    help="Show the labels of the worst class; they are the table's own.",
)
@add_table_options
def command(
    source: str,
    models: tuple[str, ...],
    population: str | None,
    after: tuple[str, ...],
    accept_keep: bool,
    with_persons: bool,
    labels: bool,
    roles: Roles,
    reading: dict[str, Any],
    output: Output,
) -> int:
    """Recount a published file from scratch.

    SOURCE is a release folder, which says itself what it must meet, or any table with -s and -m.
    Nothing that its maker said about it is trusted. People who have several rows are counted once,
    where the private companion is at hand or --with-persons. The exit code is 3 if it does not
    hold.
    """
    import shoal

    shoal.check_request(
        tables=[source],
        files=[population],
        releases=after,
        schema=roles.schema,
        rules=models,
        has_population=population is not None,
        reading=reading,
    )
    with output.show_progress() as step:
        step("recounting", 0, 1)
        verdict = shoal.verify(
            source,
            roles.schema(),
            " & ".join(models) or None,
            population=population,
            accept_keep=accept_keep,
            with_persons=with_persons,
            show=labels,
            after=after,
            **reading,
        )
    output.show(verdict, describe_verdict(verdict))
    return 0 if verdict.holds else NOT_MET
