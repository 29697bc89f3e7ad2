"""``shoal demo``: the whole story on bundled data."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.options import FILE, Verb, add_output_options, format_examples, option
from shoal.cli.printing import Output


@click.command("demo", cls=Verb, epilog=format_examples("shoal demo", "shoal demo -o story/"))
@option(
    "-o",
    "--out",
    type=FILE,
    default="shoal-demo",
    show_default=True,
    metavar="DIR",
    help="Where the releases and the page go.",
)
@add_output_options
def command(out: Path, output: Output) -> None:
    """The whole story on bundled data, in under a minute.

    Two hospitals publish; both tables are k-anonymous; together they give diagnoses away. Nobody
    in the data exists. The story is also written as a web page.
    """
    import shoal

    with output.show_progress() as step:
        story = shoal.demo(out, progress=step)
    output.show(story)
