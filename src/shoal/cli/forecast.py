"""``shoal forecast``: what a release that somebody else will make would expose of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    FILE,
    ON,
    SEED,
    SHARE,
    Roles,
    Verb,
    add_table_options,
    format_examples,
    model_option,
    option,
    require,
)
from shoal.cli.printing import EXPOSED, Output, format_table

if TYPE_CHECKING:
    from shoal import Forecast, Validation

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
@model_option(
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
@SEED
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
@add_table_options
def command(
    source: str,
    validate: bool,
    limit: float | None,
    roles: Roles,
    output: Output,
    **options: Any,
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
        lambda: _check_validation(limit) if validate else _check_single(options),
        tables=[source] if validate else [],
        releases=[] if validate else [source],
        files=[options["original"], options["population"]],
        schema=roles.needed if validate else roles.schema,
        rules=options["models"],
        on=options["on"],
        method=options["method"] or "",
        page=options["out"],
        page_name="forecast",
        reading=options["reading"],
    )
    with output.show_progress() as step:
        if validate:
            validation = _run_validation(source, roles, limit, step, options)
            output.show(validation, _describe_validation(validation, options["out"]))
            return 0
        forecast = _run_forecast(source, roles, step, options)
    output.show(forecast, _describe_forecast(forecast, options["out"]))
    if limit is None or forecast.risk <= limit:
        return 0
    message = (
        f"{forecast.risk:.1%} of the classes would be exposed, more than the limit of {limit:.1%}."
    )
    click.echo(message, err=True)
    return EXPOSED


def _run_forecast(source: str, roles: Roles, step: Any, options: dict[str, Any]) -> Forecast:
    import shoal

    del options["ks"], options["seeds"]
    overlap, l = (
        _take_single("overlap", options.pop("overlap"), 0.1),
        _take_single("l", options.pop("ls"), 2),
    )
    models, labels = options.pop("models"), options.pop("labels")
    return shoal.forecast(
        source,
        schema=roles.schema(),
        overlap=overlap,
        l=l,
        rule=" & ".join(models) or None,
        show=labels,
        progress=step,
        **options,
    )


def _check_single(options: dict[str, Any]) -> None:
    """Refuse options that only a validation has, or takes several of."""
    own_alone = not (options["ks"] or options["seeds"])
    require(own_alone, "--k and --seeds are for --validate.", "leave them out.")
    _take_single("overlap", options["overlap"], 0.1)
    _take_single("l", options["ls"], 2)


def _take_single(name: str, values: Sequence[Any], default: Any) -> Any:
    """The only one of what may be repeated with --validate."""
    single = len(values) < 2
    require(single, f"A forecast takes one --{name}.", "give one, or add --validate.")
    return values[0] if values else default


def _run_validation(
    source: str, roles: Roles, limit: float | None, step: Any, options: dict[str, Any]
) -> Validation:
    import shoal

    repeatable = {"overlaps": options["overlap"], "ks": options["ks"], "ls": options["ls"]}
    repeated = {name: value for name, value in repeatable.items() if value}
    names = ("on", "method", "seeds")
    given_once = {name: options[name] for name in names if options[name] not in (None, ())}
    always = {name: options[name] for name in ("repeats", "confidence", "reading", "out")}
    schema = roles.needed()
    return shoal.validate_forecast(
        source, schema, progress=step, **repeated, **given_once, **always
    )


def _check_validation(limit: float | None) -> None:
    """Refuse options that a validation does not have."""
    from shoal import UsageError

    context, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    names = ("others", "same_people", "rows", "original", "population", "models", "labels", "seed")
    if limit is not None or any(context.get_parameter_source(name) is typed for name in names):
        raise UsageError(
            "--validate draws its own releases from the table, and knows their truth.",
            "of the options for the others, give --overlap, --k, --l and --method only.",
        )


def _describe_forecast(forecast: Forecast, out: Path | None) -> str:
    rows = [
        (
            "*" if estimate is forecast.default else "",
            estimate.name,
            f"{estimate.risk:.2%}",
            _format_interval(estimate.interval, estimate is forecast.default),
            forecast.assumes(estimate.name),
        )
        for estimate in forecast.estimates.values()
    ]
    head = ("", "estimator", "exposed", "nine in ten", "it takes it that")
    lines = [
        forecast.sentence,
        "",
        *_describe_columns(forecast),
        format_table(head, rows, right=(2, 3)),
        "",
    ]
    lines += [*_describe_classes(forecast), "Supposed:"]
    lines += [f"- {assumption}" for assumption in forecast.assumptions]
    lines += [
        f"- {estimate.name}: {'; '.join(estimate.assumptions)}"
        for name, estimate in forecast.estimates.items()
        if name != "paper, best subset"  # which has the assumptions of the paper's other reading
    ]
    return "\n".join([*lines, *([f"The page: {out}"] if out else [])])


def _describe_columns(forecast: Forecast) -> list[str]:
    if not forecast.by_column:
        return []
    rows = [
        (
            column_forecast.on,
            f"{column_forecast.risk:.2%}",
            _format_interval(column_forecast.default.interval, True),
            f"{column_forecast.few:,}",
            column_forecast.settings["rule"],
        )
        for column_forecast in forecast.by_column
    ]
    head = ("sensitive column", "exposed", "nine in ten", "too few values already", "others' rule")
    return [format_table(head, rows, right=(1, 2, 3)), "", f"By {forecast.on}:"]


def _format_interval(interval: tuple[float, float] | None, simulated: bool) -> str:
    if interval is None:
        return "too few repeats" if simulated else ""
    return f"{interval[0]:.2%} to {interval[1]:.2%}"


def _describe_classes(forecast: Forecast) -> list[str]:
    few, l = forecast.few, forecast.settings["l"]
    have = "class has" if few == 1 else "classes have"
    lines = [f"{few:,} {have} fewer than {l} values already, without any other release.", ""]
    if not forecast.exposed:
        return lines
    names = list(forecast.exposed[0].labels)
    rows = [
        (
            at_risk.number,
            at_risk.row,
            at_risk.rows,
            at_risk.values,
            f"{at_risk.probability:.0%}",
            *(at_risk.labels[name] for name in names),
        )
        for at_risk in forecast.exposed[:SHOWN]
    ]
    head = ("class", "first row", "rows", "values", "chance", *names)
    shown = format_table(head, rows, right=range(5))
    return [*lines, "The classes most at risk, by simulation:", shown, ""]


def _describe_validation(validation: Validation, out: Path | None) -> str:
    rows = [
        (
            name,
            f"{100 * score.mae:.2f}",
            f"{100 * score.bias:+.2f}",
            "" if score.correlation is None else f"{score.correlation:.3f}",
            f"{score.brier:.4f}",
            "" if score.covered is None else f"{score.covered:.0%}",
        )
        for name, score in validation.scores.items()
    ]
    head = ("estimator", "error", "bias", "correlation", "Brier score", "covered")
    exposed = [trial.real for trial in validation.trials]
    lines = [
        f"{len(exposed):,} trials on samples of {validation.settings['size']:,} of "
        f"{validation.rows:,} rows: {min(exposed):.1%} to {max(exposed):.1%} of the classes came "
        "to be exposed.",
        *_describe_validated_columns(validation),
        "",
        format_table(head, rows, right=range(1, 6)),
        "",
        *validation.legend,
        *validation.notes,
    ]
    return "\n".join([*lines, *([f"The page: {out}"] if out else [])])


def _describe_validated_columns(validation: Validation) -> list[str]:
    if not validation.by_column:
        return []
    rows = [
        (
            column_validation.on,
            f"{min(trial.real for trial in column_validation.trials):.1%}",
            f"{max(trial.real for trial in column_validation.trials):.1%}",
            *(f"{100 * score.mae:.2f}" for score in column_validation.scores.values()),
        )
        for column_validation in validation.by_column
    ]
    head = (
        "sensitive column",
        "exposed, from",
        "to",
        *(f"error, {estimator}" for estimator in validation.scores),
    )
    return [
        "",
        format_table(head, rows, right=range(1, len(head))),
        "",
        f"By {validation.on}, the worst:",
    ]
