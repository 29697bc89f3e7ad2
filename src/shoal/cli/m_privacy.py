"""``shoal m-privacy``: whether providers who work together break a rule, and how many it takes."""

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
    one_row_option,
    option,
)
from shoal.cli.printing import NOT_MET, Output


@click.command(
    "m-privacy",
    cls=Verb,
    epilog=format_examples(
        'shoal m-privacy pooled.csv -s schema.toml -m "k-anonymity k=5" --members 2',
        'shoal m-privacy release/ -m "k-anonymity k=5" -m "distinct-diversity l=3" --members 1',
    ),
)
@click.argument("source")
@model_option(
    required=True,
    help="A requirement that must hold against every coalition; repeatable.",
)
@option(
    "--members",
    type=click.IntRange(0),
    required=True,
    metavar="M",
    help="How many providers may work together.",
)
@option(
    "--verifier",
    default="exact",
    show_default=True,
    metavar="NAME",
    help="How coalitions are tried: exact, or as in the paper with checks counted: direct, "
    "top-down, bottom-up, binary, adaptive. All agree.",
)
@ACCEPT_KEEP
@one_row_option()
@option(
    "--show",
    "labels",
    is_flag=True,
    help="Show the labels of the classes that break, the coalition's names and the rows that are "
    "left.",
)
@add_table_options
def command(
    source: str,
    models: tuple[str, ...],
    members: int,
    labels: bool,
    roles: Roles,
    reading: dict[str, Any],
    output: Output,
    **options: Any,
) -> int:
    """Find out whether providers who work together break a rule.

    A coalition of M providers takes its own rows out of each class; what is left must still meet
    the requirements. SOURCE is a table with a column of providers (--provider), taken as it
    stands, or a release folder with its private companion. Shows the worst coalition, the largest
    M that holds, and how many classes survive each; names only with --show. The exit code is 3 if
    it does not hold.
    """
    import shoal

    shoal.check_request(
        tables=[source],
        schema=roles.schema,
        rules=models,
        one_row=options["one_row"],
        reading=reading,
    )
    with output.show_progress() as step:
        step("trying coalitions", 0, 1)
        judged = shoal.m_privacy(
            source, roles.schema(), " & ".join(models), members, show=labels, **options, **reading
        )
    output.show(judged if labels else judged.unnamed())
    return 0 if judged.holds else NOT_MET
