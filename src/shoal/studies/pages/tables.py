"""A study's claims in the tables of a page."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.reports.document import Block, NotedText, Table
from shoal.studies.pages.told import HEADS, TRACED, Claim, Told, told, trace


def claims_table(claims: Sequence[Claim], links: Sequence[str]) -> Table:
    """What the paper says beside what came out; a claim leads to its link, where it has one."""
    rows = tuple(
        (
            i,
            NotedText(one.says, one.why, link=link),
            one.theirs,
            _ours(one),
            NotedText(one.verdict, tone=one.tone),
        )
        for i, (one, link) in enumerate(zip(map(told, claims), links, strict=True), 1)
    )
    return Table(("No.", "Claim", "Paper", "Ours", "Verdict"), rows)


def found_table(claims: Sequence[Claim], links: Sequence[str]) -> Table:
    """What was found beside the paper."""
    rows = tuple(
        (i, NotedText(one.says, one.why, link=link), _ours(one))
        for i, (one, link) in enumerate(zip(map(told, claims), links, strict=True), 1)
    )
    return Table(("No.", "Found", "Ours"), rows)


def traced(claims: Sequence[Claim], places: Sequence[str]) -> tuple[Block, ...]:
    """Of every number its rows, and the file that holds them; folded."""
    rows = tuple((*row, places[row[0] - 1]) for row in trace(claims))
    return (Table((*HEADS, "In"), rows, TRACED, folded=True),) if rows else ()


def _ours(one: Told) -> tuple[NotedText, ...]:
    return tuple(NotedText(figure, note) for figure, note in one.ours)
