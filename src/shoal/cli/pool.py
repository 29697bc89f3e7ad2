"""``shoal pool``: several providers publish one table, by a trusted third party."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    FILE,
    FORMATS,
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    check_folder_replaceable,
    choice_option,
    format_examples,
    hold_back_option,
    model_option,
    one_row_option,
    option,
    require,
)
from shoal.cli.printing import Output, Result

AGREEMENT = option(
    "--agreement",
    metavar="HASH",
    help="Refuse a pool of any other agreement; its first 12 digits do.",
)


@click.group(
    "pool",
    epilog=format_examples(
        "shoal pool init POOL -s schema.toml --provider A --provider B --provider C \\",
        '    -m "m-privacy m=1 (k-anonymity k=5 & distinct-diversity l=2)" \\',
        "    --method provider-aware --hold-back 0.01",
        "shoal pool add POOL --provider A a.csv --agreement 3f2a91c07d5e",
        "shoal pool add POOL --provider A newer.csv --replace",
        "shoal pool status POOL",
        "shoal pool publish POOL -o release/",
        "shoal pool publish POOL -o another/ --again",
    ),
)
def command() -> None:
    """Publish one table of several providers.

    On one machine, by a party whom all of them trust: it sees every row. The providers agree on a
    schema and a rule, each adds its rows, and one release is made that holds against them too.
    """


@command.command(
    "init",
    cls=Verb,
    epilog=format_examples(
        "shoal pool init POOL -s schema.toml --provider A --provider B \\",
        '    -m "m-privacy m=1 (k-anonymity k=5 & distinct-diversity l=2)"',
    ),
)
@click.argument("pool", type=FILE)
@option(
    "-s",
    "--schema",
    "file",
    type=FILE,
    metavar="FILE",
    help="The agreed roles, kinds and hierarchies (TOML).",
)
@option(
    "--hierarchies",
    type=FILE,
    metavar="DIR",
    help="Hierarchies in ARX's format, one COLUMN.csv each.",
)
@model_option(
    help="The requirement, all inside m-privacy; repeatable, all must hold.",
)
@option(
    "--provider",
    "providers",
    multiple=True,
    metavar="NAME",
    help="Who takes part; repeatable. Else whoever adds rows.",
)
@option(
    "--method",
    default="provider-aware",
    show_default=True,
    metavar="NAME",
    help="How classes are made.",
)
@choice_option()
@hold_back_option()
@add_output_options
def begin_pool(
    pool: Path,
    file: Path | None,
    hierarchies: Path | None,
    models: tuple[str, ...],
    choice: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Make a pool: what its providers agree on.

    The agreement is POOL/pool.json, and its hash is printed: let every provider compare it.
    """
    import shoal

    roles, parameters = Roles(file, {}, hierarchies), {"choice": choice} if choice else {}
    shoal.check_request(
        lambda: require(
            file, "No schema is given.", "add -s schema.toml (shoal schema writes one)."
        ),
        lambda: require(
            models, "No requirement is given.", 'add -m "m-privacy m=1 (k-anonymity k=5)".'
        ),
        schema=None if file is None else roles.needed,
        rules=models,
        method=options["method"],
        parameters=parameters,
    )
    schema = roles.needed()
    options |= parameters
    pooled = shoal.pool_init(pool, schema, " & ".join(models), **options)
    _print_pooled(
        pooled,
        output,
        "Let every provider compare the agreement before adding rows.",
    )


@command.command(
    "add",
    cls=Verb,
    epilog=format_examples(
        "shoal pool add POOL --provider A patients.csv --agreement 3f2a91c07d5e"
    ),
)
@click.argument("pool", type=FILE)
@click.argument("source", metavar="FILE")
@option("--provider", required=True, metavar="NAME", help="Whose rows they are.")
@AGREEMENT
@option("--replace", is_flag=True, help="In place of rows that it added before.")
@one_row_option()
@add_reading_options
@add_output_options
def add_rows(
    pool: Path,
    source: str,
    provider: str,
    agreement: str | None,
    replace: bool,
    one_row: str | None,
    reading: dict[str, Any],
    output: Output,
) -> None:
    """Add one provider's rows to a pool.

    They are checked against the agreed schema and stored in POOL/private, without identifiers; a
    column of the role person is stored as it is.
    """
    import shoal

    shoal.check_request(lambda: shoal.pool_status(pool), files=[source])
    pooled = shoal.pool_add(
        pool, provider, source, agreement=agreement, replace=replace, one_row=one_row, **reading
    )
    awaited = f"Still to add rows: {', '.join(pooled.awaited)}." if pooled.awaited else ""
    _print_pooled(pooled, output, awaited)


@command.command("status", cls=Verb, epilog=format_examples("shoal pool status POOL --json"))
@click.argument("pool", type=FILE)
@add_output_options
def show_status(pool: Path, output: Output) -> None:
    """Say who has added rows and who is awaited.

    Names and the agreement only: how many rows a provider has is told to nobody else.
    """
    import shoal

    output.show(shoal.pool_status(pool))


@command.command("publish", cls=Verb, epilog=format_examples("shoal pool publish POOL -o release/"))
@click.argument("pool", type=FILE)
@option("-o", "--out", type=FILE, metavar="DIR", help="The release's folder.")
@AGREEMENT
@option(
    "--format", type=click.Choice(FORMATS), default="csv", show_default=True, help="Of the table."
)
@option("--replace", is_flag=True, help="Replace a release that is there.")
@option(
    "--again", is_flag=True, help="Though the pool was published before; the partners are told."
)
@add_output_options
def publish_pool(pool: Path, out: Path | None, output: Output, **options: Any) -> None:
    """Publish everybody's rows as one release, verified.

    Beside it, in DIR.partners, a joint certificate, and for each provider a page on what the
    others could learn about its people. Give each of them its own page only.
    """
    import shoal

    shoal.check_request(
        lambda: shoal.pool_status(pool), lambda: _check_folder(out, options["replace"])
    )
    with output.show_progress() as step:
        pooled = shoal.pool_publish(pool, out or Path(), progress=step, **options)
    _print_pooled(
        pooled,
        output,
        f"Published in {pooled.release.folder}, read again and verified.",
        f"For the partners, the certificate and a page each: {pooled.folder}",
        f"Private companion in {pooled.release.companion}: keep it, do not publish it.",
    )


def _check_folder(out: Path | None, replace: bool) -> None:
    require(out is not None, "No folder is given.", "add -o release/.")
    check_folder_replaceable(out or Path(), replace)


def _print_pooled(pooled: Result, output: Output, *lines: str) -> None:
    output.show(pooled, "\n".join((str(pooled), *filter(None, lines))))
