"""Which recorded releases stand: those that somebody may have, of which table, about whom.

A release that was withdrawn stands still, for nobody can take back what others have; only one that
was never out, recorded but given to nobody, does not. Of a release by somebody else nobody can say
that.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shoal.core.errors import UsageError
from shoal.ledger.chain.checkpoint import ChainOutline
from shoal.ledger.chain.signed_entry import Entry

JUDGED_KINDS = RELEASE, FOREIGN = "release", "foreign"
"""The kinds of entries that later releases are judged with: our own, and other people's."""
WITHDRAWN, RESTORED = "withdrawn", "restored"
"""That a release was taken back; and that a ledger without its last entries is used knowingly."""
PEOPLE = "people"
"""Whom releases are about, where nobody says it."""


def find_never_out(entries: Sequence[Entry]) -> frozenset[int]:
    """The numbers of releases that nobody was given."""
    return frozenset(int(entry.body["number"]) for entry in entries if entry.body.get("never_out"))


def select_released(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of releases that somebody may have: all but those that were never out."""
    never_out = find_never_out(entries)
    return [
        entry for entry in entries if entry.kind in JUDGED_KINDS and entry.number not in never_out
    ]


def select_judged_with(entry: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """What a recorded release is judged with: all before it, and releases that others made.

    One of these that was recorded later was not judged together with it then. What is no release
    is kept: that one was never out may be said later.
    """
    return [
        other
        for other in entries
        if other.kind not in JUDGED_KINDS
        or ((other.number < entry.number or other.kind == FOREIGN) and other.number != entry.number)
    ]


def find_entry_of_table(
    entries: Sequence[Entry], table: str, about: str | None = None
) -> Entry | None:
    """The entry of a release with such a table about such people; None: about whomever.

    The same table may be recorded about several; then it must be said which are meant.
    """
    matches = [entry for entry in select_released(entries) if entry.body.get("table") == table]
    if about is not None:
        matches = [entry for entry in matches if entry.body.get("about") == about]
    if len({entry.body.get("about") for entry in matches}) > 1:
        names = ", ".join(sorted(str(entry.body.get("about")) for entry in matches))
        raise UsageError(f"The table is recorded about several: {names}.", "add --about NAME.")
    return matches[0] if matches else None


def list_abouts(outline: ChainOutline) -> frozenset[str]:
    """The names of the people that releases which stand are about."""
    never_out = {int(outline.facts(n)["number"]) for n in outline.numbers(says_never_out)}
    if not never_out:
        names = {str(f.get("about")) for f in outline.distinct() if f.get("kind") in JUDGED_KINDS}
        return frozenset(names)
    judged = outline.numbers(lambda facts: facts.get("kind") in JUDGED_KINDS)
    return frozenset(str(outline.facts(n).get("about")) for n in judged if n not in never_out)


def is_withdrawal(facts: Mapping[str, Any]) -> bool:
    """Whether an entry with these facts withdraws a release."""
    return facts.get("kind") == WITHDRAWN


def says_never_out(facts: Mapping[str, Any]) -> bool:
    """Whether an entry with these facts says that a release was never out."""
    return is_withdrawal(facts) and bool(facts.get("never_out"))


def is_restoration(facts: Mapping[str, Any]) -> bool:
    """Whether an entry with these facts goes on with a ledger that lost entries."""
    return facts.get("kind") == RESTORED


def check_about(about: str, recorded: Collection[str]) -> str:
    """The people's name without spaces around it; one that is almost a recorded one is refused.

    Each name has the whole budget, and nobody is judged with releases about others: the same
    people by two names would have neither.
    """
    name = about if about in recorded else about.strip()
    if not name:
        raise UsageError("Nobody is said to be whom the release is about.", "add --about NAME.")
    similar = sorted(other for other in recorded if _normalise_name(other) == _normalise_name(name))
    if name not in recorded and similar:
        raise UsageError(
            f"The name {name!r} differs from a recorded one in case or spaces only.",
            f"if these are the same people, write --about {similar[0]!r}; else choose another "
            "name.",
        )
    return name


def _normalise_name(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def note_new_about(about: str, recorded: Collection[str]) -> tuple[str, ...]:
    """That no release is about these people, but about others: they may be the same, misspelt."""
    if not recorded or about in recorded:
        return ()
    names = ", ".join(map(repr, sorted(recorded)))
    return (
        f"It is the first release about {about!r}, so that it is judged with none about {names}. "
        "If these are the same people, give their name (--about).",
    )


def check_related(relation: str | Mapping[int, str] | None, entries: Sequence[Entry]) -> None:
    """Refuse a relation to an entry that is no release."""
    numbers = {entry.number for entry in select_released(entries)}
    wrong = [n for n in relation if n not in numbers] if isinstance(relation, Mapping) else []
    if wrong:
        raise UsageError(
            f"A relation is given to entry {wrong[0]}, which is no release.",
            "shoal ledger list shows them.",
        )


def check_withdrawable(
    number: int, entries: Sequence[Entry], never_out: bool, own: str = ""
) -> None:
    """Refuse to withdraw what is no release, is withdrawn, or cannot be said never to be out."""
    kind = {entry.number: entry.kind for entry in entries}.get(number)
    if kind not in JUDGED_KINDS:
        raise UsageError(f"Entry {number} is no release.", "shoal ledger list shows them.")
    signer = {entry.number: entry.signer for entry in entries}[number]
    if never_out and kind == RELEASE and signer != own:
        raise UsageError(
            f"Entry {number} is a release of another publisher, who alone can say that it was "
            "never out.",
            "leave --never-out away: later releases are judged together with it.",
        )
    if never_out and kind == FOREIGN:
        raise UsageError(
            f"Entry {number} is a release by somebody else, who may have given it to others.",
            "leave --never-out away: later releases are judged together with it.",
        )
    withdrawals = [entry.number for entry in entries if entry.body.get("number") == number]
    if withdrawals:
        raise UsageError(f"Entry {withdrawals[0]} withdraws it already.", "nothing is to be done.")
