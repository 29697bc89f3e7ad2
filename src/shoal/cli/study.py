"""``shoal study``: the papers' experiments, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import FILE, Roles, Verb, example, output, own, reading, roles
from shoal.cli.printing import progress, show


@click.group("study", epilog=example("shoal study m-privacy -o study/"))
def command() -> None:
    """Run a paper's experiments again.

    The results are JSON, with the seeds, and charts as SVG.
    """


@command.command(
    "m-privacy",
    cls=Verb,
    epilog=example(
        "shoal study m-privacy -o study/",
        "shoal study m-privacy -o study/ --part anonymisation --data patients.csv -s schema.toml",
    ),
)
@own("-o", "--out", type=FILE, required=True, metavar="DIR", help="Where the results go.")
@own("--data", metavar="FILE", help="The table; else Adult, or a bundled one.")
@own("--part", metavar="NAME", help="One part only; else both.")
@own("--seeds", type=click.IntRange(1), default=3, show_default=True, metavar="N",
     help="How often everything that is drawn is drawn again.")  # fmt: skip
@roles
@reading
@output
def m_privacy(
    out: Path, roles: Roles, reading: dict[str, Any], as_json: bool, quiet: bool, **asked: Any
) -> None:
    """What m-privacy costs: to verify, and in detail.

    It has two parts. verification: checks and seconds of every verifier, for a class of 150 and
    one of 750 rows. anonymisation: the loss of the provider-aware method and of Mondrian for the
    same rule, with rows split evenly and by an exponential law. Adult is studied where the
    variable SHOAL_DATA names its folder, else a bundled table; the study of Adult takes minutes.
    """
    import shoal

    with progress(quiet) as step:
        found = shoal.study(
            "m-privacy", out, schema=roles.schema(), progress=step, **asked, **reading
        )
    show(found, as_json, quiet)
