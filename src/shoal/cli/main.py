"""``shoal``: lists the verbs without loading them, so that ``--help`` answers at once."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from shoal.cli.outcome import run_guarded
from shoal.cli.printing import tolerate_lost_outlets
from shoal.core import interruption

VERBS = {
    "demo": "The whole story on bundled data, in under a minute.",
    "look": "Show columns, likely roles and why, and how many people are unique.",
    "schema": "Suggest a schema as TOML, for you to correct.",
    "frontier": "Compare methods and strengths: risk against utility.",
    "publish": "Make a release that meets a requirement, verified.",
    "verify": "Recount a published file from scratch.",
    "audit": "Measure any table, whoever made it.",
    "attack": "Attack releases before anybody else does.",
    "m-privacy": "Find out whether providers who work together break a rule.",
    "meaning": "Say what a promise of differential privacy means.",
    "forecast": "Estimate what a release that somebody else may make would reveal.",
    "ledger": "Record releases; judge a new one together with the old.",
    "pool": "Publish one table of several providers.",
    "report": "Write a report on a release: verified, measured, attacked.",
    "study": "Make a paper's table or figure again.",
    "data": "List, copy and fetch tables.",
}
"""Each verb's file in this folder, and its line in the list."""


def _module_name(verb: str) -> str:
    return f"shoal.cli.{verb.replace('-', '_')}"


class UnknownVerb(click.UsageError):
    """A verb that does not exist, with the nearest that does."""

    def __init__(self, name: str, known: Sequence[str], context: click.Context) -> None:
        super().__init__(f"There is no verb {name!r}.", context)
        close = difflib.get_close_matches(name, known, n=1)
        self.hint = f"Did you mean {close[0]!r}?" if close else f"The verbs are {', '.join(known)}."


class Verbs(click.Group):
    """Verbs, each in the file of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the story."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, from its file."""
        if cmd_name not in VERBS:
            return None
        verb: click.Command = importlib.import_module(_module_name(cmd_name)).command
        return verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the arguments name, or an error that names the nearest."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise UnknownVerb(args[0], list(VERBS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table alone."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        """Run, and leave with an exit code; nothing escapes as a traceback."""
        arguments = list(sys.argv[1:] if args is None else args) or ["--help"]
        run = super().main
        extra["standalone_mode"] = False
        code: int | None = None
        with suppress(KeyboardInterrupt), tolerate_lost_outlets():
            code = run_guarded(lambda: run(arguments, prog_name or "shoal", **extra), arguments)
        sys.exit(interruption.exit_code() if code is None else code)


@click.command(
    "shoal",
    cls=Verbs,
    epilog="\b\nExample:\n  shoal look patients.csv\n  shoal VERB --help\n\n\b\n"
    "Exit codes: 0 done and safe, 1 internal error, 2 wrong usage,\n"
    "3 requirement not met, 4 an attack exceeded its limit, 5 bad input,\n"
    "130 stopped by Ctrl-C, 143 stopped by a request to terminate.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="shoal", message="shoal %(version)s")
def main() -> None:
    """Publish tables about people so that nobody in them stands out."""
