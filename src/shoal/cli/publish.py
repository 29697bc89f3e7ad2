"""``shoal publish``: a verified release, whole or not at all."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    ACCEPT_KEEP,
    FILE,
    FORMATS,
    SHARE,
    Roles,
    Verb,
    add_relation_options,
    add_table_options,
    check_folder_replaceable,
    choice_option,
    format_examples,
    hold_back_option,
    model_option,
    one_row_option,
    option,
    population_option,
    require,
)
from shoal.cli.printing import (
    NOT_MET,
    Output,
    describe_judgements,
    describe_missing_values,
    format_facts,
    format_levels,
)

if TYPE_CHECKING:
    from shoal import Release

METHOD_SECTION, RELATED_SECTION = "How classes are made", "Other tables and releases"
method_option = functools.partial(option, section=METHOD_SECTION)
output_option = functools.partial(option, section="What is written")
noise_option = functools.partial(option, section="Noise (differential privacy)")
related_option = functools.partial(option, section=RELATED_SECTION)
ledger_option = functools.partial(option, section="Ledger")
FORMS_WITHOUT_RULE = ("counts", "synthetic")
"""The forms that noise alone makes: there is no requirement on classes."""
ADMISSION_OPTIONS = ("about", "to", "relation", "limit", "accept_risk")
"""What a ledger records besides the release."""
_ROW_FATES = ("frozen", "widened", "new", "gone")


@click.command(
    "publish",
    cls=Verb,
    epilog=format_examples(
        "shoal publish patients.csv -s schema.toml -o release/ \\",
        '    -m "k-anonymity k=10" -m "entropy-diversity l=3"',
    ),
)
@click.argument("source")
@model_option(
    help="A requirement; repeatable, all must hold.",
)
@option("-o", "--out", type=FILE, metavar="DIR", help="The release's folder.")
@option("--replace", is_flag=True, help="Replace a release that is there.")
@option("--dry-run", is_flag=True, help="Show the outcome; write nothing.")
@option(
    "--explain",
    is_flag=True,
    help="Show what each requirement reaches; if it fails, what would pass.",
)
@ACCEPT_KEEP
@method_option(
    "--method",
    show_default="mondrian",
    metavar="NAME",
    help="One of mondrian, greedy, tree-order, hilbert, k-similar, microaggregation, full-domain, "
    "chain, datafly, local, mu-argus, provider-aware, invariant. Each has a page under Theory in "
    "the documentation; shoal frontier compares them.",
)
@method_option(
    "--measure", metavar="NAME", help="Full-domain, local: what is to be least (else loss)."
)
@method_option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help='A parameter of the method, such as levels="age=1..3"; repeatable.',
)
@method_option(
    "--relaxed", is_flag=True, help="Mondrian: equal people may come into different classes."
)
@method_option(
    "--order", multiple=True, metavar="COL", help="Chain: a column to generalise first; repeatable."
)
@choice_option(section=METHOD_SECTION)
@method_option(
    "--auto-hierarchies",
    is_flag=True,
    help="Give levels to numbers, dates and codes that have none, where the method needs them.",
)
@hold_back_option(section=METHOD_SECTION)
@one_row_option(section=METHOD_SECTION)
@output_option(
    "--form",
    type=click.Choice(("partition", "buckets", "centroids", "randomised", "counts", "synthetic")),
    default="partition",
    show_default=True,
    help="Generalised cells; or exact ones, with sensitive values permuted within classes; or "
    "means and most frequent values of classes. By noise: generalised cells with randomised "
    "values; counts; or made-up people.",
)
@output_option(
    "--two-tables", is_flag=True, help="Buckets: the people and the values in a file each."
)
@output_option(
    "--held-back-as",
    type=click.Choice(("absent", "starred")),
    default="absent",
    show_default=True,
    help="Rows held back: left out, or printed as * in a class that is judged.",
)
@output_option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="Of the table.",
)
@output_option(
    "--csv-style",
    type=click.Choice(("input", "standard")),
    default="input",
    show_default=True,
    help="CSV with the delimiter, decimal sign and encoding of the input; or comma, point, UTF-8.",
)
@output_option(
    "--companion",
    type=FILE,
    metavar="DIR",
    help="Folder of the private companion (else DIR.private).",
)
@noise_option(
    "--epsilon", metavar="NUMBER", help="What it may spend: a decimal or a fraction, as 1/3."
)
@noise_option("--delta", default="0", metavar="NUMBER", help="The chance beside it, such as 1e-6.")
@noise_option(
    "--marginals",
    type=int,
    metavar="N",
    help="Counts, synthetic: all sets of so many columns are counted together.",
)
@noise_option(
    "--marginal",
    "marginal_columns",
    multiple=True,
    metavar="COL,COL",
    help="Counts, synthetic: columns that are counted together; repeatable.",
)
@noise_option(
    "--seed", type=int, metavar="N", help="For tests: it marks the release as unreleasable."
)
@population_option(section=RELATED_SECTION)
@related_option(
    "--based-on",
    type=FILE,
    metavar="RELEASE",
    help="The latest release of the table: nobody's cells become finer than there.",
)
@related_option(
    "--after",
    multiple=True,
    metavar="RELEASE",
    help="A release that is public already; repeatable. Columns it has are generalised too; "
    "what linking the two tables gives is not bounded: --based-on is stronger.",
)
@related_option(
    "--like",
    type=FILE,
    metavar="RELEASE",
    help="A release of other people: its recoding is applied as it is, and its schema and "
    "requirement hold unless given. Not for the same people again: that is --based-on.",
)
@ledger_option(
    "--ledger",
    metavar="PLACE",
    help="Path or postgresql:// address: judge the release with those recorded there; record it.",
)
@ledger_option(
    "--key", type=FILE, metavar="FILE", help="The ledger's key (else beside the ledger)."
)
@ledger_option("--to", metavar="TEXT", help="To whom it is released.")
@ledger_option("--about", metavar="NAME", help="Whom it is about, where the ledger has several.")
@functools.partial(add_relation_options, make_option=ledger_option)
@ledger_option(
    "--limit",
    type=SHARE,
    metavar="SHARE",
    help="Share of people whom it may expose together with earlier ones; nobody unless given.",
)
@ledger_option(
    "--accept-risk", metavar="REASON", help="Record it though it exposes people, and why."
)
@add_table_options
def command(
    source: str,
    models: tuple[str, ...],
    roles: Roles,
    reading: dict[str, Any],
    relaxed: bool,
    order: tuple[str, ...],
    choice: str | None,
    measure: str | None,
    settings: tuple[str, ...],
    marginal_columns: tuple[str, ...],
    format_: str,
    explain: bool,
    output: Output,
    **options: Any,
) -> int:
    """Make a release that meets a requirement, verified.

    The table is generalised until every requirement holds, written aside, read again and
    recounted, and only then moved to its place.
    """

    needs_roles = options["like"] is None or roles.is_stated
    parameters = {"relaxed": relaxed, "order": list(order), "choice": choice, "measure": measure}
    parameters = {name: value for name, value in parameters.items() if value}
    _check_first(
        source, models, roles if needs_roles else None, reading, parameters, settings, options
    )
    options["marginals"] = _choose_marginals(options["marginals"], marginal_columns)
    schema = roles.needed() if needs_roles else None
    record = {name: options.pop(name) for name in ADMISSION_OPTIONS}
    options["admission"] = {name: value for name, value in record.items() if value is not None}
    options |= _merge_parameters(parameters, settings)
    with (
        _open_ledger(options.pop("ledger"), options.pop("key")) as ledger,
        output.show_progress() as step,
    ):
        step("reading", 0, 1)
        arguments = {"format": format_, "progress": step, "ledger": ledger, **options}
        arguments["reading"] = reading  # what is asked is checked before the table is read
        release = _publish_or_explain(
            source, schema, " & ".join(models) or None, arguments, explain
        )
    notes = [] if output.quiet else release.private.get("notes", [])
    in_text = [] if output.as_json else list_warnings(release)
    for note in notes:
        if note not in in_text:
            click.echo(f"Note: {note}", err=True)
    output.show(release, describe_release(release, explain))
    return 0 if release.verdict.holds else NOT_MET


def _check_first(
    source: str,
    models: tuple[str, ...],
    roles: Roles | None,
    reading: dict[str, Any],
    parameters: dict[str, Any],
    settings: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """Refuse, all at once and before a row is read, what the command line has wrong.

    Where that is nothing of its own, publishing itself checks what is asked, all at once.
    """
    import shoal

    by_noise = options["form"] in FORMS_WITHOUT_RULE
    has_rule = bool(models) or options["like"] is not None or by_noise
    checks = [
        lambda: require(has_rule, "No requirement is given.", 'add -m "k-anonymity k=10".'),
        *(functools.partial(shoal.rule, model) for model in models),
        lambda: None if roles is None else roles.needed(),
        lambda: None if options["dry_run"] else _check_folders(options),
        lambda: _merge_parameters(parameters, settings),
        lambda: require(
            options["key"] is None or options["ledger"] is not None,
            "A key is given, and no ledger.",
            "add --ledger PATH.",
        ),
    ]
    try:
        shoal.check_request(*checks, ledger=options["ledger"], key=options["key"])
        return
    except shoal.ShoalError:
        checks.append(lambda: _check_parameters(options, parameters, settings))
    shoal.check_request(
        *checks,
        tables=[source],
        files=[options["population"]],
        releases=[options["based_on"], options["like"], *options["after"]],
        schema=None if roles is None else roles.needed,
        some_columns=by_noise or options["like"] is not None,
        rules=models,
        one_column_each=options["form"] != "randomised",
        has_population=options["population"] is not None,
        one_row=options["one_row"],
        ledger=options["ledger"],
        key=options["key"],
        reading=reading,
    )


def _check_parameters(
    options: Mapping[str, Any], parameters: dict[str, Any], settings: Sequence[str]
) -> None:
    """Refuse a method, or a parameter, that there is not; noise alone takes none."""
    import shoal

    all_parameters = _merge_parameters(parameters, settings)
    if options["like"] is None and options["form"] not in FORMS_WITHOUT_RULE:
        shoal.check_request(method=options["method"] or "mondrian", parameters=all_parameters)


def _check_folders(options: Mapping[str, Any]) -> None:
    from shoal import OutputError

    has_folder = options["out"] is not None
    require(has_folder, "No folder is given.", "add -o release/, or --dry-run to write nothing.")
    for folder in filter(None, (options["out"], options["companion"])):
        if not folder.absolute().parent.exists():
            raise OutputError(
                f"There is no folder {folder.parent}.", "create it, or choose another place."
            )
    check_folder_replaceable(options["out"], options["replace"])


def _choose_marginals(number: int | None, columns: tuple[str, ...]) -> Any:
    is_clear = number is None or not columns
    require(is_clear, "--marginals and --marginal are alternatives.", "leave one out.")
    return columns or number


def _open_ledger(location: str | None, key: Path | None) -> AbstractContextManager[Any]:
    """The ledger, open where it has a key of its own; else publishing opens it."""
    import shoal

    if key is None:
        return nullcontext(location)
    ledger: AbstractContextManager[Any] = shoal.Ledger(location or "", key)
    return ledger


def _merge_parameters(own_options: dict[str, Any], pairs: Sequence[str]) -> dict[str, Any]:
    """The method's parameters, by their own options and by --set; nothing is said in two ways."""
    from shoal import UsageError

    settings = _parse_settings(pairs)
    for name in sorted(own_options.keys() & settings):
        if str(own_options[name]).lower() != settings[name].lower():
            raise UsageError(
                f"{name} is given by --{name} and, in another way, by --set.", "leave one out."
            )
    return settings | own_options


def _parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """The method's parameters, as text; parameters of publishing have options of their own."""
    from inspect import signature

    import shoal

    settings: dict[str, str] = {}
    for pair in pairs:
        name, equal, value = pair.partition("=")
        if not equal or not name.isidentifier():
            raise shoal.UsageError("--set takes NAME=VALUE.", "write for example --set share=0.05.")
        if name in signature(shoal.publish).parameters:
            raise shoal.UsageError(
                f"{name!r} is no parameter of a method.", "see shoal publish --help for its option."
            )
        if settings.setdefault(name, value) != value:
            raise shoal.UsageError(f"--set gives {name} two values.", "leave one out.")
    return settings


def _publish_or_explain(
    table: Any, schema: Any, rule: str | None, options: dict[str, Any], explain: bool
) -> Release:
    """The release; where the rule is not met and it is to be explained, what would pass."""
    import shoal

    try:
        release: Release = shoal.publish(table, schema, rule, **options)
    except shoal.NotMetError as error:
        alternative = _describe_alternative(table, schema, rule, options) if explain else ""
        raise shoal.NotMetError(f"{error.fact}{alternative}", error.hint) from error
    except shoal.Refused as error:  # what was written aside is gone: all findings are shown
        click.echo(f"{error.admission}\n", err=True)
        raise
    return release


def _describe_alternative(
    table: Any, schema: Any, rule: str | None, options: dict[str, Any]
) -> str:
    """What the rule would cost if any number of rows could be suppressed."""
    import shoal

    try:
        without_limit = {"hold_back": 1.0, "dry_run": True, "ledger": None, "admission": None}
        other = shoal.publish(table, schema, rule, **options | without_limit)
    except shoal.ShoalError:
        method = options["method"] or "mondrian"
        return f"\nNo part that {method} finds meets it, however many rows are held back."
    share = other.private["held_back"] / (other.private["held_back"] + other.verdict.rows)
    return f"\nIt would pass with {share:.2%} of the rows held back: {other}."


def describe_release(release: Release, explain: bool) -> str:
    """The outcome, what was found besides, and where everything lies."""
    lines, based = [str(release)], "rows_frozen" in release.private
    if not based:  # else only what is new was made at one level
        lines += format_levels(release.private, release.manifest["form"])
    if release.is_noisy:
        lines += _describe_noise(release)
    if explain:
        lines += [line for block in _explain(release) if block for line in ("", block)]
    if based:
        lines += _describe_based_on(release.private)
    if "people_in_both" in release.private:
        lines += _describe_like(release.private)
    if "admission" in release.private:
        lines.append(str(release.private["admission"]))
    if "public_before" in release.private:
        lines.append(_describe_after(release.private["public_before"]))
    lines += [f"WARNING: {note}" for note in list_warnings(release)]
    lines += describe_missing_values(release.verdict)
    if release.folder is None:
        return "\n".join((*lines, "Nothing was written (dry run)."))
    return "\n".join((*lines, *_describe_place(release)))


def list_warnings(release: Release) -> list[str]:
    """The notes on what may undo the promise: columns that repeat, and such that no rule is about.

    Columns that repeat may say that a person has several rows, where each was taken for a person.
    """
    notes = [str(note) for note in release.private.get("notes", [])]
    repeats = [note for note in notes if note in release.private.get("repeats", [])]
    unjudged = notes if release.private["unjudged"] else []
    return repeats + [note for note in unjudged if note.startswith("no requirement is about ")]


def _describe_place(release: Release) -> list[str]:
    """Where it lies; what a seed drew is no release, and that is said last."""
    companion_note = f"Private companion in {release.companion}: keep it, do not publish it."
    private = [] if release.companion is None else [companion_note]
    if release.is_noisy and not release.manifest["releasable"]:
        return [*private, f"Written for tests to {release.folder}; NOT to be released."]
    return [f"Published in {release.folder}, read again and verified.", *private]


def _explain(release: Release) -> list[str]:
    facts = {k: v for k, v in release.private.items() if k != "explanation"}
    how = "" if "expected" in facts else str(release.private["explanation"])
    return [describe_judgements(release.verdict), format_facts(facts), how]


def _describe_noise(release: Release) -> list[str]:
    facts: Mapping[str, Any] = release.private
    lines = []
    if "expected" in facts:
        lines.append(str(facts["explanation"]))
    for name, chance in facts.get("true_answers", {}).items():
        part = ">99.9%" if chance > 0.999 else f"{chance:.1%}"
        lines.append(f"{part} of the answers of {name} are true; the others are drawn at random.")
    if "utility" in facts:
        moved = _describe_distance(facts["utility"])
        lines.append(f"{moved} (for you alone: it is counted from the original).")
    return lines


def _describe_distance(utility: Mapping[str, Any]) -> str:
    if utility["marginals"] is None:
        return f"How far columns and pairs have moved is {utility['reason']}"
    bins = f", of which bins alone: {utility['bins']:.1%}" if "bins" in utility else ""
    distance = f"Columns and pairs of them have moved by {utility['marginals']:.1%}"
    return f"{distance} of what publishing nothing would{bins}"


def _describe_based_on(facts: Mapping[str, Any]) -> list[str]:
    frozen, widened, new, gone = (facts[f"rows_{what}"] for what in _ROW_FATES)
    lines = [
        f"Against the earlier release: {frozen:,} rows keep their cells, {widened:,} have wider "
        f"ones, {new:,} are new, {gone:,} are gone."
    ]
    if few := facts["rows_new_few"]:
        lines.append(
            f"Warning: {few:,} new rows are in classes with old ones and do not meet the rule "
            "among themselves: whoever compares the releases may tell them apart. Publish when "
            "more have come, or let them be held back (--hold-back)."
        )
    return [*lines, "Base the next release on this one: two that have one base can be linked."]


def _describe_like(facts: Mapping[str, Any]) -> list[str]:
    lines = []
    if rows := facts["rows_not_covered"]:
        lines.append(f"The release's recoding does not cover {rows:,} rows: they are held back.")
    if people := facts["people_in_both"]:
        lines.append(
            f"Warning: {people:,} people are in the other release too: whoever links the two has "
            "both of their rows. For the same people again there is --based-on."
        )
    return lines


def _describe_after(names: Sequence[str]) -> str:
    columns = ", ".join(names) or "no column that would be published as it is"
    return f"Public already, and so generalised too: {columns}."
