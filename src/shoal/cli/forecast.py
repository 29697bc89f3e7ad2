"""``shoal forecast``: what a release that somebody else will make would expose of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    FILE,
    ON,
    SHARE,
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    add_role_options,
    format_examples,
    option,
)
from shoal.cli.printing import format_table, print_result, show_progress

if TYPE_CHECKING:
    from shoal import Forecast, Validation

EXPOSED = 4
"""The exit code when the forecast exceeds its limit."""
SHOWN = 10
"""So many of the classes at risk are printed; the JSON has more."""


@click.command(
    "forecast",
    cls=Verb,
    epilog=format_examples(
        "shoal forecast release/ --original patients.csv --overlap 10%",
        "shoal forecast release/ --others 2 --overlap 500 --limit 5% -o forecast.html",
        'shoal forecast release/ --method chain -m "k-anonymity k=10"',
        "shoal forecast --validate patients.csv -s schema.toml --overlap 500 -o validation.html",
    ),
)
@click.argument("source", metavar="RELEASE")
@option("--original", metavar="FILE", help="The table it was made from: where people truly are.")
@option(
    "--overlap",
    multiple=True,
    metavar="SHARE|N",
    help="How many of our people are in the other release: a share (1 is all), or a number from 2 "
    "on; 10% unless given.",
)
@option(
    "--others",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many other releases there will be.",
)
@option(
    "--same-people",
    type=SHARE,
    metavar="SHARE",
    help="Of our people in one of several others, how many are in all: 0 is independent, 1 the "
    "same people; the worse of these two, unless given.",
)
@option("--rows", type=click.IntRange(1), metavar="N", help="Rows of each; as many as ours.")
@option("--method", metavar="NAME", help="How the others publish; as ours was, unless given.")
@option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="TEXT",
    help="The others' rule, repeatable; ours, unless given.",
)
@option(
    "--l",
    "ls",
    type=click.IntRange(2),
    multiple=True,
    metavar="N",
    help="Whoever is left with fewer values is exposed; 2 unless given.",
)
@option(
    "--confidence",
    type=SHARE,
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="The paper's C, for its own estimate.",
)
@option(
    "--repeats",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    metavar="N",
    help="How many releases of the others are drawn.",
)
@option("--population", metavar="FILE", help="Everybody the others' tables could be about.")
@ON
@option("--seed", type=int, default=0, show_default=True, metavar="N", help="For what is drawn.")
@option(
    "--limit",
    type=SHARE,
    metavar="SHARE",
    help="Leave with 4 where a larger share of classes would be exposed.",
)
@option("--show", "labels", is_flag=True, help="Name the classes' labels: for your eyes only.")
@option("-o", "--out", type=FILE, metavar="FILE", help="Draw a page too: forecast.html, or .json.")
@option(
    "--validate",
    is_flag=True,
    help="RELEASE is a table: publish parts of it, and compare with the truth.",
)
@option(
    "--k",
    "ks",
    type=click.IntRange(2),
    multiple=True,
    metavar="N",
    help="With --validate: the k of both releases; repeatable.",
)
@option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help="With --validate: how often each setting is tried.",
)
@add_role_options
@add_reading_options
@add_output_options
def command(
    source: str,
    validate: bool,
    limit: float | None,
    roles: Roles,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> int:
    """Estimate what a release that somebody else may make would reveal.

    Somebody who is in our release and in another's is looked up in both: only values that both
    allow are left. RELEASE is a release folder, which says itself what its columns are, or any
    table with -s. The risk is the share of its classes in which somebody is left with fewer than
    --l values. Three estimators stand beside each other, the paper's in two readings; the default
    (*) draws releases that others could make. The exit code is 4 if its risk exceeds --limit.

    With --validate the estimators are tried out on a table of yours: parts of it that share people
    are published and attacked, and what was estimated is held against what came true.
    """
    import shoal

    shoal.check_request(
        lambda: _nothing_else(limit) if validate else _check_single(asked),
        tables=[source] if validate else [],
        releases=[] if validate else [source],
        files=[asked["original"], asked["population"]],
        schema=roles.needed if validate else roles.schema,
        rules=asked["models"],
        on=asked["on"],
        method=asked["method"] or "",
        page=asked["out"],
        page_name="forecast",
        reading=asked["reading"],
    )
    with show_progress(quiet) as step:
        if validate:
            tried = _validated(source, roles, limit, step, asked)
            print_result(tried, as_json, quiet, _text_of_trial(tried, asked["out"]))
            return 0
        found = _forecast(source, roles, step, asked)
    print_result(found, as_json, quiet, _text(found, asked["out"]))
    if limit is None or found.risk <= limit:
        return 0
    told = f"{found.risk:.1%} of the classes would be exposed, more than the limit of {limit:.1%}."
    click.echo(told, err=True)
    return EXPOSED


def _forecast(source: str, roles: Roles, step: Any, asked: dict[str, Any]) -> Forecast:
    import shoal

    del asked["ks"], asked["seeds"]
    overlap, l = _one("overlap", asked.pop("overlap"), 0.1), _one("l", asked.pop("ls"), 2)
    models, labels = asked.pop("models"), asked.pop("labels")
    return shoal.forecast(
        source,
        schema=roles.schema(),
        overlap=overlap,
        l=l,
        rule=" & ".join(models) or None,
        show=labels,
        progress=step,
        **asked,
    )


def _check_single(asked: dict[str, Any]) -> None:
    """Refuse options that only a validation has, or takes several of."""
    from shoal import UsageError

    if asked["ks"] or asked["seeds"]:
        raise UsageError("--k and --seeds are for --validate.", "leave them out.")
    _one("overlap", asked["overlap"], 0.1)
    _one("l", asked["ls"], 2)


def _one(name: str, given: Sequence[Any], unless: Any) -> Any:
    """The only one of what may be repeated with --validate."""
    from shoal import UsageError

    if len(given) > 1:
        raise UsageError(f"A forecast takes one --{name}.", "give one, or add --validate.")
    return given[0] if given else unless


def _validated(
    source: str, roles: Roles, limit: float | None, step: Any, asked: dict[str, Any]
) -> Validation:
    import shoal

    several = {"overlaps": asked["overlap"], "ks": asked["ks"], "ls": asked["ls"]}
    chosen = {name: value for name, value in several.items() if value}
    names = ("on", "method", "seeds")
    more = {name: asked[name] for name in names if asked[name] not in (None, ())}
    same = {name: asked[name] for name in ("repeats", "confidence", "reading", "out")}
    schema = roles.needed()
    return shoal.validate_forecast(source, schema, progress=step, **chosen, **more, **same)


def _nothing_else(limit: float | None) -> None:
    """Refuse options that a validation does not have."""
    from shoal import UsageError

    context, given = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    names = ("others", "same_people", "rows", "original", "population", "models", "labels", "seed")
    if limit is not None or any(context.get_parameter_source(name) is given for name in names):
        raise UsageError(
            "--validate draws its own releases from the table, and knows their truth.",
            "of the options for the others, give --overlap, --k, --l and --method only.",
        )


def _text(found: Forecast, out: Path | None) -> str:
    """The sentence, the estimators, the classes at risk, and what all of it supposes."""
    rows = [
        (
            "*" if one is found.default else "",
            one.name,
            f"{one.risk:.2%}",
            _interval(one.interval, one is found.default),
            found.assumes(one.name),
        )
        for one in found.estimates.values()
    ]
    head = ("", "estimator", "exposed", "nine in ten", "it takes it that")
    lines = [found.sentence, "", *_columns(found), format_table(head, rows, right=(2, 3)), ""]
    lines += [*_classes(found), "Supposed:"]
    lines += [f"- {told}" for told in found.assumptions]
    lines += [f"- {one.name}: {'; '.join(one.assumptions)}" for one in _told(found)]
    return "\n".join([*lines, *([f"The page: {out}"] if out else [])])


def _columns(found: Forecast) -> list[str]:
    """What is forecast of each sensitive column, the worst first, where there are several."""
    if not found.by_column:
        return []
    rows = [
        (
            one.on,
            f"{one.risk:.2%}",
            _interval(one.default.interval, True),
            f"{one.few:,}",
            one.settings["rule"],
        )
        for one in found.by_column
    ]
    head = ("sensitive column", "exposed", "nine in ten", "too few values already", "others' rule")
    return [format_table(head, rows, right=(1, 2, 3)), "", f"By {found.on}:"]


def _told(found: Forecast) -> list[Any]:
    """The estimates whose assumptions are told: both readings of the paper have the same."""
    return [one for name, one in found.estimates.items() if name != "paper, best subset"]


def _interval(interval: tuple[float, float] | None, drawn: bool) -> str:
    if interval is None:
        return "too few repeats" if drawn else ""
    return f"{interval[0]:.2%} to {interval[1]:.2%}"


def _classes(found: Forecast) -> list[str]:
    """The classes at risk as a table."""
    few, l = found.few, found.settings["l"]
    have = "class has" if few == 1 else "classes have"
    lines = [f"{few:,} {have} fewer than {l} values already, without any other release.", ""]
    if not found.exposed:
        return lines
    names = list(found.exposed[0].labels)
    rows = [
        (
            one.number,
            one.row,
            one.rows,
            one.values,
            f"{one.probability:.0%}",
            *(one.labels[name] for name in names),
        )
        for one in found.exposed[:SHOWN]
    ]
    head = ("class", "first row", "rows", "values", "chance", *names)
    shown = format_table(head, rows, right=range(5))
    return [*lines, "The classes most at risk, by simulation:", shown, ""]


def _text_of_trial(found: Validation, out: Path | None) -> str:
    rows = [
        (
            name,
            f"{100 * one.mae:.2f}",
            f"{100 * one.bias:+.2f}",
            "" if one.correlation is None else f"{one.correlation:.3f}",
            f"{one.brier:.4f}",
            "" if one.covered is None else f"{one.covered:.0%}",
        )
        for name, one in found.scores.items()
    ]
    head = ("estimator", "error", "bias", "correlation", "Brier score", "covered")
    real = [one.real for one in found.trials]
    lines = [
        f"{len(real):,} trials on samples of {found.settings['size']:,} of {found.rows:,} rows: "
        f"{min(real):.1%} to {max(real):.1%} of the classes came to be exposed.",
        *_tried_columns(found),
        "",
        format_table(head, rows, right=range(1, 6)),
        "",
        *found.legend,
        *found.notes,
    ]
    return "\n".join([*lines, *([f"The page: {out}"] if out else [])])


def _tried_columns(found: Validation) -> list[str]:
    """How far the estimates of each sensitive column were off, where several were tried."""
    if not found.by_column:
        return []
    rows = [
        (
            one.on,
            f"{min(trial.real for trial in one.trials):.1%}",
            f"{max(trial.real for trial in one.trials):.1%}",
            *(f"{100 * score.mae:.2f}" for score in one.scores.values()),
        )
        for one in found.by_column
    ]
    head = ("sensitive column", "exposed, from", "to", *(f"error, {one}" for one in found.scores))
    return [
        "",
        format_table(head, rows, right=range(1, len(head))),
        "",
        f"By {found.on}, the worst:",
    ]
