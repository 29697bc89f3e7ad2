"""``shoal frontier``: methods and strengths side by side, to choose from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shoal.cli.options import (
    ACCEPT_KEEP,
    FILE,
    ON,
    SHARE,
    Roles,
    Verb,
    add_table_options,
    format_examples,
    hold_back_option,
    model_option,
    one_row_option,
    option,
    population_option,
)
from shoal.cli.printing import NOT_MET, Output

if TYPE_CHECKING:
    from shoal import Frame, Frontier, Interrupted, Schema


@click.command(
    "frontier",
    cls=Verb,
    epilog=format_examples(
        "shoal frontier patients.csv -s schema.toml -o frontier/",
        "shoal frontier patients.csv -s schema.toml --methods mondrian,chain --strengths 5,10",
        'shoal frontier patients.csv -s schema.toml -m "k-anonymity k=5" \\',
        '    -m "k-anonymity k=5 & entropy-diversity l=3" --risk value --max-loss 0.2',
        "shoal frontier patients.csv -s schema.toml --side-by-side --epsilons 0.5,1,2 -o sides/",
    ),
)
@click.argument("source")
@model_option(
    help='A rule to try, one strength; several joined by "&". Repeatable.',
)
@option("--strengths", metavar="K,K", help="Without -m: the k to try; else 2,5,10,25,50.")
@option("--methods", metavar="NAME,NAME", help="The methods to try; else all.")
@option(
    "-o",
    "--out",
    type=FILE,
    metavar="DIR",
    help="Keep finished points and the page there; a run that was stopped goes on.",
)
@option(
    "--risk",
    type=click.Choice(("identity", "value")),
    default="identity",
    show_default=True,
    help="The frontier's: picking a person's row, or guessing the value.",
)
@ON
@option("--max-loss", type=SHARE, metavar="LOSS", help="Choose: the least risk with no more loss.")
@option(
    "--max-risk",
    type=SHARE,
    metavar="RISK",
    help="Choose: the least loss where nobody's risk is higher.",
)
@option(
    "--max-average-risk", type=SHARE, metavar="RISK", help="The same of the average over people."
)
@hold_back_option()
@option(
    "--auto-hierarchies",
    is_flag=True,
    help="Give levels to columns that have none, for methods that need them.",
)
@population_option()
@one_row_option()
@option("--replace", is_flag=True, help="Start anew where another comparison is kept.")
@option(
    "--side-by-side",
    is_flag=True,
    help="Compare classes with differential privacy: join two releases of each. Stopped, it "
    "keeps nothing.",
)
@option("--epsilons", metavar="E,E", help="Side by side: the noise; else 0.5,1,2,4.")
@option(
    "--forms", metavar="NAME,NAME", help="Side by side: randomised, counts, synthetic; else all."
)
@option(
    "--overlap", type=int, metavar="N", help="Side by side: people in both halves of the table."
)
@option("--seeds", type=int, metavar="N", help="Side by side: how often to split; else 3.")
@ACCEPT_KEEP
@add_table_options
def command(
    source: str,
    models: tuple[str, ...],
    strengths: str | None,
    roles: Roles,
    reading: dict[str, Any],
    output: Output,
    side_by_side: bool,
    epsilons: str | None,
    forms: str | None,
    overlap: int | None,
    seeds: int | None,
    **options: Any,
) -> int:
    """Compare methods and strengths: risk against utility.

    Every method makes a release under every rule, as a dry run: nothing is published. Each is
    attacked by whoever knows everybody's quasi-identifiers, and its loss is measured. On the
    frontier (*) are those than which no other has less risk without more loss. Interrupted, it
    keeps the points that are finished, and goes on when it is run again.

    With --side-by-side two overlapping halves of the table are published under rules of classes
    and under differential privacy, and the same attack joins each pair of releases. That is
    written when all of it is finished: interrupted, it begins anew.
    """
    import shoal

    methods = [name.strip() for name in (options["methods"] or "").split(",") if name.strip()]
    shoal.check_request(
        lambda: _refuse_misplaced_options(side_by_side),
        lambda: _parse_strengths(strengths),
        *(functools.partial(shoal.check_request, method=name) for name in methods),
        tables=[source],
        files=[options["population"]],
        schema=roles.needed,
        some_columns=side_by_side,
        rules=models,
        has_population=options["population"] is not None,
        one_row=options["one_row"],
        reading=reading,
    )
    schema, has_one_row = roles.needed(), options["one_row"] is not None
    side_options = {"epsilons": epsilons, "forms": forms, "overlap": overlap, "seeds": seeds}
    if side_by_side:
        arguments = {"rules": models or None, "on": options["on"], "out": options["out"]}
        arguments |= {"one_row": options["one_row"], "reading": reading if has_one_row else None}
        try:
            with _open_source(source, schema, reading, output, has_one_row) as (step, table):
                result = shoal.side_by_side(
                    table, schema, progress=step, **arguments, **_parse_side_options(side_options)
                )
        except KeyboardInterrupt:
            raise _explain_side_by_side_stop() from None
        page = f"\nThe page: {options['out'] / 'side-by-side.html'}" if options["out"] else ""
        output.show(result, f"{result}{page}")
        return 0
    folder = options["out"]
    before = _read_file_version(folder)
    try:
        with _open_source(source, schema, reading, output, has_one_row) as (step, table):
            comparison: Frontier = shoal.frontier(
                table,
                schema,
                models or None,
                strengths=_parse_strengths(strengths),
                progress=step,
                reading=reading if has_one_row else None,
                **options,
            )
    except KeyboardInterrupt:
        if folder is None:
            raise
        raise _explain_stop(before, _read_file_version(folder), options["replace"]) from None
    for warning in () if output.quiet else comparison.warnings:
        click.echo(f"WARNING: {warning}", err=True)
    for note in () if output.quiet else comparison.notes:
        click.echo(f"Note: {note}", err=True)
    output.show(comparison, _describe_frontier(comparison, folder))
    try:
        comparison.check()
    except shoal.NotMetError as error:  # what was found is printed already, with --json too
        click.echo(f"{error.fact}\nHint: {error.hint}", err=True)
        return NOT_MET
    return 0


@contextmanager
def _open_source(
    source: str, schema: Schema, reading: dict[str, Any], output: Output, unread: bool
) -> Iterator[tuple[Callable[[str, int, int], None], Frame | str]]:
    """How progress is shown, and the table, while it is worked on; ``unread``: only where it is."""
    import shoal

    if unread:
        with output.show_progress() as step:
            yield step, source
        return
    with (
        output.show_progress() as step,
        closing(shoal.open(source, kinds=schema.kinds, **reading)) as table,
    ):
        yield step, table


_SIDE_BY_SIDE_OPTIONS = ("epsilons", "forms", "overlap", "seeds")
_FRONTIER_OPTIONS = (
    "strengths",
    "methods",
    "risk",
    "max_loss",
    "max_risk",
    "max_average_risk",
    "hold_back",
    "auto_hierarchies",
    "population",
    "replace",
    "accept_keep",
)


def _refuse_misplaced_options(side_by_side: bool) -> None:
    from shoal import UsageError

    parameter_source = click.get_current_context().get_parameter_source
    meaningless = _FRONTIER_OPTIONS if side_by_side else _SIDE_BY_SIDE_OPTIONS
    typed = [name for name in meaningless if parameter_source(name) is ParameterSource.COMMANDLINE]
    if not typed:
        return
    flag = f"--{typed[0].replace('_', '-')}"
    if side_by_side:
        raise UsageError(
            f"{flag} has no meaning with --side-by-side.",
            "leave it out; rules are given with -m, noise with --epsilons.",
        )
    raise UsageError(f"{flag} is of a comparison of both schools.", "add --side-by-side.")


def _parse_side_options(sides: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, lists as lists; ε as texts, which are exact."""
    given_options = {name: value for name, value in sides.items() if value is not None}
    return {
        name: [word.strip() for word in value.split(",")] if isinstance(value, str) else value
        for name, value in given_options.items()
    }


def _read_file_version(folder: Path | None) -> tuple[int, int] | None:
    """What tells one writing of the comparison from another; None: there is none."""
    try:
        status = ((folder or Path()) / "frontier.json").stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _explain_stop(
    before: tuple[int, int] | None, after: tuple[int, int] | None, replace: bool
) -> Interrupted:
    from shoal import Interrupted

    if after is None:
        return Interrupted(
            "Stopped before any point was finished: nothing was written.", "run it again."
        )
    if after == before:
        fact = "Stopped before a further point was finished; what was kept before is unchanged."
        return Interrupted(fact, "run it again.")
    again = "run it again, without --replace," if replace else "run it again"
    return Interrupted("Stopped; the points that were finished are kept.", f"{again} to go on.")


def _explain_side_by_side_stop() -> Interrupted:
    from shoal import Interrupted

    return Interrupted(
        "Stopped; a comparison side by side is kept only when all of it is finished.",
        "run it again; fewer --seeds, --epsilons or --forms take less time.",
    )


def _parse_strengths(text: str | None) -> list[int] | None:
    from shoal import UsageError

    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(
            "--strengths are whole numbers.", "write for example --strengths 5,10,25."
        ) from None


def _describe_frontier(comparison: Frontier, folder: Path | None) -> str:
    lines, chosen = [str(comparison)], comparison.chosen
    if chosen is not None:
        lines += ["", f"Chosen: {chosen.method} under {chosen.rule}, {comparison.wanted}."]
    if comparison.made and (chosen is not None or not comparison.wanted):
        lines.append(
            f"To publish it: {comparison.command}" if chosen else _CHOOSE + comparison.command
        )
    if folder is not None:
        lines.append(f"The page: {folder / 'frontier.html'}")
    return "\n".join(lines)


_CHOOSE = "To choose: --max-risk or --max-loss. To publish one: "
