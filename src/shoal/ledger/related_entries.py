"""Which entries of a ledger bear on a release: about the same people, of its table, of its bases.

A release is based on another where its manifest says so, and on what that one is based on. Releases
about the same people may be recorded under another name: sketches of their people show it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shoal.ledger.admission_options import AdmissionOptions
from shoal.ledger.candidate import Candidate
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.checkpoint import ChainOutline
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.recorded_releases import (
    JUDGED_KINDS,
    is_restoration,
    is_withdrawal,
    says_never_out,
)
from shoal.ledger.sealed_release import unpack_place_and_sketch

UNRECORDED = 0
"""In the place of an entry's number: what a release is based on, and no entry is of."""


def select_relevant_entries(
    book: Book,
    outline: ChainOutline,
    about: str | None,
    candidate: Candidate,
    options: AdmissionOptions,
) -> list[Entry]:
    """All entries that bear on a release: about the same people, of its table, of its bases."""
    tables, base = {candidate.table}, (candidate.published.manifest or {}).get("based_on")
    while base and base not in tables:
        tables.add(str(base))
        bases = book.some(outline.of_tables((str(base),)))
        # the last that says so, as where all entries are at hand
        stated_bases = [
            e.body["based_on"]
            for e in bases
            if e.body.get("table") == base and "based_on" in e.body
        ]
        base = stated_bases[-1] if stated_bases else None
    numbers = options.relation if isinstance(options.relation, Mapping) else ()
    return select_related_entries(book, outline, about, tables=tables, numbers=numbers)


def select_related_entries(
    book: Book,
    outline: ChainOutline,
    about: str | None,
    *,
    tables: Collection[str] = (),
    numbers: Iterable[int] = (),
    spending: bool = False,
) -> list[Entry]:
    """The founding, and releases about some people, of some tables, or by their numbers.

    With all that withdraws one of them. ``spending``: of those about the people only such as
    spend something.
    """

    def fits(facts: Mapping[str, Any]) -> bool:
        same = about is not None and facts.get("about") == about
        return same and facts.get("kind") in JUDGED_KINDS and ("spend" in facts or not spending)

    wanted = {1, *outline.numbers(fits), *outline.of_tables(tables), *numbers}
    wanted |= {*outline.numbers(is_restoration)}
    withdrawals = [
        n for n in outline.numbers(is_withdrawal) if outline.facts(n).get("number") in wanted
    ]
    return book.some([*wanted, *withdrawals])


def trace_lineage(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> frozenset[int]:
    """The entries that a release is based on: by its manifest, theirs, and so on."""
    tables = set(_list_base_tables(manifest, entries))
    return frozenset(entry.number for entry in entries if entry.body.get("table") in tables)


def has_unrecorded_base(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> bool:
    """Whether a release is based, at whatever remove, on one that no entry is of."""
    return not set(_list_base_tables(manifest, entries)) <= {
        entry.body.get("table") for entry in entries
    }


def _list_base_tables(manifest: Mapping[str, Any] | None, entries: Sequence[Entry]) -> list[str]:
    """The tables that a release is based on, the nearest first; their entries, if any, say on."""
    base_of = {
        str(e.body.get("table")): e.body["based_on"] for e in entries if "based_on" in e.body
    }
    tables: list[str] = []
    base = (manifest or {}).get("based_on")
    while base and base not in tables:
        tables.append(str(base))
        base = base_of.get(base)
    return tables


def find_names_of_same_people(
    book: Book, outline: ChainOutline, candidate: Candidate, about: str
) -> dict[str, tuple[int, float]]:
    """Other names under which releases about the same people are recorded: entry and share."""
    if candidate.sketch is None:
        return {}
    never_out = {outline.facts(n).get("number") for n in outline.numbers(says_never_out)}
    sharing: dict[str, tuple[int, float]] = {}
    for number in outline.numbers(lambda f: bool(f.get("sketched")) and f.get("about") != about):
        name = str(outline.facts(number).get("about"))
        if number in never_out or name in sharing:
            continue
        other = unpack_place_and_sketch(book.sealed(number))[1]
        if other is not None and candidate.sketch.is_about_people_of(other):
            sharing[name] = number, candidate.sketch.shared_with(other)
    return sharing
