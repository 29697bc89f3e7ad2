"""How a run ends: an exit code, and for errors a fact and a hint on standard error.

A message is a release too, so an unexpected error shows its type and its place in the code,
never its own message, which may quote a cell. With ``--json`` the error is also the one JSON
document on standard output.
"""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from shoal.cli.printing import print_text, write_as_utf8
from shoal.core import interruption

SETTINGS = {
    name: name for name in ("delimiter", "quote", "encoding", "decimal", "sheet", "query")
} | {"day_first": "day-first", "nulls": "null"}
"""Settings of ``shoal.open`` and the flags that they are here."""
STOPPED = (
    "Stopped.",
    "a release that is there is whole, and a study goes on from what it has measured; otherwise "
    "nothing was written: run it again.",
)


def run_guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run, and return the exit code; an error is told before that."""
    write_as_utf8()
    interruption.announce_with(lambda code: _report_error(*STOPPED, code, arguments))
    try:
        with interruption.handle_signals():
            code = run()
    except (KeyboardInterrupt, click.Abort):
        return _report_stop(*STOPPED, arguments)
    except click.ClickException as error:
        return _report_error(*_explain_usage_error(error), 2, arguments)
    except Exception as error:
        return _report_failure(error, arguments)
    return code if isinstance(code, int) else 0


def _report_stop(fact: str, hint: str, arguments: Sequence[str]) -> int:
    """Tell that the user stopped the run, unless that is told already."""
    code = interruption.exit_code()
    return _report_error(fact, hint, code, arguments) if interruption.claim_announcement() else code


def _report_failure(error: Exception, arguments: Sequence[str]) -> int:
    from shoal import Interrupted, ShoalError

    if isinstance(error, Interrupted):
        return _report_stop(error.fact, error.hint, arguments)
    if interruption.stop_requested.is_set():  # a library made another error of the interrupt
        return _report_stop(*STOPPED, arguments)
    if os.environ.get("SHOAL_DEBUG") == "1":
        click.echo("".join(_format_frames(error)), err=True, nl=False)
    if isinstance(error, ShoalError):
        return _report_error(error.fact, error.hint, error.exit_code, arguments)
    if isinstance(error, MemoryError):
        return _report_error("There is not enough memory.", "use fewer columns.", 5, arguments)
    fact = f"Internal error: {type(error).__name__} at {_find_place(error)}."
    hint = "please report this line; SHOAL_DEBUG=1 shows the way there, without data."
    return _report_error(fact, hint, 1, arguments)


def _explain_usage_error(error: click.ClickException) -> tuple[str, str]:
    """Fact and hint of an error in the command line itself."""
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
        rf"\b({'|'.join(SETTINGS)})=(?=(['\w])?)",
        lambda match: f"--{SETTINGS[match[1]]}" + (" " if match[2] else ""),
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
