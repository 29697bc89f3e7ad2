"""``shoal attack``: what an adversary would learn from releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    ON,
    SHARE,
    Roles,
    Verb,
    add_output_options,
    add_reading_options,
    add_role_options,
    format_examples,
)
from shoal.cli.options import option as own
from shoal.cli.printing import format_table, print_result, show_progress

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
EXPOSED = 4
"""The exit code when an attack exceeded its limit."""
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
@own("--targets", metavar="FILE", help="People the adversary knows: a register, or targets.")
@own("--original", metavar="FILE", help="Auditing: the table that the release was made of.")
@own("--control", metavar="FILE", help="People who are in none of the releases, to compare with.")
@ON
@own("--sample", type=click.IntRange(1), metavar="N", help="Attack so many of the targets only.")
@own("--seed", type=int, default=0, metavar="N", help="For everything that is drawn.")
@own("--same-table", "relation", flag_value="same table", help="The releases are of one table.")
@own("--over-time", "relation", flag_value="over time", help="The later ones are of a table grown.")
@own(
    "--location",
    type=click.Choice(("honest", "assumed", "centroid")),
    help="For linking and intersection, how people are found: in all cells that contain them "
    "(the default), in their own, or by the nearest centre. Linking asks a register, which does "
    "not say whose class is whose: it takes their own for all cells, and prints beside what "
    "knowing it would add.",
)
@own("--pieces", type=int, metavar="N", help="Pieces of background knowledge; 2 unless given.")
@own("--sure", type=float, metavar="SHARE", help="How likely a value must become to count.")
@own(
    "--knowledge",
    type=click.Choice(("implications", "negations")),
    help="What a piece of background knowledge is.",
)
@own("--about", metavar="TEXT", help='What is asked, such as "Ed.disease=flu", or #7 for row 7.')
@own("--knowing", multiple=True, metavar="TEXT", help="A piece of what is known; repeatable.")
@own(
    "--coalition",
    multiple=True,
    metavar="NAME",
    help="A provider who works together with the others named; repeatable.",
)
@own(
    "--members",
    type=int,
    metavar="N",
    help="The worst coalition of so many; unless given, what is promised, or 1.",
)
@own("--l", type=int, metavar="N", help="Worst-pair: fewer values left than this expose; 2.")
@own("--runs", type=int, metavar="N", help="Auditing: how often the noise is run again; 4000.")
@own("--name", "names", metavar="COL", help="The targets' column that people are called by.")
@own("--limit", type=SHARE, metavar="SHARE", help="Leave with 4 where a larger share is exposed.")
@own("--show", "labels", is_flag=True, help="Name labels, values, providers: for your eyes only.")
@add_role_options
@add_reading_options
@add_output_options
def command(
    name: str,
    releases: tuple[str, ...],
    relation: str | None,
    limit: float | None,
    labels: bool,
    roles: Roles,
    as_json: bool,
    quiet: bool,
    **asked: Any,
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

    options = {one: asked.pop(one) for one in OPTIONS}
    options = {one: value for one, value in options.items() if value not in (None, ())}
    shoal.check_request(
        releases=releases,
        files=[asked["targets"], asked["original"], asked["control"]],
        schema=roles.schema,
        on=asked["on"],
        attack=name,
        options=options,
        relation=relation or "",
        has_targets=asked["targets"] is not None,
    )
    with show_progress(quiet) as step:
        found: Finding | RedTeam = shoal.attack(
            name,
            list(releases),
            schema=roles.schema(),
            relation=relation or "",
            show=labels,
            progress=step,
            **asked,
            **options,
        )
    text = describe_ranking(found) if isinstance(found, shoal.RedTeam) else describe_finding(found)
    print_result(found, as_json, quiet, text)
    if limit is None and name == AUDITING:
        return EXPOSED if found.rate else 0  # the sentence says by how much
    if limit is None or found.rate <= limit:
        return 0
    click.echo(f"{name} exposes {found.rate:.1%}, more than the limit of {limit:.1%}.", err=True)
    return EXPOSED


def describe_finding(found: Finding) -> str:
    """One finding in full: what was found, how sure, an example, and what helps."""
    lines = [found.sentence]
    if found.attack != AUDITING:  # which exposes nobody: it bounds what noise may give away
        lines += ["", f"{found.rate:.1%} exposed{_interval(found)}; {_sure(found)}."]
    lines += _columns(found)
    if found.example:
        lines += ["", "For example:", *(f"  {line}" for line in found.example.splitlines())]
    if found.worst:
        rows = ", ".join(f"{row:,}" for row in found.worst)
        lines += ["", f"Worst-hit rows of {found.table}: {rows}"]
    if found.assumptions:
        lines += ["", "Assumed:", *(f"  {one}" for one in found.assumptions)]
    return "\n".join([*lines, "", f"What helps: {found.defence}"])


def _columns(found: Finding) -> list[str]:
    """What was found of each sensitive column, the worst first, and what was not evaluated."""
    if not found.by_column:
        return []
    worst_first = sorted(found.by_column, key=lambda one: (-one.rate, one.guessing - one.sure))
    rows = [
        (
            one.on,
            f"{one.exposed:,} of {one.people:,}",
            f"{one.rate:.1%}",
            f"{one.sure:.0%}",
            f"{one.guessing:.0%}",
        )
        for one in worst_first
    ]
    head = ("sensitive column", "exposed", "share", "sure", "guessing")
    lines = ["", format_table(head, rows, right=(1, 2, 3, 4))]
    if found.not_evaluated:
        lines += [
            "",
            "Not evaluated:",
            format_table(("sensitive column", "why"), found.not_evaluated),
        ]
    return lines


def _sure(found: Finding) -> str:
    control = "" if found.control is None else f", {found.control:.1%} of the control group"
    if not found.exposed:
        return (
            f"at best {found.sure:.0%} sure of anybody, {found.guessing:.0%} by guessing{control}"
        )
    return f"sure {found.sure:.0%} about the worst-hit, {found.guessing:.0%} by guessing{control}"


def _interval(found: Finding) -> str:
    if found.interval is None:
        return ""
    low, high = found.interval
    return f" of the people sampled (95 % interval {low:.1%} to {high:.1%})"


def describe_ranking(found: RedTeam) -> str:
    """All findings, the largest share of people first, then what did not run and why."""
    several = len(found.columns) > 1
    rows = [
        (
            one.attack,
            *([one.on or "–"] if several else []),
            f"{one.exposed:,} of {one.people:,}",
            f"{one.rate:.1%}",
            f"{one.sure:.0%}",
            f"{one.guessing:.0%}",
            _own_sentence(one),
        )
        for one in found.findings
    ]
    learnt = ["worst column"] if several else []
    head = ("attack", *learnt, "exposed", "share", "sure", "guessing", "what was found")
    helps = {one.attack: one.defence for one in found.findings if one.exposed}
    lines = [RANKED_BY, "", format_table(head, rows, right=range(1 + several, 5 + several))]
    if several:
        lines += ["", "Exposed, by sensitive column:", _matrix(found)]
    if helps:
        lines += ["", format_table(("attack", "what helps"), list(helps.items()))]
    if found.skipped:
        lines += ["", "Did not run:", format_table(("attack", "why"), found.skipped)]
    return "\n".join(lines)


def _own_sentence(found: Finding) -> str:
    """What was found of the worst column; the others have a table of their own."""
    own = [one.sentence for one in found.by_column if one.on == found.on]
    return str(own[0] if own else found.sentence)


def _matrix(found: RedTeam) -> str:
    """The share of people exposed, by sensitive column and attack; the worst column first."""
    learning = [one for one in found.findings if any(each.on for each in one.per_column)]
    rates = [{each.on: each.rate for each in one.per_column} for one in learning]
    rows = [
        (worst.on, *(f"{by[worst.on]:.1%}" if worst.on in by else "not run" for by in rates))
        for worst in found.columns
    ]
    head = ("sensitive column", *(one.attack for one in learning))
    return format_table(head, rows, right=range(1, len(head)))
