"""``shoal report``: everything known about a release, on one page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import (
    ACCEPT_KEEP,
    CONTROL,
    FILE,
    ON,
    SAMPLE,
    SEED,
    SHARE,
    SHOW,
    Roles,
    Verb,
    add_attack_relations,
    add_table_options,
    format_examples,
    model_option,
    option,
    require,
)
from shoal.cli.printing import EXPOSED, NOT_MET, Output


@click.command(
    "report",
    cls=Verb,
    epilog=format_examples(
        "shoal report release/ -o report.html",
        "shoal report release/ --original patients.csv --with other.csv --limit 0.05",
        "shoal report release/ --ledger releases.db -o report.html",
        "shoal report release/ --public -o public.html",
    ),
)
@click.argument("release")
@option("-o", "--out", type=FILE, metavar="FILE", help="Where it goes: report.html, or .json.")
@option(
    "--with",
    "others",
    multiple=True,
    metavar="RELEASE",
    help="Another release about the same people; repeatable.",
)
@option("--original", metavar="FILE", help="The table before, to show what became of it.")
@option("--targets", metavar="FILE", help="People the adversary knows; else those of --original.")
@CONTROL
@option("--public", is_flag=True, help="A version to publish: nothing about one person or a few.")
@option(
    "--fewest",
    type=click.IntRange(2),
    default=10,
    show_default=True,
    metavar="N",
    help="With --public: the fewest people that a number may stand for.",
)
@option("--context", type=FILE, metavar="FILE", help="Who publishes, to whom, and why (TOML).")
@option("--title", metavar="TEXT", help="The report's title.")
@option(
    "--threshold",
    metavar="RISK",
    help="Risk of being found above which people are counted, such as 1/11; else 1/k of the "
    "requirement, or 0.2.",
)
@option(
    "--limit",
    type=SHARE,
    metavar="SHARE",
    help="Leave with 4 where an attack succeeds on a larger share of people.",
)
@option(
    "--ledger",
    metavar="PATH-OR-URL",
    help="Judge it together with the releases recorded there; say where it stands.",
)
@option("--key", type=FILE, metavar="FILE", help="The ledger's key, where it is not beside it.")
@option(
    "--about",
    metavar="NAME",
    help="Whom it is about, where the ledger has several; else as it is recorded.",
)
@option(
    "--prior",
    type=SHARE,
    metavar="SHARE",
    help="Of a release made by noise: what somebody believes of a person before it.",
)
@option(
    "--people",
    type=click.IntRange(1),
    metavar="N",
    help="The same: how many people it is about; else as many as it says.",
)
@option(
    "--pieces",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    metavar="N",
    help="Pieces of knowledge beyond the table, at the most, to suppose.",
)
@model_option(
    help="A requirement to verify; repeatable. A release brings its own.",
)
@ACCEPT_KEEP
@ON
@SAMPLE
@SEED
@add_attack_relations
@SHOW
@add_table_options
def command(
    release: str,
    out: Path | None,
    models: tuple[str, ...],
    labels: bool,
    relation: str | None,
    roles: Roles,
    output: Output,
    **options: Any,
) -> int:
    """Write a report on a release: verified, measured, attacked.

    RELEASE is a release folder, or any table with -s (and -m to verify it). The page is one HTML
    file that needs nothing else; its parts follow ISO/IEC 27559. The exit code is 3 if the
    requirement does not hold and 4 if an attack succeeds on more than --limit, or the ledger
    refuses it. The options for reading are about the original, the targets and the control group.
    """
    import shoal

    shoal.check_request(
        lambda: _check_output(out, output.as_json, labels and options["public"]),
        releases=[release, *options["others"]],
        files=[options[name] for name in ("original", "targets", "control", "context")],
        schema=roles.schema,
        rules=models,
        on=options["on"],
        page=out,
        page_is_public=options["public"],
        ledger=options["ledger"],
        key=options["key"],
    )
    with output.show_progress() as step:
        page = shoal.report(
            release,
            schema=roles.schema(),
            rule=" & ".join(models) or None,
            show=labels,
            relation=relation or "",
            out=out,
            progress=step,
            **options,
        )
    output.show(page, f"{page.lead}\nThe report: {out}")
    if page.data["holds"] is False:
        return NOT_MET
    if options["limit"] is not None and not page.data["findings"]:
        raise shoal.UsageError(
            "No attack could be run, so that nothing tests the limit.", "see why on the page."
        )
    if page.data["exceeded"]:
        click.echo(_explain_exceeded(options["limit"]), err=True)
        return EXPOSED
    if page.data["composition"]["admitted"] is False:
        click.echo(f"{_explain_refusal(page.data['composition'])}: see Composition.", err=True)
        return EXPOSED
    return 0


def _check_output(out: Path | None, as_json: bool, shown_to_all: bool) -> None:
    has_place = out is not None or as_json
    require(has_place, "Nothing says where the report goes.", "add -o report.html.")
    require(not shown_to_all, "A public report shows nobody's values.", "leave --show out.")


def _explain_refusal(composition: Mapping[str, Any]) -> str:
    exposes = any(finding["exceeds"] for finding in composition["findings"])
    spent = (composition["spend"] or {}).get("exceeded")
    reasons = ["Together with earlier releases it exposes people"] if exposes else []
    reasons += ["The budget is exceeded"] if spent else []
    return "; ".join(reasons) or "It cannot be judged together with earlier releases"


def _explain_exceeded(limit: float | None) -> str:
    if limit is None:
        return "An audit of the noise disproves what is promised: see Adversarial testing."
    return f"An attack succeeds on more than the limit of {limit:.1%}."
