"""``shoal ledger``: the record of releases; a new one is judged together with the old.

How entries of a ledger are told: a line, everything, or JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.ledger_options import (
    ABOUT,
    LEAST,
    LIMIT,
    ON,
    PEOPLE,
    RHO,
    SHOW,
    TO,
    add_budget_options,
    add_ledger_options,
)
from shoal.cli.ledger_options import add_relation_options as relations
from shoal.cli.options import (
    FILE,
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

# How entries of a ledger are told: a line, everything, or JSON.


if TYPE_CHECKING:
    from shoal import Admission, Ledger

REFUSED = 4
"""The exit code of a release that is refused."""
HEAD = ("no.", "when", "by", "to", "what", "rule", "spends", "state")
"""What stands above the lines."""
SPENDS = HEAD.index("spends")

AMOUNTS = ("spend.", "budget.")
"""How the names of exact numbers begin, where an entry is shown."""
RECHECKED = ("no.", "release", "judged with", "today", "why")


@dataclass(frozen=True)
class LedgerOutcome:
    """What a verb of the ledger tells, for programs."""

    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, with their edition."""
        return {"edition": 1, **self.facts}


def print_outcome(book: Ledger, as_json: bool, quiet: bool, text: str, **facts: Any) -> None:
    """Print, and the head of the ledger at the end: whoever notes it will see a cut tail."""
    head = str(book.head())
    print_result(
        LedgerOutcome({**facts, "head": head}),
        as_json,
        quiet,
        f"{text}\nHead of the ledger: {head}",
    )


def print_refusal(fact: str, hint: str = "") -> int:
    """Say on standard error why it is refused; returns the exit code."""
    click.echo(f"{fact}\nHint: {hint}" if hint else fact, err=True)
    return REFUSED


def find_states(entries: Sequence[Any]) -> dict[int, str]:
    """What became of each entry, by its number."""
    gone = {
        one.body["number"]: "never out" if one.body.get("never_out") else "withdrawn"
        for one in entries
        if one.kind == "withdrawn"
    }
    return {one.number: gone.get(one.number) or _state(one) for one in entries}


def _state(entry: Any) -> str:
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
        _spends(body),
        state,
    )


def format_entries(lines: Sequence[tuple[object, ...]]) -> str:
    """Lines of entries under their head; what they spend only where one does."""
    rows = [HEAD, *lines]
    if not any(one[SPENDS] for one in lines):
        rows = [(*one[:SPENDS], *one[SPENDS + 1 :]) for one in rows]
    return format_table([str(name) for name in rows[0]], rows[1:], right=(0,))


def describe_account(name: str, account: Any) -> str:
    """The account of some people in a line: what is spent of how much, and what is left."""
    left = account.left
    if not left and account.budget is not None and account.total is not None:
        left = "nothing is left"
    return f"Budget, {name}: {account}{f'; {left}' if left else ''}"


def _spends(body: Mapping[str, Any]) -> str:
    """What a release spends, exactly; of the founding entry the budget."""
    import shoal

    if body.get("budget"):
        by = body.get("composition", "basic")
        return f"of {shoal.Spend.from_json(body['budget']).in_words(exact=True)}, {by}"
    told = body.get("spend")
    return shoal.Spend.from_json(told).in_words(exact=True) if told else ""


def find_accounts(book: Ledger, entries: Sequence[Any]) -> dict[str, Any]:
    """What is spent, by whom releases that spend something are about."""
    abouts = dict.fromkeys(str(one.body["about"]) for one in entries if one.body.get("spend"))
    return {about: book.account(about) for about in abouts}


def format_recheck_line(found: Admission) -> tuple[object, ...]:
    """One release that was judged again, in a line: what was found, and what became of that."""
    number = "" if found.entry is None else found.entry.number
    state = "holds" if not found.reasons else "accepted" if found.admitted else "FAILS"
    with_ = ", ".join(str(one.entry) for one in found.judged_with) or "none"
    return number, found.name, with_, state, " ".join(found.reasons)


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
    rows = [*_flat(entry.body), *chain.items()]
    return [(name.replace("_", " "), value) for name, value in rows if value]


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Names with dots and plain texts; what is empty is left out."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(o, Mapping | list) for o in value):
        for at, part in enumerate(value, 1):
            yield from _flat(part, f"{name} {at}")
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(str, value))
    elif value is not None:
        yield name, _rounded(value) if name.startswith(AMOUNTS) else str(value)


def _rounded(number: Any) -> str:
    """A number of a budget as a person reads it; programs get it exactly."""
    import shoal

    return str(shoal.Spend(number)).removeprefix("ε ")


def entry_to_json(entry: Any, state: str) -> dict[str, Any]:
    """An entry for programs."""
    return {**entry.to_json(), "state": state}


# ``shoal ledger``: the record of releases; a new one is judged together with the old.


if TYPE_CHECKING:
    from shoal import Admission

LISTED = 100
"""So many entries are listed unless more are asked for."""
NOT_WHOLE = 3
"""The exit code of a chain that does not verify."""


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
def begin_ledger(where: tuple[str, Path | None], as_json: bool, quiet: bool, **asked: Any) -> None:
    """Begin a ledger, and make a key for it.

    With --epsilon and --delta, releases under differential privacy may spend so much in all, by
    the theorem of --composition: it cannot be chosen afterwards.
    """
    import shoal

    with shoal.Ledger.init(*where, **asked) as made:
        text = (
            f"A ledger is in {made.name}\n"
            f"Key of {asked['name']}: {made.key}\n"
            "Keep the key apart from the ledger, and a copy of it: without it the ledger cannot be "
            "continued, nor a release judged together with those in it."
        )
        print_outcome(made, as_json, quiet, text, key=str(made.key), public=made.keys.public)


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
@relations
@ON
@LEAST
@LIMIT
@option("--accept-risk", metavar="REASON", help="Record it though it exposes people, and why.")
@option("--dry-run", is_flag=True, help="Judge it, and record nothing.")
@SHOW
@add_role_options
@add_reading_options
@add_output_options
def admit_release(
    release: str,
    where: tuple[str, Path | None],
    dry_run: bool,
    labels: bool,
    roles: Roles,
    as_json: bool,
    quiet: bool,
    accept_risk: str | None,
    **asked: Any,
) -> int:
    """Judge a release together with the earlier ones, and record it.

    RELEASE is a release folder, or a table with -s. It is judged with every release of the ledger
    about the same people, and refused, with exit code 4, if together they expose more than
    --limit. The options for reading are about the people.
    """
    import shoal

    shoal.check_request(
        releases=[release],
        files=[asked["people"]],
        schema=roles.schema,
        ledger=where[0],
        key=where[1],
    )
    asked |= {"schema": roles.schema(), "show": labels}
    with shoal.Ledger(*where) as book, show_progress(quiet) as step:
        try:
            if dry_run:
                found = book.judge(release, progress=step, **asked)
            else:
                found = book.admit(release, accept_risk=accept_risk, progress=step, **asked)
        except shoal.Refused as error:
            found = error.admission
    print_result(found, as_json, quiet)
    return 0 if found.admitted else _refused(found)


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
    where: tuple[str, Path | None],
    roles: Roles,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Record a release that somebody else made.

    TABLE is a table with -s, or a release folder. It is not judged, being public already; your
    later releases are judged together with it, and your earlier ones by shoal ledger recheck.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        entry = book.add_foreign(source, schema=roles.schema(), **asked)
        text = (
            f"Entry {entry.number}: a release by {asked['by']}\n"
            "To judge what you released before together with it: shoal ledger recheck"
        )
        print_outcome(book, as_json, quiet, text, entry=entry.to_json())


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
    where: tuple[str, Path | None],
    about: str | None,
    last: int,
    every: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """List what was released, one line an entry.

    Of a long ledger the last entries are listed, unless --all is given.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        told = book.recent(None if every else last, about)
        state = find_states([*told, *book.withdrawals([one.number for one in told])])
        text = format_entries([format_entry_line(one, state[one.number]) for one in told])
        if not every and len(told) == last:
            text += f"\nThe last {last:,} entries; all of them: --all"
        found = find_accounts(book, told)
        text += "".join(f"\n{describe_account(name, one)}" for name, one in found.items())
        plainly = {name: one.to_json() for name, one in found.items()}
        lines = [entry_to_json(one, state[one.number]) for one in told]
        print_outcome(book, as_json, quiet, text, entries=lines, accounts=plainly)


@command.command("show", cls=Verb, epilog=format_examples("shoal ledger show 3"))
@click.argument("number", type=click.IntRange(1))
@add_ledger_options
@add_output_options
def show_entry(number: int, where: tuple[str, Path | None], as_json: bool, quiet: bool) -> None:
    """Show everything that one entry says."""
    import shoal

    with shoal.Ledger(*where) as book:
        entry = book.entry(number)
        state = find_states([entry, *book.withdrawals((number,))])[number]
        text = f"Entry {number}\n\n{format_table(('what', 'is'), list_entry_facts(entry, state))}"
        print_outcome(book, as_json, quiet, text, entry=entry_to_json(entry, state))


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
    where: tuple[str, Path | None],
    heads: tuple[str, ...],
    restore_triggers: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Verify the chain: numbers, hashes, signatures, sealed content.

    Entries cut off at the end are found by --head, and by what the key's folder remembers: nothing
    in a shorter chain is wrong. Dropped append-only triggers are reported too. The exit code is 3
    if the ledger does not verify.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        if restore_triggers:
            book.guard()
        checks = [book.check(), *(book.check(noted) for noted in heads)]
        found = list(dict.fromkeys(problem for one in checks for problem in one))
        last, known = None if found else book.head(), book.key is not None
    lines = [f"The ledger does NOT verify: {len(found):,} found.", *(f"  {one}" for one in found)]
    if last is not None:
        lines = [f"The ledger is whole: {last.number:,} entries, head {last}"]
        lines += [] if known else ["Without its key: whether it is yours, nobody can tell."]
        lines += [] if heads else ["Only a head noted earlier (--head) shows a tail cut off."]
    if any("triggers" in one for one in found):
        lines.append("To put the triggers back: shoal ledger verify --restore-triggers")
    facts = {"whole": not found, "head": last and str(last), "problems": found}
    print_result(LedgerOutcome(facts), as_json, quiet, "\n".join(lines))
    return NOT_WHOLE if found else 0


@command.command(
    "recheck", cls=Verb, epilog=format_examples("shoal ledger recheck --people patients.csv")
)
@add_ledger_options
@PEOPLE
@ON
@LEAST
@option(
    "--limit",
    type=SHARE,
    metavar="SHARE",
    help="Share of people whom an attack may expose; else what was recorded.",
)
@SHOW
@add_role_options
@add_reading_options
@add_output_options
def recheck_releases(
    where: tuple[str, Path | None],
    labels: bool,
    roles: Roles,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> int:
    """Judge every recorded release again, with today's attacks.

    Each is judged together with those before it, and with all that others made. The exit code is
    4 if one now exposes people whose risk nobody accepted.
    """
    import shoal

    asked |= {"schema": roles.schema(), "show": labels}
    with shoal.Ledger(*where) as book, show_progress(quiet) as step:
        found = book.recheck(progress=step, **asked)
    failed = [one for one in found if not one.admitted]
    text = format_table(RECHECKED, [format_recheck_line(one) for one in found], right=(0,))
    text += "".join(f"\n\n{one}" for one in failed)
    print_result(
        LedgerOutcome({"admissions": [one.to_json() for one in found]}), as_json, quiet, text
    )
    if not failed:
        return 0
    return print_refusal(
        f"{len(failed):,} of {len(found):,} releases expose people whose risk nobody accepted.",
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
    where: tuple[str, Path | None],
    reason: str,
    never_out: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Record that a release was withdrawn.

    Its entry stays. Later releases are still judged together with it, for somebody may have a
    copy; unless it was --never-out.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        entry = book.withdraw(number, reason, never_out=never_out)
        text = f"Entry {entry.number}: release {number} is withdrawn"
        print_outcome(book, as_json, quiet, text, entry=entry.to_json())


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
    where: tuple[str, Path | None],
    reason: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Go on with a ledger that lost its last entries.

    For a backup that was put back. What the key's folder remembers of lost spends stays counted;
    record releases that are out again with `shoal ledger admit`. RELEASE are folders whose
    manifests tell of lost entries.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        entry = book.acknowledge(reason, releases)
        lost, spends = int(entry.body["lost"]), len(entry.body["spends"])
        text = (
            f"Entry {entry.number}: the ledger goes on without {lost:,} entries\n"
            f"Spends of lost entries that stay counted: {spends:,}\n"
            "Record what is out again: shoal ledger admit RELEASE"
        )
        print_outcome(book, as_json, quiet, text, entry=entry.to_json())


@command.command("trust", cls=Verb, epilog=format_examples('shoal ledger trust "Harbour" 9f2c…'))
@click.argument("name")
@click.argument("public")
@add_ledger_options
@add_output_options
def trust_publisher(
    name: str, public: str, where: tuple[str, Path | None], as_json: bool, quiet: bool
) -> None:
    """Let another publisher write this ledger too.

    NAME is the publisher's, PUBLIC its public key: 64 digits, as `shoal ledger key` prints them.
    """
    import shoal

    with shoal.Ledger(*where) as book:
        entry = book.trust(name, public)
        text = f"Entry {entry.number}: {name} may write this ledger"
        print_outcome(book, as_json, quiet, text, entry=entry.to_json())


@command.command(
    "key", cls=Verb, epilog=format_examples('shoal ledger key --new "Harbour" -o harbour.key')
)
@add_ledger_options
@option("--new", metavar="NAME", help="Make a key for another publisher of this ledger.")
@option("-o", "--out", type=FILE, metavar="FILE", help="Where the new key goes.")
@add_output_options
def show_key(
    where: tuple[str, Path | None], new: str | None, out: Path | None, as_json: bool, quiet: bool
) -> None:
    """Show whose key this is, or make one for another publisher.

    The new key opens what is sealed in the ledger and signs by itself: hand it over in secret,
    and let its owner write with `shoal ledger trust`.
    """
    import shoal

    if (new is None) != (out is None):
        raise shoal.UsageError("A new key needs a name and a file.", "add --new NAME and -o FILE.")
    with shoal.Ledger(*where) as book:
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
    print_result(LedgerOutcome(facts), as_json, quiet, text)


def _refused(found: Admission) -> int:
    """Say why, and what helps; returns the exit code."""
    import shoal

    error = shoal.Refused(found)
    return print_refusal(error.fact, error.hint)
