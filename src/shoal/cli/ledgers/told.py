"""How entries of a ledger are told: a line, everything, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.printing import show, table

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
class Told:
    """What a verb of the ledger tells, for programs."""

    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, with their edition."""
        return {"edition": 1, **self.facts}


def tell(book: Ledger, as_json: bool, quiet: bool, text: str, **facts: Any) -> None:
    """Print, and the head of the ledger at the end: whoever notes it will see a cut tail."""
    head = str(book.head())
    show(Told({**facts, "head": head}), as_json, quiet, f"{text}\nHead of the ledger: {head}")


def refused(fact: str, hint: str = "") -> int:
    """Say on standard error why it is refused; returns the exit code."""
    click.echo(f"{fact}\nHint: {hint}" if hint else fact, err=True)
    return REFUSED


def states(entries: Sequence[Any]) -> dict[int, str]:
    """What became of each entry, by its number."""
    gone = {
        one.body["number"]: "never out" if one.body.get("never_out") else "withdrawn"
        for one in entries if one.kind == "withdrawn"
    }  # fmt: skip
    return {one.number: gone.get(one.number) or _state(one) for one in entries}


def _state(entry: Any) -> str:
    if entry.kind == "release":
        return "overridden" if entry.body.get("accepted_risk") else "admitted"
    return {"withdrawn": "withdraws", "publisher": "trusted"}.get(entry.kind, str(entry.kind))


def line(entry: Any, state: str) -> tuple[object, ...]:
    """One entry in a line: number, when, by whom, to whom, what, by which rule, spend, state."""
    body = entry.body
    when = str(body["at"])[:16].replace("T", " ")
    what = {"founding": "the ledger", "withdrawn": f"entry {body.get('number')}"}
    name = what.get(entry.kind, body.get("name", ""))
    return (entry.number, when, body.get("made_by", body["by"]), body.get("to", ""), name,
            body.get("rule", ""), _spends(body), state)  # fmt: skip


def listed(lines: Sequence[tuple[object, ...]]) -> str:
    """Lines of entries under their head; what they spend only where one does."""
    rows = [HEAD, *lines]
    if not any(one[SPENDS] for one in lines):
        rows = [(*one[:SPENDS], *one[SPENDS + 1 :]) for one in rows]
    return table([str(name) for name in rows[0]], rows[1:], right=(0,))


def budgeted(name: str, account: Any) -> str:
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


def accounts(book: Ledger, entries: Sequence[Any]) -> dict[str, Any]:
    """What is spent, by whom releases that spend something are about."""
    abouts = dict.fromkeys(str(one.body["about"]) for one in entries if one.body.get("spend"))
    return {about: book.account(about) for about in abouts}


def rechecked(found: Admission) -> tuple[object, ...]:
    """One release that was judged again, in a line: what was found, and what became of that."""
    number = "" if found.entry is None else found.entry.number
    state = "holds" if not found.reasons else "accepted" if found.admitted else "FAILS"
    with_ = ", ".join(str(one.entry) for one in found.judged_with) or "none"
    return number, found.name, with_, state, " ".join(found.reasons)


def everything(entry: Any, state: str) -> list[tuple[str, str]]:
    """All that an entry says, name by name, and its place in the chain."""
    chain = {
        "state": state, "hash": entry.hash, "previous": entry.previous, "signer": entry.signer,
        "signature": entry.signature, "sealed content": entry.sealed_sha256,
    }  # fmt: skip
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


def plain(entry: Any, state: str) -> dict[str, Any]:
    """An entry for programs."""
    return {**entry.to_json(), "state": state}
