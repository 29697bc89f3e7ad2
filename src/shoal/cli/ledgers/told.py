"""How entries of a ledger are told: a line, everything, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.printing import show

if TYPE_CHECKING:
    from shoal import Admission, Ledger

REFUSED = 4
"""The exit code of a release that is refused."""
HEAD = ("no.", "when", "by", "to", "what", "rule", "state")
"""What stands above the lines."""

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
    """One entry in a line: number, when, by whom, to whom, what, its rule, what became of it."""
    body = entry.body
    when = str(body["at"])[:16].replace("T", " ")
    what = {"founding": "the ledger", "withdrawn": f"entry {body.get('number')}"}
    return (entry.number, when, body.get("made_by", body["by"]), body.get("to", ""),
            what.get(entry.kind, body.get("name", "")), body.get("rule", ""), state)  # fmt: skip


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
        yield name, str(value)


def plain(entry: Any, state: str) -> dict[str, Any]:
    """An entry for programs."""
    return {**entry.to_json(), "state": state}
