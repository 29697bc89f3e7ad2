"""``shoal``: the list of verbs, and how every run ends.

Verbs are listed without loading them, so that ``--help`` answers at once. A run ends with an exit
code, and for errors with a fact and a hint on standard error. A message is a release too: an
unexpected error shows its type and its place in the code, never its own message, which may quote a
cell. With ``--json`` the error is also the one JSON document on standard output.
"""

from __future__ import annotations

import difflib
import importlib
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import click

from shoal.cli.printing import print_text, tolerate_lost_outlets, write_as_utf8
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
READING_FLAGS = {
    name: name for name in ("delimiter", "quote", "encoding", "decimal", "sheet", "query")
} | {"day_first": "day-first", "nulls": "null"}
"""Settings of ``shoal.open`` and the flags that they are here."""
STOPPED = (
    "Stopped.",
    "a release that is there is whole, and a study goes on from what it has measured; otherwise "
    "nothing was written: run it again.",
)


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
        module = f"shoal.cli.{cmd_name.replace('-', '_')}"
        verb: click.Command = importlib.import_module(module).command
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


def run_guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run, and return the exit code; an error is reported before that."""
    write_as_utf8()
    interruption.announce_with(lambda code: _report_error(*STOPPED, code, arguments))
    try:
        with interruption.handle_signals():
            code = run()
    except (KeyboardInterrupt, click.Abort):
        return _report_stop(*STOPPED, arguments)
    except click.ClickException as error:
        from shoal import UsageError

        return _report_error(*_explain_usage_error(error), UsageError.exit_code, arguments)
    except Exception as error:
        return _report_failure(error, arguments)
    return code if isinstance(code, int) else 0


def _report_stop(fact: str, hint: str, arguments: Sequence[str]) -> int:
    """Report that the user stopped the run, unless that was announced already."""
    code = interruption.exit_code()
    return _report_error(fact, hint, code, arguments) if interruption.claim_announcement() else code


def _report_failure(error: Exception, arguments: Sequence[str]) -> int:
    from shoal import InputError, Interrupted, ShoalError

    if isinstance(error, Interrupted):
        return _report_stop(error.fact, error.hint, arguments)
    if interruption.stop_requested.is_set():  # a library made another error of the interrupt
        return _report_stop(*STOPPED, arguments)
    if os.environ.get("SHOAL_DEBUG") == "1":
        click.echo("".join(_format_frames(error)), err=True, nl=False)
    if isinstance(error, ShoalError):
        return _report_error(error.fact, error.hint, error.exit_code, arguments)
    if isinstance(error, MemoryError):
        fact = "There is not enough memory."
        return _report_error(fact, "use fewer columns.", InputError.exit_code, arguments)
    fact = f"Internal error: {type(error).__name__} at {_find_place(error)}."
    hint = "please report this line; SHOAL_DEBUG=1 shows the way there, without data."
    return _report_error(fact, hint, ShoalError.exit_code, arguments)


def _explain_usage_error(error: click.ClickException) -> tuple[str, str]:
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path if context else 'shoal'} --help"
    if isinstance(error, click.NoSuchOption):
        close = error.possibilities
        return f"There is no option {error.option_name}.", (
            f"Did you mean {close[0]}?" if close else hint
        )
    return error.format_message(), getattr(error, "hint", hint)


def _as_flags(hint: str) -> str:
    """A hint that speaks of Python's settings, in the words of the command line.

    >>> _as_flags("Set encoding= to the right one, or day_first=.")
    'Set --encoding to the right one, or --day-first.'
    """
    return re.sub(
        rf"\b({'|'.join(READING_FLAGS)})=(?=(['\w])?)",
        lambda match: f"--{READING_FLAGS[match[1]]}" + (" " if match[2] else ""),
        hint,
    )


def _report_error(fact: str, hint: str, code: int, arguments: Sequence[str]) -> int:
    hint = _as_flags(hint)
    if "--json" in arguments:
        error = {"fact": fact, "hint": hint, "exit_code": code}
        print_text(json.dumps({"edition": 1, "error": error}, ensure_ascii=False, indent=2))
    click.echo(f"{fact}\nHint: {hint}" if hint else fact, err=True)
    return code


def _find_place(error: BaseException) -> str:
    """The innermost line of this package on the way to the error."""
    steps = traceback.extract_tb(error.__traceback__)
    here = os.path.dirname(os.path.dirname(__file__))
    own = [step for step in steps if step.filename.startswith(here)] or list(steps)
    return f"{os.path.relpath(own[-1].filename, os.path.dirname(here))}:{own[-1].lineno}"


def _format_frames(error: BaseException) -> Iterator[str]:
    """The way to the error and to what caused it: lines of code and types, no values."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _format_frames(cause)
    yield from traceback.format_tb(error.__traceback__)
    yield f"{type(error).__module__}.{type(error).__qualname__}\n"


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
