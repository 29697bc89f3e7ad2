"""``shoal publish``: a verified release, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import ACCEPT_KEEP, FILE, Roles, Verb, example, output, own, reading, roles
from shoal.cli.printing import judged, measured, progress, show

if TYPE_CHECKING:
    from shoal import Release

_BECAME = ("frozen", "widened", "new", "gone")
FORMATS = ("csv", "csv.gz", "parquet", "feather", "arrow", "xlsx")
CHOICE = own(
    "--choice", metavar="NAME",
    help="Provider-aware: when providers are parted (least, quasi, apart, score).",
)  # fmt: skip


@click.command(
    "publish",
    cls=Verb,
    epilog=example(
        "shoal publish patients.csv -s schema.toml -o release/ \\",
        '    -m "k-anonymity k=10" -m "entropy-diversity l=3"',
    ),
)
@click.argument("source")
@own(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="TEXT",
    help="A requirement; repeatable, all must hold.",
)
@own("-o", "--out", type=FILE, metavar="DIR", help="The release's folder.")
@own(
    "--method",
    default="mondrian",
    show_default=True,
    metavar="NAME",
    help="How classes are made: mondrian (cuts), chain (whole columns, level by level), or "
    "provider-aware (cuts, and for m-privacy providers apart).",
)
@own("--relaxed", is_flag=True, help="Mondrian: equal people may come into different classes.")
@own(
    "--order", multiple=True, metavar="COL", help="Chain: a column to generalise first; repeatable."
)
@CHOICE
@own(
    "--form",
    type=click.Choice(("partition", "buckets")),
    default="partition",
    show_default=True,
    help="Generalised cells; or exact ones, with sensitive values permuted within classes.",
)
@own("--two-tables", is_flag=True, help="Buckets: the people and the values in a file each.")
@own(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="Of the table.",
)
@own(
    "--hold-back",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Share of rows that may be left out, such as 0.05.",
)
@own(
    "--held-back-as",
    type=click.Choice(("absent", "starred")),
    default="absent",
    show_default=True,
    help="Rows held back: left out, or printed as * in a class that is judged.",
)
@own("--replace", is_flag=True, help="Replace a release that is there.")
@own("--dry-run", is_flag=True, help="Show the outcome; write nothing.")
@own(
    "--explain",
    is_flag=True,
    help="Show what each requirement reaches; if it fails, what would pass.",
)
@ACCEPT_KEEP
@own(
    "--companion",
    type=FILE,
    metavar="DIR",
    help="Folder of the private companion (else DIR.private).",
)
@own("--population", metavar="FILE", help="The population, for k-map and delta-presence.")
@own(
    "--based-on",
    type=FILE,
    metavar="RELEASE",
    help="The latest release of the table: nobody's cells become finer than there.",
)
@own(
    "--after",
    multiple=True,
    metavar="RELEASE",
    help="A release that is public already; repeatable. Columns it has are generalised too; "
    "what linking the two tables gives is not bounded: --based-on is stronger.",
)
@roles
@reading
@output
def command(
    source: str, models: tuple[str, ...], roles: Roles, reading: dict[str, Any], relaxed: bool,
    order: tuple[str, ...], choice: str | None, format_: str, explain: bool, as_json: bool,
    quiet: bool, **asked: Any,
) -> int:  # fmt: skip
    """Make a release that meets a requirement, verified.

    The table is generalised until every requirement holds, written aside, read again and
    recounted, and only then moved to its place.
    """

    _check(models, asked["out"], asked["dry_run"])
    schema = roles.needed()
    if relaxed:
        asked["relaxed"] = True
    if order:
        asked["order"] = list(order)
    if choice:
        asked["choice"] = choice
    with progress(quiet) as step:
        step("reading", 0, 1)
        request = {"format": format_, "progress": step, **asked}
        with _opened(source, schema, reading, asked["based_on"]) as table:
            release = _made(table, schema, " & ".join(models), request, explain)
    show(release, as_json, quiet, _text(release, explain))
    return 0 if release.verdict.holds else 3


def _check(models: tuple[str, ...], out: Path | None, dry_run: bool) -> None:
    from shoal import UsageError

    if not models:
        raise UsageError("No requirement is given.", 'add -m "k-anonymity k=10".')
    if out is None and not dry_run:
        raise UsageError("No folder is given.", "add -o release/, or --dry-run to write nothing.")


def _opened(
    source: str, schema: Any, reading: dict[str, Any], based_on: Path | None
) -> AbstractContextManager[Any]:
    """The table; one based on an earlier release is read as that was, so the path is enough."""
    import shoal

    if based_on is not None and not reading:
        return nullcontext(source)
    return closing(shoal.open(source, kinds=schema.kinds, **reading))


def _made(table: Any, schema: Any, rule: str, request: dict[str, Any], explain: bool) -> Release:
    """The release; where the rule is not met and it is to be explained, what would pass."""
    import shoal

    try:
        release: Release = shoal.publish(table, schema, rule, **request)
    except shoal.NotMetError as error:
        told = _instead(table, schema, rule, request) if explain else ""
        raise shoal.NotMetError(f"{error.fact}{told}", error.hint) from error
    return release


def _instead(table: Any, schema: Any, rule: str, request: dict[str, Any]) -> str:
    """What the rule would cost if any number of rows could be held back."""
    import shoal

    try:
        other = shoal.publish(table, schema, rule, **request | {"hold_back": 1.0, "dry_run": True})
    except shoal.ShoalError:
        method = request["method"]
        return f"\nNo part that {method} finds meets it, however many rows are held back."
    share = other.private["held_back"] / (other.private["held_back"] + other.verdict.rows)
    return f"\nIt would pass with {share:.2%} of the rows held back: {other}."


def _text(release: Release, explain: bool) -> str:
    lines = [str(release)]
    if explain:
        facts = {k: v for k, v in release.private.items() if k != "explanation"}
        lines += [
            "",
            judged(release.verdict),
            "",
            measured(facts),
            "",
            str(release.private["explanation"]),
        ]
    if "rows_frozen" in release.private:
        lines += _based(release.private)
    if "public_before" in release.private:
        lines.append(_after(release.private["public_before"]))
    if bare := release.private["unjudged"]:
        lines.append(f"No requirement is about {', '.join(bare)}: a class may share one value.")
    if release.folder is None:
        return "\n".join((*lines, "Nothing was written (dry run)."))
    lines.append(f"Published in {release.folder}, read again and verified.")
    if release.companion is not None:
        lines.append(f"Private companion in {release.companion}: keep it, do not publish it.")
    return "\n".join(lines)


def _based(facts: Mapping[str, Any]) -> list[str]:
    """What became of the rows of the release that this one is based on."""
    kept, wider, new, gone = (facts[f"rows_{what}"] for what in _BECAME)
    lines = [
        f"Against the earlier release: {kept:,} rows keep their cells, {wider:,} have wider ones, "
        f"{new:,} are new, {gone:,} are gone."
    ]
    if few := facts["rows_new_few"]:
        lines.append(
            f"Warning: {few:,} new rows are in classes with old ones and do not meet the rule "
            "among themselves: whoever compares the releases may tell them apart. Publish when "
            "more have come, or let them be held back (--hold-back)."
        )
    return [*lines, "Base the next release on this one: two that have one base can be linked."]


def _after(names: Sequence[str]) -> str:
    """What the earlier releases were found to have."""
    told = ", ".join(names) or "no column that would be published as it is"
    return f"Public already, and so generalised too: {told}."
