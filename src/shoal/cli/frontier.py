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
    ONE_ROW_HELP,
    SHARE,
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    add_role_options,
    format_examples,
)
from shoal.cli.options import option as own
from shoal.cli.printing import print_result, show_progress

if TYPE_CHECKING:
    from shoal import Frame, Frontier, Interrupted, Schema, SideBySide


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
@own(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="TEXT",
    help='A rule to try, one strength; several joined by "&". Repeatable.',
)
@own("--strengths", metavar="K,K", help="Without -m: the k to try; else 2,5,10,25,50.")
@own("--methods", metavar="NAME,NAME", help="The methods to try; else all.")
@own(
    "-o",
    "--out",
    type=FILE,
    metavar="DIR",
    help="Keep finished points and the page there; a run that was stopped goes on.",
)
@own(
    "--risk",
    type=click.Choice(("identity", "value")),
    default="identity",
    show_default=True,
    help="The frontier's: picking a person's row, or guessing the value.",
)
@ON
@own("--max-loss", type=SHARE, metavar="LOSS", help="Choose: the least risk with no more loss.")
@own(
    "--max-risk",
    type=SHARE,
    metavar="RISK",
    help="Choose: the least loss where nobody's risk is higher.",
)
@own("--max-average-risk", type=SHARE, metavar="RISK", help="The same of the average over people.")
@own(
    "--hold-back",
    type=SHARE,
    default=0.0,
    metavar="SHARE",
    help="Share of rows that may be left out, such as 0.05 or 5%.",
)
@own(
    "--auto-hierarchies",
    is_flag=True,
    help="Give levels to columns that have none, for methods that need them.",
)
@own("--population", metavar="FILE", help="The population, for k-map and delta-presence.")
@own("--one-row", metavar="TEXT", help=ONE_ROW_HELP)
@own("--replace", is_flag=True, help="Start anew where another comparison is kept.")
@own(
    "--side-by-side",
    is_flag=True,
    help="Compare classes with differential privacy: join two releases of each. Stopped, it "
    "keeps nothing.",
)
@own("--epsilons", metavar="E,E", help="Side by side: the noise; else 0.5,1,2,4.")
@own("--forms", metavar="NAME,NAME", help="Side by side: randomised, counts, synthetic; else all.")
@own("--overlap", type=int, metavar="N", help="Side by side: people in both halves of the table.")
@own("--seeds", type=int, metavar="N", help="Side by side: how often to split; else 3.")
@ACCEPT_KEEP
@add_role_options
@add_reading_options
@add_output_options
def command(
    source: str,
    models: tuple[str, ...],
    strengths: str | None,
    roles: Roles,
    reading: dict[str, Any],
    as_json: bool,
    quiet: bool,
    side_by_side: bool,
    epsilons: str | None,
    forms: str | None,
    overlap: int | None,
    seeds: int | None,
    **asked: Any,
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

    methods = [name.strip() for name in (asked["methods"] or "").split(",") if name.strip()]
    shoal.check_request(
        lambda: _refuse(side_by_side),
        lambda: _numbers(strengths),
        *(functools.partial(shoal.check_request, method=name) for name in methods),
        tables=[source],
        files=[asked["population"]],
        schema=roles.needed,
        some_columns=side_by_side,
        rules=models,
        has_population=asked["population"] is not None,
        one_row=asked["one_row"],
        reading=reading,
    )
    schema, chosen = roles.needed(), asked["one_row"] is not None
    sides = {"epsilons": epsilons, "forms": forms, "overlap": overlap, "seeds": seeds}
    if side_by_side:
        given = {"rules": models or None, "on": asked["on"], "out": asked["out"]}
        given |= {"one_row": asked["one_row"], "reading": reading if chosen else None}
        try:
            with _opened(source, schema, reading, quiet, chosen) as (step, table):
                both = shoal.side_by_side(table, schema, progress=step, **given, **_given(sides))
        except KeyboardInterrupt:
            raise _stopped_aside() from None
        print_result(both, as_json, quiet, _both(both, asked["out"]))
        return 0
    kept = asked["out"]
    before = _written(kept)
    try:
        with _opened(source, schema, reading, quiet, chosen) as (step, table):
            found: Frontier = shoal.frontier(
                table,
                schema,
                models or None,
                strengths=_numbers(strengths),
                progress=step,
                reading=reading if chosen else None,
                **asked,
            )
    except KeyboardInterrupt:
        if kept is None:
            raise
        raise _stopped(before, _written(kept), asked["replace"]) from None
    for warning in () if quiet else found.warnings:
        click.echo(f"WARNING: {warning}", err=True)
    for note in () if quiet else found.notes:
        click.echo(f"Note: {note}", err=True)
    print_result(found, as_json, quiet, _text(found, kept))
    try:
        found.check()
    except shoal.NotMetError as error:  # what was found is printed already, with --json too
        click.echo(f"{error.fact}\nHint: {error.hint}", err=True)
        return 3
    return 0


@contextmanager
def _opened(
    source: str, schema: Schema, reading: dict[str, Any], quiet: bool, unread: bool
) -> Iterator[tuple[Callable[[str, int, int], None], Frame | str]]:
    """How progress is shown, and the table, while it is worked on; ``unread``: only where it is."""
    import shoal

    if unread:
        with show_progress(quiet) as step:
            yield step, source
        return
    with (
        show_progress(quiet) as step,
        closing(shoal.open(source, kinds=schema.kinds, **reading)) as table,
    ):
        yield step, table


_SIDES = ("epsilons", "forms", "overlap", "seeds")
_ALONE = (
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


def _refuse(side_by_side: bool) -> None:
    """Refuse what has no meaning where both schools are compared, or where they are not."""
    from shoal import UsageError

    typed = click.get_current_context().get_parameter_source
    unfit = _ALONE if side_by_side else _SIDES
    given = [name for name in unfit if typed(name) is ParameterSource.COMMANDLINE]
    if not given:
        return
    option = f"--{given[0].replace('_', '-')}"
    if side_by_side:
        raise UsageError(
            f"{option} has no meaning with --side-by-side.",
            "leave it out; rules are given with -m, noise with --epsilons.",
        )
    raise UsageError(f"{option} is of a comparison of both schools.", "add --side-by-side.")


def _given(sides: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, lists as lists; ε as texts, which are exact."""
    told = {name: value for name, value in sides.items() if value is not None}
    return {
        name: [one.strip() for one in value.split(",")] if isinstance(value, str) else value
        for name, value in told.items()
    }


def _both(found: SideBySide, kept: Path | None) -> str:
    page = () if kept is None else (f"The page: {kept / 'side-by-side.html'}",)
    return "\n".join((str(found), *page))


def _written(kept: Path | None) -> tuple[int, int] | None:
    """What tells one writing of the comparison from another; None: there is none."""
    try:
        found = ((kept or Path()) / "frontier.json").stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _stopped(
    before: tuple[int, int] | None, now: tuple[int, int] | None, replace: bool
) -> Interrupted:
    """What there is after an interruption, and how to go on."""
    from shoal import Interrupted

    if now is None:
        return Interrupted(
            "Stopped before any point was finished: nothing was written.", "run it again."
        )
    if now == before:
        told = "Stopped before a further point was finished; what was kept before is unchanged."
        return Interrupted(told, "run it again.")
    again = "run it again, without --replace," if replace else "run it again"
    return Interrupted("Stopped; the points that were finished are kept.", f"{again} to go on.")


def _stopped_aside() -> Interrupted:
    from shoal import Interrupted

    return Interrupted(
        "Stopped; a comparison side by side is kept only when all of it is finished.",
        "run it again; fewer --seeds, --epsilons or --forms take less time.",
    )


def _numbers(text: str | None) -> list[int] | None:
    from shoal import UsageError

    if text is None:
        return None
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise UsageError(
            "--strengths are whole numbers.", "write for example --strengths 5,10,25."
        ) from None


def _text(found: Frontier, kept: Path | None) -> str:
    lines, chosen = [str(found)], found.chosen
    if chosen is not None:
        lines += ["", f"Chosen: {chosen.method} under {chosen.rule}, {found.wanted}."]
    if found.made and (chosen is not None or not found.wanted):
        lines.append(f"To publish it: {found.command}" if chosen else _CHOOSE + found.command)
    if kept is not None:
        lines.append(f"The page: {kept / 'frontier.html'}")
    return "\n".join(lines)


_CHOOSE = "To choose: --max-risk or --max-loss. To publish one: "
