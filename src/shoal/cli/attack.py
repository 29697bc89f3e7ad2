"""``shoal attack``: what an adversary would learn from releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    CONTROL,
    ON,
    SAMPLE,
    SHARE,
    Roles,
    Verb,
    add_attack_relations,
    add_table_options,
    format_examples,
    option,
)
from shoal.cli.printing import EXPOSED, Output, format_table

if TYPE_CHECKING:
    from shoal import Finding, RedTeam

OPTIONS = (
    "location",
    "pieces",
    "sure",
    "knowledge",
    "about",
    "knowing",
    "coalition",
    "members",
    "l",
    "runs",
)
"""The options that are an attack's own, left to its defaults where they are not given."""
RANKED_BY = (
    "Ranked by the share of people exposed; where that is equal, by what the attack adds to "
    "guessing and to what it finds in a control group."
)
AUDITING = "auditing"
"""The attack whose limit is what the release states itself."""


@click.command(
    "attack",
    cls=Verb,
    epilog=format_examples(
        "shoal attack red-team release/ --targets people.csv --limit 0.1",
        "shoal attack intersection release/ other.csv --targets people.csv",
        "shoal attack complementary first/ second/",
        "shoal attack background release/ --pieces 3",
        "shoal attack coalition release/ --members 2",
        "shoal attack auditing release/ --original patients.csv",
        'shoal attack background release/ --about "#7.disease=flu" --knowing "not #7.disease=cold"',
    ),
)
@click.argument("name")
@click.argument("releases", nargs=-1, required=True, metavar="RELEASE...")
@option("--targets", metavar="FILE", help="People the adversary knows: a register, or targets.")
@option("--original", metavar="FILE", help="Auditing: the table that the release was made of.")
@CONTROL
@ON
@SAMPLE
@option("--seed", type=int, default=0, metavar="N", help="For everything that is drawn.")
@add_attack_relations
@option(
    "--location",
    type=click.Choice(("honest", "assumed", "centroid")),
    help="For linking and intersection, how people are found: in all cells that contain them "
    "(the default), in their own, or by the nearest centre. Linking asks a register, which does "
    "not say whose class is whose: it takes their own for all cells, and prints beside what "
    "knowing it would add.",
)
@option("--pieces", type=int, metavar="N", help="Pieces of background knowledge; 2 unless given.")
@option("--sure", type=float, metavar="SHARE", help="How likely a value must become to count.")
@option(
    "--knowledge",
    type=click.Choice(("implications", "negations")),
    help="What a piece of background knowledge is.",
)
@option("--about", metavar="TEXT", help='What is asked, such as "Ed.disease=flu", or #7 for row 7.')
@option("--knowing", multiple=True, metavar="TEXT", help="A piece of what is known; repeatable.")
@option(
    "--coalition",
    multiple=True,
    metavar="NAME",
    help="A provider who works together with the others named; repeatable.",
)
@option(
    "--members",
    type=int,
    metavar="N",
    help="The worst coalition of so many; unless given, what is promised, or 1.",
)
@option("--l", type=int, metavar="N", help="Worst-pair: fewer values left than this expose; 2.")
@option("--runs", type=int, metavar="N", help="Auditing: how often the noise is run again; 4000.")
@option("--name", "names", metavar="COL", help="The targets' column that people are called by.")
@option(
    "--limit", type=SHARE, metavar="SHARE", help="Leave with 4 where a larger share is exposed."
)
@option(
    "--show", "labels", is_flag=True, help="Name labels, values, providers: for your eyes only."
)
@add_table_options
def command(
    name: str,
    releases: tuple[str, ...],
    relation: str | None,
    limit: float | None,
    labels: bool,
    roles: Roles,
    output: Output,
    **options: Any,
) -> int:
    """Attack releases before anybody else does.

    NAME is linking, homogeneity, skewness, minimality, intersection, order, complementary,
    temporal, forward, cross, backward, coalition, worst-pair, background or auditing (which runs a
    release's noise again on its original, on two tables that one person makes different; the exit
    code is 4 if it is less private than the release states); red-team runs all of the others that
    apply and ranks them (background and worst-pair, which suppose what nobody is shown to know, if
    an option of theirs says what; coalition where it is known who provided the rows). A RELEASE is
    a release folder, which says itself what its columns are, or any table with -s. The options for
    reading are about the targets and the control group. The exit code is 4 if more than --limit of
    the people are exposed.
    """
    import shoal

    attack_options = {option: options.pop(option) for option in OPTIONS}
    attack_options = {
        option: value for option, value in attack_options.items() if value not in (None, ())
    }
    shoal.check_request(
        releases=releases,
        files=[options["targets"], options["original"], options["control"]],
        schema=roles.schema,
        on=options["on"],
        attack=name,
        options=attack_options,
        relation=relation or "",
        has_targets=options["targets"] is not None,
    )
    with output.show_progress() as step:
        finding: Finding | RedTeam = shoal.attack(
            name,
            list(releases),
            schema=roles.schema(),
            relation=relation or "",
            show=labels,
            progress=step,
            **options,
            **attack_options,
        )
    text = (
        describe_ranking(finding)
        if isinstance(finding, shoal.RedTeam)
        else describe_finding(finding)
    )
    output.show(finding, text)
    if limit is None and name == AUDITING:
        return EXPOSED if finding.rate else 0  # the sentence says by how much
    if limit is None or finding.rate <= limit:
        return 0
    click.echo(f"{name} exposes {finding.rate:.1%}, more than the limit of {limit:.1%}.", err=True)
    return EXPOSED


def describe_finding(finding: Finding) -> str:
    """One finding in full: what was found, how sure, an example, and what helps."""
    lines = [finding.sentence]
    if finding.attack != AUDITING:  # which exposes nobody: it bounds what noise may give away
        exposed = f"{finding.rate:.1%} exposed{_format_interval(finding)}"
        lines += ["", f"{exposed}; {_describe_confidence(finding)}."]
    lines += _describe_columns(finding)
    if finding.example:
        lines += ["", "For example:", *(f"  {line}" for line in finding.example.splitlines())]
    if finding.worst:
        rows = ", ".join(f"{row:,}" for row in finding.worst)
        lines += ["", f"Worst-hit rows of {finding.table}: {rows}"]
    if finding.assumptions:
        lines += ["", "Assumed:", *(f"  {assumption}" for assumption in finding.assumptions)]
    return "\n".join([*lines, "", f"What helps: {finding.defence}"])


def _describe_columns(finding: Finding) -> list[str]:
    if not finding.by_column:
        return []
    worst_first = sorted(
        finding.by_column, key=lambda part: (-part.rate, part.guessing - part.sure)
    )
    rows = [(part.on, *_format_figures(part)) for part in worst_first]
    head = ("sensitive column", "exposed", "share", "sure", "guessing")
    lines = ["", format_table(head, rows, right=(1, 2, 3, 4))]
    if finding.not_evaluated:
        table = format_table(("sensitive column", "why"), finding.not_evaluated)
        lines += ["", "Not evaluated:", table]
    return lines


def _format_figures(finding: Finding) -> tuple[str, ...]:
    exposed = f"{finding.exposed:,} of {finding.people:,}"
    return exposed, f"{finding.rate:.1%}", f"{finding.sure:.0%}", f"{finding.guessing:.0%}"


def _describe_confidence(finding: Finding) -> str:
    control = "" if finding.control is None else f", {finding.control:.1%} of the control group"
    confidence, baseline = f"{finding.sure:.0%}", f"{finding.guessing:.0%} by guessing{control}"
    if not finding.exposed:
        return f"at best {confidence} sure of anybody, {baseline}"
    return f"sure {confidence} about the worst-hit, {baseline}"


def _format_interval(finding: Finding) -> str:
    if finding.interval is None:
        return ""
    low, high = finding.interval
    return f" of the people sampled (95 % interval {low:.1%} to {high:.1%})"


def describe_ranking(red_team: RedTeam) -> str:
    """All findings, the largest share of people first, then what did not run and why."""
    several = len(red_team.columns) > 1
    rows = [
        (
            finding.attack,
            *([finding.on or "–"] if several else []),
            *_format_figures(finding),
            _own_sentence(finding),
        )
        for finding in red_team.findings
    ]
    worst_column = ["worst column"] if several else []
    head = ("attack", *worst_column, "exposed", "share", "sure", "guessing", "what was found")
    helps = {finding.attack: finding.defence for finding in red_team.findings if finding.exposed}
    lines = [RANKED_BY, "", format_table(head, rows, right=range(1 + several, 5 + several))]
    if several:
        lines += ["", "Exposed, by sensitive column:", _format_matrix(red_team)]
    if helps:
        lines += ["", format_table(("attack", "what helps"), list(helps.items()))]
    if red_team.skipped:
        lines += ["", "Did not run:", format_table(("attack", "why"), red_team.skipped)]
    return "\n".join(lines)


def _own_sentence(finding: Finding) -> str:
    """What was found of the worst column; the others have a table of their own."""
    of_worst = (part.sentence for part in finding.by_column if part.on == finding.on)
    return str(next(of_worst, finding.sentence))


def _format_matrix(red_team: RedTeam) -> str:
    learning = [
        finding for finding in red_team.findings if any(part.on for part in finding.per_column)
    ]
    rates = [{part.on: part.rate for part in finding.per_column} for finding in learning]
    rows = [
        (worst.on, *(f"{by[worst.on]:.1%}" if worst.on in by else "not run" for by in rates))
        for worst in red_team.columns
    ]
    head = ("sensitive column", *(finding.attack for finding in learning))
    return format_table(head, rows, right=range(1, len(head)))
