"""``shoal ledger``: the record of releases; a new one is judged together with the old."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    FILE,
    SHARE,
    SHOW,
    Function,
    Roles,
    Verb,
    add_output_options,
    add_relation_options,
    add_role_options,
    add_table_options,
    format_examples,
    option,
    require,
)
from shoal.cli.printing import EXPOSED, NOT_MET, Output, format_table

if TYPE_CHECKING:
    from shoal import Admission, Ledger

Location = tuple[str, Path | None]
"""Where a ledger is, and its key."""
EDITION = 1
"""Of the documents that verbs of the ledger print."""
HEAD = ("no.", "when", "by", "to", "what", "rule", "spends", "state")
"""What stands above the lines."""
SPENDS = HEAD.index("spends")
AMOUNTS = ("spend.", "budget.")
"""How the names of exact numbers begin, where an entry is shown."""
RECHECKED = ("no.", "release", "judged with", "today", "why")
LISTED = 100
"""So many entries are listed unless more are asked for."""
RHO = option(
    "--rho", metavar="NUMBER", help="And its ρ, beside a δ: what zcdp composition adds up."
)
ABOUT = option(
    "--about",
    default="people",
    show_default=True,
    metavar="TEXT",
    help="Whom it is about: releases about others are not judged together.",
)
TO = option("--to", default="", metavar="TEXT", help="Who gets it.")
ON = option("--on", metavar="COL", help="A further column to learn, beside every sensitive one.")
PEOPLE = option(
    "--people", metavar="FILE", help="Whom the releases are about; without, the worst is assumed."
)
LIMIT = option(
    "--limit",
    type=SHARE,
    default=0.0,
    metavar="SHARE",
    help="Share of people whom an attack may expose; nobody unless given.",
)
MIN_VALUES = option(
    "--l",
    "l",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    metavar="N",
    help="The fewest values that anybody is to be left with.",
)


def add_ledger_options(command: Function) -> Function:
    """Options for the ledger and its key; the command gets the two as ``location``."""

    @functools.wraps(command)
    def with_location(*args: Any, **options: Any) -> Any:
        return command(*args, location=(options.pop("ledger"), options.pop("key")), **options)

    ledger = option(
        "--ledger",
        default="releases.db",
        show_default=True,
        metavar="PATH-OR-URL",
        help="A file, or a shared database: postgresql://…",
    )
    key = option(
        "--key",
        type=FILE,
        metavar="FILE",
        help="The publisher's key; else the file beside the ledger that ends in .key, or "
        "what SHOAL_LEDGER_KEY names.",
    )
    decorated: Function = ledger(key(with_location))
    return decorated


def add_budget_options(command: Function) -> Function:
    """Options for what differential privacy spends, or may."""
    epsilon = option("--epsilon", metavar="NUMBER", help="Differential privacy's ε: 1, 0.1 or 1/3.")
    delta = option("--delta", metavar="NUMBER", help="And its δ.")
    decorated: Function = epsilon(delta(command))
    return decorated


@click.group(
    "ledger",
    epilog=format_examples(
        'shoal ledger init --name "St Anna" --epsilon 2 --delta 1e-6',
        'shoal ledger admit release/ --to "the public" --people patients.csv',
        'shoal ledger admit again/ --accept-risk "agreed with the board on 3 May"',
        'shoal ledger admit another/ --about "staff" --over-time --limit 1% --dry-run',
        "shoal ledger admit one-more/ --overlapping --l 3",
        "shoal ledger admit the-next/ --same-table",
        'shoal ledger add-foreign theirs.csv -s schema.toml --by "Harbour"',
        "shoal ledger add-foreign theirs.csv --quasi age --sensitive job --by Harbour",
        "shoal ledger add-foreign theirs.csv --by Harbour --epsilon 1 --delta 1e-6 --rho 1/60",
        "shoal ledger list --ledger releases.db --key releases.key",
        "shoal ledger list --last 20 --about people",
        "shoal ledger list --all --json",
        "shoal ledger show 3 --json",
        "shoal ledger verify --head 12:5a0c…",
        "shoal ledger verify --restore-triggers",
        "shoal ledger recheck --people patients.csv",
        'shoal ledger withdraw 3 --reason "recalled"',
        'shoal ledger withdraw 4 --never-out --reason "it was not sent"',
        'shoal ledger acknowledge release/ --reason "restored from the backup of 3 May"',
        'shoal ledger key --new "Harbour" -o harbour.key',
        'shoal ledger trust "Harbour" 9f2c…',
    ),
)
def command() -> None:
    """Record releases; judge a new one together with the old.

    Each entry holds who released what, when and to whom, and enough of the release, encrypted, to
    judge later ones with it; never a row as it was. Entries are chained by their hashes and
    signed: none can be changed or removed without notice.
    """


@command.command("init", cls=Verb, epilog=format_examples('shoal ledger init --name "St Anna"'))
@add_ledger_options
@option("--name", default="publisher", show_default=True, metavar="TEXT", help="Who publishes.")
@add_budget_options
@option(
    "--composition",
    type=click.Choice(("basic", "advanced", "zcdp")),
    default="basic",
    show_default=True,
    help="How spends add up, for good.",
)
@add_output_options
def begin_ledger(location: Location, output: Output, **options: Any) -> None:
    """Begin a ledger, and make a key for it.

    With --epsilon and --delta, releases under differential privacy may spend so much in all, by
    the theorem of --composition: it cannot be chosen afterwards.
    """
    import shoal

    with shoal.Ledger.init(*location, **options) as ledger:
        text = (
            f"A ledger is in {ledger.name}\n"
            f"Key of {options['name']}: {ledger.key}\n"
            "Keep the key apart from the ledger, and a copy of it: without it the ledger cannot be "
            "continued, nor a release judged together with those in it."
        )
        print_outcome(ledger, output, text, key=str(ledger.key), public=ledger.keys.public)


@command.command(
    "admit",
    cls=Verb,
    epilog=format_examples(
        'shoal ledger admit release/ --to "the public" --people patients.csv',
        'shoal ledger admit again/ --accept-risk "agreed with the board on 3 May"',
    ),
)
@click.argument("release")
@add_ledger_options
@PEOPLE
@ABOUT
@TO
@add_relation_options
@ON
@MIN_VALUES
@LIMIT
@option("--accept-risk", metavar="REASON", help="Record it though it exposes people, and why.")
@option("--dry-run", is_flag=True, help="Judge it, and record nothing.")
@SHOW
@add_table_options
def admit_release(
    release: str,
    location: Location,
    dry_run: bool,
    labels: bool,
    roles: Roles,
    output: Output,
    accept_risk: str | None,
    **options: Any,
) -> int:
    """Judge a release together with the earlier ones, and record it.

    RELEASE is a release folder, or a table with -s. It is judged with every release of the ledger
    about the same people, and refused, with exit code 4, if together they expose more than
    --limit. The options for reading are about the people.
    """
    import shoal

    shoal.check_request(
        releases=[release],
        files=[options["people"]],
        schema=roles.schema,
        ledger=location[0],
        key=location[1],
    )
    options |= {"schema": roles.schema(), "show": labels}
    with shoal.Ledger(*location) as book, output.show_progress() as step:
        try:
            if dry_run:
                admission = book.judge(release, progress=step, **options)
            else:
                admission = book.admit(release, accept_risk=accept_risk, progress=step, **options)
        except shoal.Refused as error:
            admission = error.admission
    output.show(admission)
    if admission.admitted:
        return 0
    refused = shoal.Refused(admission)
    return print_refusal(refused.fact, refused.hint)


@command.command(
    "add-foreign",
    cls=Verb,
    epilog=format_examples('shoal ledger add-foreign theirs.csv -s schema.toml --by "Harbour"'),
)
@click.argument("source", metavar="TABLE")
@add_ledger_options
@option("--by", required=True, metavar="TEXT", help="Who made it.")
@ABOUT
@TO
@ON
@add_budget_options
@RHO
@add_role_options
@add_output_options
def record_foreign(
    source: str,
    location: Location,
    roles: Roles,
    output: Output,
    **options: Any,
) -> None:
    """Record a release that somebody else made.

    TABLE is a table with -s, or a release folder. It is not judged, being public already; your
    later releases are judged together with it, and your earlier ones by shoal ledger recheck.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        entry = book.add_foreign(source, schema=roles.schema(), **options)
        text = (
            f"Entry {entry.number}: a release by {options['by']}\n"
            "To judge what you released before together with it: shoal ledger recheck"
        )
        print_outcome(book, output, text, entry=entry.to_json())


@command.command("list", cls=Verb, epilog=format_examples("shoal ledger list --json"))
@add_ledger_options
@option("--about", metavar="TEXT", help="Only what is about these people.")
@option(
    "--last",
    type=click.IntRange(1),
    default=LISTED,
    show_default=True,
    metavar="N",
    help="At most so many entries, the newest.",
)
@option("--all", "every", is_flag=True, help="All of them.")
@add_output_options
def list_entries(
    location: Location,
    about: str | None,
    last: int,
    every: bool,
    output: Output,
) -> None:
    """List what was released, one line an entry.

    Of a long ledger the last entries are listed, unless --all is given.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        entries = book.recent(None if every else last, about)
        states = find_states([*entries, *book.withdrawals([entry.number for entry in entries])])
        text = format_entries([format_entry_line(entry, states[entry.number]) for entry in entries])
        if not every and len(entries) == last:
            text += f"\nThe last {last:,} entries; all of them: --all"
        accounts = find_accounts(book, entries)
        text += "".join(
            f"\n{describe_account(name, account)}" for name, account in accounts.items()
        )
        accounts_json = {name: account.to_json() for name, account in accounts.items()}
        entries_json = [{**entry.to_json(), "state": states[entry.number]} for entry in entries]
        print_outcome(book, output, text, entries=entries_json, accounts=accounts_json)


@command.command("show", cls=Verb, epilog=format_examples("shoal ledger show 3"))
@click.argument("number", type=click.IntRange(1))
@add_ledger_options
@add_output_options
def show_entry(number: int, location: Location, output: Output) -> None:
    """Show everything that one entry says."""
    import shoal

    with shoal.Ledger(*location) as book:
        entry = book.entry(number)
        state = find_states([entry, *book.withdrawals((number,))])[number]
        text = f"Entry {number}\n\n{format_table(('what', 'is'), list_entry_facts(entry, state))}"
        print_outcome(book, output, text, entry={**entry.to_json(), "state": state})


@command.command("verify", cls=Verb, epilog=format_examples("shoal ledger verify --head 12:5a0c…"))
@add_ledger_options
@option(
    "--head",
    "heads",
    multiple=True,
    metavar="N:HASH",
    help="A head noted earlier, on a report say; repeatable.",
)
@option(
    "--restore-triggers",
    is_flag=True,
    help="Put back what lets the database refuse changes, then verify.",
)
@add_output_options
def verify_ledger(
    location: Location,
    heads: tuple[str, ...],
    restore_triggers: bool,
    output: Output,
) -> int:
    """Verify the chain: numbers, hashes, signatures, sealed content.

    Entries cut off at the end are found by --head, and by what the key's folder remembers: nothing
    in a shorter chain is wrong. Dropped append-only triggers are reported too. The exit code is 3
    if the ledger does not verify.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        if restore_triggers:
            book.guard()
        checks = [book.check(), *(book.check(noted) for noted in heads)]
        problems = list(
            dict.fromkeys(problem for problems_found in checks for problem in problems_found)
        )
        last, known = None if problems else book.head(), book.key is not None
    lines = [
        f"The ledger does NOT verify: {len(problems):,} found.",
        *(f"  {problem}" for problem in problems),
    ]
    if last is not None:
        lines = [f"The ledger is whole: {last.number:,} entries, head {last}"]
        lines += [] if known else ["Without its key: whether it is yours, nobody can tell."]
        lines += [] if heads else ["Only a head noted earlier (--head) shows a tail cut off."]
    if any("triggers" in problem for problem in problems):
        lines.append("To put the triggers back: shoal ledger verify --restore-triggers")
    facts = {"whole": not problems, "head": last and str(last), "problems": problems}
    output.show_document({"edition": EDITION, **facts}, "\n".join(lines))
    return NOT_MET if problems else 0


@command.command(
    "recheck", cls=Verb, epilog=format_examples("shoal ledger recheck --people patients.csv")
)
@add_ledger_options
@PEOPLE
@ON
@MIN_VALUES
@option(
    "--limit",
    type=SHARE,
    metavar="SHARE",
    help="Share of people whom an attack may expose; else what was recorded.",
)
@SHOW
@add_table_options
def recheck_releases(
    location: Location,
    labels: bool,
    roles: Roles,
    output: Output,
    **options: Any,
) -> int:
    """Judge every recorded release again, with today's attacks.

    Each is judged together with those before it, and with all that others made. The exit code is
    4 if one now exposes people whose risk nobody accepted.
    """
    import shoal

    options |= {"schema": roles.schema(), "show": labels}
    with shoal.Ledger(*location) as book, output.show_progress() as step:
        admissions = book.recheck(progress=step, **options)
    failed = [admission for admission in admissions if not admission.admitted]
    text = format_table(
        RECHECKED, [format_recheck_line(admission) for admission in admissions], right=(0,)
    )
    text += "".join(f"\n\n{admission}" for admission in failed)
    documents = [admission.to_json() for admission in admissions]
    output.show_document({"edition": EDITION, "admissions": documents}, text)
    if not failed:
        return 0
    return print_refusal(
        f"{len(failed):,} of {len(admissions):,} releases expose people whose risk nobody "
        "accepted.",
        "give --people, if none are given: without them the worst is assumed. Else withdraw what "
        "exposes them, or tell those whom it is about.",
    )


@command.command(
    "withdraw", cls=Verb, epilog=format_examples('shoal ledger withdraw 3 --reason "recalled"')
)
@click.argument("number", type=click.IntRange(1))
@add_ledger_options
@option("--reason", required=True, metavar="TEXT", help="Why.")
@option("--never-out", is_flag=True, help="Nobody was given it: forget it from now on.")
@add_output_options
def withdraw_release(
    number: int,
    location: Location,
    reason: str,
    never_out: bool,
    output: Output,
) -> None:
    """Record that a release was withdrawn.

    Its entry stays. Later releases are still judged together with it, for somebody may have a
    copy; unless it was --never-out.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        entry = book.withdraw(number, reason, never_out=never_out)
        text = f"Entry {entry.number}: release {number} is withdrawn"
        print_outcome(book, output, text, entry=entry.to_json())


@command.command(
    "acknowledge",
    cls=Verb,
    epilog=format_examples('shoal ledger acknowledge --reason "restored from the backup of 3 May"'),
)
@click.argument("releases", nargs=-1, type=FILE, metavar="[RELEASE]...")
@add_ledger_options
@option("--reason", required=True, metavar="TEXT", help="How the entries were lost.")
@add_output_options
def acknowledge_loss(
    releases: tuple[Path, ...],
    location: Location,
    reason: str,
    output: Output,
) -> None:
    """Go on with a ledger that lost its last entries.

    For a backup that was put back. What the key's folder remembers of lost spends stays counted;
    record releases that are out again with `shoal ledger admit`. RELEASE are folders whose
    manifests tell of lost entries.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        entry = book.acknowledge(reason, releases)
        lost, spends = int(entry.body["lost"]), len(entry.body["spends"])
        text = (
            f"Entry {entry.number}: the ledger goes on without {lost:,} entries\n"
            f"Spends of lost entries that stay counted: {spends:,}\n"
            "Record what is out again: shoal ledger admit RELEASE"
        )
        print_outcome(book, output, text, entry=entry.to_json())


@command.command("trust", cls=Verb, epilog=format_examples('shoal ledger trust "Harbour" 9f2c…'))
@click.argument("name")
@click.argument("public")
@add_ledger_options
@add_output_options
def trust_publisher(name: str, public: str, location: Location, output: Output) -> None:
    """Let another publisher write this ledger too.

    NAME is the publisher's, PUBLIC its public key: 64 digits, as `shoal ledger key` prints them.
    """
    import shoal

    with shoal.Ledger(*location) as book:
        entry = book.trust(name, public)
        text = f"Entry {entry.number}: {name} may write this ledger"
        print_outcome(book, output, text, entry=entry.to_json())


@command.command(
    "key", cls=Verb, epilog=format_examples('shoal ledger key --new "Harbour" -o harbour.key')
)
@add_ledger_options
@option("--new", metavar="NAME", help="Make a key for another publisher of this ledger.")
@option("-o", "--out", type=FILE, metavar="FILE", help="Where the new key goes.")
@add_output_options
def show_key(location: Location, new: str | None, out: Path | None, output: Output) -> None:
    """Show whose key this is, or make one for another publisher.

    The new key opens what is sealed in the ledger and signs by itself: hand it over in secret,
    and let its owner write with `shoal ledger trust`.
    """
    import shoal

    has_both_or_none = (new is None) == (out is None)
    require(has_both_or_none, "A new key needs a name and a file.", "add --new NAME and -o FILE.")
    with shoal.Ledger(*location) as book:
        keys = book.keys
    if new is not None and out is not None:
        keys = keys.sibling(new)
        keys.write(out)
    facts = {"name": keys.name, "public": keys.public, "file": str(out) if out else None}
    text = f"{keys.name}: public key {keys.public}"
    if out is not None:
        text += f"\nThe key is in {out}: hand it over in secret, and write\n  " + (
            f'shoal ledger trust "{keys.name}" {keys.public}'
        )
    output.show_document({"edition": EDITION, **facts}, text)


# Entries and outcomes in words


def print_outcome(book: Ledger, output: Output, text: str, **facts: Any) -> None:
    """Print, and the head of the ledger at the end: whoever notes it will see a cut tail."""
    head = str(book.head())
    document = {"edition": EDITION, **facts, "head": head}
    output.show_document(document, f"{text}\nHead of the ledger: {head}")


def print_refusal(fact: str, hint: str = "") -> int:
    """Say on standard error why it is refused; returns the exit code."""
    click.echo(f"{fact}\nHint: {hint}" if hint else fact, err=True)
    return EXPOSED


def find_states(entries: Sequence[Any]) -> dict[int, str]:
    """What became of each entry, by its number."""
    gone = {
        entry.body["number"]: "never out" if entry.body.get("never_out") else "withdrawn"
        for entry in entries
        if entry.kind == "withdrawn"
    }
    return {entry.number: gone.get(entry.number) or _describe_state(entry) for entry in entries}


def _describe_state(entry: Any) -> str:
    if entry.kind == "release":
        return "overridden" if entry.body.get("accepted_risk") else "admitted"
    return {"withdrawn": "withdraws", "publisher": "trusted"}.get(entry.kind, str(entry.kind))


def format_entry_line(entry: Any, state: str) -> tuple[object, ...]:
    """One entry in a line: number, when, by whom, to whom, what, by which rule, spend, state."""
    body = entry.body
    when = str(body["at"])[:16].replace("T", " ")
    what = {"founding": "the ledger", "withdrawn": f"entry {body.get('number')}"}
    name = what.get(entry.kind, body.get("name", ""))
    return (
        entry.number,
        when,
        body.get("made_by", body["by"]),
        body.get("to", ""),
        name,
        body.get("rule", ""),
        _format_spend(body),
        state,
    )


def format_entries(lines: Sequence[tuple[object, ...]]) -> str:
    """Lines of entries under their head; what they spend only where one does."""
    rows = [HEAD, *lines]
    if not any(row[SPENDS] for row in lines):
        rows = [(*row[:SPENDS], *row[SPENDS + 1 :]) for row in rows]
    return format_table([str(name) for name in rows[0]], rows[1:], right=(0,))


def describe_account(name: str, account: Any) -> str:
    """The account of some people in a line: what is spent of how much, and what is left."""
    left = account.left
    if not left and account.budget is not None and account.total is not None:
        left = "nothing is left"
    return f"Budget, {name}: {account}{f'; {left}' if left else ''}"


def _format_spend(body: Mapping[str, Any]) -> str:
    """What a release spends, exactly; of the founding entry the budget."""
    import shoal

    if body.get("budget"):
        by = body.get("composition", "basic")
        return f"of {shoal.Spend.from_json(body['budget']).in_words(exact=True)}, {by}"
    spend = body.get("spend")
    return shoal.Spend.from_json(spend).in_words(exact=True) if spend else ""


def find_accounts(book: Ledger, entries: Sequence[Any]) -> dict[str, Any]:
    """What is spent, by whom releases that spend something are about."""
    abouts = dict.fromkeys(str(entry.body["about"]) for entry in entries if entry.body.get("spend"))
    return {about: book.account(about) for about in abouts}


def format_recheck_line(admission: Admission) -> tuple[object, ...]:
    """One release that was judged again, in a line: what was found, and what became of that."""
    number = "" if admission.entry is None else admission.entry.number
    state = "holds" if not admission.reasons else "accepted" if admission.admitted else "FAILS"
    judged_with = ", ".join(str(judged.entry) for judged in admission.judged_with) or "none"
    return number, admission.name, judged_with, state, " ".join(admission.reasons)


def list_entry_facts(entry: Any, state: str) -> list[tuple[str, str]]:
    """All that an entry says, name by name, and its place in the chain."""
    chain = {
        "state": state,
        "hash": entry.hash,
        "previous": entry.previous,
        "signer": entry.signer,
        "signature": entry.signature,
        "sealed content": entry.sealed_sha256,
    }
    rows = [*_flatten(entry.body), *chain.items()]
    return [(name.replace("_", " "), value) for name, value in rows if value]


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Names with dots and plain texts; what is empty is left out."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flatten(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(o, Mapping | list) for o in value):
        for at, part in enumerate(value, 1):
            yield from _flatten(part, f"{name} {at}")
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(str, value))
    elif value is not None:
        yield name, _round_amount(value) if name.startswith(AMOUNTS) else str(value)


def _round_amount(number: Any) -> str:
    """A number of a budget as a person reads it; programs get it exactly."""
    import shoal

    return str(shoal.Spend(number)).removeprefix("ε ")
